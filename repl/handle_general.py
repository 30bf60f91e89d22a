"""Commands about the shell itself: help, history, settings, leaving."""

from __future__ import annotations

from typing import Final

from omnigraph_sql.base.errors import DataError
from omnigraph_sql.repl.commands import GROUPS, Command, command_named
from omnigraph_sql.repl.settings import FIELDS, write_setting
from omnigraph_sql.repl.shell import Shell

_HISTORY_SHOWN: Final = 20

KEYS: Final = (
    ("Enter", "send a statement that is complete, or begin a new line"),
    ("Alt-Enter", "send whatever is there"),
    ("Tab", "suggest"),
    ("Ctrl-R", "search the history"),
    ("Right", "take the grey suggestion"),
    ("Ctrl-C", "cancel what runs; at the prompt, drop the text"),
    ("Ctrl-D", "leave"),
    ("F3", "multi-line mode on or off"),
    ("Ctrl-X Ctrl-E", "edit the text in $EDITOR"),
)


def show_help(shell: Shell, name: str) -> None:
    wanted = name.removeprefix("\\")
    if wanted:
        command = command_named(wanted)
        if command is None:
            raise DataError(f"there is no command \\{wanted}", hint="\\? lists the commands")
        shell.talk(_explained(command))
        return
    shell.screen.page(help_lines(), shell.settings.pager, shell.settings.pager_command)


def help_lines() -> list[str]:
    """The table of commands and keys as text."""
    indent = max(len(command.usage) for _, commands in GROUPS for command in commands) + 2
    lines = ["SQL ends with ;  –  .gq begins with match, query, insert, update or delete", ""]
    for title, commands in GROUPS:
        lines.append(title)
        lines += [f"  {command.usage.ljust(indent)}{command.help}" for command in commands]
        lines.append("")
    lines.append("Keys")
    return [*lines, *(f"  {key.ljust(indent)}{help}" for key, help in KEYS)]


def _explained(command: Command) -> str:
    others = ", ".join(f"\\{name}" for name in command.names[1:])
    return f"{command.usage}\n  {command.help}" + (f"\n  also {others}" if others else "")


def leave(shell: Shell, _: str) -> None:
    """Leave, unless a transaction is open and the person thinks again."""
    if not shell.state.in_transaction:
        shell.finished = 0
        return
    answer = shell.ask("A transaction is open. [c]ommit, [r]oll back and leave, or stay? [c/r/S] ")
    match answer.strip().casefold()[:1]:
        case "c":
            shell.run_text("COMMIT;")
        case "r":
            shell.run_text("ROLLBACK;")
        case _:
            shell.talk("staying; COMMIT or ROLLBACK ends the transaction")
            return
    shell.finished = 0


def tell_connection(shell: Shell, _: str) -> None:
    uri = shell.with_graph(lambda work: work.graph.uri)
    state = shell.state
    facts = {
        "graph": uri,
        "branch": state.branch,
        "head": state.head,
        "mode": "reading a past state" if state.pinned else "read only" if state.read_only else "reading and writing",
        "transaction": "open" if state.in_transaction else "none",
    }
    shell.talk("\n".join(f"{name:<12}{fact}" for name, fact in facts.items()))


def refresh(shell: Shell, _: str) -> None:
    def look(work: object) -> None:
        del work

    shell.with_graph(lambda work: work.graph.refresh())
    shell.learn_later()
    shell.with_graph(look)
    known = shell.knowledge
    tables = len(tuple(known.catalog.tables()))
    shell.talk(f"{tables} tables, {len(known.branches)} branches, head {shell.state.head}")


def show_history(shell: Shell, text: str) -> None:
    past = list(shell.past())
    if past and past[-1].lstrip().startswith("\\history"):  # asking is not part of what is asked for
        past.pop()
    if text.isdecimal():
        found = past[-int(text) :] if int(text) else []
    elif text:
        found = [entry for entry in past if text.casefold() in entry.casefold()]
    else:
        found = past[-_HISTORY_SHOWN:]
    shell.screen.page(found, shell.settings.pager, shell.settings.pager_command)


def configure(shell: Shell, text: str) -> None:
    """Without a value show settings; with one, change it now and write it into the person's file."""
    name, _, value = text.partition(" ")
    if not name:
        rows = [(n, str(getattr(shell.settings, n)), shell.origins.get(n, "default"), _meaning(n)) for n in FIELDS]
        shell.show_rows(("setting", "value", "from", "meaning"), rows)
    elif not value.strip():
        if name not in FIELDS:
            shell.set(name, "")
        shell.talk(f"{name} = {getattr(shell.settings, name)}  ({_meaning(name)})")
    else:
        shell.set(name, _unquoted(value), str(shell.places.user_file))
        write_setting(shell.places.user_file, name, _unquoted(value))
        shell.talk(f"{name} = {getattr(shell.settings, name)}, written to {shell.places.user_file}")


def _meaning(name: str) -> str:
    return str(FIELDS[name].metadata["help"])


def _unquoted(value: str) -> str:
    text = value.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text
