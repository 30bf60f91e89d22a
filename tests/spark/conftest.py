"""One Spark session for all tests of a run, small and quiet; without Java they are skipped, saying why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from omnigraph_sql.spark.sessions import missing, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of them run in one worker, so that one virtual machine serves them."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    why = missing()
    if why is not None:
        pytest.skip(why)
    settings = {
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.sql.session.timeZone": "America/Lima",
        "spark.task.maxFailures": "3",
        "spark.sql.adaptive.enabled": "false",
    }
    with session("local[2,3]", name="omnigraph-tests", **settings) as made:
        yield made
