"""A time that a statement may take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING

from omnigraph_sql.base.errors import Interrupted, PreconditionFailed

if TYPE_CHECKING:
    from omnigraph_sql.graph import Graph


@contextmanager
def at_most(graph: Graph, seconds: float | None) -> Iterator[None]:
    """Stop what the graph runs within the block when it takes longer. Raises PreconditionFailed (timeout) then."""
    if seconds is None:
        yield
        return
    late: list[bool] = []

    def stop() -> None:
        late.append(True)
        graph.interrupt()

    timer = Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    except Interrupted as error:
        if not late:
            raise
        raise PreconditionFailed(
            f"the statement took longer than {seconds:g} s",
            expected=f"{seconds:g} s",
            actual="longer",
            hint="allow more with --timeout, or ask for less",
        ) from error
    finally:
        timer.cancel()
