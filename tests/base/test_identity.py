"""Ids that follow from keys."""

import struct
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from omnigraph_sql.base.catalog import EdgeType, Key, NodeType, Property
from omnigraph_sql.base.errors import ValueOutOfRange
from omnigraph_sql.base.identity import canonical_text, derive_edge_id, derive_id, key_members
from omnigraph_sql.base.types import (
    BLOB,
    BOOL,
    DATE,
    DATETIME,
    F32,
    F64,
    I32,
    I64,
    STRING,
    U32,
    U64,
    DataType,
    EnumType,
    ListType,
    ScalarType,
    VectorType,
    integer_range,
)
from tests.strategies_pg import KEY_TYPES

AB = EnumType(("a", "b"))


def values_of(of: DataType) -> st.SearchStrategy[object]:
    """Key values as a column stores them."""
    if isinstance(of, EnumType):
        return st.sampled_from(of.labels)
    if of == STRING:
        return st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
    if of == BOOL:
        return st.booleans()
    if of == DATE:
        return st.one_of(st.dates(), st.integers(-(2**31), 2**31 - 1))
    if of == DATETIME:
        return st.one_of(st.datetimes(timezones=st.just(UTC)), st.integers(-(2**63), 2**63 - 1))
    if of in (F32, F64):
        return st.floats(allow_nan=False, allow_infinity=False, width=32 if of == F32 else 64)
    assert isinstance(of, ScalarType)
    return st.integers(*integer_range(of))


@pytest.mark.parametrize(
    ("value", "of", "text"),
    [
        ("", STRING, ""),
        ('é"\n', STRING, 'é"\n'),
        ("a", AB, "a"),
        (True, BOOL, "true"),
        (False, BOOL, "false"),
        (0, I32, "0"),
        (-7, I64, "-7"),
        (2**64 - 1, U64, "18446744073709551615"),
        (date(1970, 1, 2), DATE, "1"),
        (date(1969, 12, 31), DATE, "-1"),
        (19000, DATE, "19000"),
        (datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC), DATETIME, "1000005"),
        (datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), DATETIME, "-1"),
        (datetime(1970, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))), DATETIME, "0"),
        (-5, DATETIME, "-5"),
        (0.0, F64, "0"),
        (-0.0, F64, "0"),
        (-0.0, F32, "0"),
        (1.0, F64, "1"),
        (1, F64, "1"),
        (-2.5, F32, "-2.5"),
        (0.1, F64, "0.1"),
        (0.1, F32, "0.1"),
        (1e22, F64, "10000000000000000000000"),
        (5e-324, F64, "0." + "0" * 323 + "5"),
        (1e-7, F32, "0.0000001"),
        (16777216.0, F32, "16777216"),
        (3.4028234663852886e38, F32, "340282350000000000000000000000000000000"),
        (1.401298464324817e-45, F32, "0.000000000000000000000000000000000000000000001"),
    ],
)
def test_a_value_has_one_text(value: object, of: DataType, text: str) -> None:
    assert canonical_text(value, of) == text


@pytest.mark.parametrize(
    ("value", "of"),
    [
        (None, STRING),
        (None, I32),
        (1, STRING),
        ("c", AB),
        ("true", BOOL),
        (1, BOOL),
        (True, I32),
        (1.0, I32),
        ("1", I32),
        (2**31, I32),
        (-1, U32),
        (2**63, I64),
        (float("nan"), F64),
        (float("inf"), F64),
        (float("-inf"), F32),
        (1e39, F32),
        (10**400, F64),
        (True, F64),
        ("1.0", F64),
        ("2024-01-01", DATE),
        (2**31, DATE),
        (True, DATE),
        (datetime(2024, 1, 1, tzinfo=UTC), DATE),
        (datetime(2024, 1, 1), DATETIME),
        (date(2024, 1, 1), DATETIME),
        (2**63, DATETIME),
        (b"x", BLOB),
        ([1], ListType(I32)),
        ([1.0], VectorType(1)),
    ],
)
def test_what_cannot_be_a_key_is_refused(value: object, of: DataType) -> None:
    with pytest.raises(ValueOutOfRange):
        canonical_text(value, of)


FLOATS_32 = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(FLOATS_32)
@example(353778.375)
@example(2.0**-44)
@example(2.0**-149)
@example(9.5367431640625e-07)
@example(8388609.0)
def test_a_small_float_has_the_shortest_text_that_leads_back(value: float) -> None:
    text = canonical_text(value, F32)
    assert struct.pack("<f", float(text)) == struct.pack("<f", value + 0.0)
    peer = pc.cast(pa.array([value], pa.float32()), pa.utf8())[0].as_py()
    assert Decimal(text) == Decimal(peer)


@pytest.mark.parametrize("exponent", range(-149, 128))
def test_powers_of_two_have_the_shortest_text(exponent: int) -> None:
    peer = pc.cast(pa.array([2.0**exponent], pa.float32()), pa.utf8())[0].as_py()
    assert Decimal(canonical_text(2.0**exponent, F32)) == Decimal(peer)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_large_float_leads_back_to_itself(value: float) -> None:
    assert float(canonical_text(value, F64)) == value


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-3e38, max_value=3e38))
def test_a_small_float_is_spelled_as_it_is_stored(value: float) -> None:
    stored = struct.unpack("<f", struct.pack("<f", value))[0]
    assert canonical_text(value, F32) == canonical_text(stored, F32)


def member(name: str, of: DataType, stable_id: int) -> Property:
    return Property(name, of, False, stable_id=stable_id)


def test_one_member_is_its_text_and_several_are_an_array() -> None:
    aisle, slot = member("aisle", I32, 7), member("slot", I32, 9)
    assert derive_id([(aisle, 4)]) == "4"
    assert derive_id([(aisle, 4), (slot, 12)]) == '["4","12"]'


def test_members_are_ordered_by_identity_not_by_name_or_position() -> None:
    first, second = member("z", I32, 1), member("a", I32, 2)
    assert derive_id([(second, 20), (first, 10)]) == derive_id([(first, 10), (second, 20)]) == '["10","20"]'


def test_texts_are_quoted_so_that_no_two_tuples_look_alike() -> None:
    one, two = member("a", STRING, 1), member("b", STRING, 2)
    assert derive_id([(one, 'x","y'), (two, "é\n")]) == '["x\\",\\"y","é\\n"]'


def test_a_null_member_is_refused() -> None:
    with pytest.raises(ValueOutOfRange, match="cannot be null"):
        derive_id([(member("a", I32, 1), 1), (member("b", I32, 2), None)])


def test_a_key_without_members_is_no_key() -> None:
    with pytest.raises(ValueError, match="at least one member"):
        derive_id([])


def test_an_edge_id_starts_with_its_ends() -> None:
    since, kind = member("since", DATE, 9), member("kind", STRING, 4)
    assert derive_edge_id("a", "b") == '["a","b"]'
    assert derive_edge_id("b", "a") != derive_edge_id("a", "b")
    assert derive_edge_id("a", "b", [(since, 3), (kind, "k")]) == '["a","b","k","3"]'


def test_members_of_a_key_come_in_the_order_of_ids() -> None:
    a, b, c = member("a", I32, 3), member("b", I32, 1), member("c", I32, 2)
    assert key_members(NodeType("N", (a, b, c), (Key(("a", "b")),))) == (b, a)
    assert key_members(EdgeType("E", (a, b, c), (Key(("src", "dst", "a", "c")),), source="N", target="N")) == (c, a)
    assert key_members(NodeType("N", (a,))) == ()


@st.composite
def tuples_of_one_key(draw: st.DrawFn) -> tuple[list[Property], list[object], list[object]]:
    types = draw(st.lists(st.sampled_from(KEY_TYPES), min_size=1, max_size=3))
    members = [member(f"p{at}", of, at + 1) for at, of in enumerate(types)]
    one = [draw(values_of(of)) for of in types]
    other = [draw(st.one_of(st.just(value), values_of(of))) for of, value in zip(types, one, strict=True)]
    return members, one, other


def stored(value: object, of: DataType) -> object:
    """What a column holds, in a form in which equal means equal."""
    if of == DATE and isinstance(value, date):
        return (value - date(1970, 1, 1)).days
    if of == DATETIME and isinstance(value, datetime):
        return (value - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    return value


@given(tuples_of_one_key())
def test_pg_10_equal_keys_have_equal_ids_and_different_keys_have_different_ones(
    case: tuple[list[Property], list[object], list[object]],
) -> None:
    members, one, other = case
    same = [stored(v, p.type) for p, v in zip(members, one, strict=True)] == [
        stored(v, p.type) for p, v in zip(members, other, strict=True)
    ]
    ids = [derive_id(list(zip(members, values, strict=True))) for values in (one, other)]
    assert (ids[0] == ids[1]) == same


@given(st.integers(-(2**40), 2**40), st.integers(1, 999))
def test_pg_10_moments_within_one_millisecond_have_different_ids(at: int, apart: int) -> None:
    when = member("when", DATETIME, 1)
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at)
    assert derive_id([(when, moment)]) != derive_id([(when, moment + timedelta(microseconds=apart))])
