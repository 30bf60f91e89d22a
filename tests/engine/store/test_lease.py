"""The lease of a branch on a local disk: one holder among threads and processes, freed when the holder dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import StorageError
from omnigraph_sql.base.seams import Fault, NoFailpoints, PlannedFaults, Raise, SystemPause
from omnigraph_sql.engine.store.lease import LocalLeases, lease_name
from tests.engine.worlds import NoPause


def leases(folder: Path, pause: object = None) -> LocalLeases:
    return LocalLeases(folder, NoFailpoints(), pause or SystemPause())  # type: ignore[arg-type]


def test_threads_hold_a_lease_one_after_the_other(tmp_path: Path) -> None:
    inside, most = 0, 0
    lock = threading.Lock()

    def work() -> None:
        nonlocal inside, most
        for _ in range(10):
            with leases(tmp_path).hold("main"):
                with lock:
                    inside += 1
                    most = max(most, inside)
                with lock:
                    inside -= 1

    workers = [threading.Thread(target=work) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert most == 1


def test_the_wait_has_an_end_and_nothing_is_held_after_it(tmp_path: Path) -> None:
    pause = NoPause()
    taker = leases(tmp_path, pause)
    text = f"branch main for more than {limits.LEASE_WAIT_SECONDS_MAX}"
    with leases(tmp_path).hold("main"), pytest.raises(StorageError, match=text) as caught, taker.hold("main"):
        raise AssertionError("two holders")
    assert caught.value.kind == "transient"
    assert pause.asked == pytest.approx(limits.LEASE_WAIT_SECONDS_MAX, abs=0.1)
    with leases(tmp_path, NoPause()).hold("main"):
        pass


def test_branches_have_leases_of_their_own_whatever_they_are_called(tmp_path: Path) -> None:
    names = ["main", "dev", "a/b", "../x", "\x00init", "é" * 300]
    waiting = leases(tmp_path, NoPause())
    with ExitStack() as held:
        taken = [held.enter_context(waiting.hold(name)) for name in names]
    assert [(lease.branch, lease.fence) for lease in taken] == [(name, 0) for name in names]
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(lease_name(n) for n in names)


def test_an_error_inside_gives_the_lease_back(tmp_path: Path) -> None:
    with pytest.raises(KeyError), leases(tmp_path).hold("main"):
        raise KeyError
    with leases(tmp_path, NoPause()).hold("main"):
        pass


def test_a_lease_that_cannot_be_taken_is_a_storage_error(tmp_path: Path) -> None:
    faults = PlannedFaults([Fault("store.lease", Raise(PermissionError(13, "Permission denied")))])
    with pytest.raises(StorageError) as caught, LocalLeases(tmp_path, faults, NoPause()).hold("main"):
        pass
    assert caught.value.kind == "configuration"


HOLDER = """
import sys
from pathlib import Path
from omnigraph_sql.base.seams import NoFailpoints, SystemPause
from omnigraph_sql.engine.store.lease import LocalLeases
with LocalLeases(Path(sys.argv[1]), NoFailpoints(), SystemPause()).hold("main"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("how", ["killed", "finished"])
def test_another_process_is_excluded_until_it_ends_in_whatever_way(tmp_path: Path, how: str) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(StorageError, match="another writer"), leases(tmp_path, NoPause()).hold("main"):
            pass

        def end() -> None:
            if how == "killed":
                os.kill(holder.pid, signal.SIGKILL)
            elif not holder.stdin.closed:  # type: ignore[union-attr]
                holder.stdin.close()  # type: ignore[union-attr]
            holder.wait(60)

        with leases(tmp_path, NoPause(then=end)).hold("main"):
            assert holder.returncode == (-signal.SIGKILL if how == "killed" else 0)
    finally:
        holder.stdin.close()
        holder.stdout.close()
        holder.wait(60)
