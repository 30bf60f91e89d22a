"""Answers that are small: what stands above a tally or a pattern from few nodes is done without the query engine.

Whatever is not plain here (an expression, a key that may be null, a fraction that is no number) goes the usual way.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base import expr as ex
from omnigraph_sql.base.types import arrow_type
from omnigraph_sql.bind.bound import JoinKind
from omnigraph_sql.plan import nodes as pn
from omnigraph_sql.plan.node import Plan
from omnigraph_sql.plan.pattern import Tally
from omnigraph_sql.run.few import Given, is_matched, matched
from omnigraph_sql.run.narrow import is_narrow
from omnigraph_sql.run.point import rows_by_id
from omnigraph_sql.run.scalars import NOT_CONSTANT, constant, is_known
from omnigraph_sql.run.scene import Scene
from omnigraph_sql.run.tally import Untold, tally_table
from omnigraph_sql.run.trails import Lost, trail_table


def answer(plan: Plan, scene: Scene) -> pa.Table | None:
    """The rows of a plan that is a tally, or a pattern from few nodes, with projections, an order and a limit above it.

    None for any other, and where they are not to be had that way.
    """
    if not _is_tail(plan):
        return None
    try:
        return _rows(plan, scene)
    except (Untold, Lost):
        return None


def _is_tail(plan: Plan) -> bool:
    match plan:
        case Tally():
            return True
        case pn.Expand():
            return not plan.path_columns and is_narrow(plan)
        case pn.Project(input=input, items=items):
            return all(isinstance(e, ex.Column) and is_known(e.type) for _, e in items) and _is_tail(input)
        case pn.Sort(input=input, keys=keys):
            return all(isinstance(key.expr, ex.Column) for key in keys) and _is_tail(input)
        case pn.Limit(input=input) | pn.Relabel(input=input):
            return _is_tail(input)
        case pn.Aggregate(input=input, groups=(), sets=None, aggregates=calls):
            return not isinstance(plan, Tally) and all(_counts(call) for _, call in calls) and _is_tail(input)
        case Given():
            return True
        case pn.Scan():
            return is_narrow(plan, 0)
        case pn.Join(kind=JoinKind.INNER, left=left, right=right, on=on, lateral=False):
            small = isinstance(left, Given) or isinstance(right, Given)
            return small and is_matched(on, (left, right)) and _is_tail(left) and _is_tail(right)
        case _:
            return False


def _rows(plan: Plan, scene: Scene) -> pa.Table:
    match plan:
        case Tally():
            return tally_table(plan, scene)
        case pn.Expand():
            return trail_table(plan, scene)
        case pn.Project(input=input, items=items):
            rows = _rows(input, scene)
            columns = [rows[e.name].cast(arrow_type(e.type)) for _, e in items if isinstance(e, ex.Column)]
            return pa.table(columns, names=[name for name, _ in items])
        case pn.Sort(input=input):
            return _sorted(_rows(input, scene), plan, None)
        case pn.Limit(input=input):
            count, offset = (_whole(e, scene) for e in (plan.count, plan.offset))
            most = None if count is None else count + (offset or 0)
            if isinstance(input, pn.Sort):
                return _sorted(_rows(input.input, scene), input, most).slice(offset or 0, count)
            return _rows(input, scene).slice(offset or 0, count)
        case pn.Relabel(input=input):
            return _rows(input, scene)
        case pn.Aggregate(input=input, aggregates=calls):
            rows = _rows(input, scene)
            return pa.table({name: pa.array([_counted(call, rows)], pa.int64()) for name, call in calls})
        case Given(table=table):
            return table
        case pn.Scan():
            found = rows_by_id(plan, scene)
            if found is None:
                raise Lost
            return found
        case pn.Join(left=left, right=right):
            return matched(plan, _rows(left, scene), _rows(right, scene))
        case _:
            raise Untold


def _counts(call: ex.Aggregate) -> bool:
    plain = call.function == "count" and not call.distinct and call.filter is None and not call.order
    return plain and all(isinstance(argument, ex.Column) for argument in call.arguments) and len(call.arguments) <= 1


def _counted(call: ex.Aggregate, rows: pa.Table) -> int:
    missing = [rows[argument.name].null_count for argument in call.arguments if isinstance(argument, ex.Column)]
    return int(rows.num_rows) - int(sum(missing))


def _whole(expr: ex.Expr | None, scene: Scene) -> int | None:
    if expr is None:
        return None
    value = constant(expr, scene)
    if value is NOT_CONSTANT or isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise Untold
    return value


def _sorted(rows: pa.Table, plan: pn.Sort, most: int | None) -> pa.Table:
    """The rows in order, or the first of them."""
    directions: dict[str, str] = {}
    for key in plan.keys:
        assert isinstance(key.expr, ex.Column)
        # A column that comes again decides nothing any more.
        directions.setdefault(key.expr.name, "descending" if key.descending else "ascending")
    names = list(directions)
    if any(rows[name].null_count for name in names):
        raise Untold
    for name in names:
        if pa.types.is_floating(rows[name].type) and pc.any(pc.is_nan(rows[name])).as_py():
            raise Untold
    if most is not None and most < rows.num_rows:
        rows = _first(rows, names[0], plan.keys[0].descending, most)
    order = pc.sort_indices(rows.select(names), sort_keys=list(directions.items()))
    return rows.take(order if most is None else order.slice(0, most))


def _first(rows: pa.Table, name: str, descending: bool, most: int) -> pa.Table:
    """The rows that can be among the first: those whose first key is no later than that of row number `most`."""
    if most == 0:
        return rows.slice(0, 0)
    if not (pa.types.is_integer(rows[name].type) or pa.types.is_floating(rows[name].type)):
        return rows
    values: npt.NDArray[np.generic] = rows[name].to_numpy()
    place = len(values) - most if descending else most - 1
    border = np.partition(values, place)[place]
    kept = values >= border if descending else values <= border
    return rows.take(pa.array(np.flatnonzero(kept)))
