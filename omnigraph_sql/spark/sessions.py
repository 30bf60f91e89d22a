"""Spark sessions for commands, and what has to be there before one can be had."""

from __future__ import annotations

import logging
import os
import shutil
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from omnigraph_sql.base.errors import StorageError
from omnigraph_sql.spark.failures import telling_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOPBACK: Final = "127.0.0.1"
_PYTHON_SETTING: Final = "spark.pyspark.python"
# Spark announces every change of level but that to `warn`. What it says of failed tasks it says again in its exception.
_LOG4J: Final = """\
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = err
appender.err.type = Console
appender.err.name = err
appender.err.target = SYSTEM_ERR
appender.err.layout.type = PatternLayout
appender.err.layout.pattern = %p %c{1}: %m%n
appender.err.filter.threshold.type = ThresholdFilter
appender.err.filter.threshold.level = error
logger.tasks.name = org.apache.spark.executor.Executor
logger.tasks.level = off
logger.stages.name = org.apache.spark.scheduler.TaskSetManager
logger.stages.level = off
"""


def missing() -> str | None:
    """Why there can be no session here, in one sentence; None when there can."""
    try:
        import pyspark  # noqa: F401
    except ImportError:
        return "Spark needs the Python package pyspark, which is not installed"
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).is_file():
        return f"Spark needs Java 17 or newer, and there is none at {home}" if home else _NO_JAVA
    return None


_NO_JAVA: Final = "Spark needs Java 17 or newer, and there is no java on the PATH"


def refuse_missing() -> None:
    """Raises StorageError (configuration) when there can be no session here."""
    why = missing()
    if why is not None:
        hint = "install it, or say pip install 'omnigraph-sql[spark]'" if "package" in why else "install a JDK"
        raise StorageError(why, kind="configuration", hint=hint)


@contextmanager
def session(master: str | None = None, *, name: str = "omnigraph", **settings: str) -> Iterator[SparkSession]:
    """A quiet session that ends with the block; where one is running already, that one, which goes on.

    Raises StorageError (configuration) without Java or pyspark.
    """
    refuse_missing()
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    with TemporaryDirectory(prefix="omnigraph-spark-") as folder:
        made = _made(master, name, settings, Path(folder))
        try:
            yield made
        finally:
            made.stop()


def _made(master: str | None, name: str, settings: Mapping[str, str], folder: Path) -> SparkSession:
    from pyspark.sql import SparkSession

    # Workers take the first python of the PATH otherwise, which need not have this package. Spark heeds the setting of
    # this name only when spark-submit is told of it, and the variable always.
    if _PYTHON_SETTING in settings:
        os.environ["PYSPARK_PYTHON"] = settings[_PYTHON_SETTING]
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    log4j = folder / "log4j2.properties"
    log4j.write_text(_LOG4J, encoding="utf-8")
    builder = SparkSession.builder.appName(name)
    if master is not None:
        builder = builder.master(master)
    if master is None or master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
        builder = builder.config("spark.driver.bindAddress", LOOPBACK).config("spark.driver.host", LOOPBACK)
    quiet = {
        "spark.ui.enabled": "false",
        # Rows go to Python and back a fifth faster than over a port of the loopback.
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{log4j}",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    }
    for key, value in {**quiet, **settings}.items():
        builder = builder.config(key, value)
    with warnings.catch_warnings():
        # Starting Java forks; the child runs Java at once and never comes near what is not safe there.
        warnings.filterwarnings("ignore", "lance is not fork-safe", UserWarning)
        try:
            with telling_spark("starting Spark"):
                made = builder.getOrCreate()
        except StorageError as error:
            asked = f"with master {master}" if master is not None else "as it is configured"
            hint = "is that the right master, and can it be reached from here?"
            raise StorageError(f"Spark does not start {asked}: {error.message}", kind=error.kind, hint=hint) from error
    if master is None or master.startswith("local"):
        made.sparkContext.setLogLevel("ERROR")
    return made
