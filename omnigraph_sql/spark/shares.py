"""Parquet files that every worker can open itself: what is in them, shared out, and the rows of a share.

Rows that come through Spark are unpacked there, packed again and sent through a socket. A worker that opens the file
has them as the local loader has them: the same types, and each file with the columns of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from omnigraph_sql.base.errors import DataError, StorageError
from omnigraph_sql.engine.load.parquet_files import Footer, group_batches, read_footer
from omnigraph_sql.engine.load.readers import fitted, fitting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SHARE_BYTES_MIN: Final = 8 << 20
SHARE_BYTES: Final = 64 << 20
SHARE_BYTES_MAX: Final = 256 << 20
_SHARES_OF_FEW, _SHARES_OF_MUCH = 16, 64
_FOOTERS_PER_TASK: Final = 64
_FOOTER_COLUMNS: Final = (
    "file bigint, missing boolean, wrong string, names array<string>, rows array<bigint>, bytes array<bigint>"
)
_FOOTER: Final = pa.schema(
    {
        "file": pa.int64(),
        "missing": pa.bool_(),
        "wrong": pa.utf8(),
        "names": pa.list_(pa.utf8()),
        "rows": pa.list_(pa.int64()),
        "bytes": pa.list_(pa.int64()),
    }
)


@dataclass(frozen=True, slots=True)
class Part:
    """Neighbouring row groups of a file, from the first until before the last."""

    file: int
    first: int
    stop: int


@dataclass(frozen=True, slots=True)
class ParquetShares:
    """Files, what they say of themselves, and their row groups in shares. One task reads one share."""

    paths: tuple[str, ...]
    footers: tuple[Footer, ...]
    shares: tuple[tuple[Part, ...], ...]

    def rows(self, share: int) -> Iterator[tuple[int, int, pa.RecordBatch]]:
        """Rows of one file, which file it is, and how many of its rows come before. Raises DataError."""
        for part in self.shares[share]:
            yield from self._part(part)

    def _part(self, part: Part) -> Iterator[tuple[int, int, pa.RecordBatch]]:
        path, footer = Path(self.paths[part.file]), self.footers[part.file]
        if read_footer(path) != footer:
            raise DataError(f"{path} was changed while it was read", hint="nothing was published; load it again")
        groups = slice(part.first, part.stop)
        size = fitting(sum(footer.rows[groups]), sum(footer.bytes[groups]))
        before = sum(footer.rows[: part.first])
        for batch in group_batches(path, range(part.first, part.stop), size, threads=False):
            for rows in fitted(batch):
                yield part.file, before, rows
                before += rows.num_rows


def share_bytes(total: int) -> int:
    """How many unpacked bytes one task reads: few make tasks of a second, many make no more files than it takes."""
    return max(
        SHARE_BYTES_MIN, min(SHARE_BYTES, total // _SHARES_OF_FEW), min(SHARE_BYTES_MAX, total // _SHARES_OF_MUCH)
    )


def shared(footers: Sequence[Footer]) -> tuple[tuple[Part, ...], ...]:
    """All row groups that have rows, in order, in shares of about the same size."""
    most = share_bytes(sum(sum(footer.bytes) for footer in footers))
    shares: list[tuple[Part, ...]] = []
    held: list[Part] = []
    size = 0
    for file, footer in enumerate(footers):
        for group, (rows, more) in enumerate(zip(footer.rows, footer.bytes, strict=True)):
            if not rows:
                continue
            if held and size + more > most:
                shares.append(tuple(held))
                held, size = [], 0
            if held and held[-1].file == file and held[-1].stop == group:
                held[-1] = Part(file, held[-1].first, group + 1)
            else:
                held.append(Part(file, group, group + 1))
            size += more
    return (*shares, tuple(held)) if held else tuple(shares)


def shares_of(spark: SparkSession, paths: Sequence[str]) -> ParquetShares:
    """Raises DataError where a file cannot be read as Parquet, StorageError where a worker does not have it."""
    tasks = -(-len(paths) // _FOOTERS_PER_TASK)
    told = spark.range(0, len(paths), 1, tasks).mapInArrow(_footers(tuple(paths)), _FOOTER_COLUMNS).collect()
    rows = sorted(told, key=lambda row: int(row["file"]))
    for row in rows:
        if row["missing"]:
            hint = "put files for a cluster where all of it sees them, under the same path"
            raise StorageError(f"a worker of Spark's has no file {paths[row['file']]}", kind="not_found", hint=hint)
        if row["wrong"] is not None:
            raise DataError(row["wrong"])
    footers = tuple(Footer(tuple(row["names"]), tuple(row["rows"]), tuple(row["bytes"])) for row in rows)
    return ParquetShares(tuple(paths), footers, shared(footers))


def rows_for(spark: SparkSession, shares: ParquetShares) -> DataFrame:
    """One row for each share, each in a partition of its own."""
    count = len(shares.shares)
    return spark.range(0, count, 1, max(1, count))


def _footers(paths: tuple[str, ...]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def told(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for file in batch["id"].to_pylist():
                yield pa.RecordBatch.from_pylist([_told(file, Path(paths[file]))], _FOOTER)

    return told


def _told(file: int, path: Path) -> dict[str, object]:
    """What is known of a file as a row: its footer, or why there is none."""
    told: dict[str, object] = {"file": file, "missing": not path.exists()}
    try:
        footer = None if told["missing"] else read_footer(path)
    except DataError as error:
        return {**told, "wrong": error.message}
    return told if footer is None else {**told, **asdict(footer)}
