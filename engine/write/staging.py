"""MutationStaging: what a transaction has done so far, in memory. Dropping it leaves no trace.

A transaction builds (rows by id, the last one wins) or tears down (ids), never both: D₂ is enforced when it is planned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import ID, NodeType, TableType, Unique
from omnigraph_sql.base.errors import InternalError, KeyConflict, ResourceLimitExceeded
from omnigraph_sql.engine.store.tables import table_schema
from omnigraph_sql.engine.values import TableIdentity, table_key
from omnigraph_sql.engine.write.ids import Ids

_SMALL_BATCH_ROWS: Final = 1024
_GATHERED_BATCHES: Final = 64
"""Small batches that become one, so that many statements do not make a long list to copy."""


class Mode(StrEnum):
    """How rows of one table are meant; the strictest use so far decides."""

    INSERT = "insert"
    """Ids must not exist."""
    UPSERT = "upsert"
    """Rows with these ids are replaced or added."""
    DELETE = "delete"
    OVERWRITE = "overwrite"
    """The table becomes exactly these rows."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What one transaction may hold; the limits are inclusive."""

    rows: int = limits.STAGED_ROWS_MAX
    bytes: int = limits.STAGED_BYTES_MAX


@dataclass(frozen=True)
class TableChanges:
    """What happens to one table.

    `batches` are new row images in the order they were staged, in the table's full schema; `inserted` are ids that must
    not exist in the base, `replaced` those whose images may take another's place; `deleted` are ids that go. Values are
    shared, never changed in place.
    """

    type: TableType
    mode: Mode
    batches: tuple[pa.Table, ...] = ()
    inserted: Ids = field(default_factory=Ids)
    deleted: frozenset[str] = frozenset()
    generated: bool = False
    """All ids were made by this transaction, so none can exist."""
    distinct: bool = False
    """No id occurs twice in the batches, so nobody has to look."""
    replaced: Ids = field(default_factory=Ids)

    @property
    def key(self) -> str:
        return table_key(self.type)

    def rows(self) -> pa.Table:
        """The images that stay: one per id, the last staged."""
        if (self.distinct or self.generated) and self.batches:
            return together(self.batches)
        return last_by_id(table_schema(self.type), self.batches)

    def staged(self) -> Set[str]:
        """Ids of all row images."""
        if self.mode is Mode.INSERT:
            return self.inserted
        return frozenset(found for batch in self.batches for found in batch[ID].to_pylist())

    def shadow(self) -> frozenset[str]:
        """Ids whose committed rows are not to be seen any more.

        An id that was to be inserted may turn out to exist, which the commit refuses; until then it has one row.
        """
        touched = self.deleted.union(*(batch[ID].to_pylist() for batch in self.batches))
        return touched.difference(self.inserted) if self.generated else touched


def together(batches: tuple[pa.Table, ...]) -> pa.Table:
    """All rows of some batches. Small ones become one: whatever handles rows does so per chunk."""
    if len(batches) == 1:
        return batches[0]
    whole = pa.concat_tables(batches)
    return whole.combine_chunks() if whole.num_rows < len(batches) * _SMALL_BATCH_ROWS else whole


def unique_rules(table: TableType) -> tuple[Unique, ...]:
    """The tuples that no two rows may share, but for the key: an equal key is an equal id."""
    every = (rule for rule in table.constraints if isinstance(rule, Unique))
    return tuple(rule for rule in every if set(rule.properties) != set(table.key))


def gathered(batches: tuple[pa.Table, ...]) -> tuple[pa.Table, ...]:
    """The same rows in the same order, the last small batches as one when there are many.

    Only for tables without unique tuples: that rule alone asks whether rows came from one statement.
    """
    if len(batches) < _GATHERED_BATCHES or batches[-_GATHERED_BATCHES].num_rows >= _GATHERED_BATCHES:
        return batches
    last = batches[-_GATHERED_BATCHES:]
    if any(batch.num_rows >= _SMALL_BATCH_ROWS for batch in last):
        return batches
    return (*batches[:-_GATHERED_BATCHES], together(last))


def last_by_id(schema: pa.Schema, batches: tuple[pa.Table, ...]) -> pa.Table:
    """All rows in order of first staging, each id once, with its last image."""
    if not batches:
        return schema.empty_table()
    whole = together(batches)
    if whole.num_rows < 2:
        return whole
    ids = whole[ID].combine_chunks()
    if pc.count_distinct(ids).as_py() == len(ids):
        return whole
    last: dict[str, int] = {}
    for place, found in enumerate(ids.to_pylist()):
        last[found] = place
    return whole.take(pa.array(sorted(last.values())))


@dataclass(slots=True)
class _State:
    changes: dict[TableIdentity, TableChanges] = field(default_factory=dict)
    rows: int = 0
    bytes: int = 0
    affected_nodes: int = 0
    affected_edges: int = 0
    dependent: bool = False

    def copy(self) -> _State:
        return replace(self, changes=dict(self.changes))


class MutationStaging:
    """The accumulator. Not for several threads at once."""

    def __init__(self, budget: Budget | None = None) -> None:
        self._budget = budget or Budget()
        self._state = _State()

    # ---- what was done ----------------------------------------------------------------------------------------

    @property
    def changes(self) -> Mapping[TableIdentity, TableChanges]:
        return MappingProxyType(self._state.changes)

    def of(self, table: TableType) -> TableChanges | None:
        return self._state.changes.get(TableIdentity.of(table))

    @property
    def is_empty(self) -> bool:
        return not self._state.changes

    @property
    def affected_nodes(self) -> int:
        return self._state.affected_nodes

    @property
    def affected_edges(self) -> int:
        return self._state.affected_edges

    @property
    def dependent(self) -> bool:
        """Whether what was staged, or shown, depends on what was read: then only the exact base will do."""
        return self._state.dependent

    def depend(self) -> None:
        """Rows were shown to a client, or staged rows follow from rows that were read."""
        self._state.dependent = True

    @contextmanager
    def statement(self) -> Iterator[None]:
        """All of a statement or nothing of it: an error inside leaves everything as it was before."""
        before = self._state.copy()
        try:
            yield
        except BaseException:
            self._state = before
            raise

    # ---- doing ------------------------------------------------------------------------------------------------

    def insert(self, table: TableType, rows: pa.Table, *, generated: bool = False) -> None:
        """Rows whose ids must be new; `generated` when they were made for this. Raises KeyConflict for a known one."""
        if not rows.num_rows:
            return
        fresh = rows[ID].to_pylist()
        known = self.of(table)
        seen: set[str] = set()
        for one in fresh:
            if one in seen or (known is not None and (one in known.inserted or one in known.replaced)):
                raise key_conflict(table, one, "this transaction inserts it twice", _ONCE)
            seen.add(one)
        changed = self._grown(table, Mode.INSERT, rows)
        made = generated and (known is None or known.generated)
        self._keep(replace(changed, inserted=changed.inserted.plus(seen), generated=made), rows, rows.num_rows)

    def upsert(self, table: TableType, rows: pa.Table) -> None:
        """Rows that replace those with the same ids, or are added."""
        if rows.num_rows:
            changed = self._grown(table, Mode.UPSERT, rows)
            replaced = changed.replaced.plus(rows[ID].to_pylist())
            self._keep(replace(changed, replaced=replaced), rows, rows.num_rows)

    def update(self, table: TableType, rows: pa.Table) -> None:
        """New images of rows that were read, so their ids exist."""
        if rows.num_rows:
            self.depend()
            self.upsert(table, rows)

    def delete(self, table: TableType, ids: pa.Array) -> int:
        """Ids of rows that go; how many of them had not gone before."""
        known = self.of(table) or TableChanges(table, Mode.DELETE)
        if known.mode is not Mode.DELETE:
            raise InternalError(f"{known.key} is built and torn down in one transaction")
        gone = frozenset(ids.to_pylist()) - known.deleted
        if gone:
            self.depend()
            self._keep(replace(known, deleted=known.deleted | gone), None, len(gone))
        return len(gone)

    def overwrite(self, table: TableType, rows: pa.Table) -> None:
        """The table becomes exactly these rows; none empties it."""
        if self.of(table) is not None:
            raise InternalError(f"{table_key(table)} is overwritten and changed in one transaction")
        self.depend()
        self._keep(TableChanges(table, Mode.OVERWRITE, (rows,)), rows, rows.num_rows)

    def _grown(self, table: TableType, mode: Mode, rows: pa.Table) -> TableChanges:
        known = self.of(table)
        if known is None:
            return TableChanges(table, mode, (rows,))
        if known.mode not in (Mode.INSERT, Mode.UPSERT):
            raise InternalError(f"{known.key} is built and torn down in one transaction")
        both = Mode.INSERT if known.mode is mode is Mode.INSERT else Mode.UPSERT
        batches = (*known.batches, rows)
        if not unique_rules(table):
            batches = gathered(batches)
        return replace(known, mode=both, batches=batches, generated=False)

    def _keep(self, changed: TableChanges, rows: pa.Table | None, count: int) -> None:
        state = self._state
        state.rows += count
        state.bytes += rows.nbytes if rows is not None else 0
        _refuse_excess("staged_rows", self._budget.rows, state.rows)
        _refuse_excess("staged_bytes", self._budget.bytes, state.bytes)
        state.changes[TableIdentity.of(changed.type)] = changed
        if isinstance(changed.type, NodeType):
            state.affected_nodes += count
        else:
            state.affected_edges += count


_ONCE: Final = "insert it once, or say ON CONFLICT"
EXISTS: Final = "INSERT OR REPLACE, or ON CONFLICT, say what is to become of a row that exists"


def key_conflict(table: TableType, found: str, why: str, hint: str | None = None) -> KeyConflict:
    return KeyConflict(f"{table.name} '{found}': {why}", type=table.name, id=found, hint=hint)


def _refuse_excess(resource: str, limit: int, actual: int) -> None:
    if actual > limit:
        raise ResourceLimitExceeded(
            f"a transaction holds at most {limit} {resource.replace('_', ' ')}",
            resource=resource,
            limit=limit,
            actual=actual,
            hint="commit in smaller parts, or load the rows from a file",
        )
