"""What is known before any row is read is computed before any row is read."""

from __future__ import annotations

from omnigraph_sql.base.catalog import Catalog
from omnigraph_sql.base.expr import FALSE, TRUE, Exists, Expr, InSubquery
from omnigraph_sql.plan.empty import emptied
from omnigraph_sql.plan.fold import fold
from omnigraph_sql.plan.node import Plan, Subquery, transform_subqueries
from omnigraph_sql.plan.rewrite import is_nothing, over_relation


def fold_constants(plan: Plan, catalog: Catalog) -> Plan:
    """Compute constants with SQL's three truth values, push NOT inwards, and drop what a contradiction cuts off.

    before  Filter[not (a.code = 'LIM' or 1 > 2)] ← Scan[a]
    after   Filter[a.code != 'LIM'] ← Scan[a]

    before  Sort[a.code] ← Filter[1 = 2] ← Scan[a]
    after   Values[]
    """
    del catalog
    return _visit(plan)


def _visit(node: Plan) -> Plan:
    return emptied(node.map_inputs(_visit).map_exprs(_fold_expr))


def _fold_expr(expr: Expr) -> Expr:
    return fold(transform_subqueries(expr, _fold_subquery))


def _fold_subquery(expr: Subquery) -> Expr:
    return _settled(over_relation(expr, _visit))


def _settled(expr: Subquery) -> Expr:
    """Nothing exists in an empty query, nothing is in it, and everything is true of all its rows."""
    match expr:
        case Exists(relation=Plan() as relation, negated=negated) if is_nothing(relation):
            return TRUE if negated else FALSE
        case InSubquery(relation=Plan() as relation, quantifier=quantifier, negated=negated) if is_nothing(relation):
            return TRUE if (quantifier == "all") != negated else FALSE
        case _:
            return expr
