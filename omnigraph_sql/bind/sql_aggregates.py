"""Aggregates: DISTINCT, ORDER BY, FILTER and WITHIN GROUP, and the places they may stand in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from sqlglot import exp

from omnigraph_sql.base.expr import Aggregate, Arithmetic, Expr, IsNull, Literal, SortKey, all_of
from omnigraph_sql.base.types import F64, I64, STRING
from omnigraph_sql.bind.sql_arguments import fitting, refuse_arity
from omnigraph_sql.bind.sql_expr import Rule, Site, condition
from omnigraph_sql.bind.sql_functions import AGGREGATES, Signature, result_type
from omnigraph_sql.bind.sql_operands import name_span

_NULL_KEEPERS: Final = ("first_value", "last_value", "nth_value", "array_agg")
"""Aggregates that take nulls for values, unless told to ignore them."""
_HINTS: Final = {
    "WHERE": "test aggregates in HAVING",
    "GROUP BY": "group by columns, and test aggregates in HAVING",
    "ON": "aggregate in a sub-query and join that",
}


@dataclass(slots=True)
class Taken:
    """The arguments of an aggregate without the words around them."""

    arguments: list[exp.Expr]
    distinct: bool = False
    order: tuple[exp.Expr, ...] = ()
    ignore_nulls: bool = False


def taken(site: Site, name: str, arguments: list[exp.Expr]) -> Taken:
    """Unwrap DISTINCT, ORDER BY and IGNORE NULLS, which the parser wraps around one of the arguments."""
    found = Taken([])
    for argument in arguments:
        node = argument
        while isinstance(node, exp.Order | exp.IgnoreNulls | exp.RespectNulls):
            if isinstance(node, exp.Order):
                found.order = tuple(node.expressions)
            found.ignore_nulls |= isinstance(node, exp.IgnoreNulls)
            node = node.this
        if isinstance(node, exp.Distinct):
            if node.args.get("on") is not None:
                raise site.binder.unsupported("DISTINCT ON stands in SELECT only", node)
            found.distinct = True
            found.arguments += [_undecorated(site, name, e) for e in node.expressions]
        else:
            found.arguments.append(_undecorated(site, name, node))
    return found


def _undecorated(site: Site, name: str, node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Limit | exp.HavingMax | exp.Alias | exp.Kwarg | exp.Lambda | exp.Distinct | exp.Order):
        hint = "pick items with a slice, as in array_agg(x)[1:3]" if isinstance(node, exp.Limit) else ""
        raise site.binder.unsupported(f"{name} does not take this", node, hint)
    return node


# ---- binding ----------------------------------------------------------------------------------------------------


def bind_aggregate(site: Site, name: str, signature: Signature, arguments: list[exp.Expr], node: exp.Expr) -> Aggregate:
    """`name(arguments)` as an aggregate of the rows of a group."""
    refuse_place(site, name, node)
    parts = taken(site, name, arguments)
    inner = site.within(inside=name, aggregates=False, windows=False)
    bound = bound_arguments(inner, name, signature, parts, node)
    order = tuple(sort_key(inner, key) for key in parts.order)
    if parts.distinct and any(key.expr not in bound for key in order):
        hint = "order by the arguments, or leave DISTINCT out"
        raise site.binder.unsupported(f"{name}(DISTINCT …) is ordered by its own arguments only", node, hint)
    of = result_type(signature.result, tuple(a.type for a in bound)) if bound else I64
    made = Aggregate(signature.name, bound, of, parts.distinct, None, order)
    return _without_nulls(made) if parts.ignore_nulls else made


def refuse_place(site: Site, name: str, node: exp.Expr) -> None:
    at = name_span(site, node)
    if site.clause.inside:
        message = f"{name} stands inside {site.clause.inside}; aggregates cannot be nested"
        raise site.binder.unsupported(message, at, "aggregate in a sub-query, then once more around it")
    if not site.clause.aggregates:
        hint = _HINTS.get(site.clause.name, "aggregate in a sub-query")
        raise site.binder.unsupported(f"{name} is an aggregate and cannot stand in {site.clause.name}", at, hint)


def bound_arguments(site: Site, name: str, signature: Signature, parts: Taken, node: exp.Expr) -> tuple[Expr, ...]:
    """The arguments, checked; none for `count(*)`."""
    nodes = parts.arguments
    if len(nodes) == 1 and isinstance(nodes[0], exp.Star):
        if signature.name != "count":
            raise site.binder.mismatch(f"{name} takes a value, not *", nodes[0], "only count(*) counts rows")
        if parts.distinct:
            raise site.binder.unsupported("count(DISTINCT *) is not supported", nodes[0], "name the columns")
        return ()
    refuse_arity(site, name, signature, len(nodes), node)
    bound = fitting(site, name, signature, [site.bind(n) for n in nodes], nodes)
    if signature.name == "string_agg" and len(bound) == 1:
        bound.append(Literal(",", STRING))
    return tuple(bound)


def _without_nulls(made: Aggregate) -> Aggregate:
    if made.function not in _NULL_KEEPERS:
        return made
    return replace(made, filter=all_of([IsNull(made.arguments[0], negated=True), *_parts(made.filter)]))


def _parts(condition: Expr | None) -> tuple[Expr, ...]:
    return () if condition is None else (condition,)


def sort_key(site: Site, node: exp.Expr) -> SortKey:
    """One term of ORDER BY inside a call or a window."""
    if not isinstance(node, exp.Ordered):
        return SortKey(site.bind(node))
    if node.args.get("with_fill") is not None:
        raise site.binder.unsupported("WITH FILL is not supported", node)
    return SortKey(site.bind(node.this), bool(node.args.get("desc")), bool(node.args.get("nulls_first")))


def count_where(site: Site, name: str, test: exp.Expr, node: exp.Expr) -> Aggregate:
    """`count_if(test)` is `count(*) FILTER (WHERE test)`."""
    refuse_place(site, name, node)
    inner = site.within(name=name, inside=name, aggregates=False, windows=False)
    return Aggregate("count", (), I64, filter=condition(inner, test))


# ---- what stands behind the brackets ----------------------------------------------------------------------------


def filter_condition(site: Site, node: exp.Expr) -> Expr:
    """The condition of FILTER (WHERE …)."""
    where = node.args["expression"]
    inner = site.within(name="FILTER", inside="FILTER", aggregates=False, windows=False)
    return condition(inner, where.this if isinstance(where, exp.Where) else where)


def _filter(site: Site, node: exp.Expr) -> Expr:
    made = site.bind(node.this)
    if not isinstance(made, Aggregate):
        raise site.binder.unsupported("FILTER stands behind an aggregate", node)
    return replace(made, filter=all_of([*_parts(made.filter), filter_condition(site, node)]))


def _ignore_nulls(site: Site, node: exp.Expr) -> Expr:
    made = site.bind(node.this)
    if not isinstance(made, Aggregate):
        raise site.binder.unsupported("IGNORE NULLS stands behind an aggregate or a window function", node)
    return _without_nulls(made)


def _respect_nulls(site: Site, node: exp.Expr) -> Expr:
    return site.bind(node.this)


def _within_group(site: Site, node: exp.Expr) -> Expr:
    """`percentile_cont(0.5) WITHIN GROUP (ORDER BY x)` is `percentile_cont(x, 0.5)`."""
    inner, order = node.this, node.args["expression"]
    name = inner.name.lower() if isinstance(inner, exp.Anonymous) else ""
    signature = AGGREGATES.get(name)
    keys = order.expressions if isinstance(order, exp.Order) else []
    if signature is None or not signature.name.endswith(("percentile_cont", "string_agg")):
        raise site.binder.unsupported("WITHIN GROUP stands behind percentile_cont and listagg", node)
    if len(keys) != 1:
        raise site.binder.mismatch(f"WITHIN GROUP of {name} has one sort key", node)
    made = bind_aggregate(site, name, signature, [keys[0].this, *inner.expressions], inner)
    if not keys[0].args.get("desc"):
        return made
    value, fraction, *more = made.arguments
    return replace(made, arguments=(value, _rest(fraction), *more))


def _rest(fraction: Expr) -> Expr:
    """From the top instead of from the bottom."""
    if isinstance(fraction, Literal) and isinstance(fraction.value, int | float):
        return Literal(round(1.0 - fraction.value, 15), F64)
    return Arithmetic("-", Literal(1.0, F64), fraction, F64)


def _string_agg(site: Site, node: exp.Expr) -> Expr:
    separator = node.args.get("separator")
    arguments = [node.this] if separator is None else [node.this, separator]
    return bind_aggregate(site, "string_agg", AGGREGATES["string_agg"], arguments, node)


def _stray(word: str) -> Rule:
    def rule(site: Site, node: exp.Expr) -> Expr:
        raise site.binder.unsupported(f"{word} stands only inside an aggregate", node)

    return rule


RULES: Final[dict[type[exp.Expr], Rule]] = {
    exp.Filter: _filter,
    exp.IgnoreNulls: _ignore_nulls,
    exp.RespectNulls: _respect_nulls,
    exp.WithinGroup: _within_group,
    exp.GroupConcat: _string_agg,
    exp.Distinct: _stray("DISTINCT"),
    exp.Order: _stray("ORDER BY"),
}
