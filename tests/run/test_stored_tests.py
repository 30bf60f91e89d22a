"""What of a condition reaches storage, and that null and kinds of numbers mean the same there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from omnigraph_sql.engine.store.provider import CommittedDataset
from omnigraph_sql.graph import Graph, init
from omnigraph_sql.session import Transaction
from tests.engine.worlds import seams

SCHEMA = """
node Item { name: String @key  n: I64?  label: String?  day: Date?  at: DateTime?  tags: [String]? }
node Pair { a: I32  b: String  @key(a, b)  v: String? }
"""
ROWS = [
    ("i1", 1, "alpha", "2024-01-01", ["x"]),
    ("i2", None, "al%ha", "2024-02-01", ["x", "y"]),
    ("i3", 3, None, None, None),
    ("i4", 4, "beta", "2024-03-01", []),
    ("j1", -5, "alp", "2023-01-01", ["it's"]),
]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    made = init(tmp_path_factory.mktemp("stored") / "graph", schema=SCHEMA, seams=seams())
    with made.transaction() as tx:
        for name, n, label, day, tags in ROWS:
            given = {"name": name, "n": n, "label": label, "day": day, "tags": tags}
            tx.sql("INSERT INTO Item (name, n, label, day, tags) VALUES ($name, $n, $label, $day, $tags)", given)
        tx.sql("INSERT INTO Pair (a, b, v) VALUES (1, 'x', 'one'), (2, 'y', 'two')")
    return made


@pytest.fixture(params=["committed", "pending"])
def handle(graph: Graph, request: pytest.FixtureRequest) -> Iterator[Graph | Transaction]:
    """The same rows; in a transaction two of them are pending images of committed ones."""
    if request.param == "committed":
        yield graph
        return
    tx = graph.transaction()
    tx.sql("UPDATE Item SET n = n WHERE name IN ('i1', 'i2')")
    tx.sql("UPDATE Pair SET v = 'two' WHERE a = 2")
    yield tx
    tx.rollback()


@pytest.fixture
def arrived(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The filters that scans of committed rows were asked with."""
    found: list[str] = []
    real = CommittedDataset.batches

    def batches(self: Any, columns: list[str], filter: Any) -> Any:
        found.append(str(filter if filter is not None else self._within))
        return real(self, columns, filter)

    monkeypatch.setattr(CommittedDataset, "batches", batches)
    return found


QUESTIONS = [
    ("n = 3", "n == 3", ["i3"]),
    ("n = 3.0", "n == 3", ["i3"]),
    ("n IN (1, 3, NULL)", "n", ["i1", "i3"]),
    ("n NOT IN (1, 3)", "n", ["i4", "j1"]),
    ("n >= 1 AND n < 4", "n", ["i1", "i3"]),
    ("n <> 1", "n != 1", ["i3", "i4", "j1"]),
    ("label LIKE 'al%'", "starts_with(`label`, 'al')", ["i1", "i2", "j1"]),
    ("label LIKE 'al%a'", "starts_with(`label`, 'al')", ["i1", "i2"]),
    ("label LIKE '%et%'", "contains(`label`, 'et')", ["i4"]),
    ("starts_with(label, 'al%')", "starts_with(`label`, 'al%')", ["i2"]),
    ("contains(label, '%')", "contains(`label`, '%')", ["i2"]),
    ("array_has(tags, 'x')", "array_has(`tags`, 'x')", ["i1", "i2"]),
    ("array_has(tags, 'it''s')", "array_has(`tags`, 'it''s')", ["j1"]),
    ("label LIKE 'a%' AND day >= DATE '2024-02-01'", "`day` >= DATE '2024-02-01'", ["i2"]),
    ("label LIKE 'a%' AND n > 0", "`n` > 0", ["i1"]),
    ("NOT (label LIKE 'al%')", None, ["i4"]),
    ("NOT array_has(tags, 'x')", None, ["i4", "j1"]),
    ("label LIKE 'al%' OR n = 4", None, ["i1", "i2", "i4", "j1"]),
    ("name = 'i3' AND n > 0", "`id` IN ('i3')", ["i3"]),
    ("name IN ('i1', 'i2', 'no') AND n IS NULL", "`id` IN ('i1', 'i2', 'no')", ["i2"]),
]


@pytest.mark.parametrize(("where", "filter", "names"), QUESTIONS, ids=[q[0] for q in QUESTIONS])
def test_a_condition_reaches_storage_and_means_the_same(
    handle: Graph | Transaction, arrived: list[str], where: str, filter: str | None, names: list[str]
) -> None:
    rows = handle.sql(f"SELECT name FROM Item WHERE {where} ORDER BY name").fetchall()
    assert [row[0] for row in rows] == names
    if filter is None:
        assert set(arrived) == {"None"}
    else:
        assert filter in "".join(arrived).replace('"', "")


POINTS = [
    ("SELECT n, name FROM Item WHERE name = 'i4'", None, [(4, "i4")]),
    ("SELECT n FROM Item WHERE id = $1", ("i1",), [(1,)]),
    ("SELECT name FROM Item WHERE name IN ('i1', 'i2', 'i1', NULL, 'none')", None, [("i1",), ("i2",)]),
    ("SELECT name FROM Item WHERE name = NULL", None, []),
    ("SELECT name FROM Item WHERE name = 'i1' AND id = 'i2'", None, []),
    ("SELECT name FROM Item WHERE name = 'i1' AND id = 'i1'", None, [("i1",)]),
    ("SELECT v FROM Pair WHERE a = 1 AND b = 'x'", None, [("one",)]),
    ("SELECT v FROM Pair WHERE a IN (1, 2, 3) AND b = 'y'", None, [("two",)]),
    ("SELECT v FROM Pair WHERE b = 'x' AND a = 1.0", None, [("one",)]),
    ("SELECT count(*) FROM Item", None, [(5,)]),
]


@pytest.mark.parametrize(("text", "given", "expected"), POINTS, ids=[p[0] for p in POINTS])
def test_rows_by_key_and_their_number_do_not_need_the_query_engine(
    handle: Graph | Transaction, monkeypatch: pytest.MonkeyPatch, text: str, given: Any, expected: list[Any]
) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("the engine was asked")

    monkeypatch.setattr("omnigraph_sql.run.read.ask", refuse)
    assert sorted(handle.sql(text, given).fetchall()) == expected


@pytest.mark.parametrize(
    ("where", "expected"),
    [("a = 1.5 AND b = 'x'", []), ("a = 3000000000 AND b = 'x'", []), ("a <> 1 AND b = 'y'", [("two",)])],
)
def test_values_a_key_cannot_have_match_nothing(handle: Graph | Transaction, where: str, expected: list[Any]) -> None:
    assert handle.sql(f"SELECT v FROM Pair WHERE {where}").fetchall() == expected


def test_a_row_by_key_is_the_pending_one(tmp_path: Path) -> None:
    graph = init(tmp_path / "graph", schema=SCHEMA, seams=seams())
    graph.sql("INSERT INTO Item (name, n) VALUES ('a', 1), ('b', 2)")
    with graph.transaction() as tx:
        tx.sql("UPDATE Item SET n = 10 WHERE name = 'a'")
        tx.sql("INSERT INTO Item (name, n) VALUES ('c', 3)")
        found = tx.sql("SELECT name, n FROM Item WHERE name IN ('a', 'b', 'c')").fetchall()
        assert sorted(found) == [("a", 10), ("b", 2), ("c", 3)]
        tx.sql("UPDATE Item SET n = 11 WHERE name = 'a'")
        assert tx.sql("SELECT n FROM Item WHERE name = 'a'").fetchall() == [(11,)]
    with graph.transaction() as tx:
        tx.sql("DELETE FROM Item WHERE name = 'b'")
        assert tx.sql("SELECT n FROM Item WHERE name = 'b'").fetchall() == []
        assert tx.sql("SELECT count(*) FROM Item").fetchall() == [(2,)]
    assert graph.sql("SELECT count(*) FROM Item").fetchall() == [(2,)]
