"""PEP 249's errors, and which of them each error of the tree becomes when a connection raises it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from omnigraph_sql.base.errors import (
    BoundaryViolation,
    CommitUnknown,
    ConflictError,
    ConstraintViolation,
    DatabaseError,
    DataError,
    Error,
    ExecutionError,
    FormatError,
    InternalError,
    KeyConflict,
    LanguageError,
    LimitError,
    MergeConflicts,
    NotSupported,
    OmniError,
    ParseError,
    RecoveryRequired,
    StorageError,
    TextLimitExceeded,
    TypeMismatch,
    UnknownName,
    ValueOutOfRange,
)

__all__ = [
    "DataError",
    "DatabaseError",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Warning",
    "telling",
    "translated",
]


class Warning(Exception):
    """Something worth knowing that is no error. Nothing raises it; PEP 249 wants the name."""


class _Told(Error):
    """An error that tells what an error of the tree has told; that one is its `__cause__`."""

    def fields(self) -> Mapping[str, object]:
        return self.__cause__.fields() if isinstance(self.__cause__, OmniError) else {}

    def report(self) -> str:
        return self.__cause__.report() if isinstance(self.__cause__, OmniError) else super().report()


class InterfaceError(_Told):
    """The interface is used in a way it does not allow: a closed connection, a cursor without rows."""

    default_code = "interface"


class OperationalError(_Told, DatabaseError):
    """Beyond the statement: storage failed, somebody else was faster, a limit was passed, it was interrupted."""

    default_code = "operational"


class IntegrityError(_Told, DatabaseError):
    """The data breaks a rule of the schema: a key that exists, an edge to nowhere, a null, a range."""

    default_code = "integrity"


class ProgrammingError(_Told, DatabaseError):
    """The statement is wrong, or its parameters do not belong to it."""

    default_code = "programming"


class NotSupportedError(_Told, DatabaseError):
    """Well formed, and not carried out."""

    default_code = "not_supported"


_Kind = type[Error]

_BY_CODE: Final[Mapping[str, tuple[_Kind, str]]] = {
    "closed": (InterfaceError, "08003"),
    "forked": (InterfaceError, "08003"),
    "read_only": (OperationalError, "25006"),
    "transaction_open": (ProgrammingError, "25001"),
    "transaction_closed": (ProgrammingError, "25P01"),
    "branch_name": (ProgrammingError, "42602"),
    "branch_exists": (ProgrammingError, "42710"),
    "exists": (OperationalError, "42P04"),
    "orphan_schema": (OperationalError, "42P04"),
    "parameters": (ProgrammingError, "07001"),
    "interrupted": (OperationalError, "57014"),
    "timeout": (OperationalError, "57014"),
}
"""Codes that say more than their class."""

_BY_CLASS: Final[tuple[tuple[type[OmniError], _Kind, str], ...]] = (
    (TextLimitExceeded, ProgrammingError, "54001"),
    (NotSupported, NotSupportedError, "0A000"),
    (ParseError, ProgrammingError, "42601"),
    (UnknownName, ProgrammingError, "42704"),
    (TypeMismatch, ProgrammingError, "42804"),
    (BoundaryViolation, ProgrammingError, "25000"),
    (LanguageError, ProgrammingError, "42000"),
    (ConstraintViolation, IntegrityError, "23000"),
    (KeyConflict, IntegrityError, "23505"),
    (ValueOutOfRange, DataError, "22003"),
    (DataError, DataError, "22000"),
    (MergeConflicts, OperationalError, "40000"),
    (ConflictError, OperationalError, "40001"),
    (LimitError, OperationalError, "54000"),
    (StorageError, OperationalError, "58030"),
    (RecoveryRequired, OperationalError, "58000"),
    (CommitUnknown, OperationalError, "08007"),
    (ExecutionError, DataError, "22000"),
    (FormatError, OperationalError, "58000"),
    (InternalError, InternalError, "XX000"),
)
"""The first class that fits decides."""

_BY_RULE: Final[Mapping[str, str]] = {
    "not null": "23502",
    "not_null": "23502",
    "endpoint": "23503",
    "key": "23505",
    "unique": "23505",
    "range": "23514",
    "check": "23514",
    "card": "23514",
    "enum": "23514",
    "one match": "21000",
}

_BY_KIND: Final = {"not_found": "58P01", "interrupted": "57014"}


def translated(error: OmniError) -> Error:
    """What a connection raises for an error of the tree: its class of PEP 249, with the same code, hint and facts."""
    kind, state = _BY_CODE.get(error.code) or _by_class(error)
    if isinstance(error, ConstraintViolation):
        state = _BY_RULE.get(error.rule, state)
    if isinstance(error, StorageError):
        state = _BY_KIND.get(error.kind, state)
    made = error if isinstance(error, kind) else kind(error.message, hint=error.hint, code=error.code)
    made.sqlstate = state
    if isinstance(error, LanguageError):
        made.position, made.line, made.column = error.at.start + 1, error.at.line, error.at.column
        if error.suggestion is not None and made.hint is None:
            made.hint = f"did you mean '{error.suggestion}'?"
    # A traceback shows notes: the place in the text and the hint, which the message does not have.
    _, _, more = error.report().partition("\n")
    if more:
        made.add_note(more)
    return made


def _by_class(error: OmniError) -> tuple[_Kind, str]:
    for of, kind, state in _BY_CLASS:
        if isinstance(error, of):
            return kind, state
    return DatabaseError, "HY000"


@contextmanager
def telling() -> Iterator[None]:
    """Errors of the tree leave as errors of PEP 249, whose cause they are."""
    try:
        yield
    except OmniError as error:
        made = translated(error)
        if made is error:
            raise
        raise made from error
