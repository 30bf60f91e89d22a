"""Errors: the facts they carry, the text they show, and the tree they form."""

import pytest

from omnigraph_sql.base import errors
from omnigraph_sql.base.errors import (
    CommitUnknown,
    ConflictError,
    DataError,
    ExpectedVersionMismatch,
    InternalError,
    KeyConflict,
    LanguageError,
    LimitError,
    Location,
    OmniError,
    ParseError,
    PreconditionFailed,
    ReadSetChanged,
    RecoveryRequired,
    ResourceLimitExceeded,
    StorageError,
    TextLimitExceeded,
)

AT = Location("my.pg", 2, 5, 14, 17, 14, 17, "    abc: I32")


def test_a_language_error_draws_its_place() -> None:
    error = ParseError("bad", at=AT, expected=("a", "b"), suggestion="abd", hint="write it well")
    assert error.report() == (
        "error[parse]: bad\n"
        " --> my.pg:2:5\n"
        "  |\n"
        "2 |     abc: I32\n"
        "  |     ^^^\n"
        "  = expected: a, b\n"
        "  = did you mean 'abd'?\n"
        "  = hint: write it well"
    )


def test_a_language_error_tells_its_facts() -> None:
    error = ParseError("bad", at=AT, expected=("a",), suggestion="abd", hint="h", code="S1")
    assert error.to_dict() == {
        "error": "bad",
        "code": "S1",
        "line": 2,
        "column": 5,
        "span": [14, 17],
        "expected": ["a"],
        "suggestion": "abd",
        "hint": "h",
    }


def test_a_place_at_the_end_of_a_line_still_gets_a_caret() -> None:
    assert Location("t", 1, 4, 3, 3, 3, 3, "abc").drawing().endswith("|    ^")


def test_tabs_before_a_place_stay_tabs_so_that_the_caret_lines_up() -> None:
    assert Location("t", 1, 2, 1, 2, 1, 2, "\tx").drawing().endswith("| \t^")


def test_a_span_over_several_lines_is_drawn_on_the_first() -> None:
    assert Location("t", 1, 2, 1, 50, 1, 50, "abc").drawing().endswith("|  ^^")


def test_a_long_line_is_cut_around_the_place() -> None:
    drawing = Location("t", 1, 5001, 5000, 5003, 5000, 5003, "x" * 5000 + "abc" + "y" * 5000).drawing()
    line, carets = drawing.splitlines()[-2:]
    assert len(line) < 200
    assert line[carets.index("^") :].startswith("abc")
    assert carets.count("^") == 3


@pytest.mark.parametrize(("line", "column", "start", "end"), [(0, 1, 0, 0), (1, 0, 0, 0), (1, 1, 3, 2)])
def test_an_impossible_place_cannot_be_built(line: int, column: int, start: int, end: int) -> None:
    with pytest.raises(ValueError, match=r"count from 1|starts before"):
        Location("t", line, column, start, end, start, max(start, end), "")


def test_a_text_limit_is_both_a_language_and_a_limit_error() -> None:
    error = TextLimitExceeded("too much", at=AT, resource="items", limit=3, actual=4, hint="less")
    assert isinstance(error, LanguageError)
    assert isinstance(error, ResourceLimitExceeded)
    assert isinstance(error, LimitError)
    facts = error.to_dict()
    assert (facts["code"], facts["resource"], facts["limit"], facts["actual"], facts["line"]) == (
        "text_limit",
        "items",
        3,
        4,
        2,
    )


def test_conflicts_tell_what_was_expected_and_what_was_there() -> None:
    assert ReadSetChanged("x", member="graph_head:main", expected=1, actual=2).to_dict() == {
        "error": "x",
        "code": "read_set_changed",
        "member": "graph_head:main",
        "expected": 1,
        "actual": 2,
    }
    assert ExpectedVersionMismatch("x", table_key="t", expected=1, actual=2).to_dict() == {
        "error": "x",
        "code": "conflict",
        "manifest_conflict": {"table_key": "t", "expected": 1, "actual": 2},
    }
    assert PreconditionFailed("x", expected="a", actual="b").to_dict()["actual"] == "b"


def test_errors_after_the_point_of_no_return_name_what_to_ask_about() -> None:
    assert RecoveryRequired("x", operation_id="op").to_dict()["operation_id"] == "op"
    assert CommitUnknown("x", commit_id="c").to_dict()["commit_id"] == "c"


def test_a_storage_error_has_a_known_kind() -> None:
    assert StorageError("x", kind="transient").to_dict()["kind"] == "transient"
    with pytest.raises(ValueError, match="unknown storage error kind"):
        StorageError("x", kind="odd")


def test_an_error_without_a_place_reports_code_message_and_hint() -> None:
    assert InternalError("oops", hint="tell us").report() == "error[internal]: oops\n  = hint: tell us"
    assert str(InternalError("oops")) == "oops"
    assert InternalError("oops").to_dict() == {"error": "oops", "code": "internal"}


def test_the_class_tells_the_next_move() -> None:
    assert issubclass(KeyConflict, DataError)
    assert issubclass(ReadSetChanged, ConflictError)
    assert not issubclass(CommitUnknown, ConflictError)


def tree(of: type[OmniError]) -> set[type[OmniError]]:
    return {of}.union(*(tree(sub) for sub in of.__subclasses__()))


def test_every_error_has_a_code_and_a_sentence_about_itself() -> None:
    here = {of for of in tree(OmniError) if of.__module__ == errors.__name__}
    assert len(here) > 20
    for of in here:
        assert of.default_code
        assert of.__doc__


@pytest.mark.parametrize("columns", [24, 40, 60, 80])
@pytest.mark.parametrize("place", [0, 7, 50, 95])
def test_a_drawing_fits_a_narrow_screen_and_the_carets_still_point(columns: int, place: int) -> None:
    text = "a" * place + "WRONG" + "b" * (95 - place)
    at = Location("t", 1, place + 1, place, place + 5, place, place + 5, text)
    error = LanguageError("x", at=at)
    line, carets = error.report(columns).splitlines()[-2:]
    assert max(len(line), len(carets)) <= columns
    pointed = "".join(c for c, caret in zip(line, carets, strict=False) if caret == "^")
    assert pointed == "WRONG"[: len(pointed)]
    assert pointed


def test_a_screen_that_is_hardly_there_still_shows_something() -> None:
    at = Location("t", 1, 31, 30, 35, 30, 35, "a" * 30 + "WRONG" + "b" * 30)
    assert "WRONG" in LanguageError("x", at=at).report(5)
