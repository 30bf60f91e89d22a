"""Defects that can be planted into the protocol, to prove that the oracle sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

from omnigraph_sql.engine.manifest.publisher import publish
from omnigraph_sql.engine.recovery import heal
from omnigraph_sql.engine.recovery.classify import Decision, RollBack, RollForward
from omnigraph_sql.engine.recovery.intent import Intent
from omnigraph_sql.engine.recovery.sidecar import encode, sidecar_path
from omnigraph_sql.engine.store.audit import AuditTable
from omnigraph_sql.engine.store.lease import Lease
from omnigraph_sql.engine.store.tables import Tables
from omnigraph_sql.engine.world import World
from omnigraph_sql.engine.write import commit

Patch = tuple[Any, str, Any]

_arm, _commit_tables, _confirm = commit._arm, commit._commit_tables, commit._confirm_and_publish


def _publish_early(world: World, lease: Lease, intent: Intent, tables: Any) -> Lease:
    publish(world.manifest, intent.publication())
    return _commit_tables(world, lease, intent, tables)


def _publish_unconfirmed(world: World, _: Lease, intent: Intent) -> Any:
    world.failpoints.hit("confirm.before")
    world.failpoints.hit("confirm.after")
    world.failpoints.hit("publish.before")
    return publish(world.manifest, intent.publication())


def _disarm_early(world: World, _: Lease, intent: Intent) -> Any:
    world.objects.delete(sidecar_path(intent.operation_id))
    world.failpoints.hit("publish.before")
    return publish(world.manifest, intent.publication())


def _no_arm(world: World, _: Intent) -> None:
    world.failpoints.hit("arm.after")


def _confirm_early(world: World, lease: Lease, intent: Intent, tables: Any) -> Lease:
    world.objects.put(sidecar_path(intent.operation_id), encode(intent.confirmed()))
    _commit_tables(world, lease, intent, tables[:1])
    with mock.patch.object(commit, "commit", return_value=0):
        return _commit_tables(world, lease, intent, tables[1:])


def _no_restore(self: Tables, path: str, branch: str | None, version: int) -> int:
    return self.newest(path, branch, version)


def _forward_always(world: World, lease: Any, intent: Intent, decision: Decision) -> heal.Recovered:
    if isinstance(decision, RollBack):
        decision = RollForward()
    return _act(world, lease, intent, decision)


def _logged_twice(self: AuditTable, row: dict[str, Any]) -> None:
    _append(self, row)
    _append(self, {**row, "operation_id": row["operation_id"] + "."})
    with mock.patch.object(AuditTable, "has", return_value=False):
        _append(self, row)


def _kept_paper(world: World, intent: Intent, kind: str) -> heal.Recovered:
    """Everything of `_close` but the removal of the intent."""
    world.audit.append(heal._audit_row(world, intent, kind))
    return heal.Recovered(intent.operation_id, kind, intent.branch)


def _other_commit(world: World, lease: Any, intent: Intent, decision: Decision) -> heal.Recovered:
    fresh = replace(intent, lineage=replace(intent.lineage, actor="nobody"))
    return _act(world, lease, fresh, decision)


_act, _append = heal._act, AuditTable.append

DEFECTS: dict[str, Callable[[], Patch]] = {
    "publishes before it commits": lambda: (commit, "_commit_tables", _publish_early),
    "publishes without confirming": lambda: (commit, "_confirm_and_publish", _publish_unconfirmed),
    "disarms before it publishes": lambda: (commit, "_confirm_and_publish", _disarm_early),
    "commits without arming": lambda: (commit, "_arm", _no_arm),
    "confirms what it has not committed": lambda: (commit, "_commit_tables", _confirm_early),
    "rolls back without restoring": lambda: (Tables, "restore", _no_restore),
    "rolls forward what is incomplete": lambda: (heal, "_act", _forward_always),
    "recovers without a log": lambda: (AuditTable, "append", lambda *_: None),
    "logs twice": lambda: (AuditTable, "append", _logged_twice),
    "leaves the intent behind": lambda: (heal, "_close", _kept_paper),
    "rolls forward as somebody else": lambda: (heal, "_act", _other_commit),
}


@contextmanager
def planted(name: str | None) -> Iterator[None]:
    """The named defect, in this process; None plants nothing."""
    with ExitStack() as stack:
        if name is not None:
            target, attribute, value = DEFECTS[name]()
            stack.enter_context(mock.patch.object(target, attribute, value))
        yield
