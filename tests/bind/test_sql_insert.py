"""INSERT: columns, rows, conflicts, RETURNING."""

from __future__ import annotations

import re

import pytest

from omnigraph_sql.base.expr import Cast
from omnigraph_sql.base.types import DATETIME, I32
from omnigraph_sql.bind.bound import BoundInsert, BoundProgram, BoundSelect, BoundUnit, BoundValues
from omnigraph_sql.bind.gq import bind_query
from omnigraph_sql.grammar.gq import parse_unit
from omnigraph_sql.plan.compile import compile_sql
from omnigraph_sql.plan.explain import explain
from tests.bind.statements import bind_one, cases, catalog, check_refusal, refusal, shown
from tests.case_files import airport_catalog

BOUND = """
# positional values: declared order, never the id; edges take their ends first
INSERT INTO Carrier VALUES ('LA', 'Latam', 4.5, 'active', '2031-02-03T04:05:06Z')
    insert Carrier(iata, name, rating, status, updated) values ('LA', 'Latam', 4.5, 'active',
    timestamp '2031-02-03T04:05:06+00:00')
INSERT INTO Hub VALUES ('LA', 'LIM')
    insert Hub(src, dst) values ('LA', 'LIM')
INSERT INTO route VALUES ('LIM', 'CUZ', 363, NULL)
    insert Route(src, dst, miles, since) values ('LIM', 'CUZ', 363, null)
# named columns come out in declared order
INSERT INTO Airport (city, code) VALUES ('Lima', 'LIM'), ('Cusco', 'CUZ')
    insert Airport(code, city) values ('LIM', 'Lima'), ('CUZ', 'Cusco')
INSERT INTO Airport (code, city, "elevation", tags) VALUES ('LIM', 'Lima', -3, ['a', 'b'])
    insert Airport(code, city, elevation, tags) values ('LIM', 'Lima', -3, ['a', 'b'])
INSERT INTO Airport (code, city, pos) VALUES ('LIM', 'Lima', [1, 2, 3, 4])
    insert Airport(code, city, pos) values ('LIM', 'Lima', [1.0, 2.0, 3.0, 4.0])
INSERT INTO Airport (code, city, opened) VALUES ('LIM', 'Lima', DEFAULT)
    insert Airport(code, city, opened) values ('LIM', 'Lima', null)
INSERT INTO Route (to, miles, from) VALUES ('CUZ', 363, 'LIM')
    insert Route(src, dst, miles) values ('LIM', 'CUZ', 363)
INSERT INTO "review/x".Airport (code, city) VALUES ('LIM', 'Lima')
    insert Airport(code, city) values ('LIM', 'Lima') at review/x
# ids: derived from keys, given or generated elsewhere
INSERT INTO Note (id, body) VALUES ('n1', 'x')
    insert Note(id, body) values ('n1', 'x')
INSERT INTO Route (id, src, dst, miles) VALUES ('r1', 'LIM', 'CUZ', 363)
    insert Route(id, src, dst, miles) values ('r1', 'LIM', 'CUZ', 363)
INSERT INTO Note DEFAULT VALUES
    insert Note(body, mood) values (null, null)
# queries
INSERT INTO Airport (code, city) SELECT iata, name FROM Carrier
    insert Airport(code, city) select Carrier.iata as iata, Carrier.name as name
INSERT INTO Hub SELECT c.id, a.id FROM Carrier c, Airport a
    insert Hub(src, dst) select c.id as id, a.id as id_2
INSERT INTO Airport (opened, code, city) SELECT '2031-02-03', 'a', 'b'
    insert Airport(opened, code, city) select date '2031-02-03' as '2031-02-03', 'a' as 'a', 'b' as 'b'
INSERT INTO Airport BY NAME SELECT name AS CITY, iata AS code FROM Carrier
    insert Airport(city, code) select Carrier.name as CITY, Carrier.iata as code
# conflicts
INSERT OR REPLACE INTO Airport (code, city) VALUES ('LIM', 'Lima')
    insert Airport(code, city) values ('LIM', 'Lima') on conflict replace
INSERT OR IGNORE INTO Airport (code, city) VALUES ('LIM', 'Lima')
    insert Airport(code, city) values ('LIM', 'Lima') on conflict nothing
INSERT INTO Airport (code, city) VALUES ('LIM', 'Lima') ON CONFLICT DO NOTHING
    insert Airport(code, city) values ('LIM', 'Lima') on conflict nothing
INSERT INTO Airport (code, city) VALUES ('LIM', 'Lima') ON CONFLICT (CODE) DO UPDATE SET city = excluded.city
    insert Airport(code, city) values ('LIM', 'Lima') on conflict update set city = excluded.city
INSERT INTO Airport (code, city) VALUES ('LIM', 'Lima') ON CONFLICT (id) DO NOTHING
    insert Airport(code, city) values ('LIM', 'Lima') on conflict nothing
INSERT INTO Airport AS a (code, city) VALUES ('L', 'x') ON CONFLICT DO UPDATE SET city = a.code, blurb = city
    insert Airport(code, city) values ('L', 'x') on conflict update set city = a.code, blurb = a.city
INSERT INTO Airport (code, city) VALUES ('L', 'x') ON CONFLICT DO UPDATE SET city = 'y' WHERE excluded.city > city
    insert Airport(code, city) values ('L', 'x') on conflict update set city = 'y' where excluded.city > Airport.city
INSERT INTO Shelf VALUES (1, 2, 'x', NULL) ON CONFLICT (slot, aisle) DO UPDATE SET (label, barcode) = ('z', NULL)
    insert Shelf(aisle, slot, label, barcode) values (1, 2, 'x', null) on conflict update
    set label = 'z', barcode = null
INSERT INTO Rides (src, dst) VALUES ('LA', 'LIM') ON CONFLICT (src, dst) DO NOTHING
    insert Rides(src, dst) values ('LA', 'LIM') on conflict nothing
# returning
INSERT INTO Hub VALUES ('LA', 'LIM') RETURNING *
    insert Hub(src, dst) values ('LA', 'LIM') returning Hub.src as src, Hub.dst as dst
INSERT INTO Note (body) VALUES ('x') RETURNING id, body AS b, NOTE.id
    insert Note(body) values ('x') returning Note.id as id, Note.body as b, Note.id as id_2
"""


@pytest.mark.parametrize(("sql", "expected"), cases(BOUND))
def test_an_insert_is_bound(sql: str, expected: str) -> None:
    assert shown(bind_one(sql).statement) == expected


REFUSED = """
INSERT INTO Airprt VALUES (1)
    unknown_name | unknown table 'Airprt' | Airprt
INSERT INTO Airport VERSION AS OF 3 (code, city) VALUES ('a', 'b')
    not_supported | a past state cannot be changed | 3
INSERT INTO "@abc".Airport (code, city) VALUES ('a', 'b')
    not_supported | a past state cannot be changed | "@abc".Airport
# counts
INSERT INTO Airport VALUES ('LIM', 'Lima')
    type | Airport has 8 columns, row 1 gives 2 values | 'LIM', 'Lima'
INSERT INTO Hub VALUES ('a', 'b'), ('c')
    type | Hub has 2 columns, row 2 gives 1 value | 'c'
INSERT INTO Airport (code, city) VALUES ('a', 'b'), ('c', 'd', 'e')
    type | 2 columns are named, row 2 gives 3 values | 'c', 'd', 'e'
INSERT INTO Airport (code, city) SELECT iata FROM Carrier
    type | 2 columns are named, the query gives 1 value | iata FROM Carrier
INSERT INTO Hub SELECT code FROM Airport
    type | Hub has 2 columns, the query gives 1 value | code FROM Airport
# columns
INSERT INTO Airport (code, cty) VALUES ('a', 'b')
    unknown_name | unknown column 'cty' | cty
INSERT INTO Airport (code, "City") VALUES ('a', 'b')
    unknown_name | unknown column 'City' | "City"
INSERT INTO Airport (code, CODE) VALUES ('a', 'b')
    type | Airport.code is named twice | CODE
INSERT INTO Route (src, "from", miles) VALUES ('a', 'b', 1)
    type | Route.src is named twice | "from"
INSERT INTO Airport (id, code, city) VALUES ('a', 'a', 'b')
    type | the id of Airport cannot be given | id
INSERT INTO Rides (id, src, dst) VALUES ('a', 'a', 'b')
    type | the id of Rides cannot be given | id
INSERT INTO Airport (code) VALUES ('a')
    type | Airport needs city; it cannot be null | Airport
INSERT INTO Route (miles) VALUES (5)
    type | Route needs src and dst; they cannot be null | Route
INSERT INTO Carrier DEFAULT VALUES
    type | Carrier needs iata, name and status; they cannot be null | Carrier
INSERT INTO Airport BY NAME SELECT iata AS code, name AS town FROM Carrier
    unknown_name | unknown column 'town' | iata AS code, name AS town FROM Carrier
INSERT INTO Airport BY NAME SELECT iata AS code, name AS city, name AS CITY FROM Carrier
    type | the query gives Airport.city twice | iata AS code, name AS city, name AS CITY FROM Carrier
INSERT INTO Airport (code, city) BY NAME SELECT iata, name FROM Carrier
    type | BY NAME takes the names from the query | Airport (code, city
# values
INSERT INTO Airport (code, city) VALUES ('a', NULL)
    type | Airport.city cannot be null | NULL
INSERT INTO Airport (code, city) VALUES ('a', DEFAULT)
    type | Airport.city cannot be null | 'a'
INSERT INTO Airport (code, city) VALUES ('a', 5)
    type | Airport.city is a String; 5 is an I64 | 5
INSERT INTO Airport (code, city, elevation) VALUES ('a', 'b', 3000000000)
    type | 3000000000 is outside of -2147483648 to 2147483647 | 3000000000
INSERT INTO Airport (code, city, elevation) VALUES ('a', 'b', 1.5)
    type | 1.5 is no whole number | 1.5
INSERT INTO Airport (code, city, opened) VALUES ('a', 'b', '2031-02-30')
    type | Airport.opened is a Date | '2031-02-30'
INSERT INTO Airport (code, city, pos) VALUES ('a', 'b', [1, 2])
    type | Airport.pos is a Vector(4); this has 2 numbers | 1, 2
INSERT INTO Carrier (iata, name, status) VALUES ('a', 'b', 'activ')
    type | 'activ' is none of its labels | 'activ'
INSERT INTO Airport (code, city) SELECT iata, rating FROM Carrier
    type | Airport.city is a String; this is a F64 | rating
INSERT INTO Airport (code, city, tags) SELECT iata, name, name FROM Carrier
    type | Airport.tags is a [String]; this is a String | name
INSERT INTO Airport (code, city) VALUES ('a', code)
    unknown_name | unknown column 'code' | code
# conflicts
INSERT INTO Note (body) VALUES ('x') ON CONFLICT DO NOTHING
    type | Note has no key, so its rows never conflict | INSERT INTO Note (body) VALUES ('x') ON CONFLICT DO NOTHING
INSERT INTO Tagged (src, dst) VALUES ('a', 'b') ON CONFLICT (src, dst) DO NOTHING
    not_supported | a conflict is found by the key, and Tagged has none | src, dst
INSERT INTO Shelf VALUES (1, 2, 'x', NULL) ON CONFLICT (barcode) DO NOTHING
    not_supported | a conflict is found by the key, not by a unique set | barcode
INSERT INTO Shelf VALUES (1, 2, 'x', NULL) ON CONFLICT (aisle) DO NOTHING
    type | aisle is not the key of Shelf | aisle
INSERT INTO Airport (code, city) VALUES ('a', 'b') ON CONFLICT (cod) DO NOTHING
    unknown_name | unknown column 'cod' | cod
INSERT INTO Airport (code, city) VALUES ('a', 'b') ON CONFLICT (code) DO UPDATE SET code = 'x'
    type | Airport.code belongs to the key | code
INSERT INTO Airport (code, city) VALUES ('a', 'b') ON CONFLICT (code) DO UPDATE SET id = 'x'
    type | the id of Airport cannot be updated | id
INSERT INTO Airport (code, city) VALUES ('a', 'b') ON CONFLICT (code) DO UPDATE SET city = exclude.city
    unknown_name | unknown table 'exclude' | exclude
INSERT INTO Airport (code, city) VALUES ('a', 'b') ON CONFLICT (code) DO UPDATE SET city = 'x', CITY = 'y'
    type | Airport.city is assigned twice | CITY
INSERT INTO Airport (code, city) VALUES ('a', 'b') ON CONFLICT ON CONSTRAINT k DO NOTHING
    not_supported | constraints have no names | k
INSERT INTO Airport (code, city) VALUES ('a', 'b') ON CONFLICT (code) WHERE city > 'x' DO NOTHING
    not_supported | a key has no condition | city > 'x'
INSERT OR REPLACE INTO Airport (code, city) VALUES ('a', 'b') ON CONFLICT (code) DO NOTHING
    type | an INSERT says once what happens to existing keys | code
INSERT INTO Airport AS excluded (code, city) VALUES ('a', 'b') ON CONFLICT DO UPDATE SET city = 'x'
    type | 'excluded' names the row that was not inserted | city = 'x'
# returning
INSERT INTO Airport (code, city) VALUES ('a', 'b') RETURNING cty
    unknown_name | unknown column 'cty' | cty
INSERT INTO Airport (code, city) VALUES ('a', 'b') RETURNING x.*
    unknown_name | unknown table 'x' | x
INSERT INTO Airport (code, city) VALUES ('a', 'b') RETURNING excluded.city
    unknown_name | unknown table 'excluded' | excluded
"""


@pytest.mark.parametrize(("sql", "expected"), cases(REFUSED))
def test_a_refusal_says_what_and_where(sql: str, expected: str) -> None:
    check_refusal(sql, expected)


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO Airport (code, city) VALUES ('a', 'b') ON DUPLICATE KEY UPDATE city = 'x'",
        "INSERT OR ABORT INTO Airport (code, city) VALUES ('a', 'b')",
        "WITH w AS (DELETE FROM Note RETURNING id) INSERT INTO Note (body) SELECT id FROM w",
    ],
)
def test_what_is_not_done_is_refused_as_such(sql: str) -> None:
    error = refusal(sql)
    assert error.code == "not_supported"
    assert error.hint


def test_a_missing_column_list_is_hinted_at_and_a_label_is_suggested() -> None:
    assert refusal("INSERT INTO Airport VALUES ('a', 'b')").hint == "name the columns: INSERT INTO t (a, b) …"
    assert refusal("INSERT INTO Carrier (iata, name, status) VALUES ('a', 'b', 'activ')").suggestion == "active"


# ---- the same as `.gq` ------------------------------------------------------------------------------------------


def gq(text: str) -> BoundProgram:
    (query,) = parse_unit(text).queries
    return bind_query(query, catalog())


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        (
            "INSERT OR REPLACE INTO Carrier (status, name, iata, updated) VALUES ('active', 'Zephyr', 'ZE', now())",
            'query q() { insert Carrier { iata: "ZE", name: "Zephyr", status: "active", updated: now() } }',
        ),
        (
            "INSERT INTO Route (src, dst, miles) VALUES ('LIM', 'CUZ', 363)",
            'query q() { insert Route { from: "LIM", to: "CUZ", miles: 363 } }',
        ),
        (
            "INSERT OR REPLACE INTO Airport (code, city, elevation, opened) VALUES ('LIM', 'Lima', 34, '1965-10-30')",
            'query q() { insert Airport { code: "LIM", city: "Lima", elevation: 34, opened: date("1965-10-30") } }',
        ),
        ("INSERT INTO Note (body) VALUES ('x')", 'query q() { insert Note { body: "x" } }'),
    ],
)
def test_the_same_insert_in_both_languages_is_the_same_bound_statement(sql: str, text: str) -> None:
    unit = gq(text).statement
    assert isinstance(unit, BoundUnit)
    assert bind_one(sql).statement == unit.mutations[0]


# ---- types ------------------------------------------------------------------------------------------------------


def rows(sql: str) -> BoundValues:
    statement = bind_one(sql).statement
    assert isinstance(statement, BoundInsert)
    assert isinstance(statement.source.body, BoundValues)
    return statement.source.body


def test_rows_of_different_types_take_the_type_of_the_column() -> None:
    body = rows("INSERT INTO Route (src, dst, miles) VALUES ('a', 'b', 1), ('a', 'c', 1 + 1)")
    assert body.fields[2].type == I32
    assert isinstance(body.rows[1][2], Cast)
    assert all(row[2].type == I32 for row in body.rows)


def test_parameters_take_the_types_of_their_columns() -> None:
    program = bind_one("INSERT INTO Route (src, dst, miles, since) VALUES ($a, $b, $c, $d)")
    assert [p.of for p in program.parameters][2:] == [I32, DATETIME]


def test_parameters_of_a_query_take_the_types_of_their_columns() -> None:
    program = bind_one("INSERT INTO Route (src, dst, miles) SELECT $a, code, $c FROM Airport")
    assert program.parameters[1].of == I32


def test_a_date_becomes_an_instant_where_one_is_stored() -> None:
    statement = bind_one(
        "INSERT INTO Route (src, dst, miles, since) SELECT DISTINCT code, code, 5, opened FROM Airport"
    )
    insert = statement.statement
    assert isinstance(insert, BoundInsert)
    assert isinstance(insert.source.body, BoundSelect)
    assert insert.source.body.items[3].expr.type == DATETIME


@pytest.mark.parametrize(
    "sql",
    [
        "WITH w AS (SELECT iata AS c, name FROM Carrier) INSERT INTO Airport (code, city) SELECT c, name FROM w",
        "INSERT INTO Airport (code, city) WITH w AS (SELECT iata AS c, name FROM Carrier) SELECT c, name FROM w",
        "WITH w AS (SELECT iata FROM Carrier) INSERT INTO Airport (code, city) VALUES ('a', (SELECT max(iata) FROM w))",
        "WITH a AS (SELECT iata FROM Carrier) INSERT INTO Airport (code, city) "
        "WITH b AS (SELECT iata AS c FROM a) SELECT b.c, a.iata FROM a, b",
        "WITH a AS (SELECT iata FROM Carrier) INSERT INTO Airport (code, city) SELECT iata, iata FROM a "
        "ON CONFLICT DO UPDATE SET city = (SELECT max(iata) FROM a)",
        "WITH Note AS (SELECT 'x' AS body) INSERT INTO Note (body) SELECT body FROM Note",
        "INSERT INTO Airport (code, city) (SELECT iata, name FROM Carrier)",
        "INSERT INTO Airport (code, city) SELECT iata, name FROM Carrier UNION SELECT name, iata FROM Carrier",
        "INSERT INTO Airport (code, city) SELECT iata, name FROM Carrier ORDER BY name LIMIT 5",
        "INSERT INTO Note (body) FROM (SELECT name FROM Carrier)",
    ],
)
def test_every_form_of_source_is_bound(sql: str) -> None:
    assert isinstance(bind_one(sql).statement, BoundInsert)


@pytest.mark.parametrize("text", ["2031-02-03", "2031-02-03 04:05", "2031-02-03 04:05:06", "2031-02-03T04:05:06+02"])
def test_an_instant_is_written_the_same_way_in_a_value_and_in_a_condition(text: str) -> None:
    known = airport_catalog()
    (insert,) = compile_sql(
        f"INSERT INTO Carrier (iata, name, status, updated) VALUES ('a', 'b', 'active', '{text}')", known
    ).programs
    (query,) = compile_sql(f"SELECT iata FROM Carrier WHERE updated = '{text}'", known).programs
    instant = re.search(r"timestamp '[^']+'", explain(query.plan))
    assert instant is not None
    assert instant.group() in explain(insert.plan)
