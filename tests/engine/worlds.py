"""Small graphs for tests of the engine's parts: a world, a contract, rows, and direct looks at what is stored."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from omnigraph_sql.base.catalog import NodeType
from omnigraph_sql.base.seams import Fault, NoFailpoints, PlannedFaults, UlidSource
from omnigraph_sql.bind.schema import compile_schema
from omnigraph_sql.bind.schema_ir import SchemaIR
from omnigraph_sql.engine import opening
from omnigraph_sql.engine.store.root import RECOVERY, GraphRoot
from omnigraph_sql.engine.store.tables import table_schema
from omnigraph_sql.engine.values import MAIN, TablePin
from omnigraph_sql.engine.world import Seams, World
from omnigraph_sql.engine.write.staging import MutationStaging
from omnigraph_sql.engine.write.txn import Author, Contract, Receipt, WriteTxn, write
from omnigraph_sql.run.contract import contract_files

SCHEMA = """
node Person { name: String @key  age: I32? }
node Place { name: String @key  size: I32? }
"""
START = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


class SteadyClock:
    """A millisecond per look, from a fixed start."""

    def __init__(self) -> None:
        self.at = START

    def now(self) -> datetime:
        self.at += timedelta(milliseconds=1)
        return self.at


class NoPause:
    """Waits not at all, and knows how long it was asked to; `then` is called at every wait."""

    def __init__(self, then: Callable[[], None] | None = None) -> None:
        self.asked, self._then = 0.0, then

    def seconds(self, number: float) -> None:
        self.asked += number
        if self._then is not None:
            self._then()


class At:
    """Failpoints that call a function when a place is reached, once."""

    def __init__(self, name: str, act: Callable[[], object], *, at_hit: int = 1) -> None:
        self._name, self._act, self._left = name, act, at_hit

    def hit(self, name: str) -> None:
        if name == self._name:
            self._left -= 1
            if self._left == 0:
                self._act()


def seams(*faults: Fault, failpoints: Any = None, pause: Any = None, clock: Any = None) -> Seams:
    time = clock or SteadyClock()
    points = failpoints or (PlannedFaults(faults) if faults else NoFailpoints())
    return Seams(time, UlidSource(time), points, pause or NoPause())


@cache
def small_schema(text: str = SCHEMA) -> SchemaIR:
    return compile_schema(text, identity_domain="0" * 26)


def at(root: GraphRoot | Path | str, given: Seams | None = None) -> World:
    """A world with caches of its own: what another process would see."""
    return World.at(root if isinstance(root, GraphRoot) else GraphRoot.parse(root), given or seams())


def make(root: GraphRoot | Path | str, given: Seams | None = None, *, schema: str = SCHEMA, **more: Any) -> World:
    """A new graph with empty tables."""
    world = at(root, given)
    ir = small_schema(schema)
    opening.init(world, contract_files(ir), ir.catalog, **more)
    return world


def contract(schema: str = SCHEMA) -> Contract:
    ir = small_schema(schema)
    return Contract(ir.catalog, ir.identity_domain, ir.ir_hash, lambda: None)


def node(name: str = "Person", schema: str = SCHEMA) -> NodeType:
    found = small_schema(schema).catalog.node(name)
    assert found is not None
    return found


def people(rows: dict[str, int | None], name: str = "Person") -> pa.Table:
    """Rows by key; the id of a keyed row is its key."""
    shape = table_schema(node(name))
    other = "age" if name == "Person" else "size"
    return pa.Table.from_pylist([{"id": k, "name": k, other: v} for k, v in rows.items()], schema=shape)


def upsert(
    world: World,
    rows: dict[str, int | None],
    *,
    branch: str = MAIN,
    names: Iterable[str] = ("Person",),
    author: Author | None = None,
) -> Receipt:
    """One write of the same rows to each of the tables."""

    def fill(_: WriteTxn, staging: MutationStaging) -> None:
        for name in names:
            staging.upsert(node(name), people(rows, name))

    return write(world, contract, branch, author or Author("tester"), fill)


def held(world: World, branch: str = MAIN, name: str = "Person") -> dict[str, int | None]:
    """What a branch shows of a table, by key."""
    pin = pin_of(world, branch, name)
    found = world.tables.open(pin).dataset.to_table().to_pylist()
    by_key = {row["id"]: row["age" if name == "Person" else "size"] for row in found}
    assert len(by_key) == len(found) == pin.row_count
    return by_key


def pin_of(world: World, branch: str = MAIN, name: str = "Person") -> TablePin:
    pin = world.manifest.current(branch).snapshot.named(f"node:{name}")
    assert pin is not None
    return pin


def sidecars(world: World) -> list[str]:
    return [name for name in world.objects.list(RECOVERY) if not name.startswith(".")]


def digest(folder: Path) -> dict[str, str]:
    """Every file below a folder with a hash of its bytes, and every folder."""
    found = {}
    for here, folders, files in os.walk(folder):
        found.update({str(Path(here, name)): "folder" for name in folders})
        for name in files:
            path = Path(here, name)
            found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


@dataclass(frozen=True, slots=True)
class Foreign:
    """Another program that writes to a table behind the graph's back."""

    world: World

    def append(self, key: str, branch: str | None = None, name: str = "Person") -> int:
        import lance

        pin = replace(pin_of(self.world, MAIN, name), branch=branch)
        made = lance.write_dataset(people({key: 99}, name), self.world.tables.address(pin.path, branch), mode="append")
        return int(made.version)

    def newest(self, name: str = "Person") -> int:
        import lance

        return int(lance.dataset(self.world.tables.address(pin_of(self.world, MAIN, name).path, None)).version)
