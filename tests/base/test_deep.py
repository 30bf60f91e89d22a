"""Room for deep recursion, and the recursion limit of the process afterwards."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest

from omnigraph_sql.base.deep import FRAMES, deep_limit, with_room


@pytest.fixture(autouse=True)
def _limit_is_put_back() -> Iterator[None]:
    before = sys.getrecursionlimit()
    yield
    left = sys.getrecursionlimit()
    sys.setrecursionlimit(before)
    assert left == before


def deeper(levels: int) -> int:
    return deeper(levels - 1) + 1 if levels else 0


def test_work_that_does_not_fit_is_done_on_a_larger_stack() -> None:
    assert with_room(lambda: deeper(20_000)) == 20_000


def test_work_beyond_every_ceiling_is_a_recursion_error() -> None:
    with pytest.raises(RecursionError):
        with_room(lambda: deeper(FRAMES * 2))


def test_the_largest_wish_holds_and_the_last_to_leave_puts_the_limit_back() -> None:
    before = sys.getrecursionlimit()
    first_in, first_may_go, first_out = threading.Event(), threading.Event(), threading.Event()

    def first() -> None:
        with deep_limit(before + 100):
            first_in.set()
            first_may_go.wait()
        first_out.set()

    thread = threading.Thread(target=first)
    thread.start()
    first_in.wait()
    with deep_limit(before + 500):
        assert sys.getrecursionlimit() == before + 500
        first_may_go.set()
        first_out.wait()
        assert sys.getrecursionlimit() == before + 500
    thread.join()
    assert sys.getrecursionlimit() == before


def test_a_smaller_wish_changes_nothing() -> None:
    before = sys.getrecursionlimit()
    with deep_limit(before - 100):
        assert sys.getrecursionlimit() == before


def test_a_limit_that_somebody_else_sets_meanwhile_stays() -> None:
    before = sys.getrecursionlimit()
    with deep_limit(before + 100):
        sys.setrecursionlimit(before + 7000)
    assert sys.getrecursionlimit() == before + 7000
    sys.setrecursionlimit(before)
