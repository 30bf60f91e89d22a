"""The rows of the statement before, readable as the table `_`.

They travel as parameters, one list per column, so no value becomes text and the engine needs to know nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from omnigraph_sql.base.errors import Location
from omnigraph_sql.grammar.source import Source, Span
from omnigraph_sql.repl.knowledge import LAST, Columns, quoted
from omnigraph_sql.repl.render import kind_text
from omnigraph_sql.repl.tokens import Token, code
from omnigraph_sql.repl.vocabulary import RESERVED

if TYPE_CHECKING:
    import pyarrow as pa

_SQL_TYPES: Final = {
    **dict.fromkeys(("I8", "I16", "I32", "U8", "U16"), "INT"),
    **dict.fromkeys(("I64", "U32"), "BIGINT"),
    "U64": "UBIGINT",
    **dict.fromkeys(("F16", "F32", "F64"), "DOUBLE"),
    "String": "TEXT",
    "Bool": "BOOLEAN",
    "Date": "DATE",
    "DateTime": "TIMESTAMP",
}
_FILLERS: Final = {"INT": 0, "BIGINT": 0, "UBIGINT": 0, "DOUBLE": 0.0, "BOOLEAN": False, "TEXT": ""}
_PREFIX: Final = "_last_"
_DAY: Final = "1970-01-01"
_INSTANT: Final = "1970-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class Used:
    """A statement with `_` spelt out: its text, the values it needs, and where the original places lie."""

    text: str
    values: dict[str, object]
    cuts: tuple[tuple[int, int], ...]
    """Where a `_` stood in the original, and how much longer its spelling is."""

    def original(self, at: Location, text: str) -> Location:
        """A place of the spelt-out text as a place of the original."""
        found = Source(text, at.source).locate(Span(self._back(at.start), self._back(at.end)))
        return replace(found, source=at.source)

    def _back(self, offset: int) -> int:
        shift = 0
        for place, growth in self.cuts:
            start = place + shift
            if offset <= start:
                break
            if offset <= start + growth + 1:
                return place + 1
            shift += growth
        return offset - shift


@dataclass(frozen=True, slots=True)
class Last:
    """Rows that were shown, and what makes a text of a value that no parameter can hold."""

    table: pa.Table
    cell: Callable[[object], str]

    def columns(self) -> Columns:
        return tuple(zip(self._names(), (kind_text(f.type) for f in self.table.schema), strict=True))

    def _names(self) -> list[str]:
        """Names that can stand side by side; a repeated one gets a number."""
        names: list[str] = []
        for name in self.table.schema.names:
            fresh, number = name or "column", 1
            while fresh.casefold() in {n.casefold() for n in names}:
                number += 1
                fresh = f"{name}_{number}"
            names.append(fresh)
        return names

    def used_in(self, text: str) -> Used | None:
        """The statement with every `FROM _` spelt out; None when there is none."""
        found = code(text, "sql")
        places = [n for n, token in enumerate(found) if _reads_last(found, n, token)]
        if not places or not self.table.num_columns:
            return None
        spelt, values = self._spelt()
        pieces: list[str] = []
        cuts: list[tuple[int, int]] = []
        at = 0
        for place in places:
            token = found[place]
            named = f"{spelt} AS {LAST}" if not _has_alias(found, place) else spelt
            pieces += (text[at : token.start], named)
            cuts.append((token.start, len(named) - len(token.text)))
            at = token.end
        return Used("".join((*pieces, text[at:])), values, tuple(cuts))

    def _spelt(self) -> tuple[str, dict[str, object]]:
        lists: list[str] = []
        shown: list[str] = []
        values: dict[str, object] = {}
        for number, (name, field) in enumerate(zip(self._names(), self.table.schema, strict=True)):
            column, of = self.table.column(number), _SQL_TYPES.get(kind_text(field.type), "TEXT")
            values[f"{_PREFIX}{number}"] = self._values(column, of)
            lists.append(f"CAST(${_PREFIX}{number} AS {of}[])")
            value = f"u.c{number}"
            if column.null_count:
                # A list of a parameter holds no nulls: a list of truth values says where they are.
                values[f"{_PREFIX}n{number}"] = column.is_null().to_pylist()
                lists.append(f"CAST(${_PREFIX}n{number} AS BOOLEAN[])")
                value = f"CASE WHEN u.n{number} THEN NULL ELSE {value} END"
            shown.append(f"{value} AS {quoted(name)}")
        names = [entry.partition(_PREFIX)[2].partition(" ")[0] for entry in lists]
        listed = ", ".join(name if name.startswith("n") else f"c{name}" for name in names)
        return f"(SELECT {', '.join(shown)} FROM unnest({', '.join(lists)}) AS u({listed}))", values

    def _values(self, column: pa.ChunkedArray, of: str) -> list[Any]:
        filler = _FILLERS.get(of, _DAY if of == "DATE" else _INSTANT)
        values = column.to_pylist()
        if of == "TEXT":
            return ["" if v is None else v if isinstance(v, str) else self.cell(v) for v in values]
        return [filler if v is None else v for v in values] if column.null_count else values


def _reads_last(found: list[Token], place: int, token: Token) -> bool:
    """Whether the token is `_` standing for a table: after FROM, JOIN or USING, or after a comma in FROM."""
    if token.text != LAST or not place:
        return False
    before = found[place - 1]
    if before.is_word("FROM", "JOIN", "USING"):
        return not found[max(0, place - 2)].is_word("DELETE")
    if not before.is_mark(","):
        return False
    clause = next((t for t in reversed(found[:place]) if t.is_word("SELECT", "FROM", "WHERE", "GROUP", "ORDER")), None)
    return clause is not None and clause.is_word("FROM")


def _has_alias(found: list[Token], place: int) -> bool:
    after = found[place + 1] if place + 1 < len(found) else None
    return after is not None and after.is_name and (after.is_word("AS") or after.upper not in RESERVED)
