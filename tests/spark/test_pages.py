"""The page on Spark can be followed to the letter, in one session; and a command line without Java says so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import omnigraph_sql as og
from omnigraph_sql.base.errors import DataError, StorageError
from omnigraph_sql.cli.command import run as command
from omnigraph_sql.spark.pipeline import check, plan, run
from omnigraph_sql.spark.pipeline_file import read_pipeline
from omnigraph_sql.spark.sessions import missing, refuse_missing
from tests.docs.test_walkthrough import ON_SPARK, follow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PIPELINE = """
graph = "g.omni"
mode = "append"
on_error = "skip"

[[source]]
name = "people"
format = "csv"
path = "in/*.csv"
options = { header = true }
type = "P"
where = "skip IS NULL"

[source.columns]
k = "k"
born = "born"

[[source]]
name = "links"
format = "json"
path = "links.jsonl"
type = "Knows"

[source.columns]
src = "a"
dst = "b"
"""


@pytest.mark.usefixtures("spark")
def test_the_page_on_spark_can_be_followed_to_the_letter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert follow(ON_SPARK.read_text(encoding="utf-8"), tmp_path) >= 9


def prepared(tmp_path: Path) -> Path:
    og.init(tmp_path / "g.omni", schema="node P { k: I32 @key  born: Date? }  edge Knows: P -> P")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text("k,born,skip\n1,2001-02-03,\n2,,\n3,,yes\nx,,\n")
    (tmp_path / "in" / "2.csv").write_text("k,born,skip\n4,soon,\n1,,\n")
    (tmp_path / "links.jsonl").write_text('{"a": 1, "b": 2}\n{"a": 1, "b": 3}\n')
    path = tmp_path / "p.toml"
    path.write_text(PIPELINE)
    return path


def test_a_pipeline_refuses_rows_with_their_file_and_row(spark: SparkSession, tmp_path: Path) -> None:
    path = prepared(tmp_path)
    found = read_pipeline(path)
    assert check(found) == ["people: csv feeds node:P (append)", "links: json feeds edge:Knows (append)"]
    assert any("writes src bigint, dst bigint" in line for line in plan(spark, found))
    report = run(spark, found)
    told = sorted((str(r.file), r.row, r.rule) for r in report.refusals if r.rule != "key_conflict")
    places = [str(tmp_path / name) for name in ("in/1.csv", "in/2.csv", "links.jsonl")]
    assert told == [(places[0], 4, "data"), (places[1], 1, "data"), (places[2], 2, "endpoint")]
    assert [r.rule for r in report.refusals].count("key_conflict") == 1
    assert og.open(tmp_path / "g.omni").sql("SELECT k FROM P ORDER BY k").fetchall() == [(1,), (2,)]


def test_a_column_that_a_source_does_not_have_is_refused_with_those_it_has(spark: SparkSession, tmp_path: Path) -> None:
    path = prepared(tmp_path)
    path.write_text(PIPELINE.replace('born = "born"', 'born = "burn"'))
    with pytest.raises(DataError) as caught:
        run(spark, read_pipeline(path))
    assert caught.value.message.startswith("people: [UNRESOLVED_COLUMN")
    assert "`born`" in caught.value.message
    assert "__" not in caught.value.message


EVERYTHING = """
graph = "g.omni"
mode = "merge"

[[source]]
name = "people"
format = "parquet"
path = ["one.parquet", "two.parquet"]
type = "P"
where = "born IS NOT NULL"
distinct = ["k"]
order = "born DESC"

[source.columns]
k = "k"
born = "CAST(born AS DATE)"

[[source]]
name = "more people"
format = "orc"
path = "orc"
type = "node:P"

[source.columns]
k = "k + 100"

[[source]]
name = "links"
format = "jsonl"
path = "l*.jsonl"
options = { primitivesAsString = true }
type = "Knows"

[source.columns]
id = "concat_ws('-', a, b)"
src = "a"
dst = "b"
"""


def test_a_pipeline_reads_every_format_and_merging_again_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    path = prepared(tmp_path)
    path.write_text(EVERYTHING)
    graph = og.open(tmp_path / "g.omni")
    first = pa.table({"k": pa.array([1, 2, 1], pa.int32()), "born": ["2001-02-03", None, "2002-02-03"]})
    pq.write_table(first, tmp_path / "one.parquet")
    pq.write_table(pa.table({"k": pa.array([3], pa.int32()), "born": ["2003-02-03"]}), tmp_path / "two.parquet")
    spark.range(1, 3).selectExpr("CAST(id AS INT) AS k").write.orc(str(tmp_path / "orc"))
    (tmp_path / "links.jsonl").write_text('{"a": 1, "b": 3}\n{"a": 101, "b": 102}\n')
    seen: list[str] = []
    done = run(spark, read_pipeline(path), lambda at: seen.append(at.stage))
    assert list(dict.fromkeys(seen)) == ["reading and writing", "checking", "comparing", "publishing"]
    assert [(t.table, t.read, t.written) for t in done.tables] == [("edge:Knows", 2, 2), ("node:P", 4, 4)]
    assert graph.sql("SELECT k, born FROM P WHERE k < 100 ORDER BY k").fetchall() == [
        (1, date(2002, 2, 3)),
        (3, date(2003, 2, 3)),
    ]
    before = graph.head
    again = run(spark, read_pipeline(path))
    assert graph.head == before == done.commit_id
    assert (again.commit_id, sum(t.unchanged for t in again.tables)) == (None, 6)
    assert json.loads(again.json())["commit_id"] is None
    assert "nothing was published" in str(again)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("mode = ", "mood = "), "a pipeline has no 'mood'"),
        (('"append"', '"add"'), "there is no mode 'add'"),
        (('type = "P"', 'type = "Q"'), "people: there is no type 'Q'"),
        (('born = "born"', 'burn = "born"'), "P has no column 'burn'"),
        (('k = "k"', ""), "column 'k' is missing"),
        (('format = "csv"', 'formats = "csv"'), "people has no 'formats'"),
        (("graph =", "graph"), "p.toml:"),
        (('mode = "append"', 'mode = "append"\nbranch = 3'), "a pipeline: branch is a text, not 3"),
        (('where = "skip IS NULL"', "where = true"), "people: where is a text, not True"),
        (('where = "skip IS NULL"', 'distinct = ["k"]\norder = 1'), "people: order is a text, not 1"),
        (('name = "people"', "name = 7"), "source 1: name is a text, not 7"),
        (('"append"', '"merge"'), "links: Knows has no key, so merging would add its rows again"),
    ],
)
def test_a_pipeline_that_cannot_be_is_refused_before_spark_starts(
    tmp_path: Path, change: tuple[str, str], words: str
) -> None:
    path = prepared(tmp_path)
    path.write_text(PIPELINE.replace(*change))
    with pytest.raises(DataError) as caught:
        check(read_pipeline(path))
    assert words in caught.value.message


def test_without_java_there_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert missing() == f"Spark needs Java 17 or newer, and there is none at {tmp_path}"
    with pytest.raises(StorageError, match="Spark needs Java"):
        refuse_missing()
    path = prepared(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "omnigraph_sql", "pipeline", "run", str(path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "JAVA_HOME": str(tmp_path)},
    )
    assert "Spark needs Java 17 or newer" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode != 0


@pytest.mark.usefixtures("spark")
def test_a_refused_load_says_how_to_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = prepared(tmp_path)
    (tmp_path / "p.csv").write_text("k\n1\nx\n")
    words = ["--type", "P", "--mode", "append", "--engine", "spark"]
    assert command(["load", str(tmp_path / "g.omni"), str(tmp_path / "p.csv"), *words]) == 1
    told = capsys.readouterr().err
    assert "p.csv, line 3: P.k: 'x' is no I32" in told
    assert "--on-error skip loads the rest" in told
    path.write_text(PIPELINE.replace('on_error = "skip"', ""))
    assert command(["pipeline", "run", str(path)]) == 1
    assert 'on_error = "skip" loads the rest' in capsys.readouterr().err


def test_the_command_line_loads_through_spark(tmp_path: Path) -> None:
    if missing() is not None:
        pytest.skip(str(missing()))
    graph = og.init(tmp_path / "g.omni", schema="node P { k: I32 @key }")
    (tmp_path / "p.csv").write_text("k\n1\n2\nx\n")
    command = [sys.executable, "-m", "omnigraph_sql", "load", graph.uri, str(tmp_path / "p.csv")]
    done = subprocess.run(
        [
            *command,
            "--type",
            "P",
            "--mode",
            "append",
            "--engine",
            "spark",
            "--master",
            "local[1]",
            "--on-error",
            "skip",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "node:P: 3 read, 1 refused, 2 written, 2 in all" in done.stderr
    assert graph.sql("SELECT k FROM P ORDER BY k").fetchall() == [(1,), (2,)]
