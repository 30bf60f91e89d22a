"""A device that fills up, step by step, until an operation fits: nothing half visible, and space is all it needs."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from omnigraph_sql.base.errors import CommitUnknown, OmniError, RecoveryRequired, StorageError
from omnigraph_sql.engine.opening import open_for_writing
from tests.crash.oracle import at_rest, observe
from tests.crash.scenes import SCENES, Scene, change, next_one, world_at
from tests.crash.sweep import fresh

FULL = os.environ.get("OMNI_CRASH") == "full"
_SIZE_KIB = 8 * 1024
_STEP_KIB = 4


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Path]:
    """A small device of its own."""
    place = tmp_path / "device"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={_SIZE_KIB}k", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"a small device cannot be mounted here: {mounted.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def _fill(place: Path, leaving_kib: int) -> Path:
    """A file that leaves this much of the device."""
    ballast = place / "ballast"
    with ballast.open("wb") as file:
        free = shutil.disk_usage(place).free
        os.posix_fallocate(file.fileno(), 0, max(free - leaving_kib * 1024, 1))
    return ballast


_SHORT = ("insert", "insert on a new branch", "load that merges", "schema change")
_MORE = ("update", "delete on a new branch", "overwrite", "load that appends on a new branch", "load of nothing")


@pytest.mark.parametrize("name", (*_SHORT, *_MORE) if FULL else _SHORT)
def test_a_full_device_leaves_the_graph_whole(name: str, device: Path, tmp_path: Path) -> None:
    scene = SCENES[name]
    after = _after(tmp_path, name)
    kinds: set[str] = set()
    for step in range(200):
        root = fresh(device, scene)
        start = observe(root)
        ballast = _fill(device, step * _STEP_KIB)
        error = _tried(root, scene)
        assert observe(root).now in (start.now, after), step
        ballast.unlink()
        if error is None:
            break
        kinds.add(type(error).__name__)
        if isinstance(error, StorageError):
            assert (error.kind, error.hint) == ("permanent", "free some space on the device, then repeat"), error
        else:
            assert isinstance(error, RecoveryRequired | CommitUnknown), error
            assert "os error 28" in str(error) or "No space left" in str(error)
            open_for_writing(world_at(root))
        assert observe(root).now in (start.now, after), step
        change(world_at(root), next_one, scene.branch)
        assert list(at_rest(root, observe(root))) == [], step
    else:
        pytest.fail("it never fitted")
    assert "StorageError" in kinds, "the device was never too small"
    print(f"{name}: fitted after {step} steps of {_STEP_KIB} KiB; {sorted(kinds)}")


def _after(folder: Path, name: str) -> object:
    root = fresh(folder, SCENES[name])
    SCENES[name].act(world_at(root))
    return observe(root).now


def _tried(root: Path, scene: Scene) -> OmniError | None:
    try:
        scene.act(world_at(root))
    except OmniError as error:
        return error
    return None
