"""`ogsql check`: whether a graph is whole."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from omnigraph_sql.base.errors import StorageError
from omnigraph_sql.cli.exit_codes import ExitCode
from omnigraph_sql.cli.formats import cell
from omnigraph_sql.cli.graphs import Address, absent, address, storage_option
from omnigraph_sql.cli.interrupts import check as check_interrupts
from omnigraph_sql.cli.progress import Line
from omnigraph_sql.cli.terminal import say, say_json, tell

if TYPE_CHECKING:
    from omnigraph_sql.engine.upkeep.check import Check
    from omnigraph_sql.engine.upkeep.findings import Finding

_EPILOG = """\b
Examples:
  ogsql check air.omni
  ogsql check air.omni --branch review --format json
"""


@click.command(epilog=_EPILOG)
@click.argument("graph")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="How to show it.")
@click.option("--branch", metavar="NAME", help="The branch to look at; all of them unless said otherwise.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but what is wrong.")
@storage_option
def check(graph: str, form: str, branch: str | None, quiet: bool, storage: tuple[str, ...]) -> int:
    """Check whether a graph is whole.

    Reads the manifest, the schema, the history, what is unfinished and every row that a branch shows, and writes
    nothing. What is wrong is one line each, with what to do next, and the exit code is 1; a graph without findings is
    whole. Writers may be at work meanwhile.
    """
    with Line(sys.stderr, quiet=quiet) as line:
        made = _made(address(graph, branch or "main", storage=storage), line)
        found: list[Finding] = []
        try:
            for finding in made.findings(None if branch is None else [branch]):
                check_interrupts()
                found.append(finding)
                if form == "text":
                    line.clear()
                    say(_shown(finding))
        except StorageError as error:
            raise absent(address(graph), error) or error from None
    if form == "json":
        say_json(_as_values(made, found))
    if not quiet:
        tell(f"{_verdict(len(found))}: {', '.join(_looked_at(made))}")
    return ExitCode.REFUSED if found else ExitCode.OK


def _made(where: Address, line: Line) -> Check:
    """What looks at the graph. Raises Absent when there is none."""
    where.check()
    from omnigraph_sql.engine.store.root import GraphRoot
    from omnigraph_sql.engine.upkeep.check import Check
    from omnigraph_sql.engine.world import World
    from omnigraph_sql.run.contract import ContractKeeper

    world = World.at(GraphRoot.parse(where.graph, dict(where.storage) or None))
    try:
        world.manifest.table.open("main")
    except StorageError as error:
        missing = absent(where, error)
        if missing is not None:
            raise missing from None
    keeper = ContractKeeper.open(world)
    return Check(world, lambda snapshot: keeper.at(snapshot).catalog, lambda text: line.show(f"checking {text}"))


def _shown(finding: Finding) -> str:
    where = " ".join(part for part in (finding.branch, finding.table) if part is not None)
    return cell(f"{where + ': ' if where else ''}{finding.message} [{finding.about.value}]; {finding.hint}")


def _as_values(made: Check, found: list[Finding]) -> dict[str, object]:
    return {
        "whole": not found,
        "branches": made.branches,
        "tables": made.tables,
        "rows": made.rows,
        "findings": [
            {
                "about": one.about.value,
                "branch": one.branch,
                "table": one.table,
                "message": one.message,
                "hint": one.hint,
            }
            for one in found
        ],
    }


def _verdict(findings: int) -> str:
    return "whole" if not findings else f"{findings} finding{'' if findings == 1 else 's'}"


def _looked_at(made: Check) -> Iterator[str]:
    for count, word in ((made.branches, "branch"), (made.tables, "table"), (made.rows, "row")):
        yield f"{count} {word}{'' if count == 1 else 'es' if word == 'branch' else 's'}"
