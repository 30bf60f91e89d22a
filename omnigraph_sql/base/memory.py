"""Amounts of memory as people write them, and the limit that a statement is given."""

from __future__ import annotations

import re
from fractions import Fraction
from math import floor
from typing import Final

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import DataError, ResourceLimitExceeded

_AMOUNT: Final = re.compile(r"(?P<number>[0-9]{1,18})(?P<part>\.[0-9]{1,9})?\s*(?P<unit>[A-Za-z]*)")
_UNITS: Final[dict[str, int]] = {
    "": 1,
    "b": 1,
    **{f"{letter}b": 1000**power for power, letter in enumerate("kmgt", 1)},
    **{f"{letter}ib": 1024**power for power, letter in enumerate("kmgt", 1)},
}


def memory_limit(given: int | str | None) -> int | None:
    """Bytes: a number of them, or a text such as `512MB` (millions) and `1.5GiB` (powers of 1024). None is no limit.

    Raises DataError for what is no amount, ResourceLimitExceeded for one that no statement can keep to.
    """
    if given is None:
        return None
    found = _bytes(given)
    if found < limits.MEMORY_LIMIT_BYTES_MIN:
        raise ResourceLimitExceeded(
            "the memory limit is smaller than any statement can keep to",
            resource="memory_limit",
            limit=limits.MEMORY_LIMIT_BYTES_MIN,
            actual=found,
            hint=f"give {limits.MEMORY_LIMIT_BYTES_MIN} bytes or more",
        )
    return found


def _bytes(given: int | str) -> int:
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    match = _AMOUNT.fullmatch(given.strip()) if isinstance(given, str) else None
    unit = _UNITS.get(match["unit"].lower()) if match is not None else None
    if match is None or unit is None:
        raise DataError(f"memory_limit is an amount of memory, not {given!r}", hint="write it as in 512MB or 2GiB")
    whole, part = int(match["number"]), Fraction(match["part"] or 0)
    return whole * unit + floor(part * unit)
