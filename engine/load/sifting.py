"""Rows of a chunk, the good ones apart from the bad ones: for loads that go on without what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from omnigraph_sql.base.catalog import Catalog
from omnigraph_sql.base.errors import ConstraintViolation, DataError
from omnigraph_sql.base.seams import IdSource
from omnigraph_sql.engine.load.rows import Rows, rows_between
from omnigraph_sql.engine.load.values import Chunk

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Good:
    """Rows `start : stop` of a chunk, checked."""

    start: int
    stop: int
    rows: Rows


def parted(
    count: int, attempt: Callable[[int, int], T], refuse: Callable[[int, DataError], None]
) -> list[tuple[int, int, T]]:
    """What `attempt(start, stop)` makes of runs without a bad one; each bad one goes to `refuse` with its refusal.

    `attempt` fails exactly if there is a bad one in the run. The good case costs one attempt.
    """
    found: list[tuple[int, int, T]] = []
    waiting = [(0, count)] if count else []
    while waiting:
        start, stop = waiting.pop()
        try:
            found.append((start, stop, attempt(start, stop)))
        except DataError as error:
            if stop - start == 1:
                refuse(start, error)
            else:
                middle = (start + stop) // 2
                waiting += [(middle, stop), (start, middle)]
    return found


def sifted(chunk: Chunk, catalog: Catalog, ids: IdSource, refuse: Callable[[int, DataError], None]) -> list[Good]:
    """The good rows of a chunk in order; `refuse` gets each bad one by its row, with a refusal that names no place."""

    def attempt(start: int, stop: int) -> Rows:
        return rows_between(chunk, catalog, ids, start, stop)

    return [Good(start, stop, rows) for start, stop, rows in parted(chunk.rows, attempt, refuse)]


def rule_of(error: DataError) -> str:
    """What a refusal is counted under."""
    return error.rule.replace(" ", "_") if isinstance(error, ConstraintViolation) and error.rule else error.code
