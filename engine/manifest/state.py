"""Rows → the state of a branch: a pure fold. The same rows in any order give the same state."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base.errors import FormatError
from omnigraph_sql.engine.manifest.rows import (
    OBJECT_ID,
    CommitRow,
    ContractRow,
    HeadRow,
    ManifestRow,
    TableRow,
    TombstoneRow,
    VersionRow,
    commit_of,
    head_of,
)
from omnigraph_sql.engine.values import GraphCommit, Snapshot, TableIdentity, TablePin


@dataclass(slots=True)
class Fold:
    """What the rows seen so far amount to."""

    names: dict[TableIdentity, TableRow] = field(default_factory=dict)
    newest: dict[TableIdentity, VersionRow] = field(default_factory=dict)
    dropped: dict[TableIdentity, int] = field(default_factory=dict)
    heads: dict[str, HeadRow] = field(default_factory=dict)
    last_commit: GraphCommit | None = None
    contract: str | None = None

    def add(self, row: ManifestRow) -> None:
        match row:
            case TableRow():
                self.names[row.identity] = row
            case VersionRow():
                known = self.newest.get(row.identity)
                if known is None or row.version >= known.version:
                    self.newest[row.identity] = row
            case TombstoneRow():
                self.dropped[row.identity] = max(row.version, self.dropped.get(row.identity, 0))
            case CommitRow(commit):
                if self.last_commit is None or _order(commit) > _order(self.last_commit):
                    self.last_commit = commit
            case HeadRow():
                self.heads[row.branch] = row
            case ContractRow(name):
                self.contract = name

    def copy(self) -> Fold:
        tables = dict(self.names), dict(self.newest), dict(self.dropped)
        return Fold(*tables, dict(self.heads), self.last_commit, self.contract)

    def pins(self) -> tuple[TablePin, ...]:
        """Live tables by name. Raises FormatError when two go by one name or one has none."""
        pins: dict[str, TablePin] = {}
        for identity, row in self.newest.items():
            if self.dropped.get(identity, 0) >= row.version:
                continue
            name = self.names.get(identity)
            if name is None:
                raise damaged(f"table {identity} has versions but no name")
            if name.key in pins:
                raise damaged(f"two tables are called {name.key}")
            pins[name.key] = TablePin(identity, name.key, name.path, row.version, row.branch, row.row_count)
        return tuple(pins[key] for key in sorted(pins))

    def seen_version(self, identity: TableIdentity) -> int:
        """The newest version of a table, or that of its drop; 0 when it is not known."""
        newest = self.newest.get(identity)
        version = newest.version if newest is not None else 0
        return max(version, self.dropped.get(identity, 0))

    def snapshot(self, branch: str, identifier: str, version: int, stamp: int) -> Snapshot:
        """The state of `branch`. Raises FormatError when the rows hold no commit."""
        own = self.heads.get(branch)
        if own is None and self.last_commit is None:
            raise damaged("it holds no commit")
        head = own.commit_id if own is not None else self.last_commit.id if self.last_commit is not None else ""
        fence = own.fence if own is not None else 0
        own_head = own.commit_id if own is not None else None
        return Snapshot(branch, identifier, version, own_head, head, self.pins(), fence, stamp, self.contract)


def _order(commit: GraphCommit) -> tuple[int, Any, str]:
    return commit.version, commit.created_at, commit.id


def damaged(what: str) -> FormatError:
    return FormatError(f"the graph manifest is damaged: {what}", hint="restore the graph from a backup; delete nothing")


def fold(rows: Iterable[ManifestRow]) -> Fold:
    """The fold of rows as values."""
    made = Fold()
    for row in rows:
        made.add(row)
    return made


def fold_stored(table: pa.Table) -> Fold:
    """The fold of stored rows; unknown kinds are skipped. Versions are reduced in Arrow: there is one per commit."""
    made = Fold()
    kinds = table["object_type"]
    try:
        for stored in table.filter(pc.equal(kinds, "table")).to_pylist():
            made.add(TableRow(_identity(stored), stored["table_key"], stored["location"]))
        for stored in _newest(table.filter(pc.equal(kinds, "table_version"))).to_pylist():
            made.add(_version(stored))
        for stored in table.filter(pc.equal(kinds, "table_tombstone")).to_pylist():
            made.add(TombstoneRow(_identity(stored), stored["table_key"], int(stored["table_version"])))
        for stored in table.filter(pc.equal(kinds, "graph_head")).to_pylist():
            made.add(head_of(stored))
        for stored in table.filter(pc.equal(kinds, "graph_contract")).to_pylist():
            made.add(ContractRow(stored["location"]))
        for stored in _last(table.filter(pc.equal(kinds, "graph_commit"))).to_pylist():
            made.add(CommitRow(commit_of(stored)))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise damaged(str(error)) from error
    return made


def _newest(versions: pa.Table) -> pa.Table:
    """The row of the greatest version of each identity."""
    if versions.num_rows < 2:
        return versions
    keys = ("stable_table_id", "table_incarnation_id", "table_version")
    columns = [versions[name].to_numpy() for name in keys]
    order = np.lexsort(columns[::-1])
    stable, incarnation = columns[0][order], columns[1][order]
    last = np.append((stable[1:] != stable[:-1]) | (incarnation[1:] != incarnation[:-1]), True)
    return versions.take(pa.array(order[last]))


def _last(commits: pa.Table) -> pa.Table:
    """The commits of the greatest manifest version; the fold picks among them."""
    if commits.num_rows < 2:
        return commits
    return commits.filter(pc.equal(commits["table_version"], pc.max(commits["table_version"])))


def commits_stored(table: pa.Table) -> list[GraphCommit]:
    """Every commit in stored rows, newest first."""
    try:
        found = [commit_of(s) for s in table.filter(pc.equal(table["object_type"], "graph_commit")).to_pylist()]
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise damaged(str(error)) from error
    return sorted(found, key=_order, reverse=True)


def _identity(stored: dict[str, Any]) -> TableIdentity:
    return TableIdentity(int(stored["stable_table_id"]), int(stored["table_incarnation_id"]))


def _version(stored: dict[str, Any]) -> VersionRow:
    facts = json.loads(stored["metadata"])
    return VersionRow(
        _identity(stored),
        stored["table_key"],
        int(stored["table_version"]),
        stored["table_branch"],
        int(stored["row_count"]),
        facts["commit"],
    )


def visible(table: pa.Table, object_id: str) -> bool:
    """Whether a row of this id is there."""
    return bool(pc.any(pc.equal(table[OBJECT_ID], object_id)).as_py())
