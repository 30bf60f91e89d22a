"""Making a graph, and opening one."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import Catalog
from omnigraph_sql.base.errors import ConflictError, FormatError, OmniError, StorageError
from omnigraph_sql.engine.manifest.format import stamp_metadata
from omnigraph_sql.engine.manifest.rows import CommitRow, HeadRow, ManifestRow, TableRow, VersionRow, to_table
from omnigraph_sql.engine.recovery.heal import Recovered, mend, recover
from omnigraph_sql.engine.store.objects import PROBE, litter_instant
from omnigraph_sql.engine.store.root import AUDIT, CLAIM, RECOVERY, SCHEMA_IR, SCHEMA_STATE, SCHEMA_TEXT
from omnigraph_sql.engine.store.tables import table_schema
from omnigraph_sql.engine.values import (
    MAIN,
    TABLE_PATH,
    GraphCommit,
    Snapshot,
    TableIdentity,
    TablePin,
    table_key,
    table_path,
)
from omnigraph_sql.engine.world import World

_CONTRACT = (SCHEMA_TEXT, SCHEMA_IR, SCHEMA_STATE)
_INIT_LEASE = "\x00init"
_PROBE_NAMES_MAX = 3


@dataclass(frozen=True, slots=True)
class ContractFiles:
    """The stored schema: its text, its compiled form, and the state that ties the two together."""

    source: bytes
    ir: bytes
    state: bytes


def init(
    world: World, files: ContractFiles, catalog: Catalog, *, actor: str | None = None, force: bool = False
) -> Snapshot:
    """Make a graph with empty tables. The manifest is the commit point: before it, a failure leaves nothing behind.

    Raises ConflictError (`exists`) when there is a graph already; `force` only helps over schema files that no manifest
    belongs to.
    """
    _refuse_existing(world)
    with world.leases.hold(_INIT_LEASE):
        _refuse_existing(world)
        _clear_dead_attempt(world)
        _refuse_orphans(world, force)
        _probe(world)
        attempt = world.seams.ids.ulid()
        paths = [table_path(of) for of in catalog.tables()]
        world.objects.put(CLAIM, json.dumps({"attempt": attempt, "tables": paths}).encode())
        try:
            return _build(world, files, catalog, actor, attempt)
        except BaseException:
            _undo(world, paths, attempt)
            raise


def _refuse_existing(world: World) -> None:
    if world.manifest.table.exists():
        raise ConflictError(f"there is a graph at {world.root.uri} already", code="exists", hint="open it instead")


def _refuse_orphans(world: World, force: bool) -> None:
    found = [name for name in _CONTRACT if world.objects.get(name) is not None]
    if found and not force:
        raise ConflictError(
            f"{', '.join(found)} lie at {world.root.uri} without a graph",
            code="orphan_schema",
            hint="move them away, or say force to replace them",
        )
    for name in found:
        world.objects.delete(name)


def _clear_dead_attempt(world: World) -> None:
    """Remove what an init that died left; holding the lease proves that it is dead."""
    body = world.objects.get(CLAIM)
    if body is None:
        return
    try:
        paths = [str(path) for path in json.loads(body)["tables"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FormatError(f"{CLAIM} is damaged: {error}", hint=f"delete {CLAIM} when no init is running") from error
    _remove(world, [path for path in paths if TABLE_PATH.fullmatch(path)])


def _remove(world: World, paths: list[str]) -> None:
    for path in (*paths, AUDIT):
        world.tables.drop(path)
    for name in (*_CONTRACT, CLAIM):
        world.objects.delete(name)


def _build(world: World, files: ContractFiles, catalog: Catalog, actor: str | None, commit_id: str) -> Snapshot:
    hit = world.failpoints
    for name, body in zip(_CONTRACT, (files.source, files.ir, files.state), strict=True):
        if not world.objects.put_new(name, body):
            raise ConflictError(f"{name} appeared while the graph was being made", code="exists", hint="open the graph")
        hit.hit("init.after_contract")
    rows: list[ManifestRow] = []
    pins: list[TablePin] = []
    for of in catalog.tables():
        version = world.tables.create(table_path(of), table_schema(of))
        hit.hit("init.after_table")
        identity = TableIdentity.of(of)
        rows.append(TableRow(identity, table_key(of), table_path(of)))
        rows.append(VersionRow(identity, table_key(of), version, None, 0, commit_id))
        pins.append(TablePin(identity, table_key(of), table_path(of), version, None, 0))
    world.audit.create()
    world.tables.settle(pins)
    commit = GraphCommit(commit_id, None, None, MAIN, actor, None, world.seams.clock.now(), 1)
    hit.hit("init.before_manifest")
    _create_manifest(world, to_table([*rows, CommitRow(commit), HeadRow(MAIN, commit_id, None)]), commit_id)
    hit.hit("init.after_manifest")
    world.manifest.settle(MAIN)
    with suppress(OmniError):
        world.objects.delete(CLAIM)
    return world.manifest.current(MAIN).snapshot


def _create_manifest(world: World, rows: object, commit_id: str) -> None:
    try:
        world.manifest.table.create(rows, stamp_metadata())
    except FileExistsError as error:
        raise ConflictError(f"there is a graph at {world.root.uri} already", code="exists", hint="open it") from error
    except StorageError:
        # The answer may have been lost: the graph is ours if its first commit is.
        if not (world.manifest.table.exists() and world.manifest.has_commit(MAIN, commit_id)):
            raise


def _undo(world: World, paths: list[str], commit_id: str) -> None:
    """Remove what this attempt wrote, unless its graph exists; the error that led here is what the caller sees."""
    with suppress(OmniError):
        if not world.manifest.table.exists():
            _remove(world, paths)
        elif world.manifest.has_commit(MAIN, commit_id):
            world.objects.delete(CLAIM)


def read_contract(world: World) -> ContractFiles:
    """The stored schema. Raises StorageError (not_found) when there is no graph, FormatError when files are missing."""
    bodies = [world.objects.get(name) for name in _CONTRACT]
    source, ir, state = bodies
    if source is None or ir is None or state is None:
        world.manifest.table.open(MAIN)
        missing = [name for name, body in zip(_CONTRACT, bodies, strict=True) if body is None]
        raise FormatError(f"schema files are missing: {', '.join(missing)}", hint="restore them from a backup")
    return ContractFiles(source, ir, state)


def open_for_reading(world: World, branch: str) -> Snapshot:
    """The newest state of a branch; writes nothing."""
    return world.manifest.current(branch).snapshot


def open_for_writing(world: World) -> list[Recovered]:
    """Check that storage can do what the protocol needs, then finish or undo what dead writers left."""
    try:
        world.manifest.current(MAIN)
    except StorageError:
        if not mend(world):
            raise
        world.manifest.current(MAIN)
    _probe(world)
    _clear_litter(world)
    return recover(world)


def _clear_litter(world: World) -> None:
    """Remove what killed writers left of control objects they were about to write. Nobody takes minutes for one."""
    oldest = world.seams.clock.now() - timedelta(seconds=limits.LEASE_SECONDS_MAX)
    for name in world.objects.list(RECOVERY):
        made = litter_instant(name)
        if made is not None and made < oldest:
            world.objects.delete(f"{RECOVERY}/{name}")


def _probe(world: World) -> None:
    """Create-if-absent must be atomic: the second of two creations has to be refused."""
    for _ in range(_PROBE_NAMES_MAX):
        path = f"{RECOVERY}/{PROBE}{world.seams.ids.ulid()}"
        if world.objects.put_new(path, b"probe"):
            break
    else:
        raise StorageError("storage refuses to create objects that do not exist", kind="configuration")
    try:
        if world.objects.put_new(path, b"again"):
            raise StorageError("storage does not create objects atomically", kind="configuration")
    finally:
        world.objects.delete(path)


def check_tables(catalog: Catalog, snapshot: Snapshot) -> None:
    """The manifest shows exactly the tables of the schema. Raises FormatError."""
    wanted = {TableIdentity.of(of): table_key(of) for of in catalog.tables()}
    shown = {pin.identity: pin.key for pin in snapshot.tables}
    if wanted != shown:
        odd = sorted(set(wanted.values()) ^ set(shown.values())) or sorted(wanted.values())
        raise FormatError(
            f"the schema and the manifest disagree about {', '.join(odd[:5])}",
            hint="restore the schema files or the manifest from the same backup",
        )
