"""One emulated object store for the tests of a module."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from omnigraph_sql.engine.store.root import GraphRoot
from tests.s3.stores import KEY, SECRET, Store


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
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
        yield Store(url, client)
    finally:
        server.stop()


@pytest.fixture
def root(store: Store, request: pytest.FixtureRequest) -> GraphRoot:
    return store.root(f"t/{abs(hash(request.node.name)):x}")
