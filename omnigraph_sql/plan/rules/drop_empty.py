"""Parts of a plan that can have no row go."""

from __future__ import annotations

from omnigraph_sql.base.catalog import Catalog
from omnigraph_sql.plan.empty import emptied
from omnigraph_sql.plan.node import Plan, map_plan, walk_plan
from omnigraph_sql.plan.rewrite import is_nothing


def drop_empty(plan: Plan, catalog: Catalog) -> Plan:
    """Nodes over rows that cannot be there are as empty as those.

    before  Sort[u.x] ← Union all ← Values[], Values[]
    after   Values[]

    Conditions that meet constants on their way down leave such rows behind.
    """
    del catalog
    return map_plan(plan, emptied) if any(map(is_nothing, walk_plan(plan))) else plan
