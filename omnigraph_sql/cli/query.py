"""`ogsql query`: one query of a .gq file."""

from __future__ import annotations

import click

from omnigraph_sql.cli.binary import BINARY
from omnigraph_sql.cli.embedding import embed_option
from omnigraph_sql.cli.formats import FORMS
from omnigraph_sql.cli.graphs import actor_option, branch_option, memory_option, storage_option
from omnigraph_sql.cli.points import at_option
from omnigraph_sql.cli.statements import statements

_EPILOG = """\b
Examples:
  ogsql query air.omni air.gq reachable --param from=LIM
  ogsql query air.omni air.gq reachable --param from=LIM --format jsonl --at 12
"""


@click.command(epilog=_EPILOG)
@click.argument("graph")
@click.argument("file", metavar="FILE.gq")
@click.argument("name", required=False)
@click.option("--param", "given", multiple=True, metavar="K=V", help="A parameter: JSON, or else text; repeatable.")
@click.option("--format", "form", type=click.Choice([*FORMS, *BINARY]), help="How rows are written; else a table.")
@click.option("-o", "--output", "goal", metavar="FILE", help="Write rows to a file, which appears when it is complete.")
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Write at most so many rows.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="Stop after that time.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing about what was done.")
@at_option
@branch_option
@actor_option
@storage_option
@embed_option
@memory_option
@click.pass_context
def query(ctx: click.Context, /, file: str, name: str | None, **options: object) -> int:
    """Run a query of a .gq file; NAME picks one of several."""
    found: int = ctx.invoke(statements, files=(file,), name=name, **options)
    return found
