"""Commands that answer with rows: SHOW, DESCRIBE and SUMMARIZE."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base.catalog import TableType
from omnigraph_sql.base.commands import Command, Describe, Show, Summarize
from omnigraph_sql.base.errors import ExecutionError
from omnigraph_sql.base.schema import Field
from omnigraph_sql.base.types import is_number, type_text
from omnigraph_sql.bind.sql_system_tables import SYSTEM_TABLES
from omnigraph_sql.plan.lower import output_fields
from omnigraph_sql.plan.node import Plan
from omnigraph_sql.run.read import read
from omnigraph_sql.run.scene import Scene
from omnigraph_sql.run.system_tables import system_rows

_SHOWN: Final = {
    "tables": "omni.tables",
    "nodes": "omni.tables",
    "edges": "omni.tables",
    "branches": "omni.branches",
    "commits": "omni.commits",
    "indexes": "omni.indexes",
    "settings": "omni.settings",
    "views": "information_schema.views",
}
DESCRIPTION: Final = pa.schema(
    [(name, pa.utf8()) for name in ("column_name", "column_type", "nullable", "key", "description")]
)
_OF_EDGES: Final = ("source", "target")
SUMMARY: Final = pa.schema(
    [
        ("column_name", pa.utf8()),
        ("column_type", pa.utf8()),
        ("min", pa.utf8()),
        ("max", pa.utf8()),
        ("avg", pa.float64()),
        ("distinct", pa.int64()),
        ("nulls", pa.int64()),
        ("count", pa.int64()),
    ]
)


def answer(command: Command, plan: Plan | None, scene: Scene) -> pa.Table | None:
    """The rows a command answers with; None for a command that is not about rows."""
    match command:
        case Show():
            return _show(command, scene)
        case Describe(type=name):
            return _described(scene, name) if plan is None else _described_fields(output_fields(plan))
        case Summarize() if plan is not None:
            return _summary(plan, scene)
        case _:
            return None


def shown_fields(command: Show) -> tuple[Field, ...]:
    """The columns that SHOW answers with."""
    fields = SYSTEM_TABLES[_shown_table(command)]
    return tuple(f for f in fields if command.what != "nodes" or f.name not in _OF_EDGES)


def _shown_table(command: Show) -> str:
    name = _SHOWN.get(command.what)
    if name is None:
        raise ExecutionError(f"SHOW {command.what.upper()} is not carried out yet", hint="the README says what works")
    return name


def _show(command: Show, scene: Scene) -> pa.Table:
    name = _shown_table(command)
    if command.what == "commits" and command.target is not None:
        scene = replace(scene, snapshot=scene.world.manifest.current(command.target).snapshot)
    rows = system_rows(name, SYSTEM_TABLES[name], scene)
    if command.what in ("nodes", "edges"):
        rows = rows.filter(pc.equal(rows["kind"], command.what.removesuffix("s")))
    if command.what == "nodes":
        rows = rows.drop_columns(list(_OF_EDGES))
    if command.what == "indexes" and command.target is not None:
        rows = rows.filter(pc.equal(rows["table_name"], command.target))
    return rows


# ---- DESCRIBE ---------------------------------------------------------------------------------------------------


def _described(scene: Scene, name: str | None) -> pa.Table:
    of = next((t for t in scene.catalog.tables() if t.name == name), None)
    if of is None:
        raise ExecutionError(f"there is no table {name}")
    return pa.Table.from_pylist(list(_column_rows(of)), schema=DESCRIPTION)


def _column_rows(of: TableType) -> Iterator[dict[str, Any]]:
    for column in of.schema.fields:
        own = of.property(column.name)
        yield {
            "column_name": column.name,
            "column_type": type_text(column.type),
            "nullable": "YES" if column.nullable else "NO",
            "key": "PRI" if column.name in of.key else None,
            "description": own.description if own is not None else None,
        }


def _described_fields(fields: tuple[Field, ...]) -> pa.Table:
    rows = [
        {"column_name": f.name, "column_type": type_text(f.type), "nullable": "YES" if f.nullable else "NO"}
        for f in fields
    ]
    return pa.Table.from_pylist(rows, schema=DESCRIPTION)


# ---- SUMMARIZE --------------------------------------------------------------------------------------------------


def _summary(plan: Plan, scene: Scene) -> pa.Table:
    table = read(plan, scene).read_all()
    fields = output_fields(plan)
    rows = [_column_summary(f, table.column(place)) for place, f in enumerate(fields)]
    return pa.Table.from_pylist(rows, schema=SUMMARY)


def _column_summary(field: Field, column: pa.ChunkedArray) -> dict[str, Any]:
    found: dict[str, Any] = {
        "column_name": field.name,
        "column_type": type_text(field.type),
        "nulls": column.null_count,
        "count": len(column),
    }
    try:
        extremes = pc.min_max(column).as_py()
        found["min"], found["max"] = (_shown(extremes[end]) for end in ("min", "max"))
        found["distinct"] = pc.count_distinct(column).as_py()
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        found["distinct"] = None  # lists, vectors and blobs have no order
    if is_number(field.type):
        found["avg"] = pc.mean(column).as_py()
    return found


def _shown(value: object) -> str | None:
    return None if value is None else str(value)
