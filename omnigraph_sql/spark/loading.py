"""`load` on Spark: tasks check rows and write files, the driver checks rules about several rows and commits once."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any

from omnigraph_sql.base.catalog import Catalog
from omnigraph_sql.base.errors import DataError, OmniError
from omnigraph_sql.engine.load.publishing import FilesChange, Published
from omnigraph_sql.engine.load.report import LoadMode, TableCount
from omnigraph_sql.engine.values import MAIN
from omnigraph_sql.engine.write.txn import Author, WriteTxn
from omnigraph_sql.foreign import ForeignLoad
from omnigraph_sql.graph import Graph
from omnigraph_sql.graph import open as open_graph
from omnigraph_sql.spark.changes import Changes
from omnigraph_sql.spark.checks import Checks
from omnigraph_sql.spark.failures import telling_spark
from omnigraph_sql.spark.harvest import Harvest
from omnigraph_sql.spark.inputs import Given, Input, given_of, input_of
from omnigraph_sql.spark.loose import LooseTable, Tables
from omnigraph_sql.spark.place import GraphPlace, place_of
from omnigraph_sql.spark.progress import Stages, Watch
from omnigraph_sql.spark.quarantine import with_data, write_quarantine
from omnigraph_sql.spark.report import Refusal, RowsNotKept, RowsRefused, SparkReport, table_reports
from omnigraph_sql.spark.tasks import forget_sides
from omnigraph_sql.spark.unchanged import drop_unchanged

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
    "skip" the rest is published. `quarantine` is a folder that gets the refused rows as Parquet. Merging rows that are
    in the graph already, with every value they have, makes no commit. A `load_id` (26 characters, as `graph.commits()`
    shows them) is published at most once, whoever repeats it.
    """
    wanted = given_of(sources)
    wish = LoadWish(uri, mode, on_error, quarantine, branch, Author(actor, message), storage_options, load_id)
    run = LoadRun.begin(spark, wish, progress)
    return run.run(lambda: [run.input(number, one) for number, one in enumerate(wanted)])


@dataclass(frozen=True, slots=True)
class LoadWish:
    """Where a load goes, and how."""

    uri: str | os.PathLike[str]
    mode: str
    on_error: str = "fail"
    quarantine: str | None = None
    branch: str = MAIN
    author: Author = field(default_factory=Author)
    storage_options: Mapping[str, str] | None = field(default=None, repr=False)
    load_id: str | None = None

    def __post_init__(self) -> None:
        if self.mode not in tuple(LoadMode):
            raise DataError(f"there is no mode {self.mode!r}", hint=f"choose one of {', '.join(LoadMode)}")
        if self.on_error not in ("fail", "skip"):
            raise DataError(f"on_error is 'fail' or 'skip', not {self.on_error!r}")


class NothingChanged(Exception):
    """Every row of a merge is in the graph as it is: there is nothing to commit. `counts` are those of the tables."""

    def __init__(self, counts: Sequence[TableCount]) -> None:
        super().__init__()
        self.counts = counts


@dataclass(slots=True)
class LoadRun:
    """One load from its first look at the graph to its report."""

    spark: SparkSession
    graph: Graph
    place: GraphPlace
    wish: LoadWish
    load: ForeignLoad
    stages: Stages
    changes: Changes
    harvest: Harvest
    refusals: list[Refusal] = field(default_factory=list)
    """Rows refused by rules about several of them, in the attempt that counts."""
    unchanged: dict[str, int] = field(default_factory=dict)
    started: float = field(default_factory=perf_counter)

    @classmethod
    def begin(cls, spark: SparkSession, wish: LoadWish, progress: Watch | None) -> LoadRun:
        place = place_of(spark, wish.uri, wish.branch, wish.storage_options)
        graph = open_graph(
            place.uri, branch=wish.branch, actor=wish.author.actor, storage_options=place.storage() or None
        )
        mode = LoadMode(wish.mode)
        load = ForeignLoad(graph.session, wish.author, mode, wish.load_id)
        pinned = place.at(load.first.base.manifest_version)
        stages, changes = Stages(spark, progress), Changes(load.base, mode)
        return cls(spark, graph, pinned, wish, load, stages, changes, Harvest(load.base))

    @property
    def catalog(self) -> Catalog:
        return self.load.base.catalog

    @property
    def going_on(self) -> bool:
        return self.wish.on_error == "skip"

    def input(self, number: int, given: Given) -> Input:
        return input_of(self.spark, self.place, self.catalog, self.load.load_id, number, given)

    def run(self, inputs: Callable[[], list[Input]]) -> SparkReport:
        """Read, check and publish; what came of it. Files that nothing names are removed when it fails."""
        try:
            if self.load.is_published():
                return self._report((), already=True)
            with telling_spark():
                self.harvest.gather(self.spark, inputs(), self.stages)
                if self.harvest.refusals and not self.going_on:
                    self._fail()
                counts = self.load.publish(self._prepare)
            self.changes.tidy(list(self.harvest.tables.values()))
            return self._report(counts, published=True)
        except Published:
            return self._report((), already=True)
        except NothingChanged as same:
            return self._report(same.counts)
        finally:
            if self.load.is_loose:
                self.changes.discard(list(self.harvest.tables.values()))
            forget_sides(self.load.base.objects, self.load.load_id)
            self.graph.close()

    def _fail(self) -> None:
        report = self._report(())
        raise RowsRefused(report.refusals[0], report)

    def _prepare(self, txn: WriteTxn) -> list[FilesChange]:
        """Check the rows against the base of an attempt and say what they change."""
        self.changes.bring_back()
        base, secret = self.place.at(txn.base.manifest_version), self.load.base.ids.uuid()
        rows = Tables(self.spark, self.place, base, self.load.load_id, secret)
        tables = {key: LooseTable(t.type, t.files, t.fresh) for key, t in self.harvest.tables.items()}
        origins = [held.origins for held in self.harvest.inputs]
        mode = LoadMode(self.wish.mode)
        checks = Checks(rows, self.catalog, txn.base, mode, tables, origins, self.going_on)
        with self.stages.stage("checking"):
            checks.run()
            self.refusals = with_data(self.load.base, tables, checks.refusals)
        if self.refusals and not self.going_on:
            self._fail()
        if mode is LoadMode.MERGE:
            with self.stages.stage("comparing"):
                self.unchanged = {key: drop_unchanged(rows, txn.base, table) for key, table in tables.items()}
        with self.stages.stage("publishing"):
            found = [self.changes.of(rows, txn, tables[key]) for key in sorted(tables)]
        if any(self.unchanged.values()) and all(one.change is None for one in found):
            raise NothingChanged([TableCount(one.pin.key, 0, 0, one.pin.row_count) for one in found])
        return found

    def _report(self, counts: Sequence[TableCount], *, already: bool = False, published: bool = False) -> SparkReport:
        found = [*self.harvest.refusals, *self.refusals]
        seconds = perf_counter() - self.started
        rules: dict[str, int] = {}
        for one in found:
            rules[one.rule] = rules.get(one.rule, 0) + 1
        where = self.wish.quarantine if found else None
        harvest = self.harvest
        report = SparkReport(
            self.wish.branch,
            self.wish.mode,
            self.load.load_id,
            self.load.load_id if published or already else None,
            table_reports(harvest.read, harvest.bytes, found, self.unchanged, counts, seconds),
            tuple(sorted(rules.items())),
            tuple(found),
            seconds,
            where,
            already,
        )
        if where is not None:
            self._keep(report, where)
        return report

    def _keep(self, report: SparkReport, folder: str) -> None:
        """Raises RowsNotKept when the refused rows cannot be written; what is published stays."""
        try:
            with telling_spark(f"writing refused rows to {folder}"):
                write_quarantine(self.spark, folder, report.load_id, report.refusals)
        except OmniError as error:
            raise RowsNotKept(error, report) from error
