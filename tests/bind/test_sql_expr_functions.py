"""Every function of the tables, under every name and with every number of arguments."""

from __future__ import annotations

import pytest

from omnigraph_sql.base.expr import Aggregate, Arithmetic, Call, Case, Cast, Expr, Param, WindowCall
from omnigraph_sql.base.types import is_open
from omnigraph_sql.bind.sql_functions import AGGREGATES, ALL_NAMES, GRAPH, SCALARS, SEARCH, SPECIAL, WINDOWS, Signature
from tests.sql_sites import bound, refusal

_VALUES = {
    "n": "c.rating",
    "i": "a.elevation",
    "t": "a.city",
    "l": "a.tags",
    "d": "c.updated",
    "b": "(a.elevation > 1)",
    "c": "a.elevation",
    ".": "a.code",
}
_WRONG = {"n": "a.city", "i": "a.city", "t": "a.elevation", "l": "a.city", "d": "a.city", "b": "a.city", "c": "a.photo"}
_LAMBDAS = {"array_transform": "x -> x", "array_filter": "x -> x = 'y'", "array_any_match": "x -> x = 'y'"}
_NAMES = {"now", "today", "current_timestamp", "current_date", "current_time", "localtimestamp"}
# The parser itself counts the arguments of these.
_KEYWORD_CALLS = {"position", "overlay", "trim", "substring", "string_agg", "group_concat", "listagg", "map"}
_SERIES = {"range", "generate_series"}


def _arguments(name: str, signature: Signature, count: int) -> list[str]:
    if name in ("datepart", "date_part", "datetrunc", "date_trunc"):
        return ["'year'", "c.updated", "1"][:count]
    if name in ("array_push_front", "list_push_front"):
        return ["a.tags", "a.code", "1"][:count]
    values = [_VALUES[signature.kind(at)] for at in range(count)]
    if signature.name in _LAMBDAS and count > 1:
        values[1] = _LAMBDAS[signature.name]
    return values


def _counts(signature: Signature) -> range:
    most = signature.most if signature.most is not None else signature.least + 2
    return range(signature.least, most + 1)


def _calls(table: dict[str, Signature]) -> list[tuple[str, int]]:
    return [(name, count) for name, signature in table.items() for count in _counts(signature)]


def _function(made: Expr) -> str:
    assert isinstance(made, Call | Aggregate | WindowCall)
    return made.function


@pytest.mark.parametrize(("name", "count"), _calls(SCALARS))
def test_a_scalar_function_is_called_by_the_name_the_engine_has_for_it(name: str, count: int) -> None:
    signature = SCALARS[name]
    made = bound(f"{name}({', '.join(_arguments(name, signature, count))})")
    if signature.name == "make_array" and count == 0:
        assert made == bound("[]")
        return
    # Without names for its fields a struct is a row.
    assert _function(made) == ("struct" if name == "struct_pack" else signature.name)


@pytest.mark.parametrize(("name", "count"), _calls(AGGREGATES))
def test_an_aggregate_is_called_by_the_name_the_engine_has_for_it(name: str, count: int) -> None:
    signature = AGGREGATES[name]
    made = bound(f"{name}({', '.join(_arguments(name, signature, count))})")
    assert isinstance(made, Aggregate)
    assert made.function == signature.name


@pytest.mark.parametrize(("name", "count"), _calls({**AGGREGATES, **WINDOWS}))
def test_every_aggregate_and_window_function_takes_a_window(name: str, count: int) -> None:
    signature = WINDOWS.get(name) or AGGREGATES[name]
    made = bound(f"{name}({', '.join(_arguments(name, signature, count))}) OVER (ORDER BY a.code)")
    assert isinstance(made, WindowCall)
    assert made.function == signature.name


def _wrong_counts(table: dict[str, Signature]) -> list[tuple[str, int]]:
    wrong = [(name, s.least - 1) for name, s in table.items() if s.least > 0]
    wrong += [(name, s.most + 1) for name, s in table.items() if s.most is not None]
    return [(name, count) for name, count in wrong if name not in _KEYWORD_CALLS | _SERIES]


@pytest.mark.parametrize(("name", "count"), _wrong_counts({**SCALARS, **AGGREGATES}))
def test_a_wrong_number_of_arguments_is_refused_with_the_right_one(name: str, count: int) -> None:
    signature = SCALARS.get(name) or AGGREGATES[name]
    error, under = refusal(f"{name}({', '.join(['a.code'] * count)})")
    assert error.code == "type"
    assert error.message == f"{name} takes {signature.arity}, not {count}"
    assert under == name


@pytest.mark.parametrize(("name", "count"), _wrong_counts(WINDOWS))
def test_a_window_function_counts_its_arguments_too(name: str, count: int) -> None:
    error, _ = refusal(f"{name}({', '.join(['a.code'] * count)}) OVER ()")
    assert error.message == f"{name} takes {WINDOWS[name].arity}, not {count}"


@pytest.mark.parametrize(
    ("name", "at"),
    [
        (name, at)
        for name, signature in {**SCALARS, **AGGREGATES}.items()
        for at in range(signature.least)
        if signature.kind(at) != "."
    ],
)
def test_an_argument_of_another_kind_is_refused_where_it_stands(name: str, at: int) -> None:
    signature = SCALARS.get(name) or AGGREGATES[name]
    arguments = _arguments(name, signature, signature.least)
    if name in ("datepart", "date_part", "datetrunc", "date_trunc") and at == 0:
        arguments[0] = "'yaer'"
    elif name == "position":
        arguments = ["a.city", "a.elevation"]
    elif name in ("array_push_front", "list_push_front"):
        arguments = ["a.city", "a.code"]
    else:
        arguments[at] = _WRONG[signature.kind(at)]
    error, under = refusal(f"{name}({', '.join(arguments)})")
    assert error.code in ("type", "unknown_name")
    assert under in arguments


def test_no_name_means_two_things() -> None:
    assert not SCALARS.keys() & AGGREGATES.keys()
    assert not (SCALARS.keys() | AGGREGATES.keys() | WINDOWS.keys()) & {*SEARCH, *SPECIAL, *GRAPH}


def test_every_special_name_is_known() -> None:
    calls = {
        **dict.fromkeys(_NAMES, ""),
        **dict.fromkeys(("list_contains", "array_has", "array_contains", "list_has"), "a.tags, 'x'"),
        **dict.fromkeys(("if", "iif"), "TRUE, 1, 2"),
        **dict.fromkeys(("mod", "xor"), "a.elevation, 2"),
        **dict.fromkeys(("date", "timestamp"), "a.city"),
        "count_if": "TRUE",
    }
    assert calls.keys() == set(SPECIAL)
    for name, arguments in calls.items():
        made = bound(f"{name}({arguments})")
        assert isinstance(made, Call | Case | Cast | Param | Arithmetic | Aggregate), name


@pytest.mark.parametrize("name", [*SCALARS, *AGGREGATES, *WINDOWS, *SEARCH, *SPECIAL, *GRAPH])
def test_a_misspelt_function_is_answered_with_a_known_one(name: str) -> None:
    assert name in ALL_NAMES
    error, under = refusal(f"{name}_x(1)")
    assert (error.code, under) == ("unknown_name", f"{name}_x")
    assert error.suggestion in ALL_NAMES or len(name) < 4


@pytest.mark.parametrize("name", [*SCALARS, *AGGREGATES])
def test_the_type_of_a_call_is_known_unless_its_arguments_decide_at_run_time(name: str) -> None:
    signature = SCALARS.get(name) or AGGREGATES[name]
    made = bound(f"{name}({', '.join(_arguments(name, signature, signature.least))})")
    assert not is_open(made.type) or signature.result == "any" or signature.result.startswith("item")


def test_names_are_found_in_any_case() -> None:
    assert bound("LOWER(a.city)") == bound("lower(a.city)") == bound('"Lower"(a.city)')
