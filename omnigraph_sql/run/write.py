"""Mutation nodes → MutationStaging. Nothing here is durable; the transaction's commit is."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base.catalog import DST, ID, SRC, EdgeType, TableType
from omnigraph_sql.base.errors import ConstraintViolation, InternalError
from omnigraph_sql.base.expr import Expr
from omnigraph_sql.bind.bound import OnConflict
from omnigraph_sql.engine.store.tables import table_schema
from omnigraph_sql.engine.values import TableIdentity, TablePin
from omnigraph_sql.engine.write.images import fitted, images
from omnigraph_sql.engine.write.staging import EXISTS, MutationStaging, key_conflict, last_by_id
from omnigraph_sql.plan.mutations import Delete, Insert, Merge, Unit, Update, Upsert
from omnigraph_sql.plan.node import Plan, walk_plan
from omnigraph_sql.plan.nodes import Values
from omnigraph_sql.plan.sources import OneRow
from omnigraph_sql.run.constants import constants
from omnigraph_sql.run.read import evaluate, read
from omnigraph_sql.run.scene import Scene
from omnigraph_sql.run.sets import rows_of_sets

Named = tuple[tuple[str, Expr], ...]


def apply(plan: Plan, scene: Scene) -> pa.Table | None:
    """Carry a mutation out in the scene's staging; the rows of its RETURNING, or None."""
    match plan:
        case Insert():
            return _insert(plan, scene)
        case Upsert():
            return _upsert(plan, scene)
        case Update():
            return _update(plan, scene)
        case Delete():
            return _delete(plan, scene)
        case Merge():
            from omnigraph_sql.run.merge import apply_merge

            return apply_merge(plan, scene)
        case Unit(statements=statements):
            for statement in statements:
                apply(statement, scene)
            return None
        case _:
            raise InternalError(f"{type(plan).__name__} changes nothing")


def staging_of(scene: Scene) -> MutationStaging:
    if scene.staging is None:
        raise InternalError("a mutation needs a transaction")
    return scene.staging


# ---- inserting --------------------------------------------------------------------------------------------------


def input_rows(plan: Plan, scene: Scene) -> pa.Table:
    """The rows a mutation works on; constant ones without an engine. Reading a table ties the write to its base."""
    if isinstance(plan, Values) and scene.sets is not None:
        return rows_of_sets(plan, scene.sets, scene)
    if isinstance(plan, Values):
        made = constants(plan, scene)
        if made is not None:
            return made
    if not all(isinstance(node, Values | OneRow) or node.inputs for node in walk_plan(plan)):
        staging_of(scene).depend()
    return read(plan, scene).read_all()


def new_rows(of: TableType, columns: tuple[str, ...], given: pa.Table, scene: Scene) -> tuple[pa.Table, bool]:
    """Images of the rows to be added, and whether all their ids are fresh."""
    by_name = {name: given.column(place) for place, name in enumerate(columns)}
    return images(of, by_name, given.num_rows, scene.world.seams.ids)


def _insert(plan: Insert, scene: Scene) -> pa.Table | None:
    rows, fresh = new_rows(plan.type, plan.columns, input_rows(plan.input, scene), scene)
    staging = staging_of(scene)
    match plan.on_conflict:
        case OnConflict.ERROR:
            staging.insert(plan.type, rows, generated=fresh)
            if scene.commits_later and not fresh:
                _refuse_held(plan.type, rows[ID].combine_chunks(), scene)
        case OnConflict.NOTHING:
            rows = _unheld(plan.type, rows, scene)
            staging.depend()
            staging.insert(plan.type, rows, generated=fresh)
        case OnConflict.UPDATE:
            rows = _insert_or_update(plan, rows, scene)
        case OnConflict.REPLACE:
            staging.upsert(plan.type, rows)
    return returned(plan.returning, plan.variable, rows, scene)


def _refuse_held(of: TableType, ids: pa.Array, scene: Scene) -> None:
    """No committed row has one of the ids. The commit looks again, so this ties the transaction to nothing."""
    held = scene.world.tables.held(scene.world.tables.open(_pin(of, scene)), ids)
    if len(held):
        raise key_conflict(of, held[0].as_py(), "it exists already", EXISTS)


def _unheld(of: TableType, rows: pa.Table, scene: Scene) -> pa.Table:
    """Rows whose ids nobody holds; of several with one id the first."""
    held = set(current_rows(of, rows[ID].combine_chunks(), scene)[ID].to_pylist())
    keep = []
    for place, one in enumerate(rows[ID].to_pylist()):
        if one not in held:
            held.add(one)
            keep.append(place)
    return rows.take(pa.array(keep, pa.int64()))


def _insert_or_update(plan: Insert, rows: pa.Table, scene: Scene) -> pa.Table:
    """ON CONFLICT DO UPDATE: rows that exist take the assignments, the others are inserted; all changed images."""
    of, staging = plan.type, staging_of(scene)
    if len(set(rows[ID].to_pylist())) != rows.num_rows:
        raise ConstraintViolation(
            f"two rows of one INSERT have the same {of.name} key", rule="key", type=of.name, properties=of.key
        )
    staging.depend()
    stored = current_rows(of, rows[ID].combine_chunks(), scene)
    fresh = rows.filter(pc.invert(pc.is_in(rows[ID], value_set=stored[ID].combine_chunks())))
    staging.insert(of, fresh)
    if not stored.num_rows:
        return fresh
    excluded = aligned(rows, stored[ID])
    sides = _prefixed(plan.variable, stored, _prefixed("excluded", excluded, {}))
    if plan.where is not None:
        wanted = evaluate((("keep", plan.where),), pa.table(sides), scene)["keep"]
        mask = pc.fill_null(wanted, False)
        stored, sides = stored.filter(mask), {n: c.filter(mask) for n, c in sides.items()}
    if not stored.num_rows:
        return fresh
    values = evaluate(tuple((a.property, a.value) for a in plan.assignments), pa.table(sides), scene)
    changed = with_columns(of, stored, {a.property: values[a.property] for a in plan.assignments})
    staging.update(of, changed)
    return pa.concat_tables([fresh, changed])


def _upsert(plan: Upsert, scene: Scene) -> pa.Table | None:
    rows, _ = new_rows(plan.type, plan.columns, input_rows(plan.input, scene), scene)
    staging_of(scene).upsert(plan.type, rows)
    return returned(plan.returning, plan.variable, rows, scene)


# ---- updating and deleting --------------------------------------------------------------------------------------


def _update(plan: Update, scene: Scene) -> pa.Table | None:
    staging_of(scene).depend()
    found = read(plan.input, scene).read_all()
    if found.num_rows:
        refuse_repeats(plan.type, found[ID], "UPDATE")
    stored = aligned(current_rows(plan.type, found[ID].combine_chunks(), scene), found[ID])
    changed = with_columns(plan.type, stored, {name: found[name] for name in plan.columns})
    staging_of(scene).update(plan.type, changed)
    return returned(plan.returning, plan.variable, changed, scene, carried(found, plan.columns))


def _delete(plan: Delete, scene: Scene) -> pa.Table | None:
    staging = staging_of(scene)
    staging.depend()
    found = read(plan.input, scene).read_all()
    ids = pc.unique(found[ID].combine_chunks())
    gone = current_rows(plan.type, ids, scene) if plan.returning else None
    staging.delete(plan.type, ids)
    delete_edges(plan.type, plan.cascade, ids, scene)
    if gone is None:
        return None
    # A row that USING meets several times goes once, and RETURNING shows its first meeting.
    first = found.take(pc.index_in(ids, value_set=found[ID].combine_chunks()))
    return returned(plan.returning, plan.variable, aligned(gone, first[ID]), scene, carried(first, ()))


def delete_edges(node: TableType, cascade: tuple[EdgeType, ...], ids: pa.Array, scene: Scene) -> None:
    """Every edge that touches a deleted node goes with it."""
    if not len(ids):
        return
    for edge in cascade:
        table = scene.world.tables.open(_pin(edge, scene))
        ends = [end for end, name in ((SRC, edge.source), (DST, edge.target)) if name == node.name]
        touching = pc.unique(pa.concat_arrays([scene.world.tables.touching(table, end, ids) for end in ends]))
        if scene.around.keeps_edges:
            _refuse_edges(node, edge, touching, scene)
        staging_of(scene).delete(edge, touching)


def _refuse_edges(node: TableType, edge: EdgeType, touching: pa.Array, scene: Scene) -> None:
    """Edges that this transaction has not deleted itself keep their nodes."""
    changes = staging_of(scene).of(edge)
    gone = changes.deleted if changes is not None else frozenset()
    left = [one for one in touching.to_pylist() if one not in gone]
    if left:
        raise ConstraintViolation(
            f"{len(left)} {edge.name} edges end on the {node.name} to be deleted",
            rule="edge_delete",
            type=edge.name,
            ids=tuple(left[:5]),
            hint="delete the edges first, or SET edge_delete = 'cascade'",
        )


def refuse_repeats(of: TableType, ids: pa.ChunkedArray, word: str) -> None:
    counts = pc.value_counts(ids.combine_chunks())
    for pair in counts.to_pylist():
        if pair["counts"] > 1:
            raise ConstraintViolation(
                f"{word} meets {of.name} '{pair['values']}' {pair['counts']} times",
                rule="one match",
                type=of.name,
                ids=(pair["values"],),
                hint="make the condition match each row once",
            )


# ---- rows as they are now ---------------------------------------------------------------------------------------


def _pin(of: TableType, scene: Scene) -> TablePin:
    pin = scene.snapshot.pin(TableIdentity.of(of))
    if pin is None:
        raise InternalError(f"{of.name} is not a table of this snapshot")
    return pin


def current_rows(of: TableType, ids: pa.Array, scene: Scene) -> pa.Table:
    """Full images of those of the ids that exist: pending ones first looked at, then committed ones."""
    changes = staging_of(scene).of(of)
    pending = table_schema(of).empty_table()
    wanted = ids
    if changes is not None:
        pending = last_by_id(pending.schema, changes.batches)
        pending = pending.filter(pc.is_in(pending[ID], value_set=ids))
        hidden = pa.array(sorted(changes.shadow()), pa.utf8())
        wanted = ids.filter(pc.invert(pc.is_in(ids, value_set=hidden)))
    committed = scene.world.tables.rows(scene.world.tables.open(_pin(of, scene)), wanted)
    return pa.concat_tables([committed.cast(pending.schema), pending])


def aligned(rows: pa.Table, ids: pa.ChunkedArray) -> pa.Table:
    """The rows in the order of the ids; every id must be there."""
    places = pc.index_in(ids.combine_chunks(), value_set=rows[ID].combine_chunks())
    return rows.take(places)


def with_columns(of: TableType, rows: pa.Table, values: Mapping[str, pa.ChunkedArray]) -> pa.Table:
    """The rows with some columns replaced, in exactly the table's types."""
    schema = table_schema(of)
    arrays = [fitted(values[field.name], field, of) if field.name in values else rows[field.name] for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def carried(found: pa.Table, columns: tuple[str, ...]) -> dict[str, pa.ChunkedArray]:
    """Columns of FROM that travel along for RETURNING."""
    own = {ID, *columns}
    return {name: found[name] for name in found.column_names if name not in own}


def _prefixed(variable: str, rows: pa.Table, more: Mapping[str, pa.ChunkedArray]) -> dict[str, pa.ChunkedArray]:
    return {**more, **{f"{variable}.{name}": rows[name] for name in rows.column_names}}


def returned(
    items: Named, variable: str, rows: pa.Table, scene: Scene, more: Mapping[str, pa.ChunkedArray] | None = None
) -> pa.Table | None:
    """RETURNING over the changed rows; None when the statement has none."""
    if not items:
        return None
    return evaluate(items, pa.table(_prefixed(variable, rows, more or {})), scene)
