"""ensure_indices: build what the schema wants and what is missing, as one commit that changes no rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from omnigraph_sql.base.catalog import DST, ID, SRC, EdgeType, TableType
from omnigraph_sql.base.errors import InternalError, ReadSetChanged
from omnigraph_sql.base.types import STRING, EnumType, Kind, ListType, ScalarType, VectorType
from omnigraph_sql.engine.manifest.publisher import Lineage
from omnigraph_sql.engine.recovery.intent import Intent, WriterKind
from omnigraph_sql.engine.store.effects import BuildIndexes
from omnigraph_sql.engine.store.indexes import LANCE_KINDS, IndexKind, TableIndex, lacking, stored_indexes
from omnigraph_sql.engine.values import TableIdentity, TablePin, table_key
from omnigraph_sql.engine.world import World
from omnigraph_sql.engine.write.commit import PlannedTable, PublishPlan, carry_out
from omnigraph_sql.engine.write.stage import planned_table
from omnigraph_sql.engine.write.txn import Author, Contract, WriteTxn, begin

_ATTEMPTS_MAX: Final = 5
"""Times the work is planned anew because the branch moved."""

_UNSORTED: Final = frozenset((Kind.BLOB, Kind.ANY, Kind.NULL, Kind.INTERVAL))


@dataclass(frozen=True, slots=True, order=True)
class ColumnIndex:
    """An index of one column; `table` is `node:X` or `edge:X`."""

    table: str
    column: str
    kind: IndexKind


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What was built or extended, and what the schema wants that is not built: of lists, or of too few rows.

    `commit_id` None: nothing was missing, so there is no commit. Without what is pending reads take longer and give the
    same.
    """

    branch: str
    commit_id: str | None
    built: tuple[ColumnIndex, ...]
    pending: tuple[ColumnIndex, ...]


def ensure_indices(world: World, contract: Callable[[], Contract], branch: str, author: Author) -> IndexReport:
    """Build missing indexes and extend those that leave many rows out. Nothing to do leaves no trace.

    A table of another branch is taken over only if there is work on it. Starts over when the branch moves meanwhile.
    Raises ReadSetChanged when it keeps moving, and what `carry_out` raises.
    """
    for attempt in range(_ATTEMPTS_MAX):
        txn = begin(world, contract(), branch, author)
        try:
            return _attempt(world, txn, author)
        except ReadSetChanged:
            if author.expected_head is not None or attempt + 1 == _ATTEMPTS_MAX:
                raise
    raise AssertionError("the last attempt returns or raises")


def _attempt(world: World, txn: WriteTxn, author: Author) -> IndexReport:
    wanted = [index for of in txn.contract.catalog.tables() for index in wanted_indexes(of)]
    ids = world.seams.ids
    operation_id = ids.ulid()
    tables: list[PlannedTable] = []
    built: list[ColumnIndex] = []
    pending: list[ColumnIndex] = []
    for of in sorted(txn.contract.catalog.tables(), key=table_key):
        pin = txn.base.pin(TableIdentity.of(of))
        if pin is None:
            raise InternalError(f"{table_key(of)} is not a table of this graph")
        own = [i for i in wanted if i.table == pin.key]
        missing = _missing(world, pin, own)
        pending += _pending(world, pin, own, missing)
        if missing:
            built += [ColumnIndex(pin.key, index.column, index.kind) for index in missing]
            tables.append(planned_table(world, txn.base, pin, BuildIndexes(missing), operation_id))
    if not tables:
        return IndexReport(txn.branch, None, (), tuple(pending))
    commit_id = ids.ulid()
    intent = Intent(
        operation_id,
        WriterKind.ENSURE_INDICES,
        world.seams.clock.now(),
        txn.token,
        tuple(table.intent for table in tables),
        Lineage(commit_id, author.actor, author.message, txn.now),
        ids.ulid(),
    )
    carry_out(world, PublishPlan(intent, tuple(tables), txn.contract.check))
    return IndexReport(txn.branch, commit_id, tuple(built), tuple(pending))


def _missing(world: World, pin: TablePin, own: list[ColumnIndex]) -> tuple[TableIndex, ...]:
    if not pin.row_count:
        return ()
    buildable = [TableIndex(i.column, i.kind) for i in own if i.kind in LANCE_KINDS]
    return lacking(world.tables, world.tables.open(pin), buildable)


def _pending(
    world: World, pin: TablePin, own: list[ColumnIndex], missing: tuple[TableIndex, ...]
) -> Iterator[ColumnIndex]:
    """What stays unbuilt: kinds that are never built, and vectors and texts of which there are too few."""
    searched = [i for i in own if i.kind is not IndexKind.SORTED]
    if not searched:
        return
    there = (
        {(i.column, i.kind) for i in stored_indexes(world.tables, world.tables.open(pin))} if pin.row_count else set()
    )
    there |= {(i.column, i.kind) for i in missing}
    yield from (i for i in searched if (i.column, i.kind) not in there)


def wanted_indexes(of: TableType) -> Iterator[ColumnIndex]:
    """What lookups of the write path need, and what the schema asks for, in the order of the columns."""
    table = table_key(of)
    ends = (SRC, DST) if isinstance(of, EdgeType) else ()
    for column in (ID, *ends):
        yield ColumnIndex(table, column, IndexKind.SORTED)
    for member in of.properties:
        if member.name not in of.indexed:
            continue
        match member.type:
            case VectorType():
                yield ColumnIndex(table, member.name, IndexKind.VECTOR)
            case ListType():
                yield ColumnIndex(table, member.name, IndexKind.ITEMS)
            case EnumType():
                yield ColumnIndex(table, member.name, IndexKind.SORTED)
            case ScalarType(kind) if kind not in _UNSORTED:
                yield ColumnIndex(table, member.name, IndexKind.SORTED)
            case _:
                continue
        if member.type == STRING and member.name not in of.key:
            yield ColumnIndex(table, member.name, IndexKind.TEXT)
