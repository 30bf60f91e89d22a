"""How far a job on Spark is: which stage it is in, and how many of its tasks are done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from omnigraph_sql.spark.place import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOOK_SECONDS: Final = 0.2


@dataclass(frozen=True, slots=True)
class StageProgress:
    """A stage of a load, and its tasks as far as Spark has told."""

    stage: str
    done: int
    tasks: int


Watch: TypeAlias = Callable[[StageProgress], None]


class Stages:
    """Tells a watcher about stages; looks at the tasks of Spark meanwhile. Without a watcher it does nothing."""

    def __init__(self, spark: SparkSession, watch: Watch | None) -> None:
        self._watch = watch
        self._tracker: Any = None
        if watch is not None and not is_connect(spark):
            self._tracker = spark.sparkContext.statusTracker()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Tell about a stage while the block runs."""
        if self._watch is None:
            yield
            return
        self._watch(StageProgress(name, 0, 0))
        over = Event()
        looking = Thread(target=self._look, args=(name, over), daemon=True)
        looking.start()
        try:
            yield
        finally:
            over.set()
            looking.join()

    def _look(self, name: str, over: Event) -> None:
        while self._tracker is not None and self._watch is not None and not over.wait(_LOOK_SECONDS):
            done = tasks = 0
            for number in self._tracker.getActiveStageIds():
                info = self._tracker.getStageInfo(number)
                if info is not None:
                    done, tasks = done + info.numCompletedTasks, tasks + info.numTasks
            self._watch(StageProgress(name, done, tasks))
