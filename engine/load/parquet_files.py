"""Parquet files: what they say of themselves, and their rows, a run of row groups at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from omnigraph_sql.base.errors import DataError


@dataclass(frozen=True, slots=True)
class Footer:
    """The columns of a file, and of each of its row groups the number of rows and of bytes once unpacked."""

    names: tuple[str, ...]
    rows: tuple[int, ...]
    bytes: tuple[int, ...]


def read_footer(path: Path) -> Footer:
    """Raises DataError where the file cannot be read as Parquet."""
    with _opened(path) as file:
        return _footer(file)


def group_batches(
    path: Path, groups: Sequence[int], batch_rows: int, *, threads: bool = True
) -> Iterator[pa.RecordBatch]:
    """The rows of some row groups, in order. Raises DataError where the file cannot be read as Parquet."""
    with _opened(path) as file:
        yield from file.iter_batches(batch_size=batch_rows, row_groups=list(groups), use_threads=threads)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        # Instants in the form of old writers would be read as nanoseconds, which hold three centuries and wrap around.
        with pq.ParquetFile(path, memory_map=False, coerce_int96_timestamp_unit="us") as file:
            yield file
    except (pa.ArrowInvalid, OSError) as error:
        first = str(error).strip().partition("\n")[0]
        raise DataError(f"{path} cannot be read as Parquet: {first}") from error


def _footer(file: Any) -> Footer:
    groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
    rows, sizes = tuple(one.num_rows for one in groups), tuple(one.total_byte_size for one in groups)
    return Footer(tuple(file.schema_arrow.names), rows, sizes)
