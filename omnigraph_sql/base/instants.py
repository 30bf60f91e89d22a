"""Days and instants as text: ISO 8601 days, RFC 3339 instants, always UTC inside."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Final

_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_INSTANT: Final = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?([Zz]|[+-]\d{2}:\d{2})", re.ASCII
)


def parse_day(text: str) -> date:
    """`2031-02-03`. Raises ValueError for anything else, days that no calendar has included."""
    if not _DAY.fullmatch(text):
        raise ValueError(f"{text!r} is not a day; write YYYY-MM-DD")
    try:
        return date.fromisoformat(text)
    except ValueError as broken:
        raise ValueError(f"{text!r} is not a day: {broken}") from None


def parse_instant(text: str) -> datetime:
    """`2031-02-03T04:05:06.789Z`, in UTC, to the microsecond. Raises ValueError; an offset or `Z` is required."""
    found = _INSTANT.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not an instant; write YYYY-MM-DDTHH:MM:SSZ, with an offset or Z")
    day, clock, fraction, offset = found.groups()
    micros = (fraction or "")[:6].ljust(6, "0")
    shift = "+00:00" if offset in "Zz" else offset
    try:
        return datetime.fromisoformat(f"{day}T{clock}.{micros}{shift}").astimezone(UTC)
    except (ValueError, OverflowError) as broken:
        raise ValueError(f"{text!r} is not an instant: {broken}") from None


def utc(at: datetime) -> datetime:
    """The instant in UTC; one without a zone is taken to be UTC already. Raises ValueError outside years 1 to 9999."""
    if at.tzinfo is None:
        return at.replace(tzinfo=UTC)
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{at.isoformat()} lies outside the years 1 to 9999 in UTC") from None
