"""`SELECT * FROM gq('match … return …', name => value)`: a query as a table function, its columns known at analysis."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from omnigraph_sql.base.errors import DataError, OmniError
from omnigraph_sql.spark.place import GraphPlace, opened
from omnigraph_sql.spark.query import Question
from omnigraph_sql.spark.source import crossing
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
            if not text.isConstantExpression:
                raise crossing(DataError("the text of gq has to be written out, since it names the columns"))
            return AnalyzeResult(schema=columns(place, str(text.value), sorted(values)))

        def eval(self, text: str, **values: Any) -> Iterator[tuple[Any, ...]]:
            yield from rows(place, text, values)

    made: Any = udtf(Gq)
    spark.udtf.register(f"{prefix}gq", made)


def columns(place: GraphPlace, text: str, names: list[str]) -> StructType:
    """What a query returns. Raises what Spark shows at the end of its trace."""
    try:
        graph = opened(place)
        asked = Question(text)
        program = asked.program(graph)
        known = {param.name.casefold() for param in program.parameters}
        for name in names:
            if name.casefold() not in known:
                raise DataError(f"the query has no parameter {name!r}")
        return spark_schema(asked.schema(graph))
    except OmniError as error:
        raise crossing(error) from None


def rows(place: GraphPlace, text: str, values: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """The rows of a query, one after the other, in the types that were announced."""
    try:
        graph = opened(place)
        asked = Question(text)
        names = {param.name.casefold(): param.name for param in asked.program(graph).parameters}
        given = {names[name.casefold()]: value for name, value in values.items()}
        wanted = arrow_of(spark_schema(asked.schema(graph)))
        for batch in graph.gq(text, given or None).batches():
            plain = to_spark(batch, wanted)
            yield from zip(*(column.to_pylist() for column in plain.columns), strict=True)
    except OmniError as error:
        raise crossing(error) from None
