"""The Arrow dataset a query engine scans: a table at its pin, without the rows that pending ones stand for."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from threading import Lock
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pds

from omnigraph_sql.base.catalog import ID
from omnigraph_sql.base.errors import OmniError
from omnigraph_sql.engine.store.failures import storage_error
from omnigraph_sql.engine.store.tables import OpenTable, Tables

_BATCH_ROWS: Final = 65_536
"""Larger than what the engine asks for: scans are faster in bigger pieces."""
_FEW_ROWS: Final = 1024
ROW_ID: Final = "_rowid"


_KEPT_FAILURES_MAX: Final = 256
_failures: OrderedDict[int, OmniError] = OrderedDict()
_numbers = count(1)
_FAILURE: Final = re.compile(r"omnigraph failure (\d+);")


def _remembered(error: OmniError) -> str:
    """A text that stands for an error: engines hand on texts, not exceptions."""
    number = next(_numbers)
    _failures[number] = error
    while len(_failures) > _KEPT_FAILURES_MAX:
        _failures.popitem(last=False)
    return f"omnigraph failure {number};"


def failure_in(text: str) -> OmniError | None:
    """The error that a text of an engine is about, if it came from a table's storage."""
    found = _FAILURE.search(text)
    return _failures.pop(int(found[1]), None) if found is not None else None


class Shadow:
    """Ids of committed rows that are not to be seen, and where they are; the places are looked up when first needed."""

    __slots__ = ("_block", "_ids", "_lock", "_places", "_table", "_tables")

    def __init__(self, tables: Tables, table: OpenTable, ids: frozenset[str]) -> None:
        self._tables, self._table, self._ids = tables, table, ids
        self._places: Any = None
        self._block: bytes | None = None
        self._lock = Lock()

    def places(self) -> Any:
        """Row ids of the hidden rows as Lance knows them, in order."""
        with self._lock:
            if self._places is None:
                found = self._tables.row_ids(self._table, pa.array(self._ids, pa.utf8()))
                self._places = np.sort(found.to_numpy(zero_copy_only=False))
            return self._places

    @property
    def found(self) -> bool:
        """Whether the hidden rows were looked up already; until then `seen` needs the ids of rows."""
        return self._places is not None

    def block(self) -> bytes | None:
        """What makes a scan skip them; None when no committed row is hidden."""
        places = self.places()
        with self._lock:
            if self._block is None and len(places):
                self._block = self._tables.blocklist(pa.array(places))
            return self._block

    def seen(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Rows of a batch, which has their row ids and, if it was begun before those were found, ids, not hidden."""
        if batch.num_rows <= _FEW_ROWS and ID in batch.schema.names:
            # Looking few ids up among the hidden ones is cheaper than finding all of these.
            return batch.filter(pa.array([one not in self._ids for one in batch.column(ID).to_pylist()], pa.bool_()))
        rows = batch.column(ROW_ID).to_numpy(zero_copy_only=False)
        places = self.places()
        first, last = np.searchsorted(places, (rows.min(), rows.max() + 1))
        if first == last:
            return batch
        return batch.filter(pa.array(~np.isin(rows, places[first:last])))


class _Scan:
    """What the engine wants of a scanner."""

    __slots__ = ("_batches", "projected_schema")

    def __init__(self, schema: pa.Schema, batches: Callable[[], Iterable[pa.RecordBatch]]) -> None:
        self.projected_schema = schema
        self._batches = batches

    def to_batches(self) -> Iterable[pa.RecordBatch]:
        return self._batches()


class CommittedDataset(pds.Dataset):  # type: ignore[misc]
    """One table, one partition. Filters and projections reach Lance; the limit does not.

    `within` is a filter in Lance's own text that every wanted row passes. It is used where the engine hands down none:
    the engine tests the condition itself then.
    """

    def __init__(self, table: OpenTable, shadow: Shadow | None = None, within: str | None = None) -> None:
        self._table, self._shadow, self._within = table, shadow, within
        self._schema = pa.schema([readable(field) for field in table.schema])

    @property
    def schema(self) -> pa.Schema:
        return self._schema

    def projected(self, columns: list[str] | None) -> pa.Schema:
        return self._schema if columns is None else pa.schema([self._schema.field(name) for name in columns])

    def scanner(self, columns: list[str] | None = None, filter: Any = None, **_: Any) -> Any:
        del filter
        return _Scan(self.projected(columns), tuple)

    def get_fragments(self, filter: Any = None) -> list[Any]:
        del filter
        return [_Fragment(self)]

    def told(self, columns: list[str], filter: Any) -> Iterator[pa.RecordBatch]:
        """`batches`, with what storage raises kept for whoever sees the engine's own words for it."""
        try:
            yield from self.batches(columns, filter)
        except OmniError as error:
            raise RuntimeError(_remembered(error)) from error
        except Exception as error:
            raise RuntimeError(_remembered(storage_error(error, f"reading {self._table.pin.key}"))) from error

    def batches(self, columns: list[str], filter: Any) -> Iterator[pa.RecordBatch]:
        """Rows that match, minus the shadowed ones."""
        dataset, shadow = self._table.dataset, self._shadow
        if isinstance(filter, pa.Scalar):
            # The engine hands a condition down that came out constant as its bare value.
            if not filter.as_py():
                return
            filter = None
        if filter is None:
            # What the engine hands down leaves nothing for it to test, so that goes first.
            filter = self._within
        if not columns and filter is None:
            hidden = len(shadow.places()) if shadow is not None else 0
            yield _without_columns(dataset.count_rows() - hidden)
            return
        options: dict[str, Any] = {}
        # A block list switches scalar indexes off, so a filtered scan drops rows afterwards instead.
        drop = filter is not None and shadow is not None
        if shadow is not None and not drop and (block := shadow.block()) is not None:
            options["row_addr_blocklist"] = block
        if any(pa.types.is_large_binary(self._schema.field(name).type) for name in columns):
            options["blob_handling"] = "all_binary"
        asks_ids = not columns or (drop and shadow is not None and not shadow.found)
        read = [*columns, ID] if asks_ids and ID not in columns else list(columns)
        scanner = dataset.scanner(columns=read, filter=filter, batch_size=_BATCH_ROWS, with_row_id=drop, **options)
        for batch in scanner.to_reader():
            if drop and shadow is not None and batch.num_rows:
                batch = shadow.seen(batch)
            if batch.num_rows:
                yield self._shown(batch, columns)

    def _shown(self, batch: pa.RecordBatch, columns: list[str]) -> pa.RecordBatch:
        if not columns:
            return _without_columns(batch.num_rows)
        return pa.RecordBatch.from_arrays([batch.column(name) for name in columns], schema=self.projected(columns))


class _Fragment:
    __slots__ = ("_parent",)

    def __init__(self, parent: CommittedDataset) -> None:
        self._parent = parent

    def scanner(self, schema: Any, columns: list[str] | None = None, filter: Any = None, **_: Any) -> _Scan:
        del schema
        parent = self._parent
        projected = parent.projected(columns)
        return _Scan(projected, lambda: parent.told(list(projected.names), filter))


def readable(field: pa.Field) -> pa.Field:
    """A column as the engine sees it: a blob as its bytes, and no metadata, which only some of its steps would keep.

    Every column may be null as far as it knows: from the contrary it makes conditions that are plainly true, and hands
    those down to be combined with others, which only expressions can be.
    """
    is_blob = isinstance(field.type, pa.BaseExtensionType) or (field.metadata or {}).get(b"lance-encoding:blob")
    return pa.field(field.name, pa.large_binary() if is_blob else field.type, True)


def _without_columns(rows: int) -> pa.RecordBatch:
    """A batch that has a number of rows and nothing else."""
    empty = pa.Array.from_buffers(pa.struct([]), rows, [None], children=[])
    return pa.RecordBatch.from_struct_array(empty)
