"""The statement around the cursor: which tables it reads, under which names, and what their columns are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from omnigraph_sql.repl.knowledge import Columns, Knowledge, columns_of
from omnigraph_sql.repl.tokens import Kind, Token, code, paths
from omnigraph_sql.repl.vocabulary import RESERVED

_BEFORE_TABLES: Final = ("FROM", "JOIN", "INTO", "UPDATE", "USING")
_NOT_AN_ALIAS: Final = RESERVED | {"VERSION", "TIMESTAMP", "AT", "FOR", "MATCHED", "DO", "CONFLICT", "BY"}


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the statement: the name it goes by there, the type it stands for (if any), and its columns.

    `path` are the brackets it stands in; `place` is where its name begins among the tokens.
    """

    alias: str
    of: str | None
    columns: Columns
    path: tuple[int, ...]
    place: int


@dataclass(frozen=True, slots=True)
class Statement:
    """The tokens of the statement the cursor is in; those before `here` stand before the cursor."""

    tokens: list[Token]
    here: int
    paths: list[tuple[int, ...]]
    knowledge: Knowledge

    @property
    def before(self) -> list[Token]:
        return self.tokens[: self.here]

    @property
    def path(self) -> tuple[int, ...]:
        """The brackets that are open at the cursor."""
        return paths(self.before)[-1]

    def tables(self) -> list[Table]:
        """Every table of the statement, in text order."""
        named = dict(self.named())
        return [*_tables(self, named)]

    def visible(self) -> list[Table]:
        """The tables that an expression at the cursor may use."""
        around = self.path
        return [table for table in self.tables() if table.path == around[: len(table.path)]]

    def named(self) -> Iterator[tuple[str, Columns]]:
        """The common table expressions: name and columns."""
        for place, token in enumerate(self.tokens[:-2]):
            if not token.is_name or not _declares(self.tokens, place):
                continue
            body = next((n for n in range(place, len(self.tokens)) if self.tokens[n].is_word("AS")), place) + 1
            yield token.name, tuple((name, "") for name in select_names(self.tokens, body))


def statement_at(text: str, cursor: int, knowledge: Knowledge) -> Statement:
    """The statement around the cursor; the word that is being typed there is left out."""
    found = code(text, "sql")
    first = 0
    for place, token in enumerate(found):
        if token.is_mark(";") and token.end <= cursor:
            first = place + 1
    rest = found[first:]
    stop = next((n for n, t in enumerate(rest) if t.is_mark(";")), len(rest))
    kept = [t for t in rest[:stop] if not (t.start < cursor <= t.end and _typed(t))]
    here = sum(t.end <= cursor or (t.start < cursor) for t in kept)
    return Statement(kept, here, paths(kept), knowledge)


def _typed(token: Token) -> bool:
    return token.kind in (Kind.WORD, Kind.VARIABLE, Kind.NUMBER) or (token.kind is Kind.NAME and token.open)


def _declares(found: list[Token], place: int) -> bool:
    """Whether the name there is that of a common table expression: `name AS (` or `name (…) AS (` after WITH."""
    before = found[place - 1] if place else None
    if before is None or not (before.is_word("WITH", "RECURSIVE") or before.is_mark(",")):
        return False
    after = place + 1
    if found[after].is_mark("("):
        after += next((n for n, t in enumerate(found[after:], 1) if t.is_mark(")")), len(found))
    return after + 1 < len(found) and found[after].is_word("AS") and found[after + 1].is_mark("(")


def _tables(statement: Statement, named: dict[str, Columns]) -> Iterator[Table]:
    found = statement.tokens
    place = 0
    while place < len(found):
        token = found[place]
        starts = token.is_word(*_BEFORE_TABLES) or (token.is_mark(",") and _in_from(statement, place))
        place += 1
        if not starts or place >= len(found):
            continue
        table, place = _table(statement, place, named)
        if table is not None:
            yield table


def _in_from(statement: Statement, place: int) -> bool:
    """Whether a comma separates tables: the last clause word on its own level is FROM or JOIN."""
    path = statement.paths[place]
    for at in range(place - 1, -1, -1):
        token = statement.tokens[at]
        if statement.paths[at] == path and token.is_word(*_CLAUSES):
            return token.is_word("FROM", "JOIN")
    return False


_CLAUSES: Final = (
    "SELECT",
    "FROM",
    "JOIN",
    "WHERE",
    "GROUP",
    "ORDER",
    "HAVING",
    "ON",
    "SET",
    "VALUES",
    "WITH",
    "LIMIT",
)


def _table(statement: Statement, place: int, named: dict[str, Columns]) -> tuple[Table | None, int]:
    found, path = statement.tokens, statement.paths[place]
    first = found[place]
    if first.is_mark("("):
        end = _closing(found, place)
        columns: Columns = tuple((name, "") for name in select_names(found, place))
        return _aliased(statement, None, columns, place, end + 1)
    if not first.is_name or first.is_word(*(_NOT_AN_ALIAS - {"TIMESTAMP"})):
        return None, place
    after = place + 1
    if first.is_word("GRAPH_TABLE") and after < len(found) and found[after].is_mark("("):
        end = _closing(found, after)
        inner = next((n for n in range(after, end) if found[n].is_word("COLUMNS")), end)
        return _aliased(statement, None, tuple((n, "") for n in select_names(found, inner + 1)), place, end + 1)
    name = first.name
    while after + 1 < len(found) and found[after].is_mark(".") and found[after + 1].is_name:
        name = f"{name}.{found[after + 1].name}" if not _is_branch(statement, name) else found[after + 1].name
        after += 2
    if after < len(found) and found[after].is_mark("(") and statement.paths[after] == path and _is_call(found, place):
        return _aliased(statement, None, (), place, _closing(found, after) + 1)
    columns = named.get(name) or columns_of(statement.knowledge, name)
    tables = statement.knowledge.catalog.tables_like(name)
    return _aliased(statement, tables[0].name if tables and name not in named else None, columns, place, after)


def _is_branch(statement: Statement, name: str) -> bool:
    return name in statement.knowledge.branches


def _is_call(found: list[Token], place: int) -> bool:
    return not found[place - 1].is_word("INTO")


def _aliased(
    statement: Statement, of: str | None, columns: Columns, place: int, after: int
) -> tuple[Table | None, int]:
    """The table with the alias that follows, if one does; and where the text goes on."""
    found = statement.tokens
    at = after
    if at < len(found) and found[at].is_word("AS"):
        at += 1
    if at < len(found) and found[at].is_name and found[at].upper not in _NOT_AN_ALIAS:
        return Table(found[at].name, of, columns, statement.paths[place], place), at + 1
    first = found[place]
    own = found[after - 1].name if first.is_name and after <= len(found) and found[after - 1].is_name else ""
    return (Table(own, of, columns, statement.paths[place], place) if own else None), after


def _closing(found: list[Token], place: int) -> int:
    """Where the bracket that opens at `place` closes, or the last place."""
    level = 0
    for at in range(place, len(found)):
        level += found[at].is_mark("(", "[", "{") - found[at].is_mark(")", "]", "}")
        if not level:
            return at
    return len(found) - 1


def select_names(found: list[Token], place: int) -> list[str]:
    """Names of the columns a bracketed query, or a list of columns, gives, as far as its text tells."""
    if place >= len(found) or not found[place].is_mark("("):
        return []
    inner = found[place + 1 : _closing(found, place)]
    if inner and inner[0].is_word("SELECT"):
        inner = inner[1:]
    around = paths(inner)
    names: list[str] = []
    item: list[Token] = []
    for token, path in zip(inner, around, strict=False):
        if not path and (token.is_mark(",") or token.is_word("FROM")):
            names += _item_name(item)
            item = []
            if token.is_word("FROM"):
                return names
        else:
            item.append(token)
    return names + _item_name(item)


def _item_name(item: list[Token]) -> list[str]:
    if not item or not item[-1].is_name:
        return []
    alone = len(item) == 1 or item[-2].is_mark(".") or item[-2].is_word("AS")
    return [item[-1].name] if alone else []
