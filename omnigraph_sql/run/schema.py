"""Commands that change the schema: what the new one is, and what becomes of the tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeAlias

from omnigraph_sql.base import commands, limits
from omnigraph_sql.base.catalog import Catalog, Index, TableType
from omnigraph_sql.base.commands import Command
from omnigraph_sql.base.errors import InternalError, Location, NotSupported, ReadSetChanged
from omnigraph_sql.bind.schema_edit import with_catalog
from omnigraph_sql.bind.schema_plan import plan_schema
from omnigraph_sql.bind.schema_steps import AddConstraint, AddProperty, AddType, DropType, Step
from omnigraph_sql.bind.sql_binder import SqlOptions
from omnigraph_sql.bind.sql_evolve import catalog_after, options_after
from omnigraph_sql.engine.schema.apply import Growth, SchemaChange, apply
from omnigraph_sql.engine.world import World
from omnigraph_sql.engine.write.txn import Author, Receipt, begin
from omnigraph_sql.run.contract import ContractKeeper, StoredSchema, encode_schema

SchemaCommand: TypeAlias = (
    commands.CreateNodeType
    | commands.CreateEdgeType
    | commands.DropType
    | commands.AlterType
    | commands.CreateIndex
    | commands.CreateView
    | commands.DropView
    | commands.CreatePropertyGraph
    | commands.DropPropertyGraph
)
SCHEMA_COMMANDS: Final = (
    commands.CreateNodeType,
    commands.CreateEdgeType,
    commands.DropType,
    commands.AlterType,
    commands.CreateIndex,
    commands.CreateView,
    commands.DropView,
    commands.CreatePropertyGraph,
    commands.DropPropertyGraph,
)


def changes_schema(command: Command) -> bool:
    """Whether a command is carried out as a commit of its own that changes the stored schema."""
    return isinstance(command, SCHEMA_COMMANDS)


def change_schema(
    world: World,
    keeper: ContractKeeper,
    branch: str,
    author: Author,
    command_under: Callable[[StoredSchema], Command],
    place: Callable[[], Location],
) -> Receipt:
    """Carry a command out as one commit; none when it changes nothing.

    `command_under` binds the statement against a schema, and is asked again when another writer came first: what it
    refuses then is what the statement comes to. Raises NotSupported for a change that is not carried out.
    """
    for attempt in range(limits.PREPARE_ATTEMPTS_MAX):
        txn = begin(world, keeper.contract(branch), branch, author)
        before = keeper.at(txn.base)
        after = evolved(before, command_under(before))
        if after == before:
            return Receipt(branch, None, 0, 0, txn.base)
        change = _change(before, after, place)
        try:
            return apply(world, txn, change, author)
        except ReadSetChanged:
            if author.expected_head is not None or attempt + 1 == limits.PREPARE_ATTEMPTS_MAX:
                raise
    raise AssertionError("the last attempt returns or raises")


def evolved(before: StoredSchema, command: Command) -> StoredSchema:
    """The schema once a command is carried out; the same one when there is nothing to do."""
    if not isinstance(command, SCHEMA_COMMANDS):
        raise InternalError(f"{type(command).__name__} does not change the schema")
    catalog = catalog_after(command, before.catalog)
    options = SqlOptions(views=before.views, graphs=before.graphs)
    left = options_after(command, options, options)
    ir = before.ir if catalog == before.catalog else with_catalog(before.ir, catalog)
    return replace(before, ir=ir, views=left.views, graphs=left.graphs)


def _change(before: StoredSchema, after: StoredSchema, place: Callable[[], Location]) -> SchemaChange:
    steps = plan_schema(before.ir, after.ir).steps
    grown: dict[str, list[str]] = {}
    for step in steps:
        _refuse_unknown(step, place)
        if isinstance(step, AddProperty):
            grown.setdefault(f"{step.kind}:{step.type}", []).append(step.property)
    old, new = _by_identity(before.catalog), _by_identity(after.catalog)
    return SchemaChange(
        encode_schema(after),
        created=tuple(of for identity, of in new.items() if identity not in old),
        dropped=tuple(of for identity, of in old.items() if identity not in new),
        grown=tuple(Growth(_named(after.catalog, key), tuple(names)) for key, names in grown.items()),
    )


def _refuse_unknown(step: Step, place: Callable[[], Location]) -> None:
    match step:
        case AddType() | DropType() | AddProperty() | AddConstraint(rule=Index()):
            return
        case _:
            raise NotSupported(
                f"this change of the schema is understood and not carried out yet: {step.text()}",
                at=place(),
                hint="tables can be created and dropped, and columns that may be null can be added",
            )


def _by_identity(catalog: Catalog) -> dict[int, TableType]:
    return {of.stable_id: of for of in catalog.tables()}


def _named(catalog: Catalog, key: str) -> TableType:
    kind, _, name = key.partition(":")
    found: TableType | None = catalog.node(name) if kind == "node" else catalog.edge(name)
    if found is None:
        raise InternalError(f"there is no {key}")
    return found
