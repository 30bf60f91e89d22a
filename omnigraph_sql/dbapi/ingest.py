"""Whole Arrow streams as rows of a table, in one atomic load: what ADBC's drivers call ingestion."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from omnigraph_sql.base.catalog import ID, SRC, TableType
from omnigraph_sql.base.errors import Error
from omnigraph_sql.base.types import arrow_type
from omnigraph_sql.dbapi.errors import DataError, NotSupportedError, ProgrammingError, telling
from omnigraph_sql.engine.values import table_key
from omnigraph_sql.session import Request

if TYPE_CHECKING:
    from omnigraph_sql.dbapi.connection import Connection

MODES: Final = ("create", "append", "replace", "create_append")


def ingest(connection: Connection, name: str, data: Any, mode: str) -> int:
    """Load the rows into the table and give their number; see `Cursor.adbc_ingest`."""
    if mode not in MODES:
        raise ProgrammingError(f"there is no mode {mode!r}", hint=f"choose one of {', '.join(MODES)}")
    if not hasattr(data, "__arrow_c_stream__"):
        raise ProgrammingError(
            f"{type(data).__name__} hands over no Arrow stream",
            hint="give an Arrow table or reader, a frame of pandas or polars, or a cursor",
        )
    rows = pa.RecordBatchReader.from_stream(data)
    there = table_called(connection, name)
    if mode == "replace" and there is not None and _alike(there, rows.schema):
        return _load(connection, there, rows, "overwrite")
    if mode == "append" or (mode == "create_append" and there is not None):
        if there is None:
            raise ProgrammingError(f"there is no table {name}", code="unknown_name", hint="mode='create' makes it")
        return _load(connection, there, rows, "append")
    definition = _definition(name, rows.schema)
    if mode == "replace" and there is not None:
        _ddl(connection, f"DROP TABLE {quoted(there.name)}")
    _ddl(connection, definition)
    made = table_called(connection, name)
    assert made is not None
    try:
        return _load(connection, made, rows, "append")
    except Error:
        # Nothing was loaded, so the table is as if it had never been made.
        with suppress(Error):
            _ddl(connection, f"DROP TABLE {quoted(made.name)}")
        raise


def table_called(connection: Connection, name: str) -> TableType | None:
    """The table of this name, else the only one whose name differs in case alone."""
    found = connection.graph.catalog.tables_like(name)
    exact = [of for of in found if of.name == name] or found
    return exact[0] if len(exact) == 1 else None


def quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _load(connection: Connection, table: TableType, rows: pa.RecordBatchReader, mode: str) -> int:
    with telling():
        return connection.graph.load(rows, type=table_key(table), mode=mode).rows_read


def _ddl(connection: Connection, text: str) -> None:
    connection.run(Request(text, language="sql"))


# ---- tables for data ------------------------------------------------------------------------------------------------


def _alike(table: TableType, rows: pa.Schema) -> bool:
    """Whether the table is the one that the data would make, so that only rows have to be replaced."""
    if table.column(SRC) is not None:
        return True
    wanted = {field.name: _sql_type(field) for field in rows}
    own = {field.name: field for field in table.schema.fields if field.name != ID}
    return wanted.keys() == own.keys() and all(
        wanted[name] == _sql_type(pa.field(name, arrow_type(field.type))) for name, field in own.items()
    )


def _definition(name: str, rows: pa.Schema) -> str:
    columns = [f"{quoted(f.name)} {_sql_type(f)}{'' if f.nullable else ' NOT NULL'}" for f in rows]
    return f"CREATE TABLE {quoted(name)} ({', '.join(columns)})"


def _sql_type(field: pa.Field) -> str:
    of = field.type
    if pa.types.is_dictionary(of):
        return _sql_type(pa.field(field.name, of.value_type))
    if pa.types.is_fixed_size_list(of) and pa.types.is_floating(of.value_type):
        return f"VECTOR({of.list_size})"
    if pa.types.is_list(of) or pa.types.is_large_list(of):
        return f"{_sql_type(pa.field(field.name, of.value_type))}[]"
    for fits, word in _WORDS:
        if fits(of):
            return word
    raise DataError(
        f"column {field.name} holds {of}, which no table can hold",
        hint="cast it to text, a number, a truth value, a date, an instant, bytes or a list of these",
    )


def _is_text(of: pa.DataType) -> bool:
    return bool(pa.types.is_string(of) or pa.types.is_large_string(of) or pa.types.is_string_view(of))


def _is_bytes(of: pa.DataType) -> bool:
    return bool(pa.types.is_binary(of) or pa.types.is_large_binary(of) or pa.types.is_binary_view(of))


_WORDS: Final = (
    (_is_text, "TEXT"),
    (_is_bytes, "BLOB"),
    (pa.types.is_boolean, "BOOLEAN"),
    (pa.types.is_int64, "BIGINT"),
    (pa.types.is_signed_integer, "INT"),
    (pa.types.is_uint64, "UBIGINT"),
    (pa.types.is_unsigned_integer, "UINT"),
    (pa.types.is_float64, "DOUBLE"),
    (pa.types.is_floating, "REAL"),
    (pa.types.is_date, "DATE"),
    (pa.types.is_timestamp, "TIMESTAMP"),
    (pa.types.is_null, "TEXT"),
)
"""SQL types by the first test that holds."""


def refuse_elsewhere(connection: Connection, catalog: str | None, schema: str | None, temporary: bool) -> None:
    """A graph has one catalog, its schemas are branches, and every table stays."""
    if temporary:
        raise NotSupportedError("there are no temporary tables")
    if catalog is not None:
        raise NotSupportedError("a graph has no catalogs", hint="leave catalog_name out")
    if schema not in (None, connection.graph.branch):
        raise NotSupportedError(
            f"this connection writes on branch {connection.graph.branch}, not on {schema}",
            hint=f"connect(…, branch={schema!r})",
        )
