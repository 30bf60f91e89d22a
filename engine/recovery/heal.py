"""Finish or undo what a writer left behind. Runs under the lease of the intent's branch, so its writer is gone.

A heal, at every write entry, rolls forward and finalises only. A full recovery, at read-write open, may restore too.
"""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, assert_never

from omnigraph_sql.base.errors import CommitUnknown, OmniError, RecoveryRequired, ResourceLimitExceeded, StorageError
from omnigraph_sql.engine.manifest.publisher import Publication, publish
from omnigraph_sql.engine.manifest.state import visible
from omnigraph_sql.engine.recovery.classify import (
    Decision,
    Defer,
    Discard,
    Finish,
    Refuse,
    RollBack,
    RollForward,
    Seen,
    SeenTable,
    classify,
)
from omnigraph_sql.engine.recovery.intent import Intent, Outcome, TableIntent
from omnigraph_sql.engine.recovery.sidecar import Unreadable, decode, encode, is_sidecar, sidecar_path
from omnigraph_sql.engine.store.lease import Lease
from omnigraph_sql.engine.store.manifest_table import manifest_home
from omnigraph_sql.engine.store.root import AUDIT, RECOVERY, schema_path
from omnigraph_sql.engine.store.tables import table_home
from omnigraph_sql.engine.store.torn import drop_torn, is_torn
from omnigraph_sql.engine.values import MAIN, RECOVERY_ACTOR, Snapshot, TableIdentity, TablePin
from omnigraph_sql.engine.world import World

_HISTORY_VERSIONS_MAX: Final = 1026
"""Versions that are looked through for the transactions of an intent."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """One resolved intent: its operation and what became of it."""

    operation_id: str
    kind: str
    branch: str


def pending(world: World) -> list[tuple[str, Intent]]:
    """All intents, by name. Raises RecoveryRequired for a file that cannot be understood."""
    found = []
    for name in world.objects.list(RECOVERY):
        if is_sidecar(name):
            intent = _read(world, name)
            if intent is not None:  # finished between the listing and the look
                found.append((name, intent))
    return found


def _read(world: World, name: str) -> Intent | None:
    try:
        body = world.objects.get(f"{RECOVERY}/{name}")
        return None if body is None else decode(name, body)
    except (Unreadable, ResourceLimitExceeded) as error:
        raise RecoveryRequired(
            f"an intent cannot be read, so nothing is written: {error}",
            operation_id=name.removesuffix(".json"),
            hint="open the graph with the version that wrote it, or restore the file; reading works meanwhile",
        ) from error


def pending_operations(world: World) -> int:
    """How many operations wait for recovery; none when nobody can tell."""
    try:
        return sum(is_sidecar(name) for name in world.objects.list(RECOVERY))
    except OmniError:
        return 0


def recover(world: World) -> list[Recovered]:
    """Full recovery of every branch. Raises RecoveryRequired where nobody may decide."""
    done: list[Recovered] = []
    for branch in sorted({intent.branch for _, intent in pending(world)}):
        with world.leases.hold(branch) as lease:
            _mend(world, branch)
            done += resolve(world, lease, full=True)
    return done


def mend(world: World) -> bool:
    """Remove what a loss of power left of the last steps of writers; whether there was any. Their intents stay."""
    mended = False
    for branch in sorted({intent.branch for _, intent in pending(world)}):
        with world.leases.hold(branch):
            mended |= _mend(world, branch)
    return mended


def _mend(world: World, branch: str) -> bool:
    local = world.root.local
    if local is None:
        return False
    homes = [manifest_home(branch)]
    for _, intent in pending(world):
        if intent.branch == branch:
            homes += [table_home(table.pin.path, table.branch) for table in intent.tables]
    torn = [drop_torn(local, home) for home in homes]
    return any((*torn, _mend_log(world, local, branch)))


def _mend_log(world: World, local: Path, branch: str) -> bool:
    """The log belongs to all branches. Nobody can add to a torn one, so whoever has main's lease mends it alone."""
    if not is_torn(local, AUDIT):
        return False
    with nullcontext() if branch == MAIN else world.leases.hold(MAIN):
        return drop_torn(local, AUDIT)


def heal(world: World, branch: str) -> list[Recovered]:
    """Finish what can be finished on a branch without a restore; what needs one is left for a full recovery.

    Takes the lease only when something is pending, so nobody waits for a writer without need.
    """
    if not any(intent.branch == branch for _, intent in pending(world)):
        return []
    with world.leases.hold(branch) as lease:
        return resolve(world, lease, full=False)


def resolve(world: World, lease: Lease, *, full: bool) -> list[Recovered]:
    """Resolve the intents of the leased branch, each against the state that the one before it left.

    Raises RecoveryRequired when one is left: it needs a full recovery, or nobody may decide.
    """
    done: list[Recovered] = []
    for _, intent in pending(world):
        if intent.branch != lease.branch:
            continue
        decision = classify(intent, _look(world, intent), full=full)
        done.append(_act(world, lease, intent, decision))
    return done


def _look(world: World, intent: Intent) -> Seen:
    # Only the list of branches proves that one is gone; a file that cannot be found proves nothing.
    if intent.branch != MAIN and intent.branch not in world.manifest.table.branches():
        return Seen(False, False, None, None, ())
    identifier = world.manifest.identifier(intent.branch)
    state = world.manifest.current(intent.branch)
    rows = world.manifest.table.rows(state.view)
    return Seen(
        visible(rows, intent.lineage.commit_id),
        visible(rows, intent.rollback_commit_id),
        identifier,
        state.snapshot.own_head,
        tuple(_look_at(world, table, state.snapshot) for table in intent.tables),
    )


def _look_at(world: World, table: TableIntent, snapshot: Snapshot) -> SeenTable:
    shown = snapshot.pin(table.identity)
    pin = shown.version if shown is not None else 0
    path, branch, known = table.pin.path, table.branch, table.pin.version
    try:
        head = world.tables.newest(path, branch, known, table.pin.key)
    except StorageError as error:
        if error.kind != "not_found" or not _absent(world, table):
            raise
        return SeenTable(table.identity, 0, None, pin)
    if head <= known:
        return SeenTable(table.identity, head, None, pin)
    uuid = world.tables.transaction_uuid(path, branch, table.planned_version, known)
    last = min(head, known + _HISTORY_VERSIONS_MAX)
    later = range(table.planned_version + 1, last + 1)
    restores = bool(later) and all(world.tables.is_restore(path, branch, v, known) for v in later)
    return SeenTable(table.identity, head, uuid, pin, restores)


def _absent(world: World, table: TableIntent) -> bool:
    """Whether the intent was to make the table, or its Lance branch, and did not come to it."""
    pin = table.pin
    if table.forks and table.branch is not None:
        return not world.tables.has_branch(pin.path, table.branch, pin.branch, pin.version)
    return table.fresh


def _act(world: World, lease: Lease, intent: Intent, decision: Decision) -> Recovered:
    match decision:
        case Finish(forward):
            world.manifest.settle(intent.branch)
            return _close(world, intent, "RolledForward" if forward else "RolledBack")
        case Discard(orphaned):
            return _close(world, intent, "OrphanedBranchDiscarded" if orphaned else "Discarded")
        case RollForward():
            world.failpoints.hit("heal.before_publish")
            _publish(world, intent, replace(intent, fence=max(lease.fence, intent.fence)).publication())
            world.failpoints.hit("heal.after_publish")
            return _close(world, intent, "RolledForward")
        case RollBack(moved):
            _undo(world, lease, intent, moved)
            return _close(world, intent, "RolledBack")
        case Refuse(reason) | Defer(reason):
            raise _unresolved(intent, reason, deferred=isinstance(decision, Defer))
        case _:
            assert_never(decision)


def _unresolved(intent: Intent, reason: str, *, deferred: bool) -> RecoveryRequired:
    by_itself = "open the graph for writing anew, which runs a full recovery"
    by_a_person = "reads go on; ogsql check shows what differs, and the newest backup from before is sure to be whole"
    hint = by_itself if deferred else by_a_person
    message = f"operation {intent.operation_id} on branch {intent.branch} is half done: {reason}"
    return RecoveryRequired(message, operation_id=intent.operation_id, hint=hint)


def _undo(world: World, lease: Lease, intent: Intent, moved: tuple[TableIdentity, ...]) -> None:
    """Restore, then publish the restored versions. The decision is on disk before anything is touched."""
    if intent.outcome is not Outcome.ROLL_BACK:
        intent = replace(intent, outcome=Outcome.ROLL_BACK)
        world.objects.put(sidecar_path(intent.operation_id), encode(intent))
    world.failpoints.hit("heal.before_restore")
    restored: list[TablePin] = []
    for table in intent.tables:
        if table.identity in moved:
            # Restoring on top of a writer that took the lease meanwhile would hide what it wrote.
            lease = world.leases.renewed(lease)
            version = world.tables.restore(table.pin.path, table.branch, table.pin.version)
            restored.append(replace(table.pin, version=version, branch=table.branch))
            world.failpoints.hit("heal.after_restore")
    at = world.seams.clock.now()
    _publish(world, intent, intent.undoing(tuple(restored), at, lease.fence))
    world.failpoints.hit("heal.after_rollback")


def _publish(world: World, intent: Intent, publication: Publication) -> None:
    """Publish for a writer that is gone. Whoever is told of a lost answer must not take it for one of its own."""
    try:
        publish(world.manifest, publication)
    except CommitUnknown as error:
        raise _unresolved(intent, error.message, deferred=True) from error


def _close(world: World, intent: Intent, kind: str) -> Recovered:
    """Audit once, then disarm; a failure in between is repeated by the next recovery."""
    if kind != "RolledForward":
        _clear_created(world, intent)
    world.audit.append(_audit_row(world, intent, kind))
    world.failpoints.hit("heal.after_audit")
    world.objects.delete(sidecar_path(intent.operation_id))
    return Recovered(intent.operation_id, kind, intent.branch)


def _clear_created(world: World, intent: Intent) -> None:
    """Remove what an operation that never became visible left for itself: tables nobody knows, and its schema.

    Identities are given out again when their publish did not happen, so a table that a later operation made and
    published in the same place stays.
    """
    if intent.created:
        known = world.manifest.current(MAIN).fold.names
        for pin in intent.created:
            if pin.identity not in known:
                world.tables.drop(pin.path)
                world.failpoints.hit("heal.after_drop")
    if intent.contract is not None:
        world.objects.delete(schema_path(intent.contract))


def _audit_row(world: World, intent: Intent, kind: str) -> dict[str, object]:
    forward = kind == "RolledForward"
    tables = [
        {"key": t.pin.key, "from": t.pin.version, "to": t.planned_version if forward else t.pin.version}
        for t in intent.tables
    ]
    tables += [{"key": pin.key, "from": 0, "to": pin.version if forward else 0} for pin in intent.created]
    return {
        "operation_id": intent.operation_id,
        "kind": kind,
        "writer": intent.writer.value,
        "branch": intent.branch,
        "commit_id": {"RolledForward": intent.lineage.commit_id, "RolledBack": intent.rollback_commit_id}.get(kind),
        "actor": intent.lineage.actor if forward else RECOVERY_ACTOR,
        "tables": json.dumps(tables),
        "created_at": world.seams.clock.now(),
    }


def refuse_if_pending(world: World, branch: str) -> None:
    """Raise RecoveryRequired when an intent of the branch, or one nobody can read, is pending. Reads only."""
    for _, intent in pending(world):
        if intent.branch == branch:
            raise _unresolved(intent, "it was not finished", deferred=True)
