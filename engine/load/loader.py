"""Loading: read and write files first, then check, and make everything visible in one commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base.catalog import ID, TableType
from omnigraph_sql.base.errors import DataError, InternalError, KeyConflict
from omnigraph_sql.engine.load.publishing import Delivery, FilesChange
from omnigraph_sql.engine.load.readers import read_source
from omnigraph_sql.engine.load.report import LoadReport, Phase, Watch
from omnigraph_sql.engine.load.staging import LoadedTable, LoadStaging
from omnigraph_sql.engine.load.values import LoadMode, Source
from omnigraph_sql.engine.store.effects import AppendFiles, ReplaceFiles, ReplaceTable
from omnigraph_sql.engine.store.tables import ROW_ADDRESS
from omnigraph_sql.engine.values import TableIdentity
from omnigraph_sql.engine.world import World
from omnigraph_sql.engine.write.staging import Mode, TableChanges, key_conflict
from omnigraph_sql.engine.write.txn import Author, Contract, WriteTxn, begin
from omnigraph_sql.engine.write.validate import violations_between_rows
from omnigraph_sql.engine.write.validate_view import GraphView

_MODES = {LoadMode.APPEND: Mode.INSERT, LoadMode.MERGE: Mode.UPSERT, LoadMode.OVERWRITE: Mode.OVERWRITE}


def load(
    world: World,
    contract: Callable[[], Contract],
    branch: str,
    author: Author,
    sources: Sequence[Source],
    mode: LoadMode,
    progress: Watch | None = None,
) -> LoadReport:
    """All rows of all sources in one commit, or nothing.

    Appending and merging start over from their files when the branch moves meanwhile; overwriting does not, and nor
    does a load whose author insists on a head. A load of nothing is a commit without changes. Raises DataError for
    refused rows (with file and line), ReadSetChanged, and what `carry_out` raises.
    """
    started = perf_counter()
    mode = LoadMode(mode)
    first = begin(world, contract(), branch, author)
    staging = LoadStaging(world, first.base, first.contract.catalog, mode, progress)
    load_id = world.seams.ids.ulid()
    loaded: list[LoadedTable] = []

    def prepare(txn: WriteTxn) -> list[FilesChange]:
        staging.tell(Phase.CHECKING)
        try:
            changes = checked_changes(world, txn, mode, loaded)
        except DataError as error:
            raise staging.placed(error) from None
        staging.tell(Phase.PUBLISHING)
        return changes

    delivery = Delivery(world, author, mode, load_id, prepare)
    try:
        for source in sources:
            for chunk in read_source(source, first.contract.catalog):
                staging.take(chunk)
        staging.tell(Phase.CHECKING)
        loaded += staging.finish()
        tables = delivery.publish(contract, first)
    except BaseException:
        if delivery.loose:
            staging.discard()
        raise
    finally:
        staging.close()
    staging.tell(Phase.DONE)
    return LoadReport(branch, load_id, mode, author.actor, tables, staging.rows_read, perf_counter() - started)


def checked_changes(world: World, txn: WriteTxn, mode: LoadMode, loaded: Sequence[LoadedTable]) -> list[FilesChange]:
    """What files in which each id occurs once change on the base of an attempt, all rules about several rows kept.

    Raises KeyConflict and ConstraintViolation.
    """
    changes = [_change(world, txn, mode, table) for table in loaded]
    _check(world, txn, mode, loaded)
    return changes


def _change(world: World, txn: WriteTxn, mode: LoadMode, table: LoadedTable) -> FilesChange:
    """Raises KeyConflict when an appended id exists."""
    pin = txn.base.pin(TableIdentity.of(table.type))
    if pin is None:
        raise InternalError(f"{table.type.name} is not a table of this graph")
    if mode is LoadMode.OVERWRITE:
        return FilesChange(pin, ReplaceTable(None, table.files), table.rows, pin.row_count)
    if not table.rows:
        return FilesChange(pin, None, 0, 0)
    if table.fresh:
        return FilesChange(pin, AppendFiles(table.files, table.rows), table.rows, 0)
    ids = pa.concat_arrays(table.narrow[ID].chunks)
    held = world.tables.addresses(world.tables.open(pin), ids)
    if not held.num_rows:
        return FilesChange(pin, AppendFiles(table.files, table.rows), table.rows, 0)
    if mode is LoadMode.APPEND:
        first = ids.filter(pc.is_in(ids, value_set=held[ID].combine_chunks()))[0].as_py()
        raise exists_already(table.type, first)
    replaced = tuple(held[ROW_ADDRESS].to_pylist())
    return FilesChange(pin, ReplaceFiles(table.files, table.rows, replaced), table.rows, len(replaced))


def exists_already(of: TableType, found: str) -> KeyConflict:
    """The refusal of a row that is appended although its id exists."""
    return key_conflict(of, found, "it exists already", "mode merge replaces rows that exist")


def _check(world: World, txn: WriteTxn, mode: LoadMode, loaded: Sequence[LoadedTable]) -> None:
    """The rules about several rows. Raises ConstraintViolation."""
    changes = [TableChanges(t.type, _MODES[mode], (t.narrow,), generated=t.fresh, distinct=True) for t in loaded]
    for violation in violations_between_rows(GraphView(world, txn.base, txn.contract.catalog, changes)):
        raise violation
