"""The text cases of `.gq`: syntax trees, bound queries, and errors with the very text they point at."""

from __future__ import annotations

import pytest

from omnigraph_sql.base.errors import LanguageError
from omnigraph_sql.grammar.gq import parse_any
from tests.case_files import Case
from tests.gq_cases import bound_text, compiled, expected_error, gq_cases, options_of, tree_text


def with_ids(expects: str) -> list[object]:
    return [pytest.param(case, id=name) for name, case in gq_cases(expects)]


@pytest.mark.parametrize("case", with_ids("tree"))
def test_a_text_has_this_tree(case: Case) -> None:
    unit = parse_any(case.only("gq"), extensions=options_of(case).extensions)
    assert "\n".join(tree_text(query) for query in unit.queries) == case.only("tree")


@pytest.mark.parametrize("case", with_ids("bound"))
def test_a_query_is_bound_like_this(case: Case) -> None:
    assert "\n".join(bound_text(program) for program in compiled(case)) == case.only("bound")


@pytest.mark.parametrize("case", with_ids("error"))
def test_a_wrong_text_is_refused_with_its_place(case: Case) -> None:
    wanted, text = expected_error(case.only("error")), case.only("gq")
    with pytest.raises(LanguageError) as caught:
        compiled(case)
    error = caught.value
    assert error.code == wanted.code
    assert text[error.at.start : error.at.end] == wanted.under
    assert text.encode()[error.at.byte_start : error.at.byte_end].decode() == wanted.under
    assert wanted.message in error.message
    assert error.suggestion == wanted.near
    assert (error.hint is None) == (wanted.hint is None)
    assert (wanted.hint or "") in (error.hint or "")
    assert wanted.under.split("\n")[0] in error.report()
