"""Sentences of the languages that can be true or false, each with its section, on rows, pending ones too.

A case is one question in one or more spellings, with values (`given`), and what was worked out by hand: its rows in any
order (`rows`) or in this one (`order`), its `columns` with their types, or the code of its `error`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from omnigraph_sql.base.errors import Error, ExecutionError
from omnigraph_sql.graph import Graph, init
from omnigraph_sql.result import Result
from omnigraph_sql.session import Transaction
from tests.case_files import Case, read_cases
from tests.run.test_same_rows import filled

CASES = read_cases("run/gq.case")
SURFACE = read_cases("run/sql.case")


@pytest.fixture(scope="module", params=["one commit", "pending"])
def handle(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Graph | Transaction:
    return filled(tmp_path_factory.mktemp("sentences"), request.param)


def lines(result: Result) -> list[str]:
    """Every row as a case writes it."""
    return [" | ".join("NULL" if v is None else str(v) for v in row) for row in result]


def check(result: Result, expected: dict[str, str]) -> None:
    if "columns" in expected:
        assert [f"{field.name}: {field.type}" for field in result.schema] == expected["columns"].split("\n")
    found = lines(result)
    if "order" in expected:
        assert found == expected["order"].split("\n")
    else:
        assert sorted(found) == (expected["rows"].split("\n") if expected["rows"] else [])


def hold(case: Case, handle: Graph | Transaction, language: str) -> None:
    """Ask the case in each of its spellings."""
    ask = handle.gq if language == "gq" else handle.sql
    expected = {name: text for name, text in case.sections if name != language}
    given: Any = json.loads(expected["given"]) if "given" in expected else None
    spellings = [text for name, text in case.sections if name == language]
    assert spellings
    for text in spellings:
        if "error" in expected:
            with pytest.raises(Error) as refused:
                ask(text, given).fetchall()
            assert getattr(refused.value, "code", None) == expected["error"], refused.value
        else:
            check(ask(text, given), expected)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_a_sentence_of_the_language_holds(case: Case, handle: Graph | Transaction) -> None:
    hold(case, handle, "gq")


@pytest.mark.parametrize("case", SURFACE, ids=lambda c: c.name)
def test_a_row_of_the_surface_of_sql_holds(case: Case, handle: Graph | Transaction) -> None:
    hold(case, handle, "sql")


def test_a_sum_that_leaves_sixty_four_bits_is_refused_and_never_wraps(tmp_path: Path) -> None:
    graph = init(tmp_path / "g.omni", schema="node N { k: String @key  v: I64 }")
    graph.sql("INSERT INTO N VALUES ('a', 9223372036854775807), ('b', 1), ('c', -2)")
    most = 'query q() { match { $n: N  $n.k != "b" } return { sum($n.v) as s } }'
    assert graph.gq(most).fetchall() == [(9223372036854775805,)]
    with pytest.raises(ExecutionError, match="out of range"):
        graph.gq('query q() { match { $n: N  $n.k != "c" } return { sum($n.v) as s } }').fetchall()


def test_every_now_of_one_write_is_the_same_instant(tmp_path: Path) -> None:
    graph = init(tmp_path / "g.omni", schema="node N { k: String @key  at: DateTime  seen: DateTime? }")
    graph.gq('query q() { insert N { k: "a", at: now() } insert N { k: "b", at: now(), seen: now() } }')
    assert graph.sql("SELECT count(DISTINCT at), count(*) FILTER (WHERE seen = at) FROM N").fetchall() == [(1, 1)]
    graph.gq('query q() { insert N { k: "c", at: now() } }')
    assert graph.sql("SELECT count(DISTINCT at) FROM N").fetchall() == [(2,)]
