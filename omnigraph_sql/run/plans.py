"""Which plan node is carried out where."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import cast

from omnigraph_sql.base.errors import InternalError
from omnigraph_sql.plan import nodes as pn
from omnigraph_sql.plan.node import Plan
from omnigraph_sql.plan.pattern import Tally
from omnigraph_sql.run import expand, few, joins, search, sources, steps, tally
from omnigraph_sql.run.relation import Build, Domain, Rel

_Maker = Callable[[Plan, Build, Domain | None], Rel]


@cache
def _makers() -> dict[type[Plan], _Maker]:
    return cast(
        "dict[type[Plan], _Maker]",
        {
            pn.Aggregate: steps.aggregate,
            pn.AntiJoin: joins.anti,
            pn.Argument: sources.argument,
            pn.CteScan: sources.cte_scan,
            pn.Distinct: steps.distinct,
            pn.Expand: expand.expand,
            pn.Filter: steps.filter_rows,
            pn.FunctionScan: sources.function_scan,
            pn.Join: joins.join,
            pn.Limit: steps.limit,
            pn.OneRow: sources.one_row,
            pn.Project: steps.project,
            pn.Rank: search.rank,
            pn.Relabel: steps.relabel,
            pn.Scan: sources.scan,
            pn.SemiJoin: joins.semi,
            pn.SetOp: joins.set_op,
            pn.Sort: steps.sort,
            few.Given: few.given,
            Tally: tally.tally,
            pn.Values: sources.values,
            pn.Window: steps.window,
            pn.With: sources.with_ctes,
        },
    )


def relation_of(plan: Plan, build: Build, domain: Domain | None) -> Rel:
    """The rows of a read plan, for every row of `domain` where it depends on one."""
    maker = _makers().get(type(plan))
    if maker is None:
        raise InternalError(f"{type(plan).__name__} is not a read")
    return maker(plan, build, domain)
