"""Parts of a statement that are known to give few rows are read first, and what they gave narrows all that they join.

A limited sub-query, an aggregate without groups, a row named by its key: beside a table such a part costs nothing, and
with its values at hand the table is asked for the rows that can match instead of all of them. The values take the place
of the part as constants, and the joins are ordered again around them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base import expr as ex
from omnigraph_sql.base.errors import ExecutionError
from omnigraph_sql.base.expr import Column, Expr, column_names, conjuncts
from omnigraph_sql.base.limits import FRONTIER_NODES_MAX
from omnigraph_sql.base.schema import Field
from omnigraph_sql.base.types import BOOL, DATE, STRING, U64, DataType, is_integer
from omnigraph_sql.bind.bound import JoinKind
from omnigraph_sql.plan import nodes as pn
from omnigraph_sql.plan.node import Plan, has_subquery, shape, walk_plan
from omnigraph_sql.plan.rewrite import filtered, map_everywhere
from omnigraph_sql.plan.rules.count_patterns import count_patterns, plain_aggregates
from omnigraph_sql.plan.rules.drop_empty import drop_empty
from omnigraph_sql.plan.rules.order_joins import order_joins
from omnigraph_sql.plan.rules.push_filters import push_filters
from omnigraph_sql.run.narrow import is_narrow
from omnigraph_sql.run.relation import Build, Domain, Rel
from omnigraph_sql.run.scalars import constant, is_known
from omnigraph_sql.run.scene import Scene

_NARROWED: Final = (JoinKind.INNER, JoinKind.LEFT, JoinKind.RIGHT)


@dataclass(frozen=True, slots=True)
class Given(Plan):
    """Rows that were read already; the table's columns are the fields, in order."""

    fields: tuple[Field, ...]
    table: pa.Table = field(compare=False, repr=False)

    def __post_init__(self) -> None:
        self._shape(shape("given", self.fields))


def given(plan: Given, build: Build, domain: Domain | None) -> Rel:
    del domain
    return build.given(plan.table, plan.schema.order)


def few_first(plan: Plan, scene: Scene) -> Plan | None:
    """The plan with its small parts read and what they join narrowed; None where there is nothing of the kind."""
    if not any(_may_gain(node) for node in walk_plan(plan)):
        return None
    made = _Reading(scene).visit(plan)
    if made is plan:
        return None
    catalog = scene.catalog
    made = plain_aggregates(made)
    for rule in (push_filters, drop_empty, order_joins, count_patterns):
        made = rule(made, catalog)
    return made


def _may_gain(node: Plan) -> bool:
    match node:
        case pn.Join(kind=kind, lateral=lateral):
            return kind in _NARROWED and not lateral
        case pn.SemiJoin():
            return True
        case pn.Filter(predicate=predicate):
            return has_subquery(predicate)
        case _:
            return False


@dataclass(slots=True)
class _Reading:
    """One walk over a plan. `few` are the common table expressions around that give few rows."""

    scene: Scene
    few: set[str] = field(default_factory=set)

    def visit(self, plan: Plan) -> Plan:
        match plan:
            case pn.With():
                return self._with(plan)
            case pn.Join(lateral=True):
                left = self.visit(plan.left)
                return plan if left is plan.left else replace(plan, left=left)
            case pn.Join():
                return self._join(plan.map_inputs(self.visit))
            case pn.SemiJoin():
                input = self.visit(plan.input)
                return self._semi(plan if input is plan.input else replace(plan, input=input))
            case pn.AntiJoin():
                input = self.visit(plan.input)
                return plan if input is plan.input else replace(plan, input=input)
            case pn.Filter():
                return self._filter(plan.map_inputs(self.visit))
            case _:
                return plan.map_inputs(self.visit)

    # ---- what is few ------------------------------------------------------------------------------------------

    def _is_few(self, plan: Plan) -> bool:
        """Whether the plan gives no more than FRONTIER_NODES_MAX rows, whatever the tables hold."""
        match plan:
            case Given():
                return int(plan.table.num_rows) <= FRONTIER_NODES_MAX
            case pn.Limit(input=input, count=count):
                most = constant(count, self.scene) if count is not None else None
                return self._is_few(input) if not isinstance(most, int) else most <= FRONTIER_NODES_MAX
            case pn.Aggregate(groups=(), sets=None):
                return True
            case pn.Values(rows=rows):
                return len(rows) <= FRONTIER_NODES_MAX
            case pn.Scan():
                return is_narrow(plan, 0)
            case pn.CteScan(name=name):
                return name in self.few
            case pn.Project(input=input) | pn.Filter(input=input) | pn.Sort(input=input) | pn.Distinct(input=input):
                return self._is_few(input)
            case _:
                return False

    def _can_read(self, plan: Plan) -> bool:
        """Whether the plan stands by itself, and its rows can be handed on as they are."""
        if plan.outer_columns or pn.arguments(plan) or not len(plan.schema):
            return False
        named = {node.name for node in walk_plan(plan) if isinstance(node, pn.CteScan)}
        known = {cte.name for node in walk_plan(plan) if isinstance(node, pn.With) for cte in node.ctes}
        return named <= known and all(is_known(f.type) for f in plan.schema.fields)

    def _read(self, plan: Plan) -> Given:
        if isinstance(plan, Given):
            return plan
        from omnigraph_sql.run.read import read

        return Given(plan.schema.fields, read(plan, self.scene).read_all())

    # ---- what is narrowed by it -------------------------------------------------------------------------------

    def _join(self, join: pn.Join) -> Plan:
        if join.kind not in _NARROWED:
            return join
        if join.kind is not JoinKind.RIGHT:
            found = self._beside(join.on, join.left, join.right)
            if found is not None:
                return replace(join, left=found[0], right=found[1])
        if join.kind is not JoinKind.LEFT:
            found = self._beside(join.on, join.right, join.left)
            if found is not None:
                return replace(join, left=found[1], right=found[0])
        return join

    def _beside(self, on: Expr | None, small: Plan, large: Plan) -> tuple[Given, Plan] | None:
        """The rows of the small side, and the large side without what matches none of them."""
        if not self._is_few(small) or self._is_few(large) or not _reads_tables(large):
            return None
        pairs = _equalities(on, small, large)
        if not pairs or not self._can_read(small):
            return None
        rows = self._read(small)
        return rows, filtered(large, [_among(far, rows.table[near.name], near.of) for near, far in pairs])

    def _semi(self, plan: pn.SemiJoin) -> Plan:
        """IN (few rows): a list of values."""
        match plan.present:
            case pn.Join(kind=JoinKind.INNER, left=pn.Argument() as row, right=inner, on=ex.Compare(op="=") as on):
                pass
            case _:
                return plan
        pairs = _equalities(on, inner, row)
        if len(pairs) != 1 or not self._is_few(inner) or not self._can_read(inner) or not _reads_tables(plan.input):
            return plan
        (near, far) = pairs[0]
        return filtered(plan.input, [_among(far, self._read(inner).table[near.name], near.of)])

    def _filter(self, plan: pn.Filter) -> Plan:
        """Queries that stand for one value, whatever the row: the value."""
        if not has_subquery(plan.predicate) or not _reads_tables(plan.input):
            return plan
        changed = [self._valued(part) for part in conjuncts(plan.predicate)]
        if all(new is old for new, old in zip(changed, conjuncts(plan.predicate), strict=True)):
            return plan
        return filtered(plan.input, changed)

    def _valued(self, part: Expr) -> Expr:
        match part:
            case ex.Compare(op="=", left=Column() as column, right=ex.ScalarSubquery(relation=Plan() as inner)):
                pass
            case ex.Compare(op="=", left=ex.ScalarSubquery(relation=Plan() as inner), right=Column() as column):
                pass
            case _:
                return part
        of = inner.schema.fields[0].type
        if not _is_plain(of, column.of) or not self._is_few(inner) or not self._can_read(inner):
            return part
        rows = self._read(inner).table
        if rows.num_rows > 1:
            raise ExecutionError(f"a sub-query that stands for one value gave {rows.num_rows} rows")
        return ex.Compare("=", column, ex.Literal(rows[0][0].as_py() if rows.num_rows else None, of))

    # ---- common table expressions -----------------------------------------------------------------------------

    def _with(self, plan: pn.With) -> Plan:
        """Expressions of few rows that something joins are read, once; the others stay."""
        rest: list[pn.Cte] = []
        waiting = list(plan.ctes)
        input, changed = plan.input, False
        while waiting:
            cte = waiting.pop(0)
            body = cte.plan if cte.recursive else self.visit(cte.plan)
            if not cte.recursive and self._is_few(body) and self._can_read(body):
                users = (*(later.plan for later in waiting), input)
                if any(_is_joined(user, cte.name) for user in users):
                    rows = self._read(body)
                    waiting = [replace(later, plan=_put(later.plan, cte.name, rows)) for later in waiting]
                    input, changed = _put(input, cte.name, rows), True
                    continue
            changed = changed or body is not cte.plan
            rest.append(cte if body is cte.plan else replace(cte, plan=body))
        visited = self.visit(input)
        if not changed and visited is plan.input:
            return plan
        return pn.With(tuple(rest), visited) if rest else visited


def _is_joined(plan: Plan, name: str) -> bool:
    """Whether something joins the rows of a common table expression, as far as that is in plain sight."""
    for node in walk_plan(plan):
        sides: tuple[Plan, ...]
        match node:
            case pn.Join(kind=kind, lateral=False) if kind in _NARROWED:
                sides = node.inputs
            case pn.SemiJoin(present=pn.Join(right=right)):
                sides = (right,)
            case _:
                continue
        if any(isinstance(part, pn.CteScan) and part.name == name for side in sides for part in walk_plan(side)):
            return True
    return False


def _put(plan: Plan, name: str, rows: Given) -> Plan:
    """The rows wherever the common table expression of that name is read."""

    def change(node: Plan) -> Plan:
        if not isinstance(node, pn.CteScan) or node.name != name:
            return node
        return Given(node.schema.fields, rows.table.rename_columns(list(node.schema.order)))

    return map_everywhere(plan, change)


# ---- conditions -------------------------------------------------------------------------------------------------


def _equalities(on: Expr | None, small: Plan, large: Plan) -> list[tuple[Column, Column]]:
    """(column of the small side, column of the large one) that the condition equates."""
    found: list[tuple[Column, Column]] = []
    for part in conjuncts(on):
        if not isinstance(part, ex.Compare) or part.op != "=":
            continue
        for near, far in ((part.left, part.right), (part.right, part.left)):
            if not isinstance(near, Column) or not isinstance(far, Column):
                continue
            if near.name in small.schema and far.name in large.schema and _is_plain(near.of, far.of):
                found.append((near, far))
    return found


def _is_plain(of: DataType, other: DataType) -> bool:
    """Whether values of both types are equal when they are the same value."""
    if is_integer(of) and is_integer(other):
        return U64 not in (of, other)
    return of == other and of in (STRING, DATE)


def _among(column: Column, values: pa.ChunkedArray, of: DataType) -> Expr:
    """The column has one of the values; null is none of them."""
    wanted = pc.unique(values.drop_null()).to_pylist()
    if not wanted:
        return ex.Literal(False, BOOL)
    items = tuple(ex.Literal(value, of) for value in wanted)
    return ex.Compare("=", column, items[0]) if len(items) == 1 else ex.InList(column, items)


def _reads_tables(plan: Plan) -> bool:
    """Whether there is anything to narrow."""
    return any(isinstance(node, pn.Scan) for node in walk_plan(plan))


def is_matched(on: Expr | None, sides: tuple[Plan, Plan]) -> bool:
    """Whether the condition is equalities of columns of either side alone."""
    parts = conjuncts(on)
    return bool(parts) and all(
        isinstance(part, ex.Compare) and len(column_names(part)) == 2 and len(_equalities(part, *sides)) == 1
        for part in parts
    )


def matched(plan: pn.Join, rows: pa.Table, others: pa.Table) -> pa.Table:
    """The pairs of rows of the two sides that the equalities of the join allow."""
    ((near, far), *rest) = _equalities(plan.on, plan.left, plan.right)
    first, second = _pairs(rows[near.name], others[far.name])
    left, right = rows.take(first), others.take(second)
    columns = {**dict(zip(left.schema.names, left.columns, strict=True))}
    columns |= dict(zip(right.schema.names, right.columns, strict=True))
    made = pa.table([columns[name] for name in plan.schema.order], names=list(plan.schema.order))
    for one, other in rest:
        kept = pc.equal(made[one.name], made[other.name].cast(made[one.name].type))
        made = made.filter(kept)
    return made


def _pairs(left: pa.ChunkedArray, right: pa.ChunkedArray) -> tuple[pa.Array, pa.Array]:
    """Places of equal values; null equals nothing."""
    places: dict[object, list[int]] = {}
    for place, value in enumerate(left.to_pylist()):
        if value is not None:
            places.setdefault(value, []).append(place)
    first: list[int] = []
    second: list[int] = []
    for place, value in enumerate(right.to_pylist()):
        found = places.get(value, ())
        first.extend(found)
        second.extend([place] * len(found))
    return pa.array(first, pa.int64()), pa.array(second, pa.int64())
