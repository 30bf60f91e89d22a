"""The process that dies: `python -m tests.crash.victim <root> <scene> <failpoint> <hit> [<defect>]`.

Without arguments it serves: each line of its input is a JSON list of the same arguments, for which it forks a victim
and answers with the victim's exit status. Forking is safe because nothing here has started Lance's threads.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from pathlib import Path

from omnigraph_sql.base.seams import Fault, Kill
from omnigraph_sql.engine.opening import init
from tests.crash.defects import planted
from tests.crash.scenes import FILES, SCENES, catalog, tidying, world_at

INIT = "init"
HANGS_AFTER_SECONDS = 90


def run(root: str, scene: str, failpoint: str, hit: int, defect: str | None = None) -> None:
    """Carry the scene out and die at the failpoint, if it is reached that often."""
    world = world_at(Path(root), *([Fault(failpoint, Kill(), hit)] if failpoint else []))
    if scene == INIT:
        init(world, FILES, catalog(), actor="ana")
        return
    with planted(defect), tidying(SCENES[scene].small):
        SCENES[scene].act(world)


def _fork(arguments: list[object]) -> int:
    """The exit status of a victim: negative when a signal ended it."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(HANGS_AFTER_SECONDS)
        status = 1
        try:
            run(*arguments)  # type: ignore[arg-type]
            status = 0
        except BaseException:  # noqa: BLE001 (a fork must end here, whatever happens)
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _serve() -> None:
    import lance  # noqa: F401 (loaded once, here)

    catalog()
    for line in sys.stdin:
        print(_fork(json.loads(line)), flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        _serve()
    else:
        run(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5] if len(sys.argv) > 5 else None)
