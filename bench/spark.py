"""Spark: loading, reading and functions against what Spark does with the same rows in Parquet. Ratios of one run.

python bench/spark.py                  5 million nodes, 20 million edges
python bench/spark.py --nodes 200000   smaller; edges are four times as many
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import mkdtemp
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import omnigraph_sql as og
from omnigraph_sql.spark import load, register, session
from omnigraph_sql.spark.sessions import missing

SCHEMA = """
node Person { code: String @key  name: String  age: I32  city: String  score: F64  @range(age, 0..150) }
edge Knows: Person -> Person { since: I32  weight: F64 }
"""
FILES = 8


def write_files(folder: Path, nodes: int, edges: int) -> None:
    chance = np.random.default_rng(1)
    (folder / "nodes").mkdir()
    (folder / "edges").mkdir()
    for part in range(FILES):
        ids = np.arange(part * nodes // FILES, (part + 1) * nodes // FILES)
        texts = pa.array(ids).cast(pa.utf8())
        people = {
            "code": texts,
            "name": pa.compute.binary_join_element_wise("person ", texts, ""),
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


def timed(act: Callable[[], object], rounds: int = 1) -> float:
    found = []
    for _ in range(rounds):
        start = perf_counter()
        act()
        found.append(perf_counter() - start)
    return median(found)


def noop(frame: Any) -> None:
    frame.write.format("noop").mode("overwrite").save()


def told(name: str, ours: float, theirs: float, goal: str) -> None:
    print(f"{name:42} {ours:8.2f} s  parquet {theirs:8.2f} s  ratio {ours / theirs:6.2f}  goal {goal}", flush=True)


def bench(spark: Any, folder: Path, rounds: int, nodes: int) -> None:
    paths = {"nodes": str(folder / "nodes"), "edges": str(folder / "edges")}

    def copy() -> None:
        for name, path in paths.items():
            spark.read.parquet(path).write.mode("overwrite").parquet(str(folder / f"copy-{name}"))

    def loaded() -> None:
        shutil.rmtree(folder / "g.omni", ignore_errors=True)
        og.init(folder / "g.omni", schema=SCHEMA)
        load(
            spark,
            folder / "g.omni",
            {"Person": f"{paths['nodes']}/*.parquet", "Knows": f"{paths['edges']}/*.parquet"},
            mode="append",
        )

    noop(spark.range(10))
    theirs, ours = timed(copy), timed(loaded)
    told("load with validation", ours, theirs, "at most 5, then 3")
    known = register(spark, folder / "g.omni")
    reader = lambda **options: (  # noqa: E731
        spark.read.format("omnigraph").options(graph=str(folder / "g.omni"), type="Person", **options).load()
    )
    parquet = lambda: spark.read.parquet(paths["nodes"])  # noqa: E731
    noop(reader(columns="code"))
    told("read all columns", timed(lambda: noop(reader()), rounds), timed(lambda: noop(parquet()), rounds), "at most 2")
    key = str(nodes // 2)
    told(
        "read by key with filter",
        timed(lambda: reader(filter=f"id = '{key}'").collect(), rounds),
        timed(lambda: parquet().where(f"code = '{key}'").collect(), rounds),
        "at most 2",
    )
    degrees = "SELECT sum(og_degree('Knows', code)) FROM Person_codes"
    spark.read.parquet(paths["nodes"]).select("code").createOrReplaceTempView("Person_codes")
    first = timed(lambda: spark.sql(degrees).collect())
    again = timed(lambda: spark.sql(degrees).collect(), rounds)
    print(f"og_degree: first {first:.2f} s, then {again:.2f} s, {nodes / again / 1e6:.2f} M rows/s  goal at least 1")
    print(f"version {known.version}, {len(known.views)} views")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    why = missing()
    if why is not None:
        sys.exit(why)
    folder = Path(mkdtemp(prefix="omnigraph-bench-"))
    try:
        write_files(folder, given.nodes, 4 * given.nodes)
        settings = {"spark.driver.memory": "3g", "spark.sql.shuffle.partitions": "8"}
        with session("local[2]", **settings) as spark:
            bench(spark, folder, given.rounds, given.nodes)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
