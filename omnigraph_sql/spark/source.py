"""The data source `omnigraph`, as Spark knows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamWriter, DataSourceWriter

from omnigraph_sql.base.errors import DataError
from omnigraph_sql.spark.crossing import crossing
from omnigraph_sql.spark.place import GraphPlace, tables_at
from omnigraph_sql.spark.reading import (
    TableReader,
    pinned,
    place_from,
    schema_of,
    table_read,
)

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_READING = ("graph", "path", "type", "branch", "version", "timestamp", "filter", "columns", "query", "credentials")
_OTHERS = ("splitrows", "shares", "mode", "actor", "message", "load_id", "app", "checkpointlocation")


class OmnigraphSource(DataSource):
    """`spark.read.format("omnigraph")`, `df.write.format("omnigraph")` and the streaming sink."""

    @classmethod
    def name(cls) -> str:
        return "omnigraph"

    def _options(self) -> dict[str, str]:
        """Options by their names in small letters, which is how Spark passes them on."""
        found = {str(name).lower(): value for name, value in self.options.items()}
        for name in found:
            if name not in (*_READING, *_OTHERS) and not name.startswith(("storage.", "param.")):
                raise DataError(f"there is no option {name!r}", hint=f"options are {', '.join((*_READING, *_OTHERS))}")
        return found

    def _pinned(self, options: dict[str, str]) -> GraphPlace:
        place = place_from(options)
        if ("type" in options) == ("query" in options):
            raise DataError("exactly one of the options type and query is needed")
        return pinned(place, options)

    def schema(self) -> StructType:
        with crossing():
            options = self._options()
            # Spark makes the reader from another copy of this source: both have to read the same version.
            place = self._pinned(options)
            self.options["version"] = str(place.version)
            self.options.pop("timestamp", None)
            return schema_of(place, options)

    def reader(self, schema: StructType) -> DataSourceReader:
        with crossing():
            options = self._options()
            place = self._pinned(options)
            if "query" in options:
                from omnigraph_sql.spark.asking import SHARES, QuestionReader, asked_of

                shares = _count(options, "shares", "tasks") or SHARES
                return QuestionReader(place, asked_of(options), schema, shares)
            read = table_read(tables_at(place), options)
            return TableReader(place, read, schema, _count(options, "splitRows", "rows"))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from omnigraph_sql.spark.writing import TableWriter

        with crossing():
            return TableWriter.of(self._options(), schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        from omnigraph_sql.spark.stream import StreamWriter

        with crossing():
            return StreamWriter.of(self._options(), schema, overwrite)


def _count(options: dict[str, str], name: str, what: str) -> int | None:
    """The number that an option gives; None when it is not there. Raises DataError unless it is one, from 1 on."""
    asked = options.get(name.lower())
    if asked is None:
        return None
    if not asked.isdecimal() or int(asked) < 1:
        raise DataError(f"{name} is a number of {what}, not {asked!r}")
    return int(asked)
