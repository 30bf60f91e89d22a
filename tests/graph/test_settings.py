"""SET, SHOW, branch statements and views: what they change, for whom, and until when."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph_sql import graph as og
from omnigraph_sql.base.errors import (
    BoundaryViolation,
    ConflictError,
    ConstraintViolation,
    LanguageError,
    OmniError,
    PreconditionFailed,
    StorageError,
)

SCHEMA = """
node P { k: String @key  n: I64? }
edge E: P -> P
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "g.omni"


@pytest.fixture
def graph(place: Path) -> og.Graph:
    made = og.init(place, schema=SCHEMA)
    made.sql("INSERT INTO P VALUES ('a', 1), ('b', 2), ('c', 3), ('d', 4)")
    made.sql("INSERT INTO E (src, dst) VALUES ('a', 'b'), ('b', 'c'), ('c', 'd')")
    return made


def setting(graph: og.Graph, name: str) -> str | None:
    found: dict[str, str | None] = {row["name"]: row["value"] for row in graph.sql("SHOW SETTINGS").dicts()}
    return found[name]


def test_commits_carry_the_actor_and_the_message_that_were_set(graph: og.Graph, place: Path) -> None:
    graph.sql("SET actor = 'bob'; SET commit_message = $m", {"m": "it's mine"})
    graph.sql("INSERT INTO P VALUES ('x', 1)")
    with graph.transaction() as tx:
        tx.sql("INSERT INTO P VALUES ('y', 1)")
    graph.sql("ALTER TABLE P ADD COLUMN more TEXT")
    assert [(c.actor, c.message) for c in graph.commits()[:3]] == [("bob", "it's mine")] * 3
    graph.sql("RESET actor; SET commit_message = DEFAULT; INSERT INTO P (k) VALUES ('z')")
    assert (graph.commits()[0].actor, graph.commits()[0].message) == (None, None)
    assert setting(og.open(place), "actor") is None


def test_a_head_that_is_insisted_on_is_checked_by_every_commit(graph: og.Graph) -> None:
    graph.sql("SET if_commit = 'another'")
    head = graph.head
    with pytest.raises(PreconditionFailed):
        graph.sql("INSERT INTO P VALUES ('x', 1)")
    graph.sql("SET if_commit = $h", {"h": head})
    graph.sql("INSERT INTO P VALUES ('x', 1)")
    with pytest.raises(PreconditionFailed):
        graph.sql("INSERT INTO P VALUES ('y', 1)")
    graph.sql("RESET if_commit; INSERT INTO P VALUES ('y', 1)")


def test_a_node_with_edges_is_kept_when_edges_restrict(graph: og.Graph) -> None:
    graph.sql("SET edge_delete = 'restrict'")
    with pytest.raises(ConstraintViolation, match="edges end on") as caught:
        graph.sql("DELETE FROM P WHERE k = 'b'")
    assert (caught.value.rule, bool(caught.value.hint)) == ("edge_delete", True)
    with graph.transaction() as tx:
        tx.sql("DELETE FROM E WHERE src = 'b' OR dst = 'b'")
        assert tx.sql("DELETE FROM P WHERE k = 'b'").affected_nodes == 1
    graph.sql("RESET edge_delete")
    assert graph.sql("DELETE FROM P WHERE k = 'c'").affected_edges == 1


def test_how_far_a_walk_goes_is_a_setting_of_the_session(graph: og.Graph) -> None:
    walk = "SELECT count(*) FROM GRAPH_TABLE (MATCH (a IS P WHERE a.k = 'a')-[IS E]->+(b IS P) COLUMNS (b.k))"
    assert graph.sql(walk).fetchall() == [(3,)]
    graph.sql("SET hops_max = 2")
    assert graph.sql(walk).fetchall() == [(2,)]
    graph.sql("RESET hops_max")
    assert graph.sql(walk).fetchall() == [(3,)]


def test_a_session_can_refuse_changes_and_allow_them_again(graph: og.Graph, place: Path) -> None:
    graph.sql("SET read_only = true")
    for text in ("INSERT INTO P VALUES ('x', 1)", "CREATE TABLE t (a INT)", "CREATE BRANCH x", "BEGIN"):
        with pytest.raises(ConflictError, match="reading only"):
            graph.sql(text)
    graph.sql("SET read_only = false; INSERT INTO P VALUES ('x', 1)")
    reader = og.open(place, read_only=True)
    with pytest.raises(ConflictError, match="reading only"):
        reader.sql("SET read_only = false")


@pytest.mark.parametrize(
    "text", ["SET nothing = 1", "SET hops_max = 0", "SET edge_delete = 'often'", "SET branch = '../x'"]
)
def test_a_setting_takes_what_fits_it(graph: og.Graph, text: str) -> None:
    before = graph.sql("SHOW SETTINGS").fetchall()
    with pytest.raises(OmniError):
        graph.sql(text)
    assert graph.sql("SHOW SETTINGS").fetchall() == before


# ---- branches -----------------------------------------------------------------------------------------------------


def test_branches_are_made_and_used_in_sql(graph: og.Graph) -> None:
    first = graph.head
    graph.sql("""CREATE BRANCH "review/x"; USE BRANCH "review/x"; INSERT INTO P VALUES ('side', 1)""")
    assert graph.branch == "review/x"
    assert graph.sql("SELECT current_branch(), count(*) FROM P").fetchall() == [("review/x", 5)]
    graph.sql("SET branch = 'main'")
    assert graph.sql("SELECT count(*) FROM P").fetchall() == [(4,)]
    graph.sql("INSERT INTO P VALUES ('later', 1)")
    graph.sql(f"CREATE BRANCH old AS OF VERSION '{first}'; CREATE BRANCH copy FROM old")
    assert graph.sql("SELECT count(*) FROM copy.P").fetchall() == [(4,)]
    graph.sql("CREATE BRANCH IF NOT EXISTS old")
    names = [row["name"] for row in graph.sql("SHOW BRANCHES").dicts()]
    assert names == ["main", "copy", "old", "review/x"]


def test_a_branch_that_is_not_there_cannot_be_used(graph: og.Graph) -> None:
    with pytest.raises(StorageError):
        graph.sql("USE BRANCH nowhere")
    with pytest.raises(ConflictError):
        graph.sql("CREATE BRANCH old; CREATE BRANCH old")
    graph.sql("BEGIN")
    with pytest.raises(BoundaryViolation):
        graph.sql("USE BRANCH old")
    assert graph.branch == "main"


# ---- views --------------------------------------------------------------------------------------------------------


def test_a_view_is_seen_by_everybody_and_listed(graph: og.Graph, place: Path) -> None:
    before = graph.head
    graph.sql("CREATE VIEW big (name, twice) AS SELECT k, n * 2 FROM P WHERE n > 2")
    other = og.open(place)
    assert other.sql("SELECT * FROM big ORDER BY name").fetchall() == [("c", 6), ("d", 8)]
    assert other.sql("SELECT p.k FROM P p JOIN big b ON b.name = p.k ORDER BY 1").fetchall() == [("c",), ("d",)]
    assert [row["table_name"] for row in other.sql("SHOW VIEWS").dicts()] == ["big"]
    kinds = "SELECT table_name, table_type FROM information_schema.tables WHERE table_type = 'VIEW'"
    assert other.sql(kinds).fetchall() == [("big", "VIEW")]
    assert "n * 2" in other.sql("SELECT view_definition FROM information_schema.views").fetchall()[0][0]
    with pytest.raises(LanguageError):
        graph.at(before).sql("SELECT * FROM big")
    graph.sql("CREATE OR REPLACE VIEW big AS SELECT k FROM P; DROP VIEW IF EXISTS nothing")
    assert other.sql("SELECT count(*) FROM big").fetchall() == [(4,)]
    graph.sql("DROP VIEW big")
    with pytest.raises(LanguageError):
        other.sql("SELECT * FROM big")


def test_a_view_whose_table_went_says_so_in_its_own_text(graph: og.Graph) -> None:
    graph.sql("CREATE TABLE t (a INT); CREATE VIEW v AS SELECT a FROM t; DROP TABLE t")
    with pytest.raises(LanguageError) as caught:
        graph.sql("SELECT * FROM v")
    assert (caught.value.at.source, "'t'" in caught.value.message) == ("view v", True)
    graph.sql("CREATE OR REPLACE VIEW v AS SELECT k AS a FROM P")
    assert graph.sql("SELECT count(a) FROM v").fetchall() == [(4,)]


@pytest.mark.parametrize(
    "text",
    [
        "CREATE VIEW P AS SELECT 1",
        "CREATE VIEW v AS SELECT * FROM v",
        "CREATE VIEW v AS SELECT $x",
        "CREATE VIEW v (a, b) AS SELECT 1",
        "DROP VIEW nothing",
        "INSERT INTO seen VALUES (1)",
        "CREATE VIEW seen AS SELECT 1",
        "CREATE TABLE seen (a INT)",
    ],
)
def test_a_view_that_cannot_be_is_refused(graph: og.Graph, text: str) -> None:
    graph.sql("CREATE VIEW seen AS SELECT k FROM P")
    head = graph.head
    with pytest.raises(OmniError):
        graph.sql(text, {"x": 1} if "$x" in text else None)
    assert graph.head == head


def test_a_property_graph_is_stored_too(graph: og.Graph, place: Path) -> None:
    graph.sql("CREATE PROPERTY GRAPH people VERTEX TABLES (P) EDGE TABLES (E)")
    other = og.open(place)
    ask = "SELECT k FROM GRAPH_TABLE (people MATCH (a IS P WHERE a.n = 1) COLUMNS (a.k))"
    assert other.sql(ask).fetchall() == [("a",)]
    graph.sql("DROP PROPERTY GRAPH people")
    with pytest.raises(LanguageError):
        other.sql(ask)
