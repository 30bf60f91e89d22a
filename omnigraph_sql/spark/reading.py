"""`spark.read.format("omnigraph")`: rows of a type, or of a `.gq` query, at one pinned version.

There is no filter pushdown: in the versions of Spark this runs on, a filter that one query pushes stays in the relation
that others share, and drops their rows. The `filter` and `columns` options belong to one `load()` alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from omnigraph_sql.base.catalog import TableType
from omnigraph_sql.base.errors import DataError
from omnigraph_sql.engine.store.root import GraphRoot
from omnigraph_sql.engine.store.tables import is_blob, table_schema
from omnigraph_sql.foreign import PinnedTables
from omnigraph_sql.spark.crossing import crossing
from omnigraph_sql.spark.fragments import Part, part_batches, shares_of
from omnigraph_sql.spark.place import GraphPlace, opened, pinned_at, tables_at
from omnigraph_sql.spark.types import arrow_of, spark_schema, to_spark

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql.types import StructType

SPLIT_ROWS: Final = 2_097_152
"""Rows of a task. What a task costs by itself is as much as reading a few hundred thousand of them."""
FILTERED_SPLIT_ROWS: Final = 2 * SPLIT_ROWS
"""Rows of a task with a filter, most of which never leave it."""
_EVEN_SHARES_MAX: Final = 16
_STORAGE: Final = "storage."


def place_from(options: Mapping[str, str]) -> GraphPlace:
    """The place the options of a read or write name. Raises DataError for what would put a secret into a plan."""
    uri = options.get("graph") or options.get("path")
    if not uri:
        raise DataError("the option graph is missing", hint="say .option('graph', 'place of the graph')")
    public = {name[len(_STORAGE) :]: value for name, value in options.items() if name.startswith(_STORAGE)}
    root = GraphRoot.parse(uri, public)
    if root.secrets:
        raise DataError(
            "a credential given as an option becomes part of the plan",
            hint="hand it over with omnigraph_sql.spark.credentials(spark, {...}) and .option('credentials', name), "
            "or set it in the environment of driver and executors",
        )
    return GraphPlace(root.uri, options.get("branch", "main"), root.options, options.get("credentials"))


def pinned(place: GraphPlace, options: Mapping[str, str]) -> GraphPlace:
    """The place at the version the options ask for; at the newest one now when they ask for none."""
    version, instant = options.get("version"), options.get("timestamp")
    if version is not None and instant is not None:
        raise DataError("version and timestamp exclude each other")
    if version is not None and version.isdigit():
        return place.at(int(version))
    return pinned_at(place, _instant(instant) if instant is not None else version)


def _instant(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise DataError(f"{text!r} is no instant", hint="write 2031-02-03T04:05:06Z") from error
    if found.tzinfo is None:
        raise DataError(f"{text!r} has no time zone", hint="write 2031-02-03T04:05:06Z")
    return found


@dataclass(frozen=True, slots=True)
class TableRead:
    """Rows of one type: which columns, and the filter in Lance's words."""

    type: str
    columns: tuple[str, ...]
    where: str | None

    def schema(self, tables: PinnedTables) -> pa.Schema:
        whole = table_schema(tables.type(self.type))
        return pa.schema([whole.field(name) for name in self.columns])


def table_read(tables: PinnedTables, options: Mapping[str, str]) -> TableRead:
    """What the options ask of one type. Raises DataError for unknown names and for a filter that cannot be."""
    of = tables.type(options["type"])
    known = [f.name for f in of.schema.fields]
    asked = options.get("columns")
    names = [name.strip() for name in asked.split(",")] if asked else known
    for name in names:
        if name not in known:
            raise DataError(f"{of.name} has no column {name!r}", hint=f"it has {', '.join(known)}")
        if names.count(name) > 1:
            raise DataError(f"the option columns names {name!r} twice")
    where = options.get("filter")
    if where is not None:
        _refuse_filter(tables, of, where)
    return TableRead(options["type"], tuple(names), where)


def _refuse_filter(tables: PinnedTables, of: TableType, where: str) -> None:
    dataset = tables.open(of).dataset
    try:
        dataset.scanner(columns=[], filter=where, with_row_id=True).explain_plan()
    except (ValueError, OSError) as error:
        text = str(error).strip().partition("\n")[0].partition(", /")[0]
        raise DataError(f"the filter is refused: {text}", hint="write a condition over columns in SQL") from None


@dataclass(frozen=True)
class TablePartition(InputPartition):
    """Parts of a table at a version."""

    place: GraphPlace
    parts: tuple[Part, ...]

    def __init__(self, place: GraphPlace, parts: tuple[Part, ...]) -> None:
        object.__setattr__(self, "place", place)
        object.__setattr__(self, "parts", parts)


class TableReader(DataSourceReader):
    """Reads parts of one table. Everything it needs travels in the partitions."""

    def __init__(self, place: GraphPlace, read: TableRead, schema: StructType, split_rows: int | None) -> None:
        self._place, self._read, self._schema, self._split = place, read, schema, split_rows

    def partitions(self) -> Sequence[InputPartition]:
        tables = tables_at(self._place)
        pin = tables.pin(tables.type(self._read.type))
        most = SPLIT_ROWS if self._read.where is None else FILTERED_SPLIT_ROWS
        split = self._split or even_split(pin.row_count, most)
        found = shares_of(tables.tables, pin, split, whole=self._read.where is not None)
        return [TablePartition(self._place, parts) for parts in found]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if type(partition) is InputPartition:
            # What Spark makes up where there are no partitions: the table has no rows.
            return
        assert isinstance(partition, TablePartition)
        with crossing():
            tables = tables_at(partition.place)
            wanted = arrow_of(self._schema)
            of = tables.type(self._read.type)
            blobs = any(is_blob(f) for f in table_schema(of) if f.name in self._read.columns)
            for part in partition.parts:
                for batch in part_batches(
                    tables.tables, tables.pin(of), part, self._read.columns, where=self._read.where, blobs=blobs
                ):
                    yield to_spark(batch, wanted)


def even_split(rows: int, most: int = SPLIT_ROWS) -> int:
    """Rows of a task when nobody says. A few tasks are made as many as cores mostly are, so that they end together."""
    shares = max(1, -(-rows // most))
    if shares <= _EVEN_SHARES_MAX:
        shares = 1 << (shares - 1).bit_length()
    return max(1, -(-rows // shares))


def schema_of(place: GraphPlace, options: Mapping[str, str]) -> StructType:
    """The columns of what the options ask for, at a pinned place."""
    if "query" in options:
        from omnigraph_sql.spark.asking import asked_of

        asked, graph = asked_of(options), opened(place)
        asked.parameters(graph)
        return spark_schema(asked.schema(graph))
    tables = tables_at(place)
    return spark_schema(table_read(tables, options).schema(tables))
