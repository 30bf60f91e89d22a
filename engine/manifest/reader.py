"""The state of branches, read once per manifest version and kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from threading import Lock

from omnigraph_sql.base.errors import StorageError
from omnigraph_sql.engine.manifest.format import check_stamp
from omnigraph_sql.engine.manifest.state import Fold, commits_stored, fold_stored, visible
from omnigraph_sql.engine.store.manifest_table import ManifestTable, ManifestView
from omnigraph_sql.engine.values import MAIN, GraphCommit, Snapshot, TablePin


@dataclass(frozen=True, slots=True)
class BranchState:
    """One branch at one manifest version: the open manifest, its fold, and what the branch shows."""

    view: ManifestView
    fold: Fold
    snapshot: Snapshot


class ManifestReader:
    """Fresh states of branches; what has not changed since the last look is not read again."""

    def __init__(self, table: ManifestTable, settle_tables: Callable[[Iterable[TablePin]], None]) -> None:
        self.table, self._settle_tables = table, settle_tables
        self._kept: dict[str, BranchState] = {}
        self._lock = Lock()
        self.folds = 0
        """How often rows were read and folded, for the cost gates."""

    def current(self, branch: str) -> BranchState:
        """The newest published state of a branch. Raises StorageError (not_found) or FormatError."""
        with self._lock:
            kept = self._kept.get(branch)
        identifier = self.identifier(branch)
        same = kept is not None and kept.snapshot.branch_identifier == identifier
        if kept is not None and same and self.table.newest(kept.view) == kept.view.version:
            return kept
        view = self.table.open(branch)
        return self.remember(self._state(view, identifier))

    def kept(self, branch: str) -> BranchState | None:
        """The state that was read or made last; it may be old."""
        with self._lock:
            return self._kept.get(branch)

    def at_version(self, branch: str, version: int) -> BranchState:
        """A state that was; never kept."""
        return self._state(self.table.open(branch, version), self.identifier(branch))

    def identifier(self, branch: str) -> str:
        """What tells a branch from one of the same name that was deleted before."""
        if branch == MAIN:
            return MAIN
        found = self.table.branches().get(branch)
        if found is None:
            raise StorageError(f"there is no branch {branch}", kind="not_found")
        return found

    def _state(self, view: ManifestView, identifier: str) -> BranchState:
        stamp = check_stamp(view.metadata)
        self.folds += 1
        folded = fold_stored(self.table.rows(view))
        return BranchState(view, folded, folded.snapshot(view.branch, identifier, view.version, stamp))

    def remember(self, state: BranchState) -> BranchState:
        """Keep a state, unless a newer one of the same branch is kept already."""
        with self._lock:
            kept = self._kept.get(state.view.branch)
            same = kept is not None and kept.snapshot.branch_identifier == state.snapshot.branch_identifier
            if kept is None or not same or kept.view.version <= state.view.version:
                self._kept[state.view.branch] = state
        return state

    def settle_tables(self, pins: Iterable[TablePin]) -> None:
        """Bring everything that a publish will refer to to the disk, if the graph was opened for that."""
        self._settle_tables(pins)

    def settle(self, branch: str) -> None:
        """The same for what a branch shows already: a writer that died may have published without it."""
        state = self.current(branch)
        self._settle_tables(state.snapshot.tables)
        self.table.settle(state.view)

    def forget(self, branch: str) -> None:
        with self._lock:
            self._kept.pop(branch, None)

    def made_at(self, branch: str) -> datetime:
        """When a branch was made; main with the graph. Raises StorageError (not_found)."""
        if branch == MAIN:
            return min(commit.created_at for commit in self.commits(MAIN) if commit.parent is None)
        found = self.table.branch_instants().get(branch)
        if found is None:
            raise StorageError(f"there is no branch {branch}", kind="not_found")
        return found

    def has_commit(self, branch: str, commit_id: str) -> bool:
        """Whether a commit is visible on a branch; reads afresh."""
        view = self.table.open(branch)
        return visible(self.table.rows(view), commit_id)

    def commits(self, branch: str) -> list[GraphCommit]:
        """Everything that led to the branch's head and is recorded, newest first."""
        return commits_stored(self.table.rows(self.table.open(branch)))
