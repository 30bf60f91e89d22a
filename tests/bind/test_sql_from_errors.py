"""How items of FROM are refused: the code, the sentence, and the words under the caret."""

from __future__ import annotations

import pytest

from tests.bind.bound_text import refusal, under_caret
from tests.bind.query_text import pairs

# ruff: noqa: E501 - a table is read line by line

REFUSED = r"""
SELECT 1 FROM Airpot
    unknown_name: unknown table 'Airpot' @ Airpot
SELECT 1 FROM "airport"
    unknown_name: unknown table 'airport' @ "airport"
SELECT 1 FROM branches
    unknown_name: unknown table 'branches' @ branches
SELECT 1 FROM omni.branchs
    unknown_name: unknown table in omni 'branchs' @ branchs
SELECT 1 FROM other.main.Airport
    unknown_name: unknown graph 'other' @ other
SELECT 1 FROM "bad branch".Airport
    type: 'bad branch' is not a branch name: use letters, digits, '-', '_', '.', in parts separated by single '/' @ "bad branch"
SELECT 1 FROM a.b.c.Airport
    not_supported: a table name has at most three parts: graph, branch and type @ a.b.c.Airport
SELECT 1 FROM Airport VERSION AS OF -3
    type: a version is a whole number or the name of a commit, branch or tag @ 3
SELECT 1 FROM Airport VERSION AS OF 1.5
    type: a version is a whole number or the name of a commit, branch or tag @ 1.5
SELECT 1 FROM Airport VERSION AS OF 1 + 1
    not_supported: a point in history is a constant or a parameter @ 1 + 1
SELECT 1 FROM Airport VERSION AS OF code
    not_supported: a point in history is a constant or a parameter @ code
SELECT 1 FROM Airport TIMESTAMP AS OF 'yesterday'
    type: 'yesterday' is not a point in time @ 'yesterday'
SELECT 1 FROM Airport TIMESTAMP AS OF '2031-02-30'
    type: '2031-02-30' is not a point in time @ '2031-02-30'
SELECT 1 FROM Airport TIMESTAMP AS OF 12
    type: a point in time is a DateTime, not an I64 @ 12
SELECT 1 FROM Airport TIMESTAMP AS OF NULL
    type: a point in time is a DateTime, not null @ NULL
SELECT 1 FROM Airport AT (BRANCH => $b)
    not_supported: the name of a branch is written out @ $b
SELECT 1 FROM Airport AT (BRANCH => 'bad branch')
    type: 'bad branch' is not a branch name: use letters, digits, '-', '_', '.', in parts separated by single '/' @ 'bad branch'
SELECT 1 FROM "b".Airport VERSION AS OF 3
    not_supported: a branch and a point in history cannot be combined @ 3
SELECT 1 FROM omni.branches VERSION AS OF 3
    not_supported: a system table is read as it is now @ branches
WITH a AS (SELECT 1 AS x) SELECT 1 FROM a VERSION AS OF 3
    not_supported: a common table expression has no history @ 3

SELECT 1 FROM Airport, Airport
    type: two tables in FROM have this name: Airport @ Airport
SELECT 1 FROM Airport a JOIN Route A ON TRUE
    type: two tables in FROM have this name: A @ Route A
SELECT 1 FROM Airport AS a(x, y, z, u, v, w, p, q, r)
    type: there are 8 columns to name, not 9 @ r
SELECT 1 FROM Airport AS a(x, X)
    type: two columns are called X @ X
SELECT 1 FROM (SELECT 1) AS t(a, b)
    type: there is 1 column to name, not 2 @ b
SELECT 1 FROM Airport AS a (x INT)
    not_supported: a column alias is a name without a type @ x
SELECT x FROM (SELECT 1 AS x, 2 AS x) t
    unknown_name: column 'x' is ambiguous: it may be t.x or t.x @ x
SELECT 1 FROM Airport a, (SELECT a.code) t
    unknown_name: unknown table 'a' @ a
SELECT 1 FROM Airport a, Carrier c JOIN Hub h ON h.dst = a.id
    unknown_name: unknown table 'a' @ a
SELECT 1 FROM Airport a SEMI JOIN Route r ON r.src = a.id WHERE r.miles > 1
    unknown_name: unknown table 'r' @ r
SELECT 1 FROM (Airport a JOIN Route r ON r.src = a.id) z WHERE a.code = 'x'
    unknown_name: unknown table 'a' @ a

SELECT 1 FROM Airport a JOIN Route r
    type: JOIN has no condition @ Route r
SELECT 1 FROM Airport a LEFT JOIN Route r
    type: LEFT JOIN has no condition @ Route r
SELECT 1 FROM Airport a CROSS JOIN Route r ON r.src = a.id
    type: CROSS JOIN has no condition @ r.src = a.id
SELECT 1 FROM Airport a JOIN Route r ON r.miles
    type: ON takes a truth value, not an I32 @ r.miles
SELECT 1 FROM Airport a JOIN Route r ON count(*) > 1
    not_supported: count is an aggregate and cannot stand in ON @ count
SELECT 1 FROM Airport a ASOF JOIN Route r ON r.since >= a.opened
    not_supported: ASOF joins are not supported @ Route r
SELECT 1 FROM Airport a POSITIONAL JOIN Route r
    not_supported: POSITIONAL joins are not supported @ Route r
SELECT 1 FROM Airport a RIGHT SEMI JOIN Route r ON TRUE
    not_supported: RIGHT SEMI JOIN is not supported @ Route r
SELECT 1 FROM Airport a JOIN Route r USING (code)
    unknown_name: unknown column 'code' @ code
SELECT 1 FROM Airport a JOIN Route r USING (miles)
    unknown_name: unknown column 'miles' @ miles
SELECT 1 FROM Hub h JOIN Owns o ON TRUE JOIN Route r USING (src)
    type: column 'src' is ambiguous: the left side of the join has more than one @ src
SELECT 1 FROM (SELECT 1 AS x) a JOIN (SELECT 'y' AS x) b USING (x)
    type: x is an I64 on the left and a String on the right @ x
SELECT 1 FROM Airport a JOIN Airport b USING (photo)
    type: photo is a Blob, which cannot be compared @ photo
SELECT 1 FROM Airport NATURAL JOIN Carrier
    type: the two sides of NATURAL JOIN share no column @ Carrier
SELECT 1 FROM Hub NATURAL JOIN Owns ON TRUE
    type: NATURAL JOIN has no condition @ TRUE
SELECT src FROM Hub h JOIN Owns o USING (src), Route r
    unknown_name: column 'src' is ambiguous: it may be h.src or o.src or r.src @ src
SELECT 1 FROM Airport a RIGHT JOIN LATERAL (SELECT a.code) l ON TRUE
    not_supported: the right side of RIGHT JOIN cannot read the left side @ a.code) l
SELECT 1 FROM Airport a SEMI JOIN LATERAL (SELECT a.code AS x) l ON l.x = 'y'
    not_supported: the right side of SEMI JOIN cannot read the left side @ a.code AS x) l
SELECT 1 FROM Airport a FULL JOIN unnest(a.tags) AS u(x) ON TRUE
    not_supported: the right side of FULL JOIN cannot read the left side @ a.tags) AS u(x

SELECT 1 FROM Airport TABLESAMPLE 10%
    not_supported: TABLESAMPLE is not supported @ 10
SELECT 1 FROM Airport PIVOT (sum(elevation) FOR city IN ('x', 'y'))
    not_supported: PIVOT and UNPIVOT are not supported @ sum(elevation) FOR city IN ('x', 'y'
SELECT 1 FROM ONLY Airport
    not_supported: ONLY is not supported @ Airport
SELECT 1 FROM ROWS FROM (generate_series(1, 2))
    not_supported: ROWS FROM is not supported @ generate_series(1, 2
SELECT 1 FROM Airport WITH ORDINALITY
    not_supported: WITH ORDINALITY stands behind a table function only @ Airport
SELECT 1 FROM nosuch(1)
    unknown_name: unknown table function 'nosuch' @ nosuch(1
PIVOT Airport ON city USING count(*)
    not_supported: PIVOT and UNPIVOT are not supported @ Airport ON city USING count(*
"""


@pytest.mark.parametrize(("statement", "expected"), pairs(REFUSED))
def test_a_query_is_refused_with(statement: str, expected: str) -> None:
    error = refusal(statement)
    assert f"{error.code}: {error.message} @ {under_caret(statement, error)}" == expected


HINTS = r"""
SELECT 1 FROM Airport, Airport
    give one of them an alias: Airport AS a2
SELECT 1 FROM Airport a, (SELECT a.code) t
    write LATERAL before the sub-query to let it read the tables on its left
SELECT 1 FROM Airport a, Carrier c JOIN Hub h ON h.dst = a.id
    a comma separates it from this join; write CROSS JOIN instead of the comma
SELECT 1 FROM Airport a JOIN Route r
    add ON … or USING (…), or write CROSS JOIN
SELECT 1 FROM Airport TABLESAMPLE 10%
    use ORDER BY random() LIMIT n
SELECT 1 FROM other.main.Airport
    this graph is called omni
"""


@pytest.mark.parametrize(("statement", "hint"), pairs(HINTS))
def test_a_refusal_says_what_to_do(statement: str, hint: str) -> None:
    assert refusal(statement).hint == hint


@pytest.mark.parametrize(
    ("statement", "meant"),
    [
        ("SELECT 1 FROM Airpot", "Airport"),
        ('SELECT 1 FROM "airport"', "Airport"),
        ("SELECT 1 FROM branches", "omni.branches"),
        ("SELECT 1 FROM Airport a JOIN Route r USING (cod)", "code"),
        ("SELECT 1 FROM omny.main.Airport", "omni"),
    ],
)
def test_a_slip_of_the_pen_is_answered_with_what_was_meant(statement: str, meant: str) -> None:
    assert refusal(statement).suggestion == meant
