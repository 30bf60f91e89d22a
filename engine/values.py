"""What every part of the engine calls things: tables, their pins, commits, and the state of a branch."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Final

from omnigraph_sql.base.catalog import NodeType, TableType

MAIN: Final = "main"
RECOVERY_ACTOR: Final = "omnigraph:recovery"


@dataclass(frozen=True, slots=True, order=True)
class TableIdentity:
    """Who a table is, whatever it is called: the type's stable id and the incarnation of its data."""

    stable_id: int
    incarnation_id: int

    def __post_init__(self) -> None:
        if self.stable_id < 1 or self.incarnation_id < 1:
            raise ValueError("identities count from 1")

    def __str__(self) -> str:
        return f"{self.stable_id}:{self.incarnation_id}"

    @classmethod
    def of(cls, table: TableType) -> TableIdentity:
        return cls(table.stable_id, table.incarnation_id)


def table_key(of: TableType) -> str:
    """`node:Airport` or `edge:Route`."""
    return f"{'node' if isinstance(of, NodeType) else 'edge'}:{of.name}"


TABLE_PATH: Final = re.compile(r"(?:nodes|edges)/[0-9a-f]{16}-[0-9a-f]{16}")
"""What `table_path` gives."""


def table_path(of: TableType) -> str:
    """Where the rows of a type live below the root; names never occur in it, so renaming is free."""
    folder = "nodes" if isinstance(of, NodeType) else "edges"
    return f"{folder}/{of.stable_id:016x}-{of.incarnation_id:016x}"


@dataclass(frozen=True, slots=True)
class TablePin:
    """The version of a table that a branch shows. `branch` is the Lance branch that owns it, None the table's main."""

    identity: TableIdentity
    key: str
    path: str
    version: int
    branch: str | None
    row_count: int

    def __post_init__(self) -> None:
        if self.version < 1 or self.row_count < 0:
            raise ValueError(f"{self.key}: versions count from 1, rows from 0")


@dataclass(frozen=True, slots=True)
class GraphCommit:
    """One step of history. `version` is the manifest version that made it visible."""

    id: str
    parent: str | None
    merged_parent: str | None
    branch: str
    actor: str | None
    message: str | None
    created_at: datetime
    version: int

    @property
    def parents(self) -> tuple[str, ...]:
        """The commit before it and, of a merge, the one that was merged in."""
        return tuple(one for one in (self.parent, self.merged_parent) if one is not None)


@dataclass(frozen=True)
class Snapshot:
    """What one branch shows at one manifest version.

    `own_head` is the branch's own head row, absent until something is committed on it; `head` is the commit a new one
    would have as parent. `branch_identifier` tells a branch from another one that had its name before. `fence` is the
    largest fencing counter that a publish on this branch has carried. `contract` names the stored schema in force, None
    the one the graph was made with.
    """

    branch: str
    branch_identifier: str
    manifest_version: int
    own_head: str | None
    head: str
    tables: tuple[TablePin, ...]
    fence: int = 0
    stamp: int = field(default=0, compare=False)
    contract: str | None = None

    @cached_property
    def _by_identity(self) -> dict[TableIdentity, TablePin]:
        return {pin.identity: pin for pin in self.tables}

    @cached_property
    def _by_key(self) -> dict[str, TablePin]:
        return {pin.key: pin for pin in self.tables}

    def pin(self, identity: TableIdentity) -> TablePin | None:
        return self._by_identity.get(identity)

    def named(self, key: str) -> TablePin | None:
        return self._by_key.get(key)
