"""Stage and commit: what a table will become, prepared beside it, and the one step that makes it the newest version.

Lance rebases a stale commit by itself even when told not to retry, so every commit is checked afterwards: it must have
made exactly the planned version, with our transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import InternalError, OmniError
from omnigraph_sql.engine.store.failures import storage_error
from omnigraph_sql.engine.store.indexes import TableIndex, index_operation
from omnigraph_sql.engine.store.tables import Tables, is_blob
from omnigraph_sql.engine.values import TablePin

OPERATION: Final = "omnigraph.operation"


@dataclass(frozen=True, slots=True)
class AppendRows:
    """Rows whose ids the table does not hold."""

    rows: pa.Table


@dataclass(frozen=True, slots=True)
class ReplaceRows:
    """Rows that take the place of those at `replaced` (row addresses), or are added."""

    rows: pa.Table
    replaced: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RemoveRows:
    """The rows at these addresses go."""

    removed: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ReplaceTable:
    """The whole content; `files` are fragments written before (a load), `rows` the content itself."""

    rows: pa.Table | None = None
    files: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class AppendFiles:
    """Fragments written before and not yet part of the table."""

    files: tuple[Any, ...]
    row_count: int


@dataclass(frozen=True, slots=True)
class ReplaceFiles:
    """Fragments written before, whose rows take the place of those at `replaced` (row addresses) or are added."""

    files: tuple[Any, ...]
    row_count: int
    replaced: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SwapFiles:
    """Fragments written before, in place of `gone` rows that were marked as deleted before, too.

    `marked` are the fragments of the pin with these marks, `emptied` the ids of those of which nothing is left.
    """

    files: tuple[Any, ...]
    row_count: int
    marked: tuple[Any, ...]
    emptied: tuple[int, ...]
    gone: int


@dataclass(frozen=True, slots=True)
class BuildIndexes:
    """These indexes are made, or made to cover what they leave out; the rows stay."""

    indexes: tuple[TableIndex, ...]


@dataclass(frozen=True, slots=True)
class AddColumns:
    """Columns that hold NULL in every row there is; no file is written."""

    fields: tuple[pa.Field, ...]


TableChange: TypeAlias = (
    AppendRows
    | ReplaceRows
    | RemoveRows
    | ReplaceTable
    | AppendFiles
    | ReplaceFiles
    | SwapFiles
    | BuildIndexes
    | AddColumns
)


@dataclass(frozen=True, slots=True)
class Staged:
    """One uncommitted transaction. Nothing is visible of it, and files of an abandoned one are only garbage."""

    pin: TablePin
    branch: str | None
    uuid: str
    row_count: int
    transaction: Any

    @property
    def planned_version(self) -> int:
        return self.pin.version + 1


class EffectConflict(Exception):
    """The table moved under a commit that had no effect."""


class ForeignEffect(Exception):
    """A commit landed, but not as the next version after its pin: somebody else wrote to the table."""


def write_files(
    tables: Tables, dataset: Any, rows: pa.Table | Iterable[pa.RecordBatch], schema: pa.Schema
) -> list[Any]:
    """Data files beside the table, not part of it yet."""
    from lance.fragment import write_fragments

    source = rows if isinstance(rows, pa.Table) else pa.RecordBatchReader.from_batches(schema, rows)
    with tables.telling("writing rows"):
        tables.failpoints.hit("store.write")
        return list(write_fragments(source, dataset, storage_options=tables.root.storage_options))


def stage(
    tables: Tables, pin: TablePin, branch: str | None, change: TableChange, uuid: str, operation_id: str
) -> Staged:
    """Prepare the change on top of `pin`. `branch` is the Lance branch it will be committed to."""
    from lance import Transaction

    dataset = tables.dataset(pin.path, branch, pin.version, pin.key)
    operation, row_count = _operation(tables, dataset, pin, change)
    properties = {OPERATION: operation_id}
    made = Transaction(pin.version, operation, uuid=uuid, transaction_properties=properties)
    return Staged(pin, branch, uuid, row_count, made)


def files_written(staged: Staged, change: TableChange) -> tuple[Any, ...]:
    """Fragments that staging the change wrote; those of a load were written before, and are its own to keep or drop."""
    match change:
        case AppendRows() | ReplaceRows() | ReplaceTable(rows=pa.Table()):
            operation = staged.transaction.operation
            made = getattr(operation, "new_fragments", None) or getattr(operation, "fragments", None)
            return tuple(made or ())
        case _:
            return ()


def _operation(tables: Tables, dataset: Any, pin: TablePin, change: TableChange) -> tuple[Any, int]:
    from lance import LanceOperation

    schema: pa.Schema = dataset.schema
    match change:
        case AppendRows(rows):
            tail = small_fragments(dataset, schema)
            if tail:
                return _operation(tables, dataset, pin, ReplaceRows(rows, ()))
            return LanceOperation.Append(write_files(tables, dataset, rows, schema)), pin.row_count + rows.num_rows
        case AppendFiles(files, row_count):
            return LanceOperation.Append(list(files)), pin.row_count + row_count
        case ReplaceFiles(files, row_count, replaced):
            updated, removed = _without(tables, dataset, replaced)
            return _update(removed, updated, list(files)), pin.row_count + row_count - len(replaced)
        case SwapFiles(files, row_count, marked, emptied, gone):
            return _update(list(emptied), list(marked), list(files)), pin.row_count + row_count - gone
        case ReplaceRows(rows, replaced):
            tail = small_fragments(dataset, schema)
            kept = _rows_of(tables, dataset, tail, replaced)
            new = write_files(tables, dataset, rows if kept is None else pa.concat_tables([kept, rows]), schema)
            merged = frozenset(f.fragment_id for f in tail)
            updated, removed = _without(tables, dataset, [a for a in replaced if a >> 32 not in merged])
            return _update([*removed, *sorted(merged)], updated, new), pin.row_count + rows.num_rows - len(replaced)
        case RemoveRows(gone):
            updated, removed = _without(tables, dataset, gone)
            return LanceOperation.Delete(updated, removed, "by address"), pin.row_count - len(gone)
        case ReplaceTable(rows, files):
            new = list(files) if rows is None or not rows.num_rows else write_files(tables, dataset, rows, schema)
            return LanceOperation.Overwrite(dataset.lance_schema, new), sum(f.physical_rows for f in new)
        case BuildIndexes(indexes):
            return index_operation(tables, dataset, indexes), pin.row_count
        case AddColumns(fields):
            return _grown(dataset, fields), pin.row_count
        case _:
            assert_never(change)


def _update(emptied: list[int], marked: list[Any], new: list[Any]) -> Any:
    from lance import LanceOperation

    return LanceOperation.Update(
        removed_fragment_ids=emptied,
        updated_fragments=marked,
        new_fragments=new,
        update_mode="rewrite_rows",
        fields_for_preserving_frag_bitmap=[],
    )


def _grown(dataset: Any, fields: tuple[pa.Field, ...]) -> Any:
    """The operation that appends columns. Lance numbers a schema anew, so the numbers in use must come out the same."""
    from lance import LanceOperation
    from lance.schema import LanceSchema

    schema: pa.Schema = dataset.schema
    for field in fields:
        schema = schema.append(field)
    grown = LanceSchema.from_pyarrow(schema)
    before, after = ([(f.name(), f.id()) for f in of.fields()] for of in (dataset.lance_schema, grown))
    if after[: len(before)] != before:
        raise InternalError("the columns of the table would be numbered anew")
    return LanceOperation.Merge([f.metadata for f in dataset.get_fragments()], grown)


def small_fragments(dataset: Any, schema: pa.Schema) -> list[Any]:
    """Fragments that the next write takes in, once there are many; none when the table has few.

    Every commit adds a file. Without this, looking an id up and committing would cost more with every commit.
    """
    if len(dataset.get_fragments()) <= limits.SMALL_FRAGMENTS_MAX or any(is_blob(field) for field in schema):
        return []
    small = [f for f in dataset.get_fragments() if f.physical_rows < limits.SMALL_FRAGMENT_ROWS_MAX]
    return small if len(small) > limits.SMALL_FRAGMENTS_MAX else []


def _rows_of(tables: Tables, dataset: Any, fragments: list[Any], replaced: Sequence[int]) -> pa.Table | None:
    """Live rows of some fragments, but for those that are replaced."""
    if not fragments:
        return None
    with tables.telling("reading small files"):
        found: pa.Table = dataset.scanner(fragments=fragments, with_row_address=True).to_table()
    addresses = found["_rowaddr"]
    gone = pa.array(replaced, addresses.type)
    return found.filter(pc.invert(pc.is_in(addresses, value_set=gone))).drop_columns(["_rowaddr"])


def _without(tables: Tables, dataset: Any, addresses: Sequence[int]) -> tuple[list[Any], list[int]]:
    """Fragments with the rows marked as deleted, and the ids of fragments of which nothing is left."""
    offsets: dict[int, list[int]] = {}
    for address in addresses:
        offsets.setdefault(address >> 32, []).append(address & 0xFFFFFFFF)
    updated, removed = [], []
    with tables.telling("marking rows as deleted"):
        for fragment, rows in sorted(offsets.items()):
            left = dataset.get_fragment(fragment).delete_rows(rows)
            if left is None:
                removed.append(fragment)
            else:
                updated.append(left)
    return updated, removed


def commit(tables: Tables, staged: Staged) -> int:
    """Make the staged change the newest version; that version.

    Raises EffectConflict when the table moved and nothing happened, ForeignEffect when something landed that is not
    what was planned, StorageError when the outcome is not known.
    """
    from lance import LanceDataset
    from lance.commit import CommitConflictError

    pin = staged.pin
    dataset = tables.dataset(pin.path, staged.branch, pin.version, pin.key)
    try:
        tables.failpoints.hit("store.commit")
        made = LanceDataset.commit(
            dataset, staged.transaction, max_retries=0, storage_options=tables.root.storage_options
        )
        version = int(made.version)
        if version == staged.planned_version:
            tables.keep(pin.path, staged.branch, made)
            return version
    except CommitConflictError as error:
        if _landed(tables, staged):
            return staged.planned_version
        raise EffectConflict(f"{pin.key} moved past version {pin.version}") from error
    except OmniError:
        raise
    except Exception as error:
        raise storage_error(error, f"committing {pin.key}", tables.root) from error
    raise ForeignEffect(f"{pin.key}: version {version} was made where {staged.planned_version} was planned")


def _landed(tables: Tables, staged: Staged) -> bool:
    """Whether the planned version is ours after all: a store that lost its answer repeats a put and meets itself."""
    pin = staged.pin
    if tables.newest(pin.path, staged.branch, pin.version, pin.key) < staged.planned_version:
        return False
    return tables.transaction_uuid(pin.path, staged.branch, staged.planned_version, pin.version) == staged.uuid
