"""Files of a load that no version names yet: what they hold, read by tasks, and rid of refused rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph_sql.base.catalog import TableType
from omnigraph_sql.base.errors import InternalError
from omnigraph_sql.engine.store.foreign import file_text, loose_rows, marked, without_rows
from omnigraph_sql.engine.store.tables import ROW_ADDRESS, table_schema
from omnigraph_sql.engine.values import TableIdentity, TablePin, table_key
from omnigraph_sql.graph import Graph
from omnigraph_sql.spark.fragments import Part, part_batches, parts_of
from omnigraph_sql.spark.place import GraphPlace, opened
from omnigraph_sql.spark.reading import table_of
from omnigraph_sql.spark.tasks import side_path, unpacked
from omnigraph_sql.spark.types import spark_schema, to_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Ints = npt.NDArray[np.int64]
_NONE: Ints = np.zeros(0, np.int64)
_TASKS_MAX: Final = 512


@dataclass(frozen=True, slots=True)
class LooseFile:
    """One file: its description, its name, its rows, and the feed they came from."""

    text: str
    name: str
    rows: int
    feed: int


@dataclass(slots=True)
class LooseTable:
    """The files of one table. `gone` are the places of refused rows, by file; `fresh` when all ids were made here."""

    type: TableType
    files: list[LooseFile] = field(default_factory=list)
    fresh: bool = True
    gone: dict[int, Ints] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return table_key(self.type)

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files) - sum(len(gone) for gone in self.gone.values())

    def drop(self, file: int, places: Ints) -> None:
        self.gone[file] = np.union1d(self.gone.get(file, _NONE), places)


@dataclass(frozen=True, slots=True)
class Tables:
    """Rows of a load and of its base as Spark sees them. `load` is where files lie, `base` what is compared with."""

    spark: SparkSession
    load: GraphPlace
    base: GraphPlace
    load_id: str

    def loose(self, table: LooseTable, columns: Sequence[str], *, numbers: bool = False) -> DataFrame:
        """Columns of the rows that are left, with `f` and `o`, the file and the place of the row in it."""
        place, load_id, key = self.load, self.load_id, table.key
        names = list(columns)
        schema = _declared(table.type, names, ("f", "o", *(("number",) if numbers else ())))

        def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return loose_batches(place, load_id, key, names, numbers, batches)

        return self._spread(_file_rows(table)).mapInArrow(read, schema)

    def committed(self, table: TableType, columns: Sequence[str], *, addresses: bool = False) -> DataFrame:
        """Columns of the rows of the base, perhaps with their addresses as `at`."""
        place, key, names = self.base, table_key(table), list(columns)
        graph = opened(place)
        parts = parts_of(graph._world.tables, pin_of(graph, table), None)
        schema = _declared(table, names, ("at",) if addresses else ())
        rows = pa.table({"f": pa.array([part.fragment for part in parts], pa.int64())})

        def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return committed_batches(place, key, names, addresses, batches)

        return self._spread(rows).mapInArrow(read, schema)

    def rewritten(self, table: LooseTable) -> list[LooseFile]:
        """The files without the rows that are gone; those without refused rows as they are."""
        touched = [n for n, gone in table.gone.items() if len(gone)]
        if not touched:
            return list(table.files)
        place, key = self.load, table.key
        rows = _file_rows(table).take(pa.array(touched))

        def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return rewritten_batches(place, key, batches)

        found = self._spread(rows).mapInArrow(write, "f bigint, text string, rows bigint").collect()
        kept = [file for n, file in enumerate(table.files) if n not in touched]
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


def pin_of(graph: Graph, table: TableType) -> TablePin:
    pin = graph._session.snapshot().pin(TableIdentity.of(table))
    if pin is None:
        raise InternalError(f"{table_key(table)} is not a table of this graph")
    return pin


def _file_rows(table: LooseTable) -> pa.Table:
    numbers = range(len(table.files))
    gone = [table.gone.get(n, _NONE).astype(np.int64).tobytes() for n in numbers]
    return pa.table(
        {
            "f": pa.array(numbers, pa.int64()),
            "text": pa.array([file.text for file in table.files], pa.utf8()),
            "name": pa.array([file.name for file in table.files], pa.utf8()),
            "gone": pa.array(gone, pa.binary()),
        }
    )


def _declared(table: TableType, names: Sequence[str], numbers: Sequence[str]) -> str:
    whole = table_schema(table)
    types = spark_schema(pa.schema([whole.field(name) for name in names]))
    texts = [f"`{field.name}` {field.dataType.simpleString()}" for field in types.fields]
    return ", ".join([*texts, *(f"{name} bigint" for name in numbers)])


def _twins(table: TableType, names: Sequence[str]) -> pa.Schema:
    from omnigraph_sql.spark.types import arrow_of

    whole = table_schema(table)
    return arrow_of(spark_schema(pa.schema([whole.field(name) for name in names])))


# ---- in tasks ---------------------------------------------------------------------------------------------------


def _each(batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, object]]:
    for batch in batches:
        yield from batch.to_pylist()


def loose_batches(
    place: GraphPlace, load_id: str, key: str, names: list[str], numbers: bool, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Rows of loose files that are left."""
    graph = opened(place)
    of = table_of(graph, key)
    pin, twins = pin_of(graph, of), _twins(of, names)
    for file in _each(batches):
        gone = np.frombuffer(_bytes(file["gone"]), np.int64)
        known = _numbers(graph, load_id, str(file["name"])) if numbers else None
        start = 0
        for batch in loose_rows(graph._world.tables, pin, str(file["text"]), names):
            places = np.arange(start, start + batch.num_rows, dtype=np.int64)
            start += batch.num_rows
            stay = ~np.isin(places, gone) if len(gone) else None
            plain = to_spark(batch.select(names), twins)
            columns = [*plain.columns, pa.array(np.full(batch.num_rows, file["f"], np.int64)), pa.array(places)]
            if known is not None:
                columns.append(pa.array(known[places]))
            whole = pa.RecordBatch.from_arrays(columns, names=[*names, "f", "o", *(["number"] if numbers else [])])
            yield whole if stay is None else whole.filter(pa.array(stay))


def _bytes(value: object) -> bytes:
    assert isinstance(value, bytes)
    return value


def _numbers(graph: Graph, load_id: str, name: str) -> Ints:
    body = graph._world.objects.get(side_path(load_id, name))
    if body is None:
        raise InternalError(f"the numbers of the rows in {name} are gone")
    return unpacked(body)


def committed_batches(
    place: GraphPlace, key: str, names: list[str], addresses: bool, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Rows of fragments of the base."""
    graph = opened(place)
    of = table_of(graph, key)
    pin, twins = pin_of(graph, of), _twins(of, names)
    for row in _each(batches):
        part = Part(int(str(row["f"])))
        for batch in part_batches(graph._world.tables, pin, part, names, addresses=addresses):
            plain = to_spark(batch.select(names), twins)
            if not addresses:
                yield plain
                continue
            at = batch[ROW_ADDRESS].cast(pa.int64())
            yield pa.RecordBatch.from_arrays([*plain.columns, at], names=[*names, "at"])


_MARKED = pa.schema([("f", pa.int64()), ("text", pa.utf8()), ("rows", pa.int64())])


def rewritten_batches(place: GraphPlace, key: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """New files for old ones with refused rows."""
    graph = opened(place)
    of = table_of(graph, key)
    for file in _each(batches):
        gone = np.frombuffer(_bytes(file["gone"]), np.int64)
        made = without_rows(graph._world.tables, pin_of(graph, of), str(file["text"]), gone, table_schema(of))
        rows = [{"f": file["f"], "text": file_text(one), "rows": int(one.physical_rows)} for one in made]
        yield pa.RecordBatch.from_pylist(rows, schema=_MARKED)


def marked_batches(place: GraphPlace, key: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Fragments of the base with some rows marked as deleted."""
    graph = opened(place)
    pin = pin_of(graph, table_of(graph, key))
    for row in _each(batches):
        offsets = row["o"]
        assert isinstance(offsets, list)
        left = marked(graph._world.tables, pin, int(str(row["f"])), offsets)
        yield pa.RecordBatch.from_pylist([{"f": row["f"], "text": left, "rows": len(offsets)}], schema=_MARKED)
