"""Names in SQL texts."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph_sql.grammar.source import Span


@dataclass(frozen=True, slots=True)
class Ident:
    """A name as written, without its quotes."""

    text: str
    quoted: bool
    span: Span


@dataclass(frozen=True, slots=True)
class TableName:
    """`[[catalog.]schema.]name`; the schema is a branch."""

    catalog: Ident | None
    schema: Ident | None
    name: Ident
    span: Span
