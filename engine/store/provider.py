"""The Arrow dataset a query engine scans: a table at its pin, without the rows that pending ones stand for."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pds

from omnigraph_sql.base.catalog import ID
from omnigraph_sql.base.errors import OmniError
from omnigraph_sql.engine.store.failures import storage_error
from omnigraph_sql.engine.store.tables import OpenTable, Tables

_BATCH_ROWS: Final = 65_536
"""Larger than what the engine asks for: scans are faster in bigger pieces."""


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
    """Ids of committed rows that are not to be seen, and the row ids Lance knows them by; frozen for a statement."""

    __slots__ = ("_block", "_table", "_tables", "ids")

    def __init__(self, tables: Tables, table: OpenTable, ids: pa.Array) -> None:
        self._tables, self._table, self.ids = tables, table, ids
        self._block: tuple[int, bytes | None] | None = None

    def block(self) -> tuple[int, bytes | None]:
        """How many committed rows are hidden, and the list that makes a scan skip them."""
        if self._block is None:
            found = self._tables.row_ids(self._table, self.ids)
            self._block = len(found), self._tables.blocklist(found)
        return self._block

    def keep(self, ids: pa.Array) -> pa.Array:
        return pc.invert(pc.is_in(ids, value_set=self.ids))


class _Scan:
    """What the engine wants of a scanner."""

    __slots__ = ("_batches", "projected_schema")

    def __init__(self, schema: pa.Schema, batches: Callable[[], Iterable[pa.RecordBatch]]) -> None:
        self.projected_schema = schema
        self._batches = batches

    def to_batches(self) -> Iterable[pa.RecordBatch]:
        return self._batches()


class CommittedDataset(pds.Dataset):  # type: ignore[misc]
    """One table, one partition. Filters and projections reach Lance; the limit does not."""

    def __init__(self, table: OpenTable, shadow: Shadow | None = None) -> None:
        self._table, self._shadow = table, shadow
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
        if not columns and filter is None:
            hidden = shadow.block()[0] if shadow is not None else 0
            yield _without_columns(dataset.count_rows() - hidden)
            return
        options: dict[str, Any] = {}
        drop = False
        if shadow is not None:
            # A block list switches scalar indexes off, so a filtered scan drops by id afterwards instead.
            drop = filter is not None
            if not drop and (block := shadow.block()[1]) is not None:
                options["row_addr_blocklist"] = block
        if any(pa.types.is_large_binary(self._schema.field(name).type) for name in columns):
            options["blob_handling"] = "all_binary"
        read = [*columns, ID] if (drop or not columns) and ID not in columns else list(columns)
        reader = dataset.scanner(columns=read, filter=filter, batch_size=_BATCH_ROWS, **options).to_reader()
        for batch in reader:
            if drop and shadow is not None:
                batch = batch.filter(shadow.keep(batch.column(ID)))
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
