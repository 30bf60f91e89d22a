"""`ogsql explain`: the plans of the statements of a text."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

import click

from omnigraph_sql.base.errors import LanguageError
from omnigraph_sql.cli.exit_codes import ExitCode, exit_code
from omnigraph_sql.cli.graphs import catalog_of, check_source, graph_option, schema_option, storage_option
from omnigraph_sql.cli.terminal import say, say_json, tell_error
from omnigraph_sql.cli.texts import STDIN, argument_text, read_text, shown_name

if TYPE_CHECKING:
    from omnigraph_sql.base.catalog import Catalog
    from omnigraph_sql.plan.compile import Compiled, Program

_EPILOG = """\b
Examples:
  ogsql explain air.omni "SELECT city FROM Airport WHERE code = 'LIM'"
  ogsql explain --schema air.pg "match { $a: Airport } return { $a.city }"
  ogsql explain air.omni -f air.gq --verbose
  cat report.sql | ogsql explain --schema air.pg - --format json
"""


_COMMENT: Final = re.compile(r"--[^=\s]*\s")


class _WithStatement(click.Command):
    """A command whose argument may begin with a comment of SQL, which looks like an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        statements = [arg for arg in args if _COMMENT.match(arg)]
        if statements:
            args = [arg for arg in args if arg not in statements] + ["--", *statements]
        return super().parse_args(ctx, args)


@click.command(cls=_WithStatement, epilog=_EPILOG)
@click.argument("arguments", nargs=-1, metavar="[GRAPH] [TEXT]")
@schema_option
@graph_option
@storage_option
@click.option("-f", "--file", metavar="FILE", help="Read the statements from a file, - for standard input.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="How to show the plans.")
@click.option("-v", "--verbose", is_flag=True, help="Also show parameters and result columns (JSON always has them).")
def explain(
    arguments: tuple[str, ...],
    schema: str | None,
    graph: str | None,
    storage: tuple[str, ...],
    file: str | None,
    form: str,
    verbose: bool,
) -> int:
    """Show the plans of statements in SQL or .gq.

    TEXT is asked against a graph or a schema, and is - for standard input. The language is told from the first words,
    that of a file from its ending.
    """
    texts = list(arguments)
    if schema is None and graph is None and len(texts) == (2 if file is None else 1):
        graph = texts.pop(0)
    check_source(schema, graph, "give GRAPH before the statement, or --schema FILE")
    if len(texts) + (file is not None) != 1:
        raise click.UsageError("give a statement or -f FILE, one of the two")
    as_json = form == "json"
    try:
        catalog = catalog_of(schema, graph, storage)
        compiled = _compile(texts[0] if texts else None, file, catalog)
    except LanguageError as broken:
        tell_error(broken, as_json=as_json)
        return exit_code(broken)
    if not compiled.programs:
        raise click.ClickException("there is no statement to explain")
    if as_json:
        say_json([_values(compiled, program) for program in compiled.programs])
    else:
        say("\n\n".join(_sections(compiled, verbose)))
    return ExitCode.OK


def _compile(text: str | None, file: str | None, catalog: Catalog) -> Compiled:
    from omnigraph_sql.plan.compile import compile_any, compile_gq, compile_sql

    path = file if file is not None else STDIN if text == STDIN else None
    if path is None:
        return compile_any(argument_text(text or ""), catalog, name="<argument>")
    content, name = read_text(path), shown_name(path)
    match PurePath(path).suffix.lower():
        case ".gq":
            return compile_gq(content, catalog, name=name)
        case ".sql":
            return compile_sql(content, catalog, name=name)
        case _:
            return compile_any(content, catalog, name=name)


def _sections(compiled: Compiled, verbose: bool) -> list[str]:
    """One text per statement; when there are several, each begins with a line that tells it from the others."""
    from omnigraph_sql.plan.explain import explain as plan_text

    several = len(compiled.programs) > 1
    sections = []
    for number, program in enumerate(compiled.programs, 1):
        lines = [f"-- {program.name or f'statement {number}'}"] if several else []
        lines.append(plan_text(program.plan))
        if verbose:
            lines += [f"parameters: {_parameters(program)}", f"columns: {_columns(program)}"]
        sections.append("\n".join(lines))
    return sections


def _parameters(program: Program) -> str:
    from omnigraph_sql.base.types import type_text

    return ", ".join(f"${p.name} {type_text(p.type)}{'?' if p.nullable else ''}" for p in program.parameters) or "none"


def _columns(program: Program) -> str:
    from omnigraph_sql.base.types import type_text

    return ", ".join(f"{f.name} {type_text(f.type)}{'?' if f.nullable else ''}" for f in program.fields) or "none"


def _values(compiled: Compiled, program: Program) -> dict[str, object]:
    from omnigraph_sql.base.types import type_text
    from omnigraph_sql.plan.explain import explain_json

    return {
        "language": compiled.language,
        "name": program.name,
        "parameters": [{"name": p.name, "type": type_text(p.type), "nullable": p.nullable} for p in program.parameters],
        "columns": [{"name": f.name, "type": type_text(f.type), "nullable": f.nullable} for f in program.fields],
        "plan": explain_json(program.plan),
    }
