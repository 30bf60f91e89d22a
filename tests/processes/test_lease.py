"""The lease of a branch between processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_SCRIPT = """
import os, sys
from pathlib import Path
from omnigraph_sql.base.seams import NoFailpoints
from omnigraph_sql.engine.store.lease import LocalLeases

class NoPause:
    def seconds(self, number):
        raise SystemExit("the lease is not free")

leases = LocalLeases(Path(sys.argv[1]), NoFailpoints(), NoPause())
"""
_FORKS = (
    _SCRIPT
    + """
wait, go = os.pipe()
with leases.hold("main"):
    child = os.fork()
    if child == 0:
        os.close(go)
        os.read(wait, 1)  # until the parent is done
        os._exit(0)
with leases.hold("main"):
    print("free")
os.close(go)
os.waitpid(child, 0)
"""
)
_DIES = (
    _SCRIPT
    + """
import signal
with leases.hold("main"):
    print("held", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
)


def _run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script, str(folder)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=Path(__file__).parents[2],
    )


def test_a_lease_is_free_after_use_even_if_a_forked_process_lives_on(tmp_path: Path) -> None:
    done = _run(_FORKS, tmp_path)
    assert (done.stdout, done.stderr, done.returncode) == ("free\n", "", 0)


def test_the_lease_of_a_killed_process_is_free_at_once(tmp_path: Path) -> None:
    assert _run(_DIES, tmp_path).stdout == "held\n"
    done = _run(_SCRIPT + "with leases.hold('main'): print('free')", tmp_path)
    assert (done.stdout, done.returncode) == ("free\n", 0)


def test_a_held_lease_is_waited_for(tmp_path: Path) -> None:
    """The canary: two holds of one lease do exclude each other, in one process too."""
    done = _run(_SCRIPT + "with leases.hold('main'), leases.hold('main'): print('both')", tmp_path)
    assert "the lease is not free" in done.stderr
    assert done.stdout == ""
