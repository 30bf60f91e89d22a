"""Sources → chunks of rows, a bounded part at a time. Refusals name the file and the line or row."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.csv as pcsv

from omnigraph_sql.base.catalog import Catalog, TableType
from omnigraph_sql.base.errors import DataError
from omnigraph_sql.engine.load.columns_given import column_names as column_names
from omnigraph_sql.engine.load.forms import USUAL_CSV, Form, form_of, packing_of
from omnigraph_sql.engine.load.jsonl import read_jsonl
from omnigraph_sql.engine.load.parquet_files import group_batches, read_footer
from omnigraph_sql.engine.load.plain_files import read_formed_csv, read_objects
from omnigraph_sql.engine.load.values import Chunk, Source, Spelling

CHUNK_ROWS: Final = 65_536
CHUNK_BYTES: Final = 32 * 1024 * 1024
_CSV_BLOCK_BYTES: Final = 16 * 1024 * 1024
_FORMATS: Final = ".jsonl, .csv, .parquet"


def read_source(source: Source, catalog: Catalog) -> Iterator[Chunk]:
    """The rows of one source. Raises DataError."""
    if not isinstance(source.data, str | Path):
        yield from _read_stream(source, catalog)
        return
    path = Path(source.data)
    if not path.is_file():
        raise DataError(
            f"there is no file {path}", hint="paths are those of this machine, seen from the working folder"
        )
    form = source.form or form_of(path)
    if form is None:
        raise DataError(f"{path} is none of {_FORMATS}", hint=_other_form(path))
    if form.kind == "graph":
        yield from read_jsonl(path, catalog)
        return
    of = source_type(source, catalog, str(path))
    match form.kind:
        case "csv" if form == USUAL_CSV and packing_of(path) is None:
            yield from _read_csv(path, of)
        case "csv":
            yield from read_formed_csv(path, of, form, catalog)
        case "jsonl":
            yield from read_objects(path, of, form, catalog)
        case "arrow":
            yield from _read_arrow(path, of, form)
        case _:
            yield from _read_parquet(path, of, form)


def _other_form(path: Path) -> str:
    if packing_of(path) is not None:
        return "of packed files .jsonl and .csv are read, as in .csv.gz"
    return "save JSON as .jsonl, one object in a line"


def source_type(source: Source, catalog: Catalog, name: str) -> TableType:
    """The type a source is said to be of."""
    if source.type is None:
        raise DataError(
            f"{name}: the rows need a type", hint="name it: --type TYPE on the command line, type= in Python"
        )
    kind, colon, rest = source.type.partition(":")
    word = rest if colon else source.type
    node = catalog.node(word) if not colon or kind == "node" else None
    edge = catalog.edge(word) if not colon or kind == "edge" else None
    if node is not None and edge is not None:
        raise DataError(f"{name}: {word} is both a node and an edge type", hint=f"say node:{word} or edge:{word}")
    found = node or edge
    if found is None:
        known = ", ".join(t.name for t in catalog.tables())
        raise DataError(f"{name}: there is no type {source.type!r}", hint=f"the schema has {known or 'none'}")
    return found


def _empty(of: TableType, spelling: Spelling) -> Chunk:
    """No rows, so that the table occurs in the load all the same."""
    return Chunk(of, pa.table({}), 0, spelling, str, 0)


# ---- tables with types ------------------------------------------------------------------------------------------


def _read_stream(source: Source, catalog: Catalog) -> Iterator[Chunk]:
    name = source.name or "the stream"
    of = source_type(source, catalog, name)
    try:
        stream = pa.RecordBatchReader.from_stream(source.data)
    except TypeError as error:
        raise DataError(f"{name} is neither a file nor an Arrow stream", hint=f"files are {_FORMATS}") from error
    with stream:
        names = column_names(of, stream.schema.names, name)
        yield from _typed(of, names, stream, name, 0)


def _typed(
    of: TableType, names: list[str], batches: Iterator[pa.RecordBatch] | pa.RecordBatchReader, name: str, start: int
) -> Iterator[Chunk]:
    yield _empty(of, Spelling.TYPED)
    for batch in batches:
        for rows in fitted(batch):
            part = pa.Table.from_batches([rows]).rename_columns(names)
            yield Chunk(of, part, part.num_rows, Spelling.TYPED, _Rows(name, start), part.nbytes)
            start += part.num_rows


def fitting(rows: int, size: int) -> int:
    """How many rows of this mean size make a chunk."""
    return max(1, min(CHUNK_ROWS, CHUNK_BYTES * max(rows, 1) // max(size, 1)))


def fitted(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The rows of a batch in batches that make a chunk each."""
    rows = fitting(batch.num_rows, batch.nbytes)
    for first in range(0, batch.num_rows, rows):
        yield batch.slice(first, rows)


class _Rows:
    """Places of rows that are counted from 1."""

    __slots__ = ("_name", "_start")

    def __init__(self, name: str, start: int) -> None:
        self._name, self._start = name, start

    def __call__(self, row: int) -> str:
        return f"{self._name}, row {self._start + row + 1}"


def _named(form: Form, found: list[str], path: Path) -> list[str]:
    """What the columns of a file are called: as it says, or as the form does."""
    if form.columns and len(form.columns) != len(found):
        raise DataError(f"{path} has {len(found)} columns, {len(form.columns)} are named")
    return list(form.columns) or found


def _read_arrow(path: Path, of: TableType, form: Form) -> Iterator[Chunk]:
    try:
        with pa.OSFile(str(path)) as raw, pa.ipc.open_file(raw) as file:
            names = column_names(of, _named(form, file.schema.names, path), str(path))
            batches = (file.get_batch(number) for number in range(file.num_record_batches))
            yield from _typed(of, names, batches, str(path), 0)
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{path} cannot be read as an Arrow file: {_first_line(error)}") from error


def _read_parquet(path: Path, of: TableType, form: Form) -> Iterator[Chunk]:
    footer = read_footer(path)
    names = column_names(of, _named(form, list(footer.names), path), str(path))
    batches = group_batches(path, range(len(footer.rows)), fitting(sum(footer.rows), sum(footer.bytes)))
    yield from _typed(of, names, batches, str(path), 0)


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]


# ---- csv --------------------------------------------------------------------------------------------------------


def _read_csv(path: Path, of: TableType) -> Iterator[Chunk]:
    """A header, then rows. Nothing between two commas is null; `""` is the empty text."""
    given, is_alone = _header(path)
    names = column_names(of, given, str(path))
    yield _empty(of, Spelling.TEXT)
    if is_alone:
        return
    wrong: list[pcsv.InvalidRow] = []
    try:
        start = 0
        with _open_csv(path, given, wrong) as reader:
            for batch in reader:
                for rows in fitted(batch):
                    part = pa.Table.from_batches([rows]).rename_columns(names)
                    yield Chunk(of, part, part.num_rows, Spelling.TEXT, _CsvLines(path, start), part.nbytes)
                    start += part.num_rows
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise _csv_refusal(path, wrong, error) from error


def _header(path: Path) -> tuple[list[str], bool]:
    """The names of the columns, and whether nothing follows them."""
    with open(path, "rb") as file:
        found = csv_header(file.readline(), str(path), file)
        return found, not file.read(1)


def csv_header(line: bytes, name: str, rest: Iterable[bytes] = ()) -> list[str]:
    """The names in the first line of a `.csv` file; `rest` are the lines after it, into which a name may go on."""
    try:
        lines = (one.decode("utf-8-sig" if place == 0 else "utf-8") for place, one in enumerate(chain((line,), rest)))
        found = next(csv.reader(lines), None)
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{name}, line 1: the header cannot be read: {error}") from None
    if not found:
        raise DataError(f"{name} has no header", hint="the first line names the columns")
    return found


def csv_options(given: Sequence[str], wrong: list[pcsv.InvalidRow]) -> tuple[pcsv.ParseOptions, pcsv.ConvertOptions]:
    """How `.csv` is read: all of it as text, nothing between commas is null. Rows of another width go to `wrong`."""

    def keep(row: pcsv.InvalidRow) -> str:
        wrong.append(row)
        return "error"

    # A line of one column that is empty is a row whose value is null.
    parse = pcsv.ParseOptions(newlines_in_values=True, invalid_row_handler=keep, ignore_empty_lines=len(given) > 1)
    return parse, pcsv.ConvertOptions(
        column_types=dict.fromkeys(given, pa.utf8()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )


def _open_csv(path: Path, given: list[str], wrong: list[pcsv.InvalidRow]) -> pcsv.CSVStreamingReader:
    return pcsv.open_csv(path, pcsv.ReadOptions(block_size=_CSV_BLOCK_BYTES), *csv_options(given, wrong))


def _csv_refusal(path: Path, wrong: list[pcsv.InvalidRow], error: BaseException) -> DataError:
    if not wrong:
        return DataError(f"{path} cannot be read as CSV: {_first_line(error)}")
    row = wrong[0]
    lines = (line for line, values in _csv_lines(path) if len(values) == row.actual_columns)
    found = next(lines, None)
    place = str(path) if found is None else f"{path}, line {found}"
    return DataError(f"{place}: {row.actual_columns} values where the header names {row.expected_columns} columns")


def _csv_lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Each row after the header with the line where it begins; ends early at a value too long for this reader."""
    with suppress(csv.Error, UnicodeDecodeError), open(path, newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file)
        next(reader)
        before = reader.line_num
        for values in reader:
            if values:
                yield before + 1, values
            before = reader.line_num


class _CsvLines:
    """Places of CSV rows: the line where the row begins, found by reading the file again when somebody asks."""

    __slots__ = ("_path", "_start")

    def __init__(self, path: Path, start: int) -> None:
        self._path, self._start = path, start

    def __call__(self, row: int) -> str:
        wanted = self._start + row
        for line, _ in islice(_csv_lines(self._path), wanted, None):
            return f"{self._path}, line {line}"
        return f"{self._path}, row {wanted + 1}"
