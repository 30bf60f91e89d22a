"""The commands that show, export and ask, and the options they share."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Command, Outcome

ROWS = (
    "INSERT INTO Airport (code, city) VALUES ('LIM', 'Lima'), ('CUZ', 'Cusco'); "
    "INSERT INTO Route (src, dst, miles) VALUES ('LIM', 'CUZ', 363)"
)


@pytest.fixture
def air(ogsql: Command) -> Command:
    """The command, in a folder with a graph air.omni of two commits."""
    assert ogsql("init", "air.omni", "--schema", "air.pg").code == 0
    assert ogsql("air.omni", "-c", ROWS, "--actor", "ana").code == 0
    return ogsql


def lines(found: Outcome) -> list[dict[str, object]]:
    assert found.code == 0, found.err
    return [json.loads(line) for line in found.out.splitlines()]


def test_an_export_is_loaded_into_an_equal_graph(air: Command, folder: Path) -> None:
    told = air("export", "air.omni", "air.jsonl")
    assert (told.code, told.out) == (0, "")
    assert "3 rows" in told.err
    assert air("export", "air.omni").out == (folder / "air.jsonl").read_text()
    assert air("export", "air.omni", "one.jsonl", "--type", "Airport", "-q").err == ""
    assert len((folder / "one.jsonl").read_text().splitlines()) == 2
    assert air("init", "copy.omni", "--schema", "air.pg").code == 0
    assert air("load", "copy.omni", "air.jsonl", "--mode", "append").code == 0
    assert air("export", "copy.omni").out == (folder / "air.jsonl").read_text()
    assert air("export", "air.omni", "--type", "Nothing").code == 1


def test_commits_and_branches_are_listed(air: Command) -> None:
    (newest, first) = lines(air("commit", "list", "air.omni", "--format", "jsonl"))
    assert (newest["actor"], newest["parents"], first["parents"]) == ("ana", first["commit"], "")
    assert len(lines(air("commit", "list", "air.omni", "--limit", "1", "--format", "jsonl"))) == 1
    (shown,) = lines(air("commit", "show", "air.omni", str(newest["commit"]), "--format", "jsonl"))
    assert "node:Airport 2" in str(shown["rows"])
    missing = air("commit", "show", "air.omni", "nothing")
    assert (missing.code, "commit list" in missing.err) == (2, True)
    assert air("branch", "create", "air.omni", "review/x").code == 0
    names = [row["branch"] for row in lines(air("branch", "list", "air.omni", "--format", "jsonl"))]
    assert names == ["main", "review/x"]
    assert air("branch", "create", "air.omni", "../x").code == 1


def test_the_schema_is_shown_as_it_is_and_as_it_was(air: Command) -> None:
    before = air("schema", "show", "air.omni").out
    assert "node Airport" in before
    assert air("air.omni", "-c", "CREATE TABLE Plane (tail TEXT PRIMARY KEY)").code == 0
    assert "node Plane" in air("schema", "show", "air.omni").out
    assert air("schema", "show", "air.omni", "--at", "2").out == before


def test_a_query_of_a_file_is_run_by_its_name(air: Command) -> None:
    found = air("query", "air.omni", "air.gq", "reachable", "--param", "from=LIM", "--format", "jsonl")
    assert lines(found) == [{"b.code": "CUZ", "b.city": "Cusco"}]
    assert air("query", "air.omni", "air.gq", "nothing").code == 1


def test_texts_run_in_the_order_they_are_given(air: Command, folder: Path) -> None:
    (folder / "two.sql").write_text("SELECT 2 AS n")
    asked = ("-c", "SELECT 1 AS n", "-f", "two.sql", "--command=SELECT 3 AS n", "--file", "two.sql")
    found = air("air.omni", *asked, "--format", "jsonl")
    assert [row["n"] for row in lines(found)] == [1, 2, 3, 2]


def test_on_error_continue_goes_on_and_keeps_the_first_exit_code(air: Command) -> None:
    texts = ("-c", "SELECT nothing", "-c", "SELECT 1 AS n", "-c", "INSERT INTO Airport VALUES ('LIM', 'x', 1)")
    stopped = air("air.omni", *texts, "--format", "jsonl")
    assert (stopped.code, stopped.out) == (1, "")
    went_on = air("air.omni", *texts, "--format", "jsonl", "--on-error", "continue")
    assert (went_on.code, went_on.out) == (1, '{"n": 1}\n')
    assert went_on.err.count("error[") == 2


def test_limit_and_timeout(air: Command) -> None:
    many = "SELECT n FROM generate_series(1, 100000) AS s(n)"
    assert len(lines(air("air.omni", "-c", many, "--limit", "3", "--format", "jsonl"))) == 3
    assert air("air.omni", "-c", many, "--limit", "0", "--format", "jsonl").out == ""
    endless = (
        "SELECT count(*) FROM generate_series(1, 3000000) AS a(x), generate_series(1, 3000000) AS b(y) WHERE x <> y"
    )
    late = air("air.omni", "-c", endless, "--timeout", "0.3")
    assert late.code == 4, late.err
    assert "longer than 0.3 s" in late.err


def test_a_past_state_is_read_and_not_changed(air: Command) -> None:
    count = "SELECT count(*) AS n FROM Airport"
    assert lines(air("air.omni", "-c", count, "--at", "1", "--format", "jsonl")) == [{"n": 0}]
    assert air("air.omni", "-c", "DELETE FROM Route", "--at", "1").code == 1
    assert air("air.omni", "-c", count, "--at", "99").code == 1


def test_bytes_go_to_a_file_or_a_pipe(air: Command, folder: Path) -> None:
    ask = ("air.omni", "-c", "SELECT code FROM Airport ORDER BY code")
    assert air(*ask, "--format", "parquet", "-o", "a.parquet").code == 0
    assert pq.read_table(folder / "a.parquet")["code"].to_pylist() == ["CUZ", "LIM"]
    command = [sys.executable, "-m", "omnigraph_sql", *ask, "--format", "arrow"]
    out = subprocess.run(command, capture_output=True, check=True, cwd=folder).stdout
    assert pa.ipc.open_file(io.BytesIO(out)).read_all()["code"].to_pylist() == ["CUZ", "LIM"]


def test_a_script_with_commands_still_commits_its_changes_together(air: Command) -> None:
    before = len(lines(air("commit", "list", "air.omni", "--format", "jsonl")))
    script = (
        "SET actor = 'bob'; INSERT INTO Airport VALUES ('A', 'a', 1); INSERT INTO Airport VALUES ('B', 'b', 1);"
        "CREATE TABLE t (a INT); INSERT INTO t VALUES (1); SELECT a FROM t"
    )
    found = air("air.omni", "-c", script, "--format", "jsonl")
    assert found.code == 0, found.err
    commits = lines(air("commit", "list", "air.omni", "--format", "jsonl"))
    assert len(commits) == before + 3
    assert {row["actor"] for row in commits[:3]} == {"bob"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_its_completion_script(ogsql: Command, shell: str) -> None:
    found = ogsql("completion", shell)
    assert (found.code, "_OGSQL_COMPLETE" in found.out) == (0, True)


@pytest.mark.parametrize("command", ["query", "export", "commit", "branch", "schema", "completion", "load", "init"])
def test_every_command_shows_examples(ogsql: Command, command: str) -> None:
    found = ogsql(command, "--help")
    assert (found.code, "Example" in found.out) == (0, True)


def test_a_view_is_used_by_a_later_text(air: Command) -> None:
    texts = ("-c", "CREATE VIEW cities AS SELECT city FROM Airport", "-c", "SELECT count(*) AS n FROM cities")
    assert lines(air("air.omni", *texts, "--format", "jsonl")) == [{"n": 2}]
