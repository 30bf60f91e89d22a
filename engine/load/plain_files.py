"""Files of one table that Arrow's readers do not read as they are: CSV of other shapes, and objects of columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

import pyarrow as pa

from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import Catalog, TableType
from omnigraph_sql.base.errors import DataError, ResourceLimitExceeded
from omnigraph_sql.engine.load.columns_given import column_names
from omnigraph_sql.engine.load.forms import Form, opened
from omnigraph_sql.engine.load.jsonl_line import Line, chunks_of, read_columns
from omnigraph_sql.engine.load.values import Chunk, Spelling

_ROWS: Final = 16_384


def read_objects(path: Path, of: TableType, form: Form, catalog: Catalog) -> Iterator[Chunk]:
    """One JSON object a line, whose members are columns. Raises DataError with the file and the line."""
    if form.columns:
        raise DataError(f"{path}: the objects of a .jsonl file name their columns themselves")
    yield Chunk(of, pa.table({}), 0, Spelling.JSON, str, 0)
    with opened(path, form) as raw:
        lines = _objects(path, of, raw, catalog)
        while batch := list(islice(lines, _ROWS)):
            yield from chunks_of(batch, 0)


def _objects(path: Path, of: TableType, raw: pa.NativeFile, catalog: Catalog) -> Iterator[Line]:
    for number, text in enumerate(_texts(path, raw), 1):
        if text.strip():
            yield read_columns(text, f"{path}, line {number}", of, catalog)


def _texts(path: Path, raw: pa.NativeFile) -> Iterator[str]:
    stream = io.TextIOWrapper(io.BufferedReader(raw), encoding="utf-8-sig", newline="\n")
    number = 0
    try:
        while line := stream.readline(limits.LOAD_LINE_BYTES_MAX + 1):
            number += 1
            if len(line) > limits.LOAD_LINE_BYTES_MAX:
                raise ResourceLimitExceeded(
                    f"{path}, line {number} is longer than {limits.LOAD_LINE_BYTES_MAX} bytes",
                    resource="load_line_bytes",
                    limit=limits.LOAD_LINE_BYTES_MAX,
                    actual=len(line),
                )
            yield line
    except (UnicodeDecodeError, OSError, EOFError) as error:
        raise DataError(f"{path}, line {number + 1}: {error}") from error


# ---- csv ----------------------------------------------------------------------------------------------------------


def read_formed_csv(path: Path, of: TableType, form: Form, catalog: Catalog) -> Iterator[Chunk]:
    """CSV with signs, names or a packing of its own. Raises DataError with the file and the line."""
    del catalog
    yield Chunk(of, pa.table({}), 0, Spelling.TEXT, str, 0)
    with opened(path, form) as raw:
        rows = _fields(path, raw, form)
        given = _given(path, of, form, rows)
        names = column_names(of, given, str(path))
        while batch := list(islice(rows, _ROWS)):
            if len(names) > 1:  # an empty line of one column is a row, of several it is nothing
                batch = [row for row in batch if row[1] != [None]]
            if not batch:
                continue
            places = [f"{path}, line {line}" for line, _ in batch]
            _refuse_ragged(batch, len(names), path, form)
            columns = [pa.array(values, pa.utf8()) for values in zip(*(values for _, values in batch), strict=True)]
            table = pa.Table.from_arrays(columns, names=names)
            yield Chunk(of, table, len(batch), Spelling.TEXT, places.__getitem__, table.nbytes)


def _given(path: Path, of: TableType, form: Form, rows: Iterator[tuple[int, list[str | None]]]) -> list[str]:
    found = next(rows, None) if form.header else None
    if form.header and found is None:
        raise DataError(f"{path} has no header", hint="the first line names the columns, or say HEADER false")
    if form.columns:
        if found is not None and len(found[1]) != len(form.columns):
            raise DataError(f"{path} has {len(found[1])} columns, {len(form.columns)} are named")
        return list(form.columns)
    if found is not None:
        return [name or "" for name in found[1]]
    return [field.name for field in of.schema.fields if field.name != "id"]


def _refuse_ragged(batch: list[tuple[int, list[str | None]]], wanted: int, path: Path, form: Form) -> None:
    names = f"the header names {wanted} columns" if form.header else f"{wanted} columns are wanted"
    for line, values in batch:
        if len(values) != wanted:
            raise DataError(f"{path}, line {line}: {len(values)} values where {names}")


def _fields(path: Path, raw: pa.NativeFile, form: Form) -> Iterator[tuple[int, list[str | None]]]:
    """Rows with the line where each begins. A value written as the null text, and not in quotes, is null."""
    texts = islice(_texts(path, raw), form.skip, None)
    line, held, began = form.skip, "", form.skip + 1
    for text in texts:
        line += 1
        if not held:
            began = line
        held += text
        try:
            values = _split(held, form)
        except csv.Error as error:
            raise DataError(f"{path}, line {began}: {error}") from None
        if values is None:
            if len(held) > limits.LOAD_LINE_BYTES_MAX:
                raise DataError(f"{path}, line {began}: a quoted value never ends")
            continue
        blank, held = not held.strip("\r\n"), ""
        if not blank or values == [None]:
            yield began, values
    if held:
        raise DataError(f"{path}, line {began}: a quoted value never ends")


def _split(text: str, form: Form) -> list[str | None] | None:
    """The values of one row; None when a quoted one goes on in the next line."""
    values: list[str | None] = []
    at, end = 0, len(text.rstrip("\r\n"))
    while True:
        if text[at : at + 1] == form.quote:
            found = _quoted(text, at + 1, form)
            if found is None:
                return None
            value, at = found
            values.append(value)
        else:
            stop = text.find(form.delimiter, at, end)
            stop = end if stop < 0 else stop
            value = text[at:stop]
            values.append(None if value == form.null else value)
            at = stop
        if at >= end:
            return values
        if text[at] != form.delimiter:
            raise csv.Error("something follows a quoted value")
        at += 1
        if at == end:
            values.append(None if form.null == "" else "")
            return values


def _quoted(text: str, at: int, form: Form) -> tuple[str, int] | None:
    """A quoted value that begins at `at`, and where it ends; None when the text ends first."""
    escape = form.escape or form.quote
    parts: list[str] = []
    while at < len(text):
        sign = text[at]
        following = text[at + 1 : at + 2]
        if sign == escape and following in (form.quote, escape) and following:
            parts.append(following)
            at += 2
        elif sign == form.quote:
            return "".join(parts), at + 1
        else:
            parts.append(sign)
            at += 1
    return None
