"""What Spark says when it fails becomes one sentence, and an error that tells whose move is next."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import omnigraph_sql as og
from omnigraph_sql.base.errors import DataError, ExecutionError, OmniError, StorageError
from omnigraph_sql.engine.store.objects import LocalObjects
from omnigraph_sql.spark.failures import failure
from omnigraph_sql.spark.loading import load
from omnigraph_sql.spark.report import RowsNotKept
from omnigraph_sql.spark.tasks import SIDE_FOLDER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TRACE = "\n\tat org.apache.spark.A.b(A.scala:1)\n\tat org.apache.spark.C.d(C.scala:2)\n"
_CALL = "An error occurred while calling o8.collect.\n: "
_STAGE = (
    f"{_CALL}org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 3.0 failed 4 times,"
    " most recent failure: Lost task 0.3 in stage 3.0 (TID 3) (10.0.0.7 executor 1): "
)
_PYTHON = 'An exception was thrown from the Python worker:\nTraceback (most recent call last):\n  File "x.py", line 1\n'


@pytest.mark.parametrize(
    ("text", "of", "kind", "message"),
    [
        (
            "[PATH_NOT_FOUND] Path does not exist: file:/x. SQLSTATE: 42K03",
            DataError,
            None,
            "Path does not exist: file:/x",
        ),
        (
            f"{_CALL}org.apache.spark.SparkClassNotFoundException: "
            f"[DATA_SOURCE_NOT_FOUND] There is no source: x. SQLSTATE: 42K02{_TRACE}",
            DataError,
            None,
            "here: [DATA_SOURCE_NOT_FOUND] There is no source: x",
        ),
        (f"{_STAGE}java.io.IOException: Mkdirs failed{_TRACE}", StorageError, "unknown", "here: Mkdirs failed"),
        (f"{_STAGE}org.apache.spark.SparkException: [CAST] no{_TRACE}", DataError, None, "here: [CAST] no"),
        (
            f"{_CALL}java.lang.RuntimeException: java.lang.ClassNotFoundException: "
            f"Class a.S3AFileSystem not found{_TRACE}",
            StorageError,
            "configuration",
            "here: Class a.S3AFileSystem not found",
        ),
        (
            f"{_CALL}java.net.ConnectException: Call failed: Connection refused{_TRACE}",
            StorageError,
            "transient",
            "here: Call failed: Connection refused",
        ),
        (
            f"{_STAGE}ExecutorLostFailure (executor 1 exited caused by one of the running tasks){_TRACE}",
            StorageError,
            "transient",
            "a process of Spark's is gone",
        ),
        (f"{_PYTHON}omnigraph_sql.base.errors.StorageError: no disk\n", StorageError, "unknown", "here: no disk"),
        (f"{_PYTHON}omnigraph_sql.base.errors.KeyConflict: twice\n", DataError, None, "here: twice"),
        (
            f"{_PYTHON}ValueError: too long\n SQLSTATE: 38000",
            ExecutionError,
            None,
            "a task failed: ValueError: too long",
        ),
        (
            f"{_PYTHON}ModuleNotFoundError: No module named 'omnigraph_sql'\n SQLSTATE: 38000",
            StorageError,
            "configuration",
            "here: where tasks run there is no module named 'omnigraph_sql'",
        ),
        (f"{_PYTHON}KeyboardInterrupt\n", ExecutionError, None, "a task failed"),
        ("", StorageError, "unknown", "it failed and did not say why"),
    ],
)
def test_a_text_of_sparks_becomes_one_sentence(text: str, of: type[OmniError], kind: str | None, message: str) -> None:
    found = failure(text, "here")
    assert type(found) is of
    assert getattr(found, "kind", None) == kind
    assert message in found.message
    assert "\n" not in found.message
    assert "SQLSTATE" not in found.message
    assert "\tat " not in found.message


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return og.init(tmp_path / "g.omni", schema="node A { k: I32 @key }")


def _raising(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        raise ValueError("no such day")
        yield batch


def _dying(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        os.kill(os.getpid(), signal.SIGKILL)
        yield batch


def _damaged(_: SparkSession, folder: Path) -> Any:
    (folder / "a.parquet").write_text("no parquet at all")
    return str(folder / "a.parquet")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (_damaged, "a.parquet"),
        (lambda *_: "s3a://nowhere/a.parquet", "S3AFileSystem not found"),
        (lambda spark, _: spark.range(3).selectExpr("assert_true(id > 5) AS k"), "'(id > 5)' is not true"),
        (lambda spark, _: spark.range(3).selectExpr("int(id) AS k").mapInArrow(_raising, "k int"), "no such day"),
        (lambda spark, _: spark.range(3).selectExpr("int(id) AS k").mapInArrow(_dying, "k int"), "is gone"),
    ],
    ids=["damaged file", "no library", "expression", "task that raises", "task that dies"],
)
def test_a_load_that_fails_in_spark_says_so_in_one_sentence_and_changes_nothing(
    spark: SparkSession, graph: og.Graph, tmp_path: Path, source: Callable[[SparkSession, Path], Any], words: str
) -> None:
    before = graph.head
    with pytest.raises(OmniError) as caught:
        load(spark, graph.uri, {"A": source(spark, tmp_path)}, mode="append")
    assert words in caught.value.message
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 600
    graph.refresh()
    assert graph.head == before
    assert not list(Path(graph.uri).rglob("nodes/**/*.lance"))


def test_refused_rows_that_cannot_be_kept_do_not_hide_what_was_published(
    spark: SparkSession, graph: og.Graph, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    rows = spark.createDataFrame([(1,), (None,)], "k int")
    kept = str(tmp_path / "file" / "q")
    with pytest.raises(RowsNotKept) as caught:
        load(spark, graph.uri, {"A": rows}, mode="append", on_error="skip", quarantine=kept)
    report = caught.value.load
    graph.refresh()
    assert report.commit_id == graph.head
    assert report.rows_refused == 1
    assert report.commit_id in str(caught.value.hint)
    assert graph.sql("SELECT k FROM A").fetchall() == [(1,)]


def test_a_store_that_fails_once_everything_is_published_hides_nothing(
    spark: SparkSession, graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is only of use while a load lasts stays behind; the load is what it is."""

    listed = LocalObjects.list

    def failing(objects: LocalObjects, folder: str) -> list[str]:
        if folder == SIDE_FOLDER:
            raise StorageError(f"{folder} cannot be listed", kind="transient")
        return listed(objects, folder)

    with monkeypatch.context() as patch:
        patch.setattr(LocalObjects, "list", failing)
        report = load(spark, graph.uri, {"A": spark.createDataFrame([(1,)], "k int")}, mode="append")
    graph.refresh()
    assert report.commit_id == graph.head
    assert graph.sql("SELECT k FROM A").fetchall() == [(1,)]
