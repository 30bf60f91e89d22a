"""What the items of FROM and their joins become."""

from __future__ import annotations

import pytest

from tests.bind.bound_text import bound
from tests.bind.query_text import described, pairs

# ruff: noqa: E501 - a table is read line by line

BOUND = r"""
SELECT code FROM Airport a, Carrier
    a.code as code | from (Airport a cross Carrier Carrier)
SELECT code FROM AIRPORT
    Airport.code as code | from Airport Airport
SELECT x, id FROM Airport AS a(x, y)
    a.code as x, a.id as id | from Airport a
SELECT code FROM "review/x".Airport
    Airport.code as code | from Airport Airport@review/x
SELECT code FROM omni."review/x".Airport a
    a.code as code | from Airport a@review/x
SELECT code FROM "@01ARZ3NDEKTSV4RRFFQ69G5FAV".Airport
    Airport.code as code | from Airport Airport@version '01ARZ3NDEKTSV4RRFFQ69G5FAV'
SELECT code FROM Airport VERSION AS OF 3 AS a
    a.code as code | from Airport a@version 3
SELECT code FROM Airport FOR VERSION AS OF 'nightly'
    Airport.code as code | from Airport Airport@version 'nightly'
SELECT code FROM Airport AT (VERSION => $v)
    Airport.code as code | from Airport Airport@version $v
SELECT code FROM Airport TIMESTAMP AS OF '2031-02-03'
    Airport.code as code | from Airport Airport@timestamp timestamp '2031-02-03T00:00:00+00:00'
SELECT code FROM Airport FOR SYSTEM_TIME AS OF '2031-02-03 04:05:06'
    Airport.code as code | from Airport Airport@timestamp timestamp '2031-02-03T04:05:06+00:00'
SELECT code FROM Airport AT (TIMESTAMP => '2031-02-03T04:05:06.5+02:00')
    Airport.code as code | from Airport Airport@timestamp timestamp '2031-02-03T02:05:06.500000+00:00'
SELECT code FROM Airport AT (TIMESTAMP => DATE '2031-02-03')
    Airport.code as code | from Airport Airport@timestamp timestamp '2031-02-03T00:00:00+00:00'
SELECT code FROM Airport AT (TIMESTAMP => TIMESTAMP '2031-02-03 04:05:06')
    Airport.code as code | from Airport Airport@timestamp timestamp '2031-02-03T04:05:06+00:00'
SELECT code FROM Airport AT (TIMESTAMP => now())
    Airport.code as code | from Airport Airport@timestamp now()
SELECT code FROM Airport AT (TIMESTAMP => $t)
    Airport.code as code | from Airport Airport@timestamp $t
SELECT code FROM Airport AT (BRANCH => 'review/x')
    Airport.code as code | from Airport Airport@review/x
SELECT name FROM omni.branches
    branches.name as name | from omni.branches() branches
SELECT b.head FROM omni.branches AS b(n, head)
    b.head as head | from omni.branches() b

SELECT x FROM (SELECT code AS x FROM Airport) t
    t.x as x | from t(x) = [Airport.code as x | from Airport Airport]
SELECT x FROM (SELECT code AS x FROM Airport)
    subquery.x as x | from subquery(x) = [Airport.code as x | from Airport Airport]
SELECT x, q FROM (SELECT code AS x FROM Airport), (SELECT 1 AS q)
    subquery.x as x, subquery_2.q as q | from (subquery(x) = [Airport.code as x | from Airport Airport] cross subquery_2(q) = [1 as q])
SELECT p FROM (SELECT 1, 2) AS t(p)
    t.p as p | from t(p, 2) = [1, 2]
SELECT t.* FROM (SELECT code, code FROM Airport) t
    t.code as code, t.code_2 as code_2 | from t(code, code_2) = [Airport.code as code, Airport.code as code_2 | from Airport Airport | labels code, code] | labels code, code
SELECT b FROM (VALUES (1, 'x'), (2, NULL)) AS v(a, b)
    v.b as b | from v(a, b) = [values (1, 'x'), (2, null) as column1, column2]
SELECT column1 FROM (VALUES (1))
    subquery.column1 as column1 | from subquery(column1) = [values (1) as column1]
SELECT * FROM ((SELECT 1 AS x) UNION (SELECT 2)) t
    t.x as x | from t(x) = [[1 as x] union [2]]
SELECT * FROM (FROM Hub)
    subquery.src as src, subquery.dst as dst | from subquery(src, dst) = [Hub.src as src, Hub.dst as dst | from Hub Hub]

SELECT a.code FROM Airport a, Route r, Hub h
    a.code as code | from ((Airport a cross Route r) cross Hub h)
SELECT a.code FROM Airport a JOIN Route r ON r.src = a.id INNER JOIN Airport b ON b.id = r.dst
    a.code as code | from ((Airport a inner Route r on r.src = a.id) inner Airport b on b.id = r.dst)
SELECT a.code, h.src FROM Airport a LEFT JOIN Hub h ON h.dst = a.id
    a.code as code, h.src as src | from (Airport a left Hub h on h.dst = a.id)
SELECT a.code, h.src FROM Airport a RIGHT OUTER JOIN Hub h ON h.dst = a.id
    a.code as code, h.src as src | from (Airport a right Hub h on h.dst = a.id)
SELECT a.code, h.src FROM Airport a FULL JOIN Hub h ON h.dst = a.id
    a.code as code, h.src as src | from (Airport a full Hub h on h.dst = a.id)
SELECT a.code FROM Airport a CROSS JOIN Carrier c
    a.code as code | from (Airport a cross Carrier c)
SELECT a.code FROM Airport a SEMI JOIN Route r ON r.src = a.id
    a.code as code | from (Airport a semi Route r on r.src = a.id)
SELECT a.code FROM Airport a LEFT ANTI JOIN Route r ON r.src = a.id
    a.code as code | from (Airport a anti Route r on r.src = a.id)
SELECT c.name, o.dst FROM Carrier c, Hub h LEFT JOIN Owns o ON o.src = h.src
    c.name as name, o.dst as dst | from (Carrier c cross (Hub h left Owns o on o.src = h.src))
SELECT a.code FROM Airport a JOIN (Route r JOIN Airport b ON b.id = r.dst) ON r.src = a.id
    a.code as code | from (Airport a inner (Route r inner Airport b on b.id = r.dst) on r.src = a.id)
SELECT a.code FROM Airport a JOIN Route r JOIN Airport b ON b.id = r.dst ON r.src = a.id
    a.code as code | from (Airport a inner (Route r inner Airport b on b.id = r.dst) on r.src = a.id)
SELECT a.code FROM (Airport a JOIN Route r ON r.src = a.id) JOIN Airport b ON b.id = r.dst
    a.code as code | from ((Airport a inner Route r on r.src = a.id) inner Airport b on b.id = r.dst)
SELECT z.s FROM (Hub h JOIN Owns o USING (src)) AS z(s)
    h.src as s | from (Hub h inner Owns o on h.src = o.src)
SELECT 1 FROM ((Airport))
    1 | from Airport Airport
SELECT 1 FROM (Airport) AS z WHERE z.code = 'x'
    1 | from Airport Airport | where Airport.code = 'x'

SELECT * FROM Hub h JOIN Owns o USING (src)
    h.src as src, h.dst as dst, o.dst as dst_2 | from (Hub h inner Owns o on h.src = o.src) | labels src, dst, dst
SELECT * FROM Hub h LEFT JOIN Owns o USING (src)
    h.src as src, h.dst as dst, o.dst as dst_2 | from (Hub h left Owns o on h.src = o.src) | labels src, dst, dst
SELECT * FROM Hub h RIGHT JOIN Owns o USING (SRC)
    o.src as src, h.dst as dst, o.dst as dst_2 | from (Hub h right Owns o on h.src = o.src) | labels src, dst, dst
SELECT * FROM Hub h FULL JOIN Owns o USING (src, dst)
    coalesce(h.src, o.src) as src, coalesce(h.dst, o.dst) as dst | from (Hub h full Owns o on h.src = o.src and h.dst = o.dst)
SELECT src, h.src, o.src FROM Hub h FULL JOIN Owns o USING (src)
    coalesce(h.src, o.src) as src, h.src as src_2, o.src as src_3 | from (Hub h full Owns o on h.src = o.src) | labels src, src, src
SELECT * FROM Hub NATURAL JOIN Owns
    Hub.src as src, Hub.dst as dst | from (Hub Hub inner Owns Owns on Hub.src = Owns.src and Hub.dst = Owns.dst)
SELECT * FROM Hub h NATURAL LEFT JOIN Route r
    h.src as src, h.dst as dst, r.miles as miles, r.since as since | from (Hub h left Route r on h.src = r.src and h.dst = r.dst)
SELECT * FROM Hub h JOIN Owns o USING (src) JOIN Route r USING (src)
    h.src as src, h.dst as dst, o.dst as dst_2, r.dst as dst_3, r.miles as miles, r.since as since | from ((Hub h inner Owns o on h.src = o.src) inner Route r on h.src = r.src) | labels src, dst, dst, dst, miles, since
SELECT * FROM Owns x, Hub h JOIN Owns o USING (src)
    x.src as src, x.dst as dst, h.src as src_2, h.dst as dst_2, o.dst as dst_3 | from (Owns x cross (Hub h inner Owns o on h.src = o.src)) | labels src, dst, src, dst, dst
SELECT id FROM Airport a JOIN Carrier c USING (id)
    a.id as id | from (Airport a inner Carrier c on a.id = c.id)
SELECT 1 FROM Hub h SEMI JOIN Owns o USING (src)
    1 | from (Hub h semi Owns o on h.src = o.src)

SELECT l.n FROM Airport a, LATERAL (SELECT count(*) AS n FROM Route r WHERE r.src = a.id) l
    l.n as n | from (Airport a cross lateral l(n) = [count(*) as n | from Route r | where r.src = outer(a.id) | outer a.id])
SELECT l.n FROM Airport a LEFT JOIN LATERAL (SELECT r.miles FROM Route r WHERE r.src = a.id LIMIT 1) AS l(n) ON l.n > a.elevation
    l.n as n | from (Airport a left lateral l(n) = [r.miles as miles | from Route r | where r.src = outer(a.id) | limit 1 | outer a.id] on l.n > a.elevation)
SELECT l.x FROM Airport a CROSS APPLY (SELECT a.code AS x) l
    l.x as x | from (Airport a cross lateral l(x) = [outer(a.code) as x | outer a.code])
SELECT l.x FROM Airport a OUTER APPLY (SELECT a.code AS x) l
    l.x as x | from (Airport a left lateral l(x) = [outer(a.code) as x | outer a.code] on true)
SELECT m.y FROM Airport a, LATERAL (SELECT a.code AS x) l, LATERAL (SELECT l.x || a.city AS y) m
    m.y as y | from ((Airport a cross lateral l(x) = [outer(a.code) as x | outer a.code]) cross lateral m(y) = [outer(l.x) || outer(a.city) as y | outer a.city, l.x])
SELECT m.y FROM Airport a JOIN (Carrier c JOIN LATERAL (SELECT a.code || c.name AS y) m ON TRUE) ON TRUE
    m.y as y | from (Airport a inner (Carrier c inner lateral m(y) = [outer(a.code) || outer(c.name) as y | outer a.code, c.name] on true) on true)
SELECT (SELECT l.x FROM Carrier c, LATERAL (SELECT c.name || a.code AS x) l) FROM Airport a
    (query x) as x [l.x as x | from (Carrier c cross lateral l(x) = [outer(c.name) || outer(a.code) as x | outer a.code, c.name]) | outer a.code] | from Airport a
SELECT u.tag FROM Airport a, unnest(a.tags) AS u(tag)
    u.tag as tag | from (Airport a cross unnest(a.tags) u)
SELECT a.code FROM Airport a, LATERAL (SELECT 1 FROM unnest(a.tags) AS u(tag)) l
    a.code as code | from (Airport a cross lateral l(1) = [1 | from unnest(outer(a.tags)) u | outer a.tags])
SELECT x FROM generate_series(1, 3) AS g(x)
    g.x as x | from generate_series(1, 3) g
SELECT code FROM gq($$ match { $a: Airport } return { $a.code as code } $$) AS g
    g.code as code | from g(code) = [a.code as code | from pattern | labels ]
SELECT g.x FROM GRAPH_TABLE (MATCH (a IS Airport) COLUMNS (a.code AS x)) AS g
    g.x as x | from g(x) = [a.code as x | from pattern | labels ]
"""


@pytest.mark.parametrize(("statement", "expected"), pairs(BOUND))
def test_a_query_becomes(statement: str, expected: str) -> None:
    assert described(bound(statement)) == expected
