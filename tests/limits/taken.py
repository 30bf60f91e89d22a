"""How long a piece of work takes, whatever else the machine and this process are busy with."""

import time
from collections.abc import Callable


def seconds(work: Callable[[], object]) -> float:
    """The smaller of the time that passed and the time that was computed.

    Other processes make the first larger; threads of the engine that a test before this one left behind the second.
    """
    passed, computed = time.perf_counter(), time.process_time()
    work()
    return min(time.perf_counter() - passed, time.process_time() - computed)
