"""UPDATE, DELETE and TRUNCATE."""

from __future__ import annotations

import pytest

from omnigraph_sql.base.types import I32
from omnigraph_sql.bind.bound import BoundDelete, BoundJoin, BoundTable, BoundUpdate
from omnigraph_sql.bind.sql import bind_statement
from omnigraph_sql.grammar.sql.parse import parse_one
from tests.bind.statements import bind_one, cases, catalog, check_refusal, shown

BOUND = """
UPDATE Airport SET city = 'Lima', Elevation = elevation + 1 WHERE code = 'LIM'
    update Airport as Airport set city = 'Lima', elevation = Airport.elevation + 1 where Airport.code = 'LIM'
UPDATE Airport AS a SET opened = '2031-02-03', a.tags = NULL
    update Airport as a set opened = date '2031-02-03', tags = null
UPDATE Airport SET (city, blurb) = ('x', DEFAULT) WHERE id = 'LIM'
    update Airport as Airport set city = 'x', blurb = null where Airport.id = 'LIM'
UPDATE Route SET miles = 5 WHERE src = 'LIM'
    update Route as Route set miles = 5 where Route.src = 'LIM'
UPDATE "x".Airport SET city = 'Lima' RETURNING code, city AS town
    update Airport as Airport set city = 'Lima' returning Airport.code as code, Airport.city as town at x
UPDATE Carrier SET status = $1 WHERE iata = $2 RETURNING *
    update Carrier as Carrier set status = $1 where Carrier.iata = $2 returning Carrier.iata as iata,
    Carrier.name as name, Carrier.rating as rating, Carrier.status as status, Carrier.updated as updated
DELETE FROM Carrier WHERE status = 'defunct'
    delete Carrier as Carrier where Carrier.status = 'defunct' cascade Hub, Owns, Rides
DELETE FROM Route
    delete Route as Route
DELETE FROM Airport a WHERE a.code = 'LIM' RETURNING a.city
    delete Airport as a where a.code = 'LIM' cascade Route, Hub, Tagged, Rides returning a.city as city
TRUNCATE Route
    delete Route as Route
TRUNCATE TABLE "x".Carrier
    delete Carrier as Carrier cascade Hub, Owns, Rides at x
TRUNCATE Route RETURNING src, miles AS m
    delete Route as Route returning Route.src as src, Route.miles as m
"""


@pytest.mark.parametrize(("sql", "expected"), cases(BOUND))
def test_a_change_is_bound(sql: str, expected: str) -> None:
    assert shown(bind_one(sql).statement) == expected


REFUSED = """
UPDATE Airprt SET city = 'x'
    unknown_name | unknown table 'Airprt' | Airprt
UPDATE Airport SET cty = 'x'
    unknown_name | unknown column 'cty' | cty
UPDATE Airport SET city = 'x', city = 'y'
    type | Airport.city is assigned twice | city
UPDATE Airport SET code = 'x'
    type | Airport.code belongs to the key | code
UPDATE Airport SET id = 'x'
    type | the id of Airport cannot be updated | id
UPDATE Route SET src = 'x'
    type | the ends of Route cannot be updated | src
UPDATE Airport SET city = NULL
    type | Airport.city cannot be null | NULL
UPDATE Airport SET city = 5
    type | Airport.city is a String; 5 is an I64 | 5
UPDATE Airport SET elevation = city
    type | Airport.elevation is an I32; this is a String | city
UPDATE Airport SET (city, blurb) = ('x')
    not_supported | a list of columns takes a list of values | 'x'
UPDATE Airport SET (city, blurb) = ('x', 'y', 'z')
    type | 2 columns are given 3 values | city, blurb) = ('x', 'y', 'z'
UPDATE Airport SET city = 'x' WHERE elevation
    type | WHERE takes a truth value | elevation
UPDATE Airport SET city = 'x' WHERE cty = 'y'
    unknown_name | unknown column 'cty' | cty
UPDATE Airport a SET c.city = 'x' FROM Carrier c
    type | only columns of a can be assigned | c.city
UPDATE Airport SET city = count(*)
    not_supported | count is an aggregate | count
UPDATE Airport VERSION AS OF 3 SET city = 'x'
    not_supported | a past state cannot be changed | 3
DELETE FROM Airport WHERE cty = 'y'
    unknown_name | unknown column 'cty' | cty
DELETE FROM Airport WHERE code = 'a' RETURNING cty
    unknown_name | unknown column 'cty' | cty
DELETE FROM Airport USING Carrrier c WHERE code = c.iata
    unknown_name | unknown table 'Carrrier' | Carrrier
TRUNCATE Airprt
    unknown_name | unknown table 'Airprt' | Airprt
TRUNCATE Route RETURNING cty
    unknown_name | unknown column 'cty' | cty
WITH w AS (INSERT INTO Note (body) VALUES ('x') RETURNING id) DELETE FROM Note USING w WHERE Note.id = w.id
    not_supported | a WITH query only reads | Note (body) VALUES ('x') RETURNING id
"""


@pytest.mark.parametrize(("sql", "expected"), cases(REFUSED))
def test_a_refusal_says_what_and_where(sql: str, expected: str) -> None:
    check_refusal(sql, expected)


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE Airport AS a SET city = c.name FROM Carrier c WHERE c.iata = a.code RETURNING c.name, a.city",
        "DELETE FROM Airport AS a USING Carrier c WHERE c.iata = a.code RETURNING c.name, a.city",
    ],
)
def test_other_tables_stand_beside_the_changed_one(sql: str) -> None:
    statement = bind_one(sql).statement
    assert isinstance(statement, BoundUpdate | BoundDelete)
    assert isinstance(statement.source, BoundTable)
    assert statement.source.variable == "c"
    assert [item.name for item in statement.returning] == ["name", "city"]


def test_several_tables_are_joined() -> None:
    sql = "UPDATE Airport AS a SET city = c.name FROM Carrier c JOIN Hub h ON h.src = c.id WHERE h.dst = a.id"
    statement = bind_one(sql).statement
    assert isinstance(statement, BoundUpdate)
    assert isinstance(statement.source, BoundJoin)


@pytest.mark.parametrize(
    "sql",
    [
        "WITH w AS (SELECT iata FROM Carrier) UPDATE Airport SET city = 'x' FROM w WHERE w.iata = code",
        "WITH w AS (SELECT iata FROM Carrier) UPDATE Airport SET city = 'x' FROM w AS v WHERE v.iata = code",
        "WITH w AS (SELECT iata FROM Carrier) DELETE FROM Airport WHERE code IN (SELECT iata FROM w)",
        "WITH w AS (SELECT iata FROM Carrier) DELETE FROM Airport USING w WHERE w.iata = code",
        "UPDATE Airport AS a SET city = (SELECT max(c.name) FROM Carrier c WHERE c.iata = a.code)",
        "DELETE FROM Airport AS a WHERE NOT EXISTS (SELECT 1 FROM Route r WHERE r.src = a.id)",
    ],
)
def test_queries_inside_a_change_are_bound(sql: str) -> None:
    assert isinstance(bind_one(sql).statement, BoundUpdate | BoundDelete)


@pytest.mark.parametrize(
    "sql",
    [
        "WITH w AS (SELECT iata FROM Carrier) DELETE FROM Airport USING w WHERE w.iata = code AND elevation > $1",
        "WITH w AS (SELECT iata FROM Carrier) UPDATE Airport SET elevation = $1 FROM w WHERE w.iata = code",
        "WITH w AS (SELECT iata, $1 AS e FROM Carrier) "
        "INSERT INTO Airport (code, city, elevation) SELECT iata, iata, $1 FROM w",
        "WITH w AS (SELECT iata FROM Carrier) MERGE INTO Airport USING w ON code = iata AND elevation = $1 "
        "WHEN MATCHED THEN DELETE RETURNING merge_action()",
    ],
)
def test_binding_leaves_the_tree_as_it_was(sql: str) -> None:
    statement = parse_one(sql)
    before = repr(statement.tree)
    first = bind_statement(statement, catalog())
    assert repr(statement.tree) == before
    assert bind_statement(statement, catalog()) == first
    assert first.parameters[0].of == I32
