"""The shell without its keyboard: takes what was typed, has it carried out, and shows what it came to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from omnigraph_sql.base.errors import DataError, InternalError, LanguageError, OmniError
from omnigraph_sql.grammar.language import Language
from omnigraph_sql.grammar.source import Source, Span
from omnigraph_sql.repl.commands import HABITS, command_named, command_of, every_name
from omnigraph_sql.repl.knowledge import LAST, Knowledge
from omnigraph_sql.repl.last import Last
from omnigraph_sql.repl.lent import Lent, Options
from omnigraph_sql.repl.named import Queries
from omnigraph_sql.repl.places import Places
from omnigraph_sql.repl.render import Look, box, is_wide, rows_that_fit, vertical
from omnigraph_sql.repl.screen import Screen
from omnigraph_sql.repl.settings import FIELDS, Loaded, Settings, parsed
from omnigraph_sql.repl.work import Answer, Order, Piece, State, Work, pieces_of
from omnigraph_sql.repl.worker import Abandoned, Cancelled, NotOpened, Worker, carried_out

if TYPE_CHECKING:
    import pyarrow as pa

BOX: Final = "box"
_PROGRESS_SECONDS: Final = 1.0
_OPENING_SECONDS: Final = 0.3
_LEVELS_OF_FILES: Final = 16
Outcome = TypeVar("Outcome")


class Shell:
    """One conversation with one graph."""

    def __init__(
        self, lent: Lent, options: Options, places: Places, loaded: Loaded, screen: Screen, ask: Callable[[str], str]
    ) -> None:
        self.lent, self.places, self.screen, self.ask = lent, places, screen, ask
        self.settings: Settings = loaded.settings
        self.origins = dict(loaded.origins)
        self.queries = Queries(places.queries, loaded.queries)
        self.parameters: dict[str, object] = dict(options.parameters)
        self.goal: str | None = options.goal
        self.once: str | None = None
        self.confirms = options.confirms and loaded.settings.confirm
        if options.form is not None:
            self.settings = replace(self.settings, format=options.form)
        self.state = State()
        self.knowledge = Knowledge(forms=self.forms)
        self.last: Last | None = None
        self.statement = ""
        """The last one that was run."""
        self.note = ""
        """Rows and time of the last statement, for the toolbar."""
        self.prefill = ""
        self.finished: int | None = None
        self.changed: Callable[[], None] = lambda: None
        self.past: Callable[[], Sequence[str]] = lambda: ()
        self._files_deep = 0
        self.worker = self._fresh_worker()
        self.tell_names()

    @property
    def forms(self) -> tuple[str, ...]:
        return (BOX, *(form for form in self.lent.forms if form != BOX))

    # ---- the graph --------------------------------------------------------------------------------------------

    def _fresh_worker(self) -> Worker:
        return Worker(lambda: Work(self.lent.open(), self.lent.outcome), self._learn)

    def _learn(self, work: Work) -> None:
        """On the worker's thread: what the prompt and the suggestions show."""
        self.state = work.state()
        with suppress(OmniError):
            self.knowledge = work.knowledge(self.knowledge)
        self.changed()

    def with_graph(self, act: Callable[[Work], Outcome], meter: Callable[[], int] = lambda: 0) -> Outcome:
        """Do something with the graph on its thread and wait for it. Raises OmniError, Cancelled, NotOpened."""
        try:
            return carried_out(self.worker, act, lambda seconds, stopping: self._tick(seconds, stopping, meter()))
        finally:
            self.screen.clear_line()

    def _tick(self, seconds: float, stopping: bool, rows: int) -> None:
        if stopping:
            self.screen.show_line("cancelling …  (Ctrl-C again stops waiting)")
        elif not self.worker.opened.is_set() and seconds >= _OPENING_SECONDS:
            self.screen.show_line("opening the graph …")
        elif seconds >= _PROGRESS_SECONDS:
            read = f", {rows:,} rows".replace(",", " ", 1).replace(",", " ") if rows else ""
            self.screen.show_line(f"running {seconds:.0f} s{read}  (Ctrl-C cancels)")

    def _start_anew(self) -> None:
        """Leave what does not stop to itself, and open the graph again beside it."""
        if not self.worker.opened.is_set():
            self.talk("stopped waiting; the graph is still being opened")
            return
        state = self.state
        self.worker = self._fresh_worker()
        if not state.pinned:
            self.worker.submit(lambda work: work.checkout(state.branch) if work.graph.branch != state.branch else None)
        self.learn_later()
        lost = "; the open transaction is lost" if state.in_transaction else ""
        self.talk(f"stopped waiting; the statement may still finish. The graph was opened anew{lost}")

    def learn_later(self) -> None:
        """Look at the graph again while the person reads."""
        self.worker.submit(self._learn)

    def close(self) -> None:
        self.worker.stop()

    # ---- input ------------------------------------------------------------------------------------------------

    def execute(self, text: str, *, name: str = "<statement>") -> bool:
        """Carry out what was typed, and show what came of it. False when it was refused or stopped."""
        try:
            command = command_of(text)
            if command is not None:
                self._command(command)
            else:
                self.run_text(text, name=name)
            return True
        except OmniError as error:
            self.tell_error(error)
        except (Cancelled, KeyboardInterrupt) as stopped:
            self.talk(str(stopped) or "cancelled")
        except Abandoned:
            self._start_anew()
        except NotOpened as failure:
            self.tell_error(failure.error)
            self.finished = self.lent.exit_code(failure.error)
        except OSError as failure:
            place = f"{failure.filename}: " if failure.filename else ""
            self.tell_error(DataError(f"{place}{(failure.strerror or str(failure)).lower()}"))
        except Exception as fault:  # noqa: BLE001 - whatever goes wrong, the person keeps the shell and what was typed
            self.tell_error(InternalError(f"{type(fault).__name__}: {fault}", hint="please report what was typed"))
        return False

    def _command(self, text: str) -> None:
        from omnigraph_sql.repl.handlers import HANDLERS

        word, _, rest = text[1:].replace("\n", " \n").partition(" ")
        command = command_named(word)
        if command is None or text[0] == ".":
            from difflib import get_close_matches

            near = [HABITS[word]] if word in HABITS else get_close_matches(word, every_name(), 1)
            if text[0] == "." and word in every_name():
                near = [word]
            hint = f"did you mean \\{near[0]}?" if near else "\\? lists the commands"
            raise DataError(f"there is no command {text[0]}{word}", hint=hint)
        if command.needs_graph and not self.worker.opened.is_set():
            self.with_graph(lambda _: None)
        HANDLERS[command.name](self, rest.strip())

    def run_text(self, text: str, *, name: str = "<statement>", language: Language | None = None) -> None:
        """Run every statement of a text, each on its own. The first that fails ends it."""
        if not text.strip():
            return
        pieces = self.with_graph(lambda _: pieces_of(text, name, language))
        if pieces:
            self.statement = text.strip()
        for piece in pieces:
            if self.permitted(piece):
                self.run_piece(piece, Source(text, name))

    def permitted(self, piece: Piece) -> bool:
        """Whether the person means a statement that destroys; any other is permitted."""
        if piece.danger is None or not self.confirms:
            return True
        answer = self.ask(f"{piece.danger}. Go on? [y/N] ")
        if answer.strip().casefold() in ("y", "yes"):
            return True
        self.talk("not done")
        return False

    def run_piece(self, piece: Piece, source: Source | None = None, extra: dict[str, object] | None = None) -> Answer:
        """Run one statement and show its answer."""
        order = Order(piece, self.parameters | (extra or {}), self.last)
        goal = self.once or self.goal
        if goal is not None:
            form = self.form_for(goal)
            order.write, order.goal = (lambda result: self.lent.write(result, form, goal)), goal
        try:
            answer = self.with_graph(lambda work: self._run(work, order), lambda: order.meter.rows)
        except LanguageError as error:
            if source is not None:
                error.at = _moved(error, piece, source)
            raise
        if answer.goal is not None:
            self.once = None
        self.keep(answer)
        self.show(answer)
        if answer.outcome is not None or piece.text.split(None, 1)[0].upper() not in ("SELECT", "MATCH", "FROM"):
            self.learn_later()
        return answer

    def _run(self, work: Work, order: Order) -> Answer:
        try:
            return work.run(order)
        finally:
            with suppress(OmniError):
                self.state = work.state()

    def run_file(self, path: Path) -> None:
        """Run the statements and commands of a file; the first that fails ends it."""
        if self._files_deep >= _LEVELS_OF_FILES:
            raise DataError(f"{path} is included by itself")
        text = path.read_text(encoding="utf-8")
        language: Language | None = "gq" if path.suffix == ".gq" else None
        self._files_deep += 1
        try:
            for part in parts_of_script(text):
                if part.lstrip().startswith("\\"):
                    self._command(part.strip())
                else:
                    self.run_text(part, name=str(path), language=language)
        finally:
            self._files_deep -= 1

    # ---- output -----------------------------------------------------------------------------------------------

    def form_for(self, goal: str) -> str:
        """The form of rows that go to a file: the one its ending names, else the one that is chosen."""
        ending = Path(goal).suffix.removeprefix(".")
        named = {"md": "markdown", "txt": "table"}.get(ending, ending)
        if named in self.lent.forms:
            return named
        return self.settings.format if self.settings.format != BOX else "table"

    def keep(self, answer: Answer) -> None:
        """Remember the rows as `_`."""
        if answer.table is not None:
            self.last = Last(answer.table, self.lent.cell)
            others = tuple((name, columns) for name, columns in self.knowledge.tables if name != LAST)
            self.knowledge = replace(self.knowledge, tables=((LAST, self.last.columns()), *others))
        took = duration(answer.seconds)
        rows = f"{answer.total} row{'' if answer.total == 1 else 's'} · " if answer.table is not None else ""
        self.note = f"{rows}{took}"

    def show(self, answer: Answer, form: str | None = None) -> None:
        """Show the rows of an answer and what it changed."""
        took = f" · {duration(answer.seconds)}" if self.settings.timing else ""
        if answer.goal is not None:
            self.talk(f"rows written to {answer.goal}{took}")
            took = ""
        elif answer.table is not None:
            self.show_table(answer.table, answer.total, whole=answer.whole, form=form, after=took)
            took = ""
        if answer.outcome is not None:
            self.talk(f"{answer.outcome}{took}")
        elif took:
            self.talk(f"done{took}")

    def look(self) -> Look:
        settings = self.settings
        rows = {"auto": rows_that_fit(self.screen.lines), "all": 0}.get(settings.rows)
        return Look(
            max(self.screen.columns, 20),
            int(settings.rows) if rows is None else rows,
            settings.cell,
            settings.null,
            self.screen.colour,
        )

    def show_table(
        self, table: pa.Table, total: int | None = None, *, whole: bool = True, form: str | None = None, after: str = ""
    ) -> None:
        """Rows in a form; a box by default."""
        chosen = form or self.settings.format
        if chosen in self.lent.binary:
            raise DataError(f"{chosen} is not for a screen", hint="\\once FILE sends the next rows to a file")
        look, settings = self.look(), self.settings
        if chosen != BOX:
            from omnigraph_sql.result import Result

            pieces: Iterable[str] = self.lent.written(Result(table.to_reader()), chosen)
        else:
            tall = settings.expanded == "on" or (settings.expanded == "auto" and is_wide(table, self.lent.cell, look))
            lines = (vertical if tall else box)(table, self.lent.cell, look, total)
            lines[-1] += look.dim(after + ("" if whole else " · more rows were not read; \\once FILE takes all"))
            pieces = lines
        self.screen.page(pieces, settings.pager, settings.pager_command)

    def show_rows(self, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Rows the shell itself made; they are neither kept nor counted."""
        import pyarrow as pa

        columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
        arrays = [pa.array(list(column)) if rows else pa.array([], pa.utf8()) for column in columns]
        self.show_table(pa.table(arrays, names=list(names)), form=BOX)

    def talk(self, text: str) -> None:
        self.screen.write(text)

    def tell_error(self, error: OmniError) -> None:
        if error.code == "parameters":
            here = "\\set NAME VALUE gives a parameter; behind \\n QUERY it is NAME=VALUE"
            error.hint = here if error.hint is None else f"{error.hint}; {here}"
        if isinstance(error, LanguageError) and self.screen.interactive:
            report = error.report(self.screen.columns)
        else:
            report = error.report()
        self.screen.write(self.lent.painted(report) if self.screen.colour else report)

    # ---- settings ---------------------------------------------------------------------------------------------

    def set(self, name: str, value: object, origin: str = "this session") -> None:
        """Change a setting for this session. Raises DataError."""
        fit = parsed(name, value, "the setting")
        if name == "format" and fit not in self.forms:
            raise DataError(f"there is no form {fit!r}", hint=f"choose one of {', '.join(self.forms)}")
        self.settings = replace(self.settings, **{name: fit})
        self.origins[name] = origin
        if name == "confirm":
            self.confirms = bool(fit)
        self.tell_names()

    def tell_names(self) -> None:
        """Let completion know the parameters, the named queries and the settings."""
        with suppress(OSError):
            queries = tuple((q.name, " ".join(q.text.split())[:60]) for q in self.queries.all().values())
            self.knowledge = replace(self.knowledge, queries=queries)
        self.knowledge = replace(
            self.knowledge,
            parameters=tuple((name, self.lent.cell(value)) for name, value in self.parameters.items()),
            settings=tuple((name, str(getattr(self.settings, name))) for name in FIELDS),
        )


def _moved(error: LanguageError, piece: Piece, source: Source) -> Any:
    at = error.at
    return source.locate(Span(piece.start + at.start, piece.start + at.end))


def duration(seconds: float) -> str:
    """A time as a person reads it."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds // 60)} min {seconds % 60:.0f} s"


def parts_of_script(text: str) -> list[str]:
    """A file as the shell reads it: lines that begin with a backslash are commands, the rest lies between them.

    A statement keeps its place: the lines before it are blank in its part, so that errors name the right line.
    """
    from omnigraph_sql.repl.multiline import is_complete

    parts: list[str] = []
    lines: list[str] = []
    first = 0
    for number, line in enumerate(text.split("\n")):
        pending = "\n".join(lines)
        if line.lstrip().startswith("\\") and (not pending.strip() or is_complete(pending)):
            if pending.strip():
                parts.append("\n" * first + pending)
            parts.append(line)
            lines, first = [], number + 1
        else:
            lines.append(line)
    if "".join(lines).strip():
        parts.append("\n" * first + "\n".join(lines))
    return parts
