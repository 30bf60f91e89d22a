"""What is kept for traversal: how much of it, for whom, and that it never answers for other rows."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from omnigraph_sql import graph as og
from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import ExecutionError
from omnigraph_sql.engine.store.derived import Damaged, DerivedFiles
from omnigraph_sql.engine.store.root import GraphRoot
from omnigraph_sql.run.shelf import SHELF, Shelf

SCHEMA = """
node Person { name: String @key  age: I64? }
edge Follows: Person -> Person
"""
COUNT = "SELECT count(*) FROM Follows f JOIN Follows g ON g.src = f.dst"
FANS = (
    "SELECT p.name, count(*) AS n FROM Follows f JOIN Person p ON p.id = f.dst GROUP BY p.name ORDER BY n DESC, p.name"
)
FRIENDS = 'query q() { match { $p: Person { name: "a" }  $p follows $q } return { $q.name as n } order { n asc } }'
REACH = 'query q() { match { $p: Person { name: "a" }  $p follows{1,3} $q } return { $q.name as n } order { n asc } }'


def made(place: Path, pairs: str = "ab bc ca ac") -> og.Graph:
    graph = og.init(place, schema=SCHEMA)
    follow(graph, pairs, people="abcd")
    return graph


def follow(graph: og.Graph, pairs: str, people: str = "") -> None:
    with graph.transaction() as unit:
        for name in people:
            unit.sql("INSERT INTO Person (name, age) VALUES ($n, 3)", {"n": name})
        for pair in pairs.split():
            unit.sql("INSERT INTO Follows (src, dst) VALUES ($s, $t)", {"s": pair[0], "t": pair[1]})


def answers(graph: og.Graph) -> list[list[tuple[Any, ...]]]:
    return [
        graph.sql(COUNT).fetchall(),
        graph.sql(FANS).fetchall(),
        *(graph.gq(q).fetchall() for q in (FRIENDS, REACH)),
    ]


AT_FIRST = [[(5,)], [("c", 2), ("a", 1), ("b", 1)], [("b",), ("c",)], [("b",), ("c",)]]
LATER = [[(7,)], [("c", 2), ("a", 1), ("b", 1), ("d", 1)], [("b",), ("c",)], [("b",), ("c",), ("d",)]]


# ---- how much ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "kept"), [(299, ["b", "c"]), (300, ["a", "b", "c"]), (301, ["a", "b", "c"]), (99, [])]
)
def test_the_shelf_keeps_up_to_its_limit_and_drops_the_least_used(limit: int, kept: list[str]) -> None:
    shelf = Shelf(limit)
    for name in "abc":
        assert shelf.get((name,), lambda name=name: name, lambda _: 100) == name  # type: ignore[misc]
    assert [name for name in "abc" if shelf.peek((name,)) is not None] == kept
    assert shelf.facts().bytes == 100 * len(kept) <= limit


@pytest.mark.parametrize(("limit", "made_links"), [(3, 0), (4, 1), (5, 1)])
def test_a_step_from_one_node_makes_the_adjacency_of_a_small_table_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int, made_links: int
) -> None:
    monkeypatch.setattr("omnigraph_sql.run.links.LINKS_MADE_MAX", limit)
    graph = made(tmp_path / "graph", "ab bc ca ac")
    assert graph.gq(FRIENDS).fetchall() == [("b",), ("c",)]
    assert len(list((tmp_path / "graph").rglob("*.arrays"))) == made_links


def test_what_was_used_last_stays_and_a_smaller_limit_takes_effect_at_once() -> None:
    shelf = Shelf(200)
    for name in "ab":
        shelf.get((name,), lambda: 1, lambda _: 100)
    shelf.peek(("a",))
    shelf.get(("c",), lambda: 1, lambda _: 100)
    assert (shelf.peek(("a",)), shelf.peek(("b",))) == (1, None)
    shelf.limit(0)
    assert (shelf.facts().entries, shelf.facts().bytes) == (0, 0)


def test_answers_are_the_same_when_nothing_fits(tmp_path: Path) -> None:
    graph = made(tmp_path / "g")
    SHELF.limit(0)
    try:
        assert answers(graph) == AT_FIRST
        assert graph.stats()["kept"]["entries"] == 0
    finally:
        SHELF.limit(limits.KEPT_BYTES_MAX)


def test_stats_tell_what_is_kept(tmp_path: Path) -> None:
    graph = made(tmp_path / "g")
    before = graph.stats()["kept"]
    answers(graph)
    after = graph.stats()["kept"]
    assert (before["disk_bytes"], before["limit_bytes"]) == (0, limits.KEPT_BYTES_MAX)
    assert after["disk_bytes"] > 0
    assert after["bytes"] > before["bytes"]


# ---- for whom ---------------------------------------------------------------------------------------------------


def test_branches_and_the_past_see_their_own_edges(tmp_path: Path) -> None:
    graph = made(tmp_path / "g")
    assert answers(graph) == AT_FIRST
    first = graph.head
    graph.create_branch("other")
    follow(graph, "cd")
    other = graph.checkout("other")
    for _ in range(2):
        assert answers(graph) == LATER
        assert answers(other) == AT_FIRST
        assert answers(graph.at(first)) == AT_FIRST
        SHELF.clear()
    follow(other, "da")
    assert other.sql(FANS).fetchall() == [("a", 2), ("c", 2), ("b", 1)]
    assert answers(graph) == LATER


def test_branches_that_deleted_as_many_edges_but_others_share_nothing(tmp_path: Path) -> None:
    graph = made(tmp_path / "g")
    graph.sql("CREATE BRANCH other")
    other = graph.checkout("other")
    graph.sql("DELETE FROM Follows WHERE src = 'b'")
    assert graph.sql(FANS).fetchall() == [("a", 1), ("b", 1), ("c", 1)]
    other.sql("DELETE FROM Follows WHERE src = 'c'")
    assert other.sql(FANS).fetchall() == [("c", 2), ("b", 1)]


def test_a_transaction_sees_its_own_edges_and_nobody_else_does(tmp_path: Path) -> None:
    graph = made(tmp_path / "g")
    answers(graph)
    with graph.transaction() as unit:
        unit.sql("INSERT INTO Follows (src, dst) VALUES ('c', 'd')")
        assert unit.sql(COUNT).fetchall() == [(7,)]
        assert graph.sql(COUNT).fetchall() == [(5,)]
        unit.rollback()
    with graph.transaction() as unit:
        unit.sql("DELETE FROM Person WHERE name = 'c'")
        assert unit.sql(FANS).fetchall() == [("b", 1)]
        assert answers(graph) == AT_FIRST
        unit.rollback()
    assert answers(graph) == AT_FIRST


def test_a_graph_made_anew_in_the_same_place_is_another_graph(tmp_path: Path) -> None:
    for pairs, expected in (("ab bc ca ac", 5), ("ab ba", 2)):
        graph = made(tmp_path / "g", pairs)
        assert graph.sql(COUNT).fetchall() == [(expected,)]
        kept = tmp_path / "kept"
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(tmp_path / "g" / "__cache", kept)
        shutil.rmtree(tmp_path / "g")
    graph = made(tmp_path / "g", "ab")
    shutil.copytree(kept, tmp_path / "g" / "__cache")
    assert graph.sql(COUNT).fetchall() == [(0,)]


def test_building_indexes_changes_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omnigraph_sql.engine.upkeep.indices.INDEXED_ROWS_MIN", 1, raising=False)
    graph = made(tmp_path / "g")
    before = answers(graph)
    graph.ensure_indices()
    assert answers(graph) == before == AT_FIRST


def test_handles_in_many_threads_share_what_is_kept(tmp_path: Path) -> None:
    made(tmp_path / "g").close()
    SHELF.clear()

    def ask(_: int) -> bool:
        with og.open(tmp_path / "g", read_only=True) as graph:
            return all(answers(graph) == AT_FIRST for _ in range(3))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(16)))
    kept = [key for key in SHELF._kept if key[0] == "links"]
    assert len(kept) == 1


# ---- on disk ----------------------------------------------------------------------------------------------------


def test_files_of_old_states_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omnigraph_sql.run.links_stored.LINKS_CHANGED_MAX", 0)
    graph = made(tmp_path / "g")
    for number in range(7):
        follow(graph, f"a{'bcd'[number % 3]}")
        graph.sql(COUNT).fetchall()
    assert len(list((tmp_path / "g" / "__cache" / "links").iterdir())) == 4


def test_a_place_that_cannot_be_written_to_costs_nothing_but_time(tmp_path: Path) -> None:
    graph = made(tmp_path / "g")
    (tmp_path / "g" / "__cache").write_text("in the way")
    SHELF.clear()
    assert answers(graph) == AT_FIRST


def test_other_places_are_kept_among_the_files_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first, second = (DerivedFiles.at(GraphRoot.parse(f"s3://bucket/{name}")) for name in "ab")
    assert first.folder != second.folder
    assert first.folder.is_relative_to(tmp_path)
    first.write("edges/1", "t", {"x": np.arange(3)}, {"note": 1})
    found = first.open("edges/1", "t")
    assert found is not None
    assert (found.get("x").tolist(), found.notes) == ([0, 1, 2], {"note": 1})
    assert second.open("edges/1", "t") is None


@pytest.mark.parametrize("place", range(0, 700, 7))
def test_a_file_with_a_changed_byte_is_no_file_or_its_array_is_refused(tmp_path: Path, place: int) -> None:
    files = DerivedFiles(tmp_path)
    files.write("edges/1", "t", {"x": np.arange(30, dtype=np.int64), "y": np.arange(5, dtype=np.int32)}, {})
    (path,) = tmp_path.iterdir()
    body = path.read_bytes()
    at = place % len(body)
    path.write_bytes(body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :])
    found = files.open("edges/1", "t")
    if found is None:
        return
    for name, values in (("x", list(range(30))), ("y", list(range(5)))):
        with suppress(Damaged):
            assert found.get(name).tolist() == values


# ---- numbers ----------------------------------------------------------------------------------------------------


def test_a_count_that_does_not_fit_is_an_error_and_one_that_fits_is_exact(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", schema=SCHEMA)
    people = "abcdefgh"
    follow(graph, " ".join(a + b for a in people for b in people), people=people)

    def counted(steps: int) -> list[tuple[Any, ...]]:
        chain = "".join(f"-[IS Follows]->(v{i} IS Person)" for i in range(steps))
        text = f"SELECT count(*) FROM GRAPH_TABLE (MATCH (a IS Person){chain} COLUMNS (a.name AS n)) g"
        return graph.sql(text).fetchall()

    # Eight people follow each other and themselves: 8 ** 20 is below 2 ** 63, 8 ** 21 is exactly that.
    assert counted(19) == [(8**20,)]
    for steps in (20, 24):
        with pytest.raises(ExecutionError, match="out of range"):
            counted(steps)
