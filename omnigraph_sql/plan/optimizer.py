"""The rules in order; the order is the document."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from omnigraph_sql.base.catalog import Catalog
from omnigraph_sql.plan.node import Plan, walk_plan
from omnigraph_sql.plan.nodes import Project
from omnigraph_sql.plan.rewrite import map_subqueries
from omnigraph_sql.plan.rules.count_patterns import count_patterns, plain_aggregates
from omnigraph_sql.plan.rules.drop_empty import drop_empty
from omnigraph_sql.plan.rules.fold_constants import fold_constants
from omnigraph_sql.plan.rules.merge_projections import merge_projections
from omnigraph_sql.plan.rules.order_joins import order_joins
from omnigraph_sql.plan.rules.prune_columns import prune_columns
from omnigraph_sql.plan.rules.push_filters import push_filters
from omnigraph_sql.plan.rules.unnest_subqueries import unnest_subqueries

Rule = Callable[[Plan, Catalog], Plan]

_ROUNDS_MAX: Final = 4


def optimize(plan: Plan, catalog: Catalog) -> Plan:
    """An equivalent plan; optimising it again changes nothing."""
    plan = _settled(plain_aggregates(plan), catalog)
    for rule in LAST_RULES:
        plan = rule(plan, catalog)
    return plan


def _settled(plan: Plan, catalog: Catalog) -> Plan:
    for _ in range(_ROUNDS_MAX):
        for rule in RULES:
            plan = rule(plan, catalog)
        if _is_settled(plan, catalog):
            break
    return plan


def _is_settled(plan: Plan, catalog: Catalog) -> bool:
    """A column that is read no longer may have been all that kept a projection where it stood; rarely it was."""
    if sum(isinstance(node, Project) for node in walk_plan(plan)) <= 1:
        return True
    return merge_projections(plan, catalog) is plan


def optimize_subqueries(plan: Plan, catalog: Catalog) -> Plan:
    """Optimise the plans of sub-queries that stay inside expressions."""
    if not any(node.has_subqueries for node in walk_plan(plan)):
        return plan

    def inside(relation: Plan) -> Plan:
        return _settled(relation, catalog)

    def visit(node: Plan) -> Plan:
        node = node.map_inputs(visit)
        if not node.has_subqueries:
            return node
        return node.map_exprs(lambda expr: map_subqueries(expr, inside))

    return visit(plan)


RULES: Final[tuple[Rule, ...]] = (
    fold_constants,
    prune_columns,  # early, so that the rules between handle narrow rows
    merge_projections,
    unnest_subqueries,
    optimize_subqueries,
    push_filters,
    drop_empty,
    order_joins,
    prune_columns,  # columns that only a condition read are read no longer
)
LAST_RULES: Final[tuple[Rule, ...]] = (count_patterns,)  # what they make, no other rule looks into
