"""Days, instants, times of day and intervals as SQL writes them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from fractions import Fraction
from typing import Final

from omnigraph_sql.base.expr import Value
from omnigraph_sql.base.instants import parse_day, parse_instant
from omnigraph_sql.base.types import DATE, DATETIME, INTERVAL, TIME, DataType

MOMENTS: Final = frozenset((DATE, DATETIME, TIME, INTERVAL))
"""The types whose values a string literal may spell."""

_INSTANT: Final = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2})(:\d{2})?(\.\d{1,9})? ?([Zz]|[+-]\d{2}(?::?\d{2})?)?", re.ASCII
)
_CLOCK: Final = re.compile(r"(\d{2}:\d{2})(:\d{2})?(\.\d{1,9})?", re.ASCII)


def moment(text: str, of: DataType) -> Value:
    """The value a text spells in one of MOMENTS. Raises ValueError with a sentence."""
    if of == DATE:
        return parse_day(text)
    if of == DATETIME:
        return sql_instant(text)
    if of == TIME:
        return _time(text)
    return parse_interval(text).text


def sql_instant(text: str) -> datetime:
    """An instant in UTC: without an offset it is UTC, without a clock it is midnight. Raises ValueError."""
    found = _INSTANT.fullmatch(text)
    if found is None:
        try:
            return datetime.combine(parse_day(text), time(), UTC)
        except ValueError:
            raise ValueError(f"{text!r} is not an instant; write YYYY-MM-DD HH:MM:SS") from None
    day, clock, seconds, fraction, offset = found.groups()
    return parse_instant(f"{day}T{clock}{seconds or ':00'}{fraction or ''}{_offset(offset or 'Z')}")


def _offset(text: str) -> str:
    if text in "Zz":
        return "Z"
    digits = text[1:].replace(":", "").ljust(4, "0")
    return f"{text[0]}{digits[:2]}:{digits[2:]}"


def _time(text: str) -> time:
    found = _CLOCK.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a time of day; write HH:MM:SS")
    clock, seconds, fraction = found.groups()
    micros = (fraction or ".0")[:7].ljust(7, "0")
    try:
        return time.fromisoformat(f"{clock}{seconds or ':00'}{micros}")
    except ValueError as broken:
        raise ValueError(f"{text!r} is not a time of day: {broken}") from None


# ---- intervals --------------------------------------------------------------------------------------------------

_MONTHS: Final = {"month": 1, "mon": 1, "quarter": 3, "year": 12, "yr": 12, "y": 12, "decade": 120, "century": 1200}
_DAYS: Final = {"day": 1, "d": 1, "week": 7, "w": 7}
_MICROS: Final = {
    **dict.fromkeys(("hour", "hr", "h"), 3_600_000_000),
    **dict.fromkeys(("minute", "min", "m"), 60_000_000),
    **dict.fromkeys(("second", "sec", "s"), 1_000_000),
    **dict.fromkeys(("millisecond", "msec", "ms"), 1000),
    **dict.fromkeys(("microsecond", "usec", "us"), 1),
}
_DAY_MICROS: Final = 86_400_000_000
_MICROS_MAX: Final = (2**63 - 1) // 1000
_PART: Final = re.compile(
    r"\s*(?:([+-]?)(\d{1,4}):(\d{2})(?::(\d{2}(?:\.\d{1,6})?))?|([+-]?\d{1,15}(?:\.\d{1,9})?)\s*([A-Za-z]+))\s*",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Interval:
    """Months, days and microseconds: three amounts that no rule turns into one another."""

    months: int = 0
    days: int = 0
    micros: int = 0

    def __post_init__(self) -> None:
        if abs(self.months) >= 2**31 or abs(self.days) >= 2**31 or abs(self.micros) > _MICROS_MAX:
            raise ValueError("the interval is longer than any type holds")

    @property
    def whole_days(self) -> bool:
        return self.micros == 0

    def times(self, factor: int) -> Interval:
        return Interval(self.months * factor, self.days * factor, self.micros * factor)

    @property
    def text(self) -> str:
        """The one spelling of this interval: equal intervals have equal texts."""
        years, months = _split(self.months, 12)
        seconds, micros = _split(self.micros, 1_000_000)
        minutes, seconds = _split(seconds, 60)
        hours, minutes = _split(minutes, 60)
        parts = [(years, "year"), (months, "month"), (self.days, "day"), (hours, "hour"), (minutes, "minute")]
        shown = [f"{count} {unit}{'' if abs(count) == 1 else 's'}" for count, unit in parts if count]
        if micros:
            sign = "-" if micros < 0 else ""
            shown.append(f"{sign}{abs(seconds)}.{abs(micros):06d}".rstrip("0") + " seconds")
        elif seconds or not shown:
            shown.append(f"{seconds} second{'' if abs(seconds) == 1 else 's'}")
        return " ".join(shown)


def _split(amount: int, size: int) -> tuple[int, int]:
    """Quotient and rest, both with the sign of the amount."""
    sign = -1 if amount < 0 else 1
    whole, rest = divmod(abs(amount), size)
    return sign * whole, sign * rest


def parse_interval(text: str) -> Interval:
    """`1 day`, `2 hours 30 minutes`, `-1 month`, `01:30:00`. Raises ValueError."""
    months = days = micros = Fraction(0)
    at = 0
    while at < len(text):
        found = _PART.match(text, at)
        if found is None:
            break
        if found[6] is None:
            sign = -1 if found[1] == "-" else 1
            micros += sign * 1_000_000 * (int(found[2]) * 3600 + int(found[3]) * 60 + Fraction(found[4] or "0"))
        else:
            amount, unit = Fraction(found[5]), _unit(found[6])
            months += amount * _MONTHS.get(unit, 0)
            days += amount * _DAYS.get(unit, 0)
            micros += amount * _MICROS.get(unit, 0)
        at = found.end()
    if at < len(text) or not text.strip():
        raise ValueError(f"{text!r} is not an interval; write a number and a unit, as in '3 days'")
    if months.denominator != 1:
        raise ValueError(f"{text!r} has a part of a month, which has no fixed length")
    whole = int(days)
    micros += (days - whole) * _DAY_MICROS
    return Interval(int(months), whole, round(micros))


def _unit(word: str) -> str:
    lower = word.lower()
    for form in (lower, lower.removesuffix("s"), "century" if lower == "centuries" else lower):
        if form in _MONTHS or form in _DAYS or form in _MICROS:
            return form
    raise ValueError(f"'{word}' is not a unit of time")


def midnight(day: date) -> datetime:
    """The instant a day begins."""
    return datetime.combine(day, time(), UTC)
