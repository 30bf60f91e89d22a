"""Files of a load that no version names yet: what they hold, read by tasks, and rid of refused rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph_sql.base.catalog import ID, TableType
from omnigraph_sql.base.errors import InternalError
from omnigraph_sql.engine.store.foreign import file_text, loose_rows, marked, without_rows
from omnigraph_sql.engine.store.tables import ROW_ADDRESS, is_blob, table_schema
from omnigraph_sql.engine.values import table_key
from omnigraph_sql.foreign import PinnedTables
from omnigraph_sql.spark.digests import row_digests, seeds_of
from omnigraph_sql.spark.fragments import Part, part_batches, parts_of
from omnigraph_sql.spark.place import GraphPlace, tables_at
from omnigraph_sql.spark.tasks import side_path, unpacked
from omnigraph_sql.spark.types import arrow_of, spark_schema, to_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Bits = npt.NDArray[np.uint8]
_TASKS_MAX: Final = 512
_DIGESTS: Final = ("d1", "d2")


@dataclass(frozen=True, slots=True)
class LooseFile:
    """One file: its description, its name, its rows, and the feed they came from."""

    text: str
    name: str
    rows: int
    feed: int


@dataclass(slots=True)
class LooseTable:
    """The files of one table; `fresh` when all ids were made here. `gone` has bits for rows left out, by file."""

    type: TableType
    files: list[LooseFile] = field(default_factory=list)
    fresh: bool = True
    gone: dict[int, Bits] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return table_key(self.type)

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files) - sum(map(self._left_out, self.gone))

    def _left_out(self, file: int) -> int:
        return int(np.unpackbits(self.gone[file]).sum())

    def drop(self, file: int, places: Ints) -> None:
        bits = self.gone.setdefault(file, np.zeros(-(-self.files[file].rows // 8), np.uint8))
        np.bitwise_or.at(bits, places >> 3, (128 >> (places & 7)).astype(np.uint8))

    def is_emptied(self, file: int) -> bool:
        return self._left_out(file) == self.files[file].rows


def unpacked_bits(packed: bytes, count: int) -> Bools:
    """As many bits; none of them set where nothing was packed."""
    if not packed:
        return np.zeros(count, np.bool_)
    return np.unpackbits(np.frombuffer(packed, np.uint8), count=count).astype(np.bool_)


@dataclass(frozen=True, slots=True)
class Tables:
    """Rows of a load and of its base as Spark sees them. `load` is where files lie, `base` what is compared with.

    `secret` is what hashes begin with: drawn anew for every attempt, and told to nobody.
    """

    spark: SparkSession
    load: GraphPlace
    base: GraphPlace
    load_id: str
    secret: str = field(repr=False)

    def loose(self, table: LooseTable, columns: Sequence[str], *, numbers: bool = False) -> DataFrame:
        """Columns of the rows that are left, with `f` and `o`, the file and the place of the row in it."""
        place, load_id, key = self.load, self.load_id, table.key
        names = list(columns)
        schema = _declared(table.type, names, ("f", "o", *(("number",) if numbers else ())))

        def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return loose_batches(place, load_id, key, names, numbers, batches)

        return self.files(table).mapInArrow(read, schema)

    def committed(self, table: TableType, columns: Sequence[str], *, addresses: bool = False) -> DataFrame:
        """Columns of the rows of the base, perhaps with their addresses as `at`."""
        place, names = self.base, list(columns)
        key, rows = self.parts(table)
        schema = _declared(table, names, ("at",) if addresses else ())

        def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return committed_batches(place, key, names, addresses, batches)

        return rows.mapInArrow(read, schema)

    def files(self, table: LooseTable) -> DataFrame:
        """A row per file, for tasks."""
        return self._spread(_file_rows(table))

    def parts(self, table: TableType) -> tuple[str, DataFrame]:
        """The key of a table, and a row per fragment of the base, for tasks."""
        found = tables_at(self.base)
        parts = parts_of(found.tables, found.pin(table))
        return table_key(table), self._spread(pa.table({"f": pa.array([part.fragment for part in parts], pa.int64())}))

    def digests(self, table: LooseTable) -> DataFrame:
        """The rows that are left: `id`, `f`, `o`, and two numbers that follow from all values of a row."""
        place, key, seeds = self.load, table.key, seeds_of(self.secret)

        def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return loose_digests(place, key, seeds, batches)

        return self.files(table).mapInArrow(read, "id string, f bigint, o bigint, d1 bigint, d2 bigint")

    def committed_digests(self, table: TableType) -> DataFrame:
        """The same numbers for the rows of the base, with `id`."""
        place, seeds = self.base, seeds_of(self.secret)
        key, rows = self.parts(table)

        def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return committed_digests(place, key, seeds, batches)

        return rows.mapInArrow(read, "id string, d1 bigint, d2 bigint")

    def rewritten(self, table: LooseTable) -> list[LooseFile]:
        """The files without the rows that are left out; those that keep all rows as they are."""
        touched = [n for n in table.gone if not table.is_emptied(n)]
        kept = [file for n, file in enumerate(table.files) if n not in table.gone]
        if not touched:
            return kept
        place, key = self.load, table.key
        rows = _file_rows(table).take(pa.array(touched))

        def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return rewritten_batches(place, key, batches)

        found = self._spread(rows).mapInArrow(write, "f bigint, text string, rows bigint").collect()
        return kept + [LooseFile(row["text"], "", row["rows"], -1) for row in found]

    def marked(self, table: TableType, hits: DataFrame) -> list[tuple[int, str | None, int]]:
        """Fragments of the base with the rows at the addresses `at` of `hits` marked as deleted: id, text, rows."""
        place, key = self.base, table_key(table)
        grouped = hits.selectExpr("shiftright(at, 32) AS f", "at & 4294967295 AS o").groupBy("f")
        offsets = grouped.agg({"o": "collect_list"}).withColumnRenamed("collect_list(o)", "o")

        def mark(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return marked_batches(place, key, batches)

        found = offsets.mapInArrow(mark, "f bigint, text string, rows bigint").collect()
        return [(row["f"], row["text"], row["rows"]) for row in found]

    def _spread(self, rows: pa.Table) -> DataFrame:
        """One task per row, as far as there are that many."""
        frame = self.spark.createDataFrame(rows)
        return frame.repartition(min(rows.num_rows, _TASKS_MAX)) if rows.num_rows > 1 else frame.coalesce(1)


def _file_rows(table: LooseTable) -> pa.Table:
    numbers = range(len(table.files))
    return pa.table(
        {
            "f": pa.array(numbers, pa.int64()),
            "text": pa.array([file.text for file in table.files], pa.utf8()),
            "name": pa.array([file.name for file in table.files], pa.utf8()),
            "rows": pa.array([file.rows for file in table.files], pa.int64()),
            "gone": pa.array([table.gone[n].tobytes() if n in table.gone else b"" for n in numbers], pa.binary()),
        }
    )


def _declared(table: TableType, names: Sequence[str], numbers: Sequence[str]) -> str:
    whole = table_schema(table)
    types = spark_schema(pa.schema([whole.field(name) for name in names]))
    texts = [f"`{field.name}` {field.dataType.simpleString()}" for field in types.fields]
    return ", ".join([*texts, *(f"{name} bigint" for name in numbers)])


def _twins(table: TableType, names: Sequence[str]) -> pa.Schema:
    whole = table_schema(table)
    return arrow_of(spark_schema(pa.schema([whole.field(name) for name in names])))


# ---- in tasks ---------------------------------------------------------------------------------------------------


def each_row(batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    for batch in batches:
        yield from batch.to_pylist()


def left_rows(
    tables: PinnedTables, of: TableType, file: dict[str, Any], names: Sequence[str] | None
) -> Iterator[tuple[pa.RecordBatch, Ints]]:
    """Rows of a loose file that are left, with their places in it."""
    gone = unpacked_bits(file["gone"], file["rows"]) if file["gone"] else None
    start = 0
    for batch in loose_rows(tables.tables, tables.pin(of), file["text"], names):
        places = np.arange(start, start + batch.num_rows, dtype=np.int64)
        start += batch.num_rows
        if gone is None:
            yield batch, places
        else:
            stay = ~gone[places]
            yield batch.filter(pa.array(stay)), places[stay]


def loose_batches(
    place: GraphPlace, load_id: str, key: str, names: list[str], numbers: bool, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Rows of loose files that are left."""
    tables = tables_at(place)
    of = tables.type(key)
    twins = _twins(of, names)
    for file in each_row(batches):
        known = _numbers(tables, load_id, file["name"]) if numbers else None
        for batch, places in left_rows(tables, of, file, names):
            plain = to_spark(batch.select(names), twins)
            columns = [*plain.columns, pa.array(np.full(len(places), file["f"], np.int64)), pa.array(places)]
            if known is not None:
                columns.append(pa.array(known[places]))
            yield pa.RecordBatch.from_arrays(columns, names=[*names, "f", "o", *(["number"] if numbers else [])])


def loose_digests(
    place: GraphPlace, key: str, seeds: tuple[int, int], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """What rows of loose files hold, in two numbers each."""
    tables = tables_at(place)
    of = tables.type(key)
    for file in each_row(batches):
        for batch, places in left_rows(tables, of, file, None):
            at = [pa.array(np.full(len(places), file["f"], np.int64)), pa.array(places)]
            columns = [batch[ID], *at, *_digested(batch, of, seeds)]
            yield pa.RecordBatch.from_arrays(columns, names=[ID, "f", "o", *_DIGESTS])


def committed_digests(
    place: GraphPlace, key: str, seeds: tuple[int, int], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """What rows of fragments of the base hold, in two numbers each."""
    tables = tables_at(place)
    of = tables.type(key)
    names = table_schema(of).names
    blobs = any(is_blob(field) for field in table_schema(of))
    for row in each_row(batches):
        for batch in part_batches(tables.tables, tables.pin(of), Part(row["f"]), names, blobs=blobs):
            columns = [batch[ID], *_digested(batch, of, seeds)]
            yield pa.RecordBatch.from_arrays(columns, names=[ID, *_DIGESTS])


def _digested(batch: pa.RecordBatch, of: TableType, seeds: tuple[int, int]) -> list[pa.Array]:
    values = batch.select(table_schema(of).names)
    return [pa.array(row_digests(values, seed).view(np.int64)) for seed in seeds]


def _numbers(tables: PinnedTables, load_id: str, name: str) -> Ints:
    body = tables.objects.get(side_path(load_id, name))
    if body is None:
        raise InternalError(f"the numbers of the rows in {name} are gone")
    return unpacked(body)


def committed_batches(
    place: GraphPlace, key: str, names: list[str], addresses: bool, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Rows of fragments of the base."""
    tables = tables_at(place)
    of = tables.type(key)
    twins = _twins(of, names)
    for row in each_row(batches):
        for batch in part_batches(tables.tables, tables.pin(of), Part(row["f"]), names, addresses=addresses):
            plain = to_spark(batch.select(names), twins)
            if not addresses:
                yield plain
                continue
            at = batch[ROW_ADDRESS].cast(pa.int64())
            yield pa.RecordBatch.from_arrays([*plain.columns, at], names=[*names, "at"])


_MARKED = pa.schema([("f", pa.int64()), ("text", pa.utf8()), ("rows", pa.int64())])


def rewritten_batches(place: GraphPlace, key: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """New files for old ones with rows that are left out."""
    tables = tables_at(place)
    of = tables.type(key)
    for file in each_row(batches):
        gone = np.flatnonzero(unpacked_bits(file["gone"], file["rows"])).astype(np.int64)
        made = without_rows(tables.tables, tables.pin(of), file["text"], gone, table_schema(of))
        rows = [{"f": file["f"], "text": file_text(one), "rows": int(one.physical_rows)} for one in made]
        yield pa.RecordBatch.from_pylist(rows, schema=_MARKED)


def marked_batches(place: GraphPlace, key: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Fragments of the base with some rows marked as deleted."""
    tables = tables_at(place)
    pin = tables.pin(tables.type(key))
    for row in each_row(batches):
        left = marked(tables.tables, pin, row["f"], row["o"])
        yield pa.RecordBatch.from_pylist([{"f": row["f"], "text": left, "rows": len(row["o"])}], schema=_MARKED)
