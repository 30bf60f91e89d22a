"""Errors of a connection: PEP 249's classes, with the facts of the tree."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

import omnigraph_sql as og
from omnigraph_sql import dbapi
from omnigraph_sql.base import errors as tree
from omnigraph_sql.dbapi.errors import telling, translated
from tests.graph.airports import SCHEMA

AT = tree.Location("<statement>", 2, 3, 9, 12, 10, 13, "  citty")
PEP_249 = (
    "Warning",
    "Error",
    "InterfaceError",
    "DatabaseError",
    "DataError",
    "OperationalError",
    "IntegrityError",
    "InternalError",
    "ProgrammingError",
    "NotSupportedError",
)


@pytest.fixture
def con(tmp_path: Path) -> Iterator[og.Connection]:
    connection = og.connect(tmp_path / "air.omni", create=True, schema=SCHEMA)
    yield connection
    connection.close()


def test_the_classes_form_the_tree_of_pep_249() -> None:
    assert not issubclass(og.Warning, og.Error)
    assert issubclass(og.InterfaceError, og.Error)
    assert not issubclass(og.InterfaceError, og.DatabaseError)
    for name in PEP_249[4:]:
        assert issubclass(getattr(og, name), og.DatabaseError), name


@pytest.mark.parametrize("name", PEP_249)
def test_a_class_is_the_same_in_the_package_in_the_module_and_on_a_connection(name: str) -> None:
    assert getattr(og, name) is getattr(dbapi, name) is getattr(og.Connection, name)


def test_one_clause_catches_what_either_door_raises() -> None:
    assert issubclass(og.OmniError, og.Error)
    assert issubclass(og.ConstraintViolation, og.DataError)
    assert not issubclass(og.IntegrityError, og.OmniError)


CASES = [
    (tree.ParseError("m", at=AT), og.ProgrammingError, "42601"),
    (tree.UnknownName("m", at=AT), og.ProgrammingError, "42704"),
    (tree.TypeMismatch("m", at=AT), og.ProgrammingError, "42804"),
    (tree.BoundaryViolation("m", at=AT, code="D2"), og.ProgrammingError, "25000"),
    (tree.LanguageError("m", at=AT), og.ProgrammingError, "42000"),
    (tree.NotSupported("m", at=AT), og.NotSupportedError, "0A000"),
    (tree.TextLimitExceeded("m", at=AT, resource="r", limit=1, actual=2), og.ProgrammingError, "54001"),
    (tree.ConstraintViolation("m", rule="not null"), og.IntegrityError, "23502"),
    (tree.ConstraintViolation("m", rule="endpoint"), og.IntegrityError, "23503"),
    (tree.ConstraintViolation("m", rule="unique"), og.IntegrityError, "23505"),
    (tree.ConstraintViolation("m", rule="range"), og.IntegrityError, "23514"),
    (tree.ConstraintViolation("m", rule="another"), og.IntegrityError, "23000"),
    (tree.KeyConflict("m", type="T", id="1"), og.IntegrityError, "23505"),
    (tree.ValueOutOfRange("m"), og.DataError, "22003"),
    (tree.DataError("m"), og.DataError, "22000"),
    (tree.DataError("m", code="parameters"), og.ProgrammingError, "07001"),
    (tree.ReadSetChanged("m", member="head", expected=1, actual=2), og.OperationalError, "40001"),
    (tree.ExpectedVersionMismatch("m", table_key="t", expected=1, actual=2), og.OperationalError, "40001"),
    (tree.PreconditionFailed("m", expected=1, actual=2), og.OperationalError, "40001"),
    (tree.MergeConflicts("m"), og.OperationalError, "40000"),
    (tree.ConflictError("m"), og.OperationalError, "40001"),
    (tree.ConflictError("m", code="closed"), og.InterfaceError, "08003"),
    (tree.ConflictError("m", code="read_only"), og.OperationalError, "25006"),
    (tree.LimitError("m"), og.OperationalError, "54000"),
    (tree.ResourceLimitExceeded("m", resource="r", limit=1, actual=2), og.OperationalError, "54000"),
    (tree.StorageError("m", kind="transient"), og.OperationalError, "58030"),
    (tree.StorageError("m", kind="not_found"), og.OperationalError, "58P01"),
    (tree.VersionReclaimed("m"), og.OperationalError, "58P01"),
    (tree.StorageError("m", kind="interrupted"), og.OperationalError, "57014"),
    (tree.RecoveryRequired("m", operation_id="o"), og.OperationalError, "58000"),
    (tree.CommitUnknown("m", commit_id="c"), og.OperationalError, "08007"),
    (tree.ExecutionError("m"), og.DataError, "22000"),
    (tree.Interrupted("m"), og.OperationalError, "57014"),
    (tree.FormatError("m"), og.OperationalError, "58000"),
    (tree.InternalError("m"), og.InternalError, "XX000"),
]


@pytest.mark.parametrize(("error", "kind", "state"), CASES, ids=lambda case: getattr(case, "__name__", str(case)))
def test_every_error_of_the_tree_has_a_class_of_pep_249(
    error: tree.OmniError, kind: type[og.Error], state: str
) -> None:
    before = error.to_dict()
    with pytest.raises(kind) as caught, telling():
        raise error
    raised = caught.value
    assert type(raised) is kind or raised is error
    assert raised.sqlstate == state
    assert (raised.code, raised.hint, raised.to_dict()) == (error.code, error.hint, before)
    assert raised is error or raised.__cause__ is error
    assert raised.report() == error.report()


def test_no_class_of_the_tree_is_left_out() -> None:
    classes = {c for c in vars(tree).values() if inspect.isclass(c) and issubclass(c, tree.OmniError)}
    assert {type(error) for error, _, _ in CASES} == classes - {tree.OmniError}
    assert type(translated(tree.OmniError("m"))) is og.DatabaseError


def test_an_error_in_a_text_knows_its_place(con: og.Connection) -> None:
    with pytest.raises(og.ProgrammingError) as caught:
        con.execute("SELECT\n  citty FROM Airport")
    error = caught.value
    assert (error.position, error.line, error.column) == (10, 2, 3)
    assert error.to_dict()["suggestion"] == "city"
    assert error.hint == "did you mean 'city'?"
    assert "^^^^^" in error.report()


def test_a_traceback_shows_the_place_and_the_hint(con: og.Connection) -> None:
    with pytest.raises(og.ProgrammingError) as caught:
        con.execute("SELECT 1 FROM Airprt")
    shown = "".join(traceback.format_exception_only(caught.value))
    assert str(caught.value) == "unknown table 'Airprt'"
    assert "1 | SELECT 1 FROM Airprt" in shown
    assert "^^^^^^" in shown
    assert "did you mean 'Airport'?" in shown
    with pytest.raises(og.ProgrammingError) as missing:
        con.execute("SELECT $a")
    assert "hint: hand over a value" in "".join(traceback.format_exception_only(missing.value))


@pytest.mark.parametrize(
    ("statement", "parameters", "kind", "state"),
    [
        ("INSERT INTO Airport VALUES ('LIM', ?, 34)", (None,), og.IntegrityError, "23502"),
        ("INSERT INTO Airport VALUES ('LIM', 'Lima', 9000)", (), og.IntegrityError, "23514"),
        ("INSERT INTO Route (src, dst, miles) VALUES ('LIM', 'NOT', 5)", (), og.IntegrityError, "23503"),
        ("INSERT INTO Airport VALUES ('OLD', 'Again', 1)", (), og.IntegrityError, "23505"),
        ("INSERT INTO Airport VALUES ('LIM', 'Lima', ?)", (2**31,), og.DataError, "22003"),
        ("INSERT INTO Airport VALUES ('LIM', 'Lima', ?)", ("high",), og.DataError, "22000"),
        ("SELECT 1 / ?", (0,), og.DataError, "22000"),
        ("SELECT ?, ?", (1,), og.ProgrammingError, "07001"),
        ("SELECT $a", {"b": 1}, og.ProgrammingError, "07001"),
        ("SELECT $a", (1,), og.ProgrammingError, "07001"),
        ("SELECT $a", None, og.ProgrammingError, "07001"),
        ("SELEC 1", (), og.ProgrammingError, "42601"),
        ("SELECT 1 FROM Nowhere", (), og.ProgrammingError, "42704"),
    ],
)
def test_what_goes_wrong_has_the_class_a_client_expects(
    con: og.Connection, statement: str, parameters: object, kind: type[og.Error], state: str
) -> None:
    con.execute("INSERT INTO Airport VALUES ('OLD', 'Old', 1)")
    con.commit()

    def work() -> None:
        cursor = con.execute(statement, parameters)  # type: ignore[arg-type]
        if cursor.description is not None:
            cursor.fetchall()
        con.commit()

    with pytest.raises(kind) as caught:
        work()
    assert caught.value.sqlstate == state


def test_two_connections_that_change_what_they_read_are_told_apart(con: og.Connection, tmp_path: Path) -> None:
    con.execute("INSERT INTO Airport VALUES ('LIM', 'Lima', 34)")
    con.commit()
    other = og.connect(tmp_path / "air.omni")
    for one in (con, other):
        one.execute("UPDATE Airport SET elevation = elevation + 1 WHERE code = 'LIM'")
    con.commit()
    with pytest.raises(og.OperationalError) as lost:
        other.commit()
    assert (lost.value.code, lost.value.sqlstate, other.in_transaction) == ("read_set_changed", "40001", False)
    assert other.execute("SELECT elevation FROM Airport").fetchone() == (35,)
