"""A standalone cluster of two workers that share neither environment nor path with the driver, but the file system."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import omnigraph_sql as og
from omnigraph_sql.spark.sessions import missing
from tests.spark.air import content
from tests.spark.conftest import KEY, SECRET

FULL = os.environ.get("OMNI_SPARK") == "full"
ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(not FULL, reason="the full run starts a cluster")

DRIVER = """
import json, os, sys
from omnigraph_sql.spark import load, register, session
uri, master, python, folder = sys.argv[1:]
os.environ["ONLY_HERE"] = "driver"
settings = {
    "spark.pyspark.python": python, "spark.pyspark.driver.python": sys.executable, "spark.executor.memory": "700m",
    "spark.speculation": "true", "spark.speculation.multiplier": "1.2", "spark.speculation.quantile": "0.5",
    "spark.speculation.interval": "100ms", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "4", "spark.cores.max": "2",
}

def slow(batches):
    import os, sys, time
    import omnigraph_sql
    from pyspark import TaskContext
    assert "ONLY_HERE" not in os.environ
    assert os.path.dirname(sys.executable) == os.path.dirname(python), sys.executable
    assert omnigraph_sql.__file__.startswith(os.path.dirname(os.path.dirname(python))), omnigraph_sql.__file__
    context = TaskContext.get()
    where = os.path.join(folder, f"seen-{context.partitionId()}-{context.attemptNumber()}")
    open(where, "w").close()
    if context.partitionId() == 3 and context.attemptNumber() == 0:
        # Until there is a duplicate, and a little longer, so that both of them write what they have.
        while not os.path.exists(os.path.join(folder, "seen-3-1")):
            time.sleep(0.05)
        time.sleep(1)
    yield from batches

def dying(batches):
    import os, signal
    from pathlib import Path
    from pyspark import TaskContext
    context = TaskContext.get()
    for batch in batches:
        yield batch.slice(0, 1)
        if context.partitionId() == 1 and context.attemptNumber() == 0:
            # Above the worker is the process that forks workers, and above that the executor.
            executor = int(Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1])
            assert Path(f"/proc/{executor}/comm").read_text().strip() == "java"
            open(os.path.join(folder, "executor-killed"), "w").close()
            os.kill(executor, signal.SIGKILL)
            signal.pause()
        yield batch.slice(1)

with session(master, **settings) as spark:
    some = spark.range(0, 1000, numPartitions=4).selectExpr("CAST(id AS INT) AS k", "'n' AS name")
    load(spark, uri, {"A": some.mapInArrow(slow, "k int, name string")}, mode="append")
    more = spark.range(1000, 2000, numPartitions=4).selectExpr("CAST(id AS INT) AS k", "'n' AS name")
    links = spark.range(0, 1999).selectExpr("CAST(id AS STRING) AS src", "CAST(id + 1 AS STRING) AS dst")
    load(spark, uri, {"A": more.mapInArrow(dying, "k int, name string"), "E": links}, mode="append")
    register(spark, uri)
    found = spark.sql("SELECT count(*), sum(og_degree('E', id)) FROM A").first()
    asked = spark.sql("SELECT count(*) FROM gq('match { $a: A  $a e $b } return { $a.k as a }')").first()
    print(json.dumps([*found, *asked]))
"""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture(scope="module")
def workers_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter of its own with the package as it is shipped; other libraries are shared to save time."""
    folder = tmp_path_factory.mktemp("workers")
    shutil.copytree(
        ROOT, folder / "tree", ignore=shutil.ignore_patterns(".venv", ".git", "*cache*", "build", "dist"), symlinks=True
    )
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder / "dist", folder / "tree"],
        check=True,
        capture_output=True,
    )
    subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
    python = folder / "env" / "bin" / "python"
    (wheel,) = (folder / "dist").glob("*.whl")
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", "--no-index", wheel], check=True)
    site = next((folder / "env" / "lib").glob("python*/site-packages"))
    (site / "shared.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return python


@pytest.fixture(scope="module")
def master(workers_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if missing() is not None:
        pytest.skip(str(missing()))
    import pyspark

    folder = tmp_path_factory.mktemp("cluster")
    home, port = Path(pyspark.__file__).parent, free_port()
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYSPARK", "SPARK", "OMNI"))}
    env |= {"SPARK_HOME": str(home), "SPARK_DAEMON_MEMORY": "400m", "PYSPARK_PYTHON": str(workers_python)}
    started: list[subprocess.Popen[bytes]] = []

    def start(host: str, *words: str) -> None:
        own = {**env, "SPARK_LOCAL_IP": host, "SPARK_WORKER_DIR": str(folder / f"work-{host}")}
        command = [str(home / "bin" / "spark-class"), *words]
        with (folder / f"{host}-{len(started)}.log").open("wb") as log:
            started.append(
                subprocess.Popen(command, env=own, stdout=log, stderr=log, start_new_session=True, cwd=folder)
            )

    try:
        start(
            "127.0.0.1",
            "org.apache.spark.deploy.master.Master",
            *f"--host 127.0.0.1 --port {port} --webui-port 0".split(),
        )
        waited(lambda: reachable(port))
        for host in ("127.0.0.2", "127.0.0.3"):
            words = f"--host {host} --cores 1 --memory 900m --webui-port 0 spark://127.0.0.1:{port}".split()
            start(host, "org.apache.spark.deploy.worker.Worker", *words)
        yield f"spark://127.0.0.1:{port}"
    finally:
        for process in started:
            os.killpg(process.pid, signal.SIGTERM)
        for process in started:
            process.wait(30)


def reachable(port: int) -> bool:
    with socket.socket() as found:
        return found.connect_ex(("127.0.0.1", port)) == 0


def waited(ready: object) -> None:
    assert callable(ready)
    for _ in range(600):
        if ready():
            return
        time.sleep(0.1)
    raise AssertionError("the master did not come up")


def test_a_cluster_loads_and_asks_through_duplicates_and_deaths(
    master: str, workers_python: Path, tmp_path: Path
) -> None:
    graph = og.init(tmp_path / "g.omni", schema="node A { k: I32 @key  name: String? }  edge E: A -> A")
    marks = tmp_path / "marks"
    marks.mkdir()
    command = [sys.executable, "-c", DRIVER, graph.uri, master, str(workers_python), str(marks)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.strip().splitlines()[-1] == "[2000, 1999, 1999]"
    seen = {p.name for p in marks.iterdir()}
    assert {"seen-3-0", "seen-3-1"} <= seen, "no task ran twice"
    assert "executor-killed" in seen
    rows = content(graph)
    assert [row[0] for row in sorted(rows["A"], key=lambda row: int(str(row[0])))] == list(range(2000))
    assert len(rows["E"]) == 1999


FAR = """
import json, sys
from omnigraph_sql.spark import load, register, session
uri, master, python, events = sys.argv[1:]
options = json.load(sys.stdin)
settings = {
    "spark.pyspark.python": python, "spark.pyspark.driver.python": sys.executable, "spark.executor.memory": "700m",
    "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.sql.shuffle.partitions": "2",
    "spark.cores.max": "2", "spark.eventLog.enabled": "true", "spark.eventLog.compress": "false",
    "spark.eventLog.dir": events,
}
with session(master, **settings) as spark:
    nodes = spark.range(0, 1000, numPartitions=4).selectExpr("CAST(id AS INT) AS k", "'n' AS name")
    links = spark.range(0, 999).selectExpr("CAST(id AS STRING) AS src", "CAST(id + 1 AS STRING) AS dst")
    load(spark, uri, {"A": nodes, "E": links}, mode="append", storage_options=options)
    again = load(spark, uri, {"A": nodes}, mode="merge", storage_options=options)
    register(spark, uri, storage_options=options)
    found = spark.sql("SELECT count(*), sum(og_degree('E', id)) FROM A").first()
    asked = spark.sql("SELECT count(*) FROM gq('match { $a: A  $a e $b } return { $a.k as a }')").first()
    print(json.dumps([*found, *asked, again.commit_id]))
"""


def test_a_cluster_works_on_an_object_store_and_no_log_has_a_secret(
    master: str, workers_python: Path, tmp_path: Path, options: dict[str, str]
) -> None:
    uri = "s3://graphs/cluster/g.omni"
    graph = og.init(uri, schema="node A { k: I32 @key  name: String? }  edge E: A -> A", storage_options=options)
    events = tmp_path / "events"
    events.mkdir()
    command = [sys.executable, "-c", FAR, uri, master, str(workers_python), f"file://{events}"]
    done = subprocess.run(
        command, input=json.dumps(options), capture_output=True, text=True, check=False, timeout=900, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert json.loads(done.stdout.strip().splitlines()[-1]) == [1000, 999, 999, None]
    assert len(content(graph)["E"]) == 999
    logs = [path.read_text(errors="replace") for path in events.rglob("*") if path.is_file()]
    logs += [path.read_text(errors="replace") for path in tmp_path.parent.rglob("std*") if path.is_file()]
    assert any("SparkListenerJobEnd" in text for text in logs)
    for secret in (KEY, SECRET):
        assert not any(secret in text for text in (*logs, done.stdout, done.stderr))


EVERY_DOOR = """
import json, sys
from pathlib import Path
from omnigraph_sql.spark import load, register, session, use_source
from omnigraph_sql.spark.pipeline import run
from omnigraph_sql.spark.pipeline_file import read_pipeline
uri, master, python, folder = sys.argv[1:]
settings = {
    "spark.pyspark.python": python, "spark.pyspark.driver.python": sys.executable, "spark.executor.memory": "700m",
    "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.sql.shuffle.partitions": "2",
    "spark.cores.max": "2",
}
told = {}
with session(master, **settings) as spark:
    use_source(spark)
    done = run(spark, read_pipeline(Path(folder) / "p.toml"))
    told["pipeline"] = [[t.table, t.read, t.refused, t.written] for t in done.tables]
    told["quarantine"] = sorted([r["row"], r["rule"]] for r in spark.read.parquet(f"{folder}/refused").collect())
    began = done.commit_id

    rows = spark.createDataFrame([(10, "ten"), (11, "eleven")], "k int, name string")
    rows.write.format("omnigraph").option("graph", uri).option("type", "A").mode("append").save()
    later = spark.createDataFrame([(10, "TEN"), (12, "twelve")], "k int, name string")
    told["merged"] = [[t.written, t.replaced] for t in load(spark, uri, {"A": later}, mode="merge").tables]
    more = load(spark, uri, {"A": f"{folder}/parquet/*.parquet"}, mode="merge")
    told["files"] = [[t.read, t.written] for t in more.tables]
    links = spark.createDataFrame([("1", "10"), ("10", "11"), ("11", "12")], "src string, dst string")
    told["overwritten"] = load(spark, uri, {"E": links}, mode="overwrite").tables[0].total

    arriving = Path(folder) / "arriving"
    arriving.mkdir()
    def stream():
        lines = spark.readStream.schema("k int, name string").json(str(arriving))
        sink = lines.writeStream.format("omnigraph").option("graph", uri).option("type", "A").option("app", "arrivals")
        sink.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True).start().awaitTermination()
    for number in (20, 21):
        (arriving / f"{number}.json").write_text(json.dumps({"k": number, "name": "came"}))
        stream()
    stream()

    def read(**options):
        return spark.read.format("omnigraph").options(graph=uri, **options).load()
    told["filter"] = [list(r) for r in read(type="A", filter="k = 10", columns="name").collect()]
    told["past"] = read(type="A", version=began).count()
    asked = read(query="match { $a: A  $a e $b } return { $a.k as a, $b.k as b }")
    told["query"] = sorted(list(r) for r in asked.collect())

    register(spark, uri)
    functions = "og_neighbors('E', id, 2), og_reach('E', id, 3), og_degree('E', id), og_lookup('A', id, 'name')"
    told["functions"] = [list(r) for r in spark.sql(f"SELECT {functions} FROM A WHERE k = 1").collect()]
    told["rows"] = spark.sql("SELECT count(*) FROM A").first()[0]
    told["gq"] = spark.sql("SELECT count(*) FROM gq('match { $a: A  $a e $b } return { $b.k as b }')").first()[0]
print(json.dumps(told))
"""

FEEDS = """
graph = "g.omni"
mode = "append"
on_error = "skip"
quarantine = "refused"

[[source]]
name = "people"
format = "csv"
path = "in/*.csv"
options = { header = true }
type = "A"

[source.columns]
k = "k"
name = "upper(name)"

[[source]]
name = "links"
format = "json"
path = "links.jsonl"
type = "E"

[source.columns]
src = "a"
dst = "b"
"""


def test_every_door_works_on_a_cluster(master: str, workers_python: Path, tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g.omni", schema="node A { k: I32 @key  name: String? }  edge E: A -> A")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text("k,name\n1,one\n2,two\nx,none\n")
    (tmp_path / "in" / "2.csv").write_text("k,name\n3,three\n")
    (tmp_path / "parquet").mkdir()
    pq.write_table(pa.table({"k": pa.array([13], pa.uint32())}), tmp_path / "parquet" / "1.parquet")
    pq.write_table(pa.table({"name": ["14", "15"], "k": [14, 15]}), tmp_path / "parquet" / "2.parquet")
    (tmp_path / "links.jsonl").write_text('{"a": 1, "b": 2}\n{"a": 1, "b": 9}\n')
    (tmp_path / "p.toml").write_text(FEEDS)
    command = [sys.executable, "-c", EVERY_DOOR, graph.uri, master, str(workers_python), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-4000:]
    assert json.loads(done.stdout.strip().splitlines()[-1]) == {
        "pipeline": [["edge:E", 2, 1, 1], ["node:A", 4, 1, 3]],
        "quarantine": [[2, "endpoint"], [3, "data"]],
        "merged": [[2, 1]],
        "files": [[3, 3]],
        "overwritten": 3,
        "filter": [["TEN"]],
        "past": 3,
        "query": [[1, 10], [10, 11], [11, 12]],
        "functions": [[["10", "11"], 3, 1, "ONE"]],
        "rows": 11,
        "gq": 3,
    }
    kept = graph.sql("SELECT k, name FROM A ORDER BY k").fetchall()
    assert kept[-2:] == [(20, "came"), (21, "came")]
    assert [commit.parent for commit in graph.commits()][:-1] == [commit.id for commit in graph.commits()][1:]


SCRIPT = """
import sys
from pyspark.sql import SparkSession
from omnigraph_sql.spark import load, register
uri = sys.argv[1]
spark = SparkSession.builder.getOrCreate()

def where(batches):
    import os
    import omnigraph_sql
    assert "/environment/" in omnigraph_sql.__file__, omnigraph_sql.__file__
    yield from batches

rows = spark.range(0, 10, numPartitions=2).selectExpr("CAST(id AS INT) AS k").mapInArrow(where, "k int")
load(spark, uri, {"A": rows}, mode="append")
register(spark, uri)
assert spark.sql("SELECT sum(og_degree('E', id)) FROM A").first()[0] == 0
spark.stop()
"""


def test_a_script_goes_through_spark_submit_with_its_environment(
    master: str, workers_python: Path, tmp_path: Path
) -> None:
    import pyspark

    graph = og.init(tmp_path / "g.omni", schema="node A { k: I32 @key  name: String? }  edge E: A -> A")
    (tmp_path / "job.py").write_text(SCRIPT)
    (tmp_path / "environment").symlink_to(workers_python.parents[1])
    subprocess.run(["tar", "-czf", tmp_path / "env.tar.gz", "-C", workers_python.parents[1], "."], check=True)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYSPARK", "SPARK", "OMNI"))}
    env |= {"PYSPARK_PYTHON": "./environment/bin/python", "SPARK_HOME": str(Path(pyspark.__file__).parent)}
    settings = ["spark.driver.host=127.0.0.1", "spark.driver.bindAddress=127.0.0.1", "spark.executor.memory=700m"]
    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-submit"), "--master", master]
    command += ["--archives", "env.tar.gz#environment", *(word for one in settings for word in ("--conf", one))]
    done = subprocess.run(
        [*command, "job.py", graph.uri], capture_output=True, text=True, check=False, timeout=900, cwd=tmp_path, env=env
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    assert graph.sql("SELECT count(*) FROM A").fetchone() == (10,)
