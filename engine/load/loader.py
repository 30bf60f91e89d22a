"""Loading: read and write files first, then check, and make everything visible in one commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import ID
from omnigraph_sql.base.errors import ConflictError, InternalError, ReadSetChanged
from omnigraph_sql.engine.load.readers import read_source
from omnigraph_sql.engine.load.report import LoadReport, Phase, TableCount, Watch
from omnigraph_sql.engine.load.staging import LoadedTable, LoadStaging
from omnigraph_sql.engine.load.values import LoadMode, Source
from omnigraph_sql.engine.manifest.publisher import AGAIN, Lineage
from omnigraph_sql.engine.recovery.intent import Intent, WriterKind
from omnigraph_sql.engine.store.effects import AppendFiles, ReplaceFiles, ReplaceTable, TableChange
from omnigraph_sql.engine.store.tables import ROW_ADDRESS
from omnigraph_sql.engine.values import Snapshot, TableIdentity, TablePin
from omnigraph_sql.engine.world import World
from omnigraph_sql.engine.write.commit import PublishPlan, carry_out
from omnigraph_sql.engine.write.stage import planned_table
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
    try:
        for source in sources:
            for chunk in read_source(source, first.contract.catalog):
                staging.take(chunk)
        staging.tell(Phase.CHECKING)
        loaded = staging.finish()
        report = _published(world, contract, first, author, mode, loaded, staging)
    except BaseException:
        staging.discard()
        raise
    finally:
        staging.close()
    staging.tell(Phase.DONE)
    commit_id, tables = report
    return LoadReport(branch, commit_id, mode, author.actor, tables, staging.rows_read, perf_counter() - started)


def _published(
    world: World,
    contract: Callable[[], Contract],
    first: WriteTxn,
    author: Author,
    mode: LoadMode,
    loaded: list[LoadedTable],
    staging: LoadStaging,
) -> tuple[str, tuple[TableCount, ...]]:
    txn = first
    for attempt in range(limits.PREPARE_ATTEMPTS_MAX):
        try:
            return _attempt(world, txn, author, mode, loaded, staging)
        except ReadSetChanged:
            last = attempt + 1 == limits.PREPARE_ATTEMPTS_MAX
            if mode is LoadMode.OVERWRITE or author.expected_head is not None or last:
                raise
        txn = begin(world, contract(), first.branch, author, first.now)
        _refuse_other_world(first, txn)
    raise AssertionError("the last attempt returns or raises")


def _refuse_other_world(first: WriteTxn, now: WriteTxn) -> None:
    """The files were written for one schema and one branch; both must still be the same."""
    before, after = first.token, now.token
    for member in ("branch_identifier", "identity_domain", "ir_hash"):
        old, new = getattr(before, member), getattr(after, member)
        if old != new:
            raise ReadSetChanged(
                f"branch {first.branch} or its schema was replaced during the load",
                member=member,
                expected=old,
                actual=new,
                hint=AGAIN,
            )


def _attempt(
    world: World, txn: WriteTxn, author: Author, mode: LoadMode, loaded: list[LoadedTable], staging: LoadStaging
) -> tuple[str, tuple[TableCount, ...]]:
    staging.tell(Phase.CHECKING)
    changes = [_change(world, txn, mode, table) for table in loaded]
    _check(world, txn, mode, loaded)
    staging.tell(Phase.PUBLISHING)
    ids = world.seams.ids
    operation_id, commit_id = ids.ulid(), ids.ulid()
    tables = tuple(
        planned_table(world, txn.base, found.pin, found.change, operation_id)
        for found in changes
        if found.change is not None
    )
    intent = Intent(
        operation_id,
        WriterKind.LOAD,
        world.seams.clock.now(),
        txn.token,
        tuple(table.intent for table in tables),
        Lineage(commit_id, author.actor, author.message, txn.now),
        ids.ulid(),
    )
    snapshot = _carried_out(world, PublishPlan(intent, tables, txn.contract.check), staging)
    pins = {pin.identity: pin.row_count for pin in snapshot.tables}
    return commit_id, tuple(
        TableCount(found.pin.key, found.rows, found.replaced, pins[found.pin.identity]) for found in changes
    )


def _carried_out(world: World, plan: PublishPlan, staging: LoadStaging) -> Snapshot:
    """From here on the files may be part of a table, whatever ends this; only a conflict says that they are not."""
    staging.loose = False
    try:
        return carry_out(world, plan)
    except ConflictError:
        staging.loose = True
        raise


@dataclass(frozen=True, slots=True)
class _Change:
    """What happens to one table; None when it occurs without rows and stays as it is."""

    pin: TablePin
    change: TableChange | None
    rows: int
    replaced: int


def _change(world: World, txn: WriteTxn, mode: LoadMode, table: LoadedTable) -> _Change:
    """Raises KeyConflict when an appended id exists."""
    pin = txn.base.pin(TableIdentity.of(table.type))
    if pin is None:
        raise InternalError(f"{table.type.name} is not a table of this graph")
    if mode is LoadMode.OVERWRITE:
        return _Change(pin, ReplaceTable(None, table.files), table.rows, pin.row_count)
    if not table.rows:
        return _Change(pin, None, 0, 0)
    if table.fresh:
        return _Change(pin, AppendFiles(table.files, table.rows), table.rows, 0)
    ids = pa.concat_arrays(table.narrow[ID].chunks)
    held = world.tables.addresses(world.tables.open(pin), ids)
    if not held.num_rows:
        return _Change(pin, AppendFiles(table.files, table.rows), table.rows, 0)
    if mode is LoadMode.APPEND:
        first = ids.filter(pc.is_in(ids, value_set=held[ID].combine_chunks()))[0].as_py()
        raise key_conflict(table.type, first, "it exists already")
    replaced = tuple(held[ROW_ADDRESS].to_pylist())
    return _Change(pin, ReplaceFiles(table.files, table.rows, replaced), table.rows, len(replaced))


def _check(world: World, txn: WriteTxn, mode: LoadMode, loaded: list[LoadedTable]) -> None:
    """The rules about several rows. Raises ConstraintViolation."""
    changes = [TableChanges(t.type, _MODES[mode], (t.narrow,), generated=t.fresh, distinct=True) for t in loaded]
    for violation in violations_between_rows(GraphView(world, txn.base, txn.contract.catalog, changes)):
        raise violation
