"""`ogsql GRAPH`: texts in SQL or .gq run against a graph, one after the other."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum, auto
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

import click

from omnigraph_sql.base.errors import DataError, LanguageError, OmniError
from omnigraph_sql.cli.binary import BINARY, check_goal, write_bytes
from omnigraph_sql.cli.embedding import embed_option
from omnigraph_sql.cli.exit_codes import ExitCode, exit_code
from omnigraph_sql.cli.formats import FORMS, written
from omnigraph_sql.cli.graphs import (
    actor_option,
    address,
    branch_option,
    durability_option,
    memory_option,
    parameters,
    storage_option,
)
from omnigraph_sql.cli.interrupts import check
from omnigraph_sql.cli.output import Sink, output
from omnigraph_sql.cli.points import at_option
from omnigraph_sql.cli.stopping import at_most
from omnigraph_sql.cli.terminal import is_heard, tell, tell_error
from omnigraph_sql.cli.texts import STDIN, argument_text, read_text, shown_name

if TYPE_CHECKING:
    from omnigraph_sql.cli.graphs import Address
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


_PARAMETERS: Final = "parameters"
_ORDER: Final = "omnigraph_sql.order"
_TEXTS: Final = {"-c": "c", "--command": "c", "-f": "f", "--file": "f"}


class Statements(click.Command):
    """The command behind a graph's name; its usage line says so. It remembers in which order texts were given."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = (arg.partition("=")[0] if arg.startswith("--") else arg[:2] for arg in args)
        ctx.meta[_ORDER] = [_TEXTS[word] for word in words if word in _TEXTS]
        return super().parse_args(ctx, args)

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
    "--format", "form", type=click.Choice([*FORMS, *BINARY]), help="How rows are written; table unless said otherwise."
)
@click.option("-o", "--output", "goal", metavar="FILE", help="Write rows to a file, which appears when it is complete.")
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Write at most so many rows of each result.")
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="Stop a text after that time."
)
@click.option(
    "--on-error",
    type=click.Choice(["stop", "continue"]),
    default="stop",
    show_default=True,
    help="Whether a text that fails ends the command.",
)
@at_option
@click.option("--read-only", is_flag=True, help="Refuse every change.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask before statements that destroy (the shell).")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing about what was done.")
@branch_option
@actor_option
@durability_option
@storage_option
@embed_option
@memory_option
def statements(
    graph: str,
    loose: tuple[str, ...],
    commands: tuple[str, ...],
    files: tuple[str, ...],
    name: str | None,
    given: tuple[str, ...],
    form: str | None,
    goal: str | None,
    limit: int | None,
    timeout: float | None,
    on_error: str,
    at: str | None,
    read_only: bool,
    yes: bool,
    quiet: bool,
    branch: str,
    actor: str | None,
    durability: str,
    storage: tuple[str, ...],
    embed: str | None,
    memory_limit: str | None,
) -> int:
    """Run statements against a graph: those of every -c and -f in the order given, or those on standard input.

    On a terminal, without any of them, the shell starts: statements are typed there, and \\? lists its commands.

    Each text in SQL or .gq is one unit: what it changes commits as one, unless it says BEGIN and COMMIT itself. The
    first text that fails ends the command unless --on-error says otherwise; those before it stand. Rows go to standard
    output, counts and commits to standard error.
    """
    if loose:
        raise click.UsageError("a statement is given with -c, a file with -f")
    where = replace(address(graph, branch, actor, storage, durability), embed=embed, memory_limit=memory_limit)
    values = parameters(given)
    if not commands and not files and on_terminal():
        from omnigraph_sql.cli.shell import shell

        return shell(where, read_only=read_only, at=at, form=form, goal=goal, yes=yes, values=values)
    check_goal(form, goal)
    # Read before anything is opened: the engine's threads could take an interrupt that this one waits for.
    texts = _texts(commands, files, click.get_current_context().meta.get(_ORDER, []))
    reading = _opened(where, at)
    programs, complete = _programs(texts, reading)
    if complete:
        _refuse_unused(programs, values)
    # Whoever only reads waits for nobody and changes nothing.
    writing = at is None and not read_only and any(_kind(program) is not Kind.READ for program in programs)
    writing = writing or (at is None and not read_only and not complete)
    runner = Runner(values, name, form or "table", goal, limit, timeout, quiet)
    with where.open(read_only=False) if writing else reading as opened, _sink(runner) as sink:
        worst = runner.run(opened, texts, sink, stops=on_error == "stop")
        if opened.in_transaction:
            tell("warning: the transaction was not committed, so nothing of it was kept")
            return ExitCode.REFUSED
    return worst


def _opened(where: Address, at: str | None) -> Graph:
    from omnigraph_sql.cli.shell import point_of

    reading = where.open(read_only=True)
    return reading if at is None else reading.at(point_of(at))


@contextmanager
def _sink(runner: Runner) -> Iterator[Sink | None]:
    """Where text goes; bytes find their own way."""
    if runner.form in BINARY:
        yield None
        return
    with output(runner.goal) as sink:
        yield sink


@dataclass(frozen=True, slots=True)
class Runner:
    """How texts are run and their results written."""

    values: Values
    name: str | None
    form: str
    goal: str | None
    limit: int | None
    timeout: float | None
    quiet: bool

    def run(self, graph: Graph, texts: list[Text], sink: Sink | None, *, stops: bool) -> int:
        """The exit code: that of the first text that failed."""
        worst: int = ExitCode.OK
        for text in texts:
            check()
            try:
                with at_most(graph, self.timeout):
                    self._text(graph, text, sink)
            except OmniError as error:
                if stops:
                    raise
                tell_error(error)
                worst = worst or exit_code(error)
        return worst

    def _text(self, graph: Graph, text: Text, sink: Sink | None) -> None:
        for kind, result in _results(graph, text, self.values, self.name):
            self._write(_limited(result, self.limit), sink)
            if (result.commit_id is not None or kind is Kind.WRITE) and not self.quiet:
                tell(outcome(result))

    def _write(self, result: Result, sink: Sink | None) -> None:
        if sink is None:
            if result.columns:
                write_bytes(result, self.form, self.goal)
            return
        for piece in written(result, self.form):
            sink(piece)
            if not is_heard():
                return  # rows that nobody reads need not be made


def _limited(result: Result, limit: int | None) -> Result:
    """The first rows of a result."""
    if limit is None or not result.columns:
        return result
    import pyarrow as pa

    from omnigraph_sql.result import Result as Rows

    reader = result.batches()

    def first() -> Iterator[pa.RecordBatch]:
        left = limit
        while left > 0 and (batch := next(reader, None)) is not None:
            yield batch.slice(0, left)
            left -= batch.num_rows

    return Rows(pa.RecordBatchReader.from_batches(reader.schema, first()))


def on_terminal() -> bool:
    """Whether a person types and looks."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def _texts(commands: Sequence[str], files: Sequence[str], order: Sequence[str]) -> list[Text]:
    """The texts in the order they were given, as far as that is known."""
    given = {
        "c": [Text("<argument>", argument_text(command)) for command in commands],
        "f": [Text(shown_name(path), read_text(path), _language(path)) for path in files],
    }
    told = order.count("c") == len(commands) and order.count("f") == len(files)
    texts = [given[kind].pop(0) for kind in order] if told else [*given["c"], *given["f"]]
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


def _compile(text: Text, graph: Graph) -> Compiled:
    try:
        return graph.compile(text.body, text.language or "any")
    except LanguageError as error:
        error.at = replace(error.at, source=text.name) if error.at.source == "<statement>" else error.at
        raise


def _programs(texts: Iterable[Text], graph: Graph) -> tuple[list[Program], bool]:
    """The statements of every text up to the first that does not compile, which says so when its turn comes."""
    found: list[Program] = []
    try:
        for text in texts:
            found += _compile(text, graph).programs
    except LanguageError:
        return found, False
    return found, True


def _refuse_unused(programs: Iterable[Program], values: Values) -> None:
    known = {param.name for program in programs for param in program.parameters}
    for name in values.keys() - known:
        there = f"; there are {', '.join(sorted(known))}" if known else ""
        raise click.UsageError(f"no statement has a parameter '{name}'{there}")


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
    compiled = _compile(text, graph)
    if name is not None:
        compiled = replace(compiled, programs=tuple(p for p in compiled.programs if p.name == name))
    for part, kind, own in _parts(text, compiled, values):
        try:
            gq = compiled.language == "gq"
            yield kind, graph.gq(part.body, own or None, name=name) if gq else graph.sql(part.body, own or None)
        except LanguageError as error:
            error.at = replace(error.at, source=part.name)
            raise
        except DataError as error:
            if error.code == _PARAMETERS and error.message.endswith("is missing"):
                error.hint = "--param name=value gives it"
            raise


def _parts(text: Text, compiled: Compiled, values: Values) -> Iterable[tuple[Text, Kind, Values]]:
    """What is run at once, so that it can be shown: statements that commit together, or one alone."""
    kinds = [_kind(program) for program in compiled.programs]
    named = [{param.name for param in program.parameters} for program in compiled.programs]
    numbered = any(name.isdecimal() for names in named for name in names)
    unit = Kind.WRITE in kinds and Kind.CONTROL not in kinds
    if compiled.language == "gq" or len(kinds) < 2 or unit or numbered:
        return [(text, Kind.WRITE if Kind.WRITE in kinds else Kind.READ, _of(values, set().union(*named)))]
    from omnigraph_sql.grammar.sql.parse import parse_script

    spans = [statement.span for statement in parse_script(text.body)]
    found = []
    for first, last in _groups(compiled.programs, kinds):
        body = text.body[spans[first].start : spans[last].end]
        kind = Kind.WRITE if Kind.WRITE in kinds[first : last + 1] else kinds[first]
        names = set().union(*named[first : last + 1])
        found.append((Text(f"{text.name}, statement {first + 1}", body, "sql"), kind, _of(values, names)))
    return found


def _groups(programs: Sequence[Program], kinds: list[Kind]) -> Iterator[tuple[int, int]]:
    """First and last statement of each part. Commands stand alone; what changes rows between two of them commits as
    one, unless the text says itself what does."""
    from omnigraph_sql.base.commands import Begin
    from omnigraph_sql.plan.mutations import Control

    said = any(isinstance(p.plan, Control) and isinstance(p.plan.command, Begin) for p in programs)
    first = 0
    while first < len(kinds):
        last = first
        while not said and last + 1 < len(kinds) and Kind.CONTROL not in kinds[first : last + 2]:
            last += 1
        if Kind.WRITE in kinds[first : last + 1]:
            yield first, last
        else:
            yield from ((place, place) for place in range(first, last + 1))
        first = last + 1


def _of(values: Values, names: set[str]) -> Values:
    return {name: value for name, value in values.items() if name in names}


def outcome(result: Result) -> str:
    """What a mutation came to, in words."""
    numbers = (result.affected_nodes, result.affected_edges)
    counted = [f"{n} {one if n == 1 else many}" for n, (one, many) in zip(numbers, WORDS_OF_COUNTS, strict=True) if n]
    if not counted:
        return f"done, commit {result.commit_id}" if result.commit_id else "nothing changed"
    ending = f"commit {result.commit_id}" if result.commit_id else "not committed yet"
    return f"{' and '.join(counted)} changed, {ending}"
