"""Rows of a load on their way into data files, one writer per table, each in a thread of its own.

Encoding runs outside of Python, so reading and writing overlap. What waits between the two is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from queue import Full, Queue
from tempfile import TemporaryFile
from threading import Thread
from typing import IO, Any, Final

import pyarrow as pa

from omnigraph_sql.base.catalog import TableType
from omnigraph_sql.engine.store.effects import write_files
from omnigraph_sql.engine.store.loose import delete_files, move_files
from omnigraph_sql.engine.store.tables import table_schema
from omnigraph_sql.engine.values import TablePin
from omnigraph_sql.engine.world import World

_WAITING_MAX: Final = 2
_LOOK_AGAIN_SECONDS: Final = 0.2


class FileWriter:
    """Writes batches into files beside a table. `branch` is the Lance branch the files are meant for."""

    def __init__(self, world: World, of: TableType, pin: TablePin, branch: str | None) -> None:
        self._world, self._of, self._pin, self._branch = world, of, pin, branch
        self._waiting: Queue[pa.RecordBatch | None] = Queue(_WAITING_MAX)
        self._files: list[Any] = []
        self._moved = False
        self._failure: BaseException | None = None
        self._thread: Thread | None = None

    def put(self, batch: pa.RecordBatch) -> None:
        """Hand rows over; waits while the writer is behind. Raises what the writer failed with."""
        if self._thread is None:
            self._thread = Thread(target=self._run, name=f"load {self._pin.key}", daemon=True)
            self._thread.start()
        while True:
            self._refuse_failure()
            try:
                self._waiting.put(batch, timeout=_LOOK_AGAIN_SECONDS)
                return
            except Full:
                continue

    def finish(self) -> tuple[Any, ...]:
        """The files, all of them complete."""
        self._stop()
        self._refuse_failure()
        if self._files and self._pin.branch != self._branch:
            move_files(self._world.tables, self._pin.path, self._pin.branch, self._branch, self._files)
            self._moved = True
        return tuple(self._files)

    def discard(self) -> None:
        """End without a trace, as far as storage allows."""
        self._stop()
        branch = self._branch if self._moved else self._pin.branch
        delete_files(self._world.tables, self._pin.path, branch, self._files)
        self._files = []

    def _stop(self) -> None:
        thread = self._thread
        if thread is None:
            return
        while thread.is_alive():
            try:
                self._waiting.put(None, timeout=_LOOK_AGAIN_SECONDS)
                break
            except Full:
                continue
        thread.join()
        self._thread = None

    def _refuse_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        tables = self._world.tables
        try:
            dataset = tables.open(self._pin).dataset
            self._files = write_files(tables, dataset, self._batches(), table_schema(self._of))
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            self._failure = error

    def _batches(self) -> Iterator[pa.RecordBatch]:
        while (batch := self._waiting.get()) is not None:
            yield batch


class Spool:
    """Rows that wait on the local disk until it is known which of them stay."""

    def __init__(self, schema: pa.Schema) -> None:
        self._file: IO[bytes] = TemporaryFile(prefix="omnigraph-load-")  # noqa: SIM115 - closed by `close`
        self._writer = pa.ipc.new_stream(self._file, schema)

    def put(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Everything that was put in, in order; nothing can be added any more."""
        self._writer.close()
        self._file.flush()
        self._file.seek(0)
        with pa.ipc.open_stream(self._file) as reader:
            yield from reader

    def close(self) -> None:
        self._file.close()
