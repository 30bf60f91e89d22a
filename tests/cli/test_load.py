"""`ogsql load`: files become one commit, or nothing; a terminal is told how far it is."""

import io
import json
import re
from pathlib import Path

import pytest

from omnigraph_sql.cli.pipeline import StageMeter
from omnigraph_sql.cli.progress import Meter
from omnigraph_sql.engine.load.report import Phase, Progress
from omnigraph_sql.spark import sessions
from omnigraph_sql.spark.progress import StageProgress
from tests.cli.conftest import Command

LINES = """{"type": "Airport", "data": {"code": "AQP", "city": "Arequipa"}}
{"edge": "Route", "from": "LIM", "to": "AQP", "data": {"miles": 475}}
"""


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    (folder / "more.jsonl").write_text(LINES)
    (folder / "airports.csv").write_text("code,city\nLIM,Lima la Gris\nTRU,Trujillo\n")
    (folder / "unknown.csv").write_text("code,citty\nTRU,Trujillo\n")
    (folder / "bad.jsonl").write_text(LINES + '{"type": "Airport", "data": {"code": "TRU"}}\n')


def codes(ogsql: Command, graph: str) -> list[str]:
    rows = json.loads(ogsql(graph, "-c", "SELECT code FROM Airport ORDER BY code", "--format", "json").out)
    return [row["code"] for row in rows]


def test_files_are_loaded_as_one_commit_and_nothing_goes_to_stdout(ogsql: Command, air: str) -> None:
    before = json.loads(ogsql("stats", air, "--format", "json").out)["manifest_version"]
    done = ogsql("load", air, "more.jsonl", "--mode", "append", "--actor", "ana")
    assert (done.code, done.out) == (0, "")
    assert re.fullmatch(r"loaded edge:Route 1 row, node:Airport 1 row, commit [0-9A-Z]{26}\n", done.err)
    assert json.loads(ogsql("stats", air, "--format", "json").out)["manifest_version"] == before + 1
    assert codes(ogsql, air) == ["AQP", "CUZ", "LIM"]


def test_append_refuses_a_key_that_exists_and_merge_replaces_it(ogsql: Command, air: str) -> None:
    arguments = ("load", air, "airports.csv", "--type", "Airport", "--mode")
    refused = ogsql(*arguments, "append")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith("error[key_conflict]: ")
    assert codes(ogsql, air) == ["CUZ", "LIM"]
    merged = ogsql(*arguments, "merge")
    assert merged.err.startswith("loaded node:Airport 2 rows in place of 1, commit ")
    assert codes(ogsql, air) == ["CUZ", "LIM", "TRU"]


def test_overwrite_replaces_the_tables_that_occur(ogsql: Command, air: str, folder: Path) -> None:
    (folder / "routes.jsonl").write_text('{"edge": "Route", "from": "CUZ", "to": "LIM", "data": {"miles": 363}}\n')
    assert ogsql("load", air, "routes.jsonl", "--mode", "overwrite").code == 0
    rows = json.loads(ogsql(air, "-c", "SELECT src, dst FROM Route", "--format", "json").out)
    assert rows == [{"src": "CUZ", "dst": "LIM"}]
    assert codes(ogsql, air) == ["CUZ", "LIM"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("bad.jsonl", "--mode", "append"), 1, ("bad.jsonl", "line 3", "city")),
        (("airports.csv", "--mode", "append"), 1, ("airports.csv", "type")),
        (("airports.csv", "--type", "Airprt", "--mode", "append"), 1, ("Airprt", "Airport")),
        (("unknown.csv", "--type", "Airport", "--mode", "append"), 1, ("unknown.csv", "citty")),
        (("air.gq", "--mode", "append"), 1, (".jsonl, .csv, .parquet",)),
        (("more.jsonl", "none.jsonl", "--mode", "append"), 2, ("there is no file 'none.jsonl'",)),
        ((".", "--mode", "append"), 2, ("'.' is a directory",)),
    ],
)
def test_a_load_that_is_refused_says_where_and_changes_nothing(
    ogsql: Command, air: str, arguments: tuple[str, ...], code: int, words: tuple[str, ...]
) -> None:
    done = ogsql("load", air, *arguments)
    assert (done.code, done.out) == (code, "")
    assert all(word in done.err for word in words), done.err
    assert codes(ogsql, air) == ["CUZ", "LIM"]


def test_a_graph_that_is_not_there_is_not_made_by_a_load(ogsql: Command, folder: Path) -> None:
    done = ogsql("load", "nope.omni", "more.jsonl", "--mode", "append")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: there is no graph at 'nope.omni'\n  = hint: ogsql init nope.omni")
    assert not (folder / "nope.omni").exists()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_sees_one_line_that_is_gone_at_the_end() -> None:
    screen = Terminal()
    with Meter(screen) as meter:
        meter(Progress(Phase.READING, 1234567, 0, ()))
        meter(Progress(Phase.CHECKING, 1, 0, ()))
    first, second, blank, end = screen.getvalue().split("\r")[1:]
    assert (first, second.rstrip(), blank.strip(), end) == ("reading: 1 234 567 rows", "checking: 1 rows", "", "")
    assert len(second) == len(first)


def test_a_stage_of_spark_has_a_bar_once_its_tasks_are_known() -> None:
    screen = Terminal()
    with StageMeter(screen) as meter:
        for done, tasks in ((0, 0), (0, 2), (1, 2), (2, 2)):
            meter(StageProgress("checking", done, tasks))
    shown = [text.rstrip() for text in screen.getvalue().split("\r")[1:]]
    bars = [f"checking: [{'#' * full}{'.' * (24 - full)}] {done}/2 tasks" for done, full in ((0, 0), (1, 12), (2, 24))]
    assert shown == ["checking …", *bars, "", ""]


@pytest.mark.parametrize(("stream", "quiet"), [(io.StringIO(), False), (Terminal(), True), (None, False)])
def test_a_pipe_and_a_quiet_command_see_nothing(stream: io.StringIO | None, quiet: bool) -> None:
    with Meter(stream, quiet=quiet) as meter:
        meter(Progress(Phase.READING, 1, 0, ()))
    assert stream is None or stream.getvalue() == ""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("ai.omni", "a.csv", "--type", "Airport"),
            "no graph at 'ai.omni'\n  = hint: did you mean 'air.omni'?",
        ),
        (("air.omni", "a.cvs", "--type", "Airport"), "there is no file 'a.cvs'\n  = hint: did you mean 'a.csv'?"),
        (("air.omni", "*.csv"), "*.csv: the rows need a type"),
        (
            ("air.omni", "a.csv", "--type", "Airprt"),
            "there is no type 'Airprt'\n  = hint: the schema has Airport",
        ),
        (("air.omni", "a.csv", "--type", "Airport", "--branch", "x"), "there is no branch x"),
    ],
)
def test_a_load_on_spark_that_cannot_be_is_refused_before_spark_starts(
    ogsql: Command, folder: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], told: str
) -> None:
    def begun(*_: object, **__: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(sessions, "_made", begun)
    monkeypatch.setattr(sessions, "missing", lambda: None)
    assert ogsql("init", "air.omni", "--schema", "air.pg").code == 0
    (folder / "a.csv").write_text("code,city\n")
    done = ogsql("load", *words, "--mode", "append", "--engine", "spark")
    assert done.code in (1, 2)
    assert told in done.err
