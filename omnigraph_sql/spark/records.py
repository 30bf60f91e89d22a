"""Rows as texts: lines of `.jsonl` and records of `.csv` on their way into chunks, the unreadable ones set apart."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pcsv

from omnigraph_sql.base.catalog import Catalog
from omnigraph_sql.base.errors import DataError
from omnigraph_sql.engine.load.jsonl import JsonLines
from omnigraph_sql.engine.load.readers import csv_options, source_type
from omnigraph_sql.engine.load.sifting import parted
from omnigraph_sql.engine.load.values import Chunk, Source, Spelling
from omnigraph_sql.spark.feeds import Feed
from omnigraph_sql.spark.types import from_spark

Ints = npt.NDArray[np.int64]
Refuse = Callable[[int, DataError], None]
_BOM = b"\xef\xbb\xbf"
_NOWHERE = ""


class Needs(Exception):
    """The rows cannot be read in this way; `what` says in which they can."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


@dataclass(frozen=True, slots=True)
class Records:
    """Texts of one file with the numbers of their rows. `first` when the first one begins the file."""

    texts: list[bytes]
    numbers: Ints
    first: bool
    whole: bool

    @classmethod
    def of(cls, lines: pa.Array, base: int, seen: int, *, whole: bool) -> Records:
        texts = lines.to_pylist()
        first = seen == 0 and base & ((1 << 44) - 1) == 0
        if first and texts:
            texts[0] = texts[0].removeprefix(_BOM)
        return cls(texts, base + seen + np.arange(len(texts), dtype=np.int64), first, whole)

    @property
    def count(self) -> int:
        return sum(1 for text in self.texts if text.strip(b" \t\r"))

    def text(self, place: int) -> str:
        return self.texts[place].decode("utf-8", "replace")


def whole_records(content: bytes, base: int) -> Records:
    """The records of a whole `.csv` file, each numbered by the line it begins at."""
    lines = content.removeprefix(_BOM).split(b"\n")
    texts, starts, at = [], [], 0
    decoded = (line.decode("utf-8", "replace") + "\n" for line in lines)
    reader = csv.reader(decoded)
    while True:
        before = reader.line_num
        try:
            if next(reader, None) is None:
                break
        except csv.Error:
            pass
        texts.append(b"\n".join(lines[before : reader.line_num]))
        starts.append(before)
        at = reader.line_num
    if at < len(lines):
        texts.append(b"\n".join(lines[at:]))
        starts.append(at)
    return Records(texts, base + np.array(starts, np.int64), True, True)


# ---- .jsonl -----------------------------------------------------------------------------------------------------


def line_chunks(records: Records, catalog: Catalog, refuse: Refuse) -> Iterator[tuple[Chunk, Ints]]:
    """Chunks of the readable lines, with the places of their rows among the records."""
    reader = JsonLines(_NOWHERE, catalog)

    def attempt(start: int, stop: int) -> list[Chunk]:
        return list(reader.chunks(b"\n".join(records.texts[start:stop]) + b"\n", 0))

    def bad(place: int, error: DataError) -> None:
        refuse(place, _unplaced(error, f"{_NOWHERE}, line 0: "))

    for start, stop, chunks in parted(len(records.texts), attempt, bad):
        alone = len(chunks) == 1 and chunks[0].rows == stop - start
        for chunk in chunks:
            if alone:
                yield chunk, np.arange(start, stop, dtype=np.int64)
            else:
                places = [int(chunk.place(row).rpartition(" ")[2]) for row in range(chunk.rows)]
                yield chunk, np.array(places, np.int64) + start


def _unplaced(error: DataError, place: str) -> DataError:
    error.message = error.message.removeprefix(place)
    error.args = (error.message,)
    return error


# ---- .csv -------------------------------------------------------------------------------------------------------


def csv_chunks(
    records: Records, feed: Feed, file: int, catalog: Catalog, refuse: Refuse
) -> Iterator[tuple[Chunk, Ints]]:
    """Chunks of the readable records; raises Needs for a value that spans lines where lines come one by one."""
    assert feed.type is not None
    of = source_type(Source("", feed.type), catalog, "")
    names = feed.names[file]
    places = np.array(
        [n for n, text in enumerate(records.texts) if text.strip(b"\r") and not (records.first and n == 0)], np.int64
    )
    texts = [records.texts[n] for n in places.tolist()]
    if not records.whole and any(text.count(b'"') % 2 for text in texts):
        raise Needs("whole files")

    def attempt(start: int, stop: int) -> pa.Table:
        return _read(texts[start:stop], names)

    def bad(place: int, error: DataError) -> None:
        refuse(int(places[place]), error)

    for start, stop, table in parted(len(texts), attempt, bad):
        yield Chunk(of, table, table.num_rows, Spelling.TEXT, str, table.nbytes), places[start:stop]


def _read(texts: list[bytes], names: tuple[str, ...]) -> pa.Table:
    wrong: list[pcsv.InvalidRow] = []
    body = b"\n".join(texts) + b"\n"
    parse, convert = csv_options(names, wrong)
    try:
        read = pcsv.ReadOptions(column_names=list(names), block_size=max(len(body), 1024))
        found = pcsv.read_csv(io.BytesIO(body), read, parse, convert)
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        if wrong:
            row = wrong[0]
            many = f"{row.actual_columns} values where the header names {row.expected_columns} columns"
            raise DataError(many) from error
        first = str(error).strip().partition("\n")[0]
        raise DataError(f"the row cannot be read as CSV: {first}") from error
    if found.num_rows != len(texts):
        raise DataError("the row cannot be read as one row of CSV")
    return found


# ---- columns with types -----------------------------------------------------------------------------------------


def typed_chunk(feed: Feed, batch: pa.RecordBatch, catalog: Catalog) -> Chunk:
    """A batch as Spark hands it over; its last columns say where the rows came from."""
    assert feed.type is not None
    of = source_type(Source("", feed.type), catalog, "")
    (names,) = feed.names
    data = pa.RecordBatch.from_arrays(batch.columns[: len(names)], names=list(names))
    table = pa.Table.from_batches([from_spark(data, of)])
    return Chunk(of, table, batch.num_rows, feed.spelling, str, batch.nbytes)


def file_chunk(feed: Feed, file: int, rows: pa.RecordBatch, catalog: Catalog) -> Chunk:
    """Rows as they lie in a file."""
    assert feed.type is not None
    table = pa.Table.from_batches([rows]).rename_columns(list(feed.names[file]))
    return Chunk(
        source_type(Source("", feed.type), catalog, ""), table, table.num_rows, feed.spelling, str, rows.nbytes
    )
