"""MERGE: each input row meets the first arm that fits, and all rows of an arm are changed together."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base.catalog import ID
from omnigraph_sql.bind.bound import MergeArm, MergeDo, MergeWhen
from omnigraph_sql.plan.mutations import MERGE_SOURCE, Merge
from omnigraph_sql.run.read import evaluate, read
from omnigraph_sql.run.scene import Scene
from omnigraph_sql.run.write import (
    aligned,
    current_rows,
    delete_edges,
    new_rows,
    refuse_repeats,
    staging_of,
    with_columns,
)

MERGE_ACTION: Final = "merge_action"
_WORDS: Final = {MergeDo.UPDATE: "UPDATE", MergeDo.INSERT: "INSERT", MergeDo.DELETE: "DELETE"}


def apply_merge(plan: Merge, scene: Scene) -> pa.Table | None:
    """Carry a merge out in the scene's staging; the rows of its RETURNING, or None."""
    staging_of(scene).depend()
    found = read(plan.input, scene).read_all()
    chosen = _choose(plan, found, scene)
    parts: list[pa.Table] = []
    _refuse_two_changes(plan, found, chosen)
    for number, arm in enumerate(plan.arms):
        mask = pc.equal(chosen, number)
        rows = found.filter(mask)
        if rows.num_rows and arm.do is not MergeDo.NOTHING:
            changed = _act(plan, arm, rows, scene)
            if plan.returning:
                parts.append(_returning_rows(plan, arm, rows, changed, scene))
    if not plan.returning:
        return None
    if parts:
        return pa.concat_tables(parts)
    empty = found.slice(0, 0).append_column(MERGE_ACTION, pa.array([], pa.utf8()))
    return evaluate(plan.returning, empty, scene)


def _choose(plan: Merge, found: pa.Table, scene: Scene) -> pa.Array:
    """For every row the number of its arm, or null."""
    has_target = pc.is_valid(found[f"{plan.variable}.{ID}"])
    has_source = pc.fill_null(found[MERGE_SOURCE], False)
    cases = {
        MergeWhen.MATCHED: pc.and_(has_source, has_target),
        MergeWhen.NOT_MATCHED: pc.and_(has_source, pc.invert(has_target)),
        MergeWhen.NOT_MATCHED_BY_SOURCE: pc.and_(pc.invert(has_source), has_target),
    }
    chosen = pa.nulls(found.num_rows, pa.int32())
    for number, arm in enumerate(plan.arms):
        fits = cases[arm.when]
        if arm.condition is not None:
            holds = evaluate((("holds", arm.condition),), found, scene)["holds"]
            fits = pc.and_(fits, pc.fill_null(holds, False))
        free = pc.and_(pc.is_null(chosen), fits)
        chosen = pc.if_else(free, pa.scalar(number, pa.int32()), chosen)
    return chosen.combine_chunks() if isinstance(chosen, pa.ChunkedArray) else chosen


def _refuse_two_changes(plan: Merge, found: pa.Table, chosen: pa.Array) -> None:
    acting = [n for n, arm in enumerate(plan.arms) if arm.do in (MergeDo.UPDATE, MergeDo.DELETE)]
    touched = found.filter(pc.is_in(chosen, value_set=pa.array(acting, pa.int32())))
    if touched.num_rows:
        refuse_repeats(plan.type, touched[f"{plan.variable}.{ID}"], "MERGE")


def _act(plan: Merge, arm: MergeArm, rows: pa.Table, scene: Scene) -> pa.Table:
    """Stage one arm; the images it made, or removed."""
    staging, of = staging_of(scene), plan.type
    if arm.do is MergeDo.DELETE:
        ids = rows[f"{plan.variable}.{ID}"]
        gone = aligned(current_rows(of, ids.combine_chunks(), scene), ids)
        staging.delete(of, ids.combine_chunks())
        delete_edges(of, plan.cascade, ids.combine_chunks(), scene)
        return gone
    values = evaluate(tuple((a.property, a.value) for a in arm.assignments), rows, scene)
    names = tuple(a.property for a in arm.assignments)
    if arm.do is MergeDo.INSERT:
        made, fresh = new_rows(of, names, values, scene)
        staging.insert(of, made, generated=fresh)
        return made
    ids = rows[f"{plan.variable}.{ID}"]
    stored = aligned(current_rows(of, ids.combine_chunks(), scene), ids)
    changed = with_columns(of, stored, {name: values[name] for name in names})
    staging.update(of, changed)
    return changed


def _returning_rows(plan: Merge, arm: MergeArm, rows: pa.Table, changed: pa.Table, scene: Scene) -> pa.Table:
    prefix = f"{plan.variable}."
    columns = {name: rows[name] for name in rows.column_names if not name.startswith(prefix)}
    columns |= {f"{prefix}{name}": changed[name] for name in changed.column_names}
    columns[MERGE_ACTION] = pa.array([_WORDS[arm.do]] * rows.num_rows, pa.utf8())
    return evaluate(plan.returning, pa.table(columns), scene)
