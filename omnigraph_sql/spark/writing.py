"""`df.write.format("omnigraph")`: one table, one commit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from omnigraph_sql.base.errors import DataError
from omnigraph_sql.base.seams import SystemClock, UlidSource
from omnigraph_sql.engine.load.columns_given import column_names
from omnigraph_sql.engine.load.report import LoadMode
from omnigraph_sql.engine.values import table_key
from omnigraph_sql.engine.write.txn import Author
from omnigraph_sql.foreign import refuse_load_id
from omnigraph_sql.spark.committing import Written, body_of, discard, publish
from omnigraph_sql.spark.crossing import crossing
from omnigraph_sql.spark.feeds import Feed, Kind
from omnigraph_sql.spark.place import GraphPlace, tables_at
from omnigraph_sql.spark.reading import pinned, place_from
from omnigraph_sql.spark.tasks import work

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


@dataclass(frozen=True)
class TaskMessage(WriterCommitMessage):
    """What one task wrote, as text."""

    body: str


@dataclass(frozen=True, slots=True)
class Target:
    """Where rows go, and how."""

    place: GraphPlace
    table: str
    names: tuple[str, ...]
    mode: LoadMode
    author: Author

    @classmethod
    def of(cls, options: Mapping[str, str], schema: StructType, overwrite: bool) -> Target:
        """Raises DataError for options and columns that do not fit."""
        if "type" not in options:
            raise DataError("the option type is missing", hint="say .option('type', 'name of a node or edge type')")
        place = pinned(place_from(options), {})
        of = tables_at(place).type(options["type"])
        names = tuple(column_names(of, schema.fieldNames(), "the data frame"))
        wanted = options.get("mode", "append")
        if overwrite:
            wanted = LoadMode.OVERWRITE.value
        if wanted not in tuple(LoadMode):
            raise DataError(f"there is no mode {wanted!r}", hint=f"choose one of {', '.join(LoadMode)}")
        author = Author(options.get("actor"), options.get("message"))
        return cls(place, table_key(of), names, LoadMode(wanted), author)

    def written(self, load_id: str, messages: list[WriterCommitMessage | None]) -> Written:
        bodies = tuple(body_of(m.body) for m in messages if isinstance(m, TaskMessage))
        return Written(self.place, self.table, self.mode, load_id, self.author, bodies)

    def write(self, batches: Iterator[pa.RecordBatch]) -> TaskMessage:
        """The rows of one task, in files."""
        feed = Feed(self.place, None, 0, Kind.TYPED, self.table, (self.names,))
        with crossing():
            (made,) = work(feed, _numbered(batches))
        return TaskMessage(made["body"][0].as_py())


def _numbered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    start = 0
    for batch in batches:
        numbers = pa.array(np.arange(start, start + batch.num_rows, dtype=np.int64))
        start += batch.num_rows
        yield pa.RecordBatch.from_arrays([*batch.columns, numbers], names=[*batch.schema.names, "__at"])


class TableWriter(DataSourceArrowWriter):
    """Writes a DataFrame into one table."""

    def __init__(self, target: Target, load_id: str) -> None:
        self._target, self._load_id = target, load_id

    @classmethod
    def of(cls, options: Mapping[str, str], schema: StructType, overwrite: bool) -> TableWriter:
        load_id = options.get("load_id")
        if load_id is not None:
            refuse_load_id(load_id)
        return cls(Target.of(options, schema, overwrite), load_id or UlidSource(SystemClock()).ulid())

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return self._target.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        with crossing():
            publish(self._target.written(self._load_id, messages))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        discard(self._target.written(self._load_id, messages))
