"""`ogsql pipeline`: sources of any kind, shaped and loaded on Spark as one commit."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from omnigraph_sql.cli.exit_codes import ExitCode
from omnigraph_sql.cli.progress import Line
from omnigraph_sql.cli.terminal import say, tell
from omnigraph_sql.cli.texts import missing_file

if TYPE_CHECKING:
    from omnigraph_sql.cli.graphs import Address
    from omnigraph_sql.spark.pipeline_file import PipelineFile
    from omnigraph_sql.spark.progress import StageProgress
    from omnigraph_sql.spark.report import SparkReport

_EPILOG = """\b
Examples:
  ogsql pipeline check air.toml
  ogsql pipeline plan air.toml
  ogsql pipeline run air.toml --master spark://host:7077 --report json
"""
_BAR = 24
_SAID_TO_FAIL = (
    'nothing was published; on_error = "skip" loads the rest, and quarantine = "FOLDER" keeps what was refused'
)
_GOING_ON = "nothing was published; --on-error skip loads the rest, and --quarantine FOLDER keeps what was refused"
Command = TypeVar("Command", bound=Callable[..., Any])


class StageMeter(Line):
    """A bar per stage, once Spark says how many tasks it has."""

    def __call__(self, at: StageProgress) -> None:
        if not at.tasks:
            self.show(f"{at.stage} …")
            return
        filled = _BAR * at.done // at.tasks
        self.show(f"{at.stage}: [{'#' * filled}{'.' * (_BAR - filled)}] {at.done}/{at.tasks} tasks")


@dataclass(frozen=True, slots=True)
class SparkWay:
    """How a load goes when it goes through Spark."""

    master: str
    on_error: str
    quarantine: str | None


def engine_options(command: Command) -> Command:
    """The options of `ogsql load` that choose Spark."""
    for option in (
        click.option("--quarantine", metavar="FOLDER", help="Spark: where refused rows go, as Parquet."),
        click.option(
            "--on-error",
            type=click.Choice(["fail", "skip"]),
            default="fail",
            show_default=True,
            help="Spark: refuse everything for one refused row, or load the rest.",
        ),
        click.option("--master", metavar="URL", default="local[*]", show_default=True, help="Spark: the master."),
        click.option(
            "--engine",
            type=click.Choice(["local", "spark"]),
            default="local",
            show_default=True,
            help="What reads, checks and writes the rows. One machine is faster without Spark.",
        ),
    ):
        command = option(command)
    return command


def load_on_spark(
    where: Address, files: tuple[str, ...], of: str | None, mode: str, way: SparkWay, *, quiet: bool
) -> int:
    """Load files through Spark and say what came of it. What can be told without Spark is told before it starts."""
    from omnigraph_sql.spark import load, session
    from omnigraph_sql.spark.report import RowsNotKept, RowsRefused

    _refuse_sources(where, files, of, way)

    meter = StageMeter(sys.stderr, quiet=quiet)
    with session(way.master) as spark:
        try:
            report = load(
                spark,
                where.graph,
                {of: list(files)} if of is not None else list(files),
                mode=mode,
                on_error=way.on_error,
                quarantine=way.quarantine,
                branch=where.branch,
                actor=where.actor,
                storage_options=dict(where.storage),
                progress=meter,
            )
        except (RowsRefused, RowsNotKept) as failed:
            meter.clear()
            if not quiet and failed.load.rows_refused > 1:
                tell(str(failed.load))
            failed.hint = failed.hint or _GOING_ON
            raise
        finally:
            meter.clear()
    if not quiet:
        tell(str(report))
    return ExitCode.OK


def _refuse_sources(where: Address, files: tuple[str, ...], of: str | None, way: SparkWay) -> None:
    """Raises Unreadable, Absent or DataError for a file, a graph or a type that is not there."""
    from omnigraph_sql.engine.load.readers import source_type
    from omnigraph_sql.engine.load.values import Source
    from omnigraph_sql.spark.inputs import says_its_types

    if way.master.startswith("local"):
        # Elsewhere a path may be one of the cluster's own file system.
        for path in files:
            if "://" not in path and not set("*?[{") & set(path) and not Path(path).exists():
                raise missing_file(path)
    with where.open(read_only=True) as graph:
        for path in files:
            if not says_its_types(path):
                source_type(Source("", of), graph.catalog, path)


@click.group(epilog=_EPILOG)
def pipeline() -> None:
    """Load what a pipeline file describes, on Spark.

    The file names sources (csv, json, parquet, orc, or any format Spark reads), the type each feeds and an expression
    per property. One run is one commit.
    """


@pipeline.command()
@click.argument("file", type=click.Path(path_type=Path))
def check(file: Path) -> int:
    """Check FILE against the schema of its graph. Needs no Spark."""
    for line in _checked(_described(file)):
        say(line)
    return ExitCode.OK


_master = click.option("--master", metavar="URL", default="local[*]", show_default=True, help="The Spark master.")


@pipeline.command()
@click.argument("file", type=click.Path(path_type=Path))
@_master
def plan(file: Path, master: str) -> int:
    """Show what FILE reads and writes, by name and type. Reads no rows."""
    from omnigraph_sql.spark.pipeline import plan as planned
    from omnigraph_sql.spark.sessions import session

    found = _described(file)
    _checked(found)
    with session(master) as spark:
        for line in planned(spark, found):
            say(line)
    return ExitCode.OK


@pipeline.command()
@click.argument("file", type=click.Path(path_type=Path))
@_master
@click.option("--report", "form", type=click.Choice(["text", "json"]), default="text", help="The form of the report.")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
def run(file: Path, master: str, form: str, quiet: bool) -> int:
    """Load FILE as one commit and report what came of it."""
    from omnigraph_sql.spark.pipeline import run as loaded
    from omnigraph_sql.spark.report import RowsNotKept, RowsRefused
    from omnigraph_sql.spark.sessions import session

    found = _described(file)
    _checked(found)
    meter = StageMeter(sys.stderr, quiet=quiet)
    with session(master) as spark:
        try:
            report = loaded(spark, found, meter)
        except (RowsRefused, RowsNotKept) as failed:
            meter.clear()
            _told(failed.load, form)
            failed.hint = failed.hint or _SAID_TO_FAIL
            raise
        finally:
            meter.clear()
    _told(report, form)
    return ExitCode.OK


def _described(file: Path) -> PipelineFile:
    from omnigraph_sql.spark.pipeline_file import read_pipeline

    if not file.exists():
        raise missing_file(str(file))
    return read_pipeline(file)


def _checked(found: PipelineFile) -> list[str]:
    from omnigraph_sql.spark.pipeline import check

    return check(found)


def _told(report: SparkReport, form: str) -> None:
    if form == "json":
        say(report.json())
    else:
        tell(str(report))
