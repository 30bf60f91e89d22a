"""How long a piece of work takes, whatever else the machine and this process are busy with."""

import gc
import time
from collections.abc import Callable


def seconds(work: Callable[[], object]) -> float:
    """What this thread computed for it.

    Other processes make the time that passes longer, threads that a test before this one left behind the time of the
    process, and what such tests left in memory every collection of garbage.
    """
    gc.collect()
    gc.freeze()
    try:
        begun = time.thread_time()
        work()
        return time.thread_time() - begun
    finally:
        gc.unfreeze()
