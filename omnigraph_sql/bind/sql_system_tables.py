"""Tables about the graph itself: `omni.…` for its history and settings, `information_schema.…` for its schema.

Both words are schemas of their own, and a schema in front of a table otherwise names a branch. So no branch called
`omni` or `information_schema` can be read that way.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from omnigraph_sql.base.schema import Field
from omnigraph_sql.base.types import BOOL, DATETIME, I64, STRING, DataType, ListType
from omnigraph_sql.bind.sql_binder import SqlBinder

_TYPES: Final[dict[str, DataType]] = {
    "text": STRING,
    "number": I64,
    "flag": BOOL,
    "instant": DATETIME,
    "texts": ListType(STRING),
}

# A line reads `table: column type, …`; a question mark behind a type says that it may be null.
_OMNI: Final = """
branches: name text, head text?, parent text?, created_at instant?
commits: id text, parent text?, merged_parent text?, branch text, actor text?, message text?, authored_at instant
tables: name text, kind text, source text?, target text?, row_count number?, version number?
indexes: name text, table_name text, columns texts, method text, is_unique flag
settings: name text, value text?, default_value text?, description text?
"""

_INFORMATION_SCHEMA: Final = """
schemata: catalog_name text, schema_name text, schema_owner text?, default_character_set_catalog text?,
    default_character_set_schema text?, default_character_set_name text?, sql_path text?
tables: table_catalog text, table_schema text, table_name text, table_type text, is_insertable_into text,
    is_typed text, commit_action text?
views: table_catalog text, table_schema text, table_name text, view_definition text, check_option text,
    is_updatable text, is_insertable_into text
columns: table_catalog text, table_schema text, table_name text, column_name text, ordinal_position number,
    column_default text?, is_nullable text, data_type text, character_maximum_length number?,
    numeric_precision number?, numeric_precision_radix number?, numeric_scale number?, datetime_precision number?,
    is_identity text, is_generated text, is_updatable text
table_constraints: constraint_catalog text, constraint_schema text, constraint_name text, table_catalog text,
    table_schema text, table_name text, constraint_type text, is_deferrable text, initially_deferred text, enforced text
key_column_usage: constraint_catalog text, constraint_schema text, constraint_name text, table_catalog text,
    table_schema text, table_name text, column_name text, ordinal_position number,
    position_in_unique_constraint number?
referential_constraints: constraint_catalog text, constraint_schema text, constraint_name text,
    unique_constraint_catalog text?, unique_constraint_schema text?, unique_constraint_name text?,
    match_option text, update_rule text, delete_rule text
property_graphs: property_graph_catalog text, property_graph_schema text, property_graph_name text
pg_element_tables: property_graph_catalog text, property_graph_schema text, property_graph_name text,
    element_table_alias text, element_table_kind text, table_catalog text, table_schema text, table_name text,
    element_table_definition text?
pg_element_table_key_columns: property_graph_catalog text, property_graph_schema text, property_graph_name text,
    element_table_alias text, column_name text, ordinal_position number
pg_element_table_labels: property_graph_catalog text, property_graph_schema text, property_graph_name text,
    element_table_alias text, label_name text
pg_element_table_properties: property_graph_catalog text, property_graph_schema text, property_graph_name text,
    element_table_alias text, property_name text, property_expression text
pg_edge_table_components: property_graph_catalog text, property_graph_schema text, property_graph_name text,
    edge_table_alias text, vertex_table_alias text, edge_end text, edge_table_column_name text,
    vertex_table_column_name text, ordinal_position number
pg_labels: property_graph_catalog text, property_graph_schema text, property_graph_name text, label_name text
pg_label_properties: property_graph_catalog text, property_graph_schema text, property_graph_name text,
    label_name text, property_name text
pg_property_data_types: property_graph_catalog text, property_graph_schema text, property_graph_name text,
    property_name text, data_type text
"""


def _read(text: str) -> dict[str, tuple[Field, ...]]:
    tables: dict[str, tuple[Field, ...]] = {}
    for line in text.replace(",\n", ",").strip().splitlines():
        name, _, columns = line.partition(":")
        tables[name] = tuple(_field(*column.split()) for column in columns.split(","))
    return tables


def _field(name: str, of: str) -> Field:
    return Field(name, _TYPES[of.rstrip("?")], of.endswith("?"))


_SCHEMAS: Final = {"omni": _read(_OMNI), "information_schema": _read(_INFORMATION_SCHEMA)}

SYSTEM_TABLES: Final = {
    f"{schema}.{name}": fields for schema, names in _SCHEMAS.items() for name, fields in names.items()
}
"""Columns of every system table by its dotted name, which is also the name of the function that delivers it."""


def system_table(binder: SqlBinder, tree: exp.Table) -> tuple[str, tuple[Field, ...]] | None:
    """The function that delivers a system table, and its columns; None when the name is not of a system schema."""
    schema, name = tree.args.get("db"), tree.this
    if not isinstance(schema, exp.Identifier) or not isinstance(name, exp.Identifier):
        return None
    word = schema.name.casefold()
    tables = _SCHEMAS.get(word)
    if tables is None:
        return None
    fields = tables.get(name.name.casefold())
    if fields is None:
        hint = ""
        if binder.catalog.tables_like(name.name):
            hint = f"{word} holds system tables; write {name.name} alone for the table of the graph"
        raise binder.unknown(f"table in {word}", name.name, name, tables, hint)
    if tree.args.get("version") is not None:
        raise binder.unsupported("a system table is read as it is now", name, "leave the point in history out")
    return f"{word}.{name.name.casefold()}", fields
