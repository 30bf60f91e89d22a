"""What there is in a graph, in the form that ADBC's drivers give it. Branches are schemas; there is one catalog."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import translate
from re import IGNORECASE, compile
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from omnigraph_sql.base.catalog import DST, ID, SRC, EdgeType, NodeType, TableType, Unique
from omnigraph_sql.base.types import STRING, arrow_type
from omnigraph_sql.dbapi.errors import ProgrammingError, telling
from omnigraph_sql.dbapi.ingest import quoted, table_called

if TYPE_CHECKING:
    from omnigraph_sql.dbapi.connection import Connection

NODE, EDGE, VIEW = "node", "edge", "view"
TABLE_TYPES: Final = (NODE, EDGE, VIEW)
DEPTHS: Final = ("all", "catalogs", "db_schemas", "tables", "columns")

_COLUMN: Final = pa.struct(
    [
        pa.field("column_name", pa.utf8(), False),
        ("ordinal_position", pa.int32()),
        ("remarks", pa.utf8()),
        ("xdbc_data_type", pa.int16()),
        ("xdbc_type_name", pa.utf8()),
        ("xdbc_column_size", pa.int32()),
        ("xdbc_decimal_digits", pa.int16()),
        ("xdbc_num_prec_radix", pa.int16()),
        ("xdbc_nullable", pa.int16()),
        ("xdbc_column_def", pa.utf8()),
        ("xdbc_sql_data_type", pa.int16()),
        ("xdbc_datetime_sub", pa.int16()),
        ("xdbc_char_octet_length", pa.int32()),
        ("xdbc_is_nullable", pa.utf8()),
        ("xdbc_scope_catalog", pa.utf8()),
        ("xdbc_scope_schema", pa.utf8()),
        ("xdbc_scope_table", pa.utf8()),
        ("xdbc_is_autoincrement", pa.bool_()),
        ("xdbc_is_generatedcolumn", pa.bool_()),
    ]
)
_USAGE: Final = pa.struct(
    [
        ("fk_catalog", pa.utf8()),
        ("fk_db_schema", pa.utf8()),
        pa.field("fk_table", pa.utf8(), False),
        pa.field("fk_column_name", pa.utf8(), False),
    ]
)
_CONSTRAINT: Final = pa.struct(
    [
        ("constraint_name", pa.utf8()),
        pa.field("constraint_type", pa.utf8(), False),
        pa.field("constraint_column_names", pa.list_(pa.utf8()), False),
        ("constraint_column_usage", pa.list_(_USAGE)),
    ]
)
_TABLE: Final = pa.struct(
    [
        pa.field("table_name", pa.utf8(), False),
        pa.field("table_type", pa.utf8(), False),
        ("table_columns", pa.list_(_COLUMN)),
        ("table_constraints", pa.list_(_CONSTRAINT)),
    ]
)
_SCHEMA: Final = pa.struct([("db_schema_name", pa.utf8()), ("db_schema_tables", pa.list_(_TABLE))])
OBJECTS: Final = pa.schema([("catalog_name", pa.utf8()), ("catalog_db_schemas", pa.list_(_SCHEMA))])

Facts = dict[str, Any]


def matches(name: str, pattern: str | None) -> bool:
    """Whether a name is like a pattern of SQL, in which % stands for any text and _ for any character; case is free."""
    if pattern is None:
        return True
    glob = "".join({"%": "*", "_": "?"}.get(c, f"[{c}]" if c in "*?[" else c) for c in pattern)
    return compile(translate(glob), IGNORECASE).match(name) is not None


def table_schema(connection: Connection, name: str) -> pa.Schema:
    """The columns of `SELECT *` from a table or a view. Raises ProgrammingError when there is none."""
    table = table_called(connection, name)
    if table is not None:
        return _stored(table)
    if any(view == name for view, _ in connection.graph.session.schema().views):
        with telling():
            return connection.graph.describe(f"SELECT * FROM {quoted(name)}", "sql")
    raise ProgrammingError(f"there is no table {name}", code="unknown_name", hint="SHOW TABLES lists those there are")


def _stored(table: TableType) -> pa.Schema:
    return pa.schema([pa.field(f.name, arrow_type(f.type), f.nullable) for f in table.schema.fields if f.name != ID])


def objects(
    connection: Connection,
    depth: str,
    schema_filter: str | None,
    table_filter: str | None,
    types: list[str] | None,
    column_filter: str | None,
) -> pa.RecordBatchReader:
    """Schemas, tables, columns and constraints, as deep as asked for."""
    if depth not in DEPTHS:
        raise ProgrammingError(f"there is no depth {depth!r}", hint=f"choose one of {', '.join(DEPTHS)}")
    own = connection.graph.branch
    schemas: list[Facts] | None = None
    if depth != "catalogs":
        tables: list[Facts] | None = None
        if depth != "db_schemas":
            deep = depth in ("all", "columns")
            tables = [
                _table(connection, name, kind, deep, column_filter)
                for name, kind in _tables(connection)
                if matches(name, table_filter) and (types is None or kind in types)
            ]
        schemas = [{"db_schema_name": own, "db_schema_tables": tables}] if matches(own, schema_filter) else []
    rows = [{"catalog_name": "", "catalog_db_schemas": schemas}]
    return pa.Table.from_pylist(rows, schema=OBJECTS).to_reader()


def _tables(connection: Connection) -> Iterator[tuple[str, str]]:
    catalog = connection.graph.catalog
    yield from ((of.name, NODE) for of in catalog.nodes)
    yield from ((of.name, EDGE) for of in catalog.edges)
    yield from ((name, VIEW) for name, _ in connection.graph.session.schema().views)


def _table(connection: Connection, name: str, kind: str, deep: bool, column_filter: str | None) -> Facts:
    facts: Facts = {"table_name": name, "table_type": kind, "table_columns": None, "table_constraints": None}
    if not deep:
        return facts
    catalog = connection.graph.catalog
    table = {NODE: catalog.node, EDGE: catalog.edge}[kind](name) if kind != VIEW else None
    schema = _stored(table) if table is not None else table_schema(connection, name)
    facts["table_columns"] = [
        _column(number, field, table) for number, field in enumerate(schema, 1) if matches(field.name, column_filter)
    ]
    facts["table_constraints"] = list(_constraints(connection, table)) if table is not None else []
    return facts


def _column(number: int, field: pa.Field, table: TableType | None) -> Facts:
    own = table.property(field.name) if table is not None else None
    return {
        "column_name": field.name,
        "ordinal_position": number,
        "remarks": own.description if own is not None else None,
        "xdbc_type_name": str(field.type),
        "xdbc_nullable": int(field.nullable),
        "xdbc_is_nullable": "YES" if field.nullable else "NO",
        "xdbc_is_autoincrement": False,
        "xdbc_is_generatedcolumn": False,
    }


def _constraints(connection: Connection, table: TableType) -> Iterator[Facts]:
    if table.key:
        yield _constraint(f"{table.name}_key", "PRIMARY KEY", table.key)
    for number, rule in enumerate((r for r in table.constraints if isinstance(r, Unique)), 1):
        yield _constraint(f"{table.name}_unique_{number}", "UNIQUE", rule.properties)
    if isinstance(table, EdgeType):
        for side, end in ((SRC, table.source), (DST, table.target)):
            node = connection.graph.catalog.node(end)
            assert node is not None
            usage = {"fk_db_schema": connection.graph.branch, "fk_table": end, "fk_column_name": _end_column(node)}
            yield _constraint(f"{table.name}_{side}", "FOREIGN KEY", (side,), usage)


def _end_column(node: NodeType) -> str:
    """What an edge's end holds: a text key itself, of any other type the id."""
    key = node.column(node.key[0]) if len(node.key) == 1 else None
    return key.name if key is not None and key.type == STRING else ID


def _constraint(name: str, kind: str, columns: tuple[str, ...], usage: Facts | None = None) -> Facts:
    return {
        "constraint_name": name,
        "constraint_type": kind,
        "constraint_column_names": list(columns),
        "constraint_column_usage": [] if usage is None else [usage],
    }
