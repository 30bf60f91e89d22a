"""Drivers that die, and an object store: nothing lost, nothing twice, nothing half visible, no secret in any plan."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import omnigraph_sql as og
from omnigraph_sql.base.seams import NoFailpoints
from omnigraph_sql.spark.loading import load
from omnigraph_sql.spark.place import place_of
from omnigraph_sql.spark.registering import register
from omnigraph_sql.spark.sessions import missing
from tests.spark.air import content
from tests.spark.conftest import KEY, SECRET

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FULL = os.environ.get("OMNI_SPARK") == "full"
SCHEMA = "node A { k: I32 @key  name: String? }  edge E: A -> A"
POINTS = ["arm.before", "arm.after", "commit.after_table", "confirm.after", "publish.before", "publish.after"]
BEFORE = {"A": [(1, "one")], "E": []}
AFTER = {"A": [(1, "one"), (2, "two")], "E": [("1", "2")]}


class Death(BaseException):
    """What no handler of the product catches."""


def made(folder: Path) -> og.Graph:
    graph = og.init(folder / "g.omni", schema=SCHEMA)
    graph.sql("INSERT INTO A (k, name) VALUES (1, 'one')")
    return graph


def rows(spark: SparkSession) -> dict[str, Any]:
    return {
        "A": spark.createDataFrame([(2, "two")], "k int, name string"),
        "E": spark.createDataFrame([(1, 2)], "src int, dst int"),
    }


@pytest.mark.parametrize("point", POINTS if FULL else ["arm.after", "commit.after_table", "publish.after"])
def test_a_driver_that_stops_anywhere_leaves_the_state_before_or_after(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    graph = made(tmp_path)

    def hit(_: NoFailpoints, name: str) -> None:
        if name == point:
            raise Death

    with monkeypatch.context() as patch:
        patch.setattr(NoFailpoints, "hit", hit)
        with pytest.raises(Death):
            load(spark, graph.uri, rows(spark), mode="append")
    healed = og.open(graph.uri)
    seen = content(healed)
    assert seen in (BEFORE, AFTER)
    if seen == BEFORE:
        load(spark, graph.uri, rows(spark), mode="append")
    assert content(og.open(graph.uri)) == AFTER


KILLED = """
import os, signal, sys
from omnigraph_sql.base.seams import NoFailpoints
from omnigraph_sql.spark import load, session
uri, point = sys.argv[1:]
def hit(self, name):
    if name == point:
        os.kill(os.getpid(), signal.SIGKILL)
with session("local[1]") as spark:
    nodes = spark.createDataFrame([(2, "two")], "k int, name string")
    rows = {"A": nodes, "E": spark.createDataFrame([(1, 2)], "src int, dst int")}
    NoFailpoints.hit = hit
    load(spark, uri, rows, mode="append")
"""


@pytest.mark.skipif(not FULL, reason="the full run kills drivers")
@pytest.mark.parametrize("point", POINTS)
def test_a_driver_that_is_killed_leaves_the_state_before_or_after(tmp_path: Path, point: str) -> None:
    if missing() is not None:
        pytest.skip(str(missing()))
    graph = made(tmp_path)
    done = subprocess.run([sys.executable, "-c", KILLED, graph.uri, point], capture_output=True, check=False)
    assert done.returncode == -9, done.stderr.decode()
    healed = og.open(graph.uri)
    seen = content(healed)
    assert seen in (BEFORE, AFTER)
    if seen == BEFORE:
        with healed.transaction() as again:
            again.sql("INSERT INTO A (k, name) VALUES (2, 'two')")
            again.sql("INSERT INTO E (src, dst) VALUES ('1', '2')")
    assert content(og.open(graph.uri)) == AFTER


STREAM = """
import sys
from omnigraph_sql.spark import session, use_source
uri, source, checkpoint = sys.argv[1:]
with session("local[1]") as spark:
    use_source(spark)
    rows = spark.readStream.schema("k int, name string").json(source)
    sink = rows.writeStream.format("omnigraph").options(graph=uri, type="A", app="nightly")
    sink.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()
"""
KILLS = """
import os, signal
from pathlib import Path
from omnigraph_sql.base.seams import NoFailpoints

def hit(self, name):
    mark = Path(os.environ["KILLED"])
    if name == "publish.after" and not mark.exists():
        mark.touch()
        above = os.getpid()
        while Path(f"/proc/{above}/comm").read_text().strip() != "java":
            above = int(Path(f"/proc/{above}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(above, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)

NoFailpoints.hit = hit
"""


@pytest.mark.skipif(not FULL, reason="the full run kills drivers")
def test_a_stream_killed_between_publishing_and_its_checkpoint_goes_on_without_doubles(tmp_path: Path) -> None:
    if missing() is not None:
        pytest.skip(str(missing()))
    graph = made(tmp_path)
    source, hooks, mark = tmp_path / "in", tmp_path / "hooks", tmp_path / "killed"
    source.mkdir()
    hooks.mkdir()
    (hooks / "sitecustomize.py").write_text(KILLS)
    (source / "1.json").write_text('{"k": 2, "name": "two"}\n')
    command = [sys.executable, "-c", STREAM, graph.uri, str(source), str(tmp_path / "checkpoint")]
    env = {**os.environ, "PYTHONPATH": str(hooks), "KILLED": str(mark)}
    first = subprocess.run(command, capture_output=True, check=False, env=env)
    assert mark.exists(), first.stderr.decode()
    assert first.returncode != 0
    assert not (tmp_path / "checkpoint" / "commits" / "0").exists()
    again = subprocess.run(command, capture_output=True, check=False)
    assert again.returncode == 0, again.stderr.decode()
    assert (tmp_path / "checkpoint" / "commits" / "0").exists()
    seen = og.open(graph.uri)
    assert content(seen)["A"] == AFTER["A"]
    assert len(seen.commits()) == 3


def test_a_graph_on_an_object_store_is_loaded_and_read_without_a_secret_in_a_plan(
    spark: SparkSession, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.serializers import CloudPickleSerializer

    closures: list[bytes] = []
    pickled: Any = CloudPickleSerializer.dumps

    def kept(self: Any, what: Any) -> bytes:
        closures.append(pickled(self, what))
        return closures[-1]

    monkeypatch.setattr(CloudPickleSerializer, "dumps", kept)
    uri = "s3://graphs/spark/g.omni"
    graph = og.init(uri, schema=SCHEMA, storage_options=options)
    graph.sql("INSERT INTO A (k, name) VALUES (1, 'one')")
    load(spark, uri, rows(spark), mode="append", storage_options=options)
    assert content(graph) == AFTER
    load(
        spark,
        uri,
        {"A": spark.createDataFrame([(2, "TWO")], "k int, name string")},
        mode="merge",
        storage_options=options,
    )
    known = register(spark, uri, prefix="far_", storage_options=options)
    frame = spark.sql("SELECT name, far_og_degree('E', id) AS d FROM far_A ORDER BY k")
    assert [tuple(row) for row in frame.collect()] == [("one", 1), ("TWO", 0)]
    shown = frame._jdf.queryExecution().toString()
    travelling = pickle.dumps(known.place) + repr(place_of(spark, uri, "main", options)).encode()
    assert len(closures) > 5
    assert place_of(spark, uri, "main", options).secrets == known.place.secrets, "they are handed over once"
    other = {**options, "aws_secret_access_key": "another"}
    assert place_of(spark, uri, "main", other).secrets != known.place.secrets
    for secret in (KEY, SECRET):
        assert secret not in shown
        assert secret.encode() not in travelling
        assert not any(secret.encode() in closure for closure in closures)
