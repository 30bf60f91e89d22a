"""`spark.read.format("omnigraph").option("query", …)`: the rows of a `.gq` read, shared out over tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from omnigraph_sql.spark.crossing import crossing
from omnigraph_sql.spark.place import GraphPlace, opened, tables_at
from omnigraph_sql.spark.query import Question, answer, question
from omnigraph_sql.spark.types import arrow_of, to_spark

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


SHARES: Final = 8
"""Tasks that a query is shared out over when nobody says."""


@dataclass(frozen=True)
class QuestionPartition(InputPartition):
    """One share of a query's rows."""

    place: GraphPlace
    question: Question

    def __init__(self, place: GraphPlace, asked: Question) -> None:
        object.__setattr__(self, "place", place)
        object.__setattr__(self, "question", asked)


class QuestionReader(DataSourceReader):
    """Reads a `.gq` query, each partition a share of it where it can be shared out."""

    def __init__(self, place: GraphPlace, asked: Question, schema: StructType, shares: int) -> None:
        self._place, self._asked, self._schema, self._shares = place, asked, schema, shares

    def partitions(self) -> Sequence[InputPartition]:
        shares = self._asked.shares(tables_at(self._place), self._shares)
        return [QuestionPartition(self._place, share) for share in shares]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, QuestionPartition)
        wanted = arrow_of(self._schema)
        with crossing():
            for batch in answer(opened(partition.place), partition.question):
                yield to_spark(batch, wanted)


def asked_of(options: Mapping[str, str]) -> Question:
    """The query of the options, with its parameters (`param.name`, JSON)."""
    prefix = "param."
    given = {name[len(prefix) :]: value for name, value in options.items() if name.startswith(prefix)}
    return question(options["query"], given)
