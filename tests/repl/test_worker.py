"""Waiting, stopping, giving up. Ctrl-C is the signal itself, sent by a thread."""

import io
import os
import signal
from collections.abc import Callable
from threading import Event, Thread
from typing import Any, cast

import pyarrow as pa
import pytest

from omnigraph_sql.base.errors import ExecutionError, InternalError, StorageError
from omnigraph_sql.repl.render import width
from omnigraph_sql.repl.screen import Screen
from omnigraph_sql.repl.work import Meter, Work, taken
from omnigraph_sql.repl.worker import Abandoned, Cancelled, NotOpened, Worker, carried_out
from omnigraph_sql.result import Result

PATIENCE = 30
"""Seconds after which a test that hangs gives up."""


class Stoppable:
    """Stands for an open graph; stops when it is asked to, or does not care."""

    def __init__(self, *, cares: bool) -> None:
        self._cares = cares
        self.asked = Event()
        self.released = Event()

    def interrupt(self) -> None:
        self.asked.set()

    def close(self) -> None:
        self.released.set()

    def run(self) -> None:
        stop = self.asked if self._cares else self.released
        assert stop.wait(PATIENCE)
        raise ExecutionError("stopped")


def worker_of(open_work: Callable[[], Any]) -> Worker:
    return Worker(cast(Callable[[], Work], open_work), lambda _: None)


def press(after: Event) -> Thread:
    """Press Ctrl-C once `after` is set."""

    def act() -> None:
        assert after.wait(PATIENCE)
        os.kill(os.getpid(), signal.SIGINT)

    thread = Thread(target=act)
    thread.start()
    return thread


def test_ctrl_c_stops_what_runs() -> None:
    graph, waiting = Stoppable(cares=True), Event()
    worker = worker_of(lambda: graph)
    finger = press(waiting)
    with pytest.raises(Cancelled, match=r"cancelled \(\d+\.\d s\)"):
        carried_out(worker, lambda _: graph.run(), lambda *_: waiting.set() if worker.opened.is_set() else None)
    finger.join()
    assert carried_out(worker, lambda _: 7) == 7
    worker.stop()


def test_a_second_ctrl_c_gives_up_waiting() -> None:
    graph, waiting = Stoppable(cares=False), Event()
    worker = worker_of(lambda: graph)
    fingers = [press(waiting), press(graph.asked)]
    with pytest.raises(Abandoned):
        carried_out(worker, lambda _: graph.run(), lambda *_: waiting.set() if worker.opened.is_set() else None)
    for finger in fingers:
        finger.join()
    graph.released.set()


def test_ctrl_c_while_the_graph_is_opened_drops_the_job() -> None:
    waiting, go_on, ran = Event(), Event(), Event()

    def open_work() -> Stoppable:
        assert go_on.wait(PATIENCE)
        return Stoppable(cares=True)

    worker = worker_of(open_work)
    finger = press(waiting)
    with pytest.raises(Abandoned):
        carried_out(worker, lambda _: ran.set(), lambda *_: waiting.set())
    finger.join()
    go_on.set()
    carried_out(worker, lambda _: None)
    assert not ran.is_set()
    worker.stop()


def test_the_usual_ctrl_c_is_back_afterwards() -> None:
    before = signal.getsignal(signal.SIGINT)
    worker = worker_of(lambda: Stoppable(cares=True))
    carried_out(worker, lambda _: None)
    assert signal.getsignal(signal.SIGINT) is before
    worker.stop()


@pytest.mark.parametrize(
    ("failure", "kind"), [(StorageError("gone", kind="not_found"), StorageError), (ValueError("odd"), InternalError)]
)
def test_a_graph_that_does_not_open_is_told_to_everybody_who_asks(failure: Exception, kind: type) -> None:
    def open_work() -> Stoppable:
        raise failure

    worker = worker_of(open_work)
    for _ in range(2):
        with pytest.raises(NotOpened) as caught:
            carried_out(worker, lambda _: None)
        assert isinstance(caught.value.error, kind)
    worker.stop()


# ---- taking rows ------------------------------------------------------------------------------------------------


def result_of(sizes: list[int]) -> Result:
    schema = pa.schema([("i", pa.int64())])
    batches = [pa.record_batch([pa.array(range(size))], schema=schema) for size in sizes]
    return Result(pa.RecordBatchReader.from_batches(schema, batches))


@pytest.mark.parametrize(
    ("sizes", "kept", "whole"),
    [([4, 5], 9, True), ([4, 6], 10, True), ([4, 7], 10, False), ([10, 1], 10, False), ([], 0, True)],
)
def test_rows_are_kept_up_to_a_number(sizes: list[int], kept: int, whole: bool) -> None:
    meter = Meter()
    table, all_of_it = taken(result_of(sizes), meter, rows=10)
    assert (table.num_rows, meter.rows, all_of_it) == (kept, kept, whole)


def test_rows_are_kept_up_to_a_size() -> None:
    table, whole = taken(result_of([1000] * 10), Meter(), size=20_000)
    assert table.num_rows == 3000
    assert not whole


# ---- the screen -------------------------------------------------------------------------------------------------


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def screen(monkeypatch: pytest.MonkeyPatch, *, interactive: bool) -> tuple[Screen, io.StringIO]:
    monkeypatch.setenv("LINES", "10")
    monkeypatch.setenv("COLUMNS", "20")
    stream = Tty()
    return Screen(stream, interactive=interactive, colour=False, environment={}), stream


@pytest.mark.parametrize(
    ("lines", "when", "interactive", "paged"),
    [
        (5, "auto", True, False),
        (9, "auto", True, False),
        (10, "auto", True, True),
        (100, "auto", True, True),
        (100, "off", True, False),
        (100, "auto", False, False),
        (1, "always", True, True),
    ],
)
def test_the_pager_is_for_what_is_taller_than_the_screen(
    monkeypatch: pytest.MonkeyPatch, lines: int, when: str, interactive: bool, paged: bool
) -> None:
    made, stream = screen(monkeypatch, interactive=interactive)
    sent: list[str] = []
    monkeypatch.setattr(Screen, "_piped", lambda _, pieces, __: sent.extend(pieces))
    made.page([f"line {n}" for n in range(lines)], when, "")
    assert bool(sent) is paged
    assert len(sent or stream.getvalue().splitlines()) == lines


def test_a_line_that_moves_is_cut_and_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    made, stream = screen(monkeypatch, interactive=True)
    made.show_line("running for a very long time")
    assert width(stream.getvalue().removeprefix("\r\x1b[K")) == 19
    made.write("done")
    assert stream.getvalue().endswith("\r\x1b[Kdone\n")


def test_nothing_moves_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    made, stream = screen(monkeypatch, interactive=False)
    made.show_line("running")
    assert stream.getvalue() == ""
