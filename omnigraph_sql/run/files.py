"""Rows → a file. It is written beside its place and moved there when it is complete."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow as pa

from omnigraph_sql.base.errors import DataError, StorageError
from omnigraph_sql.base.expr import Value
from omnigraph_sql.base.spelling import as_json, as_text

_PACKED: Final = {".gz": "gzip", ".zst": "zstd"}
_UNIQUE_NAMES: Final = ("parquet", "arrow", "jsonl")

Write: TypeAlias = Callable[[pa.RecordBatch], None]


@dataclass(frozen=True, slots=True)
class FileForm:
    """`parquet`, `arrow`, `csv` or `jsonl`, with the options that COPY gave."""

    kind: str
    options: Mapping[str, Value] = field(default_factory=dict)

    def text(self, name: str, otherwise: str) -> str:
        value = self.options.get(name)
        return otherwise if value is None else str(value)


def write_rows(path: Path, form: FileForm, rows: pa.RecordBatchReader) -> int:
    """Write the rows to the file, which is replaced whole if it is there; how many there were.

    Raises StorageError when it cannot be written, DataError when the form cannot hold the rows.
    """
    _refuse_repeats(rows.schema.names, form.kind)
    count = 0
    with complete(path) as part, _writer(form)(part, path, form, rows.schema) as write:
        for batch in rows:
            count += batch.num_rows
            write(batch)
    return count


def _refuse_repeats(names: list[str], kind: str) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None and kind in _UNIQUE_NAMES:
        raise DataError(f"two columns are called {twice!r}", hint=f"a {kind} file needs names of their own: use AS")


@contextmanager
def complete(path: Path) -> Iterator[Path]:
    """A file beside `path` that takes its place at the end; on failure nothing is left and `path` is as it was."""
    if path.is_dir():
        raise StorageError(f"{path} is a folder", kind="configuration", hint="name a file in it")
    if not path.parent.is_dir():
        raise StorageError(f"there is no folder {path.parent}", kind="configuration", hint="make the folder first")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        try:
            yield part
            part.replace(path)
        except OSError as error:
            reason = error.strerror or str(error)
            raise StorageError(f"{path} cannot be written: {reason}", kind="unknown") from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _writer(form: FileForm) -> Callable[[Path, Path, FileForm, pa.Schema], Any]:
    return {"parquet": _parquet, "arrow": _arrow, "csv": _csv, "jsonl": _jsonl}[form.kind]


@contextmanager
def _parquet(part: Path, _: Path, form: FileForm, schema: pa.Schema) -> Iterator[Write]:
    import pyarrow.parquet as pq

    size = form.options.get("row_group_size")
    group = size if isinstance(size, int) else None
    with pq.ParquetWriter(part, schema, compression=form.text("compression", "snappy")) as writer:
        yield lambda batch: writer.write_batch(batch, row_group_size=group) if batch.num_rows else None


@contextmanager
def _arrow(part: Path, _: Path, form: FileForm, schema: pa.Schema) -> Iterator[Write]:
    packing = form.text("compression", "none")
    options = pa.ipc.IpcWriteOptions(compression=None if packing == "none" else packing)
    with pa.OSFile(str(part), "wb") as raw, pa.ipc.new_file(raw, schema, options=options) as writer:
        yield writer.write_batch


# ---- texts --------------------------------------------------------------------------------------------------------


@contextmanager
def _text(part: Path, path: Path, form: FileForm) -> Iterator[Callable[[str], None]]:
    packing = form.text("compression", _PACKED.get(path.suffix.casefold(), "none"))
    with pa.output_stream(str(part), compression=None if packing == "none" else packing) as raw:
        yield lambda text: raw.write(text.encode()) and None


@contextmanager
def _jsonl(part: Path, path: Path, form: FileForm, schema: pa.Schema) -> Iterator[Write]:
    del schema
    with _text(part, path, form) as put:

        def write(batch: pa.RecordBatch) -> None:
            if batch.num_rows:
                put("".join(f"{as_json(row)}\n" for row in batch.to_pylist()))

        yield write


@contextmanager
def _csv(part: Path, path: Path, form: FileForm, schema: pa.Schema) -> Iterator[Write]:
    shape = _CsvShape.of(form)
    with _text(part, path, form) as put:
        if form.options.get("header") is not False:
            put(shape.line(schema.names))

        def write(batch: pa.RecordBatch) -> None:
            if batch.num_rows:
                columns = [column.to_pylist() for column in batch.columns]
                put("".join(shape.line(row) for row in zip(*columns, strict=True)))

        yield write


@dataclass(frozen=True, slots=True)
class _CsvShape:
    """Signs of a CSV file. What is null is the null text without quotes; a text that looks like it is quoted."""

    delimiter: str
    quote: str
    escape: str
    null: str

    @classmethod
    def of(cls, form: FileForm) -> _CsvShape:
        quote = form.text("quote", '"')
        return cls(form.text("delimiter", ","), quote, form.text("escape", quote), form.text("null", ""))

    def line(self, row: Any) -> str:
        return self.delimiter.join(self._value(value) for value in row) + "\n"

    def _value(self, value: object) -> str:
        if value is None:
            return self.null
        text = as_text(value)
        if text != self.null and text and not any(sign in text for sign in (self.delimiter, self.quote, "\n", "\r")):
            return text
        if self.escape != self.quote:
            text = text.replace(self.escape, self.escape * 2)
        return f"{self.quote}{text.replace(self.quote, self.escape + self.quote)}{self.quote}"
