"""Bound queries as one line, clause by clause, for tables of statements and what they become."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from omnigraph_sql.base.expr import Exists, Expr, InSubquery, ScalarSubquery, walk
from omnigraph_sql.base.expr_text import sort_text, text
from omnigraph_sql.base.travel import HEAD, ReadPoint
from omnigraph_sql.base.types import type_text
from omnigraph_sql.bind.bound import (
    BoundCteScan,
    BoundDerived,
    BoundFunctionTable,
    BoundGroup,
    BoundJoin,
    BoundPattern,
    BoundQuery,
    BoundSelect,
    BoundSetOperation,
    BoundSource,
    BoundTable,
    BoundValues,
)


def described(query: BoundQuery) -> str:
    """`with … | items | from … | where … | …`; queries inside expressions follow in square brackets."""
    return " | ".join(_clauses(query))


def typed(query: BoundQuery) -> str:
    """Names and types of the columns; a question mark where null may be."""
    return ", ".join(f"{f.name} {type_text(f.type)}{'?' if f.nullable else ''}" for f in query.schema.fields)


def pairs(table: str) -> list[tuple[str, str]]:
    """A table of statements, each followed by an indented line with what it becomes."""
    found: list[tuple[str, str]] = []
    for line in filter(str.strip, table.splitlines()):
        if line.startswith("    "):
            found[-1] = (found[-1][0], line.strip())
        else:
            found.append((line.strip(), ""))
    return found


def _clauses(query: BoundQuery) -> Iterator[str]:
    for cte in query.ctes:
        yield f"with {'recursive ' if cte.recursive else ''}{cte.name} = [{described(cte.query)}]"
    yield from _body(query)
    if query.order:
        yield f"order {', '.join(sort_text(key) + _inner(key.expr) for key in query.order)}"
    if query.limit is not None:
        yield f"limit {text(query.limit)}"
    if query.offset is not None:
        yield f"offset {text(query.offset)}"
    if query.labels != query.schema.order:
        yield f"labels {', '.join(query.labels)}"
    if query.outer_columns:
        yield f"outer {', '.join(sorted(query.outer_columns))}"


def _body(query: BoundQuery) -> Iterator[str]:
    match query.body:
        case BoundSelect() as select:
            yield from _select(select)
        case BoundValues(fields, rows):
            cells = ", ".join(f"({', '.join(map(_shown, row))})" for row in rows)
            yield f"values {cells} as {', '.join(f.name for f in fields)}"
        case BoundSetOperation(op, everything, left, right):
            yield f"[{described(left)}] {op}{' all' if everything else ''} [{described(right)}]"
        case _:
            assert_never(query.body)


def _select(select: BoundSelect) -> Iterator[str]:
    items = (text(i.expr) + ("" if text(i.expr) == i.name else f" as {i.name}") + _inner(i.expr) for i in select.items)
    yield ", ".join(items)
    if select.source is not None:
        yield f"from {_source(select.source)}"
    if select.where is not None:
        yield f"where {_shown(select.where)}"
    if select.group is not None:
        yield f"group {_group(select.group)}".strip()
    if select.having is not None:
        yield f"having {_shown(select.having)}"
    if select.qualify is not None:
        yield f"qualify {_shown(select.qualify)}"
    if select.distinct:
        yield f"distinct {', '.join(map(_shown, select.distinct_on))}".strip()


def _group(group: BoundGroup) -> str:
    keys = ", ".join(map(text, group.keys))
    return keys if group.sets is None else f"{keys} sets {' '.join(str(list(one)) for one in group.sets)}"


def _source(source: BoundSource) -> str:
    match source:
        case BoundTable(variable, of, at):
            return f"{of.name} {variable}{_point(at)}"
        case BoundCteScan(variable, name, fields):
            return f"cte {name} {variable}({', '.join(f.name for f in fields)})"
        case BoundDerived(variable, columns, query, lateral):
            return f"{'lateral ' if lateral else ''}{variable}({', '.join(columns)}) = [{described(query)}]"
        case BoundFunctionTable(variable, function, arguments):
            return f"{function}({', '.join(map(text, arguments))}) {variable}"
        case BoundJoin(kind, left, right, on):
            condition = "" if on is None else f" on {_shown(on)}"
            return f"({_source(left)} {kind.value} {_source(right)}{condition})"
        case BoundPattern():
            return "pattern"
        case _:
            assert_never(source)


def _shown(expr: Expr) -> str:
    return text(expr) + _inner(expr)


def _inner(expr: Expr) -> str:
    """The queries inside an expression, in order."""
    found = (p.relation for p in walk(expr) if isinstance(p, ScalarSubquery | Exists | InSubquery))
    return "".join(f" [{described(query)}]" for query in found if isinstance(query, BoundQuery))


def _point(at: ReadPoint) -> str:
    if at == HEAD:
        return ""
    if at.branch is not None:
        return f"@{at.branch.text}"
    assert at.value is not None
    return f"@{at.kind.value} {text(at.value)}"
