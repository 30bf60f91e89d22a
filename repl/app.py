"""The keyboard of the shell: the editor with its keys, colours, suggestions and toolbar, and the loop around it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.shortcuts import CompleteStyle, PromptSession

from omnigraph_sql.repl.complete import asks_for_help, complete
from omnigraph_sql.repl.highlight import lex_document
from omnigraph_sql.repl.keys import keys
from omnigraph_sql.repl.lent import Lent, Options
from omnigraph_sql.repl.places import Places, PrivateHistory
from omnigraph_sql.repl.screen import Screen
from omnigraph_sql.repl.settings import Loaded, load
from omnigraph_sql.repl.shell import Shell
from omnigraph_sql.repl.styles import style_of, wants_colour
from omnigraph_sql.repl.worker import NotOpened

if TYPE_CHECKING:
    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output

_HEAD_CHARACTERS: Final = 8
_FILES_SHOWN: Final = 100


def run_shell(
    lent: Lent,
    options: Options | None = None,
    *,
    places: Places | None = None,
    environment: Mapping[str, str] | None = None,
    terminal: tuple[Input, Output] | None = None,
    stream: IO[str] | None = None,
) -> int:
    """Talk with a person until they leave; the result is the exit code.

    `terminal` and `stream` stand in for the real ones where there is none.
    """
    variables = os.environ if environment is None else environment
    where = places or Places.of_person(variables)
    loaded = load(where.user_file, where.project_file, variables)
    out = stream or sys.stdout
    colour = wants_colour(out, variables, loaded.settings.theme)
    screen = Screen(out, interactive=out.isatty(), colour=colour, environment=variables)
    dialogue = Dialogue(lent, options or Options(), where, loaded, screen, terminal)
    for problem in loaded.problems:
        screen.write(f"warning: {problem}")
    return dialogue.run()


class Dialogue:
    """The editor and the shell behind it."""

    def __init__(
        self,
        lent: Lent,
        options: Options,
        places: Places,
        loaded: Loaded,
        screen: Screen,
        terminal: tuple[Input, Output] | None,
    ) -> None:
        self._input: Input | None = terminal[0] if terminal is not None else None
        self._output: Output | None = terminal[1] if terminal is not None else None
        self._depth = None if screen.colour else ColorDepth.DEPTH_1_BIT
        self.shell = Shell(lent, options, places, loaded, screen, self._ask)
        self._history = PrivateHistory(places.history, loaded.settings.history_size)
        self._session = self._prompt_session()
        self.shell.changed = self._redraw
        self.shell.past = lambda: self._history.get_strings()

    def _prompt_session(self) -> PromptSession[str]:
        shell, settings = self.shell, self.shell.settings
        return PromptSession(
            message=self.message,
            multiline=True,
            prompt_continuation=_continuation,
            lexer=_Colours(),
            completer=_Suggestions(shell),
            complete_while_typing=Condition(lambda: shell.settings.complete),
            complete_style=CompleteStyle.COLUMN,
            auto_suggest=AutoSuggestFromHistory() if settings.suggest else None,
            history=self._history,
            key_bindings=keys(shell),
            bottom_toolbar=self.toolbar,
            enable_open_in_editor=True,
            tempfile_suffix=".sql",
            editing_mode=EditingMode.VI if settings.vi else EditingMode.EMACS,
            style=style_of(settings.theme, os.environ),
            color_depth=self._depth,
            reserve_space_for_menu=6,
            input=self._input,
            output=self._output,
        )

    # ---- the loop ---------------------------------------------------------------------------------------------

    def run(self) -> int:
        """Ask, carry out, show, until the person leaves or the graph turns out not to open."""
        shell, session = self.shell, self._session
        # The graph is opened once the prompt stands there, so that nobody waits for a prompt.
        session.app.after_render += lambda _: shell.worker.start()
        shell.worker.when_opened = self._opened
        try:
            self._start_up()
            while shell.finished is None:
                self._turn(session)
        finally:
            shell.close()
        return shell.finished

    def _turn(self, session: PromptSession[str]) -> None:
        shell = self.shell
        prefill, shell.prefill = shell.prefill, ""
        try:
            text = session.prompt(default=prefill)
        except KeyboardInterrupt:
            return
        except EOFError:
            shell.execute("\\q")
            return
        except NotOpened as failure:
            shell.tell_error(failure.error)
            shell.finished = shell.lent.exit_code(failure.error)
            return
        if text.strip():
            shell.execute(text)

    def _start_up(self) -> None:
        path = self.shell.places.startup
        if self.shell.settings.startup and path.is_file():
            self.shell.execute(f'\\i "{path}"')

    def _opened(self, failure: NotOpened | None) -> None:
        """On the worker's thread: a graph that does not open ends the prompt."""
        app = self._session.app
        if failure is not None and app.is_running and app.loop is not None:
            app.loop.call_soon_threadsafe(partial(_end, app, failure))
        self._redraw()

    def _ask(self, question: str) -> str:
        asking: PromptSession[str] = PromptSession(color_depth=self._depth, input=self._input, output=self._output)
        try:
            return asking.prompt(question)
        except (EOFError, KeyboardInterrupt):
            return ""

    # ---- what is shown ----------------------------------------------------------------------------------------

    def message(self) -> StyleAndTextTuples:
        state, settings = self.shell.state, self.shell.settings
        graph = Path(self.shell.lent.name.rstrip("/")).name.removesuffix(".omni")
        branch = state.branch or "…"
        star = "*" if state.in_transaction else ""
        if state.pinned:
            branch, star = state.head[-_HEAD_CHARACTERS:].lower(), " (read-only)"
        text = settings.prompt
        for name, value in (("{graph}", graph), ("{branch}", branch), ("{star}", star)):
            text = text.replace(name, value)
        return [("class:prompt", text)]

    def toolbar(self) -> StyleAndTextTuples:
        shell, state = self.shell, self.shell.state
        if not shell.worker.opened.is_set():
            return [("class:bottom-toolbar.text", " opening the graph … ")]
        parts = [state.branch, state.head[-_HEAD_CHARACTERS:].lower()]
        if state.in_transaction:
            parts.append("transaction")
        if state.read_only:
            parts.append("read-only")
        parts.append(shell.note)
        if shell.goal is not None or shell.once is not None:
            parts.append(f"→ {shell.once or shell.goal}")
        parts.append("; sends" if shell.settings.multiline else "Enter sends")
        return [("class:bottom-toolbar.text", " " + " │ ".join(part for part in parts if part) + " ")]

    def _redraw(self) -> None:
        app = self._session.app
        if app.is_running:
            app.invalidate()


def _end(app: Any, failure: NotOpened) -> None:
    if app.is_running and not app.is_done:
        app.exit(exception=failure)


def _continuation(width: int, line: int, is_soft_wrap: int) -> StyleAndTextTuples:
    del line
    return [("class:continuation", " " * width if is_soft_wrap else "... ".rjust(width))]


class _Colours(Lexer):
    """The lexer of the language the text is in."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        return lex_document(document, None)


class _Suggestions(Completer):
    """Completion by what the shell knows at the moment."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        text, cursor = document.text, document.cursor_position
        if not complete_event.completion_requested and not asks_for_help(text, cursor):
            return
        for one in complete(text, cursor, self._shell.knowledge, files=files):
            yield Completion(one.text, one.start - cursor, display_meta=one.meta)


def files(typed: str) -> list[str]:
    """Names of files that begin with what was typed; folders end with a slash."""
    folder, name = os.path.split(typed)
    try:
        found = sorted(Path(folder or ".").expanduser().iterdir())
    except OSError:
        return []
    hidden = name.startswith(".")
    names = [p.name + ("/" if p.is_dir() else "") for p in found if hidden or not p.name.startswith(".")]
    return [os.path.join(folder, n) for n in names if n.startswith(name)][:_FILES_SHOWN]
