"""Everything an operation needs from outside itself, gathered once per open graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from omnigraph_sql.base.seams import (
    Clock,
    Failpoints,
    IdSource,
    NoFailpoints,
    Pause,
    SystemClock,
    SystemPause,
    UlidSource,
)
from omnigraph_sql.engine.manifest.reader import ManifestReader
from omnigraph_sql.engine.store.audit import AuditTable
from omnigraph_sql.engine.store.durable import Durability, disk_at
from omnigraph_sql.engine.store.lease import Leases, leases_at
from omnigraph_sql.engine.store.manifest_table import ManifestTable
from omnigraph_sql.engine.store.objects import Objects, objects_at
from omnigraph_sql.engine.store.root import GraphRoot
from omnigraph_sql.engine.store.tables import Tables

Embed = Callable[[list[str]], Sequence[Sequence[float]]]


@dataclass(frozen=True, slots=True)
class Seams:
    """Time, ids, waiting and planned faults, as a test or the system provides them."""

    clock: Clock
    ids: IdSource
    failpoints: Failpoints
    pause: Pause

    @classmethod
    def system(cls) -> Seams:
        clock = SystemClock()
        return cls(clock, UlidSource(clock), NoFailpoints(), SystemPause())


@dataclass(frozen=True, slots=True)
class World:
    """A graph's storage and the seams."""

    root: GraphRoot
    seams: Seams
    objects: Objects
    leases: Leases
    tables: Tables
    manifest: ManifestReader
    audit: AuditTable
    embed: Embed | None = None
    """Makes vectors of texts, for searches that ask with a text."""

    @classmethod
    def at(
        cls,
        root: GraphRoot,
        seams: Seams | None = None,
        embed: Embed | None = None,
        durability: Durability = Durability.PROCESS,
    ) -> World:
        """The parts for a root; nothing is read or written yet."""
        given = seams or Seams.system()
        points = given.failpoints
        disk = disk_at(root, durability, points)
        tables = Tables(root, points, disk)
        return cls(
            root,
            given,
            objects_at(root, points, given.ids),
            leases_at(root, given.clock, given.ids, points, given.pause),
            tables,
            ManifestReader(ManifestTable(root, points, disk), tables.settle),
            AuditTable(root, points, disk),
            embed,
        )

    @property
    def failpoints(self) -> Failpoints:
        return self.seams.failpoints
