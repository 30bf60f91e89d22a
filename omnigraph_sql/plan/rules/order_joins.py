"""Joins and expansions in the order of the query graph."""

from __future__ import annotations

from omnigraph_sql.base.catalog import Catalog, NodeType
from omnigraph_sql.plan.node import Plan
from omnigraph_sql.plan.region import collect, is_region
from omnigraph_sql.plan.region_build import build
from omnigraph_sql.plan.region_links import link_edges


def order_joins(plan: Plan, catalog: Catalog) -> Plan:
    """Start every connected area at its best filtered node and step from there; joins over edge tables are steps.

    before  Filter[r.src = a.id, r.dst = b.id, b.code = $c] ← Join ← Scan a, Scan r, Scan b
    after   Expand[b <-[r]- a] ← Scan[b: b.code = $c]
    """
    types = {node.name: node for node in catalog.nodes}
    return _rewrite(plan, types)


def _rewrite(plan: Plan, types: dict[str, NodeType]) -> Plan:
    if not is_region(plan):
        return plan.map_inputs(lambda child: _rewrite(child, types))
    region = collect(plan, lambda inner: _rewrite(inner, types), types)
    link_edges(region, types)
    return build(region, types)
