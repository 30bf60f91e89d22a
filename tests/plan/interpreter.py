"""A naive interpreter of read plans over small tables: what a plan means, with no thought for speed.

It is the measure for rewrite rules: a plan before and after a rule must give the same rows. On the way it checks that
every node makes exactly the columns its schema promises, and no null where the schema promises none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cmp_to_key
from typing import Any, Final, cast

from omnigraph_sql.base.expr import Expr, SortKey
from omnigraph_sql.bind.bound import JoinKind, Walk
from omnigraph_sql.plan import nodes as pn
from omnigraph_sql.plan.node import Plan
from omnigraph_sql.plan.pattern import Tally
from tests.plan.values import Row, Tables, World, aggregate_of, value_of


def run(plan: Plan, tables: Tables, parameters: Row | None = None) -> list[tuple[Any, ...]]:
    """The rows of a plan, in order, columns in the order of its schema."""
    rows = _run(plan, World(tables, parameters or {}, run=_run))
    return [_in_order(row, plan) for row in rows]


def bag(rows: list[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    """Rows without their order; lists become hashable."""
    return Counter(tuple(tuple(v) if isinstance(v, list) else v for v in row) for row in rows)


def _run(plan: Plan, world: World) -> list[Row]:
    rows = list(_RUNNERS[type(plan)](plan, world))
    for row in rows:
        assert set(row) == set(plan.schema.order), f"{type(plan).__name__} promised other columns"
        for f in plan.schema.fields:
            assert f.nullable or row[f.name] is not None, f"{type(plan).__name__} gave null for {f.name}"
    return rows


def _in_order(row: Row, plan: Plan) -> tuple[Any, ...]:
    return tuple(row[name] for name in plan.schema.order)


def _holds(predicate: Expr | None, row: Row, world: World) -> bool:
    return predicate is None or value_of(predicate, row, world) is True


# ---- sources ----------------------------------------------------------------------------------------------------


def _scan(plan: pn.Scan, world: World) -> Iterator[Row]:
    for stored in world.tables[plan.type.name]:
        row = {f"{plan.variable}.{c}": v for c, v in stored.items()}
        if _holds(plan.filter, row, world):
            yield {f"{plan.variable}.{c}": stored[c] for c in plan.columns}


def _argument(plan: pn.Argument, world: World) -> Iterator[Row]:
    assert world.argument is not None, "an argument outside of a semi or anti join"
    yield {f.name: world.argument[f.name] for f in plan.fields}


def _values(plan: pn.Values, world: World) -> Iterator[Row]:
    for row in plan.rows:
        yield {f.name: value_of(e, {}, world) for f, e in zip(plan.fields, row, strict=True)}


def _one_row(plan: pn.OneRow, world: World) -> Iterator[Row]:
    del plan, world
    yield {}


def _function(plan: pn.FunctionScan, world: World) -> Iterator[Row]:
    assert plan.function == "unnest"
    for item in value_of(plan.arguments[0], {}, world) or ():
        yield {f"{plan.variable}.{plan.fields[0].name}": item}


def _cte(plan: pn.CteScan, world: World) -> Iterator[Row]:
    for values in world.ctes[plan.name]:
        yield {f"{plan.variable}.{f.name}": v for f, v in zip(plan.fields, values, strict=True)}


def _with(plan: pn.With, world: World) -> Iterator[Row]:
    for cte in plan.ctes:
        assert not cte.recursive
        rows = [list(_in_order(row, cte.plan)) for row in _run(cte.plan, world)]
        world = replace(world, ctes={**world.ctes, cte.name: rows})
    yield from _run(plan.input, world)


# ---- steps ------------------------------------------------------------------------------------------------------


def _expand(plan: pn.Expand, world: World) -> Iterator[Row]:
    nodes = {row["id"]: row for row in world.tables[plan.target_type.name]}
    steps = _EXPANSIONS[plan.walk]
    for row in _run(plan.input, world):
        start = row[f"{plan.source}.id"]
        for edge, end in steps(plan, world, start):
            at = {f"{plan.edge_variable}.{c}": v for c, v in edge.items()} if edge is not None else {}
            target = {f"{plan.target}.{c}": v for c, v in nodes[end].items()}
            if _holds(plan.edge_filter, at, world) and _holds(plan.target_filter, target, world):
                yield (
                    row
                    | {f"{plan.edge_variable}.{c}": at[f"{plan.edge_variable}.{c}"] for c in plan.edge_columns}
                    | {f"{plan.target}.{c}": target[f"{plan.target}.{c}"] for c in plan.target_columns}
                )


def _edges(plan: pn.Expand, world: World, start: Any) -> Iterator[tuple[Row | None, Any]]:
    """Stored edges at `start` and their other ends; a loop counts once, whichever way it is looked at."""
    for edge in world.tables[plan.edge.name]:
        if plan.direction in ("out", "both") and edge["src"] == start:
            yield edge, edge["dst"]
        elif plan.direction in ("in", "both") and edge["dst"] == start:
            yield edge, edge["src"]


def _neighbors(plan: pn.Expand, world: World, start: Any) -> Iterator[tuple[Row | None, Any]]:
    """Every node that a walk of an allowed length ends at, once."""
    found: dict[Any, None] = {}
    reached = {start: None}
    if plan.hops.minimum == 0:
        found[start] = None
    for length in range(1, plan.hops.maximum + 1):
        reached = {end: None for at in reached for _, end in _edges(plan, world, at)}
        if length >= plan.hops.minimum:
            found |= reached
    return ((None, end) for end in found)


def _walks(plan: pn.Expand, world: World, start: Any) -> Iterator[tuple[Row | None, Any]]:
    ends = [start]
    if plan.hops.minimum == 0:
        yield None, start
    for length in range(1, plan.hops.maximum + 1):
        ends = [end for at in ends for _, end in _edges(plan, world, at)]
        if length >= plan.hops.minimum:
            yield from ((None, end) for end in ends)


_EXPANSIONS: Final[dict[Walk, Callable[[pn.Expand, World, Any], Iterator[tuple[Row | None, Any]]]]] = {
    Walk.EDGES: _edges,
    Walk.NEIGHBORS: _neighbors,
    Walk.WALKS: _walks,
}


# ---- one input --------------------------------------------------------------------------------------------------


def _filter(plan: pn.Filter, world: World) -> Iterator[Row]:
    return (row for row in _run(plan.input, world) if _holds(plan.predicate, row, world))


def _project(plan: pn.Project, world: World) -> Iterator[Row]:
    for row in _run(plan.input, world):
        yield {name: value_of(e, row, world) for name, e in plan.items}


def _aggregate(plan: pn.Aggregate, world: World) -> Iterator[Row]:
    rows = _run(plan.input, world)
    for chosen in plan.sets if plan.sets is not None else (tuple(range(len(plan.groups))),):
        groups: dict[tuple[Any, ...], list[Row]] = {}
        if not chosen:
            groups[(None,) * len(plan.groups)] = []
        for row in rows:
            key = tuple(value_of(e, row, world) if i in chosen else None for i, (_, e) in enumerate(plan.groups))
            groups.setdefault(key, []).append(row)
        for key, members in groups.items():
            row = {name: value for (name, _), value in zip(plan.groups, key, strict=True)}
            yield row | {name: aggregate_of(call, members, world) for name, call in plan.aggregates}


def _sorted(rows: list[Row], keys: tuple[SortKey, ...], world: World) -> list[Row]:
    def order(left: Row, right: Row) -> int:
        for key in keys:
            one, other = value_of(key.expr, left, world), value_of(key.expr, right, world)
            if one == other:
                continue
            if one is None or other is None:
                return -1 if (one is None) == key.nulls_first else 1
            return -1 if (one < other) != key.descending else 1
        return 0

    return sorted(rows, key=cmp_to_key(order))


def _sort(plan: pn.Sort, world: World) -> Iterator[Row]:
    return iter(_sorted(_run(plan.input, world), plan.keys, world))


def _limit(plan: pn.Limit, world: World) -> Iterator[Row]:
    rows = _run(plan.input, world)
    skip = value_of(plan.offset, {}, world) if plan.offset is not None else 0
    count = value_of(plan.count, {}, world) if plan.count is not None else len(rows)
    return iter(rows[skip : skip + count])


def _distinct(plan: pn.Distinct, world: World) -> Iterator[Row]:
    seen: set[Any] = set()
    for row in _run(plan.input, world):
        key = (
            tuple(value_of(e, row, world) for e in plan.on) if plan.on else tuple(map(_hashable, _in_order(row, plan)))
        )
        if key not in seen:
            seen.add(key)
            yield row


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


# ---- two inputs -------------------------------------------------------------------------------------------------


def _join(plan: pn.Join, world: World) -> Iterator[Row]:
    lefts = _run(plan.left, world)
    fixed = None if plan.lateral else _run(plan.right, world)
    met: set[int] = set()
    for left in lefts:
        rights = _run(plan.right, world.inside(left)) if fixed is None else fixed
        alone = True
        for number, right in enumerate(rights):
            if _holds(plan.on, left | right, world):
                met.add(number)
                alone = False
                yield left | right
        if alone and plan.kind in (JoinKind.LEFT, JoinKind.FULL):
            yield left | dict.fromkeys(plan.right.schema.order)
    if plan.kind in (JoinKind.RIGHT, JoinKind.FULL) and fixed is not None:
        empty = dict.fromkeys(plan.left.schema.order)
        yield from (empty | right for number, right in enumerate(fixed) if number not in met)


def _semi(plan: pn.SemiJoin, world: World) -> Iterator[Row]:
    return (row for row in _run(plan.input, world) if _run(plan.present, replace(world, argument=row)))


def _anti(plan: pn.AntiJoin, world: World) -> Iterator[Row]:
    return (row for row in _run(plan.input, world) if not _run(plan.absent, replace(world, argument=row)))


def _set_operation(plan: pn.SetOp, world: World) -> Iterator[Row]:
    left, right = ([_in_order(row, side) for row in _run(side, world)] for side in (plan.left, plan.right))
    kept = {
        ("union", True): lambda: left + right,
        ("union", False): lambda: list(dict.fromkeys(left + right)),
        ("intersect", True): lambda: list((Counter(left) & Counter(right)).elements()),
        ("intersect", False): lambda: [v for v in dict.fromkeys(left) if v in right],
        ("except", True): lambda: list((Counter(left) - Counter(right)).elements()),
        ("except", False): lambda: [v for v in dict.fromkeys(left) if v not in right],
    }[(plan.op, plan.all)]()
    return (dict(zip(plan.schema.order, values, strict=True)) for values in kept)


def _relabel(plan: pn.Relabel, world: World) -> Iterator[Row]:
    return iter(_run(plan.input, world))


_RUNNERS = cast(
    "dict[type[Plan], Callable[[Plan, World], Iterator[Row]]]",
    {
        pn.Aggregate: _aggregate,
        Tally: _aggregate,
        pn.AntiJoin: _anti,
        pn.Argument: _argument,
        pn.CteScan: _cte,
        pn.Distinct: _distinct,
        pn.Expand: _expand,
        pn.Filter: _filter,
        pn.FunctionScan: _function,
        pn.Join: _join,
        pn.Limit: _limit,
        pn.OneRow: _one_row,
        pn.Project: _project,
        pn.Relabel: _relabel,
        pn.Scan: _scan,
        pn.SemiJoin: _semi,
        pn.SetOp: _set_operation,
        pn.Sort: _sort,
        pn.Values: _values,
        pn.With: _with,
    },
)
