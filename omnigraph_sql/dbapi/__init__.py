"""PEP 249, the Python Database API 2.0: `connect`, its errors, its types."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from omnigraph_sql.dbapi.errors import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,
    telling,
)
from omnigraph_sql.dbapi.types import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Binary,
    Date,
    DateFromTicks,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
)

if TYPE_CHECKING:
    from omnigraph_sql.dbapi.connection import Connection, Cursor, dict_row

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "Connection",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "apilevel",
    "connect",
    "dict_row",
    "paramstyle",
    "threadsafety",
]

apilevel: Final = "2.0"
threadsafety: Final = 1
"""Threads may share the module, but not connections."""
paramstyle: Final = "qmark"
"""`?` with a sequence; `$1`, `$name` and `:name` are taken as well."""


def connect(
    uri: str | os.PathLike[str],
    *,
    branch: str = "main",
    actor: str | None = None,
    read_only: bool = False,
    autocommit: bool = False,
    create: bool = False,
    schema: str | Path | None = None,
    storage_options: dict[str, str] | None = None,
    durability: str = "process",
    memory_limit: int | str | None = None,
    embed: Callable[[list[str]], Sequence[Sequence[float]]] | None = None,
) -> Connection:
    """A connection to a graph: a folder, or a prefix of an object store.

    `create` makes the graph when there is none, with the given schema or an empty one. Without `autocommit` the first
    change begins a transaction, which `commit()` publishes. The last three are those of `open`.

    >>> import omnigraph_sql as og
    >>> con = og.connect("bar.omni", create=True, schema="node Drink { name: String @key  price: F64? }")
    >>> con.execute("INSERT INTO Drink VALUES (?, ?)", ("Pisco sour", 7.5)).rowcount
    1
    >>> con.commit()
    >>> con.execute("SELECT name, price FROM Drink").fetchall()
    [('Pisco sour', 7.5)]
    >>> con.close()
    """
    if schema is not None and not create:
        raise InterfaceError("a schema is for a graph that is made here", hint="say create=True")
    if create and read_only:
        raise InterfaceError("a graph cannot be made for reading only", hint="leave out create or read_only")
    from omnigraph_sql.dbapi.connection import connected

    with telling():
        return connected(
            uri,
            branch=branch,
            actor=actor,
            read_only=read_only,
            autocommit=autocommit,
            schema=(schema or "") if create else None,
            storage_options=storage_options,
            durability=durability,
            memory_limit=memory_limit,
            embed=embed,
        )


def __getattr__(name: str) -> object:
    """What needs the engine is loaded when it is asked for."""
    if name not in ("Connection", "Cursor", "dict_row"):
        raise AttributeError(f"module 'omnigraph_sql.dbapi' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("omnigraph_sql.dbapi.connection"), name)
