"""Room for deep recursion: work that does not fit into the ordinary stack is done again on a larger one."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, TypeVar

from omnigraph_sql.base import limits

_R = TypeVar("_R")

# A link of an operator chain costs a walker some ten frames, a level of nesting some sixty.
FRAMES: Final = 5000 + 20 * limits.OPERATOR_CHAIN_LINKS_MAX + 60 * limits.NESTING_LEVELS_MAX
_STACK_BYTES: Final = 256 * 1024 * 1024

_lock: Final = threading.Lock()
_wishes: list[int] = []
_before: list[int] = [0, 0]
"""The limit in front of the first wish, and the one that was set last."""


def with_room(work: Callable[[], _R]) -> _R:
    """The result of `work`, which must be pure: it is started afresh on a larger stack when the first one is too small.

    The second attempt may raise RecursionError too; then the input is beyond every ceiling.
    """
    try:
        return work()
    except RecursionError:
        if getattr(_here, "roomy", False):
            raise
    return _in_large_thread(work)


class _Here(threading.local):
    roomy: bool = False


_here: Final = _Here()


def _in_large_thread(work: Callable[[], _R]) -> _R:
    results: list[_R] = []
    problems: list[BaseException] = []

    def run() -> None:
        _here.roomy = True
        try:
            results.append(work())
        except BaseException as problem:  # noqa: BLE001 - handed over to the waiting thread
            problems.append(problem)

    with deep_limit(FRAMES):
        thread = _start(run)
        thread.join()
    if problems:
        raise problems[0]
    return results[0]


def _start(run: Callable[[], None]) -> threading.Thread:
    """A started thread with a large stack; the stack size is a setting of the process, so it is put back at once."""
    with _lock:
        before = threading.stack_size(_STACK_BYTES)
        try:
            thread = threading.Thread(target=run, name="deep", daemon=True)
            thread.start()
        finally:
            threading.stack_size(before)
    return thread


@contextmanager
def deep_limit(frames: int) -> Iterator[None]:
    """At least that many frames for the code within.

    The recursion limit is the process's: while several ask, the largest wish holds, and the last one to leave puts back
    what was there before, unless somebody else has changed it meanwhile.
    """
    with _lock:
        if not _wishes:
            _before[:] = [sys.getrecursionlimit()] * 2
        _wishes.append(frames)
        _set_limit(max(*_wishes, _before[0]))
    try:
        yield
    finally:
        with _lock:
            _wishes.remove(frames)
            if sys.getrecursionlimit() == _before[1]:
                _set_limit(max([*_wishes, _before[0]]))


def _set_limit(frames: int) -> None:
    # Refused when this thread stands deeper than that, having come here under the higher limit.
    with suppress(RecursionError):
        sys.setrecursionlimit(frames)
        _before[1] = frames
