"""The same question asked in SQL, GRAPH_TABLE and `.gq` has the same plan text."""

from __future__ import annotations

import pytest

from omnigraph_sql.base.catalog import Catalog
from omnigraph_sql.plan.compile import compile_gq, compile_sql
from omnigraph_sql.plan.explain import explain
from tests.case_files import Case, airport_catalog, read_cases

READS = read_cases("same/reads.case")
WRITES = read_cases("same/writes.case")


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return airport_catalog()


def plan_text(language: str, text: str, catalog: Catalog) -> str:
    compiled = (compile_gq if language == "gq" else compile_sql)(text, catalog)
    (statement,) = compiled.programs
    return explain(statement.plan)


@pytest.mark.parametrize("case", [*READS, *WRITES], ids=lambda c: c.name)
def test_every_spelling_gives_the_plan_of_the_case(case: Case, catalog: Catalog) -> None:
    expected = case.only("plan")
    for language, text in case.sections:
        if language != "plan":
            assert plan_text(language, text, catalog) == expected, f"{language}: {text}"


def test_there_are_enough_questions_and_each_has_two_spellings() -> None:
    cases = [*READS, *WRITES]
    languages = [{language for language, _ in case.sections} - {"plan"} for case in cases]
    assert sum(len(found) >= 2 for found in languages) >= 40
    assert all(len(case.sections) >= 3 for case in cases)
    assert sum("graph_table" in found for found in languages) >= 20
