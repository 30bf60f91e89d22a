"""Ids that follow from a key: one text per value, one id per tuple of values.

A DateTime is spelled in microseconds, the precision in which it is stored: a coarser spelling would give two different
keys the same id.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from math import isfinite
from typing import Final

from omnigraph_sql.base.catalog import DST, SRC, EdgeType, NodeType, Property
from omnigraph_sql.base.errors import ValueOutOfRange
from omnigraph_sql.base.types import (
    BOOL,
    DATE,
    DATETIME,
    F32,
    F64,
    STRING,
    DataType,
    EnumType,
    ScalarType,
    integer_range,
    is_integer,
    type_text,
)

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY: Final = date(1970, 1, 1)
_MICROSECOND: Final = timedelta(microseconds=1)
_F32_DIGITS_MAX: Final = 9
"""So many significant digits always lead back to the same 32-bit float."""

_F32_LARGEST_BITS: Final = 0x7F7FFFFF
_WAYS: Final = (ROUND_HALF_EVEN, ROUND_FLOOR, ROUND_CEILING)
"""Half-even first: it decides when two texts are equally near."""


def canonical_text(value: object, of: DataType) -> str:
    """The one spelling of a key value of type `of`; equal values have equal texts, different ones different texts.

    A Date may be given as a `date` or as days since 1970, a DateTime as an aware `datetime` or as microseconds since
    then. Raises ValueOutOfRange for null, for a value of another type and for a float that is not finite.
    """
    if value is None:
        raise ValueOutOfRange("a member of a key cannot be null", hint="give every member of the key a value")
    if of == STRING or isinstance(of, EnumType):
        return _string(value, of)
    if of == BOOL:
        if not isinstance(value, bool):
            raise _refused(value, of)
        return "true" if value else "false"
    if of == DATE:
        return str(_days(value))
    if of == DATETIME:
        return str(_microseconds(value))
    if of in (F32, F64):
        return _float_text(value, of)
    if is_integer(of):
        return str(_integer(value, of))
    raise ValueOutOfRange(f"a {type_text(of)} cannot be a member of a key")


def derive_id(members: Sequence[tuple[Property, object]]) -> str:
    """The id of a node: the text of its only key member, or all texts as a compact JSON array.

    Members are ordered by stable id, so neither renaming nor reordering properties changes an id.
    """
    return _join([canonical_text(value, p.type) for p, value in sorted(members, key=_stable)])


def derive_edge_id(src: str, dst: str, members: Sequence[tuple[Property, object]] = ()) -> str:
    """The id of a keyed edge: both ends, then the other members of its key by stable id."""
    texts = [canonical_text(value, p.type) for p, value in sorted(members, key=_stable)]
    return _join([_string(src, STRING), _string(dst, STRING), *texts])


def key_members(of: NodeType | EdgeType) -> tuple[Property, ...]:
    """The properties in the key of `of`, in the order in which they stand in ids; the ends of an edge are not among."""
    found = [p for name in of.key if name not in (SRC, DST) and (p := of.property(name)) is not None]
    return tuple(sorted(found, key=lambda p: p.stable_id))


def _stable(member: tuple[Property, object]) -> int:
    return member[0].stable_id


def _join(texts: list[str]) -> str:
    if not texts:
        raise ValueError("a key has at least one member")
    # ASCII escapes would make the id of a text longer than the text; storage and comparison are by code point anyway.
    return texts[0] if len(texts) == 1 else json.dumps(texts, ensure_ascii=False, separators=(",", ":"))


def _refused(value: object, of: DataType) -> ValueOutOfRange:
    return ValueOutOfRange(f"{value!r} is no {type_text(of)}, so it cannot be a key")


def _string(value: object, of: DataType) -> str:
    if not isinstance(value, str) or (isinstance(of, EnumType) and value not in of.labels):
        raise _refused(value, of)
    return value


def _integer(value: object, of: DataType) -> int:
    assert isinstance(of, ScalarType)
    if not isinstance(value, int) or isinstance(value, bool):
        raise _refused(value, of)
    low, high = integer_range(of)
    if not low <= value <= high:
        raise _refused(value, of)
    return int(value)


def _days(value: object) -> int:
    if isinstance(value, date) and not isinstance(value, datetime):
        return (value - _EPOCH_DAY).days
    if not isinstance(value, int) or isinstance(value, bool) or not -(2**31) <= value < 2**31:
        raise _refused(value, DATE)
    return value


def _microseconds(value: object) -> int:
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueOutOfRange(f"{value!r} has no time zone", hint="use an aware datetime, for instance in UTC")
        return (value - _EPOCH) // _MICROSECOND
    if not isinstance(value, int) or isinstance(value, bool) or not -(2**63) <= value < 2**63:
        raise _refused(value, DATETIME)
    return value


# ---- floats -----------------------------------------------------------------------------------------------------


def _float_text(value: object, of: DataType) -> str:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _refused(value, of)
    try:
        number = float(value)
        if not isfinite(number):
            raise _refused(value, of)
        digits = repr(number) if of == F64 else _shortest_f32(number)
    except OverflowError:
        raise _refused(value, of) from None
    return _plain(digits)


def _as_f32(number: float) -> float:
    """What a column of 32-bit floats keeps of `number`. Raises OverflowError when it is too large for one."""
    return float(struct.unpack("<f", struct.pack("<f", number))[0])


def _shortest_f32(number: float) -> str:
    """Fewest digits that lead back to the same 32-bit float; of several such, those nearest to it.

    Exact arithmetic: reading the digits as a 64-bit float first would round twice, and the nearest text of a given
    length is not always one that leads back, because the gap below a power of two is half the gap above it.
    """
    kept = _as_f32(number)
    if kept == 0:
        return "0"
    size = Decimal(abs(kept))
    low, high, closed = _rounding_interval(abs(kept))
    for digits in range(1, _F32_DIGITS_MAX + 1):
        ways = (Context(prec=digits, rounding=way).create_decimal(size) for way in _WAYS)
        fitting = [c for c in ways if low < Fraction(c) < high or (closed and Fraction(c) in (low, high))]
        if fitting:
            nearest = min(fitting, key=lambda c: abs(Fraction(c) - Fraction(size)))
            return f"{'-' if kept < 0 else ''}{nearest}"
    raise AssertionError("nine digits tell all 32-bit floats apart")


def _rounding_interval(size: float) -> tuple[Fraction, Fraction, bool]:
    """All numbers that become `size` when they are kept as a 32-bit float, and whether the ends are among them."""
    (bits,) = struct.unpack("<I", struct.pack("<f", size))
    below, at = Fraction(_from_bits(bits - 1)), Fraction(size)
    above = Fraction(_from_bits(bits + 1)) if bits < _F32_LARGEST_BITS else 2 * at - below
    return (below + at) / 2, (at + above) / 2, bits % 2 == 0


def _from_bits(bits: int) -> float:
    return float(struct.unpack("<f", struct.pack("<I", bits))[0])


def _plain(text: str) -> str:
    """Digits without exponent, trailing zeros or a point that nothing follows; both zeros are `0`."""
    plain = f"{Decimal(text):f}"
    if "." in plain:
        plain = plain.rstrip("0").rstrip(".")
    return "0" if plain in ("-0", "0") else plain
