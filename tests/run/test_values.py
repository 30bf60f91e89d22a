"""Values go in as values: whatever is in a text, a name or a number, it comes out the same and means nothing else."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph_sql.base.errors import ExecutionError
from omnigraph_sql.base.expr import Value
from omnigraph_sql.engine.write.staging import MutationStaging
from tests.run.graphs import Graph

SCHEMA = """
node Thing {
    name: String @key
    small: I32?
    whole: I64?
    count: U32?
    huge: U64?
    single: F32?
    double: F64?
    day: Date?
    moment: DateTime?
    words: [String]?
    spot: Vector(2)?
    body: Blob?
    yes: Bool?
}
"""
HOSTILE = (
    "",
    "'",
    "''; DROP TABLE Thing; --",
    '"',
    '"; SELECT 1; --',
    "a'b\"c`d",
    "$p1",
    "$1",
    "{name}",
    "%",
    "_",
    "\\",
    "\\'",
    "x\x00y",
    "line\nbreak\ttab",
    "/* */ -- #",
    "нь\U0001f600é",
    "NULL",
)
often = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    folder: Path = tmp_path_factory.mktemp("values")
    return Graph(folder / "graph", SCHEMA, {"Thing": [thing(name=text) for text in HOSTILE]})


def thing(**given: Any) -> dict[str, Any]:
    name = given.get("name", "x")
    fields = ("small", "whole", "count", "huge", "single", "double", "day", "moment", "words", "spot", "body", "yes")
    return {"id": name, "name": name, **dict.fromkeys(fields), **given}


def with_rows(graph: Graph, *rows: dict[str, Any]) -> MutationStaging:
    staging = MutationStaging()
    of = graph.catalog.node("Thing")
    assert of is not None
    staging.overwrite(of, graph.table("Thing", list(rows)))
    return staging


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_text_finds_exactly_its_own_row(graph: Graph, text: str) -> None:
    assert graph.ask("SELECT name FROM Thing WHERE name = $t", {"t": text}) == [(text,)]
    if "\x00" not in text:
        spelled = text.replace("'", "''")
        assert graph.ask(f"SELECT name, '{spelled}' FROM Thing WHERE name = '{spelled}'") == [(text, text)]
        quoted = text.replace('"', '""')
        if text:
            assert graph.ask(f'SELECT name AS "{quoted}" FROM Thing WHERE name = $t', {"t": text}) == [(text,)]


@often
@given(text=TEXTS, other=TEXTS)
def test_texts_come_back_as_they_went_in_and_compare_as_python_does(graph: Graph, text: str, other: str) -> None:
    asked = "SELECT $a, $a = $b, $a < $b, $a || $b, contains($a, $b), starts_with($a, $b), $a IN ($b, 'q')"
    same = text.encode() < other.encode()
    expected = (text, text == other, same, text + other, other in text, text.startswith(other), text in (other, "q"))
    parameters: dict[str, Value] = {"a": text, "b": other}
    assert graph.ask(asked.replace("$a", "CAST($a AS VARCHAR)"), parameters) == [expected]


@often
@given(text=TEXTS, other=TEXTS)
def test_like_knows_two_wildcards_and_no_escape_unless_told(graph: Graph, text: str, other: str) -> None:
    pattern = "".join(f"!{c}" if c in "%_!" else c for c in other)
    asked = "SELECT CAST($a AS VARCHAR) LIKE $b ESCAPE '!', CAST($a AS VARCHAR) LIKE $c ESCAPE '!', $a LIKE '%'"
    found = graph.ask(asked, {"a": text + other, "b": f"%{pattern}", "c": pattern})
    assert found == [(True, text == "", True)]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("small", -(2**31)),
        ("small", 2**31 - 1),
        ("whole", -(2**63)),
        ("whole", 2**63 - 1),
        ("count", 2**32 - 1),
        ("huge", 2**64 - 1),
        ("single", 0.1),
        ("double", 0.1),
        ("double", -0.0),
        ("day", date(1, 1, 1)),
        ("day", date(9999, 12, 31)),
        ("moment", datetime(2031, 2, 3, 4, 5, 6, 789012, UTC)),
        ("moment", datetime(1, 1, 1, tzinfo=UTC)),
        ("yes", False),
    ],
)
def test_a_value_at_the_edge_of_its_type_is_stored_found_and_shown(graph: Graph, column: str, value: Any) -> None:
    staging = with_rows(graph, thing(name="a", **{column: value}), thing(name="b"))
    asked = f"SELECT {column} FROM Thing WHERE {column} = $v"
    ((found,),) = graph.ask(asked, {"v": value}, staging)
    assert found == (pytest.approx(value, rel=1e-6) if column == "single" else value)
    assert graph.ask(f"SELECT name FROM Thing WHERE {column} IS NULL", staging=staging) == [("b",)]
    assert graph.ask(f"SELECT name FROM Thing WHERE {column} <> $v", {"v": value}, staging) == []


def test_lists_vectors_and_blobs_come_back_whole(graph: Graph) -> None:
    full = thing(name="a", words=["x", None, "'"], spot=[0.5, -1.0], body=b"\x00\xff")
    staging = with_rows(graph, full, thing(name="b", words=[]))
    found = graph.ask("SELECT words, spot, body FROM Thing ORDER BY name", staging=staging)
    assert found == [(["x", None, "'"], [0.5, -1.0], b"\x00\xff"), ([], None, None)]
    assert graph.ask("SELECT name FROM Thing WHERE spot IS NULL", staging=staging) == [("b",)]
    assert graph.ask("SELECT name FROM Thing WHERE body IS NOT NULL", staging=staging) == [("a",)]
    assert graph.ask("SELECT name FROM Thing WHERE $w = ANY(words)", {"w": "'"}, staging) == [("a",)]


@pytest.mark.parametrize(
    ("test", "names"),
    [
        ("small = 5.0", ["five"]),
        ("small = 5.5", []),
        ("small != 5.5", ["five", "six"]),
        ("small > 5.5", ["six"]),
        ("5.5 < small", ["six"]),
        ("small < 3000000000", ["five", "six"]),
        ("small = 3000000000", []),
        ("small > -3000000000", ["five", "six"]),
        ("single = 0.1", ["five"]),
        ("whole > 9007199254740992", ["five"]),
        ("whole = 9007199254740993", ["five"]),
        ("count > -1", ["five", "six"]),
        ("count < 4294967296", ["five", "six"]),
        ("huge = 18446744073709551615", ["five"]),
        ("huge > 9223372036854775807", ["five"]),
    ],
)
def test_numbers_are_compared_exactly(graph: Graph, test: str, names: list[str]) -> None:
    five = thing(name="five", small=5, whole=2**53 + 1, count=5, huge=2**64 - 1, single=0.1)
    six = thing(name="six", small=6, whole=2**53, count=6, huge=0, single=0.5)
    staging = with_rows(graph, five, six, thing(name="none"))
    found = graph.ask(f"SELECT name FROM Thing WHERE {test} ORDER BY name", staging=staging)
    assert [name for (name,) in found] == names


def test_a_parameter_is_compared_as_exactly_as_a_literal(graph: Graph) -> None:
    staging = with_rows(graph, thing(name="a", whole=2**53 + 1, single=0.1), thing(name="b", whole=2**53))
    assert graph.ask("SELECT name FROM Thing WHERE whole = $n", {"n": float(2**53)}, staging) == [("b",)]
    assert graph.ask("SELECT name FROM Thing WHERE single = $n", {"n": 0.1}, staging) == [("a",)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT 1 / 0", "division by zero"),
        ("SELECT 1 // 0", "division by zero"),
        ("SELECT 1 % 0", "division by zero"),
        ("SELECT 1.5 / 0", "division by zero"),
        ("SELECT 9223372036854775807 + 1", "out of range"),
        ("SELECT -9223372036854775807 - 2", "out of range"),
        ("SELECT 9223372036854775807 * 2", "out of range"),
        ("SELECT sum(x) FROM (VALUES (9223372036854775807), (1)) t(x)", "out of range"),
        ("SELECT sum(x) OVER () FROM (VALUES (9223372036854775807), (1)) t(x)", "out of range"),
        ("SELECT CAST(300 AS TINYINT)", "out of range"),
        ("SELECT CAST('x1' AS INT)", "'x1' is not a"),
        ("SELECT (SELECT x FROM (VALUES (1), (2)) t(x))", "gave 2 rows"),
        ("SELECT name FROM Thing LIMIT $n", "LIMIT and OFFSET"),
        ("SELECT regexp_like(name, '(') FROM Thing", "pattern"),
    ],
)
def test_what_has_no_answer_is_an_error_in_plain_words(graph: Graph, text: str, message: str) -> None:
    with pytest.raises(ExecutionError, match=message) as raised:
        graph.ask(text, {"n": -1})
    shown = raised.value.report()
    assert all(word not in shown for word in ("DataFusion", "arrow", "SELECT", "Traceback", "og_"))


def test_what_may_fail_is_tried_only_on_rows_that_pass_the_rest(graph: Graph) -> None:
    staging = with_rows(graph, thing(name="a", small=0), thing(name="b", small=2))
    for text in (
        "SELECT name FROM Thing WHERE 10 // small > 1 AND small <> 0",
        "SELECT name FROM Thing WHERE CASE WHEN small = 0 THEN FALSE ELSE 10 / small > 1 END",
    ):
        assert graph.ask(text, staging=staging) == [("b",)]
