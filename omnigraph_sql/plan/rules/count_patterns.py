"""Aggregates over patterns that are trees are tallied: no path is made."""

from __future__ import annotations

from omnigraph_sql.base.catalog import Catalog
from omnigraph_sql.plan.node import Plan, walk_everywhere
from omnigraph_sql.plan.nodes import Aggregate
from omnigraph_sql.plan.pattern import Tally, tallied
from omnigraph_sql.plan.rewrite import map_everywhere


def count_patterns(plan: Plan, catalog: Catalog) -> Plan:
    """An aggregate whose keys and arguments are columns of single nodes becomes a tally.

    before  Aggregate[count(*) by b.city] ← Expand[a -[r]-> b] ← Scan[a]
    after   Tally[count(*) by b.city] ← Expand[a -[r]-> b] ← Scan[a]

    The input stays, it says what is counted. What is walked one hop, or over all walks, is counted from degrees;
    circles, shortest distances, paths and conditions between nodes are not.
    """
    return map_everywhere(plan, lambda node: tallied(node, catalog) if isinstance(node, Aggregate) else node)


def plain_aggregates(plan: Plan) -> Plan:
    """The plan as it was before aggregates became tallies."""
    if not any(isinstance(node, Tally) for node in walk_everywhere(plan)):
        return plan
    return map_everywhere(plan, lambda node: node.spelled_out() if isinstance(node, Tally) else node)
