"""`ogsql export`: a graph as lines of JSON."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from omnigraph_sql.cli.exit_codes import ExitCode
from omnigraph_sql.cli.graphs import address, branch_option, storage_option
from omnigraph_sql.cli.points import at_option, opened_at
from omnigraph_sql.cli.progress import Meter
from omnigraph_sql.cli.terminal import is_heard, say, tell
from omnigraph_sql.cli.texts import STDIN

_EPILOG = """\b
Examples:
  ogsql export air.omni air.jsonl
  ogsql export air.omni --type Airport --at 2026-01-01T00:00:00Z | gzip > airports.jsonl.gz
  ogsql init copy.omni --schema air.pg && ogsql load copy.omni air.jsonl --mode append
"""


@click.command(epilog=_EPILOG)
@click.argument("graph")
@click.argument("file", default=STDIN)
@click.option("--type", "types", multiple=True, metavar="TYPE", help="Only the rows of this type; repeatable.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing about what was done.")
@at_option
@branch_option
@storage_option
def export(
    graph: str, file: str, types: tuple[str, ...], quiet: bool, at: str | None, branch: str, storage: tuple[str, ...]
) -> int:
    """Write the rows of a graph to FILE, or to standard output: nodes first, then edges, one JSON object a line.

    ogsql load turns the file back into an equal graph. The file appears when it is complete. A terminal sees how far
    it is, a pipe does not.
    """
    with opened_at(address(graph, branch, storage=storage), at) as opened, Meter(sys.stderr, quiet=quiet) as meter:
        if file == STDIN:
            for line in opened.lines(type=types):
                say(line)
                if not is_heard():
                    break
            return ExitCode.OK
        report = opened.export(Path(file), type=types, progress=meter)
        meter.clear()
        if not quiet:
            tell(f"exported {report.rows} row{'' if report.rows == 1 else 's'} of commit {report.commit_id} to {file}")
    return ExitCode.OK
