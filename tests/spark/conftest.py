"""One Spark session for all tests of a run, small and quiet; without Java they are skipped, saying why."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from omnigraph_sql.spark.sessions import missing, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent
KEY, SECRET = "AKIDMARKER", "SECRETMARKER/+x"


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


@pytest.fixture(scope="session")
def options() -> Iterator[dict[str, str]]:
    server_module = pytest.importorskip("moto.server", reason="the object store is emulated by moto[server]")
    boto3 = pytest.importorskip("boto3", reason="the bucket is made with boto3")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = server_module.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        url = f"http://127.0.0.1:{server.get_host_and_port()[1]}"
        client = boto3.client(
            "s3", endpoint_url=url, region_name="us-east-1", aws_access_key_id=KEY, aws_secret_access_key=SECRET
        )
        client.create_bucket(Bucket="graphs")
        yield {
            "aws_endpoint": url,
            "aws_access_key_id": KEY,
            "aws_secret_access_key": SECRET,
            "aws_region": "us-east-1",
            "allow_http": "true",
            "aws_virtual_hosted_style_request": "false",
        }
    finally:
        server.stop()
