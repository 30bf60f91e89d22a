"""Recursive common table expressions: the part that scans itself is run over the rows it found last, until none."""

from __future__ import annotations

import pyarrow as pa

from omnigraph_sql.base.errors import ExecutionError, ResourceLimitExceeded
from omnigraph_sql.base.limits import RECURSION_ROUNDS_MAX
from omnigraph_sql.base.types import arrow_type
from omnigraph_sql.plan import nodes as pn
from omnigraph_sql.plan.node import walk_plan
from omnigraph_sql.run.relation import Build, Domain, Rel
from omnigraph_sql.run.scalars import is_known
from omnigraph_sql.run.subqueries import free_names


def recursive_rows(cte: pn.Cte, build: Build, domain: Domain | None) -> Rel:
    """Rows of `base UNION [ALL] step`, where the step scans the expression."""
    plan = cte.plan
    while isinstance(plan, pn.Relabel):
        plan = plan.input
    if not _scans(plan, cte.name):
        return build.plan(plan, domain)
    if not isinstance(plan, pn.SetOp) or plan.op != "union" or _scans(plan.left, cte.name):
        raise ExecutionError(f"{cte.name} is not of the form base UNION [ALL] step")
    if domain is not None and free_names(plan):
        raise ExecutionError(f"{cte.name} is recursive and depends on the row around it, which is not carried out yet")
    names = plan.schema.order
    found = _fitted(build.fetch(build.plan(plan.left, None), plan.left.schema.order), plan)
    last = found = found if plan.all else _new(found, found.slice(0, 0))
    rounds = 0
    while last.num_rows:
        rounds += 1
        if rounds > RECURSION_ROUNDS_MAX:
            raise ResourceLimitExceeded(
                f"{cte.name} does not end after {RECURSION_ROUNDS_MAX} rounds",
                resource="recursion_rounds",
                limit=RECURSION_ROUNDS_MAX,
                actual=rounds,
                hint="end the recursion with a condition, or use UNION without ALL",
            )
        build.ctes[cte.name] = build.given(last, names)
        last = _fitted(build.fetch(build.plan(plan.right, None), plan.right.schema.order), plan)
        last = last if plan.all else _new(last, found)
        found = pa.concat_tables([found, last])
    return build.given(found, names)


def _scans(plan: pn.Plan, name: str) -> bool:
    return any(isinstance(node, pn.CteScan) and node.name == name for node in walk_plan(plan))


def _fitted(table: pa.Table, plan: pn.SetOp) -> pa.Table:
    """Under the names and in the types of the expression."""
    table = table.rename_columns(list(plan.schema.order))
    fields = [
        pa.field(f.name, arrow_type(f.type) if is_known(f.type) else table.schema.field(f.name).type)
        for f in plan.schema.fields
    ]
    try:
        return table.cast(pa.schema(fields))
    except pa.ArrowInvalid as error:
        raise ExecutionError("a value of the recursive step does not fit its column") from error


def _new(rows: pa.Table, known: pa.Table) -> pa.Table:
    """Rows without repeats that are not known yet."""
    seen = set(map(_hashable, known.to_pylist()))
    kept = []
    for place, row in enumerate(rows.to_pylist()):
        key = _hashable(row)
        if key not in seen:
            seen.add(key)
            kept.append(place)
    return rows.take(pa.array(kept, pa.int64()))


def _hashable(value: object) -> object:
    if isinstance(value, dict):
        return tuple((k, _hashable(v)) for k, v in value.items())
    return tuple(map(_hashable, value)) if isinstance(value, list) else value
