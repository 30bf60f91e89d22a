"""Values made of others: CASE, CAST, typed literals, lists, structs, subscripts, lambdas, sub-queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from omnigraph_sql.base.expr import Call, Case, Expr, Lambda, LambdaVariable, Literal, Param
from omnigraph_sql.base.types import (
    ANY,
    BOOL,
    F32,
    I64,
    INTERVAL,
    NULL,
    STRING,
    DataType,
    ListType,
    StructType,
    VectorType,
    is_float,
    is_integer,
    is_open,
    is_text,
    type_text,
)
from omnigraph_sql.bind.sql_cast import bind_cast
from omnigraph_sql.bind.sql_expr import Rule, Site, condition
from omnigraph_sql.bind.sql_functions import field_type
from omnigraph_sql.bind.sql_moments import parse_interval
from omnigraph_sql.bind.sql_operands import compare, shown, unify
from omnigraph_sql.bind.sql_quantified import scalar_subquery
from omnigraph_sql.bind.sql_types import declared

# ---- CASE -------------------------------------------------------------------------------------------------------


def _case(site: Site, node: exp.Expr) -> Expr:
    """A simple CASE becomes a searched one."""
    arms, default = node.args["ifs"], node.args.get("default")
    operand = site.bind(node.this) if node.this is not None else None
    conditions: list[Expr] = []
    for arm in arms:
        if operand is None:
            conditions.append(condition(site.within(name="WHEN"), arm.this))
            continue
        made = compare(site, "=", operand, site.bind(arm.this), (node.this, arm.this))
        operand = made.left if isinstance(operand, Param) else operand
        conditions.append(made)
    return made_case(site, conditions, [arm.args["true"] for arm in arms], default)


def made_case(site: Site, conditions: Sequence[Expr], results: list[exp.Expr], default: exp.Expr | None) -> Case:
    """The results share one type."""
    nodes = [*results, *([default] if default is not None else [])]
    made, of = unify(site, [site.bind(n) for n in nodes], nodes, "CASE")
    whens = tuple(zip(conditions, made, strict=False))
    return Case(whens, made[-1] if default is not None else None, of)


# ---- intervals --------------------------------------------------------------------------------------------------


def _interval(site: Site, node: exp.Expr) -> Expr:
    amount, unit = node.this, node.args.get("unit")
    while isinstance(amount, exp.Paren):
        amount = amount.this
    if isinstance(amount, exp.Neg) and isinstance(amount.this, exp.Literal):
        text = f"-{amount.this.name}"
    elif isinstance(amount, exp.Literal):
        text = amount.name
    else:
        hint = "write a constant, as in INTERVAL '3 days'; a day plus a whole number is that many days later"
        raise site.binder.unsupported("an interval is a constant", node, hint)
    if isinstance(unit, exp.IntervalSpan):
        raise site.binder.unsupported("an interval has one unit behind it", node, "write INTERVAL '1 year 2 months'")
    if unit is not None:
        text = f"{text} {unit.name}"
    try:
        return Literal(parse_interval(text).text, INTERVAL)
    except ValueError as broken:
        raise site.binder.mismatch(str(broken), node) from None


# ---- lists ------------------------------------------------------------------------------------------------------


def _array(site: Site, node: exp.Expr) -> Expr:
    items = node.expressions
    if len(items) == 1 and isinstance(items[0], exp.Comprehension):
        return _comprehension(site, items[0])
    if len(items) == 1 and isinstance(items[0], exp.Query):
        hint = "write (SELECT array_agg(x) FROM …)"
        raise site.binder.unsupported("ARRAY takes values, not a query", node, hint)
    return made_list(site, items)


def made_list(site: Site, nodes: list[exp.Expr]) -> Expr:
    """A constant when all items are constants, else the function that makes lists."""
    if not nodes:
        return Literal((), ListType(NULL))
    items, of = unify(site, [site.bind(n) for n in nodes], nodes, "a list")
    values = [item.value for item in items if isinstance(item, Literal)]
    if len(values) < len(items):
        return Call("make_array", items, ListType(of))
    if is_float(of):
        values = [float(v) if isinstance(v, int) and not isinstance(v, bool) else v for v in values]
    return Literal(tuple(values), ListType(of))


def _comprehension(site: Site, node: exp.Expr) -> Expr:
    """`[f(x) FOR x IN list IF c]` filters, then maps."""
    variable, source, test = node.args["expression"], node.args["iterator"], node.args.get("condition")
    if node.args.get("position") is not None or not isinstance(variable, exp.Identifier):
        raise site.binder.unsupported("a list comprehension has one variable", node)
    items = site.bind(source)
    of = item_type(site, items, source)
    inner = site.within(variables=(LambdaVariable(variable.name, of), *site.clause.variables))
    if test is not None:
        chosen = Lambda((variable.name,), condition(inner.within(name="IF"), test))
        items = Call("array_filter", (items, chosen), items.type)
    body = Lambda((variable.name,), inner.bind(node.this))
    return Call("array_transform", (items, body), ListType(body.type))


def item_type(site: Site, items: Expr, node: exp.Expr) -> DataType:
    """What a list holds; TypeMismatch for anything else."""
    if isinstance(items.type, ListType):
        return items.type.item
    if isinstance(items.type, VectorType):
        return F32
    if not is_open(items.type):
        raise site.binder.mismatch(f"{shown(site, node)} is {declared(items.type)}, not a list", node)
    return ANY


def bind_lambda(site: Site, node: exp.Expr, items: Expr, source: exp.Expr, truth: bool) -> Lambda:
    """`x -> body` over a list; a second variable counts the items from 1."""
    if not isinstance(node, exp.Lambda):
        raise site.binder.mismatch("a lambda is expected here", node, "write x -> x + 1, or lambda x: x + 1")
    names = [variable.name for variable in node.expressions]
    if not 1 <= len(names) <= 2 or len({n.casefold() for n in names}) != len(names):
        raise site.binder.mismatch("this lambda has one variable, or two of different names", node)
    types = (item_type(site, items, source), I64)
    variables = tuple(LambdaVariable(name, of) for name, of in zip(names, types, strict=False))
    inner = site.within(variables=(*variables, *site.clause.variables))
    body = inner.bind(node.this)
    if truth and not (body.type == BOOL or is_open(body.type)):
        raise site.binder.mismatch(f"this lambda gives {declared(body.type)}, not a truth value", node.this)
    return Lambda(tuple(names), body)


def _stray_lambda(site: Site, node: exp.Expr) -> Expr:
    raise site.binder.unsupported("a lambda stands only in list_transform, list_filter and list_any_match", node)


# ---- structs and maps -------------------------------------------------------------------------------------------


def _struct(site: Site, node: exp.Expr) -> Expr:
    return made_struct(site, node.expressions, node)


def made_struct(site: Site, fields: list[exp.Expr], node: exp.Expr) -> Expr:
    """`{'a': 1}` or `struct_pack(a := 1)`; without names a row whose fields are c0, c1 …"""
    named = [isinstance(field, exp.PropertyEQ | exp.Kwarg) for field in fields]
    if any(named) and not all(named):
        raise site.binder.mismatch("either every field of a struct has a name, or none", node)
    if not any(named):
        values = tuple(site.bind(field) for field in fields)
        return Call("struct", values, StructType(tuple((f"c{i}", v.type) for i, v in enumerate(values))))
    names = [field.this.name for field in fields]
    if len({name.casefold() for name in names}) != len(names):
        raise site.binder.mismatch("two fields of this struct have the same name", node)
    bound = [site.bind(field.args["expression"]) for field in fields]
    pairs = tuple(part for name, value in zip(names, bound, strict=True) for part in (Literal(name, STRING), value))
    return Call("named_struct", pairs, StructType(tuple((n, v.type) for n, v in zip(names, bound, strict=True))))


def _tuple(site: Site, node: exp.Expr) -> Expr:
    if not node.expressions:
        raise site.binder.mismatch("a value is missing between the brackets", node)
    return made_struct(site, node.expressions, node)


def _map_literal(site: Site, node: exp.Expr) -> Expr:
    pairs = node.this.expressions if isinstance(node.this, exp.Struct) else []
    if not all(isinstance(pair, exp.PropertyEQ) for pair in pairs):
        site.binder.refuse_node(node)
    keys = made_list(site, [pair.this for pair in pairs])
    return Call("map", (keys, made_list(site, [pair.args["expression"] for pair in pairs])), ANY)


def _map(site: Site, node: exp.Expr) -> Expr:
    parts = tuple(site.bind(node.args[name]) for name in ("keys", "values") if node.args.get(name) is not None)
    return Call("map", parts, ANY)


# ---- subscripts -------------------------------------------------------------------------------------------------


def _bracket(site: Site, node: exp.Expr) -> Expr:
    indexes = node.expressions
    if len(indexes) != 1:
        raise site.binder.mismatch("a subscript has one index", node, "write x[1][2]")
    base, index = site.bind(node.this), indexes[0]
    end = _colon_number(site, index)
    if end is not None:
        return _slice(site, base, None, Literal(end, I64), None, node)
    if isinstance(index, exp.Slice):
        parts = (index.args.get(name) for name in ("this", "expression", "step"))
        first, last, step = (_whole(site, part) if part is not None else None for part in parts)
        return _slice(site, base, first, last, step, node)
    if isinstance(base.type, StructType) or (is_open(base.type) and index.is_string):
        return _struct_field(site, base, index)
    position = _whole(site, index)
    if is_text(base.type):
        return Call("substr", (base, position, Literal(1, I64)), STRING)
    return Call("array_element", (base, position), item_type(site, base, node.this))


def _colon_number(site: Site, index: exp.Expr) -> int | None:
    """`x[:2]` is a slice, though `:2` alone is a parameter."""
    if not isinstance(index, exp.Placeholder) or not str(index.this).isdecimal():
        return None
    start = site.binder.span_of(index).start
    return int(str(index.this)) if site.binder.source.text[start : start + 1] == ":" else None


def _whole(site: Site, node: exp.Expr) -> Expr:
    bound = site.binder.infer(site.bind(node), I64)
    if not (is_integer(bound.type) or is_open(bound.type)):
        message = f"a position is a whole number, counted from 1; {shown(site, node)} is {declared(bound.type)}"
        raise site.binder.mismatch(message, node)
    return bound


def _slice(site: Site, base: Expr, first: Expr | None, last: Expr | None, step: Expr | None, node: exp.Expr) -> Expr:
    if is_text(base.type):
        raise site.binder.unsupported("texts are not sliced", node, "write substr(text, start, count)")
    item_type(site, base, node.this)
    bounds = (first or Literal(1, I64), last or Literal(-1, I64))
    of = ListType(F32) if isinstance(base.type, VectorType) else base.type
    return Call("array_slice", (base, *bounds, *((step,) if step is not None else ())), of)


def _struct_field(site: Site, base: Expr, index: exp.Expr) -> Expr:
    if not index.is_string:
        raise site.binder.mismatch("a field of a struct is named by a text", index)
    of = field_type(base.type, index.name)
    if of is None:
        raise site.binder.unknown("field", index.name, index, (), f"the value is a {type_text(base.type)}")
    return Call("get_field", (base, Literal(index.name, STRING)), of)


RULES: Final[dict[type[exp.Expr], Rule]] = {
    exp.Case: _case,
    exp.Cast: bind_cast,
    exp.TryCast: bind_cast,
    exp.Interval: _interval,
    exp.Array: _array,
    exp.Comprehension: _comprehension,
    exp.Lambda: _stray_lambda,
    exp.Struct: _struct,
    exp.Tuple: _tuple,
    exp.ToMap: _map_literal,
    exp.Map: _map,
    exp.Bracket: _bracket,
    **dict.fromkeys((exp.Subquery, exp.Select, exp.Union, exp.Except, exp.Intersect, exp.Values), scalar_subquery),
}
