"""Sub-queries as values and as sides of comparisons: scalar ones, IN, `op ANY`, `op ALL`, also over lists."""

from __future__ import annotations

from sqlglot import exp

from omnigraph_sql.base.expr import Column, Expr, InSubquery, ScalarSubquery
from omnigraph_sql.bind.bound import BoundQuery
from omnigraph_sql.bind.sql_expr import Site
from omnigraph_sql.bind.sql_operands import compare, membership
from omnigraph_sql.bind.sql_operators import is_row, negated


def scalar_subquery(site: Site, node: exp.Expr) -> Expr:
    return ScalarSubquery(_one_column(site, node, "a query that stands for a value"))


def in_subquery(site: Site, operand: exp.Expr, query: exp.Expr, op: str, quantifier: str) -> Expr:
    """`operand op ANY|ALL (query)`; `<> ALL` is NOT IN."""
    if is_row(operand):
        hint = "write EXISTS (SELECT … WHERE …) instead"
        raise site.binder.unsupported("a row is not looked for in a query", operand, hint)
    bound = site.bind(operand)
    relation = _one_column(site, query, "this query")
    column = relation.schema.fields[0]
    # Compared as if with the query's column, so that types are checked and literals take its type.
    made = compare(site, op, bound, Column(column.name, column.type, column.nullable), (operand, query))
    if (op, quantifier) == ("!=", "all"):
        return InSubquery(made.left, relation, "=", "any", negated=True)
    return InSubquery(made.left, relation, op, quantifier)


def _one_column(site: Site, node: exp.Expr, what: str) -> BoundQuery:
    query = site.binder.bind_query(node, site.scope)
    if len(query.schema) != 1:
        raise site.binder.mismatch(f"{what} has one column, not {len(query.schema)}", node, "select one column")
    return query


def quantified(site: Site, op: str, left: exp.Expr, right: exp.Expr) -> Expr:
    """`left op ANY|SOME|ALL (…)`: over a query, over a list of values, over a list-valued expression."""
    every = isinstance(right, exp.All) or (isinstance(right, exp.Anonymous) and right.name.lower() == "all")
    quantifier = "all" if every else "any"
    inner = _inside(site, right, quantifier)
    if isinstance(inner, exp.Query | exp.Values):
        return in_subquery(site, left, inner, op, quantifier)
    if (op, quantifier) not in (("=", "any"), ("!=", "all")):
        hint = "write list_any_match(list, x -> …)"
        raise site.binder.unsupported(f"{op} {quantifier.upper()} takes a query, not a list", right, hint)
    found = _found(site, left, inner)
    return negated(found) if every else found


def _found(site: Site, left: exp.Expr, inner: exp.Expr) -> Expr:
    from omnigraph_sql.bind.sql_predicates import in_list

    operand = site.bind(left)
    if isinstance(inner, exp.Array) and inner.expressions:
        items = inner.expressions
        if not any(isinstance(item, exp.Comprehension) for item in items):
            return in_list(site, operand, left, [site.bind(item) for item in items], items)
    return membership(site, site.bind(inner), operand, (inner, left))


def _inside(site: Site, right: exp.Expr, quantifier: str) -> exp.Expr:
    if isinstance(right, exp.Anonymous):
        if len(right.expressions) != 1:
            raise site.binder.mismatch(f"{quantifier.upper()} takes one list or one query", right)
        inner: exp.Expr = right.expressions[0]
    else:
        inner = right.this
    while isinstance(inner, exp.Paren):
        inner = inner.this
    return inner
