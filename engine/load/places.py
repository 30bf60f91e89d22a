"""Refusals that say where the refused row is."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import TypeVar

from omnigraph_sql.base.errors import DataError

T = TypeVar("T")


def placed(error: DataError, place: str) -> DataError:
    """The same refusal with its place in front."""
    told = copy(error)
    told.message = f"{place}: {error.message}"
    told.args = (told.message,)
    return told


def located(rows: int, place: Callable[[int], str], attempt: Callable[[int, int], T]) -> T:
    """`attempt(0, rows)`; when the rows are refused, the refusal of the first bad one alone, with its place.

    `attempt(start, stop)` works on a part of the rows. A part is refused exactly if it holds a bad row, so the first
    one is found by halving, and the good case costs nothing.
    """
    try:
        return attempt(0, rows)
    except DataError as error:
        if rows == 0:
            raise
        whole = error
    good, bad = 0, rows
    while bad - good > 1:
        middle = (good + bad) // 2
        if _refusal(attempt, good, middle) is None:
            good = middle
        else:
            bad = middle
    alone = _refusal(attempt, good, good + 1)
    raise placed(alone or whole, place(good)) from whole


def _refusal(attempt: Callable[[int, int], object], start: int, stop: int) -> DataError | None:
    try:
        attempt(start, stop)
    except DataError as error:
        return error
    return None
