"""`SELECT * FROM gq('match … return …', name => value)`: a query as a table function, its columns known at analysis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from omnigraph_sql.base.errors import DataError
from omnigraph_sql.spark.crossing import crossing
from omnigraph_sql.spark.place import GraphPlace, opened
from omnigraph_sql.spark.query import Question
from omnigraph_sql.spark.types import arrow_of, spark_schema, to_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType


def register_gq(spark: SparkSession, place: GraphPlace, prefix: str) -> None:
    """Make `gq` known to a session, bound to the place."""
    from pyspark.sql.functions import udtf
    from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult

    class Gq:
        @staticmethod
        def analyze(text: AnalyzeArgument, **values: AnalyzeArgument) -> AnalyzeResult:
            with crossing():
                if not text.isConstantExpression:
                    raise DataError("the text of gq has to be written out, since it names the columns")
                written = all(value.isConstantExpression for value in values.values())
                known = {name: value.value for name, value in values.items()} if written else None
                return AnalyzeResult(schema=columns(place, str(text.value), known))

        def eval(self, text: str, **values: Any) -> Iterator[tuple[Any, ...]]:
            with crossing():
                yield from rows(place, text, values)

    made: Any = udtf(Gq)
    spark.udtf.register(f"{prefix}gq", made)


def columns(place: GraphPlace, text: str, values: Mapping[str, object] | None) -> StructType:
    """What a query returns. The values of its parameters are looked at where they are known."""
    graph, asked = opened(place), Question(text)
    if values is not None:
        asked.named(graph, values)
    return spark_schema(asked.schema(graph))


def rows(place: GraphPlace, text: str, values: Mapping[str, object]) -> Iterator[tuple[Any, ...]]:
    """The rows of a query, one after the other, in the types that were announced."""
    graph, asked = opened(place), Question(text)
    given = asked.named(graph, values)
    wanted = arrow_of(spark_schema(asked.schema(graph)))
    for batch in graph.gq(text, given or None).batches():
        plain = to_spark(batch, wanted)
        yield from zip(*(column.to_pylist() for column in plain.columns), strict=True)
