"""Session: from a text to its result, and what commits together."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pyarrow as pa
import pytest

from omnigraph_sql import statements
from omnigraph_sql.base.errors import (
    BoundaryViolation,
    DataError,
    ExecutionError,
    KeyConflict,
    LanguageError,
    NotSupported,
    OmniError,
    ReadSetChanged,
    TypeMismatch,
)
from omnigraph_sql.bind.schema import compile_schema
from omnigraph_sql.graph import Graph
from omnigraph_sql.run.contract import StoredSchema
from omnigraph_sql.statements import PlanCache, Request
from tests.engine.worlds import digest
from tests.graph.airports import CODES, NOTES, SCHEMA, airports, another, column, place

FILE = """
query cities() { match { $a: Airport } return { $a.city } }
query named($code: String) { match { $a: Airport { code: $code } } return { $a.city } }
query note($text: String, $at: DateTime?) { insert Note { text: $text, at: $at } }
"""
NEW = "INSERT INTO Airport (code, city) VALUES"
SAY = "INSERT INTO Note (text) VALUES"


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return airports(tmp_path)


# ---- scripts ----------------------------------------------------------------------------------------------------


def test_a_script_is_one_commit_whose_statements_see_each_other(graph: Graph) -> None:
    made = graph.sql(f"{NEW} ('TRU', 'x'); UPDATE Airport SET city = 'y' WHERE city = 'x'; {SAY} ('n')")
    assert (len(graph.commits()), made.commit_id) == (4, graph.head)
    assert column(graph, "SELECT city FROM Airport WHERE code = 'TRU'") == ["y"]
    assert not graph.in_transaction


def test_the_result_of_a_script_is_that_of_its_last_statement(graph: Graph) -> None:
    result = graph.sql(f"{SAY} ('a'), ('b'); {NOTES}")
    assert (result.columns, result.fetchall()) == (("text",), [("a",), ("b",)])
    assert (result.affected_nodes, result.commit_id) == (2, graph.head)
    assert graph.sql(f"{CODES}; SELECT 1 AS one").fetchall() == [(1,)]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (f"{SAY} ('a'); DELETE FROM Route", BoundaryViolation),
        (f"DELETE FROM Route; {SAY} ('a')", BoundaryViolation),
        (f"{SAY} ('a'); {NEW} ('LIM', 'again')", KeyConflict),
        (f"{SAY} ('a'); {NEW} ('X', 'x'), ('X', 'x')", KeyConflict),
        (f"{SAY} ('a'); SELECT nothing FROM Airport", LanguageError),
        (f"{SAY} ('a'); SELECT 1 / (elevation - 34) FROM Airport", ExecutionError),
        (f"{SAY} ('a'); OPTIMIZE Note", NotSupported),
        (f"EXPLAIN {CODES}; {SAY} ('a'); {NEW} ('X', 'x'), ('X', 'x')", KeyConflict),
        (f"{SAY} ('a'); COMMIT", BoundaryViolation),
        (f"{SAY} ('a'); ROLLBACK", BoundaryViolation),
        (f"BEGIN; {SAY} ('a'); COMMIT; COMMIT", BoundaryViolation),
        (f"BEGIN; {SAY} ('a'); BEGIN; COMMIT", BoundaryViolation),
        (f"BEGIN; {SAY} ('a'); DELETE FROM Route; COMMIT", BoundaryViolation),
    ],
)
def test_a_script_that_fails_writes_nothing(graph: Graph, tmp_path: Path, text: str, error: type[Exception]) -> None:
    before = digest(place(tmp_path))
    with pytest.raises(error):
        graph.sql(text)
    assert digest(place(tmp_path)) == before
    assert not graph.in_transaction


@pytest.mark.parametrize("text", ["", " \n", "-- only a remark", ";"])
def test_a_text_without_statements_does_nothing(graph: Graph, text: str) -> None:
    result = graph.sql(text)
    assert (result.rowcount, result.columns, result.commit_id) == (0, (), None)


# ---- BEGIN, COMMIT, ROLLBACK ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "texts",
    [
        ["BEGIN; {a}; {b}; COMMIT"],
        ["BEGIN", "{a}", "{b}", "COMMIT"],
        ["BEGIN; {a}", "{b}; COMMIT"],
        ["BEGIN", "{a}; {b}", "COMMIT"],
    ],
)
def test_begin_and_commit_make_one_commit_however_the_text_is_cut(
    graph: Graph, tmp_path: Path, texts: list[str]
) -> None:
    other = another(tmp_path)
    for text in texts[:-1]:
        graph.sql(text.format(a=f"{SAY} ('a')", b=f"{SAY} ('b')"))
        assert graph.in_transaction
        assert column(other, NOTES) == []
    result = graph.sql(texts[-1].format(a=f"{SAY} ('a')", b=f"{SAY} ('b')"))
    assert not graph.in_transaction
    assert (result.affected_nodes, result.commit_id) == (2, graph.head)
    assert (column(other, NOTES), len(graph.commits())) == (["a", "b"], 4)


def test_rollback_drops_what_begin_opened(graph: Graph, tmp_path: Path) -> None:
    before = digest(place(tmp_path))
    graph.sql(f"BEGIN; {SAY} ('a')")
    assert column(graph, NOTES) == ["a"]
    graph.sql("ROLLBACK")
    assert not graph.in_transaction
    assert column(graph, NOTES) == []
    graph.sql(f"BEGIN; {SAY} ('b'); ROLLBACK")
    assert digest(place(tmp_path)) == before


def test_several_transactions_of_one_text_commit_apart(graph: Graph) -> None:
    graph.sql(f"BEGIN; {SAY} ('a'); COMMIT; BEGIN; {SAY} ('b'); ROLLBACK; {SAY} ('c')")
    assert (column(graph, NOTES), len(graph.commits())) == (["a", "c"], 5)


@pytest.mark.parametrize("word", ["COMMIT", "ROLLBACK"])
def test_ending_what_was_not_begun_is_refused(graph: Graph, word: str) -> None:
    with pytest.raises(BoundaryViolation, match=word) as caught:
        graph.sql(word)
    assert caught.value.hint == "write BEGIN … COMMIT"


def test_begin_inside_a_transaction_is_refused_and_the_transaction_stays(graph: Graph) -> None:
    graph.sql(f"BEGIN; {SAY} ('a')")
    with pytest.raises(BoundaryViolation, match="BEGIN"):
        graph.sql(f"{SAY} ('not run'); BEGIN")
    assert graph.in_transaction
    graph.sql("COMMIT")
    assert column(graph, NOTES) == ["a"]


@pytest.mark.parametrize(
    "bad",
    [f"{NEW} ('X', 'x'), ('X', 'x')", "DELETE FROM Route", "SELECT nothing FROM Airport", "OPTIMIZE Note"],
)
def test_a_statement_that_fails_leaves_the_rest_of_the_transaction(graph: Graph, bad: str) -> None:
    graph.sql(f"BEGIN; {SAY} ('a')")
    with pytest.raises(OmniError):
        graph.sql(bad)
    assert graph.in_transaction
    graph.sql(f"{SAY} ('b'); COMMIT")
    assert (column(graph, NOTES), column(graph, CODES)) == (["a", "b"], ["AQP", "CUZ", "LIM"])
    assert column(graph, "SELECT count(*) FROM Route") == [2]


def test_a_commit_that_fails_ends_the_transaction(graph: Graph, tmp_path: Path) -> None:
    graph.sql("BEGIN")
    assert column(graph, CODES) == ["AQP", "CUZ", "LIM"]
    graph.sql(f"{SAY} ('mine')")
    another(tmp_path).sql(f"{SAY} ('theirs')")
    with pytest.raises(ReadSetChanged):
        graph.sql("COMMIT")
    assert not graph.in_transaction
    assert column(graph, NOTES) == ["theirs"]


def test_gq_goes_into_the_transaction_that_sql_began(graph: Graph) -> None:
    graph.sql("BEGIN")
    graph.gq(FILE, {"text": "a"}, name="note")
    assert column(graph, NOTES) == ["a"]
    graph.sql("ROLLBACK")
    assert column(graph, NOTES) == []


# ---- .gq --------------------------------------------------------------------------------------------------------


def test_a_name_picks_one_query_of_a_file(graph: Graph) -> None:
    assert sorted(graph.gq(FILE, name="cities")) == [("Arequipa",), ("Cusco",), ("Lima",)]
    assert graph.gq(FILE, {"code": "LIM"}, name="named").fetchall() == [("Lima",)]
    assert graph.gq(FILE, {"text": "a"}, name="note").affected_nodes == 1


@pytest.mark.parametrize(("name", "message"), [(None, "several queries"), ("nosuch", "no query nosuch")])
def test_a_file_of_queries_wants_a_name_it_knows(graph: Graph, name: str | None, message: str) -> None:
    with pytest.raises(LanguageError, match=message) as caught:
        graph.gq(FILE, name=name)
    assert (caught.value.code, caught.value.hint) == ("query_name", "name one of: cities, named, note")


# ---- parameters -------------------------------------------------------------------------------------------------

BY = "SELECT city FROM Airport WHERE code ="


@pytest.mark.parametrize(
    ("text", "params"),
    [
        (f"{BY} $c", {"c": "LIM"}),
        (f"{BY} :c", {"c": "LIM"}),
        (f"{BY} ?", ["LIM"]),
        (f"{BY} ?", ("LIM",)),
        (f"{BY} $1", ["LIM"]),
    ],
)
def test_values_come_by_name_or_by_place(graph: Graph, text: str, params: Any) -> None:
    assert graph.sql(text, params).fetchall() == [("Lima",)]


def test_a_value_is_never_text_of_the_statement(graph: Graph) -> None:
    evil = "x' OR '1' = '1"
    assert graph.sql(f"{BY} $c", {"c": evil}).fetchall() == []
    graph.sql(f"{SAY} (?)", [evil])
    assert column(graph, NOTES) == [evil]


@pytest.mark.parametrize(
    ("text", "params", "message"),
    [
        (f"{BY} $c", None, "parameter c is missing"),
        (f"{BY} $c", {}, "parameter c is missing"),
        (f"{BY} ?", None, "parameter 1 is missing"),
        (f"{BY} $c", {"d": 1}, "parameter c is missing|no parameter is called d"),
        (f"{BY} $c", {"c": "x", "d": 1}, "no parameter is called d"),
        (f"{BY} ?", [], "1 parameter, 0 values"),
        (f"{BY} ?", ["a", "b"], "1 parameter, 2 values"),
        (f"{BY} $c", ["LIM"], "have names"),
        (f"{BY} $c", "LIM", "not str"),
        (f"{BY} $c; {BY} $d", {"c": "x", "d": "x", "e": "x"}, "no parameter is called e"),
        (f"{BY} $c; {BY} $d", {"c": "x"}, "parameter d is missing"),
        (f"{SAY} ($c); {SAY} ($d)", {"c": "x"}, "parameter d is missing"),
        (f"{SAY} (?); {SAY} (?)", ["a", "b"], "1 parameter, 2 values"),
    ],
)
def test_values_that_do_not_fit_are_refused(graph: Graph, text: str, params: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        graph.sql(text, params)
    assert column(graph, NOTES) == []


def test_kinds_of_parameters_are_not_mixed(graph: Graph) -> None:
    with pytest.raises(TypeMismatch, match="mixed"):
        graph.sql(f"{BY} ? AND city = $c", ["x"])


def test_statements_of_a_script_share_the_values_by_name(graph: Graph) -> None:
    graph.sql(f"{SAY} ($a); {SAY} ($b); {SAY} ($a)", {"a": "one", "b": "two"})
    assert column(graph, NOTES) == ["one", "one", "two"]


def test_only_declared_nullable_values_may_be_left_out(graph: Graph) -> None:
    graph.gq(FILE, {"text": "a"}, name="note")
    assert graph.sql("SELECT text, at FROM Note").fetchall() == [("a", None)]
    with pytest.raises(DataError, match="text is missing"):
        graph.gq(FILE, {"at": None}, name="note")
    graph.sql("INSERT INTO Note (text, at) VALUES ($text, $at)", {"text": "b", "at": None})
    assert column(graph, NOTES) == ["a", "b"]


# ---- commands ---------------------------------------------------------------------------------------------------


def test_explain_is_a_statement_that_runs_nothing(graph: Graph) -> None:
    head = graph.head
    for text in (CODES, f"{SAY} ('x')", f"{BY} $c"):
        shown = graph.sql(f"EXPLAIN {text}", {"c": "LIM"} if "$c" in text else None)
        assert (shown.columns, [line for (line,) in shown]) == (("plan",), graph.explain(text).splitlines())
    assert graph.head == head
    with graph.transaction() as tx:
        assert tx.sql(f"EXPLAIN {CODES}").arrow().num_rows == 3


def test_analyze_runs_a_question_and_tells_what_was_done(graph: Graph) -> None:
    head = graph.head
    text = "SELECT city, count(*) AS n FROM Airport WHERE length(city) > $n GROUP BY city ORDER BY city"
    shown = [line for (line,) in graph.sql(f"EXPLAIN ANALYZE {text}", {"n": 4})]
    logical = graph.explain(text).splitlines()
    assert shown[: len(logical) + 1] == [*logical, ""]
    assert re.fullmatch(r"2 rows in \d+\.\d ms", shown[len(logical) + 1])
    steps = shown[len(logical) + 2 :]
    assert any("AggregateExec" in step and "rows=2" in step for step in steps)
    again = graph.explain(text, {"n": 4}, analyze=True).splitlines()
    assert again[: len(logical)] == logical
    assert len(again) == len(shown)
    assert graph.head == head


def test_a_plan_is_told_as_json_too(graph: Graph) -> None:
    plain = graph.sql(f"EXPLAIN (FORMAT json) {CODES}").fetchall()
    run = graph.sql(f"EXPLAIN (ANALYZE, FORMAT json) {CODES}").fetchall()
    assert (len(plain), len(run)) == (1, 1)
    plan, told = json.loads(plain[0][0]), json.loads(run[0][0])
    lines: list[str] = []
    while plan:
        lines.append("  " * len(lines) + plan["text"])
        plan = plan.get("inputs", [None])[0]
    assert lines == graph.explain(CODES).splitlines()
    assert told["plan"] == json.loads(plain[0][0])
    assert told["rows"] == len(graph.sql(CODES).fetchall())
    assert told["milliseconds"] >= 0


def test_analyze_sees_what_is_pending_and_gq(graph: Graph) -> None:
    graph.sql(f"BEGIN; {SAY} ('x')")
    assert "1 row in" in graph.explain("SELECT text FROM Note WHERE length(text) = 1", analyze=True)
    assert "1 row in" in "\n".join(line for (line,) in graph.sql("EXPLAIN ANALYZE SELECT text FROM Note"))
    graph.sql("ROLLBACK")
    assert "3 rows in" in graph.explain("match { $a: Airport } return { $a.city }", analyze=True)


@pytest.mark.parametrize("text", [f"{SAY} ('x')", "BEGIN"])
def test_a_change_is_not_made_to_be_explained(graph: Graph, text: str) -> None:
    head = graph.head
    with pytest.raises(NotSupported, match="only questions"):
        graph.explain(text, analyze=True)
    assert (graph.head, graph.in_transaction) == (head, False)


@pytest.mark.parametrize(
    "text",
    ["ALTER TABLE Note DROP COLUMN at", "OPTIMIZE Note", f"EXPLAIN ANALYZE {SAY} ('x')"],
)
def test_commands_that_are_not_carried_out_say_so(graph: Graph, tmp_path: Path, text: str) -> None:
    before = digest(place(tmp_path))
    with pytest.raises(NotSupported, match="not carried out yet") as caught:
        graph.sql(text)
    assert caught.value.hint
    assert caught.value.at is not None
    assert digest(place(tmp_path)) == before


# ---- snapshots --------------------------------------------------------------------------------------------------


def test_rows_that_stream_are_of_one_state_while_others_write(graph: Graph, tmp_path: Path) -> None:
    count = 30_000
    numbers = pa.array(range(count))
    graph.load(pa.table({"text": numbers.cast(pa.utf8())}), mode="append", type="Note")
    other = another(tmp_path)
    whole, begun = graph.sql(NOTES), graph.sql("SELECT text FROM Note")
    first = begun.fetchmany(10)
    other.sql("DELETE FROM Note WHERE text <> 'none'")
    other.sql(f"{SAY} ('new')")
    assert {row[0] for row in [*first, *begun]} == {str(n) for n in range(count)}
    assert whole.arrow().num_rows == count
    assert column(graph, NOTES) == ["new"]


# ---- plans are kept ---------------------------------------------------------------------------------------------


def stored(text: str) -> StoredSchema:
    return StoredSchema(compile_schema(text))


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every text that is compiled, in order."""
    seen: list[str] = []
    real = statements._compile

    def compile_it(request: Request, *given: Any) -> Any:
        seen.append(request.text)
        return real(request, *given)

    monkeypatch.setattr(statements, "_compile", compile_it)
    return seen


def test_a_text_is_compiled_once_for_a_graph_and_its_branches(graph: Graph, compilations: list[str]) -> None:
    for code in ("LIM", "CUZ"):
        graph.sql(f"{BY} $c", {"c": code}).fetchall()
    graph.checkout("main").sql(f"{BY} $c", {"c": "LIM"}).fetchall()
    with graph.transaction() as tx:
        tx.sql(f"{BY} $c", {"c": "LIM"}).fetchall()
    assert compilations == [f"{BY} $c"]
    for text in ("a", "b"):
        graph.sql(f"{SAY} (?)", [text])
    assert compilations == [f"{BY} $c", f"{SAY} (?)"]


def test_plans_are_kept_by_language_and_schema(compilations: list[str]) -> None:
    plans, text = PlanCache(), "SELECT * FROM Note"
    one, two = stored(SCHEMA), stored("node Note { text: String  more: I32 }")
    for _ in range(2):
        assert [f.name for f in plans.compile(Request(text, None, "sql"), one).programs[0].fields] == ["text", "at"]
        assert [f.name for f in plans.compile(Request(text, None, "sql"), two).programs[0].fields] == ["text", "more"]
        with pytest.raises(LanguageError):
            plans.compile(Request(text, None, "gq"), one)
    assert len(compilations) == 4


def test_the_plans_used_longest_ago_are_dropped(compilations: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "_PLANS_KEPT", 2)
    plans, schema = PlanCache(), stored(SCHEMA)
    for number in (1, 2, 1, 3, 1, 2):
        plans.compile(Request(f"SELECT {number}", None, "sql"), schema)
    assert compilations == ["SELECT 1", "SELECT 2", "SELECT 3", "SELECT 2"]


def test_threads_share_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "_PLANS_KEPT", 3)
    plans, schema, together = PlanCache(), stored(SCHEMA), Barrier(4)

    def ask(thread: int) -> set[bool]:
        together.wait()
        found = set()
        for turn in range(40):
            number = (turn + thread) % 5
            (program,) = plans.compile(Request(f"SELECT {number} AS c{number}", None, "sql"), schema).programs
            found.add(program.fields[0].name == f"c{number}")
        return found

    with ThreadPoolExecutor(4) as pool:
        assert set().union(*pool.map(ask, range(4))) == {True}
    assert len(plans._kept) == 3
