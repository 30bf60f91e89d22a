"""`ogsql stats`: what a graph holds, in numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from omnigraph_sql.cli.exit_codes import ExitCode
from omnigraph_sql.cli.formats import table
from omnigraph_sql.cli.graphs import address, branch_option, storage_option
from omnigraph_sql.cli.terminal import say, say_json

_EPILOG = """\b
Examples:
  ogsql stats air.omni
  ogsql stats air.omni --branch review --format json
"""


@click.command(epilog=_EPILOG)
@click.argument("graph")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="How to show them.")
@branch_option
@storage_option
def stats(graph: str, form: str, branch: str, storage: tuple[str, ...]) -> int:
    """Show what a graph holds.

    Its tables with their rows and versions, its branches, its head, and how much is unfinished. Reads only.
    """
    with address(graph, branch, storage=storage).open(read_only=True) as opened:
        found = {**opened.stats(), "branches": [branch.name for branch in opened.branches()]}
    if form == "json":
        say_json(found)
    else:
        say("\n".join(_lines(found)))
    return ExitCode.OK


def _lines(found: dict[str, Any]) -> Iterator[str]:
    facts = {
        "graph": found["uri"],
        "format": found["format"],
        "branches": ", ".join(found["branches"]),
        "branch": found["branch"],
        "head": found["head"],
        "manifest": f"version {found['manifest_version']}",
        "pending": _pending(found["pending_operations"]),
        "kept": f"{found['kept']['disk_bytes']} bytes of adjacency on disk, {found['kept']['bytes']} in memory",
    }
    yield from (f"{name:<9} {fact}" for name, fact in facts.items())
    yield ""
    yield from table(
        ("table", "rows", "version"), iter([[(t["name"], t["rows"], t["version"]) for t in found["tables"]]])
    )


def _pending(number: int) -> str:
    if not number:
        return "no operation"
    return f"{number} operation{'' if number == 1 else 's'}; ogsql recover --dry-run lists them"
