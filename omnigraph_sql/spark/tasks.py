"""What a task does with its rows: read, convert, check, and write the good ones into files beside their tables.

A task commits nothing. What it wrote is known only to the result it returns, so the files of a task that failed, was
killed or ran twice are named by nobody.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import TableType
from omnigraph_sql.base.errors import DataError, OmniError, ResourceLimitExceeded
from omnigraph_sql.engine.load.sifting import rule_of, sifted
from omnigraph_sql.engine.load.values import Chunk
from omnigraph_sql.engine.load.writers import FileWriter
from omnigraph_sql.engine.store.foreign import file_text
from omnigraph_sql.engine.store.objects import Objects
from omnigraph_sql.engine.store.root import SPARE
from omnigraph_sql.engine.values import table_key
from omnigraph_sql.foreign import PinnedTables
from omnigraph_sql.spark.feeds import FILE_BITS, Feed, Kind
from omnigraph_sql.spark.place import tables_at
from omnigraph_sql.spark.records import Needs, Records, csv_chunks, file_chunk, line_chunks, typed_chunk, whole_records

BODY: Final = pa.schema([pa.field("body", pa.utf8())])
SIDE_FOLDER: Final = f"{SPARE}/spark"
GATHERED_ROWS: Final = 65_536
_DATA_CHARACTERS_MAX: Final = 4096

Ints = npt.NDArray[np.int64]


def side_path(load_id: str, name: str) -> str:
    """Where the numbers of the rows of a file are kept while a load lasts."""
    return f"{SIDE_FOLDER}/{load_id}.{name}.parquet"


def forget_sides(objects: Objects, load_id: str) -> None:
    """Remove these files of a load, those of tasks that failed or ran twice too. Best effort: the load is over."""
    with suppress(OmniError):
        for name in objects.list(SIDE_FOLDER):
            if name.startswith(f"{load_id}."):
                objects.delete(f"{SIDE_FOLDER}/{name}")


@dataclass(slots=True)
class _Table:
    type: TableType
    writer: FileWriter
    numbers: list[Ints] = field(default_factory=list)
    rows: int = 0
    fresh: bool = True


class Work:
    """One task of a load."""

    def __init__(self, feed: Feed, base: PinnedTables) -> None:
        self._feed, self._base = feed, base
        self._tables: dict[str, _Table] = {}
        self._refused: list[dict[str, object]] = []
        self._counts: dict[str, int] = {}
        self._blocks: dict[tuple[int, int], int] = {}
        self._files = feed.file_numbers()
        self._bytes = self._rows = 0

    def run(self, batches: Iterable[pa.RecordBatch]) -> dict[str, object]:
        """Every row of the task; what came of it, as JSON has it."""
        try:
            for gathered in _gathered(batches):
                self._take(gathered)
            return self._result()
        except Needs as wish:
            self._discard()
            return {"needs": wish.what}
        except ResourceLimitExceeded as error:
            self._discard()
            return {"limit": error.to_dict()}
        except BaseException:
            self._discard()
            raise

    def _discard(self) -> None:
        for table in self._tables.values():
            table.writer.discard()

    # ---- rows ---------------------------------------------------------------------------------------------------

    def _take(self, batch: pa.RecordBatch) -> None:
        match self._feed.kind:
            case Kind.TYPED:
                self._typed(batch)
            case Kind.PARQUET:
                for share in batch.column(0).to_pylist():
                    self._share(share)
            case Kind.LINES | Kind.CSV:
                self._bytes += batch.nbytes
                for file, block, start, stop in _runs(batch["__file"], batch["__block"]):
                    seen = self._blocks.get((file, block), 0)
                    self._blocks[file, block] = seen + stop - start
                    lines = batch["value"].slice(start, stop - start)
                    base = self._number(file) << FILE_BITS | block
                    self._lines(file, Records.of(lines, base, seen, whole=False))
            case Kind.CSV_WHOLE:
                self._bytes += batch.nbytes
                for file, text in zip(batch["__file"].to_pylist(), batch["value"].to_pylist(), strict=True):
                    records = whole_records(text, self._number(file) << FILE_BITS)
                    self._blocks[file, 0] = text.count(b"\n") + 1
                    self._lines(file, records)

    def _number(self, file: int) -> int:
        return self._files[file]

    def _typed(self, batch: pa.RecordBatch) -> None:
        numbers = batch["__at"].to_numpy(zero_copy_only=False).astype(np.int64)
        if self._files:
            files = batch["__file"].to_numpy(zero_copy_only=False)
            which = np.zeros(len(files), np.int64)
            for value in np.unique(files).tolist():
                which[files == value] = self._number(value)
            numbers = numbers | which << FILE_BITS
        self._whole(typed_chunk(self._feed, batch, self._base.catalog), numbers)

    def _share(self, share: int) -> None:
        assert self._feed.shares is not None
        for file, before, rows in self._feed.shares.rows(share):
            numbers = (file << FILE_BITS) + np.arange(before, before + rows.num_rows, dtype=np.int64)
            self._whole(file_chunk(self._feed, file, rows, self._base.catalog), numbers)

    def _whole(self, chunk: Chunk, numbers: Ints) -> None:
        self._rows += chunk.rows
        self._bytes += chunk.bytes
        self._sift(chunk, numbers, None)

    def _lines(self, file: int, records: Records) -> None:
        def refuse(place: int, error: DataError) -> None:
            self._refuse(self._feed.type, int(records.numbers[place]), error, records.text(place))

        catalog = self._base.catalog
        if self._feed.kind is Kind.LINES:
            found = line_chunks(records, catalog, refuse)
        else:
            found = csv_chunks(records, self._feed, self._number(file), catalog, refuse)
        self._rows += records.count
        for chunk, places in found:
            self._sift(chunk, records.numbers[places], lambda row, at=places: records.text(int(at[row])))

    def _sift(self, chunk: Chunk, numbers: Ints, text: Any) -> None:
        table = self._table(chunk.type)

        def refuse(row: int, error: DataError) -> None:
            data = text(row) if text is not None else _shown(chunk, row)
            self._refuse(table_key(chunk.type), int(numbers[row]), error, data)

        for good in sifted(chunk, self._base.catalog, self._base.ids, refuse):
            table.writer.put(good.rows.batch)
            table.numbers.append(numbers[good.start : good.stop])
            table.rows += good.stop - good.start
            table.fresh = table.fresh and good.rows.fresh

    def _refuse(self, key: str | None, number: int, error: DataError, data: str) -> None:
        rule = rule_of(error)
        self._counts[rule] = self._counts.get(rule, 0) + 1
        if sum(self._counts.values()) <= limits.SPARK_REFUSALS_MAX:
            facts = {"table": key, "number": number, "rule": rule, "reason": error.message, "hint": error.hint}
            self._refused.append({**facts, "class": type(error).__name__, "data": data[:_DATA_CHARACTERS_MAX]})

    def _table(self, of: TableType) -> _Table:
        key = table_key(of)
        if key not in self._tables:
            self._tables[key] = _Table(of, self._base.writer(of))
        return self._tables[key]

    # ---- result -------------------------------------------------------------------------------------------------

    def _result(self) -> dict[str, object]:
        blocks = [[self._number(file), block, lines] for (file, block), lines in self._blocks.items()]
        return {
            "feed": self._feed.number,
            "tables": [self._written(key, table) for key, table in self._tables.items()],
            "refused": self._refused,
            "counts": self._counts,
            "blocks": blocks,
            "rows": self._rows,
            "bytes": self._bytes,
        }

    def _written(self, key: str, table: _Table) -> dict[str, object]:
        files = table.writer.finish()
        numbers = np.concatenate([np.zeros(0, np.int64), *table.numbers])
        start, told = 0, []
        for file in files:
            count = int(file.physical_rows)
            name = str(file.files[0].path).removesuffix(".lance")
            if self._feed.load_id is not None:
                self._base.objects.put(side_path(self._feed.load_id, name), _packed(numbers[start : start + count]))
            told.append({"file": file_text(file), "name": name, "rows": count})
            start += count
        return {"table": key, "files": told, "rows": table.rows, "fresh": table.fresh}


def _packed(numbers: Ints) -> bytes:
    sink = io.BytesIO()
    table = pa.table({"number": pa.array(numbers, pa.int64())})
    pq.write_table(
        table, sink, compression="zstd", use_dictionary=False, column_encoding={"number": "DELTA_BINARY_PACKED"}
    )
    return sink.getvalue()


def unpacked(body: bytes) -> Ints:
    """The numbers of the rows of a file, in order."""
    found: Ints = pq.read_table(io.BytesIO(body))["number"].to_numpy()
    return found


def _shown(chunk: Chunk, row: int) -> str:
    return json.dumps(chunk.columns.slice(row, 1).to_pylist()[0], default=str, ensure_ascii=False)


def _gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Larger batches: every step below costs per batch."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= GATHERED_ROWS:
            yield _one(held)
            held, rows = [], 0
    if rows:
        yield _one(held)


def _one(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


def _runs(files: pa.Array, blocks: pa.Array) -> Iterator[tuple[int, int, int, int]]:
    """Neighbouring rows of one block: the file, the block, first row, row after the last."""
    file, block = files.to_numpy(zero_copy_only=False), blocks.to_numpy(zero_copy_only=False)
    change = np.flatnonzero((file[1:] != file[:-1]) | (block[1:] != block[:-1])) + 1
    starts = np.concatenate((np.zeros(1, np.int64), change))
    stops = np.append(change, len(file))
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        yield int(file[start]), int(block[start]), start, stop


def work(feed: Feed, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The function of a task: rows in, one text out."""
    result = Work(feed, tables_at(feed.place)).run(batches)
    yield pa.RecordBatch.from_arrays([pa.array([json.dumps(result)], pa.utf8())], schema=BODY)
