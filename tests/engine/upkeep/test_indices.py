"""ensure_indices builds what is missing as one commit, heals like any write, and changes no answer."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any

import pyarrow as pa
import pytest

from omnigraph_sql import graph as og
from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import ID
from omnigraph_sql.base.errors import ConflictError, KeyConflict
from omnigraph_sql.base.failpoints import CATALOGUE
from omnigraph_sql.engine.store.indexes import IndexKind, TableIndex, lacking
from omnigraph_sql.engine.store.root import GraphRoot
from omnigraph_sql.engine.values import TablePin
from omnigraph_sql.engine.world import Seams, World
from tests.engine.recovery.crashes import Died
from tests.engine.worlds import seams

SCHEMA = """
node Person {
    name: String @key
    nick: String? @index
    age: I32? @index
    born: Date? @index
    seen: DateTime? @index
    score: F64? @index
    member: Bool? @index
    level: enum(low, mid, high) @index
    note: String?
    tags: [String]?
    @index(tags)
    face: Vector(2)? @index
}
edge Knows: Person -> Person { since: I32? @index }
node Rare { code: String @key }
"""
ROWS = 2 * limits.INDEXED_ROWS_MIN
QUESTIONS = (
    "name = 'p7'",
    "name IN ('p7', 'p11', 'missing', 'late1')",
    "name <> 'p7'",
    "name > 'p19'",
    "name LIKE 'p1%'",
    "nick = 'n3'",
    "nick IS NULL",
    "nick IS NOT NULL AND age = 30",
    "NOT (nick = 'n3')",
    "age = 30",
    "age <> 30",
    "age BETWEEN 20 AND 25 OR age IS NULL",
    "age > 1000",
    "born = DATE '2000-01-08'",
    "born < DATE '2000-02-01'",
    "seen >= TIMESTAMP '2026-01-02 00:00:00'",
    "score = 0.0",
    "score <= 0.5",
    "NOT (score <= 0.5)",
    "member",
    "NOT member",
    "member IS NULL",
    "level = 'mid'",
    "level IN ('low', 'high') AND age < 40",
)


def people(first: int, count: int, prefix: str = "p") -> pa.Table:
    places = range(first, first + count)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    return pa.table(
        {
            "name": [f"{prefix}{i}" for i in places],
            "nick": [None if i % 5 == 0 else f"n{i % 9}" for i in places],
            "age": pa.array([None if i % 7 == 0 else i % 90 for i in places], pa.int32()),
            "born": pa.array([None if i % 6 == 0 else 10957 + i % 400 for i in places], pa.int32()).cast(pa.date32()),
            "seen": pa.array([start + timedelta(minutes=i) for i in places], pa.timestamp("us", "UTC")),
            "score": pa.array([None if i % 8 == 0 else (-0.0, 0.0, 0.5, 1e300, -3.5)[i % 5] for i in places]),
            "member": [None if i % 4 == 0 else i % 3 == 0 for i in places],
            "level": [("low", "mid", "high")[i % 3] for i in places],
        }
    )


def filled(place: Path, given: Seams | None = None) -> og.Graph:
    graph = og.init(place, schema=SCHEMA, actor="tester", seams=given)
    graph.load(people(0, ROWS), type="Person", mode="append")
    ends = [f"p{i}" for i in range(ROWS)]
    since = pa.array([i % 50 for i in range(ROWS)], pa.int32())
    graph.load(pa.table({"src": ends, "dst": ends[::-1], "since": since}), type="Knows", mode="append")
    graph.sql("INSERT INTO Rare (code) VALUES ('r')")
    return graph


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[og.Graph, og.Graph]:
    """The same rows twice, without and with indexes, and with a tail that no index covers."""
    folder = tmp_path_factory.mktemp("pair")
    bare, indexed = filled(folder / "bare"), filled(folder / "indexed")
    assert indexed.ensure_indices().commit_id is not None
    for graph in (bare, indexed):
        graph.load(people(0, 20, "late"), type="Person", mode="append")
        graph.sql("UPDATE Person SET age = 30, score = -0.0 WHERE name IN ('p3', 'p9')")
        graph.sql("DELETE FROM Person WHERE name IN ('p4', 'p1001')")
    return bare, indexed


def world_of(graph: og.Graph) -> World:
    return World.at(GraphRoot.parse(graph.uri))


def pin(world: World, key: str, branch: str = "main") -> TablePin:
    found = world.manifest.current(branch).snapshot.named(key)
    assert found is not None
    return found


def indexes(graph: og.Graph, key: str) -> dict[str, list[frozenset[int]]]:
    """Fragments of every part of every index, by column."""
    world = world_of(graph)
    found: dict[str, list[frozenset[int]]] = {}
    for one in world.tables.open(pin(world, key, graph.branch)).dataset.describe_indices():
        found[one.field_names[0]] = [frozenset(part.fragment_ids) for part in one.segments]
    return found


def everything(graph: og.Graph) -> dict[str, list[Any]]:
    texts = {"Person": "SELECT name, nick, age FROM Person ORDER BY name", "Knows": "SELECT src, dst, since FROM Knows"}
    return {name: sorted(graph.sql(text).fetchall(), key=repr) for name, text in texts.items()}


# ---- answers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", QUESTIONS)
def test_wp_39_a_condition_finds_the_same_rows_with_and_without_indexes(
    pair: tuple[og.Graph, og.Graph], question: str
) -> None:
    bare, indexed = (g.sql(f"SELECT name FROM Person WHERE {question} ORDER BY name").fetchall() for g in pair)
    assert bare == indexed
    assert bare or "1000" in question


@pytest.mark.parametrize("key", ["src", "dst"])
def test_wp_39_edges_of_a_node_are_the_same_with_and_without_indexes(pair: tuple[og.Graph, og.Graph], key: str) -> None:
    text = f"SELECT src, dst FROM Knows WHERE {key} IN ('p7', 'p9', 'p4') ORDER BY src, dst"
    bare, indexed = (graph.sql(text).fetchall() for graph in pair)
    assert bare == indexed
    assert bare


def test_wp_39_writes_that_look_rows_up_come_to_the_same_with_and_without_indexes(
    pair: tuple[og.Graph, og.Graph],
) -> None:
    for graph in pair:
        for taken in ("p7", "late3"):
            with pytest.raises(KeyConflict):
                graph.sql("INSERT INTO Person (name, level) VALUES ($n, 'low')", {"n": taken})
        graph.sql("INSERT OR REPLACE INTO Person (name, age, level) VALUES ('p12', 5, 'mid')")
        graph.sql("INSERT OR REPLACE INTO Person (name, age, level) VALUES ('late5', 6, 'mid')")
        graph.sql("INSERT INTO Person (name, level) VALUES ('p4', 'low')")
        graph.sql("DELETE FROM Person WHERE name = 'p20'")
    bare, indexed = (everything(graph) for graph in pair)
    assert bare == indexed


# ---- what is built --------------------------------------------------------------------------------------------------


def test_the_schema_decides_which_columns_get_an_index(pair: tuple[og.Graph, og.Graph]) -> None:
    wanted = {"id", "name", "nick", "age", "born", "seen", "score", "member", "level"}
    assert set(indexes(pair[1], "node:Person")) == wanted
    assert set(indexes(pair[1], "edge:Knows")) == {"id", "src", "dst", "since"}


def test_what_is_not_built_is_told_as_pending(pair: tuple[og.Graph, og.Graph]) -> None:
    told = {(index.column, index.kind) for index in pair[1].ensure_indices().pending}
    assert told == {("tags", IndexKind.ITEMS), ("face", IndexKind.VECTOR)}


def test_a_small_table_gets_no_index(pair: tuple[og.Graph, og.Graph]) -> None:
    assert indexes(pair[1], "node:Rare") == {}


def test_exactly_the_least_number_of_rows_gets_an_index(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", schema=SCHEMA)
    graph.load(people(0, limits.INDEXED_ROWS_MIN - 1), type="Person", mode="append")
    assert graph.ensure_indices().commit_id is None
    graph.sql("INSERT INTO Person (name, level) VALUES ('one more', 'low')")
    assert graph.ensure_indices().commit_id is not None


def test_nothing_to_do_leaves_no_trace(tmp_path: Path) -> None:
    graph = filled(tmp_path / "g")
    first = graph.ensure_indices()
    before = sorted(str(p) for p in (tmp_path / "g").rglob("*") if p.is_file() and not p.name.startswith(".lease"))
    second = graph.ensure_indices()
    after = sorted(str(p) for p in (tmp_path / "g").rglob("*") if p.is_file() and not p.name.startswith(".lease"))
    assert first.built
    assert (second.commit_id, second.built) == (None, ())
    assert before == after


def test_building_is_one_commit_that_keeps_every_row(tmp_path: Path) -> None:
    graph = filled(tmp_path / "g")
    before, rows = graph.stats(), everything(graph)
    report = graph.ensure_indices()
    after = graph.stats()
    assert graph.head == report.commit_id
    assert [c.parent for c in graph.commits(limit=1)] == [before["head"]]
    assert [(t["name"], t["rows"]) for t in after["tables"]] == [(t["name"], t["rows"]) for t in before["tables"]]
    moved = {t["name"]: t["version"] - b["version"] for t, b in zip(after["tables"], before["tables"], strict=True)}
    assert moved == {"edge:Knows": 1, "node:Person": 1, "node:Rare": 0}
    assert everything(graph) == rows


def test_a_long_tail_is_added_to_the_index_and_a_longer_one_makes_it_anew(tmp_path: Path) -> None:
    graph = filled(tmp_path / "g")
    graph.ensure_indices()
    graph.load(people(0, limits.INDEXED_ROWS_MIN - 1, "short"), type="Person", mode="append")
    assert graph.ensure_indices().commit_id is None
    graph.sql("INSERT INTO Person (name, level) VALUES ('one more', 'low')")
    world = world_of(graph)
    table = world.tables.open(pin(world, "node:Person"))
    assert lacking(world.tables, table, [TableIndex(ID, IndexKind.SORTED)])[0].column == ID
    graph.ensure_indices()
    parts = indexes(graph, "node:Person")["id"]
    assert len(parts) == 1
    graph.load(people(0, 4 * ROWS, "more"), type="Person", mode="append")
    graph.ensure_indices()
    graph.load(people(0, limits.INDEXED_ROWS_MIN, "tail"), type="Person", mode="append")
    graph.ensure_indices()
    parts = indexes(graph, "node:Person")["id"]
    assert len(parts) == 2
    assert not parts[0] & parts[1]
    for name in ("p5", "short5", "one more", "more5", "tail5"):
        assert graph.sql("SELECT count(*) n FROM Person WHERE name = $n", {"n": name}).fetchall() == [(1,)]


def test_an_index_does_not_grow_into_ever_more_parts(tmp_path: Path) -> None:
    graph = filled(tmp_path / "g")
    graph.load(people(0, 30 * ROWS, "base"), type="Person", mode="append")
    graph.ensure_indices()
    seen = set()
    for number in range(8):
        graph.load(people(0, limits.INDEXED_ROWS_MIN, f"t{number}-"), type="Person", mode="append")
        graph.ensure_indices()
        seen.add(len(indexes(graph, "node:Person")["id"]))
    assert seen == {1, 2, 3, 4}


# ---- branches -------------------------------------------------------------------------------------------------------


def test_on_a_branch_only_a_table_with_work_is_taken_over(tmp_path: Path) -> None:
    graph = filled(tmp_path / "g")
    graph.ensure_indices()
    graph.create_branch("dev")
    branch = graph.checkout("dev")
    assert branch.ensure_indices().commit_id is None
    graph.create_branch("work")
    work = graph.checkout("work")
    work.load(people(0, 2 * ROWS, "b"), type="Person", mode="append")
    assert {index.table for index in work.ensure_indices().built} == {"node:Person"}
    world = world_of(graph)
    assert pin(world, "edge:Knows", "work").branch is None
    assert pin(world, "node:Person", "work").branch == "work"
    assert work.sql("SELECT count(*) n FROM Person WHERE name IN ('b7', 'p7')").fetchall() == [(2,)]
    assert graph.sql("SELECT count(*) n FROM Person").fetchall() == [(ROWS,)]


def test_an_inherited_table_is_forked_and_indexed_there(tmp_path: Path) -> None:
    graph = filled(tmp_path / "g")
    graph.create_branch("dev")
    branch = graph.checkout("dev")
    assert branch.ensure_indices().commit_id is not None
    assert set(indexes(branch, "edge:Knows")) == {"id", "src", "dst", "since"}
    assert indexes(graph, "edge:Knows") == {}
    assert everything(branch) == everything(graph)


# ---- refusals and crashes -------------------------------------------------------------------------------------------


def test_a_graph_open_for_reading_builds_nothing(tmp_path: Path) -> None:
    filled(tmp_path / "g").close()
    with pytest.raises(ConflictError, match="reading only"):
        og.open(tmp_path / "g", read_only=True).ensure_indices()


def test_a_commit_in_between_makes_it_plan_anew(tmp_path: Path) -> None:
    graph = filled(tmp_path / "g")
    other = og.open(tmp_path / "g")

    class Meddling:
        """Another writer commits while indexes are being built, once."""

        done = False

        def hit(self, name: str) -> None:
            if name == "write.before_lease" and not self.done:
                self.done = True
                other.sql("INSERT INTO Person (name, level) VALUES ('meanwhile', 'low')")

    meddled = og.open(tmp_path / "g", seams=seams(failpoints=Meddling()))
    report = meddled.ensure_indices()
    assert graph.commits(limit=1)[0].id == report.commit_id
    assert graph.sql("SELECT count(*) n FROM Person WHERE name = 'meanwhile'").fetchall() == [(1,)]


class Dying:
    """Failpoints that listen from `armed` on, and let the writer die when a place is reached for the given time."""

    def __init__(self, name: str = "", at_hit: int = 1) -> None:
        self.fatal, self.armed = (name, at_hit), False
        self.heard: Counter[str] = Counter()

    def hit(self, name: str) -> None:
        if self.armed:
            self.heard[name] += 1
            if self.fatal == (name, self.heard[name]):
                raise Died


def building(place: Path, points: Dying, branch: str = "main") -> None:
    graph = og.open(place, branch=branch, seams=seams(failpoints=points))
    points.armed = True
    graph.ensure_indices()


def test_a_crash_anywhere_is_healed_and_no_row_is_lost(tmp_path: Path) -> None:
    rows = everything(filled(tmp_path / "whole"))
    copytree(tmp_path / "whole", tmp_path / "sounded")
    sounded = Dying()
    building(tmp_path / "sounded", sounded)
    places = [(name, hit) for name, hits in sounded.heard.items() for hit in {1, hits}]
    assert {("store.index", 1), ("arm.after", 1), ("commit.after_table", 2), ("confirm.after", 1)} <= set(places)
    assert sounded.heard.keys() <= {point.name for point in CATALOGUE}
    for name, hit in places:
        copy = tmp_path / f"{name}-{hit}"
        copytree(tmp_path / "whole", copy)
        with pytest.raises(Died):
            building(copy, Dying(name, hit))
        healed = og.open(copy)
        assert healed.stats()["pending_operations"] == 0, (name, hit)
        healed.ensure_indices()
        assert healed.ensure_indices().commit_id is None, (name, hit)
        assert set(indexes(healed, "edge:Knows")) == {"id", "src", "dst", "since"}, (name, hit)
        assert everything(healed) == rows, (name, hit)
        rmtree(copy)


@pytest.mark.parametrize("name", ["arm.after", "commit.after_fork", "commit.after_table", "confirm.after"])
def test_a_crash_while_a_branch_takes_tables_over_is_healed(tmp_path: Path, name: str) -> None:
    graph = filled(tmp_path / "g")
    graph.create_branch("dev")
    rows = everything(graph)
    with pytest.raises(Died):
        building(tmp_path / "g", Dying(name), "dev")
    healed = og.open(tmp_path / "g", branch="dev")
    assert healed.stats()["pending_operations"] == 0
    healed.ensure_indices()
    assert healed.ensure_indices().commit_id is None
    assert set(indexes(healed, "edge:Knows")) == {"id", "src", "dst", "since"}
    assert everything(healed) == everything(graph) == rows
