"""Stopping a statement from another thread, or by Ctrl-C: whoever waits for the engine can be woken."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Lock, RLock, Thread
from typing import Any, Final, Generic, TypeVar
from weakref import WeakSet

from omnigraph_sql.base.errors import Interrupted

T = TypeVar("T")
_STOP: Final = object()
_LOOK_SECONDS: Final = 0.5
_IDLE_WORKERS_MAX: Final = 8
_INSTRUCTIONS: Final = 10_000
"""More than the interpreter carries out before it raises what another thread asked it to."""


class _Abandoned(BaseException):
    """Raised in a worker whose answer nobody waits for any more; the engine notices within a second."""


@dataclass(frozen=True, slots=True)
class _Answer(Generic[T]):
    ticket: object
    value: T | None
    error: BaseException | None


@dataclass(frozen=True, slots=True)
class _Task:
    ticket: object
    work: Callable[[], Any]
    reply: SimpleQueue[Any]


class _Worker:
    """A thread that does one thing at a time. One that was abandoned ends; it is never used again."""

    def __init__(self) -> None:
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._fate = Lock()
        self._finished = self._struck = False
        self._thread = Thread(target=self._loop, name="omnigraph-worker", daemon=True)
        self._thread.start()

    def begin(self, task: _Task) -> None:
        self._finished = False
        self._tasks.put(task)

    def abandon(self) -> None:
        """Nobody waits for the answer. Work that is not done yet is stopped where it runs Python code next."""
        with self._fate:
            if not self._finished and self._thread.ident is not None:
                self._struck = True
                number = ctypes.c_ulong(self._thread.ident)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(number, ctypes.py_object(_Abandoned))
        self._tasks.put(None)

    def _loop(self) -> None:
        try:
            while (task := self._tasks.get()) is not None and self._done(task):
                pass
            self._be_struck()
        except _Abandoned:
            return

    def _done(self, task: _Task) -> bool:
        """Whether somebody still waited for the answer."""
        answer: _Answer[Any]
        try:
            answer = _Answer(task.ticket, task.work(), None)
        except _Abandoned:
            raise
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            answer = _Answer(task.ticket, None, error)
        with self._fate:
            self._finished = True
        if self._struck:
            return False
        task.reply.put(answer)
        return True

    def _be_struck(self) -> None:
        """An exception on its way arrives here, where it does no harm; it was raised already if it does not."""
        for _ in range(_INSTRUCTIONS if self._struck else 0):
            pass


_idle: list[_Worker] = []
_hiring = Lock()
os.register_at_fork(after_in_child=_idle.clear)  # a child process has none of the threads


def _hired() -> _Worker:
    with _hiring:
        if _idle:
            return _idle.pop()
    return _Worker()


def _released(worker: _Worker) -> None:
    with _hiring:
        if len(_idle) < _IDLE_WORKERS_MAX:
            _idle.append(worker)


class Running:
    """One statement while it runs, until its last row was read. Waited for by one thread; stopped by any."""

    __slots__ = ("__weakref__", "_inbox", "_stopped", "memory_limit")

    def __init__(self, memory_limit: int | None = None) -> None:
        self.memory_limit = memory_limit
        """Bytes it may use in memory; what does not fit goes to disk."""
        self._inbox: SimpleQueue[Any] = SimpleQueue()
        self._stopped = False

    def stop(self) -> None:
        """Whoever waits for the statement, now or later, gets Interrupted."""
        self._stopped = True
        self._inbox.put(_STOP)

    def check(self) -> None:
        """Raises Interrupted once the statement was stopped; long work in Python calls this now and then."""
        if self._stopped:
            raise Interrupted("the statement was interrupted", hint="run it again to have its rows")

    def wait(self, work: Callable[[], T]) -> T:
        """What `work` returns or raises; it runs elsewhere, so that this thread notices a stop and Ctrl-C at once."""
        self.check()
        worker, ticket = _hired(), object()
        try:
            worker.begin(_Task(ticket, work, self._inbox))
            while True:
                found = self._next()
                self.check()
                # What an abandoned worker still said is nobody's answer.
                if found is not _STOP and found.ticket is ticket:
                    break
        except BaseException:
            worker.abandon()
            raise
        _released(worker)
        if found.error is not None:
            raise found.error
        value: T = found.value
        return value

    def _next(self) -> Any:
        """The next answer or stop. A signal between two looks would be noticed only when one comes, hence the pause."""
        while True:
            try:
                return self._inbox.get(timeout=_LOOK_SECONDS)
            except Empty:
                continue


class Runs:
    """The statements of a handle that are running or have rows left to be read."""

    __slots__ = ("_lock", "_running", "memory_limit")

    def __init__(self, memory_limit: int | None = None) -> None:
        self.memory_limit = memory_limit
        """Bytes that a statement may use unless its session says otherwise."""
        self._running: WeakSet[Running] = WeakSet()
        # A signal handler may interrupt while its own thread is in here.
        self._lock = RLock()

    def begin(self, memory_limit: int | None = None) -> Running:
        made = Running(memory_limit)
        with self._lock:
            self._running.add(made)
        return made

    def another(self) -> Runs:
        """For another handle, with the same limit."""
        return Runs(self.memory_limit)

    def interrupt(self) -> None:
        """Stop all of them; statements that begin later are not concerned."""
        with self._lock:
            found = list(self._running)
            self._running = WeakSet()
        for running in found:
            running.stop()
