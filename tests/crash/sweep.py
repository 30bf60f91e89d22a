"""Killing a writer at every place it passes."""

from __future__ import annotations

import atexit
import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from signal import SIGKILL
from tempfile import mkdtemp
from threading import Lock

from omnigraph_sql.engine.opening import open_for_writing
from tests.crash.defects import planted
from tests.crash.oracle import Expected, complaints, observe
from tests.crash.scenes import SCENES, Scene, make, tidying, world_at, world_with

NO_RETURN = "confirm.after"


class Tracing:
    """Failpoints that write down, in order, what was passed."""

    def __init__(self) -> None:
        self.passed: list[str] = []
        self._lock = Lock()

    def hit(self, name: str) -> None:
        with self._lock:
            self.passed.append(name)


@dataclass(frozen=True, slots=True)
class Cell:
    """One kill: the failpoint, which pass of it, and whether the writer is past the point of no return there."""

    name: str
    hit: int
    done: bool

    def __str__(self) -> str:
        return f"{self.name}#{self.hit}"


@dataclass(frozen=True, slots=True)
class Plan:
    scene: Scene
    expected: Expected
    cells: tuple[Cell, ...]


def cells_of(passed: list[str]) -> tuple[Cell, ...]:
    """A cell for every pass of every failpoint, in order."""
    count: Counter[str] = Counter()
    last = max((i for i, name in enumerate(passed) if name == NO_RETURN), default=len(passed))
    found = []
    for place, name in enumerate(passed):
        count[name] += 1
        found.append(Cell(name, count[name], place >= last))
    return tuple(found)


@cache
def base() -> Path:
    """The graph every scene starts from; only ever copied."""
    folder = Path(mkdtemp(prefix="omni-crash-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    make(folder / "base")
    return folder / "base"


def fresh(folder: Path, scene: Scene) -> Path:
    """A copy of the base in the situation of the scene."""
    root = folder / "graph"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(base(), root)
    scene.prepare(root)
    return root


def plan(folder: Path, name: str) -> Plan:
    """Run the scene once undisturbed: where it passes, and what it leads to."""
    scene = SCENES[name]
    root = fresh(folder, scene)
    start = observe(root)
    trace = Tracing()
    with tidying(scene.small):
        scene.act(world_with(root, trace))
    open_for_writing(world_at(root))
    after = observe(root)
    root = fresh(folder, scene)
    open_for_writing(world_at(root))
    before = observe(root)
    # The situation is made anew for every cell, so ids differ; rows and their number do not.
    return Plan(scene, Expected(start, before, after), cells_of(trace.passed))


def passed(folder: Path, name: str) -> list[str]:
    """What a scene passes, in order."""
    scene, trace = SCENES[name], Tracing()
    root = fresh(folder, scene)
    with tidying(scene.small):
        scene.act(world_with(root, trace))
    return trace.passed


class Zygote:
    """A process that forks victims; starting an interpreter for each would take most of the time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore:lance is not fork-safe", "-m", "tests.crash.victim"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        self.kills = 0

    def run(self, root: Path, scene: str, cell: Cell | None, defect: str | None = None) -> int:
        """The exit status of a victim of the scene."""
        asked, answered = self._process.stdin, self._process.stdout
        assert asked is not None
        assert answered is not None
        name, hit = (cell.name, cell.hit) if cell is not None else ("", 1)
        asked.write(json.dumps([str(root), scene, name, hit, defect]) + "\n")
        asked.flush()
        status = int(answered.readline())
        self.kills += status == -SIGKILL
        return status

    def close(self) -> None:
        self._process.communicate(timeout=60)


def sweep(
    zygote: Zygote, folder: Path, planned: Plan, cells: tuple[Cell, ...], *, defect: str | None = None
) -> Iterator[str]:
    """Kill at each of the cells and say what is wrong afterwards."""
    for cell in cells:
        for one in _killed(zygote, folder, planned, (cell,), defect):
            yield f"{planned.scene.name}, {cell}: {one}"


def sweep_twice(zygote: Zygote, folder: Path, planned: Plan, pairs: Iterable[tuple[Cell, Cell]]) -> Iterator[str]:
    """Kill at the first place, let another victim start over and kill it at the second, if it comes there."""
    for pair in pairs:
        for one in _killed(zygote, folder, planned, pair, None):
            yield f"{planned.scene.name}, {pair[0]} then {pair[1]}: {one}"


def _killed(zygote: Zygote, folder: Path, planned: Plan, cells: tuple[Cell, ...], defect: str | None) -> Iterator[str]:
    root = fresh(folder, planned.scene)
    start = observe(root)
    status = zygote.run(root, planned.scene.name, cells[0], defect)
    if status != -SIGKILL:
        yield f"the victim ended with {status}"
        return
    for again in cells[1:]:
        status = zygote.run(root, planned.scene.name, again, defect)
        if status not in (0, -SIGKILL):
            yield f"the second victim ended with {status}"
    expected = Expected(start, planned.expected.before, planned.expected.after)
    with planted(defect):
        yield from complaints(root, planned.scene, expected, done=cells[0].done)
