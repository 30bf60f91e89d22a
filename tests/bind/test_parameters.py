"""Values for declared parameters: what each type takes, what it refuses, and in whose words."""

from __future__ import annotations

import json
import math
import struct
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph_sql.base.errors import DataError, ValueOutOfRange
from omnigraph_sql.base.expr import NOW_PARAMETER, Param, Value
from omnigraph_sql.base.types import (
    ANY,
    BLOB,
    BOOL,
    DATE,
    DATETIME,
    F32,
    F64,
    I32,
    I64,
    STRING,
    TIME,
    U32,
    U64,
    DataType,
    DecimalType,
    EnumType,
    ListType,
    StructType,
    VectorType,
    type_text,
)
from omnigraph_sql.bind.gq import bind_query
from omnigraph_sql.bind.parameters import bind_parameters
from omnigraph_sql.grammar.gq import parse_unit
from tests.case_files import airport_catalog


def bound(of: DataType, value: object, **options: bool) -> Value:
    return bind_parameters((Param("p", of, False),), {"p": value}, **options)["p"]


def refusal(of: DataType, value: object, **options: bool) -> DataError:
    with pytest.raises(DataError) as caught:
        bound(of, value, **options)
    return caught.value


def single(value: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


LABELS = EnumType(("a", "b"))
NOON = datetime(2031, 2, 3, 12, 0, tzinfo=UTC)


# ---- what a type takes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("of", "given_value", "value"),
    [
        (STRING, "x", "x"),
        (STRING, "", ""),
        (STRING, "\U0001d11e", "\U0001d11e"),
        (BOOL, True, True),
        (BOOL, False, False),
        (I32, 7, 7),
        (I32, "7", 7),
        (I32, "-7", -7),
        (I32, "007", 7),
        (I64, Decimal("3"), 3),
        (U64, 0, 0),
        (F64, 7, 7.0),
        (F64, 7.5, 7.5),
        (F64, Fraction(1, 2), 0.5),
        (F64, Decimal("0.5"), 0.5),
        (F32, 0.1, single(0.1)),
        (DATE, "2031-02-03", date(2031, 2, 3)),
        (DATE, date(2031, 2, 3), date(2031, 2, 3)),
        (DATETIME, "2031-02-03T04:05:06Z", datetime(2031, 2, 3, 4, 5, 6, tzinfo=UTC)),
        (DATETIME, "2031-02-03t04:05:06.5z", datetime(2031, 2, 3, 4, 5, 6, 500000, tzinfo=UTC)),
        (DATETIME, "2031-02-03 04:05:06.123456789+02:00", datetime(2031, 2, 3, 2, 5, 6, 123456, tzinfo=UTC)),
        (DATETIME, datetime(2031, 2, 3, 12, 0), NOON),
        (DATETIME, datetime(2031, 2, 3, 13, 0, tzinfo=timezone(timedelta(hours=1))), NOON),
        (VectorType(2), [1, 0.1], (1.0, single(0.1))),
        (VectorType(2), (1.0, 2.0), (1.0, 2.0)),
        (ListType(STRING), [], ()),
        (ListType(I32), [1, "2"], (1, 2)),
        (ListType(DATE), ["2031-02-03"], (date(2031, 2, 3),)),
        (BLOB, "text", "text"),
        (BLOB, b"\x00", b"\x00"),
        (BLOB, bytearray(b"\x00"), b"\x00"),
        (LABELS, "a", "a"),
        (TIME, time(4, 5), time(4, 5)),
        (DecimalType(10, 2), "1.50", Decimal("1.50")),
        (DecimalType(10, 2), 3, Decimal(3)),
        (ANY, 3, 3),
        (ANY, [1, "a", 2.5, True], (1, "a", 2.5, True)),
        (ANY, datetime(2031, 2, 3, 12, 0), NOON),
    ],
    ids=lambda part: repr(part)[:40],
)
def test_a_type_takes_this(of: DataType, given_value: object, value: Value) -> None:
    found = bound(of, given_value)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("of", "low", "high"),
    [
        (I32, -(2**31), 2**31 - 1),
        (I64, -(2**63), 2**63 - 1),
        (U32, 0, 2**32 - 1),
        (U64, 0, 2**63 - 1),
        (ListType(I32), -(2**31), 2**31 - 1),
    ],
    ids=["I32", "I64", "U32", "U64", "[I32]"],
)
def test_integers_reach_from_here_to_there(of: DataType, low: int, high: int) -> None:
    is_list = isinstance(of, ListType)
    for number in (low, low + 1, high - 1, high):
        assert bound(of, [number] if is_list else number) == ((number,) if is_list else number)
        assert bound(of, [str(number)] if is_list else str(number)) == ((number,) if is_list else number)
    for beyond in (low - 1, high + 1, str(low - 1), str(high + 1)):
        error = refusal(of, [beyond] if is_list else beyond)
        assert isinstance(error, ValueOutOfRange)
        assert str(beyond) in error.message
        assert f"from {low} to {high}" in error.message


def test_floats_reach_from_here_to_there() -> None:
    largest = single(3.4028234663852886e38)
    assert bound(F32, largest) == largest
    assert bound(F64, 1.7976931348623157e308) == 1.7976931348623157e308
    for of, number in (
        (F32, 3.5e38),
        (F64, 10**400),
        (F64, math.inf),
        (F64, -math.inf),
        (F64, math.nan),
        (F32, math.nan),
    ):
        assert isinstance(refusal(of, number), ValueOutOfRange)


# ---- what a type refuses ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("of", "values"),
    [
        (STRING, [1, True, b"x", ["x"], {"x": 1}]),
        (BOOL, [1, 0, "true"]),
        (I32, [1.0, 1.5, True, "1.0", " 1", "+1", "1e3", "", "٣", "9" * 21, Decimal("1.5"), Decimal("NaN"), [1], {}]),
        (F64, ["1.5", True, b"1", [1.5], {}, 1j]),
        (DATE, [1, "2031-2-3", "2031-02-30", "20310203", "x'y", "2031-02-03T00:00:00Z", NOON]),
        (DATETIME, [1, "2031-02-03", "2031-02-03T04:05:06", "2031-02-03T25:00:00Z", date(2031, 2, 3)]),
        (DATETIME, ["0001-01-01T00:00:00+01:00", datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1)))]),
        (
            VectorType(2),
            [[1.0], [1.0, 2.0, 3.0], [], "ab", 1.0, [1.0, "2"], [1.0, None], [True, 1.0], {"0": 1, "1": 2}],
        ),
        (VectorType(2), [[1.0, math.nan], [1.0, 1e39]]),
        (ListType(STRING), ["x", [1], ["x", None], [["x"]], {"x": 1}, 3]),
        (BLOB, [1, ["x"]]),
        (LABELS, ["c", "A", 1]),
        (TIME, ["04:05", 1]),
        (DecimalType(10, 2), ["x", 1.5, True, "NaN"]),
        (StructType((("x", I32),)), [{"x": 1}]),
        (ANY, [{"x": 1}, [[1]], [{"x": 1}], [None], object(), 2**63, -(2**63) - 1, math.nan]),
        (STRING, ["\ud800"]),
        (BLOB, ["a\udfff"]),
        (ANY, ["\ud800", ["\ud800"]]),
    ],
    ids=lambda part: type_text(part) if not isinstance(part, list) else None,
)
def test_a_type_refuses_these_and_names_the_parameter(of: DataType, values: list[object]) -> None:
    for value in values:
        assert "parameter p" in refusal(of, value).message, value


def test_a_bad_element_is_counted_from_one() -> None:
    assert "parameter p, element 2" in refusal(ListType(I32), [1, "x", 3]).message
    assert "parameter p, element 3" in refusal(VectorType(3), [1, 2, "x"]).message
    assert "parameter p, element 2 is null" in refusal(ListType(I32), [1, None]).message


def test_a_wrong_length_says_both_lengths() -> None:
    assert refusal(VectorType(3), [1, 2]).message == "parameter p has 2 numbers; Vector(3) needs 3"


def test_a_long_value_is_cut_in_the_message() -> None:
    assert len(refusal(I32, "x" * 10_000).message) < 150


# ---- which parameters there are ---------------------------------------------------------------------------------

C = Param("c", STRING, False)
N = Param("n", I32, True)


def test_a_nullable_parameter_may_be_null_or_missing() -> None:
    assert bind_parameters((N,), {"n": None}) == {"n": None}
    assert bind_parameters((N,), {}) == {"n": None}
    assert bind_parameters((N,), None) == {"n": None}


def test_a_parameter_that_is_not_nullable_may_be_neither() -> None:
    with pytest.raises(DataError, match="parameter c is null"):
        bind_parameters((C,), {"c": None})
    with pytest.raises(DataError, match="parameter c is missing") as caught:
        bind_parameters((C,), {})
    assert caught.value.hint == "it is declared as String"
    with pytest.raises(DataError, match="parameter c is missing"):
        bind_parameters((C,), None)


def test_a_value_nobody_declared_is_refused() -> None:
    with pytest.raises(DataError, match="no parameter is called x") as caught:
        bind_parameters((C,), {"c": "v", "x": 1})
    assert caught.value.hint is None


def test_a_misspelt_name_is_what_is_reported() -> None:
    with pytest.raises(DataError, match="no parameter is called cty") as caught:
        bind_parameters((Param("city", STRING, False),), {"cty": "Lima"})
    assert caught.value.hint == "did you mean city?"
    with pytest.raises(DataError) as caught:
        bind_parameters((Param("city", STRING, False),), {"$city": "Lima"})
    assert caught.value.hint == "did you mean city?"


def test_lenient_infers_what_nobody_declared() -> None:
    more = {"i": 1, "f": 1.5, "s": "x", "b": True, "n": None, "l": [1, 2], "m": [1.5, "x"], "e": []}
    found = bind_parameters((C,), {"c": "v", **more}, lenient=True)
    assert found == {**more, "c": "v", "l": (1, 2), "m": (1.5, "x"), "e": ()}
    for value in ({"x": 1}, [{"x": 1}], [[1]], [None], 2**64):
        with pytest.raises(DataError, match="parameter x"):
            bind_parameters((), {"x": value}, lenient=True)


@pytest.mark.parametrize("lenient", [False, True])
def test_the_instant_of_the_statement_is_not_handed_over(lenient: bool) -> None:
    with pytest.raises(DataError, match="reserved"):
        bind_parameters((), {NOW_PARAMETER: "2031-02-03T04:05:06Z"}, lenient=lenient)


@pytest.mark.parametrize("document", ["{}", b"{}", 3, 1.5, True, {1, 2}])
def test_the_document_is_an_object(document: object) -> None:
    with pytest.raises(DataError, match="an object of names and values"):
        bind_parameters((C,), document)  # type: ignore[arg-type]


def test_an_array_is_no_object() -> None:
    with pytest.raises(DataError, match=r"these parameters have names \(c\)"):
        bind_parameters((C,), ["x"])


def test_names_are_strings() -> None:
    with pytest.raises(DataError, match="parameter names are strings"):
        bind_parameters((C,), {1: "x"})  # type: ignore[dict-item]


def test_positional_parameters_take_an_array_or_their_numbers() -> None:
    params = (Param("1", STRING, False), Param("2", I32, False))
    assert bind_parameters(params, ["x", "3"]) == {"1": "x", "2": 3}
    assert bind_parameters(params, ("x", 3)) == {"1": "x", "2": 3}
    assert bind_parameters(params, {"2": 3, "1": "x"}) == {"1": "x", "2": 3}
    for values, told in ((["x"], "1 value was given"), (["x", 3, 4], "3 values were given")):
        with pytest.raises(DataError, match=f"^the statement has 2 parameters, {told}$"):
            bind_parameters(params, values)


# ---- JavaScript -------------------------------------------------------------------------------------------------

SAFE = 2**53 - 1


@pytest.mark.parametrize("of", [I64, U64, ListType(I64), ANY], ids=type_text)
def test_a_javascript_client_hands_large_integers_over_as_strings(of: DataType) -> None:
    def shaped(value: object) -> object:
        return [value] if isinstance(of, ListType) else value

    assert bound(of, shaped(SAFE), javascript_safe=True)
    error = refusal(of, shaped(SAFE + 1), javascript_safe=True)
    assert isinstance(error, ValueOutOfRange)
    assert error.hint == "hand it over as a string"
    assert bound(of, shaped(SAFE + 1))
    assert bound(of, shaped(str(SAFE + 1)), javascript_safe=True)
    if of != U64:
        assert bound(of, shaped(-SAFE), javascript_safe=True)
        assert refusal(of, shaped(-SAFE - 1), javascript_safe=True).hint == "hand it over as a string"


def test_an_undeclared_large_integer_is_refused_for_javascript_as_well() -> None:
    with pytest.raises(ValueOutOfRange, match="JavaScript"):
        bind_parameters((), {"x": [SAFE + 1]}, lenient=True, javascript_safe=True)


# ---- round trips ------------------------------------------------------------------------------------------------

shortened = st.floats(width=32, allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=["Cs"]))
VALUES: dict[DataType, st.SearchStrategy[Value]] = {
    STRING: texts,
    BOOL: st.booleans(),
    I32: st.integers(-(2**31), 2**31 - 1),
    I64: st.integers(-(2**63), 2**63 - 1),
    U32: st.integers(0, 2**32 - 1),
    U64: st.integers(0, 2**63 - 1),
    F32: shortened,
    F64: st.floats(allow_nan=False, allow_infinity=False),
    DATE: st.dates(),
    DATETIME: st.datetimes(timezones=st.just(UTC)),
    VectorType(3): st.tuples(shortened, shortened, shortened),
    ListType(STRING): st.lists(texts).map(tuple),
    ListType(DATETIME): st.lists(st.datetimes(timezones=st.just(UTC))).map(tuple),
    BLOB: texts,
}


def as_json(value: Value) -> object:
    if isinstance(value, tuple):
        return [as_json(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return value.isoformat() if isinstance(value, date) else value


@given(st.data())
def test_a_valid_value_survives_json_and_binding(data: st.DataObject) -> None:
    of = data.draw(st.sampled_from(list(VALUES)))
    value = data.draw(VALUES[of])
    document = json.loads(json.dumps({"p": as_json(value)}))
    params = (Param("p", of, False),)
    found = bind_parameters(params, document)
    assert found == {"p": value}
    assert bind_parameters(params, found) == found


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=2)),
    max_leaves=6,
)


@given(st.sampled_from([*VALUES, ANY]), json_values, st.booleans(), st.booleans())
def test_any_json_is_bound_or_refused_by_name(of: DataType, value: object, lenient: bool, safe: bool) -> None:
    try:
        bind_parameters((Param("p", of, False),), {"p": value, "q": value}, lenient=lenient, javascript_safe=safe)
    except DataError as error:
        message = error.message
    else:
        return
    assert "parameter p" in message or "parameter q" in message or "is called q" in message


def test_the_parameters_of_a_query_are_bound_by_its_declarations() -> None:
    text = "query q($c: String, $n: I32?, $v: Vector(2), $l: [Date]?) { match { $a: Airport } return { $a } }"
    program = bind_query(parse_unit(text).queries[0], airport_catalog())
    found = bind_parameters(program.parameters, {"c": "LIM", "v": [1, 2], "l": ["2031-02-03"]})
    assert found == {"c": "LIM", "n": None, "v": (1.0, 2.0), "l": (date(2031, 2, 3),)}
