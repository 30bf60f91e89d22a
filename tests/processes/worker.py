"""One of many writers: `python -m tests.processes.worker <root> <name> <count> <seed> <keys> <fate>`.

Every line of its output is a JSON list: what it is about to do, and what came of it. A line is written before the next
step begins, so whoever kills this process knows everything but the outcome of its last step. Its fate is where it kills
itself (`failpoint:hit`), or `-`.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from omnigraph_sql.base.errors import CommitUnknown, KeyConflict, OmniError, ReadSetChanged, RecoveryRequired
from omnigraph_sql.base.seams import Fault, Kill
from omnigraph_sql.engine.opening import open_for_writing
from omnigraph_sql.engine.values import TableIdentity
from omnigraph_sql.engine.world import World
from omnigraph_sql.engine.write.staging import MutationStaging
from omnigraph_sql.engine.write.txn import WriteTxn
from tests.crash.scenes import change, edges, likes, nodes, person, thing, world_at

COUNTER = "p0"
_ATTEMPTS_MAX = 400


def tell(*facts: object) -> None:
    print(json.dumps(facts), flush=True)


def insert(key: str, number: int) -> Callable[[WriteTxn, MutationStaging], None]:
    """One key in all three tables."""

    def fill(_: WriteTxn, staging: MutationStaging) -> None:
        staging.insert(person(), nodes(person(), (key, number)))
        staging.insert(thing(), nodes(thing(), (key, number)))
        staging.insert(likes(), edges((key, key, key, number)))

    return fill


def increment(world: World) -> Callable[[WriteTxn, MutationStaging], None]:
    """Read a number and write it back plus one: lost if anybody comes in between unseen."""

    def fill(txn: WriteTxn, staging: MutationStaging) -> None:
        pin = txn.base.pin(TableIdentity.of(person()))
        assert pin is not None
        (row,) = world.tables.rows(world.tables.open(pin), pa.array([COUNTER])).to_pylist()
        staging.update(person(), nodes(person(), (COUNTER, row["n"] + 1)))

    return fill


class Worker:
    def __init__(self, root: Path, name: str, seed: str, keys: int, fate: str) -> None:
        self._root, self._name = root, name
        place, _, hit = fate.partition(":")
        self._faults = [Fault(place, Kill(), int(hit))] if hit else []
        self._choice, self._keys = random.Random(seed), keys
        self._world = self._open()

    def _open(self) -> World:
        world = world_at(self._root, *self._faults)
        tell("recovered", [one.kind for one in open_for_writing(world)])
        return world

    def once(self, number: int) -> None:
        """One mutation, carried to an outcome."""
        what = self._choice.choice(("key", "token", "count", "count"))
        key = {
            "key": f"key-{self._choice.randrange(self._keys)}",
            "token": f"token-{self._name}-{number}",
            "count": COUNTER,
        }[what]
        for _ in range(_ATTEMPTS_MAX):
            fill = increment(self._world) if what == "count" else insert(key, number)
            tell("try", what, key)
            try:
                receipt = change(self._world, fill, actor=what)
            except KeyConflict:
                tell("lost", what, key, "KeyConflict")
                return
            except ReadSetChanged:
                tell("lost", what, key, "ReadSetChanged")
            except CommitUnknown as error:
                tell("unknown", what, key, error.commit_id)
                return
            except RecoveryRequired:
                tell("lost", what, key, "RecoveryRequired")
                self._reopen()
            else:
                tell("done", what, key, receipt.commit_id)
                return
        raise AssertionError(f"{key} was not written in {_ATTEMPTS_MAX} attempts")

    def _reopen(self) -> None:
        try:
            self._world = self._open()
        except OmniError as error:
            tell("reopen", type(error).__name__, str(error))
            raise


def main(root: str, name: str, count: str, seed: str, keys: str, fate: str) -> None:
    worker = Worker(Path(root), name, seed, int(keys), fate)
    for number in range(int(count)):
        worker.once(number)
    tell("end")


if __name__ == "__main__":
    main(*sys.argv[1:7])
