"""Window functions: OVER, named windows and frames."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from sqlglot import exp

from omnigraph_sql.base.expr import Expr, Frame, FrameBound, Literal, SortKey, WindowCall
from omnigraph_sql.base.types import I64, INTERVAL, is_integer, is_number, is_open
from omnigraph_sql.bind.sql_aggregates import Taken, bound_arguments, filter_condition, sort_key, taken
from omnigraph_sql.bind.sql_expr import Rule, Site, condition
from omnigraph_sql.bind.sql_functions import AGGREGATES, ALL_NAMES, WINDOWS, result_type
from omnigraph_sql.bind.sql_operands import name_span
from omnigraph_sql.bind.sql_types import declared
from omnigraph_sql.grammar.source import Span

_HINTS: Final = {
    "WHERE": "test window functions in QUALIFY",
    "HAVING": "test window functions in QUALIFY",
}


@dataclass(frozen=True, slots=True)
class _Over:
    """The three parts of a window, still as trees."""

    partition: tuple[exp.Expr, ...] = ()
    order: tuple[exp.Expr, ...] = ()
    spec: exp.Expr | None = None


def _window(site: Site, node: exp.Expr) -> Expr:
    call, test, ignore = _unwrapped(site, node)
    name, arguments = _called(call)
    _refuse_place(site, name, call)
    over = _over(site, node, ())
    inner = site.within(windows=False, over=name)
    parts = taken(site, name, arguments)
    filters = filter_condition(inner, test) if test is not None else None
    if name == "count_if":
        made = _count_if(inner, parts, call)
        if filters is not None:
            raise site.binder.unsupported("count_if takes no FILTER", test, "write count(*) FILTER (WHERE …)")
    else:
        made = _function(inner, name, parts, call, filters)
    order = tuple(sort_key(inner, key) for key in over.order)
    return replace(
        made,
        partition=tuple(inner.bind(key) for key in over.partition),
        order=order,
        frame=_frame(inner, over.spec, order, name_span(site, call)) if over.spec is not None else None,
        ignore_nulls=ignore or parts.ignore_nulls,
    )


def _function(site: Site, name: str, parts: Taken, call: exp.Expr, filters: Expr | None) -> WindowCall:
    signature = WINDOWS.get(name) or AGGREGATES.get(name)
    if signature is None:
        if name in ALL_NAMES:
            message = f"{name} is neither an aggregate nor a window function, so it takes no OVER"
            raise site.binder.unsupported(message, name_span(site, call))
        raise site.binder.unknown("window function", name, name_span(site, call), [*WINDOWS, *AGGREGATES])
    pure = name in WINDOWS and name not in AGGREGATES
    if pure and (parts.distinct or filters is not None):
        raise site.binder.unsupported(f"{name} takes no {'DISTINCT' if parts.distinct else 'FILTER'}", call)
    if parts.order:
        raise site.binder.unsupported("ORDER BY stands in OVER, not among the arguments", call)
    # Arguments may hold aggregates of the group where those may stand, so `inside` is left as it is.
    bound = bound_arguments(site, name, signature, parts, call)
    of = result_type(signature.result, tuple(a.type for a in bound))
    return WindowCall(signature.name, bound, of, distinct=parts.distinct, filter=filters)


def _count_if(site: Site, parts: Taken, call: exp.Expr) -> WindowCall:
    if len(parts.arguments) != 1:
        raise site.binder.mismatch(f"count_if takes 1 argument, not {len(parts.arguments)}", name_span(site, call))
    return WindowCall("count", (), I64, filter=condition(site.within(name="count_if"), parts.arguments[0]))


def _unwrapped(site: Site, node: exp.Expr) -> tuple[exp.Expr, exp.Expr | None, bool]:
    """The call in front of OVER, its FILTER, and whether nulls are ignored."""
    if node.args.get("first") is not None or str(node.args.get("over") or "OVER").upper() != "OVER":
        site.binder.refuse_node(node)
    call, test, ignore = node.this, None, False
    while isinstance(call, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        test = call if isinstance(call, exp.Filter) else test
        ignore |= isinstance(call, exp.IgnoreNulls)
        call = call.this
    if not isinstance(call, exp.Func) or isinstance(call, exp.WithinGroup):
        raise site.binder.unsupported("OVER stands behind a call", node)
    return call, test, ignore


def _called(call: exp.Expr) -> tuple[str, list[exp.Expr]]:
    if isinstance(call, exp.GroupConcat):
        separator = call.args.get("separator")
        return "string_agg", [call.this] if separator is None else [call.this, separator]
    if isinstance(call, exp.Anonymous):
        return call.name.lower(), call.expressions
    assert isinstance(call, exp.Func)
    return call.sql_name().lower(), [*call.iter_expressions()]


def _refuse_place(site: Site, name: str, call: exp.Expr) -> None:
    at = name_span(site, call)
    if site.clause.inside:
        message = f"the window function {name} stands inside {site.clause.inside}"
        raise site.binder.unsupported(message, at, "compute it in a sub-query")
    if site.clause.over:
        message = f"{name} stands inside {site.clause.over}; window functions cannot be nested"
        raise site.binder.unsupported(message, at, "compute the inner one in a sub-query")
    if not site.clause.windows:
        hint = _HINTS.get(site.clause.name, "compute it in a sub-query")
        raise site.binder.unsupported(f"the window function {name} cannot stand in {site.clause.name}", at, hint)


# ---- windows ----------------------------------------------------------------------------------------------------


def _over(site: Site, node: exp.Expr, seen: tuple[str, ...]) -> _Over:
    """The window's own parts on top of those of the named window it begins with."""
    order = node.args.get("order")
    own = _Over(
        tuple(node.args.get("partition_by") or ()), tuple(order.expressions) if order else (), node.args.get("spec")
    )
    base = node.args.get("alias")
    if base is None:
        return own
    name = base.name
    known = site.clause.named_windows
    found = known.get(name) or known.get(name.casefold())
    if name.casefold() in seen:
        raise site.binder.unsupported(f"the window {name} begins with itself", base)
    if found is None:
        raise site.binder.unknown("window", name, base, known, "name it behind FROM: WINDOW w AS (…)")
    under = _over(site, found, (*seen, name.casefold()))
    if own.partition:
        raise site.binder.unsupported(f"a window that begins with {name} takes its PARTITION BY from it", base)
    if own.order and under.order:
        raise site.binder.unsupported(f"the window {name} has an ORDER BY already", base)
    if under.spec is not None and (own.order or own.spec is not None):
        raise site.binder.unsupported(f"the window {name} has a frame already", base)
    return _Over(under.partition, own.order or under.order, own.spec or under.spec)


# ---- frames -----------------------------------------------------------------------------------------------------


def _frame(site: Site, spec: exp.Expr, order: tuple[SortKey, ...], at: Span) -> Frame:
    if spec.args.get("exclude") is not None:
        raise site.binder.unsupported("EXCLUDE is not supported", at, "leave the frame whole")
    unit = str(spec.args.get("kind") or "rows").lower()
    if unit not in ("rows", "range", "groups"):
        site.binder.refuse_node(spec)
    start = _bound(site, spec, "start", unit)
    end = _bound(site, spec, "end", unit) if spec.args.get("end") is not None else FrameBound("current")
    if _place(start) > _place(end) or _is_unbounded(start, "following") or _is_unbounded(end, "preceding"):
        raise site.binder.mismatch("this frame ends before it starts", at)
    offsets = start.offset is not None or end.offset is not None
    if unit == "groups" and not order:
        raise site.binder.mismatch("a frame of GROUPS needs ORDER BY in its window", at)
    if unit == "range" and offsets and len(order) != 1:
        raise site.binder.mismatch("a frame of RANGE with an offset needs one ORDER BY key in its window", at)
    return Frame(unit, start, end)


def _place(bound: FrameBound) -> int:
    return ("preceding", "current", "following").index(bound.side)


def _is_unbounded(bound: FrameBound, side: str) -> bool:
    return bound.side == side and bound.offset is None


def _bound(site: Site, spec: exp.Expr, end: str, unit: str) -> FrameBound:
    value, side = spec.args.get(end), str(spec.args.get(f"{end}_side") or "").lower()
    if isinstance(value, str):
        if value.upper() == "CURRENT ROW":
            return FrameBound("current")
        return FrameBound("following" if side == "following" else "preceding")
    if value is None or side not in ("preceding", "following"):
        raise site.binder.mismatch(
            "a frame has a bound on each side, as in ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", spec
        )
    return FrameBound(side, _offset(site, value, unit))


def _offset(site: Site, node: exp.Expr, unit: str) -> Expr:
    bound = site.bind(node)
    bound = site.binder.infer(bound, I64) if unit != "range" else bound
    constant = isinstance(bound, Literal) or is_open(bound.type) or not list(bound.children())
    whole = is_integer(bound.type) or is_open(bound.type)
    fits = whole if unit != "range" else whole or is_number(bound.type) or bound.type == INTERVAL
    negative = isinstance(bound, Literal) and isinstance(bound.value, int | float) and bound.value < 0
    if not fits or negative or not constant:
        wanted = "a whole number, 0 or more" if unit != "range" else "a number or an interval"
        raise site.binder.mismatch(f"the offset of a frame is {wanted}; this is {declared(bound.type)}", node)
    return bound


RULES: Final[dict[type[exp.Expr], Rule]] = {exp.Window: _window}
