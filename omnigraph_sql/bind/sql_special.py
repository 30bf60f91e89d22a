"""Functions that no line of a table describes: now(), membership, IF, casts by name, parts of dates …"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from sqlglot import exp

from omnigraph_sql.base.expr import NOW, Call, Cast, Expr, Literal
from omnigraph_sql.base.types import BOOL, DATE, DATETIME, I64, INTERVAL, STRING, TIME, DataType, ListType
from omnigraph_sql.bind import sql_aggregates
from omnigraph_sql.bind.sql_arguments import Arguments, fit, fitting, plain, refuse_arity
from omnigraph_sql.bind.sql_arithmetic import arithmetic
from omnigraph_sql.bind.sql_cast import cast
from omnigraph_sql.bind.sql_expr import Site, condition
from omnigraph_sql.bind.sql_functions import SCALARS, Signature
from omnigraph_sql.bind.sql_nested import made_case, made_list, made_struct
from omnigraph_sql.bind.sql_operands import compare, membership, unify

Special: TypeAlias = Callable[[Site, str, Arguments, exp.Expr], Expr]


def _counted(site: Site, name: str, least: int, most: int, arguments: Arguments, node: exp.Expr) -> Arguments:
    refuse_arity(site, name, Signature(name, least, most, "any"), len(arguments), node)
    return plain(site, name, arguments)


def _now(of: DataType) -> Special:
    def bind(site: Site, name: str, arguments: Arguments, node: exp.Expr) -> Expr:
        _counted(site, name, 0, 0, arguments, node)
        return NOW if of == DATETIME else Cast(NOW, of)

    return bind


def _has(site: Site, name: str, arguments: Arguments, node: exp.Expr) -> Expr:
    items, value = _counted(site, name, 2, 2, arguments, node)
    return membership(site, site.bind(items), site.bind(value), (items, value))


def _contains(site: Site, name: str, arguments: Arguments, node: exp.Expr) -> Expr:
    whole, part = _counted(site, name, 2, 2, arguments, node)
    bound = site.bind(whole)
    if isinstance(bound.type, ListType):
        return membership(site, bound, site.bind(part), (whole, part))
    made = fitting(site, name, SCALARS["contains"], [bound, site.bind(part)], [whole, part])
    return Call("contains", tuple(made), BOOL)


def _if(site: Site, name: str, arguments: Arguments, node: exp.Expr) -> Expr:
    test, yes, *no = _counted(site, name, 2, 3, arguments, node)
    return made_case(site, [condition(site.within(name="IF"), test)], [yes], no[0] if no else None)


def _operator(op: str) -> Special:
    def bind(site: Site, name: str, arguments: Arguments, node: exp.Expr) -> Expr:
        left, right = _counted(site, name, 2, 2, arguments, node)
        return arithmetic(site, op, site.bind(left), site.bind(right), (left, right))

    return bind


def _cast_to(of: DataType) -> Special:
    def bind(site: Site, name: str, arguments: Arguments, node: exp.Expr) -> Expr:
        (value,) = _counted(site, name, 1, 1, arguments, node)
        return cast(site, site.binder.infer(site.bind(value), of), of, value)

    return bind


def _nullif(site: Site, name: str, arguments: Arguments, node: exp.Expr) -> Expr:
    left, right = _counted(site, name, 2, 2, arguments, node)
    made = compare(site, "=", site.bind(left), site.bind(right), (left, right))
    return Call("nullif", (made.left, made.right), made.left.type)


def _nvl2(site: Site, name: str, arguments: Arguments, node: exp.Expr) -> Expr:
    test, *choices = _counted(site, name, 3, 3, arguments, node)
    made, of = unify(site, [site.bind(c) for c in choices], choices, name)
    return Call("nvl2", (site.bind(test), *made), of)


def _list(site: Site, name: str, arguments: Arguments, _node: exp.Expr) -> Expr:
    return made_list(site, plain(site, name, arguments))


def _struct(site: Site, _name: str, arguments: Arguments, node: exp.Expr) -> Expr:
    return made_struct(site, arguments, node)


def _pushed_front(site: Site, name: str, arguments: Arguments, node: exp.Expr) -> Expr:
    items, value = _counted(site, name, 2, 2, arguments, node)
    from omnigraph_sql.bind.sql_call import call

    return call(site, "array_prepend", [value, items], node)


_PARTS: Final = (
    *("century", "decade", "year", "isoyear", "quarter", "month", "week", "day", "dow", "isodow", "doy"),
    *("hour", "minute", "second", "millisecond", "microsecond", "nanosecond", "epoch"),
)


def _date_part(site: Site, name: str, arguments: Arguments, node: exp.Expr) -> Expr:
    part, value = _counted(site, name, 2, 2, arguments, node)
    field = _part(site, part, name, value)
    bound = site.binder.infer(site.bind(value), DATETIME)
    if bound.type != INTERVAL:
        bound = fit(site, name, "d", 1, bound, value, 2)
    return Call("date_part", (field, bound), I64)


def _part(site: Site, node: exp.Expr, name: str, beside: exp.Expr) -> Expr:
    """The name of a part of a date: a word, a text, or a parameter."""
    if isinstance(node, exp.Var) or node.is_string:
        word = node.name.lower()
        found = word.removesuffix("s") if word.removesuffix("s") in _PARTS else word
        if found not in _PARTS:
            raise site.binder.unknown("part of a date", word, beside if isinstance(node, exp.Var) else node, _PARTS)
        return Literal(found, STRING)
    return fit(site, name, "t", 0, site.bind(node), node, 2)


def _date_trunc(site: Site, name: str, arguments: Arguments, node: exp.Expr) -> Expr:
    part, value = _counted(site, name, 2, 2, arguments, node)
    field = _part(site, part, name, value)
    moment = fit(site, name, "d", 1, site.bind(value), value, 2)
    return Call("date_trunc", (field, moment), DATETIME)


def _count_if(site: Site, name: str, arguments: Arguments, node: exp.Expr) -> Expr:
    (test,) = _counted(site, name, 1, 1, arguments, node)
    return sql_aggregates.count_where(site, name, test, node)


SPECIAL_RULES: Final[dict[str, Special]] = {
    **dict.fromkeys(("now", "current_timestamp", "localtimestamp", "transaction_timestamp"), _now(DATETIME)),
    **dict.fromkeys(("today", "current_date"), _now(DATE)),
    **dict.fromkeys(("current_time", "localtime"), _now(TIME)),
    **dict.fromkeys(("list_contains", "array_has", "array_contains", "list_has"), _has),
    "contains": _contains,
    **dict.fromkeys(("if", "iif"), _if),
    "mod": _operator("%"),
    "xor": _operator("xor"),
    "date": _cast_to(DATE),
    "timestamp": _cast_to(DATETIME),
    "nullif": _nullif,
    "nvl2": _nvl2,
    **dict.fromkeys(("list_value", "make_list", "make_array"), _list),
    **dict.fromkeys(("struct_pack", "row", "struct"), _struct),
    **dict.fromkeys(("array_push_front", "list_push_front"), _pushed_front),
    **dict.fromkeys(("datepart", "date_part"), _date_part),
    **dict.fromkeys(("datetrunc", "date_trunc"), _date_trunc),
    "count_if": _count_if,
}
