"""Rows by their ids, and how many there are: such plans are answered by storage and the pending rows alone."""

from __future__ import annotations

import pyarrow as pa

from omnigraph_sql.base import expr as ex
from omnigraph_sql.base.types import arrow_type
from omnigraph_sql.engine.store.predicate import id_in
from omnigraph_sql.engine.store.tables import is_blob
from omnigraph_sql.plan import nodes as pn
from omnigraph_sql.plan.node import Plan
from omnigraph_sql.run.pending import pending_of
from omnigraph_sql.run.places import opened, state_of
from omnigraph_sql.run.scene import Scene
from omnigraph_sql.run.stored_tests import StoredTable, wanted_ids


def rows_by_id(plan: Plan, scene: Scene) -> pa.Table | None:
    """The rows of a plan that picks columns of rows by their ids or keys; None for every other plan."""
    if isinstance(plan, pn.Relabel):
        plan = plan.input
    scan = plan.input if isinstance(plan, pn.Project) else plan
    if not isinstance(scan, pn.Scan) or scan.filter is None:
        return None
    stored = StoredTable(scan.type, scan.variable, scene)
    columns = [(name, stored.column(expr)) for name, expr in _items(plan)]
    if not columns or any(column is None for _, column in columns):
        return None
    wanted = wanted_ids(stored, ex.conjuncts(scan.filter))
    if wanted is None or not wanted[1]:
        return None
    read = list(dict.fromkeys(column for _, column in columns if column is not None))
    found = _rows(scan, scene, sorted(wanted[0]), read)
    if found is None:
        return None
    fields = [pa.field(name, arrow_type(f.type)) for (name, _), f in zip(columns, plan.schema.fields, strict=True)]
    arrays = [found.column(column) for _, column in columns]
    return pa.Table.from_arrays(
        [array.cast(field.type) for array, field in zip(arrays, fields, strict=True)], schema=pa.schema(fields)
    )


def _items(plan: Plan) -> tuple[tuple[str, ex.Expr], ...]:
    if isinstance(plan, pn.Project):
        return plan.items
    return tuple((f.name, ex.Column(f.name, f.type, f.nullable)) for f in plan.schema.fields)


def _rows(scan: pn.Scan, scene: Scene, ids: list[str], columns: list[str]) -> pa.Table | None:
    table, changes = opened(scene, scan.type, *state_of(scene, scan.at))
    schema = pa.schema([table.schema.field(name) for name in columns]).remove_metadata()
    if any(is_blob(table.schema.field(name)) for name in columns):
        return None
    tables = scene.world.tables
    pending = pending_of(tables, table, changes) if changes is not None else None
    parts: list[pa.Table] = []
    committed = ids if pending is None else [name for name in ids if not pending.hides(name)]
    if committed and table.pin.row_count:
        with tables.telling(f"looking ids up in {table.pin.key}"):
            tables.failpoints.hit("store.lookup")
            scanner = table.dataset.scanner(columns=columns, filter=id_in(pa.array(committed, pa.utf8())))
            parts.append(scanner.to_table().select(columns).cast(schema))
    if pending is not None:
        parts.append(pending.rows_of(ids).select(columns).cast(schema))
    return pa.concat_tables(parts) if parts else schema.empty_table()


def number_of_rows(plan: Plan, scene: Scene) -> pa.Table | None:
    """The row of a plan that counts all rows of a table; None for every other plan."""
    if isinstance(plan, pn.Relabel):
        plan = plan.input
    shown = plan.input if isinstance(plan, pn.Project) else plan
    if not isinstance(shown, pn.Aggregate) or shown.groups or shown.sets is not None:
        return None
    scan = shown.input
    if not isinstance(scan, pn.Scan) or scan.filter is not None or not all(_counts(c) for _, c in shown.aggregates):
        return None
    names = {name for name, _ in shown.aggregates}
    if not all(isinstance(expr, ex.Column) and expr.name in names for _, expr in _items(plan)) or not names:
        return None
    table, changes = opened(scene, scan.type, *state_of(scene, scan.at))
    count = table.pin.row_count
    if changes is not None:
        pending = pending_of(scene.world.tables, table, changes)
        hidden = len(pending.shadow.places()) if pending.shadow is not None else 0
        count = pending.rows.num_rows + (0 if pending.replaces else count - hidden)
    return pa.table({f.name: pa.array([count], pa.int64()) for f in plan.schema.fields})


def _counts(call: ex.Expr) -> bool:
    return isinstance(call, ex.Aggregate) and call.function == "count" and not call.arguments and call.filter is None
