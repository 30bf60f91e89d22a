"""Sentences of the language that can be true or false, each with its section, on rows, pending ones too."""

from __future__ import annotations

import pytest

from omnigraph_sql.graph import Graph
from omnigraph_sql.session import Transaction
from tests.case_files import Case, read_cases
from tests.run.test_same_rows import filled

CASES = read_cases("run/gq.case")


@pytest.fixture(scope="module", params=["one commit", "pending"])
def handle(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Graph | Transaction:
    return filled(tmp_path_factory.mktemp("sentences"), request.param)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_a_sentence_of_the_language_holds(case: Case, handle: Graph | Transaction) -> None:
    shown = [" | ".join("NULL" if v is None else str(v) for v in row) for row in handle.gq(case.only("gq"))]
    assert sorted(shown) == case.only("rows").split("\n") if case.only("rows") else not shown, shown
