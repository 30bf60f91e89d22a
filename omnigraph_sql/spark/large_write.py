"""A write of more rows than are looked at in memory, in a process without a Spark session.

Values are parted by their hashes into ranges on the local disk, and one range after the other is looked at. What grows
with the rows in memory is a bit for each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import ID, TableType
from omnigraph_sql.engine.load.publishing import FilesChange
from omnigraph_sql.engine.load.report import LoadMode
from omnigraph_sql.engine.store.effects import AppendFiles, ReplaceFiles, ReplaceTable, SwapFiles, TableChange
from omnigraph_sql.engine.store.foreign import check_files, file_of, file_text, loose_rows, marked, without_rows
from omnigraph_sql.engine.store.loose import move_files
from omnigraph_sql.engine.store.tables import ROW_ADDRESS, Tables, table_schema
from omnigraph_sql.engine.values import TableIdentity, TablePin
from omnigraph_sql.engine.write.txn import WriteTxn
from omnigraph_sql.foreign import PinnedTables
from omnigraph_sql.run.ids import Ints, longest_run
from omnigraph_sql.spark.digests import row_digests
from omnigraph_sql.spark.fragments import part_batches, parts_of
from omnigraph_sql.spark.large_rules import BATCH_ROWS, LargeRules, Replaced
from omnigraph_sql.spark.loose import Bits, LooseFile, LooseTable
from omnigraph_sql.spark.range_file import RangeFile, Rows

_LOADED, _HELD = 0, 1


def keep_last(base: PinnedTables, table: LooseTable, seeds: tuple[int, int]) -> None:
    """Leave rows out that a later one with the same id replaces. What tells ids apart are 128 bits of each."""
    pin = base.pin(table.type)
    starts = np.concatenate((np.zeros(1, np.int64), np.cumsum([file.rows for file in table.files])))
    met = RangeFile(table.rows, 3, limits.SPARK_WRITE_ROWS_IN_MEMORY)
    try:
        _put_ids(met, _LOADED, (b for f in table.files for b in loose_rows(base.tables, pin, f.text, [ID])), seeds)
        for number in range(met.ranges):
            for gone in _but_last(met.read(_LOADED, number)):
                files = np.searchsorted(starts, gone, "right") - 1
                for file in np.unique(files).tolist():
                    table.drop(file, gone[files == file] - starts[file])
    finally:
        met.close()


def rewritten(base: PinnedTables, table: LooseTable) -> LooseTable:
    """The same table with files that do not hold the rows that are left out."""
    files: list[LooseFile] = []
    for number, file in enumerate(table.files):
        if number not in table.gone:
            files.append(file)
            continue
        gone = np.flatnonzero(np.unpackbits(table.gone[number], count=file.rows)).astype(np.int64)
        made = without_rows(base.tables, base.pin(table.type), file.text, gone, table_schema(table.type))
        files += [LooseFile(file_text(one), "", int(one.physical_rows), file.feed) for one in made]
    return LooseTable(table.type, files, table.fresh)


@dataclass(slots=True)
class LargeWrite:
    """The files of one table, each id in them once, on their way into the graph. `base` is what they lie beside."""

    base: PinnedTables
    table: LooseTable
    mode: LoadMode
    branch: str | None
    """The Lance branch that the files are for."""
    seeds: tuple[int, int]
    _moved: bool = field(default=False, init=False)

    def prepare(self, txn: WriteTxn) -> list[FilesChange]:
        """Check the rows on the base of an attempt and say what they change. Raises DataError."""
        of, written = self.table.type, self.base.pin(self.table.type)
        files = tuple(file_of(file.text) for file in self.table.files)
        if self._moved:
            move_files(self.base.tables, written.path, self.branch, written.branch, files)
            self._moved = False
        pin = txn.base.pin(TableIdentity.of(of))
        assert pin is not None
        tables = self.base.tables
        replaced = Replaced.none(pin)
        if self.mode is LoadMode.MERGE and not self.table.fresh:
            replaced = Replaced(pin, self._replaced(tables, pin))
        LargeRules(self.base, txn.base, txn.contract.catalog, self.mode, self.table, replaced, self.seeds[0]).check()
        change, gone = self._change(tables, pin, files, replaced)
        if written.branch != self.branch:
            move_files(tables, written.path, written.branch, self.branch, files)
            self._moved = True
        check_files(tables, written, self.branch, files)
        return [FilesChange(pin, change, self.table.rows, gone)]

    def _loaded(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        pin = self.base.pin(self.table.type)
        for file in self.table.files:
            yield from loose_rows(self.base.tables, pin, file.text, columns)

    def _replaced(self, tables: Tables, pin: TablePin) -> Bits:
        """A bit for every row of the base: whether a row of the write takes its place."""
        bits = np.zeros(-(-pin.row_count // 8), np.uint8)
        if not pin.row_count:
            return bits
        met = RangeFile(self.table.rows + pin.row_count, 3, limits.SPARK_WRITE_ROWS_IN_MEMORY)
        try:
            _put_ids(met, _LOADED, self._loaded([ID]), self.seeds)
            parts = parts_of(tables, pin)
            held = (part_batches(tables, pin, part, [ID], batch_rows=BATCH_ROWS) for part in parts)
            _put_ids(met, _HELD, chain.from_iterable(held), self.seeds)
            for number in range(met.ranges):
                loaded = np.concatenate([np.zeros((0, 3), np.uint64), *met.read(_LOADED, number)])
                loaded = loaded[np.argsort(loaded[:, 0], kind="stable")]
                for rows in met.read(_HELD, number):
                    places = rows[_known(rows, loaded), 2].astype(np.int64)
                    np.bitwise_or.at(bits, places >> 3, (128 >> (places & 7)).astype(np.uint8))
        finally:
            met.close()
        return bits

    def _change(
        self, tables: Tables, pin: TablePin, files: tuple[Any, ...], replaced: Replaced
    ) -> tuple[TableChange, int]:
        count = self.table.rows
        if self.mode is LoadMode.OVERWRITE:
            return ReplaceTable(None, files), pin.row_count
        gone = replaced.count()
        if not gone:
            return AppendFiles(files, count), 0
        offsets = _offsets(tables, replaced)
        if pin.branch != self.branch:
            # Marks of deleted rows lie below the branch they are for, which is not there yet.
            each = (place | fragment << 32 for fragment, places in offsets for place in places.tolist())
            return ReplaceFiles(files, count, tuple(each)), gone
        left = [(fragment, marked(tables, pin, fragment, places.tolist())) for fragment, places in offsets]
        updated = tuple(file_of(text) for _, text in left if text is not None)
        emptied = tuple(fragment for fragment, text in left if text is None)
        return SwapFiles(files, count, updated, emptied, gone), gone


def _offsets(tables: Tables, replaced: Replaced) -> Iterator[tuple[int, Ints]]:
    """Where the replaced rows lie in each fragment that has some."""
    start = 0
    for part in parts_of(tables, replaced.pin):
        found = []
        for batch in part_batches(tables, replaced.pin, part, [ID], addresses=True, batch_rows=BATCH_ROWS):
            gone = replaced.mask(start, batch.num_rows)
            start += batch.num_rows
            found.append(batch[ROW_ADDRESS].to_numpy()[gone].astype(np.int64) & 0xFFFFFFFF)
        places = np.concatenate([np.zeros(0, np.int64), *found])
        if len(places):
            yield part.fragment, places


def _put_ids(met: RangeFile, kind: int, batches: Iterator[pa.RecordBatch], seeds: tuple[int, int]) -> None:
    start = 0
    for batch in batches:
        ids = batch.select([ID])
        rows = np.arange(start, start + batch.num_rows, dtype=np.int64)
        start += batch.num_rows
        met.put(kind, (row_digests(ids, seeds[0]), row_digests(ids, seeds[1]), rows))


def _but_last(parts: Iterator[Rows]) -> Iterator[Ints]:
    """The numbers of rows whose two hashes come again in a later row."""
    held = np.zeros((0, 3), np.uint64)
    for part in parts:
        whole = np.concatenate((held, part))
        whole = whole[np.lexsort((whole[:, 2], whole[:, 1], whole[:, 0]))]
        last = np.append((whole[1:, :2] != whole[:-1, :2]).any(axis=1), True)
        yield whole[~last, 2].astype(np.int64)
        held = whole[last]


def _known(rows: Rows, known: Rows) -> Any:
    """Which rows have two hashes that a known one has, too; the known ones ascend by the first."""
    found = np.zeros(len(rows), np.bool_)
    if not len(known):
        return found
    first = np.searchsorted(known[:, 0], rows[:, 0])
    for step in range(longest_run(known[:, 0])):
        at = np.minimum(first + step, len(known) - 1)
        found |= (known[at, :2] == rows[:, :2]).all(axis=1)
    return found


def table_of(of: TableType, told: Sequence[dict[str, Any]]) -> LooseTable:
    """The files that tasks wrote for one table."""
    files = [LooseFile(f["file"], f["name"], f["rows"], 0) for one in told for f in one["files"]]
    return LooseTable(of, files, all(one["fresh"] for one in told))
