"""The one executor: arm, commit, confirm, publish, disarm. Effect-free until `arm`; nothing is retried after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import (
    CommitUnknown,
    ConflictError,
    OmniError,
    ReadSetChanged,
    RecoveryRequired,
    StorageError,
)
from omnigraph_sql.engine.manifest.publisher import AGAIN, check_head, publish
from omnigraph_sql.engine.recovery.heal import resolve
from omnigraph_sql.engine.recovery.intent import Intent, TableIntent
from omnigraph_sql.engine.recovery.sidecar import encode, sidecar_path
from omnigraph_sql.engine.recovery.torn import clear_torn_branch
from omnigraph_sql.engine.store.effects import EffectConflict, ForeignEffect, Staged, TableChange, commit, stage
from omnigraph_sql.engine.store.lease import Lease
from omnigraph_sql.engine.values import Snapshot
from omnigraph_sql.engine.world import World

REOPEN: Final = "do not repeat it; the next write finishes it, or opening the graph for writing anew does"


@dataclass(frozen=True, slots=True)
class PlannedTable:
    """A table's part of a plan. A table that has to be forked first is staged after arming, on its new branch."""

    intent: TableIntent
    change: TableChange
    staged: Staged | None

    def __post_init__(self) -> None:
        if (self.staged is None) != self.intent.forks:
            raise ValueError("exactly the tables that fork are staged late")


@dataclass(frozen=True, slots=True)
class PublishPlan:
    """What every writer hands over. `revalidate` looks at what the token does not cover (the schema contract).

    `created` are the columns of the tables that the intent creates, in its order. `abandon` is called when it is
    certain that nothing names what was staged, and nothing will.
    """

    intent: Intent
    tables: tuple[PlannedTable, ...]
    revalidate: Callable[[], None]
    created: tuple[pa.Schema, ...] = ()
    abandon: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        if len(self.created) != len(self.intent.created):
            raise ValueError("every created table has its columns")


@contextmanager
def turn(
    world: World, branch: str, lost: int, beside: int = limits.PREPARE_BESIDE_OTHERS_MAX
) -> Iterator[Lease | None]:
    """Where an operation is prepared that has lost so many times to writers who were faster.

    One that lost `beside` times takes the lease before it reads: nothing can come between its base and its publish.
    What a dead writer left is finished first, for that moves the branch too.
    """
    if lost < beside:
        yield None
        return
    world.failpoints.hit("write.before_lease")
    with world.leases.hold(branch) as lease:
        resolve(world, lease, full=False)
        yield lease


def carry_out(world: World, plan: PublishPlan, held: Lease | None = None) -> Snapshot:
    """Carry a prepared operation to visibility; the state it made. `held` is the branch's lease if the caller has it.

    Raises ReadSetChanged when the world moved and nothing happened; RecoveryRequired or CommitUnknown from the first
    effect on, with the operation or the commit to ask for.
    """
    intent, armed = plan.intent, False
    try:
        if held is None:
            world.failpoints.hit("write.before_lease")
        with world.leases.hold(intent.branch) if held is None else nullcontext(held) as lease:
            if held is None:  # else `turn` has done so, and nobody could announce anything since
                resolve(world, lease, full=False)
            _revalidate(world, plan)
            lease = world.leases.renewed(lease)
            intent = replace(intent, fence=lease.fence)
            armed = True
            return _carried_out(world, lease, intent, plan)
    except BaseException as error:
        if not armed or isinstance(error, ConflictError):
            plan.abandon()
        raise


def _carried_out(world: World, lease: Lease, intent: Intent, plan: PublishPlan) -> Snapshot:
    """The durable steps. Raises ConflictError only when nothing happened."""
    _arm(world, intent)
    lease = _commit_tables(world, lease, intent, plan.tables)
    _create_tables(world, intent, plan.created)
    snapshot = _confirm_and_publish(world, lease, intent)
    # As long as the intent is there, a manifest that a loss of power spoils here is mended.
    _tidy(world, lease, intent.branch)
    _disarm(world, intent)
    return snapshot


def _revalidate(world: World, plan: PublishPlan) -> None:
    """The token still holds, and no table has a version that the manifest does not know."""
    token = plan.intent.token
    plan.revalidate()
    snapshot = world.manifest.current(token.branch).snapshot
    check_head(token.branch, snapshot, token.head())
    for table in plan.tables:
        if table.staged is not None:
            pin = table.intent.pin
            newest = world.tables.moved(pin, table.intent.branch)
            if newest is not None:
                raise ConflictError(
                    f"{pin.key} has version {newest}, the graph shows {pin.version}: something else wrote to it",
                    code="drift",
                    hint="find the program that writes into the graph's folder; ogsql check shows every such table",
                )


def _arm(world: World, intent: Intent) -> None:
    world.failpoints.hit("arm.before")
    if not world.objects.put_new(sidecar_path(intent.operation_id), encode(intent)):
        raise StorageError(f"operation {intent.operation_id} is armed already", kind="permanent")
    world.failpoints.hit("arm.after")


def _commit_tables(world: World, lease: Lease, intent: Intent, tables: tuple[PlannedTable, ...]) -> Lease:
    """Commit one table after the other; the lease, which may have been renewed meanwhile.

    Whoever takes a lease that ran out judges the intent by what is there. So nothing is added after that.
    """
    moved = False
    for table in tables:
        try:
            world.failpoints.hit("commit.before_table")
            staged = table.staged or _stage_on_fork(world, intent, table)
            lease = world.leases.renewed(lease)
            commit(world.tables, staged)
            moved = True
            world.failpoints.hit("commit.after_table")
        except (EffectConflict, ReadSetChanged) as error:
            if moved or table.intent.forks:
                raise _half_done(intent, error) from error
            _disarm(world, intent)
            if isinstance(error, ReadSetChanged):
                raise
            raise ReadSetChanged(
                str(error),
                member=table.intent.pin.key,
                expected=table.intent.pin.version,
                actual=None,
                hint=AGAIN,
            ) from error
        except (OmniError, ForeignEffect) as error:
            raise _half_done(intent, error) from error
    return lease


def _create_tables(world: World, intent: Intent, schemas: tuple[pa.Schema, ...]) -> None:
    """Make the new tables. Their place follows from an identity that no publish has shown, so it is theirs alone."""
    for pin, schema in zip(intent.created, schemas, strict=True):
        try:
            world.failpoints.hit("commit.before_create")
            version = world.tables.create(pin.path, schema)
            world.failpoints.hit("commit.after_create")
            if version != pin.version:
                raise ForeignEffect(f"{pin.key} begins with version {version}, not {pin.version}")
        except (OmniError, ForeignEffect) as error:
            raise _half_done(intent, error) from error


def _stage_on_fork(world: World, intent: Intent, table: PlannedTable) -> Staged:
    """Make the Lance branch of the table, then stage there: files of a branch live below the branch."""
    planned = table.intent
    assert planned.branch is not None
    if not world.tables.has_branch(planned.pin.path, planned.branch, planned.pin.branch, planned.pin.version):
        clear_torn_branch(world.objects, planned.pin.path, planned.branch)
    fork = world.tables.fork(planned.pin.path, planned.branch, planned.pin.branch, planned.pin.version)
    world.failpoints.hit("commit.after_fork")
    if int(fork.version) != planned.pin.version:
        raise ForeignEffect(f"branch {planned.branch} of {planned.pin.key} is at version {fork.version} already")
    return stage(world.tables, planned.pin, planned.branch, table.change, planned.uuid, intent.operation_id)


def _half_done(intent: Intent, error: BaseException) -> RecoveryRequired:
    message = f"operation {intent.operation_id} stopped half way: {error}"
    return RecoveryRequired(message, operation_id=intent.operation_id, hint=REOPEN)


def _confirm_and_publish(world: World, lease: Lease, intent: Intent) -> Snapshot:
    try:
        # Effects that a loss of power could take back must not be confirmed.
        world.tables.settle(intent.publication().delta.versions)
        world.failpoints.hit("confirm.before")
        # Should a power loss bring the unconfirmed intent back, it is undone, or finished if the publish is there.
        world.objects.replace(sidecar_path(intent.operation_id), encode(intent.confirmed()))
        world.failpoints.hit("confirm.after")
        world.failpoints.hit("publish.before")
        world.leases.renewed(lease)
        snapshot = publish(world.manifest, intent.publication())
        world.failpoints.hit("publish.after")
        return snapshot
    except CommitUnknown:
        raise
    except OmniError as error:
        raise _half_done(intent, error) from error


def _disarm(world: World, intent: Intent) -> None:
    """Best effort: the operation is decided, and the next writer finalises an intent that stays behind."""
    with suppress(OmniError):
        world.failpoints.hit("disarm.before")
        world.objects.delete(sidecar_path(intent.operation_id))
        world.failpoints.hit("disarm.after")


def _tidy(world: World, lease: Lease, branch: str) -> None:
    """Keep the manifest small while the lease is held; failing costs nothing but time."""
    with suppress(OmniError):
        state = world.manifest.kept(branch)
        if state is not None and world.manifest.table.fragments(state.view) > limits.MANIFEST_FRAGMENTS_MAX:
            world.manifest.table.compact(state.view)
            world.manifest.forget(lease.branch)
