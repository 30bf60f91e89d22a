"""Which process this is. The engine's threads do not survive a fork, so a child of a process that used it may not."""

from __future__ import annotations

import os

from omnigraph_sql.base.errors import ConflictError


class _Engine:
    """Whether the engine runs in this process, and whether it ran in the one this was forked from."""

    __slots__ = ("lost", "runs")

    def __init__(self) -> None:
        self.runs = False
        self.lost = False

    def forked(self) -> None:
        self.lost = self.lost or self.runs


_ENGINE = _Engine()
os.register_at_fork(after_in_child=_ENGINE.forked)


def enter_engine() -> None:
    """From here on the engine runs in this process. Raises ConflictError (`forked`) where it would hang."""
    refuse_forked()
    _ENGINE.runs = True


def refuse_forked() -> None:
    """Raises ConflictError (`forked`) in a child of a process that had opened a graph."""
    if _ENGINE.lost:
        raise ConflictError(
            "this process was forked from one that had opened a graph, whose threads are missing here",
            code="forked",
            hint="start processes by spawn or forkserver, or fork before the first graph is opened",
        )
