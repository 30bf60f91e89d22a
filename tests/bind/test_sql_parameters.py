"""Parameters of SQL statements: styles, order, types learnt from any of their uses."""

from __future__ import annotations

import pytest

from omnigraph_sql.base.expr import Param, walk
from omnigraph_sql.base.types import BOOL, F64, I32, STRING, DataType
from omnigraph_sql.bind.bound import BoundDelete
from tests.bind.statements import bind_one, cases, check_refusal


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT code FROM Airport", []),
        ("SELECT code FROM Airport WHERE city = ? AND elevation > ?", ["1", "2"]),
        ("SELECT code FROM Airport WHERE city = $2 AND elevation > $1", ["1", "2"]),
        ("SELECT code FROM Airport WHERE city = $b AND elevation > :a AND code = $b", ["b", "a"]),
        ("UPDATE Airport SET city = $z WHERE code = $a", ["z", "a"]),
        ("WITH w AS (SELECT $first AS x) SELECT x FROM w WHERE x = $second", ["first", "second"]),
        (
            "SELECT * FROM GRAPH_TABLE (MATCH (a IS Airport WHERE a.code = $c)-[r IS Route WHERE r.miles > $m]->(b) "
            "COLUMNS (b.code AS code)) g WHERE code <> $d",
            ["c", "m", "d"],
        ),
        ("INSERT INTO Airport (city, code) VALUES ($city, $code)", ["city", "code"]),
        ("COPY Airport FROM ? (FORMAT csv, HEADER ?)", ["1", "2"]),
        (
            ", ".join(["SELECT $12", *(f"$1{i}" for i in (1, 0)), *(f"${i}" for i in range(9, 0, -1))]),
            [*map(str, range(1, 13))],
        ),
    ],
)
def test_parameters_come_in_a_stable_order(sql: str, names: list[str]) -> None:
    assert [p.name for p in bind_one(sql).parameters] == names


@pytest.mark.parametrize(
    ("sql", "types"),
    [
        ("SELECT code FROM Airport WHERE city = $a AND elevation > $b", [STRING, I32]),
        ("SELECT $a AS x, code FROM Airport WHERE elevation = $a", [I32]),
        ("SELECT $a IS NULL AS x, $b IS NULL AS y FROM Carrier WHERE rating = $b AND rating = $a", [F64, F64]),
        ("UPDATE Carrier SET rating = $1 WHERE status = $2", [F64, STRING]),
        ("DELETE FROM Airport WHERE $1", [BOOL]),
        (
            "MERGE INTO Airport USING Carrier ON code = iata AND $n > elevation WHEN MATCHED THEN UPDATE SET city = $c",
            [I32, STRING],
        ),
    ],
)
def test_a_parameter_has_one_type_learnt_from_any_use(sql: str, types: list[DataType]) -> None:
    assert [p.of for p in bind_one(sql).parameters] == types


def test_uses_before_the_type_is_known_get_it_too() -> None:
    statement = bind_one("DELETE FROM Airport WHERE $a IS NULL OR elevation = $a").statement
    assert isinstance(statement, BoundDelete)
    assert statement.where is not None
    assert [part.of for part in walk(statement.where) if isinstance(part, Param)] == [I32, I32]


REFUSED = """
SELECT code FROM Airport WHERE city = ? AND elevation > $h
    parameters | ? and $h cannot be mixed in one statement | $h
SELECT code FROM Airport WHERE city = $c AND elevation > ?
    parameters | $c and ? cannot be mixed in one statement | ?
SELECT code FROM Airport WHERE city = ? AND elevation > $2
    parameters | ? and $2 cannot be mixed in one statement | $2
SELECT code FROM Airport WHERE city = $1 AND elevation > :h
    parameters | $1 and :h cannot be mixed in one statement | :h
SELECT code FROM Airport WHERE city = $1 AND elevation > $3
    parameters | $3 is used, $2 is not | $3
SELECT code FROM Airport WHERE city = $2
    parameters | $2 is used, $1 is not | $2
SELECT code FROM Airport WHERE city = $0
    parameters | $0 is no parameter | $0
SELECT code FROM Airport WHERE city = $01
    parameters | $01 is no parameter | $01
SELECT code FROM Airport WHERE city = $__now__
    not_supported | the parameter name __now__ is reserved | SELECT code FROM Airport WHERE city = $__now__
"""


@pytest.mark.parametrize(("sql", "expected"), cases(REFUSED))
def test_odd_parameters_are_refused(sql: str, expected: str) -> None:
    check_refusal(sql, expected)
