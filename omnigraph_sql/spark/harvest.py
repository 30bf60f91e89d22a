"""Reading: tasks check the rows of all inputs and write the good ones; here is what they told, gathered."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import ResourceLimitExceeded
from omnigraph_sql.foreign import PinnedTables
from omnigraph_sql.spark.checks import too_many
from omnigraph_sql.spark.inputs import Input, whole_csv
from omnigraph_sql.spark.loose import LooseFile, LooseTable
from omnigraph_sql.spark.progress import Stages
from omnigraph_sql.spark.report import Refusal
from omnigraph_sql.spark.tasks import BODY, work

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_CODES = {"ConstraintViolation": "constraint", "KeyConflict": "key_conflict", "ValueOutOfRange": "value_out_of_range"}


@dataclass(slots=True)
class Harvest:
    """Files by table, rows that were refused for what they hold, and how much was read for each table."""

    base: PinnedTables
    inputs: list[Input] = field(default_factory=list)
    tables: dict[str, LooseTable] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)
    read: dict[str, int] = field(default_factory=dict)
    bytes: dict[str, int] = field(default_factory=dict)
    refused: int = 0

    def gather(self, spark: SparkSession, inputs: list[Input], stages: Stages) -> None:
        """Let tasks read every input and write its good rows. Raises ResourceLimitExceeded."""
        self.inputs = inputs
        for held in inputs:
            if held.type is not None:
                self.table(held.feed.type or "")
        if not inputs:
            return
        with stages.stage("reading and writing"):
            bodies = _run(inputs)
        limit = None
        for number, body in self._readable(spark, bodies, stages):
            if "limit" in body:
                limit = body["limit"]
            else:
                self._take(number, body)
        if limit is not None:
            raise _limit(limit)
        self._place()

    def table(self, key: str) -> LooseTable:
        if key not in self.tables:
            self.tables[key] = LooseTable(self.base.type(key))
        return self.tables[key]

    def _readable(
        self, spark: SparkSession, bodies: list[tuple[int, dict[str, Any]]], stages: Stages
    ) -> list[tuple[int, dict[str, Any]]]:
        """The results, with inputs read anew that could not be read line by line."""
        again = sorted({number for number, body in bodies if "needs" in body})
        if not again:
            return bodies
        for number, body in bodies:
            if number in again:
                self._discard(body)
        for number in again:
            self.inputs[number] = whole_csv(spark, self.inputs[number])
        with stages.stage("reading whole files"):
            whole = _run([self.inputs[number] for number in again])
        return [(number, body) for number, body in bodies if number not in again] + whole

    def _discard(self, body: dict[str, Any]) -> None:
        """Files of tasks whose input is read in another way."""
        from omnigraph_sql.engine.store.foreign import file_of

        for told in body.get("tables", ()):
            self.base.discard(self.base.type(told["table"]), [file_of(f["file"]) for f in told["files"]])

    def _take(self, number: int, body: dict[str, Any]) -> None:
        origins = self.inputs[number].origins
        for file, block, lines in body["blocks"]:
            origins.see(file, block, lines)
        rows = max(1, sum(told["rows"] for told in body["tables"]))
        for told in body["tables"]:
            table = self.table(told["table"])
            table.files += [LooseFile(f["file"], f["name"], f["rows"], number) for f in told["files"]]
            table.fresh = table.fresh and told["fresh"]
            self._count(table.key, told["rows"], body["bytes"] * told["rows"] // rows)
        for bad in body["refused"]:
            self.refusals.append(_refusal(number, bad))
            if bad["table"] is not None:
                self._count(bad["table"], 1, 0)
        self.refused += sum(body["counts"].values())

    def _count(self, key: str, rows: int, size: int) -> None:
        self.read[key] = self.read.get(key, 0) + rows
        self.bytes[key] = self.bytes.get(key, 0) + size

    def _place(self) -> None:
        """Give the refused rows their places, now that every block is known."""
        if self.refused > limits.SPARK_REFUSALS_MAX:
            raise too_many(self.refused)
        placed = []
        for one in sorted(self.refusals, key=lambda refusal: refusal.order):
            feed, number = one.order
            origins = self.inputs[feed].origins
            file, row = origins.of(number)
            reason = f"{origins.text(number)}: {one.reason}"
            placed.append(Refusal(one.table, file, row, one.rule, reason, one.data, one.code, one.hint, one.order))
        self.refusals = placed


def _run(inputs: Sequence[Input]) -> list[tuple[int, dict[str, Any]]]:
    """The results of all tasks, each once: those of failed and duplicate attempts are not among them."""
    whole: DataFrame | None = None
    for held in inputs:
        done = _worked(held)
        whole = done if whole is None else whole.union(done)
    assert whole is not None
    return [(row["n"], json.loads(row["body"])) for row in whole.collect()]


def _worked(held: Input) -> DataFrame:
    from pyspark.sql import functions as sf

    feed = held.feed

    def task(batches: Any) -> Any:
        return work(feed, batches)

    done = held.rows.mapInArrow(task, f"{BODY.names[0]} string")
    return done.select(sf.lit(feed.number).alias("n"), "body")


def _refusal(number: int, bad: dict[str, Any]) -> Refusal:
    code = _CODES.get(bad["class"], "data")
    order = (number, bad["number"])
    return Refusal(bad["table"], None, bad["number"], bad["rule"], bad["reason"], bad["data"], code, bad["hint"], order)


def _limit(facts: dict[str, Any]) -> ResourceLimitExceeded:
    return ResourceLimitExceeded(
        facts["error"],
        resource=facts["resource"],
        limit=facts["limit"],
        actual=facts["actual"],
        hint=facts.get("hint"),
    )
