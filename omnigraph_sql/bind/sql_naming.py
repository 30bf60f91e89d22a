"""Names of output columns: what a client sees, and the distinct names behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from omnigraph_sql.base.expr import Column, Exists, Expr, OuterColumn, ScalarSubquery, SortKey, transform
from omnigraph_sql.base.expr_text import text
from omnigraph_sql.base.schema import Field, Schema
from omnigraph_sql.bind.bound import BoundItem, BoundQuery, BoundSelect, BoundSetOperation, BoundValues
from omnigraph_sql.bind.sql_binder import name_of
from omnigraph_sql.bind.sql_scope import Scope


def distinct_names(labels: Sequence[str]) -> tuple[str, ...]:
    """The labels with repeats numbered: x, x_2, x_3; a number that some label has already is passed over."""
    known = set(labels)
    if len(known) == len(labels):
        return tuple(labels)
    last: dict[str, int] = {}
    names: list[str] = []
    for label in labels:
        number, name = last.get(label, 0) + 1, label
        while number > 1 and (name := f"{label}_{number}") in known:
            number += 1
        last[label] = number
        if number > 1:
            known.add(name)
        names.append(name)
    return tuple(names)


def label_of(node: exp.Expr, expr: Expr, scope: Scope) -> str:
    """What an item of a select list without an alias is called: its column, else the text of the expression."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Column):
        return _declared(node, scope)
    if isinstance(node, exp.Dot):
        return str(node.expression.name)
    if isinstance(expr, ScalarSubquery) and isinstance(expr.relation, BoundQuery):
        labels = expr.relation.labels
        return labels[0] if labels else expr.relation.schema.order[0]
    if isinstance(expr, Exists):
        return "exists"
    return text(transform(expr, _unqualified))


def _declared(node: exp.Column, scope: Scope) -> str:
    """The name of a column as its table declares it, however the text spells it."""
    parts = node.parts
    name = name_of(parts[-1])
    at: Scope | None = scope
    while at is not None:
        if len(parts) == 1:
            found = at.find(name)
        else:
            found = [c for t in at.tables_named(name_of(parts[-2])) for c in t.find(name)]
        if found:
            return found[0].name
        at = at.parent
    return name.text


def _unqualified(expr: Expr) -> Expr:
    if isinstance(expr, Column | OuterColumn):
        # A range variable has no dot in its name; a column may.
        return Column(expr.name.partition(".")[2] or expr.name, expr.of, expr.null)
    return expr


def with_names(query: BoundQuery, names: tuple[str, ...]) -> BoundQuery:
    """The query with its output columns renamed; keys over output columns follow."""
    body = query.body
    old = body.schema.order
    if old == names:
        return query
    if isinstance(body, BoundSelect):
        items = tuple(BoundItem(name, item.expr) for name, item in zip(names, body.items, strict=True))
        return replace(query, body=replace(body, items=items), labels=names)
    fields = tuple(Field(n, f.type, f.nullable) for n, f in zip(names, body.schema.fields, strict=True))
    new = dict(zip(old, names, strict=True))
    order = tuple(_renamed(key, new) for key in query.order)
    if isinstance(body, BoundValues):
        return replace(query, body=replace(body, fields=fields), order=order, labels=names)
    assert isinstance(body, BoundSetOperation)
    return replace(query, body=replace(body, schema=Schema(fields)), order=order, labels=names)


def _renamed(key: SortKey, new: dict[str, str]) -> SortKey:
    expr = key.expr
    if isinstance(expr, Column):
        return replace(key, expr=replace(expr, name=new[expr.name]))
    return key
