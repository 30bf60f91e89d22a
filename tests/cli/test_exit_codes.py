"""Every error of the tree has its exit code; the table is the contract."""

import inspect

import pytest

from omnigraph_sql.base import errors
from omnigraph_sql.base.errors import Location, OmniError
from omnigraph_sql.cli.exit_codes import ExitCode, exit_code

AT = Location("<text>", 1, 1, 0, 0, 0, 0, "")

TABLE: list[tuple[OmniError, int]] = [
    (errors.OmniError("x"), 1),
    (errors.LanguageError("x", at=AT), 1),
    (errors.ParseError("x", at=AT), 1),
    (errors.UnknownName("x", at=AT), 1),
    (errors.TypeMismatch("x", at=AT), 1),
    (errors.BoundaryViolation("x", at=AT), 1),
    (errors.NotSupported("x", at=AT), 1),
    (errors.TextLimitExceeded("x", at=AT, resource="r", limit=1, actual=2), 1),
    (errors.DataError("x"), 1),
    (errors.ConstraintViolation("x"), 1),
    (errors.KeyConflict("x"), 1),
    (errors.ValueOutOfRange("x"), 1),
    (errors.ConflictError("x"), 3),
    (errors.ConflictError("x", code="exists"), 1),
    (errors.ConflictError("x", code="read_only"), 1),
    (errors.ConflictError("x", code="drift"), 1),
    (errors.ReadSetChanged("x", member="m", expected=1, actual=2), 3),
    (errors.ExpectedVersionMismatch("x", table_key="t", expected=1, actual=2), 3),
    (errors.PreconditionFailed("x", expected=1, actual=2), 4),
    (errors.MergeConflicts("x"), 1),
    (errors.Interrupted("x"), 130),
    (errors.LimitError("x"), 1),
    (errors.ResourceLimitExceeded("x", resource="r", limit=1, actual=2), 1),
    (errors.StorageError("x", kind="transient"), 3),
    (errors.StorageError("x", kind="unknown"), 3),
    (errors.StorageError("x", kind="configuration"), 1),
    (errors.StorageError("x", kind="not_found"), 1),
    (errors.StorageError("x", kind="permanent"), 1),
    (errors.StorageError("x", kind="interrupted"), 130),
    (errors.VersionReclaimed("x"), 1),
    (errors.RecoveryRequired("x", operation_id="o"), 1),
    (errors.CommitUnknown("x", commit_id="c"), 1),
    (errors.ExecutionError("x"), 1),
    (errors.FormatError("x"), 1),
    (errors.InternalError("x"), 1),
]


@pytest.mark.parametrize(("error", "code"), TABLE, ids=lambda v: type(v).__name__ if isinstance(v, OmniError) else "")
def test_an_error_has_its_exit_code(error: OmniError, code: int) -> None:
    assert exit_code(error) == code


def test_the_table_knows_every_error_of_the_tree() -> None:
    tree = {c for _, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, OmniError)}
    assert {type(error) for error, _ in TABLE} == tree


def test_the_codes_are_the_documented_numbers() -> None:
    assert [code.value for code in ExitCode] == [0, 1, 2, 3, 4, 130]
