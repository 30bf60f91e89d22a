"""One statement for many sets of values: the row an insert spells out becomes as many rows as there are sets."""

from __future__ import annotations

import pyarrow as pa

from omnigraph_sql.base import expr as ex
from omnigraph_sql.base.expr import NOW_PARAMETER, Expr, Value
from omnigraph_sql.base.types import ANY, arrow_type, is_open
from omnigraph_sql.bind.bound import OnConflict
from omnigraph_sql.plan.mutations import Insert, Unit, Upsert
from omnigraph_sql.plan.node import SUBQUERIES, Plan
from omnigraph_sql.plan.nodes import Values
from omnigraph_sql.run.constants import column_of
from omnigraph_sql.run.read import evaluate
from omnigraph_sql.run.scalars import NotConstant, constant
from omnigraph_sql.run.scene import Scene, Sets


def takes_sets(plan: Plan) -> bool:
    """Whether carrying the plan out once for all sets means the same as once for each, one after the other.

    That is so for one row of values that looks at no table, and gives nothing back. ON CONFLICT DO UPDATE would meet a
    key twice where the statements, one by one, meet what the one before left.
    """
    match plan:
        case Unit(statements=(statement,)):
            return takes_sets(statement)
        case Insert(on_conflict=OnConflict.UPDATE):
            return False
        case Insert(input=Values(rows=(row,)), returning=()) | Upsert(input=Values(rows=(row,)), returning=()):
            return not any(_undecided(part) for expr in row for part in ex.walk(expr))
        case _:
            return False


def _undecided(part: Expr) -> bool:
    """What looks at a table, or has a type that follows from each value."""
    return isinstance(part, SUBQUERIES) or (isinstance(part, ex.Param) and is_open(part.of))


def rows_of_sets(plan: Values, sets: Sets, scene: Scene) -> pa.Table:
    """The one row of the plan for every set, in their order."""
    (row,) = plan.rows
    arrays: dict[int, pa.Array | pa.ChunkedArray] = {}
    waiting: list[tuple[int, Expr]] = []
    for place, (field, expr) in enumerate(zip(plan.fields, row, strict=True)):
        values = _known(expr, sets, scene)
        if values is None:
            waiting.append((place, expr))
        else:
            arrays[place] = column_of(field, values)
    arrays.update(_computed(waiting, sets, scene))
    ordered = [arrays[place] for place in range(len(plan.fields))]
    return pa.Table.from_arrays(ordered, names=[field.name for field in plan.fields])


def _known(expr: Expr, sets: Sets, scene: Scene) -> list[Value] | None:
    """The values of a parameter or a constant; None for what has to be computed."""
    if isinstance(expr, ex.Param) and expr.name != NOW_PARAMETER:
        return list(sets.columns[expr.name])
    if any(isinstance(part, ex.Param) and part.name != NOW_PARAMETER for part in ex.walk(expr)):
        return None
    value = constant(expr, scene)
    return None if isinstance(value, NotConstant) else [value] * sets.count


def _computed(waiting: list[tuple[int, Expr]], sets: Sets, scene: Scene) -> dict[int, pa.ChunkedArray]:
    if not waiting:
        return {}
    params = {part for _, expr in waiting for part in ex.walk(expr) if _is_given(part)}
    given: dict[str, pa.Array] = {"#": pa.array(range(sets.count), pa.int64())}
    for param in params:
        if isinstance(param, ex.Param):
            given[_column(param)] = pa.array(sets.columns[param.name], arrow_type(param.of))

    def as_column(part: Expr) -> Expr:
        return ex.Column(_column(part), part.of) if isinstance(part, ex.Param) and _is_given(part) else part

    # The engine may answer in an order of its own; the numbers put the rows back.
    items = [(str(place), ex.transform(expr, as_column)) for place, expr in waiting]
    made = evaluate((("#", ex.Column("#", ANY)), *items), pa.table(given), scene).sort_by("#")
    return {place: made[str(place)] for place, _ in waiting}


def _is_given(part: Expr) -> bool:
    return isinstance(part, ex.Param) and part.name != NOW_PARAMETER


def _column(param: ex.Param) -> str:
    return f"${param.name}"
