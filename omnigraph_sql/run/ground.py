"""What steps are walked on: the tables of one state, and the links between their rows."""

from __future__ import annotations

from dataclasses import asdict

from omnigraph_sql.base.catalog import EdgeType, TableType
from omnigraph_sql.base.errors import ExecutionError
from omnigraph_sql.base.travel import ReadPoint
from omnigraph_sql.engine.store.derived import DerivedFiles
from omnigraph_sql.engine.store.root import GraphRoot
from omnigraph_sql.engine.values import TableIdentity
from omnigraph_sql.run.held import Held
from omnigraph_sql.run.links import Links
from omnigraph_sql.run.relation import Build
from omnigraph_sql.run.scene import Scene
from omnigraph_sql.run.shelf import SHELF


def kept_facts(root: GraphRoot) -> dict[str, int]:
    """What the process keeps in memory for the graphs it has open, and what is kept on disk for this one."""
    return {**asdict(SHELF.facts()), "disk_bytes": DerivedFiles.at(root).nbytes()}


class Ground:
    """Tables and links at one point, each made when it is asked for."""

    def __init__(self, build: Build, at: ReadPoint) -> None:
        self.scene: Scene = build.scene
        self._snapshot, self._staging = build.state(at)
        self._tables: dict[TableIdentity, Held] = {}
        self._links: dict[TableIdentity, Links] = {}
        self._files: DerivedFiles | None = None

    def held(self, of: TableType) -> Held:
        identity = TableIdentity.of(of)
        found = self._tables.get(identity)
        if found is None:
            pin = self._snapshot.pin(identity)
            if pin is None:
                raise ExecutionError(f"{of.name} does not exist on branch {self._snapshot.branch}")
            tables = self.scene.world.tables
            changes = self._staging.of(of) if self._staging is not None else None
            found = self._tables[identity] = Held(tables, tables.open(pin), of, changes)
        return found

    def links(self, edge: EdgeType) -> Links | None:
        """The links of an edge type; None while a node type at its end is unknown."""
        identity = TableIdentity.of(edge)
        found = self._links.get(identity)
        if found is None:
            catalog = self.scene.catalog
            source, target = catalog.node(edge.source), catalog.node(edge.target)
            if source is None or target is None:
                return None
            self._files = self._files or DerivedFiles.at(self.scene.world.root)
            ends = self.held(source), self.held(target)
            found = self._links[identity] = Links(self.held(edge), *ends, self._files)
        return found
