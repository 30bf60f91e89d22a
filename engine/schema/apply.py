"""A change of the schema, carried out: tables that come, go and grow, and the schema in force, in one commit."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from omnigraph_sql.base.catalog import TableType
from omnigraph_sql.base.errors import ConflictError, InternalError, OmniError, StorageError
from omnigraph_sql.engine.manifest.publisher import Lineage
from omnigraph_sql.engine.manifest.rows import TombstoneRow
from omnigraph_sql.engine.recovery.intent import Intent, WriterKind
from omnigraph_sql.engine.store.effects import AddColumns
from omnigraph_sql.engine.store.root import schema_path
from omnigraph_sql.engine.store.tables import table_schema
from omnigraph_sql.engine.values import MAIN, Snapshot, TableIdentity, TablePin, table_key, table_path
from omnigraph_sql.engine.world import World
from omnigraph_sql.engine.write.commit import PlannedTable, PublishPlan, carry_out
from omnigraph_sql.engine.write.stage import planned_table
from omnigraph_sql.engine.write.txn import Author, Receipt, WriteTxn

_FIRST_VERSION: Final = 1
"""The version of a table that was just created."""


@dataclass(frozen=True, slots=True)
class Growth:
    """A table as it will be, and the columns that are new in it."""

    type: TableType
    columns: tuple[str, ...]

    def __post_init__(self) -> None:
        nullable = {p.name for p in self.type.properties if p.nullable}
        if not self.columns or not nullable.issuperset(self.columns):
            raise ValueError("a table grows by columns that may be null")


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """What becomes of the tables, and the new schema as it is stored."""

    body: bytes
    created: tuple[TableType, ...] = ()
    dropped: tuple[TableType, ...] = ()
    grown: tuple[Growth, ...] = ()


def apply(world: World, txn: WriteTxn, change: SchemaChange, author: Author) -> Receipt:
    """Make the change visible as one commit of the main branch.

    The new schema is written first, as an object that nothing names; the publish names it. Raises ReadSetChanged when
    the branch moved and nothing happened, and what `carry_out` raises.
    """
    _refuse_side_branch(txn.branch)
    ids = world.seams.ids
    operation_id, commit_id = ids.ulid(), ids.ulid()
    tables = tuple(_grown(world, txn.base, one, operation_id) for one in change.grown)
    intent = Intent(
        operation_id,
        WriterKind.SCHEMA_APPLY,
        world.seams.clock.now(),
        txn.token,
        tuple(table.intent for table in tables),
        Lineage(commit_id, author.actor, author.message, txn.now),
        ids.ulid(),
        tombstones=tuple(_tombstone(txn.base, of) for of in change.dropped),
        created=tuple(_first_pin(of) for of in change.created),
        contract=operation_id,
    )
    columns = tuple(table_schema(of) for of in change.created)
    path = schema_path(intent.operation_id)
    plan = PublishPlan(intent, tables, txn.contract.check, columns, lambda: _remove(world, path))
    world.failpoints.hit("schema.before_contract")
    if not world.objects.put_new(path, change.body):
        raise StorageError(f"a schema of the name {intent.operation_id} is there already", kind="permanent")
    world.failpoints.hit("schema.after_contract")
    snapshot = carry_out(world, plan)
    return Receipt(txn.branch, commit_id, 0, 0, snapshot)


def _refuse_side_branch(branch: str) -> None:
    if branch != MAIN:
        raise ConflictError(
            f"the schema is changed on {MAIN}, not on {branch}",
            code="schema_branch",
            hint=f"make the change on {MAIN}; a branch keeps the schema it was made with",
        )


def _remove(world: World, path: str) -> None:
    """A schema that nothing names goes, as far as that works."""
    with suppress(OmniError):
        world.objects.delete(path)


def _grown(world: World, base: Snapshot, growth: Growth, operation_id: str) -> PlannedTable:
    schema = table_schema(growth.type)
    fields: tuple[pa.Field, ...] = tuple(schema.field(name) for name in growth.columns)
    return planned_table(world, base, _pin(base, growth.type), AddColumns(fields), operation_id)


def _pin(base: Snapshot, of: TableType) -> TablePin:
    found = base.pin(TableIdentity.of(of))
    if found is None:
        raise InternalError(f"{table_key(of)} is not a table of this graph")
    return found


def _tombstone(base: Snapshot, of: TableType) -> TombstoneRow:
    pin = _pin(base, of)
    return TombstoneRow(pin.identity, pin.key, pin.version)


def _first_pin(of: TableType) -> TablePin:
    return TablePin(TableIdentity.of(of), table_key(of), table_path(of), _FIRST_VERSION, None, 0)
