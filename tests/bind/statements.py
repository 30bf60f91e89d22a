"""SQL texts bound without the binder's guard, and bound mutations as one line of text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import pytest

from omnigraph_sql.base.catalog import Catalog
from omnigraph_sql.base.errors import LanguageError
from omnigraph_sql.base.expr_text import text as expr_text
from omnigraph_sql.base.names import PointKind
from omnigraph_sql.bind.bound import (
    Assign,
    BoundDelete,
    BoundInsert,
    BoundItem,
    BoundMerge,
    BoundProgram,
    BoundQuery,
    BoundSelect,
    BoundStatement,
    BoundUpdate,
    BoundValues,
    MergeArm,
)
from omnigraph_sql.bind.schema import compile_schema
from omnigraph_sql.bind.sql import GUARDED, SqlOptions, bind_script
from omnigraph_sql.grammar.sql.parse import parse_script
from tests.case_files import AIRPORTS

EXTRAS = """
node Note { body: String?  mood: enum(glad, sad)? }
node Shelf { aisle: I32  slot: I32  label: String?  barcode: String?  @key(aisle, slot)  @unique(barcode) }
edge Tagged: Airport -> Note { weight: F32?  @unique(src, dst) }
edge Rides: Carrier -> Airport { since: Date?  @key(src, dst) }
"""


@cache
def catalog() -> Catalog:
    """The airports, and types with every kind of key: none, one of two columns, an edge's, a unique set."""
    return compile_schema(AIRPORTS + EXTRAS).catalog


@contextmanager
def unguarded() -> Iterator[None]:
    token = GUARDED.set(False)
    try:
        yield
    finally:
        GUARDED.reset(token)


def bind_all(text: str, options: SqlOptions | None = None) -> tuple[BoundProgram, ...]:
    with unguarded():
        return bind_script(parse_script(text), catalog(), options)


def bind_one(text: str, options: SqlOptions | None = None) -> BoundProgram:
    (program,) = bind_all(text, options)
    return program


def refusal(text: str, options: SqlOptions | None = None) -> LanguageError:
    """The error a text is refused with."""
    with pytest.raises(LanguageError) as caught:
        bind_all(text, options)
    return caught.value


def check_refusal(text: str, expected: str) -> None:
    """`expected` is `code | part of the message | text under the caret`."""
    code, message, place = expected.split(" | ")
    error = refusal(text)
    assert error.code == code
    assert message in error.message
    assert text[error.at.start : error.at.end] == place


def cases(table: str) -> list[tuple[str, str]]:
    """A statement per line, what is expected of it indented below; lines that begin with # are comments."""
    found: list[tuple[str, list[str]]] = []
    for line in table.splitlines():
        if line.startswith(" "):
            found[-1][1].append(line.strip())
        elif line and not line.startswith("#"):
            found.append((line, []))
    return [(statement, " ".join(expected)) for statement, expected in found]


# ---- bound mutations as text ------------------------------------------------------------------------------------


def shown(statement: BoundStatement) -> str:
    """A mutation in one line."""
    match statement:
        case BoundInsert():
            body = f"insert {statement.type.name}({', '.join(statement.columns)}) {_rows(statement.source)}"
            if statement.on_conflict != "error":
                body += f" on conflict {statement.on_conflict}"
            body += _assigned(statement.assignments)
        case BoundUpdate():
            body = f"update {statement.type.name} as {statement.variable}{_assigned(statement.assignments)}"
        case BoundDelete():
            body = f"delete {statement.type.name} as {statement.variable}"
        case BoundMerge():
            body = f"merge {statement.type.name} as {statement.variable} on {expr_text(statement.on)}"
            body += "".join(map(_arm, statement.arms))
            return body + _tail(statement)
        case _:
            raise AssertionError(f"not a mutation: {statement}")
    if statement.where is not None:
        body += f" where {expr_text(statement.where)}"
    if isinstance(statement, BoundDelete) and statement.cascade:
        body += f" cascade {', '.join(e.name for e in statement.cascade)}"
    return body + _tail(statement)


def _tail(statement: BoundInsert | BoundUpdate | BoundDelete | BoundMerge) -> str:
    tail = f" returning {_items(statement.returning)}" if statement.returning else ""
    if statement.at.kind is PointKind.BRANCH and statement.at.branch is not None:
        tail += f" at {statement.at.branch.text}"
    return tail


def _rows(query: BoundQuery) -> str:
    match query.body:
        case BoundValues(rows=rows):
            return "values " + ", ".join(f"({', '.join(map(expr_text, row))})" for row in rows)
        case BoundSelect(items=items):
            return f"select {_items(items)}"
        case _:
            return type(query.body).__name__


def _items(items: tuple[BoundItem, ...]) -> str:
    return ", ".join(f"{expr_text(i.expr)} as {i.name}" for i in items)


def _assigned(assignments: tuple[Assign, ...]) -> str:
    return f" set {', '.join(f'{a.property} = {expr_text(a.value)}' for a in assignments)}" if assignments else ""


def _arm(arm: MergeArm) -> str:
    condition = f" and {expr_text(arm.condition)}" if arm.condition is not None else ""
    return f" when {arm.when}{condition} then {arm.do}{_assigned(arm.assignments)}"
