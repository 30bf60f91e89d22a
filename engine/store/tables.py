"""Lance tables of one graph: open at a pin, read, look ids up, find the newest version."""

from __future__ import annotations

import shutil
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base.catalog import ID, TableType
from omnigraph_sql.base.errors import OmniError, VersionReclaimed
from omnigraph_sql.base.seams import Failpoints
from omnigraph_sql.base.types import BLOB, arrow_type
from omnigraph_sql.engine.store.durable import Disk, LeftToSystem
from omnigraph_sql.engine.store.failures import says_missing, storage_error
from omnigraph_sql.engine.store.held_ids import HeldIds
from omnigraph_sql.engine.store.predicate import id_in, member_of
from omnigraph_sql.engine.store.root import GraphRoot
from omnigraph_sql.engine.store.versions import has_successor
from omnigraph_sql.engine.values import TablePin

PRIMARY_KEY: Final = {b"lance-schema:unenforced-primary-key": b"true"}
STABLE_PROPERTY_ID: Final = b"omnigraph.stable_property_id"
FILE_VERSION: Final = "2.2"
ROW_ADDRESS: Final = "_rowaddr"
_OPEN_TABLES_MAX: Final = 256
_SCHEMAS_MAX: Final = 4096
_LOOKUP_BY_LIST_MAX: Final = 1024
"""More ids than this are looked up by reading the id column once instead of by an IN list."""


_schemas: dict[int, tuple[TableType, pa.Schema]] = {}
"""Schemas by the identity of their type, which is held so that nobody else gets it."""


def table_schema(of: TableType) -> pa.Schema:
    """The physical columns of a type: id (src, dst), then properties, each with its stable id."""
    known = _schemas.get(id(of))
    if known is None:
        if len(_schemas) >= _SCHEMAS_MAX:
            _schemas.clear()
        known = _schemas[id(of)] = (of, _table_schema(of))
    return known[1]


def _table_schema(of: TableType) -> pa.Schema:
    stable = {p.name: p.stable_id for p in of.properties}
    fields = []
    for column in of.schema.fields:
        metadata = {STABLE_PROPERTY_ID: str(stable[column.name]).encode()} if column.name in stable else {}
        if column.name == ID:
            metadata = dict(PRIMARY_KEY)
        if column.type == BLOB:
            metadata[b"lance-encoding:blob"] = b"true"
        fields.append(pa.field(column.name, arrow_type(column.type), column.nullable, metadata or None))
    return pa.schema(fields)


@dataclass(frozen=True, slots=True)
class OpenTable:
    """A table at exactly its pin."""

    pin: TablePin
    dataset: Any

    @property
    def schema(self) -> pa.Schema:
        schema: pa.Schema = self.dataset.schema
        return schema


class Tables:
    """Opens tables and keeps the most recently used open; shared by all handles of a graph in a process."""

    def __init__(self, root: GraphRoot, failpoints: Failpoints, disk: Disk | None = None) -> None:
        import lance

        self._lance: Any = lance
        self._root, self.failpoints, self._disk = root, failpoints, disk or LeftToSystem()
        self._session = self._lance.Session()
        self._kept: OrderedDict[tuple[str, str | None, int], Any] = OrderedDict()
        self._lock = Lock()
        self.held_ids = HeldIds()
        self.opened = 0
        """How many datasets were opened so far, for the cost gates."""

    @property
    def root(self) -> GraphRoot:
        return self._root

    def address(self, path: str, branch: str | None) -> str:
        """Where the versions of one Lance branch of a table are."""
        return self._root.child(table_home(path, branch))

    def settle(self, pins: Iterable[TablePin]) -> None:
        """Return when the versions are as durable as the graph was opened for. Raises StorageError."""
        for pin in pins:
            home = table_home(pin.path, pin.branch)
            if not self._disk.settled(home, pin.version):
                self._disk.settle(home, self.open(pin).dataset)

    def open(self, pin: TablePin) -> OpenTable:
        """The table at its pin. Raises StorageError; VersionReclaimed when the version is gone."""
        return OpenTable(pin, self.dataset(pin.path, pin.branch, pin.version, pin.key))

    def dataset(self, path: str, branch: str | None, version: int, key: str = "") -> Any:
        wanted = (path, branch, version)
        with self._lock:
            found = self._kept.get(wanted)
            if found is not None:
                self._kept.move_to_end(wanted)
                return found
        with self.telling(f"opening {key or path}"):
            self.failpoints.hit("store.open")
            self.opened += 1
            options = self._root.storage_options
            try:
                made = self._lance.dataset(
                    self.address(path, branch), version=version, session=self._session, storage_options=options
                )
            except ValueError as error:
                raise self._reclaimed(key or path, version, error) from error
        return self.keep(path, branch, made)

    def keep(self, path: str, branch: str | None, dataset: Any) -> Any:
        """Remember an open dataset, a committed one included, so that its version is not opened again."""
        with self._lock:
            self._kept[(path, branch, int(dataset.version))] = dataset
            while len(self._kept) > _OPEN_TABLES_MAX:
                self._kept.popitem(last=False)
        return dataset

    def newest(self, path: str, branch: str | None, known: int, key: str = "") -> int:
        """The newest version of a table's Lance branch; `known` is one that exists."""
        dataset = self.dataset(path, branch, known, key)
        with self.telling(f"looking for the newest version of {key or path}"):
            self.failpoints.hit("store.newest")
            return int(dataset.latest_version)

    def moved(self, pin: TablePin, branch: str | None) -> int | None:
        """The newest version of a table's Lance branch if it is not the pinned one. A commit checks again."""
        if self._root.local is not None:
            with self.telling(f"looking for the newest version of {pin.key}"):
                self.failpoints.hit("store.newest")
                if has_successor(Path(self.address(pin.path, branch)), pin.version) is False:
                    return None
        newest = self.newest(pin.path, branch, pin.version, pin.key)
        return newest if newest != pin.version else None

    def transaction_uuid(self, path: str, branch: str | None, version: int, known: int) -> str | None:
        """The uuid of the transaction that made a version; None when Lance keeps none for it."""
        dataset = self.dataset(path, branch, known)
        with self.telling(f"reading the history of {path}"):
            found = dataset.read_transaction(version)
            return None if found is None else str(found.uuid)

    def is_restore(self, path: str, branch: str | None, version: int, known: int) -> bool:
        """Whether a version was made by bringing an older one back."""
        dataset = self.dataset(path, branch, known)
        with self.telling(f"reading the history of {path}"):
            found = dataset.read_transaction(version)
            return found is not None and isinstance(found.operation, self._lance.LanceOperation.Restore)

    def create(self, path: str, schema: pa.Schema) -> int:
        """An empty table where there is none; its version."""
        with self.telling(f"creating {path}"):
            self.failpoints.hit("store.create")
            made = self._lance.write_dataset(
                schema.empty_table(),
                self._root.child(path),
                mode="create",
                data_storage_version=FILE_VERSION,
                enable_v2_manifest_paths=True,
                storage_options=self._root.storage_options,
                session=self._session,
                auto_cleanup_options=None,
            )
        self.keep(path, None, made)
        return int(made.version)

    def drop(self, path: str) -> None:
        """Remove a table that no manifest names; none there is fine."""
        with self.telling(f"removing {path}"):
            self.failpoints.hit("store.drop")
            if self._root.local is not None:
                # A loss of power may have left a folder that Lance takes for no table, and so would not remove.
                shutil.rmtree(self._root.local / path, ignore_errors=not (self._root.local / path).exists())
                return
            try:
                self._lance.LanceDataset.drop(self._root.child(path), self._root.storage_options, ignore_not_found=True)
            except (OSError, ValueError) as error:
                if not says_missing(error, self._root):
                    raise

    def fork(self, path: str, branch: str, owner: str | None, version: int) -> Any:
        """The Lance branch `branch` of a table, made from `owner` at `version`; one that is there already is opened."""
        base = self.dataset(path, owner, version)
        with self.telling(f"branching {path}"):
            self.failpoints.hit("store.fork")
            if branch in base.branches.list():
                options = self._root.storage_options
                found = self._lance.dataset(self.address(path, branch), session=self._session, storage_options=options)
            else:
                base.create_branch(branch, (owner, version))
                options = self._root.storage_options
                found = self._lance.dataset(self.address(path, branch), session=self._session, storage_options=options)
        # Recovery asks for the version that the branch began with.
        self._disk.settle(table_home(path, branch), found)
        return self.keep(path, branch, found)

    def has_branch(self, path: str, branch: str, owner: str | None, version: int) -> bool:
        """Whether a table has a Lance branch; `owner` at `version` is a state of it that exists."""
        base = self.dataset(path, owner, version)
        with self.telling(f"listing branches of {path}"):
            self.failpoints.hit("store.branches")
            return branch in base.branches.list()

    def restore(self, path: str, branch: str | None, version: int) -> int:
        """Make the content of an old version the newest one again; the version that does so. Only under the lease."""
        with self.telling(f"restoring {path}"):
            self.failpoints.hit("store.restore")
            fresh = self._lance.dataset(
                self.address(path, branch), version=version, storage_options=self._root.storage_options
            )
            fresh.restore()
            return int(fresh.latest_version)

    # ---- reading ----------------------------------------------------------------------------------------------

    def held(self, table: OpenTable, ids: pa.Array) -> pa.Array:
        """Those of the ids that the table holds. Who asks often is soon answered from memory about ids it does not."""
        if len(ids) and table.pin.row_count and self.held_ids.asked(table.dataset, table.pin.row_count):
            with self.telling(f"reading the ids of {table.pin.key}"):
                self.failpoints.hit("store.lookup")
                self.held_ids.read(table.dataset)
        return self.addresses(table, ids)[ID].combine_chunks()

    def addresses(self, table: OpenTable, ids: pa.Array) -> pa.Table:
        """`id` and `_rowaddr` of those of the ids that the table holds."""
        ids = self.held_ids.possible(table.dataset, ids)
        if not len(ids) or table.pin.row_count == 0:
            return pa.table({ID: pa.array([], pa.utf8()), ROW_ADDRESS: pa.array([], pa.uint64())})
        with self.telling(f"looking ids up in {table.pin.key}"):
            self.failpoints.hit("store.lookup")
            if len(ids) <= _LOOKUP_BY_LIST_MAX:
                found = table.dataset.scanner(columns=[ID], filter=id_in(ids), with_row_address=True).to_table()
                return found.select([ID, ROW_ADDRESS])
            whole = table.dataset.scanner(columns=[ID], with_row_address=True).to_table()
            return whole.filter(pc.is_in(whole[ID], value_set=ids)).select([ID, ROW_ADDRESS])

    def rows(self, table: OpenTable, ids: pa.Array) -> pa.Table:
        """Whole rows with these ids, in no order."""
        if not len(ids) or table.pin.row_count == 0:
            return table.schema.empty_table()
        return self._matching(table, None, ID, ids)

    def count(self, table: OpenTable) -> int:
        """How many rows the table has, by what it says of itself; none are read."""
        with self.telling(f"counting the rows of {table.pin.key}"):
            self.failpoints.hit("store.lookup")
            return int(table.dataset.count_rows())

    def batches(self, table: OpenTable) -> Iterator[pa.RecordBatch]:
        """All rows, blobs as bytes, a bounded part at a time."""
        blobs = {"blob_handling": "all_binary"} if any(is_blob(field) for field in table.schema) else {}
        with self.telling(f"reading {table.pin.key}"):
            self.failpoints.hit("store.lookup")
            yield from table.dataset.scanner(**blobs).to_batches()

    def touching(self, table: OpenTable, column: str, values: pa.Array) -> pa.Array:
        """Ids of the rows that hold one of the values in a text column."""
        if not len(values) or table.pin.row_count == 0:
            return pa.array([], pa.utf8())
        return self._matching(table, [ID], column, values)[ID].combine_chunks()

    def _matching(self, table: OpenTable, columns: list[str] | None, column: str, values: pa.Array) -> pa.Table:
        blobs = {"blob_handling": "all_binary"} if any(is_blob(field) for field in table.schema) else {}
        with self.telling(f"reading {table.pin.key}"):
            self.failpoints.hit("store.lookup")
            if len(values) <= _LOOKUP_BY_LIST_MAX:
                found: pa.Table = table.dataset.scanner(
                    columns=columns, filter=member_of(column, values), **blobs
                ).to_table()
                return found
            read = None if columns is None else list(dict.fromkeys((*columns, column)))
            whole: pa.Table = table.dataset.scanner(columns=read, **blobs).to_table()
            return whole.filter(pc.is_in(whole[column], value_set=values))

    def row_ids(self, table: OpenTable, ids: pa.Array) -> pa.Array:
        """What Lance calls the rows with these ids in a block list."""
        if not len(ids) or table.pin.row_count == 0:
            return pa.array([], pa.uint64())
        with self.telling(f"looking ids up in {table.pin.key}"):
            self.failpoints.hit("store.lookup")
            if len(ids) <= _LOOKUP_BY_LIST_MAX:
                found = table.dataset.scanner(columns=[ID], filter=id_in(ids), with_row_id=True).to_table()
            else:
                found = table.dataset.scanner(columns=[ID], with_row_id=True).to_table()
                found = found.filter(pc.is_in(found[ID], value_set=ids))
            return found["_rowid"].combine_chunks()

    def blocklist(self, row_ids: pa.Array) -> bytes | None:
        """The rows a scan skips, in Lance's own form."""
        from lance.dataset import serialize_row_addrs

        made: bytes | None = serialize_row_addrs(row_ids.to_pylist()) if len(row_ids) else None
        return made

    def _reclaimed(self, what: str, version: int, error: Exception) -> OmniError:
        if not says_missing(error, self._root):
            return storage_error(error, f"opening {what}", self._root)
        return VersionReclaimed(f"version {version} of {what} is gone")

    @contextmanager
    def telling(self, doing: str) -> Iterator[None]:
        """Turns what Lance raises into a StorageError that says what was being done."""
        try:
            yield
        except OmniError:
            raise
        except Exception as error:
            raise storage_error(error, doing, self._root) from error


def table_home(path: str, branch: str | None) -> str:
    """The folder of one Lance branch of a table, below the root."""
    return path if branch is None else f"{path}/tree/{branch}"


def is_blob(field: pa.Field) -> bool:
    """Whether a scan gives descriptors of this column instead of bytes. An open table shows a type of Lance's own."""
    return isinstance(field.type, pa.BaseExtensionType) or bool((field.metadata or {}).get(b"lance-encoding:blob"))
