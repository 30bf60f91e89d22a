"""Spark: loading, reading and functions against what Spark does with the same rows in Parquet. Ratios of one run.

python bench/spark.py                  5 million nodes, 20 million edges
python bench/spark.py --nodes 200000   smaller; edges are four times as many

Every pair is measured in turn, round by round, and the median of the ratios counts. Loading checks keys, a range, a
unique property, both ends of every edge and how many edges leave a node; the copy it is compared with checks nothing.
Reading is compared with reading the same columns, the id among them, from Parquet.
The rate of a function counts by the clock; its processor time stands beside it, for machines with more to do. Exits
with 1 when a ceiling is passed. With fewer nodes, what a job costs whatever its size weighs more.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import mkdtemp
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import omnigraph_sql as og
from omnigraph_sql.spark import load, register, session, use_source
from omnigraph_sql.spark.sessions import missing

SCHEMA = """
node Person {
    code: String @key
    name: String
    age: I32
    city: String
    score: F64
    @range(age, 0..150)
    @unique(name)
}
edge Knows: Person -> Person @card(0..1000) { since: I32  weight: F64 }
"""
FILES = 8
LOAD_MAX = 3.0
READ_MAX = 2.0
KEY_MAX = 2.0
DEGREES_MIN = 1e6
CORES = 2
IDLE_WORKERS_MAX = 4
"""Python workers that may be waiting; the one that waited longest is asked next."""


@dataclass(frozen=True, slots=True)
class Figure:
    """What was measured, in words, and whether it is within its ceiling."""

    text: str
    holds: bool


def write_files(folder: Path, nodes: int, edges: int) -> None:
    chance = np.random.default_rng(1)
    (folder / "nodes").mkdir()
    (folder / "edges").mkdir()
    for part in range(FILES):
        ids = np.arange(part * nodes // FILES, (part + 1) * nodes // FILES)
        texts = pa.array(ids).cast(pa.utf8())
        people = {
            "code": texts,
            "name": pc.binary_join_element_wise("person", texts, " "),
            "age": pa.array(chance.integers(0, 100, len(ids)), pa.int32()),
            "city": pa.array(np.array(["Lima", "Cusco", "La Paz", "Quito"])[chance.integers(0, 4, len(ids))]),
            "score": pa.array(chance.random(len(ids))),
        }
        pq.write_table(pa.table(people), folder / "nodes" / f"{part}.parquet")
        count = edges // FILES
        links = {
            "src": pa.array(chance.integers(0, nodes, count)).cast(pa.utf8()),
            "dst": pa.array(chance.integers(0, nodes, count)).cast(pa.utf8()),
            "since": pa.array(chance.integers(1990, 2030, count), pa.int32()),
            "weight": pa.array(chance.random(count)),
        }
        pq.write_table(pa.table(links), folder / "edges" / f"{part}.parquet")


def timed(act: Callable[[], object]) -> float:
    start = perf_counter()
    act()
    return perf_counter() - start


def paired(name: str, ours: Callable[[], object], theirs: Callable[[], object], most: float, rounds: int) -> Figure:
    """Both in turn; the median of the ratios of the rounds."""
    found = [(timed(ours), timed(theirs)) for _ in range(rounds)]
    ratio = median(mine / other for mine, other in found)
    mine, other = (median(side) for side in zip(*found, strict=True))
    word = "ok" if ratio <= most else "OVER"
    return Figure(
        f"{name:28} {mine:8.2f} s  Parquet {other:8.2f} s  {ratio:6.2f}x, ceiling {most}x  {word}", ratio <= most
    )


def processor_seconds() -> float:
    """What this process and all below it have used, the virtual machine and the Python workers; 0 where unknown."""
    parents, used = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(path.parent.name)], used[int(path.parent.name)] = int(words[1]), sum(map(int, words[11:15]))

    def is_ours(process: int) -> bool:
        while process and process != os.getpid():
            process = parents.get(process, 0)
        return process != 0

    return sum(ticks for process, ticks in used.items() if is_ours(process)) / os.sysconf("SC_CLK_TCK")


def noop(frame: Any) -> None:
    frame.write.format("noop").mode("overwrite").save()


@dataclass(frozen=True, slots=True)
class Bench:
    spark: Any
    folder: Path
    nodes: int
    rounds: int

    @property
    def graph(self) -> str:
        return str(self.folder / "g.omni")

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def figures(self) -> Iterator[Figure]:
        noop(self.spark.read.parquet(self.path("nodes")).limit(10))
        yield self.loading()
        yield from self.reading()
        yield from self.degrees()

    def loading(self) -> Figure:
        paths = {"Person": f"{self.path('nodes')}/*.parquet", "Knows": f"{self.path('edges')}/*.parquet"}

        def copied() -> None:
            for name in ("nodes", "edges"):
                rows = self.spark.read.parquet(self.path(name))
                rows.write.mode("overwrite").parquet(self.path(f"copy-{name}"))

        def loaded() -> None:
            shutil.rmtree(self.graph, ignore_errors=True)
            og.init(self.graph, schema=SCHEMA)
            report = load(self.spark, self.graph, paths, mode="append")
            assert [(t.table, t.written) for t in report.tables] == [
                ("edge:Knows", 4 * self.nodes // FILES * FILES),
                ("node:Person", self.nodes),
            ]

        return paired("load with every check", loaded, copied, LOAD_MAX, 1)

    def _reader(self, **options: str) -> Any:
        return self.spark.read.format("omnigraph").options(graph=self.graph, type="Person", **options).load()

    def reading(self) -> Iterator[Figure]:
        def parquet() -> Any:
            return self.spark.read.parquet(self.path("same"))

        use_source(self.spark)
        self._reader().write.parquet(self.path("same"))
        noop(self._reader())
        noop(parquet())
        yield paired("read all columns", lambda: noop(self._reader()), lambda: noop(parquet()), READ_MAX, self.rounds)
        key = str(self.nodes // 2)
        self._reader(filter=f"id = '{key}'").collect()
        yield paired(
            "read by key with filter",
            lambda: self._reader(filter=f"id = '{key}'").collect(),
            lambda: parquet().where(f"code = '{key}'").collect(),
            KEY_MAX,
            self.rounds,
        )

    def degrees(self) -> Iterator[Figure]:
        register(self.spark, self.graph)
        self.spark.read.parquet(self.path("nodes")).select("code").createOrReplaceTempView("codes")
        asked = "SELECT sum(og_degree('Knows', code)) FROM codes"
        wanted: list[Any] = []
        first = timed(lambda: wanted.extend(self.spark.sql(asked).collect()))
        for _ in range(IDLE_WORKERS_MAX):
            self.spark.sql(asked).collect()
        found: list[Any] = []
        before = processor_seconds()
        # Whoever opened something again would not find it.
        away = Path(self.graph).rename(self.folder / "away")
        try:
            again = min(timed(lambda: found.extend(self.spark.sql(asked).collect())) for _ in range(self.rounds))
        finally:
            away.rename(self.graph)
        used = (processor_seconds() - before) / self.rounds
        speed = self.nodes / again
        word = "ok" if speed >= DEGREES_MIN else "UNDER"
        yield Figure(
            f"og_degree: first {first:.2f} s, then {again:.2f} s ({used:.2f} s of processor time):"
            f" {speed / 1e6:.2f} M rows/s on {CORES} cores, floor {DEGREES_MIN / 1e6:.0f} M rows/s  {word}",
            speed >= DEGREES_MIN,
        )
        same = found == wanted * self.rounds
        yield Figure(
            f"later questions, with the graph moved away, open nothing again  {'ok' if same else 'OVER'}", same
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    why = missing()
    if why is not None:
        print(why, file=sys.stderr)
        return 0
    folder = Path(mkdtemp(prefix="omnigraph-bench-"))
    try:
        write_files(folder, given.nodes, 4 * given.nodes)
        settings = {"spark.driver.memory": "3g", "spark.sql.shuffle.partitions": "8"}
        passed = 0
        with session(f"local[{CORES}]", **settings) as spark:
            for figure in Bench(spark, folder, given.nodes, given.rounds).figures():
                print(figure.text, flush=True)
                passed += not figure.holds
        return 1 if passed else 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
