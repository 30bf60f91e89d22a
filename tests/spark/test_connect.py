"""The same through Spark Connect, where the client is not the driver."""

from __future__ import annotations

import json
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
import json, os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
from pyspark.sql import SparkSession
from omnigraph_sql.spark import credentials, load, register
uri, folder = sys.argv[1:]
options = json.load(sys.stdin)
spark = (
    SparkSession.builder.remote("local[2]").config("spark.connect.grpc.binding.address", "127.0.0.1")
    .config("spark.ui.enabled", "false").config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.driver.host", "127.0.0.1").config("spark.sql.shuffle.partitions", "2").getOrCreate()
)
told, stages = {}, []
try:
    rows = spark.createDataFrame([(1, "one"), (2, "two"), (2, "again")], "k int, name string")
    given = {"mode": "append", "storage_options": options, "progress": lambda at: stages.append(at.stage)}
    told["refused"] = load(spark, uri, {"A": rows}, on_error="skip", **given).rows_refused
    told["files"] = [load(spark, uri, {"A": f"{folder}/*.{form}"}, **given).rows_read for form in ("parquet", "csv")]
    told["stages"] = sorted(set(stages))
    register(spark, uri, storage_options=options)
    access = {"graph": uri, **({"credentials": credentials(spark, options)} if options else {})}
    links = spark.createDataFrame([("1", "2"), ("2", "3")], "src string, dst string")
    links.write.format("omnigraph").options(type="E", **access).mode("append").save()
    told["pinned"] = list(spark.sql("SELECT count(*), sum(og_degree('E', id)) FROM A").first())
    register(spark, uri, storage_options=options)
    told["now"] = list(spark.sql("SELECT count(*), sum(og_degree('E', id)), sum(og_reach('E', id, 2)) FROM A").first())
    told["gq"] = list(spark.sql("SELECT * FROM gq('match { $a: A { k: 1 } } return { $a.name as name }')").first())
    asked = "match { $a: A  $a e $b } return { $a.k as a, $b.k as b }"
    found = spark.read.format("omnigraph").options(query=asked, **access).load().collect()
    told["query"] = sorted(list(row) for row in found)
    print(json.dumps(told))
finally:
    spark.stop()
"""


@pytest.mark.parametrize("far", [False, True])
def test_a_graph_is_loaded_and_asked_through_connect(tmp_path: Path, options: dict[str, str], far: bool) -> None:
    if missing() is not None:
        pytest.skip(str(missing()))
    uri, given = ("s3://graphs/connect/g.omni", options) if far else (str(tmp_path / "g.omni"), {})
    og.init(uri, schema="node A { k: I32 @key  name: String? }  edge E: A -> A", storage_options=given or None)
    pq.write_table(pa.table({"k": [3, 4]}), tmp_path / "1.parquet")
    (tmp_path / "1.csv").write_text("k,name\n5,five\n")
    done = subprocess.run(
        [sys.executable, "-c", CLIENT, uri, str(tmp_path)],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "refused": 1,
        "files": [2, 1],
        "stages": ["checking", "publishing", "reading and writing"],
        "pinned": [5, 0],
        "now": [5, 2, 3],
        "gq": ["one"],
        "query": [[1, 2], [2, 3]],
    }
