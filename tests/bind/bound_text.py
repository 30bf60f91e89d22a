"""Bound queries as short text, so that a test can state what a statement became."""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph_sql.base.catalog import Catalog
from omnigraph_sql.base.errors import LanguageError
from omnigraph_sql.base.expr import Expr
from omnigraph_sql.base.expr_text import sort_text, text
from omnigraph_sql.base.names import PointKind
from omnigraph_sql.base.travel import HEAD, ReadPoint
from omnigraph_sql.base.types import type_text
from omnigraph_sql.bind.bound import (
    ONE_HOP,
    BoundDerived,
    BoundEdge,
    BoundFunctionTable,
    BoundJoin,
    BoundPattern,
    BoundQuery,
    BoundSelect,
    BoundSetOperation,
    BoundSource,
    BoundTable,
    Walk,
)
from omnigraph_sql.bind.sql import GUARDED, bind_statement
from omnigraph_sql.bind.sql_binder import SqlOptions
from omnigraph_sql.grammar.sql.parse import parse_one
from tests.case_files import airport_catalog


def bound(statement: str, catalog: Catalog | None = None, options: SqlOptions | None = None) -> BoundQuery:
    """The query of a SQL statement; a fault of the binder comes out as it is."""
    token = GUARDED.set(False)
    try:
        made = bind_statement(parse_one(statement), catalog or airport_catalog(), options).statement
    finally:
        GUARDED.reset(token)
    assert isinstance(made, BoundQuery)
    return made


def refusal(statement: str, catalog: Catalog | None = None, options: SqlOptions | None = None) -> LanguageError:
    """The error a SQL statement is refused with."""
    try:
        made = bound(statement, catalog, options)
    except LanguageError as error:
        return error
    raise AssertionError(f"bound without an error: {made}")


def under_caret(statement: str, error: LanguageError) -> str:
    """The words of the statement the error points at."""
    return statement[error.at.start : error.at.end]


def source_of(query: BoundQuery) -> BoundSource:
    assert isinstance(query.body, BoundSelect)
    assert query.body.source is not None
    return query.body.source


def lines(source: BoundSource) -> list[str]:
    """A FROM item, one fact per line."""
    return list(_source(source))


def _source(source: BoundSource) -> Iterator[str]:
    match source:
        case BoundDerived(variable, columns, query, lateral):
            yield f"{'lateral ' if lateral else ''}{variable}({', '.join(columns)})"
            yield from _query(query)
        case BoundFunctionTable(variable, function, arguments, fields, lateral):
            shown = ", ".join(f"{f.name} {type_text(f.type)}{'?' if f.nullable else ''}" for f in fields)
            called = ", ".join(map(text, arguments))
            yield f"{'lateral ' if lateral else ''}{variable} = {function}({called}) -> {shown}"
        case BoundPattern():
            yield from _pattern(source)
        case BoundTable(variable, of, at):
            yield f"table {variable}: {of.name}{_point(at)}"
        case BoundJoin(kind, left, right):
            yield f"{kind.value} join"
            yield from _source(left)
            yield from _source(right)
        case _:
            yield str(source)


def _query(query: BoundQuery) -> Iterator[str]:
    if isinstance(query.body, BoundSetOperation):
        yield from _query(query.body.left)
        yield f"{query.body.op}{' all' if query.body.all else ''}"
        yield from _query(query.body.right)
        return
    assert isinstance(query.body, BoundSelect)
    assert query.body.source is not None
    yield from _source(query.body.source)
    if query.body.where is not None:
        yield f"filter {text(query.body.where)}"
    yield f"select {', '.join(_named(item.name, item.expr) for item in query.body.items)}"
    if query.order:
        yield f"order {', '.join(map(sort_text, query.order))}"
    if query.limit is not None:
        yield f"limit {text(query.limit)}"


def _named(name: str, expr: Expr) -> str:
    return f"{text(expr)} as {name}"


def _pattern(pattern: BoundPattern) -> Iterator[str]:
    yield f"nodes {', '.join(f'{n.variable}: {n.type.name}' for n in pattern.nodes)}{_point(pattern.at)}"
    yield from (_edge(edge) for edge in pattern.edges)
    yield from (f"where {text(p)}" for p in pattern.predicates)
    for block in pattern.absences:
        yield f"not, with {', '.join(n.variable for n in block.outer)}"
        yield from _pattern(block)


def _edge(edge: BoundEdge) -> str:
    name = f"{edge.variable}: " if edge.variable is not None else ""
    walk = "" if edge.walk is Walk.EDGES else f" {edge.walk.value}"
    hops = "" if edge.hops == ONE_HOP else f" {{{edge.hops.minimum},{edge.hops.maximum}}}"
    path = f" as {edge.path}" if edge.path is not None else ""
    arrow = "--" if edge.undirected else "->"
    return f"edge {name}{edge.type.name} {edge.source} {arrow} {edge.target}{walk}{hops}{path}"


def _point(at: ReadPoint) -> str:
    if at == HEAD:
        return ""
    if at.kind is PointKind.BRANCH and at.branch is not None:
        return f" at branch {at.branch.text}"
    return f" at {at.kind.value} {text(at.value) if at.value is not None else ''}"
