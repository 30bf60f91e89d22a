"""How long writes take, each beside a floor or another size measured in the same run, round by round in turn.

Prints medians and ratios; exits with 1 when a stated ceiling is passed. `--quick` measures small graphs in seconds.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

import lance
import pyarrow as pa
from lance.fragment import write_fragments

from omnigraph_sql import graph as og
from omnigraph_sql.base import limits
from omnigraph_sql.engine.manifest.rows import SCHEMA as MANIFEST_SCHEMA
from omnigraph_sql.engine.store.tables import FILE_VERSION, table_schema

SCHEMA = """
node Airport { code: String @key  city: String  elevation: I32?  @range(elevation, -500..6000) }
node Carrier { iata: String @key  name: String  status: enum(active, dormant) }
node Note { text: String }
edge Route: Airport -> Airport { miles: I32 }
edge Hub: Carrier -> Airport @card(0..2)
"""
INSERT = "INSERT INTO Airport (code, city) VALUES ($code, 'Lima')"
REPLACE = "INSERT OR REPLACE INTO Airport (code, city) VALUES ($code, 'Cusco')"
UNIT = (
    ("INSERT INTO Airport (code, city) VALUES ($key, 'Lima')", "U{}"),
    ("INSERT INTO Carrier (iata, name, status) VALUES ($key, 'Aero', 'active')", "C{}"),
    ("INSERT INTO Note (text) VALUES ($key)", "N{}"),
    ("INSERT INTO Route (src, dst, miles) VALUES ('hub', $key, 100)", "U{}"),
)
UNIT_INSERTS = 100
PEAK_MB_MAX = 2048


@dataclass(frozen=True, slots=True)
class Sizes:
    rounds: int
    history: int
    many_rows: int
    few_rows: int
    people: int
    loads: int


FULL = Sizes(rounds=96, history=2_000, many_rows=1_000_000, few_rows=10_000, people=100_000, loads=3)
QUICK = Sizes(rounds=8, history=60, many_rows=20_000, few_rows=2_000, people=2_000, loads=1)


@dataclass(frozen=True, slots=True)
class Measured:
    what: str
    took: float
    floor: float
    ceiling: float
    unit: str = "ms"

    @property
    def ratio(self) -> float:
        return self.took / self.floor


def in_turn(rounds: int, *works: Callable[[int], object], after: Callable[[], object] = lambda: None) -> list[float]:
    """Median milliseconds of each work. Each round runs all, and every other one backwards: the first one of a round
    finds colder caches, and a busy moment meets all of them. `after` ends a round and is not counted."""
    times: list[list[float]] = [[] for _ in works]
    for number in range(rounds + 4):
        order = list(enumerate(works))
        for place, work in order if number % 2 else reversed(order):
            start = time.perf_counter()
            work(number)
            if number >= 4:
                times[place].append((time.perf_counter() - start) * 1000)
        after()
    return [statistics.median(own) for own in times]


def graph_at(place: Path) -> og.Graph:
    return og.init(place, schema=SCHEMA, actor="bench")


def insert_into(graph: og.Graph, prefix: str = "T") -> Callable[[int], object]:
    return lambda number: graph.sql(INSERT, {"code": f"{prefix}{number}"})


# ---- the bare calls -------------------------------------------------------------------------------------------------


class Bare:
    """What no one-row insert can do without: a data file, a durable note of what is planned, a commit, a publish."""

    def __init__(self, place: Path, graph: og.Graph) -> None:
        airport = graph.catalog.node("Airport")
        assert airport is not None
        self._schema = table_schema(airport)
        self._place = place
        place.mkdir()
        self._table: Any = self._made("table", self._schema)
        self._manifest: Any = self._made("manifest", MANIFEST_SCHEMA)
        self._published = 0

    def _made(self, name: str, schema: pa.Schema) -> Any:
        return lance.write_dataset(
            schema.empty_table(),
            str(self._place / name),
            data_storage_version=FILE_VERSION,
            enable_v2_manifest_paths=True,
            session=lance.Session(),
        )

    def insert(self, number: int) -> None:
        row = pa.Table.from_pylist([{"id": f"T{number}", "code": f"T{number}", "city": "Lima"}], schema=self._schema)
        files = write_fragments(row, self._table)
        note = self._announced(number)
        operation = lance.LanceOperation.Append(files)
        made = lance.Transaction(self._table.version, operation, uuid=str(uuid4()))
        self._table = lance.LanceDataset.commit(self._table, made, max_retries=0)
        self._publish(number)
        note.unlink()

    def _announced(self, number: int) -> Path:
        note = self._place / f"{number}.json"
        handle = os.open(note, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        os.write(handle, b"x" * 1000)
        os.fsync(handle)
        os.close(handle)
        folder = os.open(self._place, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
        return note

    def _publish(self, number: int) -> None:
        kinds = (f"version:{number:020d}", f"commit:{number:020d}", "head")
        rows = [{"object_id": k, "object_type": "row", "table_key": "", "metadata": "x" * 100} for k in kinds]
        merge = self._manifest.merge_insert("object_id").when_matched_update_all().when_not_matched_insert_all()
        merge.use_index(False).conflict_retries(0).execute(pa.Table.from_pylist(rows, schema=MANIFEST_SCHEMA))

    def tidy(self) -> None:
        """Keep both as small as the product keeps its own; not part of what is measured."""
        if len(self._manifest.get_fragments()) > limits.MANIFEST_FRAGMENTS_MAX:
            self._manifest.optimize.compact_files(num_threads=1)
        if len(self._table.get_fragments()) > limits.SMALL_FRAGMENTS_MAX:
            self._table.optimize.compact_files(num_threads=1)


# ---- what is measured -----------------------------------------------------------------------------------------------


def one_row(place: Path, sizes: Sizes) -> Iterator[Measured]:
    graph = graph_at(place / "one")
    bare = Bare(place / "bare", graph)
    ours, least = in_turn(sizes.rounds, insert_into(graph), bare.insert, after=bare.tidy)
    yield Measured("one-row INSERT (floor: the bare Lance calls and one fsynced note)", ours, least, 2.0)


def fsynced(place: Path, sizes: Sizes) -> Iterator[Measured]:
    careless, careful = graph_at(place / "left"), og.init(place / "synced", schema=SCHEMA, durability="fsync")
    left, synced = in_turn(sizes.rounds, insert_into(careless), insert_into(careful))
    yield Measured('one-row INSERT with durability="fsync" (floor: without)', synced, left, 4.0)


def history(place: Path, sizes: Sizes) -> Iterator[Measured]:
    young, old = graph_at(place / "young"), graph_at(place / "old")
    for graph, commits in ((young, 10), (old, sizes.history)):
        for number in range(commits):
            graph.sql("INSERT INTO Note (text) VALUES ($text)", {"text": f"note {number}"})
            if number % 8 == 0:
                graph.sql(INSERT, {"code": f"before {number}"})
    first, later = in_turn(sizes.rounds, insert_into(young), insert_into(old))
    yield Measured(f"one-row INSERT after {sizes.history} commits (floor: after 10)", later, first, 1.25)


def upserts(place: Path, sizes: Sizes) -> Iterator[Measured]:
    graphs = []
    for rows in (sizes.few_rows, sizes.many_rows):
        graph = graph_at(place / f"rows-{rows}")
        keys = pa.array([f"K{number:07d}" for number in range(rows)])
        table = pa.table({"code": keys, "city": pa.array(["Lima"] * rows)})
        graph.load(table, type="Airport", mode="append")
        graph.ensure_indices()
        graphs.append((graph, rows))

    def replace(graph: og.Graph, rows: int) -> Callable[[int], object]:
        return lambda number: graph.sql(REPLACE, {"code": f"K{number * 7919 % rows:07d}"})

    few, many = in_turn(sizes.rounds, *(replace(graph, rows) for graph, rows in graphs))
    what = f"INSERT OR REPLACE of one row into {sizes.many_rows} (floor: into {sizes.few_rows})"
    yield Measured(what, many, few, 2.0)


def unit(place: Path, sizes: Sizes) -> Iterator[Measured]:
    graph = graph_at(place / "unit")
    graph.sql("INSERT INTO Airport (code, city) VALUES ('hub', 'Lima')")

    def transaction(number: int) -> None:
        with graph.transaction() as open_one:
            for step in range(UNIT_INSERTS):
                text, key = UNIT[step % len(UNIT)]
                open_one.sql(text, {"key": key.format(f"{number}-{step // len(UNIT)}")})

    single, whole = in_turn(sizes.rounds // 2, insert_into(graph), transaction)
    yield Measured(f"transaction of {UNIT_INSERTS} INSERTs over 4 tables (floor: one INSERT)", whole, single, 3.0)


def child(*arguments: str) -> dict[str, float]:
    script = str(Path(__file__).with_name("_social.py"))
    done = subprocess.run([sys.executable, script, *arguments], check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def loading(place: Path, sizes: Sizes) -> Iterator[Measured]:
    data = str(place / "social")
    edges = child("make", data, str(sizes.people))["edges"]
    ours: list[dict[str, float]] = []
    peers: list[dict[str, float]] = []
    for _ in range(sizes.loads):
        ours.append(child("omnigraph", data))
        if find_spec("ladybug") is not None:
            peers.append(child("ladybug", data))
    took = statistics.median(run["seconds"] for run in ours)
    if peers:
        what = f"load of {sizes.people} people and {edges:.0f} edges, checked (floor: Ladybug COPY)"
        yield Measured(what, took, statistics.median(run["seconds"] for run in peers), 2.0, "s")
    else:
        print(f"load of {sizes.people} people: {took:.2f} s, compared with nothing, for ladybug is not installed")
    peak = max(run["peak_mb"] for run in ours)
    yield Measured(f"peak memory of that load (ceiling {PEAK_MB_MAX} MB)", peak, PEAK_MB_MAX, 1.0, "MB")


def main(arguments: list[str]) -> int:
    sizes = QUICK if "--quick" in arguments else FULL
    chosen = [a for a in arguments if not a.startswith("-")]
    late = 0
    with tempfile.TemporaryDirectory() as folder:
        for part in (one_row, fsynced, history, upserts, unit, loading):
            if chosen and part.__name__ not in chosen:
                continue
            for found in part(Path(folder), sizes):
                over = found.ratio > found.ceiling
                late += over
                print(
                    f"{found.what:84} {found.took:9.2f} {found.unit}  {found.ratio:5.2f}x of {found.floor:.2f}"
                    f"  ceiling {found.ceiling:.2f}x  {'OVER' if over else 'ok'}",
                    flush=True,
                )
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
