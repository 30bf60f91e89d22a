"""Pipelines: sources read by Spark, shaped by expressions, and loaded as one commit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from omnigraph_sql.base.catalog import TableType
from omnigraph_sql.engine.load.columns_given import column_names
from omnigraph_sql.engine.load.values import Spelling
from omnigraph_sql.engine.values import table_key
from omnigraph_sql.engine.write.txn import Author
from omnigraph_sql.graph import open as open_graph
from omnigraph_sql.spark.failures import telling_spark
from omnigraph_sql.spark.feeds import Block, Feed, Kind, Origins, Places
from omnigraph_sql.spark.inputs import Input, file_name
from omnigraph_sql.spark.loading import LoadRun, LoadWish
from omnigraph_sql.spark.pipeline_file import PipelineFile, PipelineSource, check_pipeline
from omnigraph_sql.spark.progress import Watch
from omnigraph_sql.spark.report import SparkReport

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SPELLINGS = {"csv": Spelling.TEXT, "text": Spelling.TEXT, "json": Spelling.JSON, "xml": Spelling.TEXT}
_FORMATS = {"jsonl": "json", "ndjson": "json"}


def check(found: PipelineFile) -> list[str]:
    """Check a pipeline against the schema of its graph, without Spark; a line per source."""
    with open_graph(
        found.graph, branch=found.branch, read_only=True, storage_options=found.storage_options() or None
    ) as graph:
        checked = check_pipeline(found, graph.catalog)
    return [f"{source.name}: {source.format} feeds {table_key(of)} ({found.mode.value})" for source, of in checked]


def plan(spark: SparkSession, found: PipelineFile) -> list[str]:
    """What a run would do: the columns of every source as they are read and as they are loaded. Reads no rows."""
    with open_graph(
        found.graph, branch=found.branch, read_only=True, storage_options=found.storage_options() or None
    ) as graph:
        checked = check_pipeline(found, graph.catalog)
    lines = []
    for source, of in checked:
        raw = _raw(spark, source)
        shaped = _shaped(source, raw, numbered=False)
        lines.append(f"{source.name}: {source.format} feeds {table_key(of)} ({found.mode.value})")
        lines.append(f"  reads  {', '.join(f'{f.name} {f.dataType.simpleString()}' for f in raw.schema.fields)}")
        if source.where is not None:
            lines.append(f"  where  {source.where}")
        if source.distinct:
            lines.append(f"  once   {', '.join(source.distinct)}{f' by {source.order}' if source.order else ''}")
        lines.append(f"  writes {', '.join(f'{f.name} {f.dataType.simpleString()}' for f in shaped.schema.fields)}")
    return lines


def run(spark: SparkSession, found: PipelineFile, progress: Watch | None = None) -> SparkReport:
    """Load everything as one commit. Raises RowsRefused as `load` does."""
    wish = LoadWish(
        found.graph,
        found.mode.value,
        found.on_error,
        found.quarantine,
        found.branch,
        Author(found.actor, found.message),
        found.storage_options() or None,
    )
    started = LoadRun.begin(spark, wish, progress)

    def inputs() -> list[Input]:
        checked = check_pipeline(found, started.catalog)
        return [_input(spark, started, number, source, of) for number, (source, of) in enumerate(checked)]

    return started.run(inputs)


def _raw(spark: SparkSession, source: PipelineSource) -> DataFrame:
    reader = spark.read.format(_FORMATS.get(source.format, source.format)).options(**dict(source.options))
    return _analysed(source, lambda: reader.load(list(source.paths)) if source.paths else reader.load())


def _analysed(source: PipelineSource, act: Callable[[], DataFrame]) -> DataFrame:
    """What Spark refuses names the source."""
    with telling_spark(source.name):
        return act()


def _shaped(source: PipelineSource, raw: DataFrame, *, numbered: bool) -> DataFrame:
    """Filter, take once, and compute the columns of the type; the number of a row goes along."""
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    def act() -> DataFrame:
        rows = raw.where(source.where) if source.where is not None else raw
        if source.distinct:
            order: Any = _orders(source.order) if source.order else [sf.monotonically_increasing_id()]
            first = sf.row_number().over(Window.partitionBy(*(sf.expr(c) for c in source.distinct)).orderBy(*order))
            rows = rows.withColumn("__first", first).where("__first = 1")
        columns = [sf.expr(text).alias(name) for name, text in source.columns]
        return rows.select(*columns, *(["__at"] if numbered else []))

    return _analysed(source, act)


def _orders(text: str) -> list[object]:
    """`a DESC, b` as Spark's own terms."""
    from pyspark.sql import functions as sf

    found: list[object] = []
    for term in text.split(","):
        words = term.split()
        falls = bool(words) and words[-1].upper() == "DESC"
        bare = " ".join(words[:-1] if words and words[-1].upper() in ("ASC", "DESC") else words)
        found.append(sf.expr(bare).desc() if falls else sf.expr(bare).asc())
    return found


def _input(spark: SparkSession, started: LoadRun, number: int, source: PipelineSource, of: TableType) -> Input:
    from pyspark.sql import functions as sf

    raw = _raw(spark, source)
    # Refuses what is wrong before there is a column that the file knows nothing of.
    _shaped(source, raw, numbered=False)
    rows = _shaped(source, raw.withColumn("__at", sf.monotonically_increasing_id()), numbered=True)
    names = tuple(column_names(of, [name for name, _ in source.columns], source.name))
    spelling = _SPELLINGS.get(_FORMATS.get(source.format, source.format), Spelling.TYPED)
    feed = Feed(started.place, started.load.load_id, number, Kind.TYPED, table_key(of), (names,), spelling=spelling)
    origins = Origins(source.name, places=Places.ROWS, blocks=lambda: _blocks(spark, source))
    return Input(feed, rows, origins, source.paths, of)


def _blocks(spark: SparkSession, source: PipelineSource) -> list[Block]:
    """Where rows of each file begin among the numbers: asked for only when a row was refused. None without files."""
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as sf

    raw = _raw(spark, source)
    try:
        seen = raw.select(
            sf.monotonically_increasing_id().alias("at"),
            sf.expr("_metadata.file_path").alias("path"),
            sf.expr("_metadata.file_block_start").alias("start"),
        )
    except AnalysisException:
        return []
    counted = seen.groupBy("path", "start").agg(sf.min("at").alias("at"), sf.count("*").alias("n"))
    found: list[Block] = []
    before: dict[str, int] = {}
    for row in sorted(counted.collect(), key=lambda r: (r["path"], r["start"])):
        found.append(Block(row["at"], row["n"], file_name(row["path"]), before.get(row["path"], 0)))
        before[row["path"]] = before.get(row["path"], 0) + row["n"]
    return sorted(found, key=lambda block: block.first)
