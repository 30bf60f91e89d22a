"""How rows are compared by a check: in parts that fit, by hashes that may collide, and always with the same outcome."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph_sql
from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import ConstraintViolation, StorageError
from omnigraph_sql.base.seams import CATALOGUE, Fault, PlannedFaults, Raise, SystemClock, SystemPause, UlidSource
from omnigraph_sql.engine.store.held_ids import hashes
from omnigraph_sql.engine.store.root import GraphRoot
from omnigraph_sql.engine.upkeep import check_rows
from omnigraph_sql.engine.upkeep.check import Check
from omnigraph_sql.engine.upkeep.check_rows import StoredRows, hashed, loose_ends, together
from omnigraph_sql.engine.values import TableIdentity
from omnigraph_sql.engine.world import Seams, World
from omnigraph_sql.graph import Graph
from omnigraph_sql.run.contract import ContractKeeper

SCHEMA = """node Person { name: String @key  badge: I64?  @unique(badge) }
edge Knows: Person -> Person @card(0..3)
"""
COUNT = 60


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    """People who keep all rules, and a table of each that does not, beside the graph."""
    with omnigraph_sql.init(tmp_path / "g.omni", schema=SCHEMA) as made:
        people = pa.table({"name": [f"p{n}" for n in range(COUNT)], "badge": pa.array(range(COUNT), pa.int64())})
        made.load(people, type="Person", mode="append")
        ends = [f"p{n}" for n in range(COUNT)]
        made.load(pa.table({"src": ends, "dst": ends[::-1]}), type="Knows", mode="append")
        yield made


def harm(graph: Graph) -> None:
    """Rows of every kind that must not be, some of them in each part."""
    import lance

    place = Path(graph.uri)
    for of in graph.catalog.tables():
        folder = place / ("nodes" if of.name == "Person" else "edges") / f"{of.stable_id:016x}-{of.incarnation_id:016x}"
        rows: list[dict[str, object]]
        if of.name == "Person":
            rows = [{"id": f"p{n}", "name": f"p{n}", "badge": None} for n in range(0, COUNT, 3)]
            rows += [{"id": f"q{n}", "name": f"q{n}", "badge": n} for n in range(0, COUNT, 4)]
        else:
            rows = [{"id": f"k{n}", "src": f"p{n}", "dst": f"zz{n}"} for n in range(20)]
            rows += [{"id": f"l{n}-{m}", "src": f"p{n}", "dst": "p1"} for n in range(40, COUNT) for m in range(3)]
        table = pa.Table.from_pylist(rows, schema=lance.dataset(str(folder)).schema)
        lance.write_dataset(table, str(folder), mode="append")


def stored(graph: Graph, name: str, *, newest: bool = True) -> StoredRows:
    """A table of the graph, at its newest version, whatever is shown."""
    from dataclasses import replace

    world = World.at(GraphRoot.parse(graph.uri))
    of = graph.catalog.node(name) or graph.catalog.edge(name)
    assert of is not None
    pin = world.manifest.current("main").snapshot.pin(TableIdentity.of(of))
    assert pin is not None
    if newest:
        version = world.tables.newest(pin.path, None, pin.version)
        made = world.tables.dataset(pin.path, None, version)
        pin = replace(pin, version=version, row_count=made.count_rows())
    return StoredRows(world, of, world.tables.open(pin))


def complaints(graph: Graph) -> list[str]:
    people, knows = stored(graph, "Person"), stored(graph, "Knows")
    found: list[ConstraintViolation] = [*together(people), *together(knows)]
    for side in ("src", "dst"):
        found += loose_ends(people, knows, side)
    return sorted(one.message for one in found)


EXPECTED = 20 + 15 + 20 + 20
"""Ids twice, badges twice, edges to nobody, people with too many edges."""


def test_all_wrong_rows_are_found_in_one_part(graph: Graph) -> None:
    assert complaints(graph) == []
    harm(graph)
    assert len(complaints(graph)) == EXPECTED


@pytest.mark.parametrize("size", [8, 64, 8 * 33])
def test_parts_find_what_one_look_finds(graph: Graph, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    harm(graph)
    wanted = complaints(graph)
    monkeypatch.setattr(limits, "CHECK_HASHES_BYTES_MAX", size)
    assert stored(graph, "Person").parts > 1
    assert complaints(graph) == wanted


def test_a_part_holds_no_more_than_its_share(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CHECK_HASHES_BYTES_MAX", 8 * 10)
    people = stored(graph, "Person")
    parts = [
        hashed(people.pieces("id"), lambda piece: hashes(piece["id"].combine_chunks()), part, people.parts)
        for part in range(people.parts)
    ]
    assert sum(map(len, parts)) == COUNT
    assert max(map(len, parts)) < COUNT / 2
    assert all((part[1:] >= part[:-1]).all() for part in parts)


@pytest.mark.parametrize(("extra", "parts"), [(-1, 1), (0, 1), (1, 2)])
def test_the_number_of_parts_follows_from_the_limit(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, extra: int, parts: int
) -> None:
    monkeypatch.setattr(limits, "CHECK_HASHES_BYTES_MAX", (COUNT - extra) * 8)
    assert stored(graph, "Person").parts == parts


def test_equal_hashes_of_different_values_are_no_finding(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    def few(ids: pa.Array) -> Any:
        return hashes(ids) % 5

    monkeypatch.setattr(check_rows, "hashes", few)
    assert complaints(graph) == []


def test_ids_that_occur_twice_are_found_whatever_their_hashes(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    harm(graph)
    wanted = [text for text in complaints(graph) if "have the id" in text]
    monkeypatch.setattr(check_rows, "hashes", lambda ids: hashes(ids) % 5)
    assert [text for text in complaints(graph) if "have the id" in text] == wanted


READING = ("store.list", "store.open", "store.newest", "store.lookup", "manifest.open", "manifest.read", "audit.read")


@pytest.mark.parametrize("name", READING)
@pytest.mark.parametrize("kind", ["transient", "configuration", "interrupted"])
def test_trouble_with_storage_is_told_as_such(graph: Graph, name: str, kind: str) -> None:
    faults = PlannedFaults([Fault(name, Raise(StorageError("away", kind=kind)))])
    with pytest.raises(StorageError, match="away"):
        list(look(graph, faults).findings())
    assert faults.hits(name) == 1


def test_a_check_reads_and_nothing_else(graph: Graph) -> None:
    faults = PlannedFaults()
    check = look(graph, faults)
    assert list(check.findings()) == []
    assert (check.branches, check.tables, check.rows) == (1, 2, 2 * COUNT)
    reads = {*READING, "store.get", "manifest.newest", "manifest.branches"}
    assert {point.name for point in CATALOGUE if faults.hits(point.name)} <= reads


def look(graph: Graph, faults: PlannedFaults) -> Check:
    clock = SystemClock()
    world = World.at(GraphRoot.parse(graph.uri), Seams(clock, UlidSource(clock), faults, SystemPause()))
    keeper = ContractKeeper.open(world)
    return Check(world, lambda snapshot: keeper.at(snapshot).catalog)
