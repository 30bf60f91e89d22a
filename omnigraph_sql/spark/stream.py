"""`df.writeStream.format("omnigraph")`: each micro-batch is one commit, made once however often it is replayed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from omnigraph_sql.base.errors import DataError
from omnigraph_sql.spark.committing import discard, publish
from omnigraph_sql.spark.crossing import crossing
from omnigraph_sql.spark.writing import Target

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_DIGITS: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ID_DIGITS: Final = 26


def stable_id(*parts: object) -> str:
    """An id of the same form as all others that follows from the parts: the same ones give the same id."""
    digest = sha256("\0".join(f"{len(str(part))}:{part}" for part in parts).encode()).digest()
    number = int.from_bytes(digest[:16], "big")
    return "".join(_DIGITS[number >> 5 * place & 31] for place in reversed(range(_ID_DIGITS)))


class StreamWriter(DataSourceStreamArrowWriter):
    """Writes micro-batches into one table. The id of a batch's commit follows from the application and its number."""

    def __init__(self, target: Target, app: str) -> None:
        self._target, self._app = target, app

    @classmethod
    def of(cls, options: Mapping[str, str], schema: StructType, overwrite: bool) -> StreamWriter:
        app = options.get("app") or options.get("checkpointlocation")
        if not app:
            raise DataError(
                "a stream needs a name by which its batches are known again",
                hint="say .option('app', 'a name of its own'), or .option('checkpointLocation', …)",
            )
        if overwrite:
            raise DataError("a stream cannot overwrite in output mode complete", hint="use append or update")
        return cls(Target.of(options, schema, False), app)

    def batch_id(self, number: int) -> str:
        place = self._target.place
        return stable_id(place.uri, place.branch, self._target.table, self._app, number)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return self._target.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        with crossing():
            publish(self._target.written(self.batch_id(batchId), messages))

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        discard(self._target.written(self.batch_id(batchId), messages))
