"""How queries are refused: the code, the sentence, and the words under the caret."""

from __future__ import annotations

import pytest

from tests.bind.bound_text import refusal, under_caret
from tests.bind.query_text import pairs

REFUSED = r"""
SELECT * FROM Airport WHERE count(*) > 1
    not_supported: count is an aggregate and cannot stand in WHERE @ count
SELECT code FROM Airport WHERE row_number() OVER () = 1
    not_supported: the window function row_number cannot stand in WHERE @ row_number
SELECT code AS c FROM Airport WHERE c = 'x'
    unknown_name: unknown column 'c' @ c
SELECT nope FROM Airport
    unknown_name: unknown column 'nope' @ nope
SELECT code FROM Airport, Airport b
    unknown_name: column 'code' is ambiguous: it may be Airport.code or b.code @ code
SELECT b.code FROM Airport a
    unknown_name: unknown table 'b' @ b
SELECT b.* FROM Airport a
    unknown_name: unknown table 'b' @ b
SELECT *
    type: * needs a FROM @ *
SELECT COLUMNS(*) FROM Airport
    not_supported: COLUMNS(…) is not supported @ COLUMNS
SELECT _rowid FROM Airport
    not_supported: the system column _rowid cannot be read yet @ _rowid
SELECT a._row_created_at_version FROM Airport a
    not_supported: the system column _row_created_at_version cannot be read yet @ _row_created_at_version
SELECT * EXCLUDE (nope) FROM Airport
    unknown_name: unknown column 'nope' @ nope
SELECT * EXCLUDE (Carrier.code) FROM Airport
    unknown_name: unknown column 'code' @ Carrier.code
SELECT * REPLACE (1 AS nope) FROM Airport
    unknown_name: unknown column 'nope' @ nope
SELECT * RENAME (nope AS x) FROM Airport
    unknown_name: unknown column 'nope' @ nope
SELECT * ILIKE 'c%' FROM Airport
    not_supported: * ILIKE is not supported @ 'c%'
SELECT h.* EXCLUDE (src, dst) FROM Hub h
    type: * stands for no column here @ h.* EXCLUDE (src, dst
SELECT 1 AS (a, b)
    not_supported: an item of the select list has one name @ 1 AS (a, b

SELECT city, code FROM Airport GROUP BY city
    type: column 'code' is neither grouped nor aggregated @ code
SELECT count(*), city FROM Airport
    type: column 'city' is neither grouped nor aggregated @ city
SELECT *, count(*) FROM Airport GROUP BY code
    type: column 'city' is neither grouped nor aggregated @ *
SELECT lower(city) FROM Airport GROUP BY upper(city)
    type: column 'city' is neither grouped nor aggregated @ city
SELECT city FROM Airport GROUP BY city HAVING code = 'x'
    type: column 'code' is neither grouped nor aggregated @ code
SELECT city FROM Airport GROUP BY city ORDER BY max(code), code
    type: column 'code' is neither grouped nor aggregated @ code
SELECT city, sum(elevation) OVER () FROM Airport GROUP BY city
    type: column 'elevation' is neither grouped nor aggregated @ elevation
SELECT city, rank() OVER (ORDER BY code) AS n FROM Airport GROUP BY city QUALIFY n = 1
    type: column 'code' is neither grouped nor aggregated @ code
SELECT city FROM Airport a GROUP BY city ORDER BY (SELECT count(*) FROM Route WHERE src = a.id)
    type: column 'id' is neither grouped nor aggregated @ a.id
SELECT DISTINCT ON (code) city FROM Airport GROUP BY city
    type: column 'code' is neither grouped nor aggregated @ code
SELECT id, code FROM Airport GROUP BY id
    type: column 'code' is neither grouped nor aggregated @ code
SELECT city FROM Airport HAVING TRUE
    type: column 'city' is neither grouped nor aggregated @ city
SELECT city, count(*) AS n FROM Airport GROUP BY n
    not_supported: 'n' stands for count(…), which cannot stand in GROUP BY @ n
SELECT city, count(*) FROM Airport GROUP BY 2
    type: GROUP BY cannot hold an aggregate or a window function @ 2
SELECT city FROM Airport GROUP BY 0
    type: GROUP BY 0 points at no column; the select list has 1 column @ 0
SELECT city FROM Airport GROUP BY city HAVING rank() OVER () = 1
    not_supported: the window function rank cannot stand in HAVING @ rank
SELECT max(elevation) AS m FROM Airport HAVING sum(m) > 1
    not_supported: 'm' stands for max(…), which cannot stand in sum @ m
SELECT city FROM Airport GROUP BY city WITH TOTALS
    not_supported: WITH TOTALS is not supported @ city
SELECT code FROM Airport QUALIFY code = 'x'
    type: QUALIFY filters by window functions, and there is none @ code = 'x'
SELECT 1 FROM Airport WINDOW w AS (ORDER BY code), W AS (ORDER BY city)
    type: two windows are called W @ W
SELECT city FROM Airport WHERE city
    type: WHERE takes a truth value, not a String @ city

SELECT code FROM Airport ORDER BY 2
    type: ORDER BY 2 points at no column; the select list has 1 column @ 2
SELECT code FROM Airport ORDER BY 99999999999999999999
    type: ORDER BY 99999999999999999999 points at no column; the select list has 1 column @ 99999999999999999999
SELECT code AS x, city AS x FROM Airport ORDER BY x
    unknown_name: column 'x' is ambiguous: two output columns have this name @ x
SELECT DISTINCT city FROM Airport ORDER BY code
    type: with DISTINCT, ORDER BY takes what is selected @ code
SELECT DISTINCT city FROM Airport ORDER BY lower(city)
    type: with DISTINCT, ORDER BY takes what is selected @ lower(city
SELECT code FROM Airport UNION SELECT iata FROM Carrier ORDER BY iata
    unknown_name: unknown output column 'iata' @ iata
SELECT code FROM Airport UNION SELECT iata FROM Carrier ORDER BY upper(code)
    not_supported: ORDER BY over a set operation takes output columns only @ upper(code
SELECT 1 AS x, 2 AS x UNION SELECT 3, 4 ORDER BY x
    type: two output columns are called x @ x
VALUES (1) ORDER BY -column1
    not_supported: ORDER BY over VALUES takes output columns only @ column1
(SELECT code FROM Airport LIMIT 1) ORDER BY city
    unknown_name: unknown output column 'city' @ city
SELECT code FROM Airport LIMIT -1
    type: LIMIT is not negative @ 1
SELECT code FROM Airport LIMIT 1.5
    type: LIMIT takes a whole number of rows, not an F64 @ 1.5
SELECT code FROM Airport LIMIT 'x'
    type: LIMIT takes a whole number of rows, not a String @ 'x'
SELECT code FROM Airport LIMIT 10%
    not_supported: LIMIT takes a number of rows, not a percentage @ 10
SELECT code FROM Airport LIMIT 1 + 1
    not_supported: LIMIT takes a whole number or a parameter @ 1 + 1
SELECT code FROM Airport LIMIT (SELECT 1)
    not_supported: LIMIT takes a whole number or a parameter @ 1
SELECT code FROM Airport LIMIT elevation
    not_supported: LIMIT takes a whole number or a parameter @ elevation
SELECT code FROM Airport WHERE city = $n LIMIT $n
    type: LIMIT takes a whole number of rows, not a String @ $n
SELECT code FROM Airport OFFSET -1
    type: OFFSET is not negative @ 1
SELECT code FROM Airport FETCH FIRST 3 ROWS WITH TIES
    not_supported: WITH TIES is not supported @ 3
SELECT code FROM Airport LIMIT 3 BY city
    not_supported: LIMIT … BY is not supported @ city

SELECT code FROM Airport UNION SELECT iata, name FROM Carrier
    type: UNION needs equally many columns, there are 1 on the left and 2 on the right @ iata, name FROM Carrier
SELECT code, city FROM Airport UNION SELECT iata, rating FROM Carrier
    type: column 2 of UNION is a String on the left and an F64 on the right @ rating
SELECT code FROM Airport INTERSECT BY NAME SELECT iata FROM Carrier
    not_supported: INTERSECT BY NAME is not supported @ iata FROM Carrier
SELECT code, code FROM Airport UNION BY NAME SELECT iata AS code FROM Carrier
    type: UNION BY NAME meets two columns called code @ iata AS code FROM Carrier
VALUES (1), (2, 3)
    type: every row of VALUES has equally many columns; the first has 1, this one 2 @ 2, 3
VALUES (1), ('x')
    type: column 1 of VALUES is an I64 above and a String here @ 'x'
VALUES (count(*))
    not_supported: count is an aggregate and cannot stand in VALUES @ count

WITH a AS (SELECT * FROM b), b AS (SELECT 1 AS x) SELECT * FROM a
    unknown_name: unknown table 'b' @ b
WITH a AS (SELECT * FROM a) SELECT * FROM a
    unknown_name: unknown table 'a' @ a
SELECT 1 FROM (WITH a AS (SELECT 1 AS x) SELECT x FROM a) t, a
    unknown_name: unknown table 'a' @ a
WITH a AS (SELECT 1), A AS (SELECT 2) SELECT 1
    type: two queries of this WITH are called A @ A
WITH a(x, y) AS (SELECT 1) SELECT * FROM a
    type: the query of a has 1 column, not 2 @ y
WITH a AS (DELETE FROM Airport RETURNING code) SELECT * FROM a
    not_supported: a query in WITH only reads @ Airport RETURNING code
WITH busy AS (SELECT 1 AS x) SELECT * FROM bussy
    unknown_name: unknown table 'bussy' @ bussy
WITH RECURSIVE a AS (SELECT * FROM a) SELECT * FROM a
    unknown_name: unknown table 'a' @ a
WITH RECURSIVE a AS (SELECT x FROM a UNION ALL SELECT 1 AS x) SELECT * FROM a
    unknown_name: unknown table 'a' @ a
WITH RECURSIVE a(x) AS (SELECT 1 EXCEPT SELECT x FROM a) SELECT * FROM a
    not_supported: a can use itself only through UNION @ x FROM a
WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x FROM a ORDER BY 1) SELECT * FROM a
    not_supported: a recursive query has no ORDER BY of its own @ 1
WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT code FROM a, Airport) SELECT * FROM a
    type: column 1 of UNION is an I64 on the left and a String on the right @ code
WITH RECURSIVE a(x) USING KEY (x) AS (SELECT 1 UNION SELECT x FROM a) SELECT * FROM a
    not_supported: USING KEY is not supported @ x

SELECT * INTO z FROM Airport
    not_supported: SELECT INTO is not supported @ z
SELECT * FROM Airport FOR UPDATE
    not_supported: FOR UPDATE and FOR SHARE are not supported @ * FROM Airport
SELECT * FROM Airport CONNECT BY code START WITH code = 'x'
    not_supported: CONNECT BY is not supported @ code START WITH code = 'x'
SELECT * FROM Airport LATERAL VIEW explode(tags) e AS tag
    not_supported: LATERAL VIEW is not supported @ explode(tags) e AS tag
SELECT * FROM Airport USING SAMPLE 10%
    not_supported: TABLESAMPLE is not supported @ 10
SELECT * FROM Airport CLUSTER BY code
    not_supported: CLUSTER BY is not supported @ code
SELECT (SELECT code, city FROM Airport)
    type: a query that stands for a value has one column, not 2 @ code, city FROM Airport
"""


@pytest.mark.parametrize(("statement", "expected"), pairs(REFUSED))
def test_a_query_is_refused_with(statement: str, expected: str) -> None:
    error = refusal(statement)
    assert f"{error.code}: {error.message} @ {under_caret(statement, error)}" == expected


HINTS = r"""
SELECT code AS c FROM Airport WHERE c = 'x'
    it is an output column, which WHERE cannot see; repeat its expression
SELECT city, code FROM Airport GROUP BY city
    add code to GROUP BY, or use an aggregate such as min(code)
SELECT count(*), city FROM Airport
    add GROUP BY city, or use an aggregate such as min(city)
WITH a AS (SELECT * FROM b), b AS (SELECT 1 AS x) SELECT * FROM a
    WITH declares it only further on; move it in front of its first use
WITH RECURSIVE a AS (SELECT x FROM a UNION ALL SELECT 1 AS x) SELECT * FROM a
    a query in WITH can use itself only in WITH RECURSIVE, behind its UNION
SELECT code FROM Airport UNION SELECT iata FROM Carrier ORDER BY upper(code)
    order by the name or number of an output column, or put the query into FROM
SELECT * FROM Airport FOR UPDATE
    take it away; a statement reads one snapshot
"""


@pytest.mark.parametrize(("statement", "hint"), pairs(HINTS))
def test_a_refusal_says_what_to_do(statement: str, hint: str) -> None:
    assert refusal(statement).hint == hint


@pytest.mark.parametrize(
    ("statement", "meant"),
    [
        ("SELECT cty FROM Airport", "city"),
        ("SELECT * EXCLUDE (cod) FROM Airport", "code"),
        ("WITH busy AS (SELECT 1 AS x) SELECT * FROM bussy", "busy"),
        ("SELECT 1 AS total UNION SELECT 2 ORDER BY totl", "total"),
        ("SELECT a.cty FROM Airport a", "city"),
    ],
)
def test_a_slip_of_the_pen_is_answered_with_what_was_meant(statement: str, meant: str) -> None:
    assert refusal(statement).suggestion == meant
