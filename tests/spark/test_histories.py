"""Histories of loads by every door, on branches and beside other writers, end as the local loader's do."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException

import omnigraph_sql as og
from omnigraph_sql.base.errors import OmniError
from omnigraph_sql.engine.load.publishing import Delivery
from omnigraph_sql.spark.crossing import plain
from omnigraph_sql.spark.loading import load
from omnigraph_sql.spark.registering import use_source
from tests.spark.air import content

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FULL = os.environ.get("OMNI_SPARK") == "full"
SCHEMA = """
node A { k: I32 @key  name: String?  @unique(name) }
node B { k: I32 @key  size: I32? }
edge E: A -> B @card(0..3) { w: I32?  @key(src, dst) }
"""
BRANCHES = ("main", "side")
Rows = dict[str, list[dict[str, Any]]]
COLUMNS = {
    "A": pa.schema([("k", pa.int32()), ("name", pa.utf8())]),
    "B": pa.schema([("k", pa.int32()), ("size", pa.int32())]),
    "E": pa.schema([("src", pa.int32()), ("dst", pa.int32()), ("w", pa.int32())]),
}


@dataclass(frozen=True, slots=True)
class Step:
    """One load, and what another writer does to the same branch while it goes on."""

    branch: str
    mode: str
    door: str
    rows: Rows
    beside: str | None


def steps(chance: random.Random, count: int) -> list[Step]:
    return [_step(chance, number) for number in range(count)]


def _step(chance: random.Random, number: int) -> Step:
    def key() -> int:
        return chance.randrange(12)

    rows: Rows = {}
    door = chance.choice(["frames", "lines", "files", "write"])
    wanted = chance.choice([["A"], ["B"], ["A", "B"], ["A", "B", "E"], ["E"]])
    for of in wanted if door != "write" else chance.choice([["A"], ["B"], ["E"]]):
        many = range(chance.choice([1, 4, 9]))
        match of:
            case "A":
                rows[of] = [{"k": key(), "name": chance.choice([None, f"n{chance.randrange(40)}"])} for _ in many]
            case "B":
                rows[of] = [{"k": key(), "size": chance.choice([None, number])} for _ in many]
            case _:
                rows[of] = [{"src": key(), "dst": key(), "w": number} for _ in many]
    mode = chance.choice(["append", "merge", "merge", "overwrite"])
    beside = None
    if mode != "overwrite" and chance.random() < 0.4:
        beside = chance.choice(
            [
                f"INSERT INTO A (k) VALUES ({100 + number})",
                f"INSERT INTO {chance.choice('AB')} (k) VALUES ({key()}) ON CONFLICT DO NOTHING",
                f"DELETE FROM {chance.choice('AB')} WHERE k = {key()}",
                f"UPDATE A SET name = 'beside' WHERE k = {key()}",
                f"UPDATE B SET size = -1 WHERE k < {key()}",
            ]
        )
    return Step(chance.choice(BRANCHES), mode, door, rows, beside)


def near(graph: og.Graph, folder: Path, step: Step) -> str | None:
    """The local loader: the other writer comes first. The code of what is refused."""
    there = graph.checkout(step.branch)
    if step.beside is not None:
        there.sql(step.beside)
    path = folder / "near.jsonl"
    path.write_text("".join(lines(step.rows)))
    try:
        there.load([path], mode=step.mode)
    except OmniError as error:
        return error.code
    return None


def lines(rows: Rows) -> list[str]:
    made = []
    for of, some in rows.items():
        for row in some:
            if of == "E":
                ends = {"edge": of, "from": str(row["src"]), "to": str(row["dst"])}
                made.append(json.dumps({**ends, "data": {"w": row["w"]}}) + "\n")
            else:
                made.append(json.dumps({"type": of, "data": row}) + "\n")
    return made


def far(spark: SparkSession, graph: og.Graph, folder: Path, step: Step, number: int) -> str | None:
    """The same through Spark."""
    sources: dict[str, Any] = {}
    for of, rows in step.rows.items():
        table = pa.Table.from_pylist(rows, COLUMNS[of])
        path = folder / f"{number}-{of}.parquet"
        pq.write_table(table, path, row_group_size=2)
        sources[of] = str(path) if step.door == "files" else spark.createDataFrame(table).coalesce(1)
    given: Any = sources
    if step.door == "lines":
        given = str(folder / f"{number}.jsonl")
        Path(given).write_text("".join(lines(step.rows)))
    try:
        if step.door == "write":
            ((of, frame),) = sources.items()
            options = {"graph": graph.uri, "type": of, "branch": step.branch, "mode": step.mode}
            save = "overwrite" if step.mode == "overwrite" else "append"
            frame.write.format("omnigraph").options(**options).mode(save).save()
        else:
            load(spark, graph.uri, given, mode=step.mode, branch=step.branch)
    except OmniError as error:
        return error.code
    except PySparkException as error:
        return str(plain(error)).removeprefix("[").partition("]")[0]
    return None


@pytest.mark.parametrize("seed", range(40) if FULL else [2])
def test_a_history_of_loads_ends_as_that_of_the_local_loader(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    print(f"seed {seed}")
    use_source(spark)
    chance = random.Random(seed)
    graphs = [og.init(tmp_path / f"{name}.omni", schema=SCHEMA) for name in ("near", "far")]
    for graph in graphs:
        graph.sql("INSERT INTO A (k, name) VALUES (0, 'n0'), (1, 'n1'); INSERT INTO B (k) VALUES (0), (1)")
        graph.create_branch("side")
    waiting: list[Callable[[], object]] = []
    attempt = Delivery._attempt

    def beside(delivery: Any, txn: Any, held: Any) -> Any:
        while waiting:
            waiting.pop()()
        return attempt(delivery, txn, held)

    for number, step in enumerate(steps(chance, 7)):
        wanted = near(graphs[0], tmp_path, step)
        there = graphs[1].checkout(step.branch)
        if step.beside is not None and step.door == "write":
            there.sql(step.beside)
        elif step.beside is not None:
            waiting.append(partial(there.sql, step.beside))
        with monkeypatch.context() as patch:
            patch.setattr(Delivery, "_attempt", beside)
            found = far(spark, graphs[1], tmp_path, step, number)
        if waiting:
            waiting.pop()()
        print(step, wanted, found)
        assert found == wanted
        for branch in BRANCHES:
            assert content(graphs[1].checkout(branch)) == content(graphs[0].checkout(branch)), branch
