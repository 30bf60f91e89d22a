"""Steps from a few nodes: only the edges at those nodes are looked at, and only the nodes they lead to.

Which way they are found never shows in the rows: by the links at hand, by looking them up in the table, or, from many
nodes, by joining the table itself.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base import expr as ex
from omnigraph_sql.base.catalog import DST, ID, SRC, TableType
from omnigraph_sql.base.expr import Expr, conjuncts
from omnigraph_sql.base.limits import FRONTIER_NODES_MAX
from omnigraph_sql.base.types import BLOB
from omnigraph_sql.engine.store.lookup import LIST_VALUES_MAX, matching
from omnigraph_sql.plan import nodes as pn
from omnigraph_sql.plan.node import Plan
from omnigraph_sql.run.expr_text import predicate_text
from omnigraph_sql.run.ground import Ground
from omnigraph_sql.run.held import Held, Ints
from omnigraph_sql.run.relation import Build, Domain, Rel
from omnigraph_sql.run.sources import only
from omnigraph_sql.run.subqueries import settled

_STEPS_MAX: Final = 3
"""Steps in a row that are taken from rows in memory; what they lead to may be many."""


class Mode(StrEnum):
    """How the edges at some nodes are found."""

    LINKS = "links"
    LOOKUP = "lookup"
    TABLE = "table"


forced: Mode | None = None
"""Set by tests: every step that can be taken this way is."""


def is_narrow(plan: Plan, steps: int = _STEPS_MAX) -> bool:
    """Whether the plan can be told to give few rows: it begins at nodes named by their keys."""
    match plan:
        case pn.Scan(type=of, filter=test):
            fixed = {name.rpartition(".")[2] for part in conjuncts(test) if (name := _fixed(part)) is not None}
            return ID in fixed or bool(of.key and fixed.issuperset(of.key))
        case pn.Expand(input=input):
            return steps > 0 and not plan.path_columns and is_narrow(input, steps - 1)
        case pn.Filter(input=input) | pn.Project(input=input) | pn.Distinct(input=input):
            return is_narrow(input, steps)
        case _:
            return False


def _fixed(part: Expr) -> str | None:
    """The column that can have few values."""
    constants = (ex.Literal, ex.Param)
    match part:
        case ex.Compare(op="=", left=ex.Column(name=name), right=other) if isinstance(other, constants):
            return name
        case ex.Compare(op="=", left=other, right=ex.Column(name=name)) if isinstance(other, constants):
            return name
        case ex.InList(operand=ex.Column(name=name), items=items, negated=False) if len(items) <= FRONTIER_NODES_MAX:
            return name if all(isinstance(item, constants) for item in items) else None
        case _:
            return None


def edges_at(plan: pn.Expand, ground: Ground, sources: pa.Array) -> pa.Table | None:
    """The edges at the nodes, with the columns of the step and its filter; None where the table is to be joined."""
    columns = _read(plan.edge, plan.edge_variable, (SRC, DST, *plan.edge_columns), plan.edge_filter)
    if columns is None:
        return None
    mode = forced or _mode(plan, ground, sources)
    if mode is Mode.LINKS:
        return _linked(plan, ground, sources, columns)
    if mode is Mode.LOOKUP:
        ends = {"out": (SRC,), "in": (DST,), "both": (SRC, DST)}[plan.direction]
        return _looked_up(ground.held(plan.edge), ends, sources, columns)
    return None


def _mode(plan: pn.Expand, ground: Ground, sources: pa.Array) -> Mode:
    links = ground.links(plan.edge)
    if links is not None and links.is_at_hand():
        return Mode.LINKS
    return Mode.LOOKUP if len(sources) <= FRONTIER_NODES_MAX else Mode.TABLE


def nodes_with(
    plan: pn.Expand, columns: tuple[str, ...], build: Build, ground: Ground, ids: pa.Array, domain: Domain | None
) -> Rel | None:
    """The nodes a step leads to, with these columns; None where the table is to be joined."""
    read = _read(plan.target_type, plan.target, columns, plan.target_filter)
    if read is None or len(ids) > LIST_VALUES_MAX or forced is Mode.TABLE:
        return None
    found = _looked_up(ground.held(plan.target_type), (ID,), ids, read)
    return rows_in_memory(build, found, plan.target, columns, plan.target_filter, domain)


def rows_in_memory(
    build: Build, table: pa.Table, variable: str, columns: tuple[str, ...], test: Expr | None, domain: Domain | None
) -> Rel:
    """Rows of a table that pass `test`; column `c` is `variable.c`."""
    names = [f"{variable}.{name}" for name in table.schema.names]
    rel = build.given(table.rename_columns(names), names)
    if test is not None:
        rel, (condition,) = settled(build, rel, (test,), domain)
        rel = build.where(rel, predicate_text(condition, build))
    return only(build, rel, tuple(f"{variable}.{c}" for c in columns))


def _read(of: TableType, variable: str | None, columns: tuple[str, ...], test: Expr | None) -> list[str] | None:
    """The columns that are read, in the order of the table; None where one of them is not held in memory."""
    tested = ex.column_names(test) if test is not None else frozenset()
    wanted = {*columns, *(name.rpartition(".")[2] for name in tested if name.startswith(f"{variable}."))}
    fields = [field for field in of.schema.fields if field.name in wanted]
    return None if any(field.type == BLOB for field in fields) else [field.name for field in fields]


def _linked(plan: pn.Expand, ground: Ground, sources: pa.Array, columns: list[str]) -> pa.Table | None:
    links = ground.links(plan.edge)
    if links is None:
        return None
    near = links.target if plan.direction == "in" else links.source
    at = near.numbers(sources)
    at = np.unique(at[at >= 0])
    heads: list[Ints] = []
    tails: list[Ints] = []
    numbers: list[Ints] = []
    for direction in ("out", "in") if plan.direction == "both" else (plan.direction,):
        for part in links.side(direction).parts:
            owner, place = part.places(at)
            start, end, edge = at[owner], part.ends[place].astype(np.int64), part.edges[place].astype(np.int64)
            heads.append(end if direction == "in" else start)
            tails.append(start if direction == "in" else end)
            numbers.append(edge)
    edge, first = np.unique(np.concatenate(numbers), return_index=True)
    chosen = {
        SRC: links.source.column(ID).array.take(pa.array(np.concatenate(heads)[first])),
        DST: links.target.column(ID).array.take(pa.array(np.concatenate(tails)[first])),
    }
    picked = pa.array(edge)
    rest = {name: links.edges.column(name).array.take(picked) for name in columns if name not in chosen}
    return pa.table({name: chosen[name] if name in chosen else rest[name] for name in columns})


def _looked_up(rows: Held, by: tuple[str, ...], values: pa.Array, columns: list[str]) -> pa.Table:
    """Rows with one of the values in one of the columns `by`."""
    read = list(dict.fromkeys((*columns, ID, *by)))
    shadow = pa.array(sorted(rows.changes.shadow()), pa.utf8()) if rows.changes is not None else None
    parts = [_plain(rows.table.schema.empty_table().select(read))]
    for place, column in enumerate(by):
        found = [] if rows.is_overwritten else list(matching(rows.tables, rows.table, read, column, values))
        if shadow is not None and len(shadow):
            found = [piece.filter(pc.invert(pc.is_in(piece[ID], value_set=shadow))) for piece in found]
        if rows.pending is not None:
            own = rows.pending.select(read)
            found.append(own.filter(pc.is_in(own[column], value_set=values)))
        parts += [_plain(_unseen(piece, by[:place], values)) for piece in found]
    return pa.concat_tables(parts).select(columns)


def _unseen(rows: pa.Table, before: tuple[str, ...], values: pa.Array) -> pa.Table:
    """Rows that were not found by another column already."""
    for column in before:
        rows = rows.filter(pc.invert(pc.is_in(rows[column], value_set=values)))
    return rows


def _plain(rows: pa.Table) -> pa.Table:
    return pa.table(rows.columns, schema=pa.schema([pa.field(f.name, f.type) for f in rows.schema]))
