"""Queries: SELECT, VALUES, set operations and brackets, each with its WITH, ORDER BY and LIMIT."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sqlglot import exp

from omnigraph_sql.base.expr import Column
from omnigraph_sql.bind.bound import BoundDerived, BoundItem, BoundQuery, BoundSelect
from omnigraph_sql.bind.sql_binder import SqlBinder
from omnigraph_sql.bind.sql_clauses import refuse_clauses
from omnigraph_sql.bind.sql_order import bind_limit, bind_offset, bind_order, by_output
from omnigraph_sql.bind.sql_scope import Scope
from omnigraph_sql.bind.sql_select import bind_select
from omnigraph_sql.bind.sql_set import bind_set, bind_values, labels_of
from omnigraph_sql.bind.sql_with import bind_with

_BRACKETS: Final = frozenset({"this", "with_", "order", "limit", "offset"})
_VALUES: Final = frozenset({"expressions", "order", "limit", "offset", "alias", "joins"})


def bind_query(binder: SqlBinder, tree: exp.Expr, outer: Scope | None = None) -> BoundQuery:
    """Any query. `outer` is the scope of the query around, whose columns this one may read."""
    clause = tree.args.get("with_")
    if clause is None:
        return _bare(binder, tree, outer)
    known = len(binder.ctes)
    try:
        ctes = bind_with(binder, clause, outer)
        query = _bare(binder, tree, outer)
    finally:
        del binder.ctes[known:]
    outside = query.outer_columns.union(*(cte.query.outer_columns for cte in ctes))
    return replace(query, ctes=(*ctes, *query.ctes), outer_columns=outside)


def _bare(binder: SqlBinder, tree: exp.Expr, outer: Scope | None) -> BoundQuery:
    """The query behind its WITH."""
    if isinstance(tree, exp.Select):
        return _select(binder, tree, outer)
    if isinstance(tree, exp.SetOperation):
        return ordered(binder, tree, bind_set(binder, tree, outer), "a set operation")
    if isinstance(tree, exp.Values):
        refuse_clauses(binder, tree, _VALUES)
        return ordered(binder, tree, bind_values(binder, tree, outer), "VALUES")
    if not isinstance(tree, exp.Subquery):
        binder.refuse_node(tree)
    return _brackets(binder, tree, outer)


def _select(binder: SqlBinder, tree: exp.Select, outer: Scope | None) -> BoundQuery:
    found = bind_select(binder, tree, outer)
    limit, offset = bind_limit(binder, tree.args.get("limit")), bind_offset(binder, tree.args.get("offset"))
    return BoundQuery(found.body, found.order, limit, offset, (), found.labels, found.outer)


def _brackets(binder: SqlBinder, tree: exp.Subquery, outer: Scope | None) -> BoundQuery:
    """`(query) ORDER BY … LIMIT …` orders what the brackets give; without clauses behind them they mean nothing."""
    refuse_clauses(binder, tree, _BRACKETS)
    if not isinstance(tree.this, exp.Query | exp.Values):
        raise binder.unsupported("a query is expected in these brackets", tree, "write (SELECT … FROM …)")
    query = binder.bind_query(tree.this, outer)
    if not any(tree.args.get(key) for key in ("order", "limit", "offset")):
        return query
    if isinstance(query.body, BoundSelect) or query.order or query.limit is not None or query.offset is not None:
        query = _wrapped(binder, query)
        outputs = [item.expr for item in _items(query)]
        take = by_output(binder, query.labels, query.schema, "a query in brackets")
        names = {item.name: item.expr for item in _items(query)}
        order = bind_order(binder, tree.args.get("order"), outputs, lambda node: names[_name(take(node))])
        limit, offset = bind_limit(binder, tree.args.get("limit")), bind_offset(binder, tree.args.get("offset"))
        return replace(query, order=order, limit=limit, offset=offset)
    return ordered(binder, tree, query, "a query in brackets")


def _name(expr: object) -> str:
    assert isinstance(expr, Column)
    return expr.name


def _items(query: BoundQuery) -> tuple[BoundItem, ...]:
    assert isinstance(query.body, BoundSelect)
    return query.body.items


def _wrapped(binder: SqlBinder, query: BoundQuery) -> BoundQuery:
    """`SELECT * FROM (query)`."""
    variable = binder.fresh("subquery")
    items = tuple(BoundItem(f.name, Column(f"{variable}.{f.name}", f.type, f.nullable)) for f in query.schema.fields)
    source = BoundDerived(variable, query.schema.order, query)
    return BoundQuery(BoundSelect(items, source), labels=labels_of(query), outer_columns=query.outer_columns)


def ordered(binder: SqlBinder, tree: exp.Expr, query: BoundQuery, what: str) -> BoundQuery:
    """The query with the order and limit that stand behind it; keys are its output columns."""
    schema = query.schema
    outputs = [Column(f.name, f.type, f.nullable) for f in schema.fields]
    order = bind_order(binder, tree.args.get("order"), outputs, by_output(binder, labels_of(query), schema, what))
    limit, offset = bind_limit(binder, tree.args.get("limit")), bind_offset(binder, tree.args.get("offset"))
    if not order and limit is None and offset is None:
        return query
    return replace(query, order=order, limit=limit, offset=offset)
