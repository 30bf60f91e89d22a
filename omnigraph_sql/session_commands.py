"""Commands of a session that are neither queries nor mutations: files, branches, settings."""

from __future__ import annotations

from typing import Final, Protocol

import pyarrow as pa

from omnigraph_sql.base.commands import (
    Command,
    CopyFrom,
    CopyTo,
    CreateBranch,
    ExportGraph,
    ImportGraph,
    SetOption,
    UseBranch,
)
from omnigraph_sql.base.errors import ConflictError, DataError
from omnigraph_sql.base.expr import Value
from omnigraph_sql.base.names import BranchName, PointKind
from omnigraph_sql.engine.branch.create import create_branch, has_branch
from omnigraph_sql.engine.load.loader import load
from omnigraph_sql.engine.manifest.history import state_at
from omnigraph_sql.engine.values import Snapshot
from omnigraph_sql.engine.world import World
from omnigraph_sql.engine.write.txn import Receipt
from omnigraph_sql.plan.node import Plan
from omnigraph_sql.result import Counts, Result
from omnigraph_sql.run.contract import ContractKeeper
from omnigraph_sql.run.copy import affected, copy_source, copy_to, export_graph, import_source
from omnigraph_sql.run.scalars import NOT_CONSTANT, constant
from omnigraph_sql.run.scene import Scene
from omnigraph_sql.settings import Settings
from omnigraph_sql.statements import empty_reader, empty_result

ALONE: Final = (CopyFrom, ImportGraph, CreateBranch, UseBranch)
"""Commands that commit by themselves, or change what statements are about; none has a place in a transaction."""


class Room(Protocol):
    """The session a command is carried out in."""

    world: World
    keeper: ContractKeeper
    settings: Settings
    first_settings: Settings

    def refuse_read_only(self) -> None: ...
    def snapshot(self) -> Snapshot: ...
    def moved_to(self, branch: str) -> None: ...


def stands_alone(command: Command) -> bool:
    return isinstance(command, ALONE) or (isinstance(command, SetOption) and command.name == "branch")


def carried_out(command: Command, plan: Plan | None, scene: Scene, room: Room) -> Result | None:
    """What a command comes to; None for one that is not carried out here."""
    match command:
        case CopyTo():
            return _number("count", copy_to(command, plan, scene))
        case ExportGraph():
            return _number("count", export_graph(command, scene).rows)
        case CopyFrom() | ImportGraph():
            return _loaded(command, scene, room)
        case CreateBranch():
            return _created(command, scene, room)
        case UseBranch(name):
            room.moved_to(name.text)
            return empty_result()
        case SetOption():
            return _set(command, scene, room)
        case _:
            return None


def _number(name: str, value: int) -> Result:
    return Result(pa.table({name: pa.array([value], pa.int64())}).to_reader())


def _loaded(command: CopyFrom | ImportGraph, scene: Scene, room: Room) -> Result:
    """A load is one commit of its own."""
    room.refuse_read_only()
    found = copy_source(command, scene) if isinstance(command, CopyFrom) else import_source(command, scene)
    source, mode = found
    branch, author = room.settings.branch, room.settings.author
    report = load(room.world, lambda: room.keeper.contract(branch), branch, author, [source], mode)
    nodes, edges = affected(report)
    now = room.world.manifest.current(branch).snapshot
    receipt = Receipt(branch, report.commit_id, nodes, edges, now)
    return Result(empty_reader(), counts=Counts(nodes, edges), receipt=receipt)


def _created(command: CreateBranch, scene: Scene, room: Room) -> Result:
    room.refuse_read_only()
    if command.if_not_exists and has_branch(room.world, command.name.text):
        return empty_result()
    create_branch(room.world, command.name.text, _start(command, scene, room))
    return empty_result()


def _start(command: CreateBranch, scene: Scene, room: Room) -> Snapshot:
    point = command.start
    if point.kind is PointKind.HEAD:
        return room.snapshot()
    if point.branch is not None:
        return room.world.manifest.current(point.branch.text).snapshot
    assert point.value is not None
    value = _value(point.value, scene)
    return state_at(room.world.manifest, room.settings.branch, value)  # type: ignore[arg-type]


def _set(command: SetOption, scene: Scene, room: Room) -> Result:
    value = None if command.value is None else _value(command.value, scene)
    settings = room.settings.changed(command.name, value, room.first_settings)
    if settings.branch != room.settings.branch:
        try:
            room.moved_to(BranchName.parse(settings.branch).text)
        except ValueError as error:
            raise ConflictError(str(error), code="branch_name") from error
    room.settings = settings
    return empty_result()


def _value(expr: object, scene: Scene) -> Value:
    found = constant(expr, scene)  # type: ignore[arg-type]
    if found is NOT_CONSTANT:
        raise DataError("a setting is a constant")
    return found  # type: ignore[return-value]
