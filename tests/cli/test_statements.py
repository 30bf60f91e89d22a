"""`ogsql GRAPH`: rows on stdout, what was changed on stderr, a verdict as exit code."""

import json
import os
import re
from pathlib import Path

import pytest

import omnigraph_sql
from tests.cli.conftest import Command

COUNT = "SELECT count(*) AS n FROM Airport"
INSERT = "INSERT INTO Airport (code, city) VALUES ('AQP', 'Arequipa')"
COMMIT = r"commit [0-9A-Z]{26}\n"


def count(ogsql: Command, graph: str) -> int:
    (row,) = json.loads(ogsql(graph, "-c", COUNT, "--format", "json").out)
    return int(row["n"])


def test_a_query_gives_its_rows_and_nothing_else(ogsql: Command, air: str) -> None:
    done = ogsql(air, "-c", "SELECT city, elevation FROM Airport ORDER BY city", "--format", "csv")
    assert (done.code, done.out, done.err) == (0, "city,elevation\nCusco,3310\nLima,34\n", "")


def test_the_query_language_is_told_from_its_first_words(ogsql: Command, air: str) -> None:
    done = ogsql(air, "-c", 'match { $a: Airport { code: "LIM" }  $a route $b } return { $b.city as city }')
    assert (done.code, done.out) == (0, "city\n-----\nCusco\n")


def test_options_may_stand_before_the_graph(ogsql: Command, air: str) -> None:
    assert ogsql("--format", "jsonl", air, "-c", "SELECT 1 AS one").out == '{"one": 1}\n'


def test_a_mutation_says_what_it_came_to_on_stderr(ogsql: Command, air: str) -> None:
    done = ogsql(air, "-c", INSERT, "--actor", "bo")
    assert (done.code, done.out) == (0, "")
    assert re.fullmatch(rf"1 node changed, {COMMIT}", done.err)
    with omnigraph_sql.open(air, read_only=True) as graph:
        newest = graph.commits()[0]
    assert (newest.actor, newest.id) == ("bo", done.err.split()[-1])


def test_returned_rows_are_data_and_counts_are_talk(ogsql: Command, air: str) -> None:
    done = ogsql(air, "-c", f"{INSERT} RETURNING city", "--format", "tsv")
    assert done.out == "city\nArequipa\n"
    assert done.err.startswith("1 node changed, commit ")
    assert ogsql(air, "--quiet", "-c", "DELETE FROM Airport WHERE code = 'AQP'").err == ""


def test_a_mutation_that_meets_no_row_says_so(ogsql: Command, air: str) -> None:
    done = ogsql(air, "-c", "UPDATE Airport SET city = 'x' WHERE code = 'ZZZ'")
    assert (done.code, done.out, done.err) == (0, "", "nothing changed\n")


def test_several_texts_run_in_order_each_as_a_commit_of_its_own(ogsql: Command, air: str) -> None:
    done = ogsql(air, "-c", INSERT, "-c", COUNT, "-c", "DELETE FROM Route", "--format", "csv")
    assert (done.code, done.out) == (0, "n\n3\n")
    assert re.fullmatch(rf"1 node changed, {COMMIT}1 edge changed, {COMMIT}", done.err)


def test_the_first_text_that_fails_ends_the_command_and_those_before_it_stand(ogsql: Command, air: str) -> None:
    done = ogsql(air, "-c", INSERT, "-c", INSERT, "-c", COUNT)
    assert (done.code, done.out) == (1, "")
    assert "error[key_conflict]" in done.err
    assert count(ogsql, air) == 3


def test_the_writes_of_one_text_commit_together_or_not_at_all(ogsql: Command, air: str) -> None:
    done = ogsql(air, "-c", f"{INSERT}; INSERT INTO Route (src, dst, miles) VALUES ('AQP', 'ZZZ', 1)")
    assert done.code == 1
    assert "error[constraint]" in done.err
    assert count(ogsql, air) == 2


def test_a_script_of_reads_shows_every_result(ogsql: Command, air: str) -> None:
    done = ogsql(air, "-c", "SELECT 1 AS a; SELECT $b AS b", "--param", "b=two", "--format", "csv")
    assert (done.code, done.out, done.err) == (0, "a\n1\nb\ntwo\n", "")


def test_a_transaction_can_be_spread_over_texts_and_sees_its_writes(ogsql: Command, air: str) -> None:
    done = ogsql(air, "-c", "BEGIN", "-c", INSERT, "-c", COUNT, "-c", "COMMIT", "--format", "csv")
    assert (done.code, done.out) == (0, "n\n3\n")
    assert re.fullmatch(rf"1 node changed, not committed yet\n1 node changed, {COMMIT}", done.err)


def test_a_transaction_within_a_text_shows_every_result(ogsql: Command, air: str) -> None:
    done = ogsql(air, stdin=f"BEGIN; {INSERT}; {COUNT}; ROLLBACK; {COUNT}".encode())
    assert (done.code, done.out) == (0, "n\n-\n3\nn\n-\n2\n")


def test_a_transaction_left_open_is_dropped_with_a_warning(ogsql: Command, air: str) -> None:
    done = ogsql(air, "-c", "BEGIN", "-c", INSERT)
    assert done.code == 1
    assert done.err.endswith("warning: the transaction was not committed, so nothing of it was kept\n")
    assert count(ogsql, air) == 2


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ("v=LIM", "LIM"),
        ('v="7"', "7"),
        ("v=NaN", "NaN"),
        ("v=a=b", "a=b"),
        ("v=", ""),
        ("v={", "{"),
    ],
)
def test_a_parameter_is_json_where_it_is_json_and_text_otherwise(
    ogsql: Command, air: str, given: str, value: str
) -> None:
    done = ogsql(air, "-c", "SELECT city FROM Airport WHERE code = $v", "--param", given)
    assert done.code == 0
    shown = ogsql(air, "-c", "query q($v: String) { insert Airport { code: $v, city: $v } }", "--param", given)
    assert shown.code == 0, shown.err
    rows = json.loads(ogsql(air, "-c", "SELECT code FROM Airport", "--format", "json").out)
    assert value in [row["code"] for row in rows]


def test_a_number_given_as_json_is_a_number(ogsql: Command, air: str) -> None:
    done = ogsql(air, "-c", "SELECT code FROM Airport WHERE elevation = :up", "--param", "up=3310", "--format", "csv")
    assert done.out == "code\nCUZ\n"


def test_a_missing_and_an_unknown_parameter_are_named(ogsql: Command, air: str) -> None:
    query = "query q($v: String) { match { $a: Airport { code: $v } } return { $a.city } }"
    missing, unknown = ogsql(air, "-c", query), ogsql(air, "-c", query, "--param", "w=1")
    assert (missing.code, unknown.code) == (1, 2)
    assert "parameter v is missing" in missing.err
    assert unknown.err.startswith("error: no statement has a parameter 'w'; there are v\n  = hint: ")
    assert "--param" in missing.err


def test_each_text_takes_the_parameters_it_has(ogsql: Command, air: str) -> None:
    given = ("--param", "a=1", "--param", "b=2", "--format", "csv")
    done = ogsql(air, "-c", "SELECT code FROM Airport WHERE elevation = $a", "-c", "SELECT $b AS b", *given)
    assert (done.code, done.out) == (0, "code\nb\n2\n")


def test_a_file_speaks_the_language_of_its_ending_and_a_name_picks_a_query(
    ogsql: Command, air: str, folder: Path
) -> None:
    done = ogsql(air, "-f", "air.gq", "--name", "reachable", "--param", "from=LIM", "--format", "csv")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[1:] == ["CUZ,Cusco"]
    several = ogsql(air, "-f", "air.gq")
    assert several.code == 1
    assert "name one of: reachable, rename" in several.err
    (folder / "bad.sql").write_text("SELECT 1;\nSELECT citty FROM Airport")
    wrong = ogsql(air, "-f", "bad.sql")
    assert (wrong.code, wrong.out) == (1, "")
    assert " --> bad.sql:2:8\n" in wrong.err


def test_rows_can_go_to_a_file_that_appears_when_it_is_complete(ogsql: Command, air: str, folder: Path) -> None:
    done = ogsql(air, "-c", "SELECT code FROM Airport ORDER BY 1", "--format", "csv", "--output", "out.csv")
    assert (done.code, done.out, (folder / "out.csv").read_text()) == (0, "", "code\nCUZ\nLIM\n")
    failed = ogsql(air, "-c", "SELECT 1 AS a", "-c", "SELECT nope", "--output", "out.csv")
    assert (failed.code, (folder / "out.csv").read_text()) == (1, "code\nCUZ\nLIM\n")
    assert not [path for path in folder.iterdir() if path.name.endswith(".part")]


def test_an_output_that_cannot_be_made_is_refused_before_anything_runs(ogsql: Command, air: str) -> None:
    done = ogsql(air, "-c", INSERT, "--output", "nowhere/out.csv")
    assert (done.code, done.err) == (2, "error: 'nowhere/out.csv' cannot be written: no such file or directory\n")
    assert count(ogsql, air) == 2


@pytest.mark.parametrize("command", [("-c", "SELECT 1"), ("-c", INSERT)])
@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ("nope.omni", "there is no graph at 'nope.omni'"),
        (".", "the folder '.' holds no graph"),
        ("air.pg", "'air.pg' is a file; a graph is a folder"),
    ],
)
def test_what_is_no_graph_is_said_to_be_none_with_the_next_move(
    ogsql: Command, graph: str, message: str, command: tuple[str, ...]
) -> None:
    for arguments in ((graph, *command), ("stats", graph), ("recover", graph), ("explain", graph, "SELECT 1")):
        done = ogsql(*arguments)
        assert (done.code, done.out) == (2, "")
        first, hint = done.err.splitlines()
        assert first == f"error: {message}"
        assert hint.startswith("  = hint: ")


def test_a_branch_that_is_not_there_is_named(ogsql: Command, air: str) -> None:
    done = ogsql(air, "--branch", "review", "-c", "SELECT 1")
    assert done.code == 2
    assert done.err.startswith("error: there is no branch review\n  = hint: ")


def test_a_branch_is_read_and_written_apart_from_the_others(ogsql: Command, air: str) -> None:
    with omnigraph_sql.open(air) as graph:
        graph.create_branch("review")
    assert ogsql(air, "--branch", "review", "-c", INSERT).code == 0
    assert count(ogsql, air) == 2
    done = ogsql(air, "--branch", "review", "-c", COUNT, "--format", "csv")
    assert done.out == "n\n3\n"


def test_read_only_refuses_every_change(ogsql: Command, air: str) -> None:
    done = ogsql(air, "--read-only", "-c", INSERT)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error[read_only]: ")
    assert "  = hint: " in done.err


def test_reading_changes_no_byte_of_the_graph(ogsql: Command, air: str, folder: Path) -> None:
    def bytes_of() -> dict[str, bytes]:
        return {str(p): p.read_bytes() for p in (folder / air).rglob("*") if p.is_file()}

    before = bytes_of()
    assert ogsql(air, "-c", COUNT).code == 0
    assert ogsql("stats", air).code == 0
    assert ogsql("recover", air, "--dry-run").code == 0
    assert bytes_of() == before


def test_a_statement_that_is_not_carried_out_yet_says_so(ogsql: Command, air: str) -> None:
    done = ogsql(air, "-c", "VACUUM")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error[not_supported]: ")


def test_an_empty_text_does_nothing(ogsql: Command, air: str) -> None:
    done = ogsql(air, stdin=b"  -- nothing\n")
    assert (done.code, done.out, done.err) == (0, "", "")


def test_a_commit_is_brought_to_the_disk_when_that_is_asked_for(
    ogsql: Command, air: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    real = os.fsync

    def fsync(handle: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{handle}"))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    assert ogsql(air, "-c", INSERT).code == 0
    assert not [path for path in synced if path.endswith(".lance")]
    assert ogsql(air, "--durability", "fsync", "-c", "DELETE FROM Route").code == 0
    assert [path for path in synced if path.endswith(".lance")]


EMBED = """
def embed(texts):
    return [[0.0, float(len(text))] for text in texts]

broken = 5
"""
NEAREST = "SELECT k FROM nearest(F, 'v', 'long text', k => 1)"


@pytest.fixture
def vectors(folder: Path, ogsql: Command) -> str:
    (folder / "f.pg").write_text("node F { k: String @key  v: Vector(2)? }")
    (folder / "moods.py").write_text(EMBED)
    assert ogsql("init", "f.omni", "--schema", "f.pg").code == 0
    assert ogsql("f.omni", "-c", "INSERT INTO F VALUES ('far', [1.0, 0.0]), ('near', [0.0, 9.0])").code == 0
    return "f.omni"


def test_a_function_of_a_file_or_a_module_embeds_texts(
    ogsql: Command, vectors: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(folder)
    for named in ("moods.py:embed", f"{folder}/moods.py:embed", "moods:embed"):
        done = ogsql(vectors, "--embed", named, "--format", "csv", "-c", NEAREST)
        assert (done.code, done.out) == (0, "k\nnear\n"), done.err
    refused = ogsql(vectors, "-c", NEAREST)
    assert refused.code == 1
    assert "--embed" in refused.err


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("moods.py", "FILE.py:FUNCTION"),
        (":embed", "FILE.py:FUNCTION"),
        ("nope.py:embed", "there is no file 'nope.py'"),
        ("no_such_module:embed", "there is no module 'no_such_module'"),
        ("moods.py:embd", "it has embed"),
        ("moods.py:broken", "has no function 'broken'"),
        ("wrong.py:embed", "wrong.py cannot be loaded: ZeroDivisionError"),
    ],
)
def test_a_function_that_cannot_be_had_is_a_wrong_call(
    ogsql: Command, vectors: str, folder: Path, named: str, told: str
) -> None:
    (folder / "wrong.py").write_text("1 / 0")
    done = ogsql(vectors, "--embed", named, "-c", NEAREST)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
    assert "Traceback" not in done.err


def test_a_memory_limit_is_given_on_the_command_line(ogsql: Command, vectors: str) -> None:
    asked = "SELECT value FROM omni.settings WHERE name = 'memory_limit'"
    done = ogsql(vectors, "--memory-limit", "64MiB", "--format", "csv", "-c", asked)
    assert (done.code, done.out) == (0, f"value\n{64 * 2**20}\n")
    assert ogsql(vectors, "--memory-limit", "5", "-c", asked).code == 1
    assert "512MB" in ogsql(vectors, "--memory-limit", "much", "-c", asked).err


def test_a_change_of_the_schema_says_that_it_is_done(ogsql: Command, vectors: str) -> None:
    assert ogsql(vectors, "-c", "CREATE TABLE x (a INT)").err.startswith("done, commit ")
