"""`ogsql load`: rows from files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from omnigraph_sql.base.errors import DataError
from omnigraph_sql.cli.exit_codes import ExitCode
from omnigraph_sql.cli.graphs import actor_option, address, branch_option, durability_option, storage_option
from omnigraph_sql.cli.pipeline import SparkWay, engine_options, load_on_spark
from omnigraph_sql.cli.progress import Meter
from omnigraph_sql.cli.terminal import tell
from omnigraph_sql.cli.texts import Unreadable, missing_file

if TYPE_CHECKING:
    from omnigraph_sql.engine.load.report import LoadReport

_EPILOG = """\b
Examples:
  ogsql load air.omni air.jsonl --mode append
  ogsql load air.omni airports.csv --type Airport --mode merge --actor ana
  ogsql load air.omni nodes.jsonl edges.jsonl --mode overwrite
  ogsql load air.omni big.jsonl --mode append --engine spark --on-error skip --quarantine refused
"""


@click.command(epilog=_EPILOG)
@click.argument("graph")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--mode",
    type=click.Choice(["append", "merge", "overwrite"]),
    required=True,
    help="append adds rows and refuses keys that exist; merge replaces or adds; overwrite replaces whole tables.",
)
@click.option("--type", "of", metavar="TYPE", help="The type of the rows; files other than .jsonl need it.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing about what was done.")
@engine_options
@branch_option
@actor_option
@durability_option
@storage_option
def load(
    graph: str,
    files: tuple[str, ...],
    mode: str,
    of: str | None,
    quiet: bool,
    engine: str,
    master: str,
    on_error: str,
    quarantine: str | None,
    branch: str,
    actor: str | None,
    durability: str,
    storage: tuple[str, ...],
) -> int:
    """Load rows from files.

    Every FILE is .jsonl, .csv or .parquet, and all of them are one commit: either everything is in the graph
    afterwards, or nothing. Texts may be packed, as in .csv.gz or .jsonl.zst. A terminal sees how far it is, a pipe
    does not. With --engine spark, files may also be patterns and addresses that the cluster reads.
    """
    where = address(graph, branch, actor, storage, durability)
    if engine == "spark":
        return load_on_spark(where, files, of, mode, SparkWay(master, on_error, quarantine), quiet=quiet)
    if on_error != "fail" or quarantine is not None:
        raise click.UsageError("--on-error and --quarantine need --engine spark")
    _check_files(files)
    with where.open(read_only=False) as opened, Meter(sys.stderr, quiet=quiet) as meter:
        try:
            report = opened.load(list(files), type=of, mode=mode, progress=meter)
        except DataError as refused:
            refused.hint = refused.hint or "nothing was loaded; mend the file and load it again"
            raise
        meter.clear()
        if not quiet:
            tell(told(report))
    return ExitCode.OK


def _check_files(files: tuple[str, ...]) -> None:
    """Name what is missing before the graph is opened. Raises Unreadable."""
    for path in files:
        if not Path(path).exists():
            raise missing_file(path)
        if Path(path).is_dir():
            raise Unreadable(f"'{path}' is a directory; name the files in it")


def told(report: LoadReport) -> str:
    """What a load came to, in words."""
    rows = [f"{table.table} {_counted(table.rows)}{_replaced(table.replaced)}" for table in report.tables]
    return f"loaded {', '.join(rows) or 'nothing'}, commit {report.commit_id}"


def _counted(rows: int) -> str:
    return f"{rows} row{'' if rows == 1 else 's'}"


def _replaced(rows: int) -> str:
    return f" in place of {rows}" if rows else ""
