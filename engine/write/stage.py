"""Staged rows → one uncommitted transaction per touched table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base.catalog import ID
from omnigraph_sql.base.errors import InternalError
from omnigraph_sql.engine.recovery.intent import TableIntent
from omnigraph_sql.engine.store.effects import (
    AddColumns,
    AppendRows,
    BuildIndexes,
    RemoveRows,
    ReplaceFiles,
    ReplaceRows,
    ReplaceTable,
    SwapFiles,
    TableChange,
    files_written,
    stage,
)
from omnigraph_sql.engine.store.loose import delete_files
from omnigraph_sql.engine.store.tables import ROW_ADDRESS, OpenTable
from omnigraph_sql.engine.values import MAIN, Snapshot, TableIdentity, TablePin
from omnigraph_sql.engine.world import World
from omnigraph_sql.engine.write.commit import PlannedTable
from omnigraph_sql.engine.write.staging import EXISTS, Mode, TableChanges, key_conflict


def table_change(world: World, base: OpenTable, changes: TableChanges) -> TableChange | None:
    """What has to happen to the table; None when nothing has to. Raises KeyConflict for an id that exists already."""
    rows = changes.rows()
    match changes.mode:
        case Mode.OVERWRITE:
            return ReplaceTable(rows)
        case Mode.DELETE:
            gone = world.tables.addresses(base, pa.array(sorted(changes.deleted), pa.utf8()))
            return RemoveRows(tuple(gone[ROW_ADDRESS].to_pylist())) if gone.num_rows else None
        case Mode.INSERT | Mode.UPSERT:
            return _built(world, base, changes, rows)
        case _:
            assert_never(changes.mode)


def _built(world: World, base: OpenTable, changes: TableChanges, rows: pa.Table) -> TableChange | None:
    if not rows.num_rows:
        return None
    if changes.mode is Mode.INSERT and not changes.type.key and changes.generated:
        return AppendRows(rows)
    held = world.tables.addresses(base, rows[ID].combine_chunks())
    if changes.inserted and held.num_rows:
        twice = held.filter(pc.is_in(held[ID], value_set=pa.array(sorted(changes.inserted), pa.utf8())))
        if twice.num_rows:
            raise key_conflict(changes.type, twice[ID][0].as_py(), "it exists already", EXISTS)
    if not held.num_rows:
        return AppendRows(rows)
    return ReplaceRows(rows, tuple(held[ROW_ADDRESS].to_pylist()))


def plan_tables(
    world: World, base: Snapshot, changes: list[TableChanges], operation_id: str
) -> tuple[PlannedTable, ...]:
    """Stage every touched table, in the order of their names. Tables of another branch fork first and stage later."""
    wanted = []
    for changed in sorted(changes, key=lambda c: c.key):
        pin = base.pin(TableIdentity.of(changed.type))
        if pin is None:
            raise InternalError(f"{changed.key} is not a table of this graph")
        change = table_change(world, world.tables.open(pin), changed)
        if change is not None:
            wanted.append((pin, change))
    planned: list[PlannedTable] = []
    try:
        for pin, change in wanted:
            planned.append(planned_table(world, base, pin, change, operation_id))
    except BaseException:
        abandon(world, planned)
        raise
    return tuple(planned)


def abandon(world: World, planned: Sequence[PlannedTable]) -> None:
    """Remove the files of staged tables that nobody will commit, as far as that works; the rest is only garbage."""
    for table in planned:
        if table.staged is not None:
            pin, branch = table.intent.pin, table.intent.branch
            delete_files(world.tables, pin.path, branch, files_written(table.staged, table.change))


def planned_table(world: World, base: Snapshot, pin: TablePin, change: TableChange, operation_id: str) -> PlannedTable:
    """One table's part of a plan, staged unless it has to be forked first."""
    wanted = None if base.branch == MAIN else base.branch
    uuid = world.seams.ids.uuid()
    if pin.branch != wanted:
        intent = TableIntent(pin, wanted, uuid, row_count_after(pin, change), forks=True)
        return PlannedTable(intent, change, None)
    staged = stage(world.tables, pin, wanted, change, uuid, operation_id)
    return PlannedTable(TableIntent(pin, wanted, uuid, staged.row_count), change, staged)


def row_count_after(pin: TablePin, change: TableChange) -> int:
    """Rows of the table once the change is committed."""
    match change:
        case AppendRows(rows):
            return pin.row_count + int(rows.num_rows)
        case ReplaceRows(rows, replaced):
            return pin.row_count + int(rows.num_rows) - len(replaced)
        case RemoveRows(removed):
            return pin.row_count - len(removed)
        case ReplaceTable(rows, files):
            return int(rows.num_rows) if rows is not None else sum(f.physical_rows for f in files)
        case ReplaceFiles(_, row_count, replaced):
            return pin.row_count + row_count - len(replaced)
        case SwapFiles(_, row_count, _, _, gone):
            return pin.row_count + row_count - gone
        case BuildIndexes() | AddColumns():
            return pin.row_count
        case _:
            return pin.row_count + int(change.row_count)
