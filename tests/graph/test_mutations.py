"""SQL that changes rows: what comes back, what is counted, which branch it goes to, and when a key is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from omnigraph_sql import graph as og
from omnigraph_sql.base.errors import BoundaryViolation, KeyConflict, NotSupported
from omnigraph_sql.base.seams import PlannedFaults
from omnigraph_sql.engine.world import Seams
from omnigraph_sql.session import Transaction

SCHEMA = """
node P { k: String @key  n: I64? }
node Free { a: I64? }
edge E: P -> P { w: I64? }
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "g.omni"


@pytest.fixture
def graph(place: Path) -> og.Graph:
    made = og.init(place, schema=SCHEMA)
    made.sql("INSERT INTO P VALUES ('a', 1), ('b', 2)")
    return made


# ---- RETURNING ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "columns", "rows"),
    [
        (
            "INSERT INTO P VALUES ('c', 3) RETURNING k, k, n + 1, *",
            ("k", "k", "n + 1", "k", "n"),
            [("c", "c", 4, "c", 3)],
        ),
        ("INSERT OR REPLACE INTO P VALUES ('a', 9) RETURNING P.*", ("k", "n"), [("a", 9)]),
        ("INSERT INTO Free DEFAULT VALUES RETURNING a, a IS NULL AS a", ("a", "a"), [(None, True)]),
        ("UPDATE P SET n = n + 10 WHERE k = 'a' RETURNING n, n AS n, id", ("n", "n", "id"), [(11, 11, "a")]),
        (
            "UPDATE P SET n = s.v FROM (SELECT 'b' AS k, 7 AS v) AS s WHERE P.k = s.k RETURNING s.k, P.k",
            ("k", "k"),
            [("b", "b")],
        ),
        ("DELETE FROM P WHERE k = 'b' RETURNING n, n", ("n", "n"), [(2, 2)]),
        (
            "MERGE INTO P USING (SELECT 'a' AS k) AS s ON P.k = s.k WHEN MATCHED THEN UPDATE SET n = 5 "
            "RETURNING merge_action, P.k, s.k, n",
            ("merge_action", "k", "k", "n"),
            [("UPDATE", "a", "a", 5)],
        ),
    ],
)
def test_returning_keeps_names_repeated_ones_too(
    graph: og.Graph, text: str, columns: tuple[str, ...], rows: list[tuple[object, ...]]
) -> None:
    with graph.transaction() as tx:
        inside = tx.sql(text)
        assert (inside.columns, inside.fetchall()) == (columns, rows)
        tx.rollback()
    found = graph.sql(text)
    assert (found.columns, found.fetchall()) == (columns, rows)


# ---- a key that exists --------------------------------------------------------------------------------------------


def test_a_key_that_exists_is_refused_at_the_statement_and_the_transaction_goes_on(graph: og.Graph) -> None:
    graph.sql("BEGIN; INSERT INTO P VALUES ('c', 3)")
    with pytest.raises(KeyConflict) as caught:
        graph.sql("INSERT INTO P VALUES ('d', 4), ('a', 9)")
    assert (caught.value.type, caught.value.id) == ("P", "a")
    graph.sql("INSERT INTO P VALUES ('e', 5); COMMIT")
    assert graph.sql("SELECT k FROM P ORDER BY k").fetchall() == [("a",), ("b",), ("c",), ("e",)]


def test_looking_for_a_key_ties_a_transaction_to_nothing(graph: og.Graph, place: Path) -> None:
    with graph.transaction() as tx:
        tx.sql("INSERT INTO P VALUES ('c', 3)")
        og.open(place).sql("INSERT INTO P VALUES ('d', 4)")
    assert graph.sql("SELECT count(*) FROM P").fetchall() == [(4,)]


def test_a_key_that_comes_meanwhile_is_refused_at_the_commit(graph: og.Graph, place: Path) -> None:
    tx = graph.transaction()
    tx.sql("INSERT INTO P VALUES ('c', 3)")
    og.open(place).sql("INSERT INTO P VALUES ('c', 4)")
    with pytest.raises(KeyConflict):
        tx.commit()


def test_fresh_ids_are_looked_for_nowhere(place: Path, graph: og.Graph) -> None:
    graph.sql("INSERT INTO Free VALUES (1)")
    counting = PlannedFaults(())
    other = og.open(place, seams=replace(Seams.system(), failpoints=counting))
    with other.transaction() as tx:
        before = counting.hits("store.lookup")
        tx.sql("INSERT INTO Free VALUES (2)")
        assert counting.hits("store.lookup") == before


# ---- a branch as the schema ---------------------------------------------------------------------------------------


def test_a_named_branch_is_the_one_that_changes(graph: og.Graph) -> None:
    graph.create_branch("side")
    graph.sql("INSERT INTO side.P VALUES ('s', 1)")
    graph.sql("INSERT INTO side.E (src, dst) VALUES ('s', 'a')")
    graph.sql("UPDATE side.P SET n = n + 100 WHERE n > 1")
    graph.sql("INSERT INTO side.P SELECT k || '2', n FROM side.P WHERE k = 'b'")
    assert graph.sql("DELETE FROM side.P WHERE k = 'a'").affected_edges == 1
    assert graph.sql("SELECT * FROM side.P ORDER BY k").fetchall() == [("b", 102), ("b2", 102), ("s", 1)]
    assert graph.sql("SELECT * FROM P ORDER BY k").fetchall() == [("a", 1), ("b", 2)]
    assert graph.sql("UPDATE main.P SET n = 0").affected_nodes == 2
    assert graph.commits("side")[0].branch == "side"


def test_a_change_of_another_branch_reads_no_tables_of_this_one(graph: og.Graph) -> None:
    graph.create_branch("side")
    head = graph.head
    for text in (
        "INSERT INTO side.P SELECT k || '2', n FROM P",
        "DELETE FROM side.P WHERE k IN (SELECT k FROM P)",
        "UPDATE side.P AS s SET n = m.n FROM P AS m WHERE s.k = m.k",
        "UPDATE side.P SET n = (SELECT max(n) FROM P)",
    ):
        with pytest.raises(NotSupported, match="reads tables of main") as caught:
            graph.sql(text)
        assert "side" in (caught.value.hint or "")
    assert (graph.head, graph.checkout("side").head) == (head, head)


def test_a_transaction_changes_one_branch(graph: og.Graph) -> None:
    graph.create_branch("side")
    with graph.transaction() as tx:
        tx.sql("INSERT INTO main.P VALUES ('c', 3)")
        with pytest.raises(BoundaryViolation, match="one branch"):
            tx.sql("INSERT INTO side.P VALUES ('s', 1)")
    assert graph.sql("SELECT count(*) FROM P").fetchall() == [(3,)]


def test_a_branch_with_an_older_schema_is_changed_by_it(graph: og.Graph) -> None:
    graph.create_branch("side")
    graph.sql("ALTER TABLE P ADD COLUMN more TEXT")
    graph.sql("INSERT INTO side.P (k) VALUES ('s')")
    assert graph.checkout("side").sql("SELECT * FROM P WHERE k = 's'").fetchall() == [("s", None)]


# ---- refused without a look ---------------------------------------------------------------------------------------


class Passed:
    """Failpoints that remember what was passed."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def hit(self, name: str) -> None:
        self.names.append(name)


def test_a_mixture_is_refused_without_a_look_at_anything_stored(place: Path, graph: og.Graph) -> None:
    passed = Passed()
    other = og.open(place, seams=replace(Seams.system(), failpoints=passed))
    other.sql("SELECT k FROM P").fetchall()
    passed.names.clear()
    with pytest.raises(BoundaryViolation):
        other.sql("INSERT INTO P VALUES ('x', 1); DELETE FROM P")
    with pytest.raises(BoundaryViolation):
        other.gq('query q() { insert P { k: "x" } delete P where k = "a" }')
    assert passed.names == []
    graph.sql("SELECT 1")


@pytest.mark.parametrize(
    ("unit", "first", "mixing"),
    [
        ("q", None, 'query q() { insert P { k: "x" } delete P where k = "a" }'),
        ("script", None, "INSERT INTO P VALUES ('x', 1); DELETE FROM P"),
        ("script", None, "DELETE FROM P; UPDATE P SET n = 2"),
        (
            "MERGE INTO P",
            None,
            "MERGE INTO P p USING P s ON p.k = s.k WHEN MATCHED THEN DELETE "
            "WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k)",
        ),
        ("the transaction of line 2", None, "SELECT 1;\nBEGIN; DELETE FROM P; INSERT INTO P VALUES ('x', 1); COMMIT"),
        ("transaction", "INSERT INTO P VALUES ('x', 1)", "DELETE FROM P"),
        ("transaction", "DELETE FROM P WHERE k = 'none'", 'query q() { insert P { k: "x" } }'),
        ("transaction", 'query q() { insert P { k: "x" } }', "TRUNCATE P"),
    ],
)
def test_a_refused_mixture_names_its_unit_both_kinds_and_the_way_out(
    place: Path, graph: og.Graph, unit: str, first: str | None, mixing: str
) -> None:
    """At every door, and before anything stored is looked at."""
    rows = graph.sql("SELECT count(*) FROM P").fetchone()
    passed = Passed()
    other = og.open(place, seams=replace(Seams.system(), failpoints=passed))

    def ask(door: og.Graph | Transaction, text: str) -> object:
        return door.gq(text) if text.startswith("query") else door.sql(text)

    def refused(door: og.Graph | Transaction) -> BoundaryViolation:
        passed.names.clear()
        with pytest.raises(BoundaryViolation) as told:
            ask(door, mixing)
        assert passed.names == []
        return told.value

    if first is None:
        problem = refused(other)
        assert graph.sql("SELECT count(*) FROM P").fetchone() == rows
    else:
        with other.transaction() as open_unit:
            ask(open_unit, first)
            problem = refused(open_unit)
    assert problem.code == "D2"
    assert problem.message.startswith(f"D₂: {unit}")
    assert "constructive" in problem.message
    assert "destructive" in problem.message
    assert problem.hint == "split it in two: first the inserts and updates, then the deletes"


def test_deletes_that_overlap_count_a_row_once_and_lose_none_whose_column_is_null(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", schema="node P { name: String @key  myCount: I64? }")
    graph.sql("INSERT INTO P (name, myCount) VALUES ('a', 1), ('b', NULL), ('c', 5), ('d', 9), ('e', NULL)")
    with graph.transaction() as unit:
        told = [
            unit.sql(f"DELETE FROM P WHERE {condition}").affected_nodes
            for condition in ("myCount > 3", "myCount > 0 AND name <> 'a'", "name IN ('b', 'c')", "myCount IS NULL")
        ]
    assert told == [2, 0, 1, 1]
    assert graph.sql("SELECT name FROM P").fetchall() == [("a",)]


def test_a_pending_value_is_met_by_a_filter_on_a_mixed_case_name(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", schema="node P { name: String @key  myCount: I64? }")
    graph.sql("INSERT INTO P (name, myCount) VALUES ('a', 1), ('b', 2)")
    with graph.transaction() as unit:
        unit.sql("UPDATE P SET myCount = 7 WHERE myCount = 1")
        assert unit.sql("UPDATE P SET myCount = 8 WHERE myCount = 7").affected_nodes == 1
        assert unit.sql("UPDATE P SET myCount = 9 WHERE myCount = 1").affected_nodes == 0
    assert graph.sql("SELECT name, myCount FROM P ORDER BY name").fetchall() == [("a", 8), ("b", 2)]
