r"""The table of the shell's own commands. `\?`, completion and the documentation are made from it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from omnigraph_sql.grammar.language import Language


class Argument(Enum):
    """What a command takes; completion offers that."""

    NOTHING = auto()
    TEXT = auto()
    WORD = auto()
    """One of the command's choices."""
    TABLE = auto()
    BRANCH = auto()
    REF = auto()
    FORM = auto()
    FILE = auto()
    QUERY = auto()
    SETTING = auto()
    PARAMETER = auto()
    COMMAND = auto()
    FUNCTION = auto()
    STATEMENT = auto()


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its names (the first is the one shown), the form of its arguments, and what it does in one line.

    `needs_graph` tells whether it has to wait until the graph is open.
    """

    names: tuple[str, ...]
    arguments: str
    help: str
    takes: Argument = Argument.NOTHING
    choices: tuple[str, ...] = ()
    language: Language | None = None
    needs_graph: bool = False

    def __post_init__(self) -> None:
        if not self.names or any(" " in name for name in self.names):
            raise ValueError("a command has a name without blanks")
        if bool(self.choices) != (self.takes is Argument.WORD):
            raise ValueError("a command has choices exactly when it takes one of them")

    @property
    def name(self) -> str:
        return self.names[0]

    @property
    def usage(self) -> str:
        return f"\\{self.name} {self.arguments}".rstrip()


_ON_OFF: Final = ("on", "off")
_A = Argument

GROUPS: Final[tuple[tuple[str, tuple[Command, ...]], ...]] = (
    (
        "General",
        (
            Command(("?", "help"), "[COMMAND]", "list these commands, or explain one", _A.COMMAND),
            Command(("q", "quit", "exit"), "", "leave; asks when a transaction is open"),
            Command(("conninfo",), "", "tell which graph, branch and commit this is", needs_graph=True),
            Command(("refresh",), "", "look at the schema, the branches and the history again", needs_graph=True),
            Command(("history",), "[N|TEXT]", "list the last N statements, or those that contain TEXT", _A.TEXT),
            Command(("echo",), "TEXT", "print TEXT", _A.TEXT),
        ),
    ),
    (
        "Statements",
        (
            Command(("sql",), "STATEMENT", "run a text as SQL", _A.STATEMENT, language="sql", needs_graph=True),
            Command(("gq",), "STATEMENT", "run a text as .gq", _A.STATEMENT, language="gq", needs_graph=True),
            Command(("explain",), "STATEMENT", "show the plan of a statement", _A.STATEMENT, needs_graph=True),
            Command(
                ("watch",),
                "[SECONDS] [STATEMENT]",
                "run a statement again and again until Ctrl-C",
                _A.STATEMENT,
                needs_graph=True,
            ),
            Command(("i", "include"), "FILE", "run the statements and commands of a file", _A.FILE, needs_graph=True),
            Command(("e", "edit"), "[FILE]", "edit the last statement, or a file, in $EDITOR", _A.FILE),
            Command(("set",), "[NAME [VALUE]]", "list the parameters, or give $NAME a value", _A.PARAMETER),
            Command(("unset",), "NAME", "forget a parameter", _A.PARAMETER),
        ),
    ),
    (
        "The graph",
        (
            Command(("d",), "[TABLE]", "list the tables, or describe one", _A.TABLE, needs_graph=True),
            Command(("d+",), "[TABLE]", "the same with rows, rules and descriptions", _A.TABLE, needs_graph=True),
            Command(("dn",), "", "list the node tables", needs_graph=True),
            Command(("de",), "", "list the edge tables with their ends", needs_graph=True),
            Command(("di",), "[TABLE]", "list the columns that rules index", _A.TABLE, needs_graph=True),
            Command(
                ("df",),
                "[TEXT]",
                "list the functions, or those whose name contains TEXT",
                _A.FUNCTION,
                needs_graph=True,
            ),
            Command(("branch",), "[NAME [FROM]]", "list the branches, or make one", _A.BRANCH, needs_graph=True),
            Command(("checkout",), "BRANCH|@COMMIT", "work on a branch, or read a commit", _A.REF, needs_graph=True),
            Command(("log",), "[N]", "list the last N commits", _A.TEXT, needs_graph=True),
        ),
    ),
    (
        "Results",
        (
            Command(("x",), "[on|off|auto]", "show rows one below the other", _A.WORD, (*_ON_OFF, "auto")),
            Command(("T", "format"), "[FORM]", "show or choose the form of rows", _A.FORM),
            Command(("timing",), "[on|off]", "tell how long statements take", _A.WORD, _ON_OFF),
            Command(("pager",), "[auto|always|off]", "when to use the pager", _A.WORD, ("auto", "always", "off")),
            Command(("o",), "[FILE]", "send rows to a file until the next \\o", _A.FILE),
            Command(("once",), "FILE", "send the rows of the next statement to a file", _A.FILE),
            Command(("_",), "[FORM]", "show the last rows again", _A.FORM),
            Command(("plot",), "bar|line|hist [X] [Y]", "draw the last rows", _A.WORD, ("bar", "line", "hist")),
        ),
    ),
    (
        "Named queries and settings",
        (
            Command(("n",), "[NAME [VALUES]]", "list the named queries, or run one", _A.QUERY, needs_graph=True),
            Command(("ns",), "NAME STATEMENT", "keep a statement under a name", _A.TEXT),
            Command(("nd",), "NAME", "drop a named query", _A.QUERY),
            Command(("config",), "[NAME [VALUE]]", "list the settings, or change one for good", _A.SETTING),
        ),
    ),
)

COMMANDS: Final = tuple(command for _, commands in GROUPS for command in commands)
_BY_NAME: Final = {name: command for command in COMMANDS for name in command.names}


_PLAIN: Final = {"help": "\\?", "?": "\\?", "exit": "\\q", "quit": "\\q"}
"""Words that stand alone, as people type them at the prompts of other shells."""

HABITS: Final = {
    **dict.fromkeys(("c", "connect", "use", "database", "databases", "l", "open"), "checkout"),
    **dict.fromkeys(("tables", "schema", "dt", "dt+", "desc", "describe", "show", "columns"), "d"),
    **dict.fromkeys(("mode", "a", "t", "headers"), "T"),
    **dict.fromkeys(("read", "source", "ir"), "i"),
    **dict.fromkeys(("timer", "time"), "timing"),
    **dict.fromkeys(("r", "p"), "e"),
    **dict.fromkeys(("output", "out", "copy"), "o"),
    **dict.fromkeys(("indexes", "indices"), "di"),
    **dict.fromkeys(("s", "hist"), "history"),
    **dict.fromkeys(("bye", "leave"), "q"),
}
"""What commands of other shells are called here."""

_DOTTED: Final = re.compile(r"\.[a-z?]+(?:\s.*)?", re.IGNORECASE)


def command_of(text: str) -> str | None:
    r"""The command that was typed, None for a statement.

    It begins with a backslash, or is one word that every shell knows. `.tables` and the like are no statement either:
    whoever types it is told what the command is called here.
    """
    typed = text.strip()
    if typed.startswith("\\") or _DOTTED.fullmatch(typed):
        return typed
    return _PLAIN.get(typed.rstrip("; \n").casefold())


def command_named(name: str) -> Command | None:
    return _BY_NAME.get(name)


def every_name() -> tuple[str, ...]:
    return tuple(_BY_NAME)
