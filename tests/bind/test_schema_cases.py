"""Every wrong schema text is refused with its code, at its place, with its message."""

import pytest

from omnigraph_sql.base.errors import LanguageError
from omnigraph_sql.bind.schema import S, compile_schema
from tests.cases_pg import WrongText, wrong_texts

CASES = list(wrong_texts())
NEEDS_MORE_THAN_A_TEXT = {S.HINT_ACROSS, S.HINT_TWICE, S.CONTRACT}


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_wrong_text_is_refused_with_code_place_and_message(case: WrongText) -> None:
    with pytest.raises(LanguageError) as caught:
        compile_schema(case.text)
    error = caught.value
    assert (error.code, error.at.line, error.at.column) == (case.code, case.line, case.column), error.report()
    assert case.message in error.message or case.message in (error.hint or "")


def test_names_of_cases_are_distinct() -> None:
    names = [case.name for case in CASES]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("code", [code for code in S if code not in NEEDS_MORE_THAN_A_TEXT])
def test_every_code_has_a_case(code: S) -> None:
    assert any(case.code == code.value for case in CASES)
