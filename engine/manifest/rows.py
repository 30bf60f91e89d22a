"""The rows of the graph manifest, each kind as a value, and their Arrow form."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias, assert_never

import pyarrow as pa

from omnigraph_sql.engine.values import MAIN, GraphCommit, TableIdentity, TablePin

OBJECT_ID: Final = "object_id"
CONTRACT_OBJECT_ID: Final = "graph_contract"
SCHEMA: Final = pa.schema(
    [
        pa.field(OBJECT_ID, pa.utf8(), False, {b"lance-schema:unenforced-primary-key": b"true"}),
        pa.field("object_type", pa.utf8(), False),
        pa.field("location", pa.utf8()),
        pa.field("metadata", pa.utf8()),
        pa.field("base_objects", pa.list_(pa.field("item", pa.utf8()))),
        pa.field("table_key", pa.utf8(), False),
        pa.field("stable_table_id", pa.uint64()),
        pa.field("table_incarnation_id", pa.uint64()),
        pa.field("table_version", pa.uint64()),
        pa.field("table_branch", pa.utf8()),
        pa.field("row_count", pa.uint64()),
    ]
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class TableRow:
    """A table identity and the name it goes by."""

    identity: TableIdentity
    key: str
    path: str

    @property
    def object_id(self) -> str:
        return f"table:{self.identity}"


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A published version of a table."""

    identity: TableIdentity
    key: str
    version: int
    branch: str | None
    row_count: int
    commit_id: str

    @property
    def object_id(self) -> str:
        return f"table_version:{self.identity}:{self.version:020d}"


@dataclass(frozen=True, slots=True)
class TombstoneRow:
    """The drop of a table; it hides every version up to its own."""

    identity: TableIdentity
    key: str
    version: int

    @property
    def object_id(self) -> str:
        return f"table_tombstone:{self.identity}:{self.version:020d}"


@dataclass(frozen=True, slots=True)
class CommitRow:
    commit: GraphCommit

    @property
    def object_id(self) -> str:
        return self.commit.id


@dataclass(frozen=True, slots=True)
class HeadRow:
    """The newest commit of a branch that has been committed to."""

    branch: str
    commit_id: str
    parent: str | None
    fence: int = 0

    @property
    def object_id(self) -> str:
        return head_object_id(self.branch)


@dataclass(frozen=True, slots=True)
class ContractRow:
    """The stored schema in force, by the name of its object; there is no such row before the first change."""

    name: str

    @property
    def object_id(self) -> str:
        return CONTRACT_OBJECT_ID


ManifestRow: TypeAlias = TableRow | VersionRow | TombstoneRow | CommitRow | HeadRow | ContractRow


def head_object_id(branch: str) -> str:
    return f"graph_head:{branch}"


def to_table(rows: Iterable[ManifestRow]) -> pa.Table:
    """Rows as the manifest stores them."""
    return pa.Table.from_pylist([_stored(row) for row in rows], schema=SCHEMA)


def _stored(row: ManifestRow) -> dict[str, Any]:
    found: dict[str, Any] = {OBJECT_ID: row.object_id, "table_key": ""}
    match row:
        case TableRow(identity, key, path):
            return found | _identified("table", identity, key) | {"location": path}
        case VersionRow(identity, key, version, branch, row_count, commit_id):
            facts = {"table_version": version, "table_branch": branch, "row_count": row_count}
            return found | _identified("table_version", identity, key) | facts | {"metadata": _json(commit=commit_id)}
        case TombstoneRow(identity, key, version):
            return found | _identified("table_tombstone", identity, key) | {"table_version": version}
        case CommitRow(commit):
            facts = {"object_type": "graph_commit", "table_version": commit.version, "table_branch": commit.branch}
            return found | facts | {"metadata": _commit_json(commit)}
        case HeadRow(branch, commit_id, parent, fence):
            facts = {"object_type": "graph_head", "table_branch": branch}
            return found | facts | {"metadata": _json(head=commit_id, parent=parent, fence=fence)}
        case ContractRow(name):
            return found | {"object_type": "graph_contract", "location": name}
        case _:
            assert_never(row)


def _identified(kind: str, identity: TableIdentity, key: str) -> dict[str, Any]:
    return {
        "object_type": kind,
        "table_key": key,
        "stable_table_id": identity.stable_id,
        "table_incarnation_id": identity.incarnation_id,
    }


def _json(**facts: object) -> str:
    return json.dumps(facts, separators=(",", ":"), ensure_ascii=False)


def _commit_json(commit: GraphCommit) -> str:
    return _json(
        parent=commit.parent,
        merged_parent=commit.merged_parent,
        actor=commit.actor,
        message=commit.message,
        created_at=(commit.created_at - _EPOCH) // _MICROSECOND,
    )


def commit_of(stored: dict[str, Any]) -> GraphCommit:
    """A commit from its stored row. Raises ValueError, KeyError or TypeError when it is damaged."""
    facts = json.loads(stored["metadata"])
    return GraphCommit(
        id=stored[OBJECT_ID],
        parent=facts["parent"],
        merged_parent=facts["merged_parent"],
        branch=stored["table_branch"] or MAIN,
        actor=facts["actor"],
        message=facts["message"],
        created_at=_EPOCH + timedelta(microseconds=facts["created_at"]),
        version=int(stored["table_version"]),
    )


def head_of(stored: dict[str, Any]) -> HeadRow:
    """A head from its stored row. Raises ValueError, KeyError or TypeError when it is damaged."""
    facts = json.loads(stored["metadata"])
    return HeadRow(stored["table_branch"], facts["head"], facts["parent"], int(facts["fence"]))


def version_row(pin: TablePin, commit_id: str) -> VersionRow:
    return VersionRow(pin.identity, pin.key, pin.version, pin.branch, pin.row_count, commit_id)
