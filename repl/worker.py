"""The thread that works while the other one listens to the keyboard; and how a person stops it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Event, Lock, Thread, current_thread, main_thread
from time import perf_counter
from typing import Any, Final, Generic, TypeVar

from omnigraph_sql.base.errors import InternalError, OmniError
from omnigraph_sql.repl.work import Work

Outcome = TypeVar("Outcome")

PATIENCE_SECONDS: Final = 2.0
"""A second Ctrl-C within this time after the first gives up waiting."""

_LOOK_SECONDS: Final = 0.1


class Abandoned(Exception):
    """The person stopped waiting. What was asked may still run, on a thread nobody listens to any more."""


class Cancelled(Exception):
    """The person asked for a stop, and it stopped after this many seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"cancelled ({seconds:.1f} s)")


class NotOpened(Exception):
    """The graph could not be opened; the cause tells why."""

    def __init__(self, error: OmniError) -> None:
        super().__init__(error.message)
        self.error = error


class Job(Generic[Outcome]):
    """Something to do with the graph, and what became of it."""

    def __init__(self, act: Callable[[Work], Outcome]) -> None:
        self._act = act
        self._outcome: Outcome | None = None
        self._error: BaseException | None = None
        self.done = Event()
        self.dropped = False

    def carry_out(self, work: Work) -> None:
        try:
            if not self.dropped:
                self._outcome = self._act(work)
        except BaseException as error:  # noqa: BLE001 - it is raised again where it is waited for
            self._error = error
        finally:
            self.done.set()

    def fail(self, error: BaseException) -> None:
        self._error = error
        self.done.set()

    def result(self) -> Outcome:
        if self._error is not None:
            raise self._error
        return self._outcome  # type: ignore[return-value]  # None is an outcome where the act gives none


class Worker:
    """Opens a graph on a thread of its own and carries out jobs there, one after the other."""

    def __init__(self, open_work: Callable[[], Work], learn: Callable[[Work], None]) -> None:
        self._open, self._learn = open_work, learn
        self._jobs: SimpleQueue[Job[Any] | None] = SimpleQueue()
        self._work: Work | None = None
        self._thread: Thread | None = None
        self._lock = Lock()
        self.opened = Event()
        """Set when the graph is open, or could not be opened."""
        self.failure: BaseException | None = None
        self.when_opened: Callable[[NotOpened | None], None] = lambda _: None

    def start(self) -> None:
        """Begin to open the graph, unless that has begun."""
        with self._lock:
            if self._thread is None:
                self._thread = Thread(target=self._serve, name="ogsql-worker", daemon=True)
                self._thread.start()

    def submit(self, act: Callable[[Work], Outcome]) -> Job[Outcome]:
        job = Job(act)
        self.enqueue(job)
        return job

    def enqueue(self, job: Job[Any]) -> None:
        self.start()
        self._jobs.put(job)

    def interrupt(self) -> bool:
        """Ask what runs to stop; False when the graph is not open yet."""
        if self._work is None:
            return False
        self._work.interrupt()
        return True

    def stop(self) -> None:
        """End the thread after what it does now, and wait a moment for it."""
        self._jobs.put(None)
        if self._thread is not None:
            self._thread.join(PATIENCE_SECONDS)

    def _serve(self) -> None:
        try:
            self._work = self._open()
            self._learn(self._work)
        except BaseException as error:  # noqa: BLE001 - told to whoever asks for something
            self.failure = error
        self.opened.set()
        self.when_opened(self._unopened() if self.failure is not None else None)
        while (job := self._jobs.get()) is not None:
            if self._work is None or self.failure is not None:
                job.fail(self._unopened())
                continue
            job.carry_out(self._work)
        if self._work is not None:
            self._work.close()

    def _unopened(self) -> NotOpened:
        failure = self.failure
        if isinstance(failure, OmniError):
            return NotOpened(failure)
        return NotOpened(InternalError(f"the graph did not open: {type(failure).__name__}: {failure}"))


@contextmanager
def interrupts(act: Callable[[], None]) -> Iterator[None]:
    """Within, Ctrl-C calls `act` instead of raising. Only the main thread hears it."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda *_: act())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def carried_out(
    worker: Worker, act: Callable[[Work], Outcome], tick: Callable[[float, bool], None] = lambda *_: None
) -> Outcome:
    """What came of a job. Ctrl-C asks it to stop, which raises Cancelled; a second one soon after raises Abandoned.

    `tick` is told now and then how many seconds have passed, and whether the job was asked to stop.
    """
    job = Job(act)
    begun = perf_counter()
    pressed: list[float] = []
    given_up = Event()

    def press() -> None:
        now = perf_counter()
        again = bool(pressed) and now - pressed[-1] <= PATIENCE_SECONDS
        pressed.append(now)
        if again or not worker.interrupt():
            job.dropped = True
            given_up.set()

    # The job begins where Ctrl-C is heard: nothing that runs is without a way to stop it.
    with interrupts(press):
        worker.enqueue(job)
        while not job.done.wait(_LOOK_SECONDS):
            if given_up.is_set():
                raise Abandoned
            tick(perf_counter() - begun, bool(pressed))
    try:
        return job.result()
    except OmniError as error:
        if pressed:
            raise Cancelled(perf_counter() - begun) from error
        raise
