"""Rows of the tables about the graph itself: its branches and commits, its types, columns and rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import pyarrow as pa

from omnigraph_sql.base.catalog import DST, ID, SRC, Catalog, EdgeType, NodeType, Property, TableType, Unique
from omnigraph_sql.base.errors import ExecutionError
from omnigraph_sql.base.schema import Field
from omnigraph_sql.base.types import DataType, Kind, ScalarType, arrow_type, type_text
from omnigraph_sql.engine.store.indexes import LANCE_KINDS, stored_indexes
from omnigraph_sql.engine.values import MAIN, TableIdentity
from omnigraph_sql.run.scene import Scene

GRAPH: Final = "omni"
Row = dict[str, Any]

_SQL_NAMES: Final = {
    Kind.STRING: "character varying",
    Kind.BOOL: "boolean",
    Kind.I32: "integer",
    Kind.I64: "bigint",
    Kind.U32: "integer unsigned",
    Kind.U64: "bigint unsigned",
    Kind.F32: "real",
    Kind.F64: "double precision",
    Kind.DATE: "date",
    Kind.DATETIME: "timestamp with time zone",
    Kind.BLOB: "binary large object",
}
_BITS: Final = {Kind.I32: 32, Kind.I64: 64, Kind.U32: 32, Kind.U64: 64, Kind.F32: 24, Kind.F64: 53}


def system_rows(name: str, fields: tuple[Field, ...], scene: Scene) -> pa.Table:
    """The rows of a system table as it is now. Raises ExecutionError for one that later versions deliver."""
    make = _MAKERS.get(name)
    if make is None:
        raise ExecutionError(f"{name} is not carried out yet")
    schema = pa.schema([pa.field(f.name, arrow_type(f.type)) for f in fields])
    return pa.Table.from_pylist([{f.name: row.get(f.name) for f in fields} for row in make(scene)], schema=schema)


# ---- history ----------------------------------------------------------------------------------------------------


def _branches(scene: Scene) -> Iterator[Row]:
    manifest = scene.world.manifest
    for name in (MAIN, *sorted(manifest.table.branches())):
        head = manifest.current(name).snapshot.head
        commit = next((c for c in manifest.commits(name) if c.id == head), None)
        parent = commit.parent if commit is not None else None
        yield {"name": name, "head": head, "parent": parent, "created_at": manifest.made_at(name)}


def _commits(scene: Scene) -> Iterator[Row]:
    for commit in scene.world.manifest.commits(scene.snapshot.branch):
        yield {
            "id": commit.id,
            "parent": commit.parent,
            "merged_parent": commit.merged_parent,
            "branch": commit.branch,
            "actor": commit.actor,
            "message": commit.message,
            "authored_at": commit.created_at,
        }


def _omni_tables(scene: Scene) -> Iterator[Row]:
    for of in scene.catalog.tables():
        pin = scene.snapshot.pin(TableIdentity.of(of))
        yield {
            "name": of.name,
            "kind": _kind(of),
            "source": of.source if isinstance(of, EdgeType) else None,
            "target": of.target if isinstance(of, EdgeType) else None,
            "row_count": pin.row_count if pin is not None else None,
            "version": pin.version if pin is not None else None,
        }


def _indexes(scene: Scene) -> Iterator[Row]:
    tables = scene.world.tables
    for of in scene.catalog.tables():
        pin = scene.snapshot.pin(TableIdentity.of(of))
        for index in stored_indexes(tables, tables.open(pin)) if pin is not None and pin.row_count else ():
            yield {
                "name": index.name,
                "table_name": of.name,
                "columns": [index.column],
                "method": LANCE_KINDS[index.kind].lower(),
                "is_unique": index.column == ID,
            }


def _kind(of: TableType) -> str:
    return "node" if isinstance(of, NodeType) else "edge"


# ---- the standard's own views -----------------------------------------------------------------------------------


def _where(scene: Scene, prefix: str) -> Row:
    return {f"{prefix}_catalog": GRAPH, f"{prefix}_schema": scene.snapshot.branch}


def _schemata(scene: Scene) -> Iterator[Row]:
    for name in (MAIN, *sorted(scene.world.manifest.table.branches()), "information_schema", GRAPH):
        yield {"catalog_name": GRAPH, "schema_name": name}


def _tables(scene: Scene) -> Iterator[Row]:
    for of in scene.catalog.tables():
        facts = {"table_name": of.name, "table_type": "BASE TABLE", "is_insertable_into": "YES", "is_typed": "NO"}
        yield _where(scene, "table") | facts
    for name, _ in scene.around.views:
        facts = {"table_name": name, "table_type": "VIEW", "is_insertable_into": "NO", "is_typed": "NO"}
        yield {"table_catalog": GRAPH, "table_schema": scene.snapshot.branch, **facts}


def _views(scene: Scene) -> Iterator[Row]:
    for name, text in scene.around.views:
        fixed = {"check_option": "NONE", "is_updatable": "NO", "is_insertable_into": "NO"}
        place = {"table_catalog": GRAPH, "table_schema": scene.snapshot.branch}
        yield {**place, "table_name": name, "view_definition": text, **fixed}


def _settings(scene: Scene) -> Iterator[Row]:
    yield from scene.around.settings()


def _columns(scene: Scene) -> Iterator[Row]:
    for of in scene.catalog.tables():
        for place, column in enumerate(of.schema.fields, 1):
            yield _where(scene, "table") | {
                "table_name": of.name,
                "column_name": column.name,
                "ordinal_position": place,
                "is_nullable": "YES" if column.nullable else "NO",
                **_data_type(column.type),
                "is_identity": "YES" if column.name == ID else "NO",
                "is_generated": "NEVER",
                "is_updatable": "NO" if column.name in (ID, SRC, DST, *of.key) else "YES",
            }


def _data_type(of: DataType) -> Row:
    if not isinstance(of, ScalarType):
        return {"data_type": type_text(of)}
    bits = _BITS.get(of.kind)
    found: Row = {"data_type": _SQL_NAMES.get(of.kind, type_text(of)), "numeric_precision": bits}
    if bits is not None:
        found["numeric_precision_radix"] = 2
        found["numeric_scale"] = 0 if of.kind not in (Kind.F32, Kind.F64) else None
    if of.kind is Kind.DATETIME:
        found["datetime_precision"] = 6
    return found


def _rules(catalog: Catalog) -> Iterator[tuple[TableType, str, str, tuple[str, ...], str | None]]:
    """Every key, unique set and edge end: its table, name, kind, columns, and the node table it refers to."""
    for of in catalog.tables():
        yield of, f"{of.name}_key", "PRIMARY KEY", of.key or (ID,), None
        for number, rule in enumerate((r for r in of.constraints if isinstance(r, Unique)), 1):
            yield of, f"{of.name}_unique_{number}", "UNIQUE", rule.properties, None
        if isinstance(of, EdgeType):
            yield of, f"{of.name}_src", "FOREIGN KEY", (SRC,), of.source
            yield of, f"{of.name}_dst", "FOREIGN KEY", (DST,), of.target


def _table_constraints(scene: Scene) -> Iterator[Row]:
    for of, name, kind, _, _ in _rules(scene.catalog):
        yield (
            _where(scene, "constraint")
            | _where(scene, "table")
            | {
                "constraint_name": name,
                "table_name": of.name,
                "constraint_type": kind,
                "is_deferrable": "NO",
                "initially_deferred": "NO",
                "enforced": "YES",
            }
        )


def _key_column_usage(scene: Scene) -> Iterator[Row]:
    for of, name, kind, columns, _ in _rules(scene.catalog):
        for place, column in enumerate(columns, 1):
            yield (
                _where(scene, "constraint")
                | _where(scene, "table")
                | {
                    "constraint_name": name,
                    "table_name": of.name,
                    "column_name": column,
                    "ordinal_position": place,
                    "position_in_unique_constraint": place if kind == "FOREIGN KEY" else None,
                }
            )


def _referential_constraints(scene: Scene) -> Iterator[Row]:
    for _, name, kind, _, target in _rules(scene.catalog):
        if kind == "FOREIGN KEY":
            yield (
                _where(scene, "constraint")
                | _where(scene, "unique_constraint")
                | {
                    "constraint_name": name,
                    "unique_constraint_name": f"{target}_key",
                    "match_option": "NONE",
                    "update_rule": "NO ACTION",
                    "delete_rule": "CASCADE",
                }
            )


# ---- the graph as SQL/PGQ sees it -------------------------------------------------------------------------------


def _graph(scene: Scene) -> Row:
    return _where(scene, "property_graph") | {"property_graph_name": GRAPH}


def _property_graphs(scene: Scene) -> Iterator[Row]:
    yield _graph(scene)


def _element_tables(scene: Scene) -> Iterator[Row]:
    for of in scene.catalog.tables():
        kind = "VERTEX" if isinstance(of, NodeType) else "EDGE"
        named = {"element_table_alias": of.name, "element_table_kind": kind, "table_name": of.name}
        yield _graph(scene) | _where(scene, "table") | named


def _element_key_columns(scene: Scene) -> Iterator[Row]:
    for of in scene.catalog.tables():
        yield _graph(scene) | {"element_table_alias": of.name, "column_name": ID, "ordinal_position": 1}


def _element_labels(scene: Scene) -> Iterator[Row]:
    for of in scene.catalog.tables():
        yield _graph(scene) | {"element_table_alias": of.name, "label_name": of.name}


def _properties(scene: Scene) -> Iterator[tuple[TableType, Property]]:
    for of in scene.catalog.tables():
        yield from ((of, p) for p in of.properties)


def _element_properties(scene: Scene) -> Iterator[Row]:
    for of, p in _properties(scene):
        found = {"element_table_alias": of.name, "property_name": p.name, "property_expression": p.name}
        yield _graph(scene) | found


def _edge_components(scene: Scene) -> Iterator[Row]:
    for edge in scene.catalog.edges:
        for end, node, column in (("SOURCE", edge.source, SRC), ("DESTINATION", edge.target, DST)):
            yield _graph(scene) | {
                "edge_table_alias": edge.name,
                "vertex_table_alias": node,
                "edge_end": end,
                "edge_table_column_name": column,
                "vertex_table_column_name": ID,
                "ordinal_position": 1,
            }


def _labels(scene: Scene) -> Iterator[Row]:
    for of in scene.catalog.tables():
        yield _graph(scene) | {"label_name": of.name}


def _label_properties(scene: Scene) -> Iterator[Row]:
    for of, p in _properties(scene):
        yield _graph(scene) | {"label_name": of.name, "property_name": p.name}


def _property_types(scene: Scene) -> Iterator[Row]:
    seen: set[str] = set()
    for _, p in _properties(scene):
        if p.name not in seen:
            seen.add(p.name)
            yield _graph(scene) | {"property_name": p.name} | _data_type(p.type)


_MAKERS: Final[dict[str, Callable[[Scene], Iterator[Row]]]] = {
    "omni.branches": _branches,
    "omni.commits": _commits,
    "omni.tables": _omni_tables,
    "omni.indexes": _indexes,
    "omni.settings": _settings,
    "information_schema.schemata": _schemata,
    "information_schema.tables": _tables,
    "information_schema.views": _views,
    "information_schema.columns": _columns,
    "information_schema.table_constraints": _table_constraints,
    "information_schema.key_column_usage": _key_column_usage,
    "information_schema.referential_constraints": _referential_constraints,
    "information_schema.property_graphs": _property_graphs,
    "information_schema.pg_element_tables": _element_tables,
    "information_schema.pg_element_table_key_columns": _element_key_columns,
    "information_schema.pg_element_table_labels": _element_labels,
    "information_schema.pg_element_table_properties": _element_properties,
    "information_schema.pg_edge_table_components": _edge_components,
    "information_schema.pg_labels": _labels,
    "information_schema.pg_label_properties": _label_properties,
    "information_schema.pg_property_data_types": _property_types,
}
