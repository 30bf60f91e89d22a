"""The same through Spark Connect, where the client is not the driver."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import omnigraph_sql as og
from omnigraph_sql.spark.sessions import missing

pytestmark = pytest.mark.skipif(os.environ.get("OMNI_SPARK") != "full", reason="the full run starts a server")

CLIENT = """
import os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
from pyspark.sql import SparkSession
from omnigraph_sql.spark import load, register
uri, folder = sys.argv[1:]
spark = (
    SparkSession.builder.remote("local[2]").config("spark.connect.grpc.binding.address", "127.0.0.1")
    .config("spark.ui.enabled", "false").config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.driver.host", "127.0.0.1").config("spark.sql.shuffle.partitions", "2").getOrCreate()
)
try:
    rows = spark.createDataFrame([(1, "one"), (2, "two"), (2, "again")], "k int, name string")
    report = load(spark, uri, {"A": rows}, mode="append", on_error="skip")
    more = [load(spark, uri, {"A": f"{folder}/*.{form}"}, mode="append").rows_read for form in ("parquet", "csv")]
    register(spark, uri)
    print(*more, report.rows_refused, *spark.sql("SELECT count(*), sum(og_degree('E', id)) FROM A").first())
    print(*spark.sql("SELECT * FROM gq('match { $a: A { k: 1 } } return { $a.name as name }')").first())
finally:
    spark.stop()
"""


def test_a_graph_is_loaded_and_asked_through_connect(tmp_path: Path) -> None:
    if missing() is not None:
        pytest.skip(str(missing()))
    graph = og.init(tmp_path / "g.omni", schema="node A { k: I32 @key  name: String? }  edge E: A -> A")
    pq.write_table(pa.table({"k": [3, 4]}), tmp_path / "1.parquet")
    (tmp_path / "1.csv").write_text("k,name\n5,five\n")
    done = subprocess.run(
        [sys.executable, "-c", CLIENT, graph.uri, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.splitlines()[-2:] == ["2 1 1 5 0", "one"]
