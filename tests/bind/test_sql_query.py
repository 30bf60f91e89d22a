"""What SELECT, VALUES, set operations and WITH become."""

from __future__ import annotations

import pytest

from tests.bind.bound_text import bound
from tests.bind.query_text import described, pairs

# ruff: noqa: E501 - a table is read line by line

BOUND = r"""
SELECT code, CITY, a."code" FROM airport AS a
    a.code as code, a.city as city, a.code as code_2 | from Airport a | labels code, city, code
SELECT 1, 'x', count(*), -1.5, EXISTS (SELECT 1), (SELECT max(miles) FROM Route)
    1, 'x', count(*), -1.5, exists (query) as exists [1], (query max(miles)) as max(miles) [max(Route.miles) as max(miles) | from Route Route]
FROM Carrier
    Carrier.iata as iata, Carrier.name as name, Carrier.rating as rating, Carrier.status as status, Carrier.updated as updated | from Carrier Carrier
FROM Hub SELECT src
    Hub.src as src | from Hub Hub
SELECT code, FROM Airport
    Airport.code as code | from Airport Airport
SELECT town: city, city AS "Town", upper(city) FROM Airport
    Airport.city as town, Airport.city as Town, upper(Airport.city) as upper(city) | from Airport Airport
SELECT code, code, code AS code_2 FROM Airport
    Airport.code as code, Airport.code as code_3, Airport.code as code_2 | from Airport Airport | labels code, code, code_2
SELECT * FROM Hub
    Hub.src as src, Hub.dst as dst | from Hub Hub
SELECT *, h.*, id FROM Hub h
    h.src as src, h.dst as dst, h.src as src_2, h.dst as dst_2, h.id as id | from Hub h | labels src, dst, src, dst, id
SELECT * EXCLUDE (tags, blurb, pos, photo) FROM Airport
    Airport.code as code, Airport.city as city, Airport.elevation as elevation, Airport.opened as opened | from Airport Airport
SELECT a.* EXCLUDE (A.tags, blurb, pos, photo, opened) REPLACE (lower(city) AS city) RENAME (code AS k) FROM Airport a
    a.code as k, lower(a.city) as city, a.elevation as elevation | from Airport a
SELECT 1 AS one WHERE 1 = 2
    1 as one | where 1 = 2

SELECT DISTINCT city FROM Airport ORDER BY city
    Airport.city as city | from Airport Airport | distinct | order Airport.city asc nulls last
SELECT DISTINCT ON (city, 2) city, code AS c FROM Airport ORDER BY city, elevation DESC
    Airport.city as city, Airport.code as c | from Airport Airport | distinct Airport.city, Airport.code | order Airport.city asc nulls last, Airport.elevation desc nulls first
SELECT DISTINCT ON (c) city AS c, code FROM Airport
    Airport.city as c, Airport.code as code | from Airport Airport | distinct Airport.city

SELECT city, count(*) FROM Airport GROUP BY city
    Airport.city as city, count(*) | from Airport Airport | group Airport.city
SELECT lower(city), count(*) FROM Airport GROUP BY lower(city) HAVING lower(city) > 'm' ORDER BY lower(city)
    lower(Airport.city) as lower(city), count(*) | from Airport Airport | group lower(Airport.city) | having lower(Airport.city) > 'm' | order lower(Airport.city) asc nulls last
SELECT lower(city) AS town, count(*) AS n FROM Airport GROUP BY town HAVING n > 1 ORDER BY n
    lower(Airport.city) as town, count(*) as n | from Airport Airport | group lower(Airport.city) | having count(*) > 1 | order count(*) asc nulls last
SELECT city, elevation, sum(elevation) FROM Airport GROUP BY 1, 2
    Airport.city as city, Airport.elevation as elevation, sum(Airport.elevation) as sum(elevation) | from Airport Airport | group Airport.city, Airport.elevation
SELECT city, count(*), 'k' FROM Airport GROUP BY ALL
    Airport.city as city, count(*), 'k' | from Airport Airport | group Airport.city
SELECT count(*), 'k' FROM Airport GROUP BY ALL
    count(*), 'k' | from Airport Airport | group
SELECT city || code, max(elevation) FROM Airport GROUP BY (city, code)
    Airport.city || Airport.code as city || code, max(Airport.elevation) as max(elevation) | from Airport Airport | group Airport.city, Airport.code
SELECT city, code, count(*) FROM Airport GROUP BY ROLLUP (city, code)
    Airport.city as city, Airport.code as code, count(*) | from Airport Airport | group Airport.city, Airport.code sets [0, 1] [0] []
SELECT city, code, count(*) FROM Airport GROUP BY city, code WITH ROLLUP
    Airport.city as city, Airport.code as code, count(*) | from Airport Airport | group Airport.city, Airport.code sets [0, 1] [0] []
SELECT city, code, count(*) FROM Airport GROUP BY CUBE (city, code)
    Airport.city as city, Airport.code as code, count(*) | from Airport Airport | group Airport.city, Airport.code sets [0, 1] [0] [1] []
SELECT city, code, opened FROM Airport GROUP BY GROUPING SETS ((city, code), ROLLUP (opened), ())
    Airport.city as city, Airport.code as code, Airport.opened as opened | from Airport Airport | group Airport.city, Airport.code, Airport.opened sets [0, 1] [2] [] []
SELECT city, code, opened FROM Airport GROUP BY city, CUBE ((code, opened))
    Airport.city as city, Airport.code as code, Airport.opened as opened | from Airport Airport | group Airport.city, Airport.code, Airport.opened sets [0, 1, 2] [0]
SELECT count(*) FROM Airport GROUP BY ()
    count(*) | from Airport Airport | group
SELECT count(*) FROM Airport HAVING max(elevation) > 5
    count(*) | from Airport Airport | having max(Airport.elevation) > 5
SELECT 1 FROM Airport HAVING TRUE
    1 | from Airport Airport | group | having true
SELECT city, count(*) FROM Airport GROUP BY city ORDER BY max(elevation), count(*) DESC
    Airport.city as city, count(*) | from Airport Airport | group Airport.city | order max(Airport.elevation) asc nulls last, count(*) desc nulls first
SELECT city, rank() OVER (ORDER BY count(*)) AS place FROM Airport GROUP BY city
    Airport.city as city, rank() over (order by count(*) asc nulls last) as place | from Airport Airport | group Airport.city
SELECT city, (SELECT count(*) FROM Hub WHERE dst = a.city) FROM Airport a GROUP BY city
    a.city as city, (query count(*)) as count(*) [count(*) | from Hub Hub | where Hub.dst = outer(a.city) | outer a.city] | from Airport a | group a.city

SELECT code, row_number() OVER w FROM Airport WINDOW w AS (PARTITION BY city ORDER BY code) QUALIFY row_number() OVER w = 1
    Airport.code as code, row_number() over (partition by Airport.city order by Airport.code asc nulls last) as row_number() over (partition by city order by code asc nulls last) | from Airport Airport | qualify row_number() over (partition by Airport.city order by Airport.code asc nulls last) = 1
SELECT code, row_number() OVER (ORDER BY code) AS n FROM Airport QUALIFY n <= 2
    Airport.code as code, row_number() over (order by Airport.code asc nulls last) as n | from Airport Airport | qualify row_number() over (order by Airport.code asc nulls last) <= 2

SELECT code AS city, city AS code FROM Airport ORDER BY code, city || 'x'
    Airport.code as city, Airport.city as code | from Airport Airport | order Airport.city asc nulls last, Airport.city || 'x' asc nulls last
SELECT code FROM Airport ORDER BY elevation, opened DESC, city DESC NULLS LAST, blurb NULLS FIRST
    Airport.code as code | from Airport Airport | order Airport.elevation asc nulls last, Airport.opened desc nulls first, Airport.city desc nulls last, Airport.blurb asc nulls first
SELECT city, code FROM Airport ORDER BY 2 DESC, 1
    Airport.city as city, Airport.code as code | from Airport Airport | order Airport.code desc nulls first, Airport.city asc nulls last
SELECT city, code FROM Airport ORDER BY ALL DESC
    Airport.city as city, Airport.code as code | from Airport Airport | order Airport.city desc nulls first, Airport.code desc nulls first
SELECT code FROM Airport LIMIT 3 OFFSET 2
    Airport.code as code | from Airport Airport | limit 3 | offset 2
SELECT code FROM Airport LIMIT $n OFFSET $m
    Airport.code as code | from Airport Airport | limit $n | offset $m
SELECT code FROM Airport LIMIT ALL
    Airport.code as code | from Airport Airport
SELECT code FROM Airport OFFSET 1 ROWS FETCH FIRST 3 ROWS ONLY
    Airport.code as code | from Airport Airport | limit 3 | offset 1
SELECT code FROM Airport FETCH FIRST ROW ONLY
    Airport.code as code | from Airport Airport | limit 1

VALUES (1, 'a'), (NULL, $p), (2.5, 'c') ORDER BY column2 DESC LIMIT 2
    values (1, 'a'), (null, $p), (2.5, 'c') as column1, column2 | order column2 desc nulls first | limit 2
SELECT code FROM Airport UNION SELECT iata FROM Carrier ORDER BY code, 1 LIMIT 3
    [Airport.code as code | from Airport Airport] union [Carrier.iata as iata | from Carrier Carrier] | order code asc nulls last, code asc nulls last | limit 3
SELECT code FROM Airport UNION ALL SELECT iata FROM Carrier INTERSECT SELECT 'x' EXCEPT ALL SELECT 'y'
    [[Airport.code as code | from Airport Airport] union all [[Carrier.iata as iata | from Carrier Carrier] intersect ['x']]] except all ['y']
SELECT code, city FROM Airport UNION ALL BY NAME SELECT name, iata AS CODE FROM Carrier
    [subquery.code as code, subquery.city as city, null as name | from subquery(code, city) = [Airport.code as code, Airport.city as city | from Airport Airport]] union all [subquery_2.CODE as code, null as city, subquery_2.name as name | from subquery_2(name, CODE) = [Carrier.name as name, Carrier.iata as CODE | from Carrier Carrier]]
SELECT 1 AS x UNION ALL BY NAME SELECT 2 AS x
    [1 as x] union all [2 as x]
(SELECT code FROM Airport ORDER BY city LIMIT 2) UNION (SELECT iata FROM Carrier)
    [Airport.code as code | from Airport Airport | order Airport.city asc nulls last | limit 2] union [Carrier.iata as iata | from Carrier Carrier]
((SELECT 1 AS x))
    1 as x
(SELECT code, city AS code FROM Airport LIMIT 5) ORDER BY 2 LIMIT 1
    subquery.code as code, subquery.code_2 as code_2 | from subquery(code, code_2) = [Airport.code as code, Airport.city as code_2 | from Airport Airport | limit 5 | labels code, code] | order subquery.code_2 asc nulls last | limit 1 | labels code, code
(VALUES (2), (1)) ORDER BY column1 DESC
    values (2), (1) as column1 | order column1 desc nulls first

WITH a AS (SELECT 1 AS x) SELECT * FROM a
    with a = [1 as x] | a.x as x | from cte a a(x)
WITH a(p, q) AS MATERIALIZED (SELECT 1, 2), b AS NOT MATERIALIZED (SELECT p FROM a) SELECT b.p, A.q FROM b, a
    with a = [1 as p, 2 as q] | with b = [a.p as p | from cte a a(p, q)] | b.p as p, a_2.q as q | from (cte b b(p) cross cte a a_2(p, q))
WITH a AS (SELECT 1 AS x) SELECT (WITH a AS (SELECT x + 1 AS y FROM a) SELECT y FROM a) FROM a
    with a = [1 as x] | (query y) as y [with a_2 = [a_2.x + 1 as y | from cte a a_2(x)] | a_3.y as y | from cte a_2 a_3(y)] | from cte a a(x)
WITH Airport AS (SELECT 1 AS one) SELECT one, two.code FROM Airport, main.Airport two
    with Airport = [1 as one] | Airport.one as one, two.code as code | from (cte Airport Airport(one) cross Airport two@main)
WITH a AS (SELECT 1 AS x, 2 AS x) SELECT * FROM a
    with a = [1 as x, 2 as x_2 | labels x, x] | a.x as x, a.x_2 as x_2 | from cte a a(x, x_2) | labels x, x
WITH a AS (SELECT 1) (SELECT 2) UNION (SELECT * FROM a)
    with a = [1] | [2] union [a.1 as 1 | from cte a a(1)]
WITH a AS (VALUES (1, 2)) SELECT column2 FROM a
    with a = [_values.column1 as column1, _values.column2 as column2 | from _values(column1, column2) = [values (1, 2) as column1, column2]] | a.column2 as column2 | from cte a a(column1, column2)
WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 5) SELECT x FROM n
    with recursive n = [[1 as x] union all [n.x + 1 as x + 1 | from cte n n(x) | where n.x < 5]] | n_2.x as x | from cte n n_2(x)
WITH RECURSIVE up AS (SELECT src, dst FROM Owns UNION SELECT up.src, o.dst FROM up JOIN Owns o ON o.src = up.dst) FROM up
    with recursive up = [[Owns.src as src, Owns.dst as dst | from Owns Owns] union [up.src as src, o.dst as dst | from (cte up up(src, dst) inner Owns o on o.src = up.dst)]] | up_2.src as src, up_2.dst as dst | from cte up up_2(src, dst)
WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT 2 ORDER BY x LIMIT 1) SELECT * FROM a
    with a = [[1 as x] union all [2] | order x asc nulls last | limit 1] | a.x as x | from cte a a(x)

SELECT code FROM Airport a WHERE EXISTS (SELECT 1 FROM Route WHERE src = a.id AND EXISTS (SELECT 1 FROM Hub h WHERE h.dst = a.id AND h.src = Route.dst))
    a.code as code | from Airport a | where exists (query) [1 | from Route Route | where Route.src = outer(a.id) and exists (query) [1 | from Hub h | where h.dst = outer(a.id) and h.src = outer(Route.dst) | outer Route.dst, a.id] | outer a.id]
SELECT code FROM Airport a WHERE elevation > (SELECT avg(elevation) FROM Airport b WHERE b.city = a.city)
    a.code as code | from Airport a | where a.elevation > (query avg(elevation)) [avg(b.elevation) as avg(elevation) | from Airport b | where b.city = outer(a.city) | outer a.city]
SELECT code FROM Airport a ORDER BY (SELECT count(*) FROM Route r WHERE r.src = a.id)
    a.code as code | from Airport a | order (query count(*)) asc nulls last [count(*) | from Route r | where r.src = outer(a.id) | outer a.id]
SELECT (SELECT (SELECT a.code || r.dst) FROM Route r LIMIT 1) FROM Airport a
    (query code || dst) as code || dst [(query code || dst) as code || dst [outer(a.code) || outer(r.dst) as code || dst | outer a.code, r.dst] | from Route r | limit 1 | outer a.code] | from Airport a
SELECT code FROM Airport a WHERE code IN (SELECT iata FROM Carrier WHERE name = a.city UNION SELECT a.city)
    a.code as code | from Airport a | where a.code in (query iata) [[Carrier.iata as iata | from Carrier Carrier | where Carrier.name = outer(a.city) | outer a.city] union [outer(a.city) as city | outer a.city] | outer a.city]
SELECT (SELECT x FROM (SELECT a.code AS x) t) FROM Airport a
    (query x) as x [t.x as x | from t(x) = [outer(a.code) as x | outer a.code] | outer a.code] | from Airport a
SELECT (WITH c AS (SELECT a.code AS x) SELECT x FROM c) FROM Airport a
    (query x) as x [with c = [outer(a.code) as x | outer a.code] | c.x as x | from cte c c(x) | outer a.code] | from Airport a
SELECT (SELECT max(column1) FROM (VALUES (a.code), ('x')) v) FROM Airport a
    (query max(column1)) as max(column1) [max(v.column1) as max(column1) | from v(column1) = [values (outer(a.code)), ('x') as column1 | outer a.code] | outer a.code] | from Airport a
"""


@pytest.mark.parametrize(("statement", "expected"), pairs(BOUND))
def test_a_query_becomes(statement: str, expected: str) -> None:
    assert described(bound(statement)) == expected
