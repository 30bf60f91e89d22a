"""SHOW, DESCRIBE, SUMMARIZE and the tables about the graph itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph_sql import graph as og
from omnigraph_sql.base import limits
from omnigraph_sql.bind.sql_system_tables import SYSTEM_TABLES

SCHEMA = """
node Person {
    name: String @key @description("what people call them")
    age: I32?  tags: [String]?  mail: String? @unique
}
node Place { x: I64  y: I64  @key(x, y) }
edge Knows: Person -> Person { since: Date? }
edge LivesAt: Person -> Place @card(0..1)
"""


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "g.omni", schema=SCHEMA, actor="ana")
    made.sql("INSERT INTO Person (name, age, tags) VALUES ('Ana', 30, ['a']), ('Bo', NULL, NULL), ('Cy', 20, NULL)")
    made.sql("INSERT INTO Knows (src, dst) VALUES ('Ana', 'Bo')")
    return made


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (
            "SHOW TABLES",
            [
                ("Person", "node", None, None, 3, 2),
                ("Place", "node", None, None, 0, 1),
                ("Knows", "edge", "Person", "Person", 1, 2),
                ("LivesAt", "edge", "Person", "Place", 0, 1),
            ],
        ),
        ("SHOW NODES", [("Person", "node", 3, 2), ("Place", "node", 0, 1)]),
        (
            "SHOW EDGES",
            [("Knows", "edge", "Person", "Person", 1, 2), ("LivesAt", "edge", "Person", "Place", 0, 1)],
        ),
        (
            "DESCRIBE Person",
            [
                ("id", "String", "NO", None, None),
                ("name", "String", "NO", "PRI", "what people call them"),
                ("age", "I32", "YES", None, None),
                ("tags", "[String]", "YES", None, None),
                ("mail", "String", "YES", None, None),
            ],
        ),
        (
            "DESCRIBE SELECT name AS who, age + 1 AS older FROM Person",
            [("who", "String", "NO", None, None), ("older", "I64", "YES", None, None)],
        ),
        (
            "SUMMARIZE SELECT name, age, tags FROM Person",
            [
                ("name", "String", "Ana", "Cy", None, 3, 0, 3),
                ("age", "I32", "20", "30", 25.0, 2, 1, 3),
                ("tags", "[String]", None, None, None, None, 2, 3),
            ],
        ),
    ],
)
def test_a_command_answers_with_rows(graph: og.Graph, text: str, rows: list[tuple[object, ...]]) -> None:
    assert graph.sql(text).fetchall() == rows


def test_branches_and_commits_are_shown(graph: og.Graph) -> None:
    graph.create_branch("review/x")
    branch = graph.checkout("review/x")
    branch.sql("INSERT INTO Person (name) VALUES ('Di')")
    assert [row[0] for row in graph.sql("SHOW BRANCHES")] == ["main", "review/x"]
    assert [row[0] for row in graph.sql("SHOW COMMITS")] == [c.id for c in graph.commits()]
    assert [row[0] for row in graph.sql('SHOW COMMITS FOR BRANCH "review/x"')] == [c.id for c in branch.commits()]
    assert {row[4] for row in graph.sql("SHOW COMMITS")} == {"ana"}


def test_a_summary_inside_a_transaction_counts_pending_rows(graph: og.Graph) -> None:
    with graph.transaction() as tx:
        tx.sql("INSERT INTO Person (name, age) VALUES ('Di', 50)")
        (row,) = tx.sql("SUMMARIZE SELECT age FROM Person").fetchall()
        assert row == ("age", "I32", "20", "50", pytest.approx(100 / 3), 3, 1, 4)


@pytest.mark.parametrize("name", sorted(SYSTEM_TABLES))
def test_every_system_table_has_rows_of_its_own_columns(
    graph: og.Graph, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "INDEXED_ROWS_MIN", 1)
    graph.ensure_indices()
    graph.sql("CREATE VIEW Named AS SELECT name FROM Person")
    found = graph.sql(f"SELECT * FROM {name}").arrow()
    assert found.num_rows > 0
    assert tuple(found.column_names) == tuple(f.name for f in SYSTEM_TABLES[name])
    for field in SYSTEM_TABLES[name]:
        assert field.nullable or found[field.name].null_count == 0, field.name


def test_the_ends_of_edges_are_foreign_keys_of_the_node_tables(graph: og.Graph) -> None:
    text = """
        SELECT k.table_name, k.column_name, r.unique_constraint_name, r.delete_rule
        FROM information_schema.referential_constraints r
        JOIN information_schema.key_column_usage k ON k.constraint_name = r.constraint_name
        ORDER BY 1, 2
    """
    assert graph.sql(text).fetchall() == [
        ("Knows", "dst", "Person_key", "CASCADE"),
        ("Knows", "src", "Person_key", "CASCADE"),
        ("LivesAt", "dst", "Place_key", "CASCADE"),
        ("LivesAt", "src", "Person_key", "CASCADE"),
    ]


def test_keys_and_unique_columns_are_listed_in_their_order(graph: og.Graph) -> None:
    text = """
        SELECT c.constraint_type, k.column_name, k.ordinal_position
        FROM information_schema.table_constraints c
        JOIN information_schema.key_column_usage k ON k.constraint_name = c.constraint_name
        WHERE c.table_name IN ('Person', 'Place') ORDER BY 1, 2
    """
    assert graph.sql(text).fetchall() == [
        ("PRIMARY KEY", "name", 1),
        ("PRIMARY KEY", "x", 1),
        ("PRIMARY KEY", "y", 2),
        ("UNIQUE", "mail", 1),
    ]
