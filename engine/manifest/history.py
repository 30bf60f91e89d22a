"""States that were: a branch at a manifest version, at a commit, or at an instant."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from omnigraph_sql.base.errors import StorageError
from omnigraph_sql.engine.manifest.reader import ManifestReader
from omnigraph_sql.engine.values import MAIN, GraphCommit, Snapshot

_COMMIT_CHARACTERS: Final = 26
_LATER_VERSIONS_MAX: Final = 4
"""A commit that met a disjoint one is visible that much later than it foresaw, at most."""


def state_at(reader: ManifestReader, branch: str, point: int | str | datetime) -> Snapshot:
    """What a branch showed: a number is a manifest version, a text the id of a commit or the name of a branch.

    Raises StorageError (not_found) when there was no such state, or when it is reclaimed.
    """
    if isinstance(point, bool):
        raise _unknown(f"{point} is no version")
    if isinstance(point, int):
        return _at_version(reader, branch, point)
    if isinstance(point, datetime):
        return _at_instant(reader, branch, point)
    if len(point) == _COMMIT_CHARACTERS and point.isalnum():
        return _at_commit(reader, branch, point)
    if point == MAIN or point in reader.table.branches():
        return reader.current(point).snapshot
    raise _unknown(f"there is no commit and no branch {point!r}")


def _at_version(reader: ManifestReader, branch: str, version: int) -> Snapshot:
    newest = reader.current(branch).snapshot
    if version == newest.manifest_version:
        return newest
    if not 1 <= version < newest.manifest_version:
        raise _unknown(f"branch {branch} has versions 1 to {newest.manifest_version}, not {version}")
    return reader.at_version(branch, version).snapshot


def _at_commit(reader: ManifestReader, branch: str, commit_id: str) -> Snapshot:
    for commit in reader.commits(branch):
        if commit.id == commit_id:
            return _shown_by(reader, commit)
    for other in (MAIN, *sorted(reader.table.branches())):
        for commit in reader.commits(other) if other != branch else ():
            if commit.id == commit_id:
                return _shown_by(reader, commit)
    raise _unknown(f"there is no commit {commit_id}")


def _at_instant(reader: ManifestReader, branch: str, instant: datetime) -> Snapshot:
    """The newest commit of the branch's own chain that is not younger than the instant."""
    if instant.tzinfo is None:
        raise StorageError(
            f"{instant} has no time zone", kind="not_found", hint="give it one, as in 2026-01-31T12:00:00Z"
        )
    found = {commit.id: commit for commit in reader.commits(branch)}
    at: str | None = reader.current(branch).snapshot.head
    while at is not None and at in found:
        if found[at].created_at <= instant:
            return _shown_by(reader, found[at])
        at = found[at].parent
    raise _unknown(f"branch {branch} has no commit as old as {instant.isoformat()}")


def _shown_by(reader: ManifestReader, commit: GraphCommit) -> Snapshot:
    """The state a commit made: that of the first version whose head it is."""
    newest = reader.current(commit.branch).snapshot
    if newest.head == commit.id:
        return newest
    for version in range(commit.version, min(commit.version + _LATER_VERSIONS_MAX, newest.manifest_version) + 1):
        found = reader.at_version(commit.branch, version).snapshot
        if found.head == commit.id:
            return found
    raise _unknown(f"the state of commit {commit.id} is gone")


def _unknown(message: str) -> StorageError:
    return StorageError(
        message, kind="not_found", hint="SHOW COMMITS, graph.commits() and ogsql commit list show what can be read"
    )
