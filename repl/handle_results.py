"""Commands about rows: their form, where they go, and pictures of them."""

from __future__ import annotations

from omnigraph_sql.base.errors import DataError
from omnigraph_sql.repl.handle_statements import path_of
from omnigraph_sql.repl.plot import drawn
from omnigraph_sql.repl.shell import Shell


def expanded(shell: Shell, text: str) -> None:
    """Without a word: the next of off, on, auto."""
    following = {"off": "on", "on": "auto", "auto": "off"}
    shell.set("expanded", text or following[shell.settings.expanded])
    shell.talk(f"one value per line: {shell.settings.expanded}")


def form(shell: Shell, text: str) -> None:
    if text:
        shell.set("format", text)
    shell.talk(f"rows are shown as {shell.settings.format}" + ("" if text else f"; forms: {', '.join(shell.forms)}"))


def timing(shell: Shell, text: str) -> None:
    shell.set("timing", text or not shell.settings.timing)
    shell.talk(f"timing is {'on' if shell.settings.timing else 'off'}")


def pager(shell: Shell, text: str) -> None:
    if text:
        shell.set("pager", text)
    shell.talk(f"pager: {shell.settings.pager}")


def output(shell: Shell, text: str) -> None:
    if not text:
        shell.goal = None
        shell.talk("rows go to the screen")
        return
    shell.goal = _goal(text)
    shell.talk(f"rows go to {shell.goal}, each statement's anew; \\o alone brings them back")


def output_once(shell: Shell, text: str) -> None:
    shell.once = _goal(text)


def _goal(text: str) -> str:
    path = path_of(text)
    if path.is_dir() or not path.parent.is_dir():
        raise DataError(f"{path} cannot be written", hint="name a file in a folder that exists")
    return str(path)


def show_last(shell: Shell, text: str) -> None:
    if shell.last is None:
        raise DataError("there are no rows yet", hint="run a query first")
    if text and text not in shell.forms:
        raise DataError(f"there is no form {text!r}", hint=f"choose one of {', '.join(shell.forms)}")
    goal = shell.once or shell.goal
    if goal is None:
        shell.show_table(shell.last.table, form=text or None)
        return
    from omnigraph_sql.result import Result

    shell.lent.write(Result(shell.last.table.to_reader()), text or shell.form_for(goal), goal)
    shell.once = None
    shell.talk(f"rows written to {goal}")


def plot(shell: Shell, text: str) -> None:
    if shell.last is None:
        raise DataError("there are no rows to draw", hint="run a query first")
    words = text.split()
    kind = words[0] if words else "bar"
    shell.talk(drawn(shell.last.table, kind, words[1:], shell.screen.columns, shell.screen.lines))
