"""What operands of operators, predicates and functions have in common: types that fit, literals in the right type."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Final, TypeAlias

from sqlglot import exp

from omnigraph_sql.base.errors import TypeMismatch
from omnigraph_sql.base.expr import Call, Cast, Compare, Expr, Literal, Param
from omnigraph_sql.base.types import (
    ANY,
    BLOB,
    BOOL,
    DATE,
    DATETIME,
    NULL,
    STRING,
    DataType,
    EnumType,
    ListType,
    StructType,
    VectorType,
    common_type,
    comparable,
    is_number,
    is_open,
    type_text,
)
from omnigraph_sql.bind.gq_values import exact
from omnigraph_sql.bind.sql_expr import Site
from omnigraph_sql.bind.sql_moments import MOMENTS, midnight, moment
from omnigraph_sql.bind.sql_types import declared
from omnigraph_sql.bind.suggest import closest
from omnigraph_sql.grammar.source import Span

Pair: TypeAlias = tuple[exp.Expr, exp.Expr]

_LABELLED: Final = ("=", "!=", "is distinct from", "is not distinct from")


# ---- words ------------------------------------------------------------------------------------------------------


def shown(site: Site, node: exp.Expr) -> str:
    """A name or literal as written; `this` for anything larger."""
    if isinstance(node, exp.Paren):
        node = node.unnest()
    if isinstance(node, exp.Var):
        return node.name
    if isinstance(node, exp.Column | exp.Identifier | exp.Literal | exp.Placeholder):
        span = site.binder.span_of(node)
        text = site.binder.source.text[span.start : span.end]
        if text and len(text) <= 40:
            return text
    return "this"


def name_span(site: Site, node: exp.Expr) -> Span:
    """Where the name of a call stands."""
    start, end = node.meta.get("start"), node.meta.get("end")
    if isinstance(start, int) and isinstance(end, int):
        return Span(start, end + 1)
    return site.binder.span_of(node)


def is_null(expr: Expr) -> bool:
    return isinstance(expr, Literal) and expr.value is None


def is_string_literal(expr: Expr) -> bool:
    return isinstance(expr, Literal) and expr.of == STRING and isinstance(expr.value, str)


# ---- literals in the type of their neighbour --------------------------------------------------------------------


def as_moment(site: Site, expr: Expr, of: DataType, node: exp.Expr) -> Expr:
    """A string literal beside a day, an instant, a time or an interval is one; a day beside an instant becomes one."""
    if isinstance(expr, Literal) and expr.of == STRING and isinstance(expr.value, str) and of in MOMENTS:
        try:
            return Literal(moment(expr.value, of), of)
        except ValueError as broken:
            raise site.binder.mismatch(str(broken), node) from None
    if expr.type == DATE and of == DATETIME:
        return as_instant(expr)
    return expr


def as_instant(expr: Expr) -> Expr:
    """A day as the instant it begins."""
    if isinstance(expr, Literal) and isinstance(expr.value, date) and not isinstance(expr.value, datetime):
        return Literal(midnight(expr.value), DATETIME)
    return Cast(expr, DATETIME)


def refuse_label(site: Site, of: DataType, value: Expr, node: exp.Expr, owner: exp.Expr) -> None:
    """A text that the enum beside it, `owner`, does not have is a slip, not a question."""
    if not (isinstance(of, EnumType) and isinstance(value, Literal) and isinstance(value.value, str)):
        return
    if value.value not in of.labels:
        message = f"'{value.value}' is not a label of {shown(site, owner)}; the labels are {', '.join(of.labels)}"
        near = closest(value.value, of.labels)
        raise TypeMismatch(message, at=site.binder.location(node), suggestion=near)


# ---- comparison -------------------------------------------------------------------------------------------------


def compare(site: Site, op: str, left: Expr, right: Expr, nodes: Pair) -> Compare:
    """`left op right`, checked; literals take the type of the other side where nothing is lost."""
    left = site.binder.infer(left, right.type)
    right = site.binder.infer(right, left.type)
    left = as_moment(site, left, right.type, nodes[0])
    right = as_moment(site, right, left.type, nodes[1])
    for side, node in zip((left, right), nodes, strict=True):
        refuse_incomparable(site, side.type, node)
    if not _comparable(left.type, right.type):
        raise _incomparable(site, left, right, nodes)
    if op in _LABELLED:
        refuse_label(site, left.type, right, nodes[1], nodes[0])
        refuse_label(site, right.type, left, nodes[0], nodes[1])
    if isinstance(right, Literal):
        right = exact(right, left.type)
    elif isinstance(left, Literal):
        left = exact(left, right.type)
    return Compare(op, left, right)


def refuse_incomparable(site: Site, of: DataType, node: exp.Expr) -> None:
    if isinstance(of, VectorType):
        message = f"{shown(site, node)} is {declared(of)}, which cannot be compared"
        raise site.binder.mismatch(message, node, "rank rows with ORDER BY nearest(column, query) LIMIT k")
    if of == BLOB:
        raise site.binder.mismatch(
            f"{shown(site, node)} is a Blob, which cannot be compared", node, "test IS NULL only"
        )


def _comparable(left: DataType, right: DataType) -> bool:
    if isinstance(left, ListType) and isinstance(right, ListType):
        return common_type(left, right) is not None
    if isinstance(left, StructType) and isinstance(right, StructType):
        return len(left.fields) == len(right.fields)
    return comparable(left, right)


def _incomparable(site: Site, left: Expr, right: Expr, nodes: Pair) -> TypeMismatch:
    texts = [shown(site, node) for node in nodes]
    owner, other = (f"{t} is {declared(e.type)}" for t, e in zip(texts, (left, right), strict=True))
    hint = "convert one side with CAST"
    for side, against in ((left, right), (right, left)):
        if isinstance(side, Literal) and isinstance(side.value, str) and is_number(against.type):
            hint = f"write {side.value} without quotes" if _is_numeric(side.value) else hint
        if isinstance(side.type, ListType) and not isinstance(against.type, ListType):
            hint = "test membership with value = ANY(list)"
    return site.binder.mismatch(f"{owner} and {other}: they cannot be compared", nodes[1], hint)


def _is_numeric(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# ---- membership -------------------------------------------------------------------------------------------------


def membership(site: Site, items: Expr, value: Expr, nodes: Pair) -> Expr:
    """Whether a list holds a value: one expression for every spelling. `nodes` are the list's and the value's."""
    if isinstance(items, Param) and not is_open(value.type):
        items = site.binder.infer(items, ListType(value.type))
    of = items.type
    if not (isinstance(of, ListType) or is_open(of)):
        message = f"{shown(site, nodes[0])} is {declared(of)}, not a list"
        raise site.binder.mismatch(message, nodes[0])
    item = of.item if isinstance(of, ListType) else ANY
    value = as_moment(site, site.binder.infer(value, item), item, nodes[1])
    if not comparable(item, value.type):
        message = (
            f"{shown(site, nodes[0])} is a {type_text(of)}; it holds {type_text(item)}, not {declared(value.type)}"
        )
        raise site.binder.mismatch(message, nodes[1])
    refuse_label(site, item, value, nodes[1], nodes[0])
    if isinstance(value, Literal):
        value = exact(value, item)
    return Call("list_contains", (items, value), BOOL)


# ---- one type for many ------------------------------------------------------------------------------------------


def unify(site: Site, exprs: Sequence[Expr], nodes: Sequence[exp.Expr], what: str) -> tuple[tuple[Expr, ...], DataType]:
    """The expressions in the one type they share, and that type; `what` names their owner in errors."""
    target: DataType = NULL
    late: list[int] = []
    for index, expr in enumerate(exprs):
        # A string literal may turn out to be a day, and a parameter is whatever the others are.
        if is_string_literal(expr) or (isinstance(expr, Param) and is_open(expr.of)):
            late.append(index)
            continue
        target = _joined(site, target, expr.type, nodes[index], what)
    for index in late:
        if target not in MOMENTS and is_string_literal(exprs[index]):
            target = _joined(site, target, STRING, nodes[index], what)
    made = tuple(
        as_moment(site, site.binder.infer(expr, target), target, node) for expr, node in zip(exprs, nodes, strict=True)
    )
    if target == NULL and any(not is_null(expr) for expr in exprs):
        target = ANY
    return made, target


def _joined(site: Site, target: DataType, of: DataType, node: exp.Expr, what: str) -> DataType:
    both = common_type(target, of)
    if both is None:
        hint = "convert one of them with CAST"
        raise site.binder.mismatch(f"{what} mixes {declared(target)} and {declared(of)}", node, hint)
    return both
