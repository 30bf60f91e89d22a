"""Commands that run statements in another way than by typing them: files, names, parameters, again and again."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import Final

from omnigraph_sql.base.errors import DataError
from omnigraph_sql.repl.named import value_of, values_of
from omnigraph_sql.repl.shell import Shell
from omnigraph_sql.repl.work import pieces_of
from omnigraph_sql.repl.worker import interrupts

_WATCH_SECONDS: Final = 2.0
_WATCH_LEAST_SECONDS: Final = 0.1
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?(?=\s|$)")
_PARAMETER: Final = re.compile(r"\w+")


def path_of(text: str) -> Path:
    """A path as typed: quotes and ~ mean what they mean in a shell. Raises DataError when there is none."""
    try:
        words = shlex.split(text)
    except ValueError:
        words = [text]
    if len(words) != 1:
        raise DataError("name one file" if words else "name a file", hint="put a name with blanks in quotes")
    return Path(words[0]).expanduser()


def explain(shell: Shell, text: str) -> None:
    wanted = text or shell.statement
    if not wanted:
        raise DataError("there is no statement to explain", hint="\\explain SELECT …")
    plan = shell.with_graph(lambda work: work.explain(wanted.rstrip().removesuffix(";")))
    shell.screen.page([plan], shell.settings.pager, shell.settings.pager_command)


def watch(shell: Shell, text: str) -> None:
    """Run a statement every few seconds until Ctrl-C, which is how it ends and no failure."""
    number = _NUMBER.match(text)
    seconds = max(float(number.group()), _WATCH_LEAST_SECONDS) if number is not None else _WATCH_SECONDS
    wanted = text[number.end() if number is not None else 0 :].strip() or shell.statement
    pieces = shell.with_graph(lambda _: pieces_of(wanted, "<statement>", None))
    if not pieces:
        raise DataError("there is no statement to watch", hint="\\watch 2 SELECT …;")
    refused = next((piece for piece in pieces if piece.danger is not None), None)
    if refused is not None:
        raise DataError(f"{refused.danger}, which is not for watching")
    shell.statement = wanted
    stopped = Event()
    while not stopped.is_set():
        for piece in pieces:
            shell.run_piece(piece)
        with interrupts(stopped.set):
            shell.screen.show_line(f"again in {seconds:g} s  (Ctrl-C ends it)")
            stopped.wait(seconds)
        shell.screen.clear_line()


def include(shell: Shell, text: str) -> None:
    shell.run_file(path_of(text))


def edit(shell: Shell, text: str) -> None:
    """Let the person edit a file, or the last statement, which then waits at the prompt."""
    command = shell.settings.editor or os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    if text:
        path = path_of(text)
        _edited(command, path)
        shell.prefill = path.read_text(encoding="utf-8").rstrip() if path.exists() else ""
        return
    with TemporaryDirectory(prefix="ogsql-") as folder:
        path = Path(folder, "statement.sql")
        path.write_text(shell.statement + "\n", encoding="utf-8")
        _edited(command, path)
        shell.prefill = path.read_text(encoding="utf-8").rstrip()


def _edited(command: str, path: Path) -> None:
    try:
        code = subprocess.run([*shlex.split(command), str(path)], check=False).returncode
    except OSError as failure:
        raise DataError(f"the editor {command} cannot be started: {failure.strerror}", hint="set $EDITOR") from None
    if code:
        raise DataError(f"the editor {command} ended with code {code}")


# ---- parameters -------------------------------------------------------------------------------------------------


def set_parameter(shell: Shell, text: str) -> None:
    name, _, value = text.replace("=", " ", 1).partition(" ") if "=" in text.partition(" ")[0] else text.partition(" ")
    name = name.removeprefix("$").removeprefix(":")
    if not name:
        if not shell.parameters:
            shell.talk("no parameters; \\set NAME VALUE gives $NAME a value")
            return
        shell.show_rows(
            ("parameter", "value"), [(f"${name}", shell.lent.cell(of)) for name, of in shell.parameters.items()]
        )
        return
    if not _PARAMETER.fullmatch(name):
        raise DataError(f"{name!r} cannot name a parameter", hint="use letters, digits and _")
    if not value.strip():
        shell.talk(f"${name} = {shell.lent.cell(shell.parameters[name])}" if name in shell.parameters else "not set")
        return
    shell.parameters[name] = value_of(value.strip())
    shell.tell_names()


def unset_parameter(shell: Shell, text: str) -> None:
    name = text.removeprefix("$")
    if name not in shell.parameters:
        raise DataError(f"there is no parameter ${name}", hint="\\set lists them")
    del shell.parameters[name]
    shell.tell_names()


# ---- named queries ----------------------------------------------------------------------------------------------


def run_named(shell: Shell, text: str) -> None:
    name, _, arguments = text.partition(" ")
    if not name:
        found = list(shell.queries.all().values())
        if not found:
            shell.talk("no named queries; \\ns NAME STATEMENT keeps one")
            return
        rows = [(q.name, str(q.path) if q.path else "project", " ".join(q.text.split())) for q in found]
        shell.show_rows(("name", "kept in", "statement"), rows)
        return
    query = shell.queries.get(name)
    pieces = shell.with_graph(lambda _: pieces_of(query.text, name, query.language))
    names = list(dict.fromkeys(parameter for piece in pieces for parameter in piece.parameters))
    if query.language == "gq":
        names = shell.with_graph(lambda work: work.gq_parameters(pieces[0]) if pieces else [])
    values = values_of(arguments, names)
    for piece in pieces:
        if shell.permitted(piece):
            shell.run_piece(piece, extra=values)
    shell.statement = query.text.strip()


def save_named(shell: Shell, text: str) -> None:
    name, _, statement = text.partition(" ")
    if not name:
        raise DataError("name the query", hint="\\ns NAME STATEMENT")
    path = shell.queries.save(name, statement.strip() or shell.statement)
    shell.tell_names()
    shell.talk(f"kept {name} in {path}")


def drop_named(shell: Shell, text: str) -> None:
    shell.queries.drop(text)
    shell.tell_names()
    shell.talk(f"dropped {text}")
