"""Graph: the handle an application holds."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

import omnigraph_sql as og
from omnigraph_sql.base.errors import (
    ConflictError,
    DataError,
    LanguageError,
    OmniError,
    ParseError,
    PreconditionFailed,
    StorageError,
)
from omnigraph_sql.graph import Graph, init
from tests.engine.worlds import digest
from tests.graph.airports import CODES, NOTES, SCHEMA, airports, another, column, place

Call = Callable[[Graph], object]


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return airports(tmp_path)


# ---- making and opening -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["text", "path", "path as text"])
def test_a_schema_is_text_or_the_path_of_a_file(tmp_path: Path, given: str) -> None:
    file = tmp_path / "air.pg"
    file.write_text(SCHEMA)
    ways: dict[str, str | Path] = {"text": SCHEMA, "path": file, "path as text": str(file)}
    schema = ways[given]
    graph = og.init(place(tmp_path), schema=schema)
    assert graph.schema_text == SCHEMA
    assert [node.name for node in graph.catalog.nodes] == ["Airport", "Note"]
    assert another(tmp_path).schema_text == SCHEMA


@pytest.mark.parametrize(
    ("schema", "error"),
    [("nowhere.pg", StorageError), (Path("nowhere.pg"), StorageError), ("nod Airport { }", ParseError)],
)
def test_a_schema_that_cannot_be_read_leaves_no_graph(tmp_path: Path, schema: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        og.init(place(tmp_path), schema=schema)
    assert not place(tmp_path).exists()


def test_a_schema_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.pg").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StorageError, match=r"bad\.pg"):
        og.init(place(tmp_path), schema=tmp_path / "bad.pg")


def test_a_graph_is_made_only_once(graph: Graph, tmp_path: Path) -> None:
    before = digest(place(tmp_path))
    with pytest.raises(ConflictError) as caught:
        init(place(tmp_path), schema=SCHEMA)
    assert caught.value.code == "exists"
    assert digest(place(tmp_path)) == before
    assert column(graph, CODES) == ["AQP", "CUZ", "LIM"]


def test_opening_what_is_not_there_is_refused_and_makes_nothing(tmp_path: Path) -> None:
    for read_only in (True, False):
        with pytest.raises(StorageError) as caught:
            og.open(place(tmp_path), read_only=read_only)
        assert caught.value.kind == "not_found"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("graph")
def test_opening_a_branch_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="nowhere"):
        another(tmp_path, branch="nowhere")


def test_opening_for_reading_writes_nothing(graph: Graph, tmp_path: Path) -> None:
    before = digest(place(tmp_path))
    reader = another(tmp_path, read_only=True)
    assert column(reader, CODES) == ["AQP", "CUZ", "LIM"]
    assert (reader.stats()["head"], len(reader.commits()), len(reader.branches())) == (graph.head, 3, 1)
    assert reader.explain(CODES).startswith("Project")
    reader.refresh()
    assert digest(place(tmp_path)) == before


# ---- handles that refuse ----------------------------------------------------------------------------------------

WRITES: dict[str, Call] = {
    "sql": lambda g: g.sql("INSERT INTO Note (text) VALUES ('x')"),
    "script": lambda g: g.sql("INSERT INTO Note (text) VALUES ('x'); INSERT INTO Note (text) VALUES ('y')"),
    "nothing to change": lambda g: g.sql("DELETE FROM Note WHERE text = 'none'"),
    "begin": lambda g: g.sql("BEGIN"),
    "gq": lambda g: g.gq('query q() { insert Note { text: "x" } }'),
    "expected head": lambda g: g.sql("INSERT INTO Note (text) VALUES ('x')", expected_head="0" * 26),
    "transaction": lambda g: g.transaction(),
    "load": lambda g: g.load("nowhere.jsonl", mode="append"),
    "create_branch": lambda g: g.create_branch("side"),
    "ensure_indices": lambda g: g.ensure_indices(),
    "recover": lambda g: g.recover(),
}
READS: dict[str, Call] = {
    "head": lambda g: g.head,
    "select": lambda g: g.sql(CODES),
    "match": lambda g: g.gq("query q() { match { $a: Airport } return { $a.code } }"),
    "branches": lambda g: g.branches(),
    "checkout": lambda g: g.checkout("main"),
    "commits": lambda g: g.commits(),
    "compile": lambda g: g.compile(CODES),
    "explain": lambda g: g.explain(CODES),
    "stats": lambda g: g.stats(),
    "refresh": lambda g: g.refresh(),
    "enter": lambda g: g.__enter__(),
}


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("call", WRITES.values(), ids=WRITES)
def test_a_handle_for_reading_refuses_to_write(tmp_path: Path, call: Call) -> None:
    reader = another(tmp_path, read_only=True)
    before = digest(place(tmp_path))
    for handle in (reader, reader.checkout("main")):
        assert handle.read_only
        with pytest.raises(ConflictError) as caught:
            call(handle)
        way_out = "open it for writing: without read_only or --read-only, and not at a past state"
        assert (caught.value.code, caught.value.hint) == ("read_only", way_out)
    assert digest(place(tmp_path)) == before


@pytest.mark.parametrize("call", [*WRITES.values(), *READS.values()], ids=[*WRITES, *READS])
def test_a_closed_handle_refuses_everything(graph: Graph, tmp_path: Path, call: Call) -> None:
    before = digest(place(tmp_path))
    graph.close()
    graph.close()
    with pytest.raises(ConflictError) as caught:
        call(graph)
    assert (caught.value.code, caught.value.hint) == ("closed", "open it again")
    assert digest(place(tmp_path)) == before


def test_a_handle_closes_with_its_block_and_drops_what_begin_opened(graph: Graph, tmp_path: Path) -> None:
    with graph as handle:
        assert handle is graph
        graph.sql("BEGIN; INSERT INTO Note (text) VALUES ('lost')")
        assert graph.in_transaction
    assert not graph.in_transaction
    with pytest.raises(ConflictError):
        graph.sql("COMMIT")
    assert column(another(tmp_path), NOTES) == []


@pytest.mark.usefixtures("graph")
def test_a_handle_shows_its_place_and_never_its_secrets(tmp_path: Path) -> None:
    handle = another(tmp_path, storage_options={"aws_secret_access_key": "hunter2"})
    assert repr(handle) == f"Graph({str(place(tmp_path))!r}, branch='main')"
    assert "hunter2" not in f"{handle!r}{handle}{handle._world!r}{handle._world.root!r}{handle.stats()}"


# ---- history ----------------------------------------------------------------------------------------------------


def test_commits_tell_who_did_what_newest_first(graph: Graph, tmp_path: Path) -> None:
    made = graph.commits()
    with another(tmp_path, actor="bo").transaction(message="third") as tx:
        tx.sql("INSERT INTO Note (text) VALUES ('x')")
    every = graph.commits()
    assert every[1:] == made
    assert graph.head == every[0].id
    assert [commit.actor for commit in every] == ["bo", "ana", "ana", "ana"]
    assert [commit.message for commit in every] == ["third", None, None, None]
    assert [commit.parents for commit in every] == [*((commit.id,) for commit in every[1:]), ()]
    assert [commit.version for commit in every] == sorted({commit.version for commit in every}, reverse=True)
    assert {commit.branch for commit in every} == {"main"}
    assert all(commit.created_at.tzinfo is UTC for commit in every)
    assert graph.commits("main", 2) == every[:2]
    assert (graph.commits(limit=0), graph.commits(limit=99)) == ([], every)


def test_handles_see_each_others_commits(graph: Graph, tmp_path: Path) -> None:
    other = another(tmp_path)
    first = other.sql("INSERT INTO Note (text) VALUES ('theirs')").commit_id
    assert (graph.head, column(graph, NOTES)) == (first, ["theirs"])
    second = graph.sql("INSERT INTO Note (text) VALUES ('mine')").commit_id
    assert (other.head, column(other, NOTES)) == (second, ["mine", "theirs"])


def test_a_write_that_expects_another_head_writes_nothing(graph: Graph) -> None:
    head = graph.head
    assert graph.sql("INSERT INTO Note (text) VALUES ('a')", expected_head=head).commit_id == graph.head
    with pytest.raises(PreconditionFailed):
        graph.gq('query q() { insert Note { text: "b" } }', expected_head=head)
    assert column(graph, NOTES) == ["a"]


def test_a_statement_of_an_open_transaction_has_no_head_of_its_own(graph: Graph) -> None:
    graph.sql("BEGIN")
    with pytest.raises(ConflictError) as caught:
        graph.sql("INSERT INTO Note (text) VALUES ('a')", expected_head=graph.head)
    assert caught.value.code == "transaction_open"
    graph.sql("ROLLBACK")
    assert column(graph, NOTES) == []


# ---- branches ---------------------------------------------------------------------------------------------------


def test_a_branch_begins_where_main_is_and_goes_its_own_way(graph: Graph, tmp_path: Path) -> None:
    made = graph.create_branch("review/x")
    assert (made.name, made.head) == ("review/x", graph.head)
    side = graph.checkout("review/x")
    assert (side.branch, graph.branch, side.uri) == ("review/x", "main", graph.uri)
    side.sql("INSERT INTO Note (text) VALUES ('aside')")
    with side.transaction() as tx:
        tx.sql("DELETE FROM Airport WHERE code = 'CUZ'")
    assert (column(side, NOTES), column(side, CODES)) == (["aside"], ["AQP", "LIM"])
    assert (column(graph, NOTES), column(graph, CODES)) == ([], ["AQP", "CUZ", "LIM"])
    graph.sql("INSERT INTO Note (text) VALUES ('ahead')")
    assert column(another(tmp_path, branch="review/x"), NOTES) == ["aside"]
    assert [(one.name, one.head) for one in graph.branches()] == [("main", graph.head), ("review/x", side.head)]
    assert [commit.branch for commit in side.commits()] == ["review/x", "review/x", "main", "main", "main"]
    assert graph.commits("review/x") == side.commits()
    assert side.commits("main") == graph.commits()


def test_a_branch_can_begin_at_another_branch(graph: Graph) -> None:
    graph.create_branch("one")
    graph.checkout("one").sql("INSERT INTO Note (text) VALUES ('of one')")
    graph.create_branch("two", from_="one")
    two = graph.checkout("two")
    two.sql("INSERT INTO Note (text) VALUES ('of two')")
    assert column(two, NOTES) == ["of one", "of two"]
    assert column(graph.checkout("one"), NOTES) == ["of one"]
    assert [one.name for one in graph.branches()] == ["main", "one", "two"]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("main", "branch_exists"),
        ("main/x", "branch_exists"),
        ("a", "branch_exists"),
        ("a/b", "branch_exists"),
        ("a/b/c", "branch_exists"),
        ("Main", "branch_exists"),
        ("A", "branch_exists"),
        ("a/B", "branch_exists"),
        ("A/b/c", "branch_exists"),
        ("", "branch_name"),
        ("..", "branch_name"),
        ("../x", "branch_name"),
        ("a//b", "branch_name"),
        ("/a", "branch_name"),
        ("x.lock", "branch_name"),
        ("with space", "branch_name"),
        ("x" * 1000, "branch_name"),
    ],
)
def test_names_that_a_branch_cannot_have(graph: Graph, name: str, code: str) -> None:
    graph.create_branch("a/b")
    with pytest.raises(ConflictError) as caught:
        graph.create_branch(name)
    assert caught.value.code == code
    assert [one.name for one in graph.branches()] == ["main", "a/b"]


@pytest.mark.parametrize(
    "call",
    [
        lambda g: g.checkout("nowhere"),
        lambda g: g.commits("nowhere"),
        lambda g: g.create_branch("new", from_="nowhere"),
    ],
)
def test_a_branch_that_is_not_there_is_named(graph: Graph, call: Call) -> None:
    with pytest.raises(StorageError, match="there is no branch nowhere"):
        call(graph)
    assert [one.name for one in graph.branches()] == ["main"]


# ---- plans, numbers, upkeep -------------------------------------------------------------------------------------


def test_explain_shows_every_plan_of_a_text(graph: Graph) -> None:
    one, two = "SELECT code FROM Airport WHERE code = $a", "SELECT city FROM Airport WHERE city = $b"
    assert graph.explain(f"{one}; {two}", {"a": "x", "b": "y"}) == f"{graph.explain(one)}\n\n{graph.explain(two)}"
    assert "$a" in graph.explain(one)
    gq = "query q($a: String) { match { $x: Airport { code: $a } } return { $x.code } }"
    assert graph.explain(gq, {"a": "LIM"}) == graph.explain(gq)


@pytest.mark.parametrize("params", [{}, {"b": 1}, {"a": 1}, {"a": "x", "b": 1}, ["x"]])
def test_explain_checks_the_values_it_is_given(graph: Graph, params: object) -> None:
    with pytest.raises(DataError):
        graph.explain("SELECT code FROM Airport WHERE code = $a", params)  # type: ignore[arg-type]


def test_compile_gives_plans_and_runs_nothing(graph: Graph) -> None:
    head = graph.head
    compiled = graph.compile("INSERT INTO Note (text) VALUES ('x'); INSERT INTO Note (text) VALUES ('y')")
    assert (compiled.language, len(compiled.programs)) == ("sql", 2)
    assert graph.compile("query q() { match { $a: Airport } return { $a.code } }").language == "gq"
    with pytest.raises(LanguageError):
        graph.compile("SELECT nothing FROM Airport")
    assert graph.head == head


def test_stats_count_what_is_there(graph: Graph) -> None:
    stats = graph.stats()
    assert {table["name"]: table["rows"] for table in stats["tables"]} == {
        "node:Airport": 3,
        "edge:Route": 2,
        "node:Note": 0,
    }
    assert (stats["uri"], stats["branch"], stats["head"]) == (graph.uri, "main", graph.head)
    assert (stats["manifest_version"], stats["pending_operations"]) == (graph.commits()[0].version, 0)


def test_there_is_nothing_to_recover_in_a_sound_graph(graph: Graph, tmp_path: Path) -> None:
    before = digest(place(tmp_path))
    assert graph.recover() == []
    graph.refresh()
    assert digest(place(tmp_path)) == before


def test_indexes_change_no_rows(graph: Graph) -> None:
    graph.ensure_indices()
    assert column(graph, CODES) == ["AQP", "CUZ", "LIM"]


def test_loading_is_one_commit_and_all_or_nothing(graph: Graph, tmp_path: Path) -> None:
    file = tmp_path / "more.csv"
    file.write_text("code,city,elevation\nTRU,Trujillo,34\nPIU,Piura,35\n")
    graph.load(file, mode="append", type="Airport")
    assert column(graph, CODES) == ["AQP", "CUZ", "LIM", "PIU", "TRU"]
    assert (len(graph.commits()), graph.commits()[0].actor) == (4, "ana")
    file.write_text("code,city,elevation\nAAA,x,1\nBBB,x,9999\n")
    with pytest.raises(OmniError):
        graph.load(str(file), mode="append", type="Airport")
    with pytest.raises(DataError) as caught:
        graph.load(file, mode="replace", type="Airport")
    assert caught.value.hint == "choose one of append, merge, overwrite"
    assert len(graph.commits()) == 4


# ---- the package ------------------------------------------------------------------------------------------------


def test_every_public_name_resolves() -> None:
    assert len(og.__all__) == len(set(og.__all__))
    for name in og.__all__:
        assert getattr(og, name) is not None
        assert name in dir(og)
    assert (og.Graph, og.init) == (Graph, init)
    with pytest.raises(AttributeError, match="no_such_name"):
        og.no_such_name  # noqa: B018


def test_importing_the_package_imports_no_engine() -> None:
    heavy = "lance", "datafusion", "pyarrow", "sqlglot", "lark"
    code = f"import sys, omnigraph_sql; print([name for name in {heavy!r} if name in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_branches_know_a_time(graph: Graph) -> None:
    (main,) = graph.branches()
    assert isinstance(main.created_at, datetime)
    assert main.created_at.tzinfo is UTC


def test_a_branch_keeps_the_instant_it_was_made_at(graph: Graph) -> None:
    (main,) = graph.branches()
    assert main.created_at == graph.commits()[-1].created_at
    before = datetime.now(UTC).replace(microsecond=0)
    made = graph.create_branch("dev")
    assert before <= made.created_at <= datetime.now(UTC)
    graph.sql("INSERT INTO Airport (code, city) VALUES ('ZZZ', 'x')")
    graph.checkout("dev").sql("INSERT INTO Airport (code, city) VALUES ('YYY', 'y')")
    assert {b.name: b.created_at for b in graph.branches()} == {"main": main.created_at, "dev": made.created_at}
    shown = dict(graph.sql("SELECT name, created_at FROM omni.branches").fetchall())
    assert shown == {"main": main.created_at, "dev": made.created_at}
