"""Whether a graph is whole. Reads only: nothing is written, no lease is taken, and writers are not in the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from omnigraph_sql.base.catalog import DST, SRC, Catalog, EdgeType, TableType
from omnigraph_sql.base.errors import FormatError, InternalError, OmniError, RecoveryRequired, StorageError
from omnigraph_sql.engine.opening import check_tables
from omnigraph_sql.engine.recovery.heal import pending
from omnigraph_sql.engine.store.root import RECOVERY
from omnigraph_sql.engine.store.tables import OpenTable
from omnigraph_sql.engine.upkeep.check_rows import StoredRows, loose_ends, one_by_one, together
from omnigraph_sql.engine.upkeep.findings import RESTORE, About, Finding, of_rows
from omnigraph_sql.engine.values import MAIN, Snapshot, TableIdentity, TablePin
from omnigraph_sql.engine.world import World

CatalogOf = Callable[[Snapshot], Catalog]
"""The schema of a state. Raises FormatError."""

_DAMAGE: Final = frozenset(("not_found", "unknown"))
"""Kinds of failures that may be what is wrong with the graph, and not with the way to it."""


@dataclass(slots=True)
class Check:
    """One look at a graph; `findings` may be called once. `watch` is told what is being looked at."""

    world: World
    catalog_of: CatalogOf
    watch: Callable[[str], None] = lambda _: None
    branches: int = 0
    tables: int = 0
    rows: int = 0
    _known: set[tuple[TablePin, ...]] = field(default_factory=set)
    """What was looked at on another branch already; branches share what they have not written."""

    def findings(self, branches: Sequence[str] | None = None) -> Iterator[Finding]:
        """Everything that is wrong with these branches, all of them unless said otherwise, and with the graph.

        Raises StorageError when storage does not answer, or when there is no such branch.
        """
        try:
            self.world.manifest.current(MAIN)
        except (FormatError, StorageError) as error:
            yield self._damaged(About.MANIFEST, error, MAIN)
            return
        yield from self._of_graph()
        for branch in branches if branches is not None else (MAIN, *sorted(self.world.manifest.table.branches())):
            self.world.manifest.identifier(branch)
            yield from self._of_branch(branch)

    # ---- the graph and its branches -----------------------------------------------------------------------------

    def _of_graph(self) -> Iterator[Finding]:
        self.watch("unfinished operations")
        try:
            for _, intent in pending(self.world):
                text = f"operation {intent.operation_id} ({intent.writer.value}, {intent.phase.value}) is not finished"
                hint = "ogsql recover finishes or undoes it; if its writer is at work, wait"
                yield Finding(About.INTENT, text, hint, intent.branch)
        except RecoveryRequired as error:
            yield Finding(About.INTENT, error.message, error.hint or RESTORE)
        try:
            self.world.audit.rows()
        except StorageError as error:
            yield self._damaged(About.LOG, error)

    def _of_branch(self, branch: str) -> Iterator[Finding]:
        self.watch(f"{branch}: history")
        try:
            snapshot = self.world.manifest.current(branch).snapshot
            yield from self._history(snapshot)
        except (FormatError, StorageError) as error:
            yield self._damaged(About.MANIFEST, error, branch)
            return
        self.branches += 1
        types: dict[TableIdentity, TableType] = {}
        try:
            catalog = self.catalog_of(snapshot)
            check_tables(catalog, snapshot)
            types = {TableIdentity.of(of): of for of in catalog.tables()}
        except (FormatError, StorageError) as error:
            yield self._damaged(About.SCHEMA, error, branch)
        stored: dict[str, StoredRows] = {}
        for pin in snapshot.tables:
            yield from self._drift(branch, pin)
            yield from self._table(branch, pin, types.get(pin.identity), stored)
        yield from self._ends(branch, stored)

    def _history(self, snapshot: Snapshot) -> Iterator[Finding]:
        commits = {commit.id: commit for commit in self.world.manifest.commits(snapshot.branch)}
        at: str | None = snapshot.head
        child = "the head"
        while at is not None and at in commits:
            child, at = f"commit {at}", commits.pop(at).parent
        if at is not None:
            text = f"{child} follows commit {at}, which is not in the history"
            yield Finding(About.HISTORY, text, RESTORE, snapshot.branch)

    def _damaged(self, about: About, error: OmniError, branch: str | None = None, table: str | None = None) -> Finding:
        """What could not be read, as a finding. Raises the error when storage as a whole does not answer."""
        if isinstance(error, StorageError):
            self._refuse_trouble(error)
        return Finding(about, error.message, RESTORE if about is About.TABLE else error.hint or RESTORE, branch, table)

    def _refuse_trouble(self, error: StorageError) -> None:
        """Raises what is about the way to the graph. Whoever can list a folder reaches the storage: then the fault is
        with what lies there."""
        if error.kind not in _DAMAGE:
            raise error
        self.world.objects.list(RECOVERY)

    # ---- tables -------------------------------------------------------------------------------------------------

    def _drift(self, branch: str, pin: TablePin) -> Iterator[Finding]:
        """The newest version is the one that is shown, unless a writer is at work. Writers announce themselves first
        and publish last, so looking in the opposite order meets every one of them."""
        if (pin.branch or MAIN) != branch:
            return
        try:
            newest = self.world.tables.newest(pin.path, pin.branch, pin.version, pin.key)
        except StorageError as error:
            self._refuse_trouble(error)
            return  # reading the table tells
        if newest == pin.version:
            return
        try:
            if any(intent.branch == branch for _, intent in pending(self.world)):
                return
        except RecoveryRequired:
            return
        now = self.world.manifest.current(branch).snapshot.pin(pin.identity)
        if now is None or now.version >= newest:
            return
        text = f"its newest version is {newest}, but the graph shows version {now.version}"
        hint = "find the program that wrote into the graph's folder; ogsql recover does not undo it"
        yield Finding(About.DRIFT, text, hint, branch, pin.key)

    def _table(
        self, branch: str, pin: TablePin, of: TableType | None, stored: dict[str, StoredRows]
    ) -> Iterator[Finding]:
        if (pin,) in self._known:
            if of is not None:
                stored[pin.key] = StoredRows(self.world, of, self.world.tables.open(pin))
            return
        self._known.add((pin,))
        self.tables += 1
        self.watch(f"{branch}: {pin.key}")
        try:
            table = self.world.tables.open(pin)
            yield from self._counts(branch, table)
            if of is not None:
                rows = StoredRows(self.world, of, table)
                yield from of_rows(branch, pin.key, one_by_one(rows, self._count))
                stored[pin.key] = rows
                yield from of_rows(branch, pin.key, together(rows))
        except (StorageError, InternalError) as error:
            stored.pop(pin.key, None)
            yield self._damaged(About.TABLE, error, branch, pin.key)

    def _count(self, rows: int) -> None:
        self.rows += rows
        self.watch(f"{self.rows} rows")

    def _counts(self, branch: str, table: OpenTable) -> Iterator[Finding]:
        pin, count = table.pin, self.world.tables.count(table)
        if count != pin.row_count:
            text = f"version {pin.version} has {count} rows, the graph recorded {pin.row_count}"
            yield Finding(About.TABLE, text, RESTORE, branch, pin.key)

    def _ends(self, branch: str, stored: dict[str, StoredRows]) -> Iterator[Finding]:
        nodes = {rows.type.name: rows for rows in stored.values() if not isinstance(rows.type, EdgeType)}
        for key, edges in stored.items():
            if not isinstance(edges.type, EdgeType):
                continue
            self.watch(f"{branch}: ends of {key}")
            ends = ((SRC, nodes.get(edges.type.source)), (DST, nodes.get(edges.type.target)))
            known = (edges.table.pin, *(own.table.pin for _, own in ends if own is not None))
            if known in self._known:
                continue
            self._known.add(known)
            try:
                for side, own in ends:
                    if own is not None:
                        yield from of_rows(branch, key, loose_ends(own, edges, side))
            except StorageError as error:
                yield self._damaged(About.TABLE, error, branch, key)
