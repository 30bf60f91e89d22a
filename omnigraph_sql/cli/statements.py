"""`ogsql GRAPH`: texts in SQL or .gq run against a graph, one after the other."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum, auto
from pathlib import PurePath
from typing import TYPE_CHECKING

import click

from omnigraph_sql.base.errors import LanguageError
from omnigraph_sql.cli.exit_codes import ExitCode
from omnigraph_sql.cli.formats import FORMS, written
from omnigraph_sql.cli.graphs import actor_option, address, branch_option, durability_option, parameters, storage_option
from omnigraph_sql.cli.output import Sink, output
from omnigraph_sql.cli.terminal import tell
from omnigraph_sql.cli.texts import STDIN, argument_text, read_text, shown_name

if TYPE_CHECKING:
    from omnigraph_sql.base.catalog import Catalog
    from omnigraph_sql.graph import Graph
    from omnigraph_sql.plan.compile import Compiled, Language, Program
    from omnigraph_sql.result import Result

_EPILOG = """\b
Examples:
  ogsql air.omni -c "SELECT city FROM Airport WHERE code = 'LIM'"
  ogsql air.omni -c "INSERT INTO Airport (code, city) VALUES ('CUZ', 'Cusco')" --actor ana
  ogsql air.omni -f air.gq --name reachable --param from=LIM --format json
  ogsql air.omni --read-only --format csv --output routes.csv -c "SELECT * FROM Route"
  ogsql air.omni < nightly.sql
"""

Values = dict[str, object]
WORDS_OF_COUNTS = (("node", "nodes"), ("edge", "edges"))


@dataclass(frozen=True, slots=True)
class Text:
    """A text to run: what messages call it, and the language its file name gives away."""

    name: str
    body: str
    language: Language | None = None


class Statements(click.Command):
    """The command behind a graph's name; its usage line says so."""

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return ["[OPTIONS]"] if ctx.info_name == "GRAPH" else super().collect_usage_pieces(ctx)


@click.command(cls=Statements, epilog=_EPILOG)
@click.argument("graph")
@click.argument("loose", nargs=-1, metavar="")
@click.option("-c", "--command", "commands", multiple=True, metavar="TEXT", help="A text to run; repeatable.")
@click.option("-f", "--file", "files", multiple=True, metavar="FILE", help="A file to run, - for standard input.")
@click.option("--name", metavar="QUERY", help="Which query of a .gq text with several.")
@click.option("--param", "given", multiple=True, metavar="K=V", help="A parameter: JSON, or else text; repeatable.")
@click.option(
    "--format", "form", type=click.Choice(list(FORMS)), help="How rows are written; table unless said otherwise."
)
@click.option("-o", "--output", "goal", metavar="FILE", help="Write rows to a file, which appears when it is complete.")
@click.option("--read-only", is_flag=True, help="Refuse every change.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask before statements that destroy (the shell).")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing about what was done.")
@branch_option
@actor_option
@durability_option
@storage_option
def statements(
    graph: str,
    loose: tuple[str, ...],
    commands: tuple[str, ...],
    files: tuple[str, ...],
    name: str | None,
    given: tuple[str, ...],
    form: str | None,
    goal: str | None,
    read_only: bool,
    yes: bool,
    quiet: bool,
    branch: str,
    actor: str | None,
    durability: str,
    storage: tuple[str, ...],
) -> int:
    """Run statements against a graph: those of every -c, then of every -f, or those on standard input.

    On a terminal, without any of them, the shell starts: statements are typed there, and \\? lists its commands.

    Each text in SQL or .gq is one unit: what it changes commits as one, unless it says BEGIN and COMMIT itself. The
    first text that fails ends the command; those before it stand. Rows go to standard output, counts and commits to
    standard error.
    """
    if loose:
        raise click.UsageError("a statement is given with -c, a file with -f")
    where = address(graph, branch, actor, storage, durability)
    values = parameters(given)
    if not commands and not files and on_terminal():
        from omnigraph_sql.cli.shell import shell

        return shell(where, read_only=read_only, form=form, goal=goal, yes=yes, values=values)
    show = (lambda _: None) if quiet else tell
    # Read before anything is opened: the engine's threads could take an interrupt that this one waits for.
    texts = _texts(commands, files)
    reading = where.open(read_only=True)
    programs, complete = _programs(texts, reading.catalog)
    if complete:
        _refuse_unused(programs, values)
    # Whoever only reads waits for nobody and changes nothing.
    writing = not read_only and any(_kind(program) is not Kind.READ for program in programs)
    with where.open(read_only=False) if writing else reading as opened, output(goal) as sink:
        for text in texts:
            for kind, result in _results(opened, text, values, name):
                _write(result, form or "table", sink)
                if result.commit_id is not None or kind is Kind.WRITE:
                    show(outcome(result))
        if opened.in_transaction:
            tell("warning: the transaction was not committed, so nothing of it was kept")
            return ExitCode.REFUSED
    return ExitCode.OK


def on_terminal() -> bool:
    """Whether a person types and looks."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def _texts(commands: Iterable[str], files: Iterable[str]) -> list[Text]:
    texts = [Text("<argument>", argument_text(command)) for command in commands]
    texts += [Text(shown_name(path), read_text(path), _language(path)) for path in files]
    if not texts and sys.stdin is not None and sys.stdin.isatty():
        raise click.UsageError("give a statement with -c, a file with -f, or a text on standard input")
    return texts or [Text(shown_name(STDIN), read_text(STDIN))]


def _language(path: str) -> Language | None:
    match PurePath(path).suffix.lower():
        case ".gq":
            return "gq"
        case ".sql":
            return "sql"
        case _:
            return None


def _compile(text: Text, catalog: Catalog) -> Compiled:
    from omnigraph_sql.plan.compile import compile_any, compile_gq, compile_sql

    match text.language:
        case "gq":
            return compile_gq(text.body, catalog, name=text.name)
        case "sql":
            return compile_sql(text.body, catalog, name=text.name)
        case None:
            return compile_any(text.body, catalog, name=text.name)


def _programs(texts: Iterable[Text], catalog: Catalog) -> tuple[list[Program], bool]:
    """The statements of every text up to the first that does not compile, which says so when its turn comes."""
    found: list[Program] = []
    try:
        for text in texts:
            found += _compile(text, catalog).programs
    except LanguageError:
        return found, False
    return found, True


def _refuse_unused(programs: Iterable[Program], values: Values) -> None:
    known = {param.name for program in programs for param in program.parameters}
    for name in values.keys() - known:
        raise click.UsageError(f"no statement has a parameter '{name}'")


class Kind(Enum):
    READ = auto()
    WRITE = auto()
    CONTROL = auto()


def _kind(program: Program) -> Kind:
    from omnigraph_sql.bind.boundaries import mutates
    from omnigraph_sql.plan.mutations import Control

    if mutates(program.bound.statement):
        return Kind.WRITE
    return Kind.CONTROL if isinstance(program.plan, Control) else Kind.READ


def _results(graph: Graph, text: Text, values: Values, name: str | None) -> Iterator[tuple[Kind, Result]]:
    """The results of a text: of a unit the last one, of anything else one per statement."""
    compiled = _compile(text, graph.catalog)
    if name is not None:
        compiled = replace(compiled, programs=tuple(p for p in compiled.programs if p.name == name))
    for part, kind, own in _parts(text, compiled, values):
        try:
            gq = compiled.language == "gq"
            yield kind, graph.gq(part.body, own or None, name=name) if gq else graph.sql(part.body, own or None)
        except LanguageError as error:
            error.at = replace(error.at, source=part.name)
            raise


def _parts(text: Text, compiled: Compiled, values: Values) -> Iterable[tuple[Text, Kind, Values]]:
    """A script that commits nothing, or says itself what commits together, can be shown statement by statement."""
    kinds = [_kind(program) for program in compiled.programs]
    named = [{param.name for param in program.parameters} for program in compiled.programs]
    unit = Kind.WRITE in kinds and Kind.CONTROL not in kinds
    numbered = any(name.isdecimal() for names in named for name in names)
    if compiled.language == "gq" or len(kinds) < 2 or unit or numbered:
        return [(text, Kind.WRITE if Kind.WRITE in kinds else Kind.READ, _of(values, set().union(*named)))]
    from omnigraph_sql.grammar.sql.parse import parse_script

    found = parse_script(text.body)
    return [
        (
            Text(f"{text.name}, statement {number}", text.body[statement.span.start : statement.span.end], "sql"),
            kind,
            _of(values, names),
        )
        for number, (statement, kind, names) in enumerate(zip(found, kinds, named, strict=True), 1)
    ]


def _of(values: Values, names: set[str]) -> Values:
    return {name: value for name, value in values.items() if name in names}


def _write(result: Result, form: str, sink: Sink) -> None:
    for piece in written(result, form):
        sink(piece)


def outcome(result: Result) -> str:
    """What a mutation came to, in words."""
    numbers = (result.affected_nodes, result.affected_edges)
    counted = [f"{n} {one if n == 1 else many}" for n, (one, many) in zip(numbers, WORDS_OF_COUNTS, strict=True) if n]
    if not counted:
        return "nothing changed"
    ending = f"commit {result.commit_id}" if result.commit_id else "not committed yet"
    return f"{' and '.join(counted)} changed, {ending}"
