"""What goes wrong in SQL texts, told in words that help."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Final

from omnigraph_sql.base.errors import LanguageError, NotSupported, ParseError
from omnigraph_sql.grammar.source import Source, Span

# fmt: off
STATEMENT_WORDS: Final = (
    "ALTER", "BEGIN", "CALL", "COMMIT", "COPY", "CREATE", "DELETE", "DESCRIBE", "DROP", "EXPLAIN", "EXPORT", "FROM",
    "IMPORT", "INSERT", "MERGE", "OPTIMIZE", "PIVOT", "RESET", "ROLLBACK", "SELECT", "SET", "SHOW", "START",
    "SUMMARIZE", "TRUNCATE", "UNPIVOT", "UPDATE", "USE", "VACUUM", "VALUES", "WITH",
)
_CLAUSE_WORDS: Final = (
    "FROM", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "OFFSET", "UNION", "INTERSECT", "EXCEPT", "VALUES", "JOIN",
    "RETURNING", "QUALIFY", "SELECT", "INTO", "TABLE", "COLUMNS", "MATCH", "MATCHED", "BRANCH", "BETWEEN", "DISTINCT",
    "USING", "TRANSACTION", "CONFLICT", "PARTITION", "INNER", "CROSS",
)
_ABSENT: Final = frozenset({
    "GRANT", "REVOKE", "LOCK", "ATTACH", "DETACH", "PRAGMA", "PREPARE", "EXECUTE", "DEALLOCATE", "DECLARE", "DO",
    "LISTEN", "NOTIFY", "COMMENT", "CHECKPOINT", "INSTALL", "LOAD", "KILL", "ANALYZE", "REFRESH", "CLUSTER",
})
# fmt: on
_ELSEWHERE: Final = {
    "MATCH": "a pattern is written SELECT … FROM GRAPH_TABLE (MATCH … COLUMNS (…))",
    "QUERY": "this looks like .gq; inside SQL it is written SELECT … FROM gq($$ … $$)",
    "NODE": "this looks like a .pg schema; in SQL write CREATE NODE TABLE",
    "EDGE": "this looks like a .pg schema; in SQL write CREATE EDGE TABLE",
    "INTERFACE": "this looks like a .pg schema; SQL has no interfaces",
    "TABLE": "write FROM table, or SELECT * FROM table",
    "REPLACE": "write INSERT OR REPLACE INTO table",
    "UPSERT": "write INSERT INTO table … ON CONFLICT (key) DO UPDATE SET …",
    "EXPLAIN": "EXPLAIN stands once, in front of the statement",
}
_OF_SHELL: Final = "commands such as \\d belong to the shell; SHOW TABLES and DESCRIBE table work everywhere"
_INSTEAD: Final = {
    "PRAGMA": "SHOW TABLES, DESCRIBE table and SHOW SETTINGS tell what is there; SET changes settings",
    "GRANT": "there are no users; whoever can write the files can change the graph",
    "REVOKE": "there are no users; whoever can write the files can change the graph",
    "LOAD": "COPY table FROM 'file' loads rows",
    "PREPARE": "hand over parameters with the statement; plans are kept",
    "EXECUTE": "hand over parameters with the statement; plans are kept",
}
_FOREIGN: Final = re.compile(r"%(?:s\b|\(\w+\)s\b)")
"""Parameters of other drivers."""
_OWN: Final = "parameters are written ?, $1, $name or :name, not %s"
_CURLY: Final = {"‘": "'", "’": "'", "“": '"', "”": '"', "´": "'"}
_WORD: Final = re.compile(r"[^\W\d]\w*")
_OPERAND: Final = re.compile(r"[^\W]|[\"'$]")
_BEHIND: Final = {
    "GROUP": ("BY", None),
    "ORDER": ("BY", None),
    "PARTITION": ("BY", None),
    "VERSION": ("AS OF", "write table VERSION AS OF 3"),
    "TIMESTAMP": ("AS OF", "write table TIMESTAMP AS OF '2026-01-31'"),
    "OF": (None, "write table VERSION AS OF 3 or table TIMESTAMP AS OF '2026-01-31'"),
    "AT": ("'('", "write table AT (VERSION => 3)"),
    "TOP": (None, "write LIMIT 3 at the end of the query"),
    "AS": (None, "put a name that is a keyword in double quotes"),
    "LEFT": ("JOIN", None),
    "RIGHT": ("JOIN", None),
    "INNER": ("JOIN", None),
    "FULL": ("JOIN", None),
    "CROSS": ("JOIN", None),
    "NOT": (None, "NOT stands in front of a condition, or in NOT IN, NOT LIKE, NOT BETWEEN, IS NOT"),
}
"""What goes on behind words that sqlglot would rather take for names, and how the whole is written."""


_LAST: Final = re.compile(r"\w+$|[^\w\s]+$")
_CONDITION, _TABLE, _COLUMN, _VALUE = ("a condition",), ("a table",), ("a column",), ("a value",)
_AT_THE_END: Final = {
    **dict.fromkeys(("WHERE", "ON", "HAVING", "AND", "OR", "NOT", "WHEN", "QUALIFY"), _CONDITION),
    **dict.fromkeys(("FROM", "JOIN", "INTO", "UPDATE"), _TABLE),
    **dict.fromkeys(("BY", "RETURNING"), _COLUMN),
    **dict.fromkeys(("THEN", "ELSE", "LIMIT", "OFFSET", "LIKE", "ILIKE", "BETWEEN", "VALUES", "IN"), _VALUE),
    **dict.fromkeys(("=", "<", ">", "<=", ">=", "<>", "!=", "+", "-", "*", "/", "||", "=>"), _VALUE),
    "SET": ("column = value",),
    "UNION": ("a query",),
    "EXCEPT": ("a query",),
    "INTERSECT": ("a query",),
}
"""What a text that breaks off behind this goes on with."""


def shortened(text: str) -> str:
    """A piece of text in quotes, as errors show it."""
    return f"'{text if len(text) <= 40 else text[:37] + '...'}'"


def unclosed(source: Source, at: int, what: str, closer: str | None = None) -> ParseError:
    """A quote or comment that runs to the end of the text; points at its start."""
    hint = f"end it with {closer}" if closer else "end it with a single quote; inside a string write '' for one quote"
    return ParseError(f"this {what} is never closed", at=source.locate(Span(at, at + len(closer or "'"))), hint=hint)


def never_closed(source: Source, opener: str, at: int, edge: int | None) -> ParseError:
    """A bracket or CASE that is open when the statement ends; points at the opener.

    `edge` is where a comment starts that was perhaps meant as an edge of a pattern.
    """
    if edge is not None and edge > at:
        where = source.locate(Span(edge, edge + 2))
        return ParseError("'--' starts a comment", at=where, hint="an edge of a pattern is written -[]-> or -[]-")
    closer = {"(": "')'", "[": "']'", "{": "'}'"}.get(opener, "END")
    return ParseError(
        f"this {opener if opener == 'CASE' else repr(opener)} is never closed",
        at=source.locate(Span(at, at + len(opener))),
        expected=(closer,),
    )


def explain_character(source: Source, at: int) -> ParseError:
    """A character that starts nothing."""
    character = source.text[at]
    where = source.locate(Span(at, at + 1))
    if character == '"':
        return unclosed(source, at, "quoted name", closer='"')
    if character == "`":
        return ParseError("names are not quoted with backticks", at=where, hint='write "name" instead of `name`')
    if character == "#":
        return ParseError("'#' does not start a comment", at=where, hint="comments are written -- … or /* … */")
    if character == "$":
        return ParseError("a name or number is missing after '$'", at=where, hint="parameters are ?, $1, $name, :name")
    if character in _CURLY:
        plain = _CURLY[character]
        return ParseError("this is a typographic quote", at=where, hint=f"use the plain quote {plain}")
    shown = f"'{character}'" if character.isprintable() else ascii(character)
    hint = _OF_SHELL if character == "\\" and not source.text[:at].strip() else None
    return ParseError(f"the character {shown} has no meaning here", at=where, hint=hint)


def unknown_statement(source: Source, span: Span) -> LanguageError:
    """A text that starts with none of the words a statement starts with."""
    word = source.text[span.start : span.end]
    upper = word.upper()
    at = source.locate(span)
    if upper in _ABSENT:
        return NotSupported(f"there is no {upper} statement", at=at, hint=_INSTEAD.get(upper))
    if upper in _ELSEWHERE:
        return ParseError(f"no statement starts with {shortened(word)} here", at=at, hint=_ELSEWHERE[upper])
    near = get_close_matches(upper, STATEMENT_WORDS, n=1, cutoff=0.6) if _WORD.fullmatch(word) else []
    return ParseError(
        f"no statement starts with {shortened(word)}",
        at=at,
        suggestion=near[0] if near else None,
        hint=_OF_SHELL if word.startswith(".") else None,
        expected=() if near else ("SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "CREATE", "ALTER", "DROP", "SHOW"),
    )


def explain(source: Source, description: str, span: Span, before: Span | None) -> ParseError:
    """An error for what the parser says of the token at `span`; an empty span is the end of the statement.

    `before` is the token in front, unless that is quoted: a misspelt keyword is mostly taken for a name, and the parser
    stumbles over the word behind it.
    """
    found = source.text[span.start : span.end]
    last = source.text[before.start : before.end] if before is not None else ""
    if not found:
        return _too_early(source, description, span)
    if before is not None and (near := _near(last)) is not None:
        message = f"unexpected {shortened(found)} behind {shortened(last)}"
        return ParseError(message, at=source.locate(before), suggestion=near)
    for at, word in ((span, found), (before or span, last)):
        wanted, hint = _BEHIND.get(word.upper(), (None, None))
        if word is found and wanted not in ("BY", "JOIN") and word.upper() != "NOT":
            continue
        if wanted or hint:
            return _behind(source, at, word, wanted, hint, found if word is last else None, span)
    expected = _expected(description)
    if expected:
        message = f"expected {' or '.join(expected)}, found {shortened(found)}"
    elif description.startswith("Required argument"):
        message = f"something is missing in front of {shortened(found)}"
    else:
        message = f"unexpected {shortened(found)}"
    near = None if expected else _near(found)
    runs_on = not expected and near is None and _runs_on(last, found)
    comma = "is a comma or an operator missing in front of it?" if runs_on else None
    hint = _OWN if _FOREIGN.search(source.text[: span.end]) else comma
    return ParseError(message, at=source.locate(span), expected=expected, suggestion=near, hint=hint)


def _too_early(source: Source, description: str, span: Span) -> ParseError:
    if description.endswith("does not support CTE"):
        hint = "write WITH … SELECT * FROM (VALUES …)"
        return ParseError(
            "WITH stands in front of SELECT, INSERT, UPDATE, DELETE or MERGE", at=source.locate(span), hint=hint
        )
    expected = _expected(description) or _wanted_behind(source.text[: span.start])
    if expected:
        message = f"expected {' or '.join(expected)}, found the end of the statement"
    else:
        message = "the statement ends too early"
    foreign = _OWN if _FOREIGN.search(source.text) else None
    return ParseError(message, at=source.locate(span), expected=expected, hint=foreign)


def _wanted_behind(text: str) -> tuple[str, ...]:
    """What has to follow the last word or sign of a text that cannot end there."""
    found = _LAST.search(text)
    return _AT_THE_END.get(found.group().upper(), ()) if found is not None else ()


def _behind(
    source: Source, at: Span, word: str, wanted: str | None, hint: str | None, found: str | None, span: Span
) -> ParseError:
    """`word` at `at` asks for `wanted` behind it; `found`, if any, stands there at `span` instead."""
    if wanted is None:
        return ParseError(f"unexpected {shortened(found or word)}", at=source.locate(span), hint=hint)
    if found is None:
        return ParseError(
            f"{word.upper()} is followed by {wanted}", at=source.locate(at), expected=(wanted,), hint=hint
        )
    message = f"expected {wanted}, found {shortened(found)}"
    return ParseError(message, at=source.locate(span), expected=(wanted,), hint=hint)


def _near(word: str) -> str | None:
    """The keyword that `word` is a misspelling of."""
    upper = word.upper()
    if not _WORD.fullmatch(word) or upper in _CLAUSE_WORDS or upper in STATEMENT_WORDS:
        return None
    near = get_close_matches(upper, _CLAUSE_WORDS, n=1, cutoff=0.75)
    return near[0] if near else None


def _runs_on(last: str, found: str) -> bool:
    """Whether two operands stand side by side."""
    return bool((_OPERAND.match(last) or last in (")", "]", "}")) and _OPERAND.match(found))


_EXPECTING: Final = re.compile(r"(?:Expect(?:ed|ing)) (.+?)(?: but got .*| after .*|\.)?$", re.DOTALL)
_PLAIN: Final = {
    **{sign: f"'{sign}'" for sign in "()[]{},"},
    "table name": "a table",
    "type": "a type",
    "TYPE": "a type",
    "identifier": "a name",
}


def _expected(description: str) -> tuple[str, ...]:
    """What sqlglot says it wanted, as people write it."""
    found = _EXPECTING.match(description)
    if found is None:
        return ()
    wanted = found.group(1).strip()
    return (_PLAIN.get(wanted, wanted),) if len(wanted) <= 60 else ()
