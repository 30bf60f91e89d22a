"""Many processes write to one graph, and some are killed. `OMNI_CRASH=full` runs 8 × 50 mutations."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Queue
from signal import SIGKILL
from threading import Thread
from time import monotonic
from typing import Any

import pytest

from omnigraph_sql.engine.opening import open_for_writing
from tests.crash.oracle import Seen, at_rest, observe, rows_in
from tests.crash.scenes import make, world_at
from tests.processes.worker import COUNTER

FULL = os.environ.get("OMNI_CRASH") == "full"
SEED = int(os.environ.get("OMNI_SEED", "7"))
PROCESSES, MUTATIONS, KILLS_MAX = (8, 50, 60) if FULL else (4, 12, 6)
KILL_SECONDS = 1.0
_FATES = ("arm.after", "commit.after_table", "confirm.before", "confirm.after", "publish.after_merge", "disarm.before")
_QUIET_SECONDS_MAX = 90
"""Longest silence of all processes together; more is a hang."""


@dataclass
class Run:
    """The processes of one run and everything they said."""

    root: Path
    keys: int
    choice: random.Random
    said: Queue[tuple[str, list[Any] | None]] = field(default_factory=Queue)
    live: dict[str, subprocess.Popen[str]] = field(default_factory=dict)
    left: dict[str, int] = field(default_factory=dict)
    heard: list[tuple[str, list[Any]]] = field(default_factory=list)
    killed: set[str] = field(default_factory=set)
    ready: set[str] = field(default_factory=set)
    started: int = 0

    def start(self, count: int) -> None:
        name = f"w{self.started}"
        self.started += 1
        given = [str(self.root), name, str(count), f"{SEED} {name}", str(self.keys), self._fate()]
        self.live[name] = subprocess.Popen(
            [sys.executable, "-m", "tests.processes.worker", *given],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        self.left[name] = count
        Thread(target=self._listen, args=(name,), daemon=True).start()

    def _fate(self) -> str:
        """Every second process kills itself in the middle of one of its commits."""
        if self.started % 2:
            return f"{self.choice.choice(_FATES)}:{self.choice.randint(1, 4)}"
        return "-"

    def _listen(self, name: str) -> None:
        heard = self.live[name].stdout
        assert heard is not None
        with heard:
            for line in heard:
                if line.endswith("\n"):  # the last line of a killed process may be torn
                    self.said.put((name, json.loads(line)))
        self.said.put((name, None))

    def finish(self) -> None:
        """Listen until all have ended, and kill one of them every second."""
        heard = due = monotonic()
        while self.live:
            now = monotonic()
            if now >= due:
                due = now + KILL_SECONDS
                self._kill()
            try:
                name, facts = self.said.get(timeout=due - now if now < due else KILL_SECONDS)
            except Empty:
                assert now - heard < _QUIET_SECONDS_MAX, f"{sorted(self.live)} hang"
                continue
            heard = now
            if facts is None:
                self._ended(name)
                continue
            self.ready.add(name)
            self.heard.append((name, facts))
            if facts[0] in ("done", "unknown") or (facts[0] == "lost" and facts[3] == "KeyConflict"):
                self.left[name] -= 1

    def _kill(self) -> None:
        """One of those that have begun; starting takes longer than a second on a busy machine."""
        victims = sorted((self.live.keys() & self.ready) - self.killed)
        if victims and len(self.killed) < KILLS_MAX:
            victim = self.choice.choice(victims)
            self.killed.add(victim)
            self.live[victim].kill()

    def _ended(self, name: str) -> None:
        process = self.live.pop(name)
        status = process.wait(timeout=_QUIET_SECONDS_MAX)
        if status == -SIGKILL:
            self.killed.add(name)
            if self.left[name] > 0:
                self.start(self.left[name])
        else:
            assert status == 0, f"{name} ended with {status}"

    def stop(self) -> None:
        for process in self.live.values():
            process.kill()
            process.wait()

    def outcomes(self, kind: str) -> list[list[Any]]:
        return [facts for _, facts in self.heard if facts[0] == kind]


@pytest.mark.timeout(600)
def test_many_processes_write_and_die_and_nothing_is_lost(tmp_path: Path) -> None:
    root = tmp_path / "graph"
    make(root)
    start = observe(root)
    run = Run(root, PROCESSES * MUTATIONS // 8, random.Random(SEED))
    try:
        for _ in range(PROCESSES):
            run.start(MUTATIONS)
        run.finish()
    finally:
        run.stop()
    open_for_writing(world_at(root))
    seen = observe(root)
    lost = Counter(facts[3] for facts in run.outcomes("lost"))
    healed = Counter(kind for _, kind, _ in seen.logged)
    print(
        f"seed {SEED}: {PROCESSES} × {MUTATIONS}, {len(run.killed)} kills, {len(run.outcomes('done'))} commits, "
        f"lost {dict(lost)}, recovered {dict(healed)}, {run.started} processes"
    )
    assert list(at_rest(root, seen)) == []
    _everything_acknowledged_is_there(run, start, seen)
    _keys_have_one_winner(run, seen)
    _no_increment_is_lost(run, start, seen)
    assert run.killed, "nobody was killed"
    assert seen.logged, "nobody was killed at a bad moment"
    assert lost.keys() <= {"KeyConflict", "ReadSetChanged", "RecoveryRequired"}
    assert len({operation for operation, _, _ in seen.logged}) == len(seen.logged)


def _everything_acknowledged_is_there(run: Run, start: Seen, seen: Seen) -> None:
    """Each acknowledged commit once; what nobody was told of belongs to the dead, or was undone."""
    chain = [commit.id for commit in seen.commits["main"]]
    known = {commit.id for commit in start.commits["main"]}
    told = [facts[3] for facts in run.outcomes("done")]
    assert len(set(told)) == len(told)
    assert len(set(chain)) == len(chain)
    assert set(told) <= set(chain)
    silent = [c for c in seen.commits["main"] if c.id not in known and c.id not in told]
    written = [c for c in silent if c.actor != "omnigraph:recovery"]
    assert len(written) <= len(run.killed) + len(run.outcomes("lost"))


def _rows(seen: Seen, key: str) -> dict[str, dict[str, Any]]:
    found = rows_in(seen.now["main"], key)
    assert len({row["id"] for row in found}) == len(found), f"an id of {key} is there twice"
    return {row["id"]: row for row in found}


def _keys_have_one_winner(run: Run, seen: Seen) -> None:
    tables = [_rows(seen, key) for key in ("node:Person", "node:Thing", "edge:Likes")]
    made = [facts for facts in run.outcomes("done") if facts[1] in ("key", "token")]
    winners = Counter(facts[2] for facts in made)
    assert set(winners.values()) <= {1}
    for key in winners:
        assert all(key in table for table in tables), f"{key} is not everywhere"
    for _, facts in run.heard:
        if facts[0] == "try" and facts[1] in ("key", "token"):
            there = {facts[2] in table for table in tables}
            assert len(there) == 1, f"half of {facts[2]} is there"
    for facts in run.outcomes("lost"):
        if facts[3] == "KeyConflict":
            assert facts[2] in tables[0]


def _no_increment_is_lost(run: Run, start: Seen, seen: Seen) -> None:
    """The number is what it was, plus one for every commit that counts."""
    counted = sum(commit.actor == "count" for commit in seen.commits["main"])
    told = sum(facts[1] == "count" for facts in run.outcomes("done"))
    before = _rows(start, "node:Person")[COUNTER]["n"]
    assert _rows(seen, "node:Person")[COUNTER]["n"] == before + counted
    assert told <= counted
