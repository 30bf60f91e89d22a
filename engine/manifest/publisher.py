"""The one door: `publish` makes effects visible together with their place in history, by one compare-and-swap."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import (
    CommitUnknown,
    ConflictError,
    ExpectedVersionMismatch,
    ReadSetChanged,
    StorageError,
)
from omnigraph_sql.engine.manifest.format import check_stamp
from omnigraph_sql.engine.manifest.reader import BranchState, ManifestReader
from omnigraph_sql.engine.manifest.rows import (
    CommitRow,
    ContractRow,
    HeadRow,
    ManifestRow,
    TableRow,
    TombstoneRow,
    head_object_id,
    to_table,
    version_row,
)
from omnigraph_sql.engine.store.manifest_table import Contention, ManifestView
from omnigraph_sql.engine.values import GraphCommit, Snapshot, TableIdentity, TablePin

AGAIN: Final = "nothing was written; read again and repeat the statement"


@dataclass(frozen=True, slots=True)
class Delta:
    """What a publish changes: names, drops, the versions that become visible, and the schema in force."""

    versions: tuple[TablePin, ...] = ()
    registrations: tuple[TableRow, ...] = ()
    tombstones: tuple[TombstoneRow, ...] = ()
    contract: str | None = None

    def __post_init__(self) -> None:
        claims = [(pin.identity, pin.version) for pin in self.versions]
        if len(set(claims)) != len(claims):
            raise ValueError("a version is published twice")


@dataclass(frozen=True, slots=True)
class Lineage:
    """The commit to be made; its id is minted once, so a lost answer can be looked up."""

    commit_id: str
    actor: str | None
    message: str | None
    created_at: datetime
    merged_parent: str | None = None


@dataclass(frozen=True, slots=True)
class ExactHead:
    """The branch must still be this one, with exactly this head row (None: no commit of its own yet)."""

    branch_identifier: str
    own_head: str | None


@dataclass(frozen=True, slots=True)
class Publication:
    """Everything a publish needs. `expected` lists versions that must be current, read-only tables included."""

    branch: str
    delta: Delta
    expected: tuple[tuple[TableIdentity, int], ...]
    precondition: ExactHead | None
    lineage: Lineage
    fence: int = 0


def publish(reader: ManifestReader, publication: Publication) -> Snapshot:
    """Make the delta visible. Retries row-level contention only; every attempt starts from a fresh state.

    Raises ReadSetChanged or ExpectedVersionMismatch when the world moved (nothing happened), CommitUnknown when the
    answer was lost, StorageError when nothing can have happened.
    """
    for _ in range(limits.PUBLISH_RETRIES_MAX + 1):
        state = reader.current(publication.branch)
        check_stamp(state.view.metadata)
        _check(publication, state)
        rows = _rows(publication, state)
        grown = state.fold.copy()
        for row in rows:
            grown.add(row)
        reader.settle_tables(grown.pins())
        try:
            view = reader.table.merge(state.view, to_table(rows))
        except Contention:
            reader.forget(publication.branch)
            if _landed(reader, publication):
                _settle(reader, publication, reader.current(publication.branch).view)
                return reader.current(publication.branch).snapshot
            continue
        except StorageError as error:
            reader.forget(publication.branch)
            raise _unknown(publication, error) from error
        reader.table.failpoints.hit("publish.after_merge")
        _settle(reader, publication, view)
        snapshot = grown.snapshot(
            publication.branch, state.snapshot.branch_identifier, view.version, state.snapshot.stamp
        )
        if view.version == state.view.version + 1:
            reader.remember(BranchState(view, grown, snapshot))
        else:
            # Somebody else's rows came in between without touching ours: what is visible has to be read.
            reader.forget(publication.branch)
            snapshot = reader.current(publication.branch).snapshot
        return snapshot
    raise ConflictError(
        f"{limits.PUBLISH_RETRIES_MAX + 1} publishes in a row met another writer on branch {publication.branch}",
        hint=AGAIN,
    )


def _landed(reader: ManifestReader, publication: Publication) -> bool:
    """Whether what met another writer met itself: a store that lost its answer repeats the put."""
    try:
        return reader.has_commit(publication.branch, publication.lineage.commit_id)
    except StorageError as error:
        raise _unknown(publication, error) from error


def _settle(reader: ManifestReader, publication: Publication, view: ManifestView) -> None:
    """Nobody is told of a commit before it is as durable as the graph was opened for."""
    try:
        reader.table.settle(view)
    except StorageError as error:
        raise _unknown(publication, error) from error


def _unknown(publication: Publication, error: StorageError) -> CommitUnknown:
    return CommitUnknown(
        f"the outcome of the publish is not known: {error.message}",
        commit_id=publication.lineage.commit_id,
        hint="look the commit up by its id before repeating anything",
    )


def check_head(branch: str, snapshot: Snapshot, wanted: ExactHead) -> None:
    """The branch is the same one and has exactly the head that was read. Raises ReadSetChanged."""
    member = head_object_id(branch)
    if snapshot.branch_identifier != wanted.branch_identifier:
        raise ReadSetChanged(
            f"branch {branch} was deleted and made anew",
            member=member,
            expected=wanted.branch_identifier,
            actual=snapshot.branch_identifier,
            hint=AGAIN,
        )
    if snapshot.own_head != wanted.own_head:
        raise ReadSetChanged(
            f"branch {branch} has a newer commit",
            member=member,
            expected=wanted.own_head,
            actual=snapshot.own_head,
            hint=AGAIN,
        )


def _check(publication: Publication, state: BranchState) -> None:
    snapshot = state.snapshot
    if publication.precondition is not None:
        check_head(publication.branch, snapshot, publication.precondition)
    if publication.fence < snapshot.fence:
        raise ReadSetChanged(
            "the writer lease was lost to another writer",
            member="lease",
            expected=publication.fence,
            actual=snapshot.fence,
            hint=AGAIN,
        )
    for identity, version in publication.expected:
        actual = state.fold.seen_version(identity)
        if actual != version:
            name = state.fold.names.get(identity)
            key = name.key if name is not None else str(identity)
            raise ExpectedVersionMismatch(
                f"{key} is at version {actual}, not at {version}",
                table_key=key,
                expected=version,
                actual=actual,
                hint=AGAIN,
            )
    _check_claims(publication, state)


def _check_claims(publication: Publication, state: BranchState) -> None:
    """A version is published once; saying the same again, or handing it to another branch, is fine."""
    for pin in publication.delta.versions:
        seen = state.fold.seen_version(pin.identity)
        if pin.version < seen or pin.version == state.fold.dropped.get(pin.identity):
            raise ExpectedVersionMismatch(
                f"version {pin.version} of {pin.key} would not be seen: the table is at {seen}",
                table_key=pin.key,
                expected=pin.version - 1,
                actual=seen,
                hint=AGAIN,
            )
        known = state.fold.newest.get(pin.identity)
        if known is None or known.version != pin.version or known.branch != pin.branch:
            continue
        if known.row_count != pin.row_count or known.key != pin.key:
            raise ExpectedVersionMismatch(
                f"version {pin.version} of {pin.key} is published already, with other facts",
                table_key=pin.key,
                expected=pin.version - 1,
                actual=pin.version,
                hint=AGAIN,
            )


def _rows(publication: Publication, state: BranchState) -> list[ManifestRow]:
    lineage, snapshot = publication.lineage, state.snapshot
    commit = GraphCommit(
        lineage.commit_id,
        snapshot.head,
        lineage.merged_parent,
        publication.branch,
        lineage.actor,
        lineage.message,
        lineage.created_at,
        state.view.version + 1,
    )
    head = HeadRow(publication.branch, commit.id, snapshot.head, max(publication.fence, snapshot.fence))
    versions = (version_row(pin, commit.id) for pin in publication.delta.versions)
    delta = publication.delta
    contract = () if delta.contract is None else (ContractRow(delta.contract),)
    return [*delta.registrations, *delta.tombstones, *versions, *contract, CommitRow(commit), head]
