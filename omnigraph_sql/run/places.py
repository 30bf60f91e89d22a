"""Which state of a table a scan reads, and what is pending on it."""

from __future__ import annotations

from datetime import datetime

from omnigraph_sql.base.catalog import TableType
from omnigraph_sql.base.errors import ExecutionError
from omnigraph_sql.base.names import PointKind
from omnigraph_sql.base.travel import ReadPoint
from omnigraph_sql.engine.manifest.history import state_at
from omnigraph_sql.engine.store.tables import OpenTable
from omnigraph_sql.engine.values import Snapshot, TableIdentity
from omnigraph_sql.engine.write.staging import MutationStaging, TableChanges
from omnigraph_sql.run.scalars import constant
from omnigraph_sql.run.scene import Scene


def state_of(scene: Scene, at: ReadPoint) -> tuple[Snapshot, MutationStaging | None]:
    """The snapshot at a point; only the statement's own has pending rows."""
    if at.kind is PointKind.HEAD:
        return scene.snapshot, scene.staging
    if at.kind is PointKind.BRANCH and at.branch is not None:
        if at.branch.text == scene.snapshot.branch:
            return scene.snapshot, scene.staging
        return scene.world.manifest.current(at.branch.text).snapshot, None
    assert at.value is not None
    point = constant(at.value, scene)
    if not isinstance(point, int | str | datetime):
        raise ExecutionError(f"{point!r} is no point in history", hint="use a version, a commit or an instant")
    return state_at(scene.world.manifest, scene.snapshot.branch, point), None


def opened(
    scene: Scene, of: TableType, snapshot: Snapshot, staging: MutationStaging | None
) -> tuple[OpenTable, TableChanges | None]:
    """A table in a snapshot, and its pending changes if there are any."""
    pin = snapshot.pin(TableIdentity.of(of))
    if pin is None:
        raise ExecutionError(f"{of.name} does not exist on branch {snapshot.branch}")
    return scene.world.tables.open(pin), staging.of(of) if staging is not None else None
