"""Reads: `return` becomes columns and groups, `order` a total order, `limit` a count of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from omnigraph_sql.base.catalog import ID
from omnigraph_sql.base.expr import Aggregate, Column, Expr, Literal
from omnigraph_sql.base.types import (
    BLOB,
    F64,
    I64,
    STRING,
    DataType,
    is_integer,
    is_number,
    is_open,
    is_text,
)
from omnigraph_sql.bind.bound import BoundGroup, BoundItem, BoundPattern, BoundQuery, BoundSelect
from omnigraph_sql.bind.gq_match import bind_pattern
from omnigraph_sql.bind.gq_order import bind_order
from omnigraph_sql.bind.gq_scope import ANONYMOUS, Ranged, Scope, Work, a
from omnigraph_sql.bind.gq_search import score, text_match
from omnigraph_sql.bind.gq_values import instant, literal, property_column
from omnigraph_sql.grammar.ast import gq as ast


@dataclass(frozen=True, slots=True)
class Shown:
    """A returned column before it has its final name. `key`: it may be grouped by."""

    expr: Expr
    default: str
    key: bool = False


def bind_read(work: Work, body: ast.ReadBody) -> BoundQuery:
    pattern, scope = bind_pattern(work, body.clauses, None)
    shown = [_column(work, scope, column.value) for column in body.columns]
    items = _named(shown, body.columns)
    grouped = any(isinstance(column.expr, Aggregate) for column in shown)
    keys = _group_keys(work, shown, body.columns) if grouped else ()
    aliases = _aliases(shown, body.columns)
    limit = _limit(work, scope, body.limit) if body.limit is not None else None
    ids = keys if grouped else _ids(pattern, scope)
    order = bind_order(work, scope, body, aliases, keys if grouped else None, ids)
    group = BoundGroup(keys) if keys else None
    return BoundQuery(BoundSelect(items, pattern, group=group), order, limit)


# ---- columns ----------------------------------------------------------------------------------------------------


def _column(work: Work, scope: Scope, value: ast.Value) -> Shown:
    match value:
        case ast.PropertyOf():
            column = property_column(work, scope, value)
            _refuse_blob(work, column, value)
            return Shown(column, f"{value.variable.name}.{value.property.text}", True)
        case ast.Var():
            return _variable(work, scope, value)
        case ast.Aggregate():
            return _aggregate(work, scope, value)
        case ast.Nearest() | ast.Bm25() | ast.Fuse():
            return Shown(score(work, scope, value), _score_name(work, value))
        case ast.TextTest():
            return Shown(text_match(work, scope, value), f"{value.kind}({_argument(work, value.field)})")
        case ast.Now():
            return Shown(instant(work, value), "now")
        case ast.AliasRef():
            message = f"{value.name} is no value; a property is written $x.{value.name}"
            raise work.wrong("T0", value.span, message, "a string stands in double quotes")
        case _:
            return Shown(literal(work, value), "literal")


def _refuse_blob(work: Work, column: Expr, value: ast.Value) -> None:
    if column.type == BLOB:
        message = f"{work.written(value.span)} is a Blob; blobs are not read by queries"
        raise work.wrong("T24", value.span, message)


def _node(work: Work, scope: Scope, value: ast.Var) -> Ranged | None:
    """The node a bare variable stands for; None when it is a parameter."""
    bound = scope.find(value.name) if value.name != ANONYMOUS else None
    if bound is not None and bound.is_edge:
        message = f"${value.name} is an edge; return its properties, for instance ${value.name}.p"
        raise work.wrong("T23", value.span, message)
    return bound


def _variable(work: Work, scope: Scope, value: ast.Var) -> Shown:
    bound = _node(work, scope, value)
    if bound is not None:
        return Shown(bound.id, value.name, True)
    return Shown(work.parameter(value, None, scope.names()), value.name)


def _score_name(work: Work, value: ast.Nearest | ast.Bm25 | ast.Fuse) -> str:
    match value:
        case ast.Nearest():
            return f"nearest({_argument(work, value.field)})"
        case ast.Bm25():
            return f"bm25({_argument(work, value.field)})"
        case ast.Fuse():
            return "rrf"
        case _:
            assert_never(value)


def _argument(work: Work, value: ast.Value) -> str:
    """An argument as it shows in a column name."""
    match value:
        case ast.PropertyOf():
            return f"{value.variable.name}.{value.property.text}"
        case ast.Var():
            return value.name
        case _:
            return work.written(value.span)


def _named(shown: list[Shown], columns: tuple[ast.Returned, ...]) -> tuple[BoundItem, ...]:
    """Names as written; the second of two equal ones gets `_2`, and so on."""
    taken: set[str] = set()
    counts: dict[str, int] = {}
    items: list[BoundItem] = []
    for column, written in zip(shown, columns, strict=True):
        wanted = written.alias.text if written.alias is not None else column.default
        name = wanted
        while name in taken:
            counts[wanted] = counts.get(wanted, 1) + 1
            name = f"{wanted}_{counts[wanted]}"
        taken.add(name)
        items.append(BoundItem(name, column.expr))
    return tuple(items)


def _aliases(shown: list[Shown], columns: tuple[ast.Returned, ...]) -> dict[str, Expr]:
    """Alias → expression; the first of two equal aliases keeps the name."""
    aliases: dict[str, Expr] = {}
    for column, written in zip(shown, columns, strict=True):
        if written.alias is not None:
            aliases.setdefault(written.alias.text, column.expr)
    return aliases


# ---- aggregates -------------------------------------------------------------------------------------------------


def _aggregate(work: Work, scope: Scope, value: ast.Aggregate) -> Shown:
    argument = _aggregated(work, scope, value)
    of = argument.type
    open_or_number = is_number(of) or is_open(of)
    wants = {"sum": "numbers", "avg": "numbers", "min": "numbers and text", "max": "numbers and text"}
    fits = value.function == "count" or open_or_number or (value.function in ("min", "max") and is_text(of))
    if not fits:
        written = work.written(value.argument.span)
        message = f"{value.function} takes {wants[value.function]}; {written} is {a(of)}"
        raise work.wrong("T8", value.argument.span, message)
    name = f"{value.function}({_argument(work, value.argument)})"
    return Shown(Aggregate(value.function, (argument,), _result(work, value.function, of)), name)


def _result(work: Work, function: str, of: DataType) -> DataType:
    if function == "count":
        return I64
    if function == "avg":
        return F64
    if function == "sum":
        return I64 if is_integer(of) and work.options.exact_sum else F64
    return of


def _aggregated(work: Work, scope: Scope, value: ast.Aggregate) -> Expr:
    argument = value.argument
    match argument:
        case ast.PropertyOf():
            column = property_column(work, scope, argument)
            _refuse_blob(work, column, argument)
            return column
        case ast.Var():
            bound = _node(work, scope, argument)
            if bound is None:
                return work.parameter(argument, None, scope.names())
            if value.function in ("sum", "avg"):
                message = f"{value.function} takes numbers; ${argument.name} is {a(bound.type)}"
                raise work.wrong("T8", argument.span, message)
            return bound.id
        case ast.Now():
            return instant(work, argument)
        case ast.Aggregate() | ast.AliasRef() | ast.Nearest() | ast.Bm25() | ast.Fuse() | ast.TextTest():
            message = f"{value.function} takes a property or a variable, not {work.written(argument.span)}"
            raise work.wrong("T8", argument.span, message)
        case _:
            return literal(work, argument)


def _group_keys(work: Work, shown: list[Shown], columns: tuple[ast.Returned, ...]) -> tuple[Expr, ...]:
    keys: list[Expr] = []
    for column, written in zip(shown, columns, strict=True):
        if isinstance(column.expr, Aggregate):
            continue
        if not column.key:
            text = work.written(written.value.span)
            message = (
                f"{text} stands beside an aggregate, so rows are grouped by it; only $x.p and $x can be group keys"
            )
            raise work.wrong("T9", written.value.span, message)
        if column.expr not in keys:
            keys.append(column.expr)
    return tuple(keys)


# ---- limit and ids ----------------------------------------------------------------------------------------------


def _limit(work: Work, scope: Scope, limit: ast.IntLit | ast.Var) -> Expr:
    if isinstance(limit, ast.IntLit):
        if limit.value < 0:
            raise work.wrong("T0", limit.span, "limit is not negative")
        return Literal(limit.value, I64)
    work.extension(limit.span, "a parameter after limit")
    if limit.name != ANONYMOUS and scope.find(limit.name) is not None:
        raise work.wrong("T7", limit.span, f"limit takes a number or a parameter; ${limit.name} is bound in match")
    param = work.parameter(limit, I64, ())
    if not (is_integer(param.type) or is_open(param.type)):
        raise work.wrong("T7", limit.span, f"limit takes a whole number; ${limit.name} is {a(param.type)}")
    return param


def _ids(pattern: BoundPattern, scope: Scope) -> tuple[Expr, ...]:
    """Ids of all bound variables: named ones in the order of their names, then anonymous ones."""
    named = [scope.variables[name].id for name in sorted(scope.variables)]
    every = [n.variable for n in pattern.nodes] + [e.variable for e in pattern.edges if e.variable is not None]
    seen = {column.name for column in named}
    anonymous = [Column(f"{name}.{ID}", STRING, False) for name in every]
    return (*named, *(column for column in anonymous if column.name not in seen))
