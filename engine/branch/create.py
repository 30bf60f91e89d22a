"""Making a branch: a name for a state. No rows are copied."""

from __future__ import annotations

from omnigraph_sql.base.errors import ConflictError
from omnigraph_sql.base.names import BranchName
from omnigraph_sql.engine.recovery.torn import clear_torn_branch
from omnigraph_sql.engine.store.root import MANIFEST
from omnigraph_sql.engine.values import MAIN, Snapshot
from omnigraph_sql.engine.world import World


def create_branch(world: World, name: str, start: Snapshot) -> str:
    """A branch that begins as `start`; its name. Raises ConflictError when the name is none, or taken."""
    try:
        wanted = BranchName.parse(name).text
    except ValueError as error:
        raise ConflictError(str(error), code="branch_name") from error
    with world.leases.hold(wanted):
        _refuse_taken(world, wanted)
        clear_torn_branch(world.objects, MANIFEST, wanted)
        world.manifest.table.create_branch(wanted, world.manifest.table.open(start.branch, start.manifest_version))
    return wanted


def has_branch(world: World, name: str) -> bool:
    return name == MAIN or name in world.manifest.table.branches()


def _refuse_taken(world: World, wanted: str) -> None:
    # Branches are folders, and to some file systems names of either case are one.
    name = wanted.casefold()
    taken = [one.casefold() for one in (MAIN, *world.manifest.table.branches())]
    if any(name == one or name.startswith(f"{one}/") or one.startswith(f"{name}/") for one in taken):
        raise ConflictError(
            f"the name {wanted} collides with a branch there is", code="branch_exists", hint="choose another name"
        )
