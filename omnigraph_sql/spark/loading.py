"""`load` on Spark: tasks check rows and write files, the driver checks rules about several rows and commits once."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import Catalog
from omnigraph_sql.base.errors import DataError, OmniError, ResourceLimitExceeded
from omnigraph_sql.engine.load.publishing import Delivery, FilesChange, Published
from omnigraph_sql.engine.load.report import LoadMode, TableCount
from omnigraph_sql.engine.store.effects import AppendFiles, ReplaceFiles, ReplaceTable, SwapFiles, TableChange
from omnigraph_sql.engine.store.foreign import check_files, file_of
from omnigraph_sql.engine.store.loose import delete_files, move_files
from omnigraph_sql.engine.values import MAIN, TablePin
from omnigraph_sql.engine.write.txn import Author, WriteTxn, begin
from omnigraph_sql.graph import Graph
from omnigraph_sql.graph import open as open_graph
from omnigraph_sql.spark.checks import Checks, too_many
from omnigraph_sql.spark.inputs import Given, Input, given_of, input_of, whole_csv
from omnigraph_sql.spark.loose import LooseFile, LooseTable, Tables, pin_of
from omnigraph_sql.spark.place import GraphPlace, place_of
from omnigraph_sql.spark.progress import Stages, Watch
from omnigraph_sql.spark.quarantine import with_data, write_quarantine
from omnigraph_sql.spark.reading import table_of
from omnigraph_sql.spark.report import Refusal, RowsRefused, SparkReport, TableReport
from omnigraph_sql.spark.tasks import BODY, side_path, work

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OnError = Literal["fail", "skip"]


def load(
    spark: SparkSession,
    uri: str | os.PathLike[str],
    sources: Mapping[str, Any] | Sequence[Any] | Any,
    *,
    mode: str,
    on_error: str = "fail",
    quarantine: str | None = None,
    branch: str = MAIN,
    actor: str | None = None,
    message: str | None = None,
    storage_options: Mapping[str, str] | None = None,
    load_id: str | None = None,
    progress: Watch | None = None,
) -> SparkReport:
    """All rows of all sources in one commit, or nothing.

    `sources` maps types to DataFrames, paths, or lists of them; a path alone, or a list of paths, are `.jsonl` files
    whose lines say their types. With on_error="fail" a refused row refuses the load (RowsRefused, with a report); with
    "skip" the rest is published. `quarantine` is a folder that gets the refused rows as Parquet. A `load_id` (26
    characters, as `graph.commits()` shows them) is published at most once, whoever repeats it.
    """
    wanted = given_of(sources)
    run = LoadRun.begin(
        spark, uri, mode, on_error, quarantine, branch, Author(actor, message), storage_options, load_id, progress
    )
    return run.run(lambda: [run.input(number, one) for number, one in enumerate(wanted)])


@dataclass(slots=True)
class LoadRun:
    """One load from its first look at the graph to its report."""

    spark: SparkSession
    graph: Graph
    place: GraphPlace
    first: WriteTxn
    author: Author
    mode: LoadMode
    going_on: bool
    quarantine: str | None
    load_id: str
    named: bool
    stages: Stages
    inputs: list[Input] = field(default_factory=list)
    tables: dict[str, LooseTable] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)
    read: dict[str, int] = field(default_factory=dict)
    bytes: dict[str, int] = field(default_factory=dict)
    rewritten: list[tuple[TablePin, list[LooseFile]]] = field(default_factory=list)
    moved: list[tuple[TablePin, str | None, tuple[Any, ...]]] = field(default_factory=list)
    started: float = field(default_factory=perf_counter)

    @classmethod
    def begin(
        cls,
        spark: SparkSession,
        uri: str | os.PathLike[str],
        mode: str,
        on_error: str,
        quarantine: str | None,
        branch: str,
        author: Author,
        storage_options: Mapping[str, str] | None,
        load_id: str | None,
        progress: Watch | None,
    ) -> LoadRun:
        if mode not in tuple(LoadMode):
            raise DataError(f"there is no mode {mode!r}", hint=f"choose one of {', '.join(LoadMode)}")
        if on_error not in ("fail", "skip"):
            raise DataError(f"on_error is 'fail' or 'skip', not {on_error!r}")
        place = place_of(spark, uri, branch, storage_options)
        graph = open_graph(place.uri, branch=branch, actor=author.actor, storage_options=place.storage() or None)
        world = graph._world
        first = begin(world, graph._contract(), branch, author)
        return cls(
            spark,
            graph,
            place.at(first.base.manifest_version),
            first,
            author,
            LoadMode(mode),
            on_error == "skip",
            quarantine,
            load_id or world.seams.ids.ulid(),
            load_id is not None,
            Stages(spark, progress),
        )

    @property
    def catalog(self) -> Catalog:
        return self.first.contract.catalog

    def input(self, number: int, given: Given) -> Input:
        return input_of(self.spark, self.place, self.catalog, self.load_id, number, given)

    def run(self, inputs: Callable[[], list[Input]]) -> SparkReport:
        """Read, check and publish; what came of it. Files that nothing names are removed when it fails."""
        world = self.graph._world
        delivery = Delivery(world, self.author, self.mode, self.load_id, self._prepare, self.named)
        try:
            if self.named and world.manifest.has_commit(self.first.branch, self.load_id):
                return self._report((), already=True)
            self.inputs = inputs()
            self._stage()
            self._refuse_values()
            counts = delivery.publish(self.graph._contract, self.first)
            return self._finished(counts)
        except Published:
            return self._report((), already=True)
        finally:
            if delivery.loose:
                self._discard()
            self._forget()
            self.graph.close()

    # ---- files --------------------------------------------------------------------------------------------------

    def _stage(self) -> None:
        """Let tasks read every input and write its good rows."""
        for held in self.inputs:
            if held.type is not None:
                self._table(held.feed.type or "")
        if not self.inputs:
            return
        with self.stages.stage("reading and writing"):
            bodies = self._run(self.inputs)
        again = sorted({number for number, body in bodies if "needs" in body})
        if again:
            for number in again:
                self.inputs[number] = whole_csv(self.spark, self.inputs[number])
            bodies = [(number, body) for number, body in bodies if number not in again]
            with self.stages.stage("reading whole files"):
                bodies += self._run([self.inputs[number] for number in again])
        for number, body in bodies:
            self._take(number, body)

    def _run(self, inputs: Sequence[Input]) -> list[tuple[int, dict[str, Any]]]:
        """The results of all tasks, each once: those of failed and duplicate attempts are not among them."""
        whole: DataFrame | None = None
        for held in inputs:
            done = _worked(held)
            whole = done if whole is None else whole.union(done)
        assert whole is not None
        bodies = [(row["n"], json.loads(row["body"])) for row in whole.collect()]
        for _, body in bodies:
            if "limit" in body:
                raise _limit(body["limit"])
        return bodies

    def _take(self, number: int, body: dict[str, Any]) -> None:
        origins = self.inputs[number].origins
        for file, block, lines in body["blocks"]:
            origins.see(file, block, lines)
        for told in body["tables"]:
            table = self._table(told["table"])
            table.files += [LooseFile(f["file"], f["name"], f["rows"], number) for f in told["files"]]
            table.fresh = table.fresh and told["fresh"]
            self.read[table.key] = self.read.get(table.key, 0) + told["rows"]
            share = told["rows"] / max(1, sum(t["rows"] for t in body["tables"]))
            self.bytes[table.key] = self.bytes.get(table.key, 0) + int(body["bytes"] * share)
        for bad in body["refused"]:
            self.refusals.append(
                Refusal(
                    bad["table"],
                    None,
                    bad["number"],
                    bad["rule"],
                    bad["reason"],
                    bad["data"],
                    _CODES.get(bad["class"], "data"),
                    bad["hint"],
                    (number, bad["number"]),
                )
            )
            if bad["table"] is not None:
                self.read[bad["table"]] = self.read.get(bad["table"], 0) + 1
        if sum(sum(b.values()) for b in [body["counts"]]) > limits.SPARK_REFUSALS_MAX:
            raise too_many(limits.SPARK_REFUSALS_MAX + 1)

    def _table(self, key: str) -> LooseTable:
        if key not in self.tables:
            self.tables[key] = LooseTable(table_of(self.graph, key))
        return self.tables[key]

    def _refuse_values(self) -> None:
        """Give the refused rows their places, now that every block is known, and stop unless the load goes on."""
        if len(self.refusals) > limits.SPARK_REFUSALS_MAX:
            raise too_many(len(self.refusals))
        placed = []
        for one in sorted(self.refusals, key=lambda refusal: refusal.order):
            feed, number = one.order
            origins = self.inputs[feed].origins
            file, row = origins.of(number)
            reason = f"{origins.text(number)}: {one.reason}"
            placed.append(
                Refusal(one.table, file, row, one.rule, reason, one.data, one.code, one.hint, (-1, feed, number))
            )
        self.refusals = placed
        if placed and not self.going_on:
            self._fail(placed)

    def _fail(self, refused: Sequence[Refusal]) -> None:
        report = self._report((), refused)
        raise RowsRefused(refused[0], report)

    # ---- one attempt --------------------------------------------------------------------------------------------

    def _prepare(self, txn: WriteTxn) -> list[FilesChange]:
        self._bring_back()
        base = self.place.at(txn.base.manifest_version)
        rows = Tables(self.spark, self.place, base, self.load_id)
        tables = {key: LooseTable(t.type, t.files, t.fresh) for key, t in self.tables.items()}
        origins = [held.origins for held in self.inputs]
        checks = Checks(rows, self.catalog, txn.base, self.mode, tables, origins, self.going_on)
        with self.stages.stage("checking"):
            checks.run()
            found = with_data(self.graph, tables, checks.refusals)
        if found and not self.going_on:
            self._fail(found)
        self.refusals = [r for r in self.refusals if r.order[0] == -1] + found
        with self.stages.stage("publishing"):
            return [self._change(rows, txn, tables[key]) for key in sorted(tables)]

    def _change(self, rows: Tables, txn: WriteTxn, table: LooseTable) -> FilesChange:
        world = self.graph._world
        files = rows.rewritten(table)
        held = [f for f in files if f.feed < 0]
        if held:
            self.rewritten.append((pin_of(self.graph.at(self.place.version or 0), table.type), held))
        pin = txn.base.pin(pin_of(self.graph, table.type).identity)
        assert pin is not None
        made = tuple(file_of(file.text) for file in files)
        wanted = None if txn.branch == MAIN else txn.branch
        count = sum(file.rows for file in files)
        change, replaced = self._table_change(rows, table, pin, made, count, forks=pin.branch != wanted)
        if made and pin.branch != wanted:
            move_files(world.tables, pin.path, pin.branch, wanted, made)
            self.moved.append((pin, wanted, made))
        check_files(world.tables, pin, wanted, made)
        return FilesChange(pin, change, count, replaced)

    def _bring_back(self) -> None:
        """Files of an attempt that came to nothing lie below the branch they were meant for."""
        for pin, branch, files in self.moved:
            move_files(self.graph._world.tables, pin.path, branch, pin.branch, files)
        self.moved = []

    def _table_change(
        self, rows: Tables, table: LooseTable, pin: TablePin, made: tuple[Any, ...], count: int, *, forks: bool
    ) -> tuple[TableChange | None, int]:
        if self.mode is LoadMode.OVERWRITE:
            return ReplaceTable(None, made), pin.row_count
        if not count:
            return None, 0
        if self.mode is LoadMode.APPEND or table.fresh or not pin.row_count:
            return AppendFiles(made, count), 0
        held = rows.committed(table.type, ["id"], addresses=True)
        hits = held.join(rows.loose(table, ["id"]).select("id"), "id", "left_semi").select("at")
        if forks:
            # Marks of deleted rows lie below the branch they are for, which is not there yet.
            replaced = tuple(int(row["at"]) for row in hits.collect())
            if not replaced:
                return AppendFiles(made, count), 0
            return ReplaceFiles(made, count, replaced), len(replaced)
        marked = rows.marked(table.type, hits)
        if not marked:
            return AppendFiles(made, count), 0
        updated = tuple(file_of(text) for _, text, _ in marked if text is not None)
        emptied = tuple(number for number, text, _ in marked if text is None)
        gone = sum(taken for _, _, taken in marked)
        return SwapFiles(made, count, updated, emptied, gone), gone

    # ---- the end ------------------------------------------------------------------------------------------------

    def _finished(self, counts: Sequence[TableCount]) -> SparkReport:
        return self._report(counts)

    def _report(
        self, counts: Sequence[TableCount], refused: Sequence[Refusal] | None = None, *, already: bool = False
    ) -> SparkReport:
        found = list(self.refusals if refused is None else refused)
        seconds = perf_counter() - self.started
        bad: dict[str, int] = {}
        rules: dict[str, int] = {}
        for one in found:
            rules[one.rule] = rules.get(one.rule, 0) + 1
            if one.table is not None:
                bad[one.table] = bad.get(one.table, 0) + 1
        done = {count.table: count for count in counts}
        tables = []
        for key in sorted({*self.read, *done, *bad}):
            count = done.get(key)
            tables.append(
                TableReport(
                    key,
                    self.read.get(key, 0),
                    bad.get(key, 0),
                    count.rows if count else 0,
                    count.replaced if count else 0,
                    count.total if count else 0,
                    seconds,
                    self.bytes.get(key, 0),
                )
            )
        where = None
        if self.quarantine is not None and found:
            write_quarantine(self.spark, self.quarantine, found)
            where = self.quarantine
        return SparkReport(
            self.first.branch,
            self.mode.value,
            self.load_id,
            self.load_id if counts or already or (refused is None and not found) else None,
            tuple(tables),
            tuple(sorted(rules.items())),
            tuple(found),
            seconds,
            where,
            already,
        )

    def _discard(self) -> None:
        """Remove the files of a load that nothing names."""
        world = self.graph._world
        with suppress(OmniError):
            self._bring_back()
        for table in self.tables.values():
            pin = self.first.base.pin(pin_of(self.graph, table.type).identity)
            if pin is not None and table.files:
                delete_files(world.tables, pin.path, pin.branch, [file_of(file.text) for file in table.files])
        for pin, files in self.rewritten:
            delete_files(world.tables, pin.path, pin.branch, [file_of(file.text) for file in files])

    def _forget(self) -> None:
        """Remove what was only of use while the load lasted."""
        objects = self.graph._world.objects
        for table in self.tables.values():
            for file in table.files:
                objects.delete(side_path(self.load_id, file.name))


_CODES = {"ConstraintViolation": "constraint", "KeyConflict": "key_conflict", "ValueOutOfRange": "value_out_of_range"}


def _worked(held: Input) -> DataFrame:
    from pyspark.sql import functions as sf

    feed = held.feed

    def task(batches: Any) -> Any:
        return work(feed, batches)

    done = held.rows.mapInArrow(task, f"{BODY.names[0]} string")
    return done.select(sf.lit(feed.number).alias("n"), "body")


def _limit(facts: dict[str, Any]) -> ResourceLimitExceeded:
    return ResourceLimitExceeded(
        facts["error"],
        resource=facts["resource"],
        limit=facts["limit"],
        actual=facts["actual"],
        hint=facts.get("hint"),
    )
