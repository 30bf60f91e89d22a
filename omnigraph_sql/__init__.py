"""A graph-shaped database for Python and SQL, stored in Lance tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omnigraph_sql.base.errors import (
        BoundaryViolation,
        CommitUnknown,
        ConflictError,
        ConstraintViolation,
        DatabaseError,
        DataError,
        Error,
        ExecutionError,
        ExpectedVersionMismatch,
        FormatError,
        InternalError,
        Interrupted,
        KeyConflict,
        LanguageError,
        LimitError,
        Location,
        MergeConflicts,
        NotSupported,
        OmniError,
        ParseError,
        PreconditionFailed,
        ReadSetChanged,
        RecoveryRequired,
        ResourceLimitExceeded,
        StorageError,
        TextLimitExceeded,
        TypeMismatch,
        UnknownName,
        ValueOutOfRange,
        VersionReclaimed,
    )
    from omnigraph_sql.dbapi import (
        BINARY,
        DATETIME,
        NUMBER,
        ROWID,
        STRING,
        Binary,
        Connection,
        Cursor,
        Date,
        DateFromTicks,
        IntegrityError,
        InterfaceError,
        NotSupportedError,
        OperationalError,
        ProgrammingError,
        Time,
        TimeFromTicks,
        Timestamp,
        TimestampFromTicks,
        Warning,
        apilevel,
        connect,
        dict_row,
        paramstyle,
        threadsafety,
    )
    from omnigraph_sql.engine.load.report import LoadReport
    from omnigraph_sql.engine.recovery.heal import Recovered
    from omnigraph_sql.engine.values import GraphCommit
    from omnigraph_sql.graph import Branch, Graph, init, open
    from omnigraph_sql.result import Result
    from omnigraph_sql.session import Transaction

    __version__: str

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "BoundaryViolation",
    "Branch",
    "CommitUnknown",
    "ConflictError",
    "Connection",
    "ConstraintViolation",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "ExecutionError",
    "ExpectedVersionMismatch",
    "FormatError",
    "Graph",
    "GraphCommit",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "Interrupted",
    "KeyConflict",
    "LanguageError",
    "LimitError",
    "LoadReport",
    "Location",
    "MergeConflicts",
    "NotSupported",
    "NotSupportedError",
    "OmniError",
    "OperationalError",
    "ParseError",
    "PreconditionFailed",
    "ProgrammingError",
    "ReadSetChanged",
    "Recovered",
    "RecoveryRequired",
    "ResourceLimitExceeded",
    "Result",
    "StorageError",
    "TextLimitExceeded",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Transaction",
    "TypeMismatch",
    "UnknownName",
    "ValueOutOfRange",
    "VersionReclaimed",
    "Warning",
    "__version__",
    "apilevel",
    "connect",
    "dict_row",
    "init",
    "open",
    "paramstyle",
    "threadsafety",
]

_DBAPI = (
    "BINARY",
    "Binary",
    "Connection",
    "Cursor",
    "DATETIME",
    "Date",
    "DateFromTicks",
    "IntegrityError",
    "InterfaceError",
    "NUMBER",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "ROWID",
    "STRING",
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
)
"""What PEP 249 wants of a module; errors that have a place in the tree live there."""

_HOMES = {
    **dict.fromkeys(_DBAPI, "dbapi"),
    "Branch": "graph",
    "Graph": "graph",
    "GraphCommit": "engine.values",
    "LoadReport": "engine.load.report",
    "Recovered": "engine.recovery.heal",
    "Result": "result",
    "Transaction": "session",
    "init": "graph",
    "open": "graph",
}
"""Where public names other than errors live."""


def __getattr__(name: str) -> object:
    """Resolve a public name on first use, so that importing the package stays cheap."""
    if name == "__version__":
        value: object = _version()
    elif name in __all__:
        from importlib import import_module

        value = getattr(import_module(f"omnigraph_sql.{_HOMES.get(name, 'base.errors')}"), name)
    else:
        raise AttributeError(f"module 'omnigraph_sql' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("omnigraph-sql")
    except PackageNotFoundError:  # a checkout that was never installed
        return "0+unknown"
