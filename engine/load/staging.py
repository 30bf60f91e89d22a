"""What a load has read so far: rows in files, and of each row only what rules about several rows need."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base.catalog import DST, ID, SRC, Catalog, EdgeType, TableType, Unique
from omnigraph_sql.base.errors import ConstraintViolation, DataError, InternalError, KeyConflict
from omnigraph_sql.engine.load.places import placed
from omnigraph_sql.engine.load.report import Phase, Progress, Watch
from omnigraph_sql.engine.load.rows import Rows, rows_of
from omnigraph_sql.engine.load.values import Chunk, LoadMode
from omnigraph_sql.engine.load.writers import FileWriter, Spool
from omnigraph_sql.engine.store.tables import table_schema
from omnigraph_sql.engine.values import MAIN, Snapshot, TableIdentity, TablePin, table_key
from omnigraph_sql.engine.world import World

_Mask: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.bool_]]"


def kept_columns(of: TableType) -> list[str]:
    """Columns that rules about several rows look at."""
    ends = (SRC, DST) if isinstance(of, EdgeType) else ()
    members = (name for rule in of.constraints if isinstance(rule, Unique) for name in rule.properties)
    return list(dict.fromkeys((ID, *ends, *members)))


@dataclass(slots=True)
class TableLoad:
    """One table of a load. `fresh` as long as every id was made for it, so that none can be there twice."""

    type: TableType
    writer: FileWriter
    spool: Spool | None
    kept: list[pa.RecordBatch] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    places: list[Callable[[int], str]] = field(default_factory=list)
    rows: int = 0
    fresh: bool = True

    @property
    def key(self) -> str:
        return table_key(self.type)

    def take(self, rows: Rows, place: Callable[[int], str]) -> None:
        self.kept.append(_copied(rows.batch.select(kept_columns(self.type))))
        self.fresh = self.fresh and rows.fresh
        self.starts.append(self.rows)
        self.places.append(place)
        self.rows += rows.batch.num_rows
        if self.spool is not None:
            self.spool.put(rows.batch)
        else:
            self.writer.put(rows.batch)

    def place(self, row: int) -> str:
        """Where a row came from."""
        part = bisect_right(self.starts, row) - 1
        return self.places[part](row - self.starts[part])

    def place_of(self, column: str, value: str) -> str | None:
        """Where the last row with a value came from; None when no row has it."""
        if column not in kept_columns(self.type):
            return None
        rows = np.flatnonzero(pc.equal(self.narrow()[column], value).to_numpy())
        return self.place(int(rows[-1])) if len(rows) else None

    def narrow(self) -> pa.Table:
        """The kept columns of all rows."""
        schema = pa.schema([table_schema(self.type).field(name) for name in kept_columns(self.type)])
        return pa.Table.from_batches(self.kept, schema) if self.kept else schema.empty_table()


@dataclass(frozen=True, slots=True)
class LoadedTable:
    """Files with all rows of one table, each id once."""

    type: TableType
    files: tuple[Any, ...]
    narrow: pa.Table
    fresh: bool

    @property
    def rows(self) -> int:
        return int(self.narrow.num_rows)


class LoadStaging:
    """Takes chunks in and makes files of them. Not for several threads at once."""

    def __init__(self, world: World, base: Snapshot, catalog: Catalog, mode: LoadMode, watch: Watch | None) -> None:
        self._world, self._base, self._catalog, self._mode, self._watch = world, base, catalog, mode, watch
        self._tables: dict[TableIdentity, TableLoad] = {}
        self.rows_read = 0
        self.bytes_read = 0

    def take(self, chunk: Chunk) -> None:
        """Check the rows of a chunk and pass them on. Raises DataError with the place of a bad row."""
        table = self._table(chunk.type)
        if chunk.rows:
            table.take(rows_of(chunk, self._catalog, self._world.seams.ids), chunk.place)
        self.rows_read += chunk.rows
        self.bytes_read += chunk.bytes
        self.tell(Phase.READING)

    def tell(self, phase: Phase) -> None:
        if self._watch is not None:
            counts = tuple(sorted((table.key, table.rows) for table in self._tables.values()))
            self._watch(Progress(phase, self.rows_read, self.bytes_read, counts))

    def _table(self, of: TableType) -> TableLoad:
        identity = TableIdentity.of(of)
        found = self._tables.get(identity)
        if found is None:
            branch = None if self._base.branch == MAIN else self._base.branch
            writer = FileWriter(self._world, of, self._pin(of), branch)
            spool = Spool(table_schema(of)) if self._mode is LoadMode.MERGE else None
            found = self._tables[identity] = TableLoad(of, writer, spool)
        return found

    def _pin(self, of: TableType) -> TablePin:
        pin = self._base.pin(TableIdentity.of(of))
        if pin is None:
            raise InternalError(f"{table_key(of)} is not a table of this graph")
        return pin

    def finish(self) -> list[LoadedTable]:
        """Every table that occurred, in the order of their names. Raises KeyConflict for an id that occurs twice."""
        tables = sorted(self._tables.values(), key=lambda table: table.key)
        made = [self._finished(table) for table in tables]
        self._world.failpoints.hit("load.after_files")
        return made

    def _finished(self, table: TableLoad) -> LoadedTable:
        narrow = table.narrow()
        stay = None if table.fresh else last_of_each(narrow[ID])
        if table.spool is not None:
            for batch in _staying(table.spool.batches(), stay):
                table.writer.put(batch)
            narrow = narrow if stay is None else narrow.filter(pa.array(stay))
        elif stay is not None:
            raise _twice(table, narrow[ID], stay)
        return LoadedTable(table.type, table.writer.finish(), narrow, table.fresh)

    def placed(self, error: DataError) -> DataError:
        """A refusal by a rule about several rows, with the place of the row in front; as it is where none is meant."""
        for column, value in _meant(error):
            for table in self._tables.values():
                place = table.place_of(column, value) if table.type.name == getattr(error, "type", None) else None
                if place is not None:
                    return placed(error, place)
        return error

    def close(self) -> None:
        """Give local disk space back."""
        for table in self._tables.values():
            if table.spool is not None:
                table.spool.close()

    def discard(self) -> None:
        """Remove every file that was written; only while it is certain that nothing names them."""
        for table in self._tables.values():
            table.writer.discard()


def _meant(error: DataError) -> list[tuple[str, str]]:
    """The columns and values by which the refused row is found. Of rows with one value, the second is refused."""
    match error:
        case KeyConflict(id=str(found)):
            return [(ID, found)]
        case ConstraintViolation(rule="card", ids=ids):
            return [(SRC, found) for found in ids]
        case ConstraintViolation(ids=ids):
            return [(ID, found) for found in reversed(ids[:2])]
        case _:
            return []


def _copied(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows in memory of their own: a column often shares its memory with all others that were read with it."""
    columns = [pa.concat_arrays([column, column.slice(0, 0)]) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def last_of_each(ids: pa.ChunkedArray) -> _Mask | None:
    """Which rows stay when the last one with an id counts; None when no id occurs twice."""
    codes = _codes(ids)
    if len(codes) == 0 or int(codes.max()) + 1 == len(codes):
        return None
    last = np.zeros(int(codes.max()) + 1, np.int64)
    last[codes] = np.arange(len(codes))
    stay = np.zeros(len(codes), np.bool_)
    stay[last] = True
    return stay


def _codes(ids: pa.ChunkedArray) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    encoded = ids.unify_dictionaries() if pa.types.is_dictionary(ids.type) else ids.dictionary_encode()
    return np.concatenate(
        [np.zeros(0, np.int64), *(chunk.indices.to_numpy(zero_copy_only=False) for chunk in encoded.chunks)]
    )


def _staying(batches: Iterator[pa.RecordBatch], stay: _Mask | None) -> Iterator[pa.RecordBatch]:
    start = 0
    for batch in batches:
        part = None if stay is None else stay[start : start + batch.num_rows]
        start += batch.num_rows
        kept = batch if part is None or part.all() else batch.filter(pa.array(part))
        if kept.num_rows:
            yield kept


def _twice(table: TableLoad, ids: pa.ChunkedArray, stay: _Mask) -> KeyConflict:
    """The refusal of the first row whose id comes again."""
    first = int(np.argmin(stay))
    found = ids[first].as_py()
    codes = _codes(ids)
    again = first + 1 + int(np.argmax(codes[first + 1 :] == codes[first]))
    return KeyConflict(
        f"{table.place(again)}: {table.type.name} '{found}' is in this load already, at {table.place(first)}",
        type=table.type.name,
        id=found,
        hint="give every row once, or load with mode merge",
    )
