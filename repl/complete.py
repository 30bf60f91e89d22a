"""What may come next: text and cursor in, suggestions out. Pure but for the names of files, which are asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from omnigraph_sql.grammar.language import Language, language_of
from omnigraph_sql.repl.commands import COMMANDS, Argument, Command, command_named
from omnigraph_sql.repl.complete_gq import gq_candidates
from omnigraph_sql.repl.complete_sql import sql_candidates
from omnigraph_sql.repl.knowledge import Knowledge
from omnigraph_sql.repl.suggestion import PATH, Candidate, Wanted
from omnigraph_sql.repl.tokens import Kind, tokens

Files = Callable[[str], Iterable[str]]
"""Names of files that begin with a text; folders end with a slash."""

_SUGGESTIONS_MAX: Final = 200
_COMMAND: Final = re.compile(r"\s*\\(?P<name>\S*)(?P<gap>\s+)?", re.DOTALL)
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_+|\s+|\.")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A text to stand from `start` to the cursor, and what to say about it."""

    text: str
    start: int
    meta: str = ""


def complete(
    text: str,
    cursor: int,
    knowledge: Knowledge,
    *,
    language: Language | None = None,
    files: Files = lambda _: (),
) -> list[Suggestion]:
    """Suggestions for the place of the cursor, the likeliest first."""
    if not 0 <= cursor <= len(text):
        raise ValueError("the cursor lies in the text")
    found = _COMMAND.match(text)
    if found is not None and cursor <= found.end("name"):
        typed = text[found.start("name") : cursor]
        return list(_ranked(Wanted(typed, found.start("name")), _commands())) if cursor >= found.start("name") else []
    if found is not None:
        return _argument(found, text, cursor, knowledge, language, files)
    return _statement(text, cursor, knowledge, language or language_of(text), files)


_LEADING: Final = frozenset(
    {"FROM", "JOIN", "INTO", "UPDATE", "TABLE", "DESCRIBE", "ON", "OF", "BRANCH", "SET", "MATCH"}
)


def asks_for_help(text: str, cursor: int) -> bool:
    """Whether suggestions are shown unasked: inside a word, and where only certain names can follow.

    Between two words anything could come next, and a list of everything would be in the way.
    """
    before = text[:cursor]
    if not before.strip():
        return False
    if before.lstrip().startswith("\\"):
        return True
    if not before[-1].isspace():
        return before[-1] not in ";,)]}"
    found = tokens(before, language_of(text))
    last = found[-1]
    return last.upper in _LEADING or last.kind is Kind.VARIABLE or last.is_mark(":", "=>")


def _statement(text: str, cursor: int, knowledge: Knowledge, language: Language, files: Files) -> list[Suggestion]:
    before = tokens(text[:cursor], language)
    if before and before[-1].kind is Kind.COMMENT and (before[-1].open or before[-1].end == cursor):
        return []
    wanted, candidates = (sql_candidates if language == "sql" else gq_candidates)(text, cursor, knowledge)
    if any(candidate is PATH for candidate in candidates):
        return [Suggestion(name, wanted.start) for name in files(wanted.typed)]
    return list(_ranked(wanted, candidates))


def _ranked(wanted: Wanted, candidates: Iterable[Candidate]) -> Iterator[Suggestion]:
    """Those that fit what was typed: words that begin with it first, each kind by its rank, then as they came."""
    fitting: list[tuple[tuple[bool, int, int], Candidate]] = []
    seen: set[str] = set()
    typed = wanted.typed.casefold()
    for candidate in candidates:
        fit = _fit(typed, candidate.text)
        if fit is not None and candidate.text not in seen:
            seen.add(candidate.text)
            fitting.append(((fit > 0, candidate.rank, fit), candidate))
    fitting.sort(key=lambda entry: entry[0])
    for _, candidate in fitting[:_SUGGESTIONS_MAX]:
        yield Suggestion(candidate.text, wanted.start, candidate.meta)


def _fit(typed: str, text: str) -> int | None:
    """0 when the text begins with what was typed, 1 when a part of it does, 2 when it occurs somewhere, else None."""
    folded = text.casefold().lstrip('"')
    if folded.startswith(typed.lstrip('"')):
        return 0
    if typed not in folded:
        return None
    if any(part.casefold().startswith(typed) for part in _HUMP.split(text) if part):
        return 1
    return 2 if len(typed) > 1 else None


# ---- commands of the shell --------------------------------------------------------------------------------------


def _commands() -> Iterator[Candidate]:
    for command in COMMANDS:
        for name in command.names:
            yield Candidate(name, f"{command.arguments} – {command.help}" if command.arguments else command.help)


def _argument(
    found: re.Match[str], text: str, cursor: int, knowledge: Knowledge, language: Language | None, files: Files
) -> list[Suggestion]:
    command = command_named(found["name"])
    if command is None or cursor < found.end():
        return []
    if command.takes is Argument.STATEMENT:
        spoken = command.language or language
        inner = _statement(
            text[found.end() :], cursor - found.end(), knowledge, spoken or language_of(text[found.end() :]), files
        )
        return [Suggestion(s.text, s.start + found.end(), s.meta) for s in inner]
    typed = text[found.end() : cursor]
    last = re.split(r"\s+", typed)[-1]
    wanted = Wanted(last, cursor - len(last))
    if command.takes is Argument.FILE:
        return [Suggestion(name, wanted.start) for name in files(last)]
    return list(_ranked(wanted, _values(command, knowledge, typed[: len(typed) - len(last)].split())))


def _values(command: Command, knowledge: Knowledge, before: list[str]) -> Iterator[Candidate]:
    match command.takes:
        case Argument.TABLE:
            yield from (
                Candidate(t.name, "node" if t in knowledge.catalog.nodes else "edge")
                for t in knowledge.catalog.tables()
            )
        case Argument.BRANCH:
            yield from (Candidate(name, "branch") for name in knowledge.branches)
        case Argument.REF:
            yield from (Candidate(name, "branch") for name in knowledge.branches)
            yield from (Candidate(f"@{name}", said) for name, said in knowledge.commits)
        case Argument.FORM:
            yield from (Candidate(name) for name in knowledge.forms)
        case Argument.QUERY:
            yield from (Candidate(name, said) for name, said in knowledge.queries if not before)
        case Argument.SETTING:
            yield from (Candidate(name, said) for name, said in knowledge.settings if not before)
        case Argument.PARAMETER:
            yield from (Candidate(name, said) for name, said in knowledge.parameters if not before)
        case Argument.COMMAND:
            yield from _commands()
        case Argument.FUNCTION:
            yield from (Candidate(name, said) for name, said in knowledge.functions)
        case Argument.WORD:
            yield from (Candidate(word) for word in command.choices if not before)
        case Argument.NOTHING | Argument.TEXT | Argument.STATEMENT | Argument.FILE:
            return
