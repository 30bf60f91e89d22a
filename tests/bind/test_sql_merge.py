"""MERGE INTO: arms, what each of them sees, what they may not do."""

from __future__ import annotations

import pytest

from omnigraph_sql.base.types import STRING
from omnigraph_sql.bind.bound import BoundMerge
from tests.bind.statements import bind_one, cases, check_refusal, refusal, shown

INTO = "MERGE INTO Airport AS a USING Carrier AS c ON a.code = c.iata"
ON = "merge Airport as a on a.code = c.iata"

BOUND = """
WHEN MATCHED THEN UPDATE SET city = c.name
    when matched then update set city = c.name
WHEN MATCHED AND a.city <> c.name THEN UPDATE SET (city, blurb) = (c.name, a.city)
    when matched and a.city != c.name then update set city = c.name, blurb = a.city
WHEN NOT MATCHED THEN INSERT (city, code) VALUES (c.name, c.iata)
    when not matched then insert set city = c.name, code = c.iata
WHEN NOT MATCHED BY TARGET AND rating > 3 THEN INSERT (code, city) VALUES (iata, 'x') WHEN MATCHED THEN DO NOTHING
    when not matched and c.rating > 3.0 then insert set code = c.iata, city = 'x' when matched then nothing
WHEN MATCHED THEN DELETE
    when matched then delete
WHEN NOT MATCHED BY SOURCE AND city = 'x' THEN DELETE WHEN MATCHED THEN DELETE
    when not matched by source and a.city = 'x' then delete when matched then delete
WHEN NOT MATCHED BY SOURCE THEN UPDATE SET city = city || 'x', blurb = DEFAULT WHEN NOT MATCHED THEN DO NOTHING
    when not matched by source then update set city = a.city || 'x', blurb = null when not matched then nothing
WHEN MATCHED THEN DELETE RETURNING merge_action, a.code, c.name
    when matched then delete returning merge_action as merge_action, a.code as code, c.name as name
WHEN MATCHED THEN DELETE RETURNING merge_action() AS what
    when matched then delete returning merge_action as what
"""


@pytest.mark.parametrize(("arms", "expected"), cases(BOUND))
def test_arms_are_bound(arms: str, expected: str) -> None:
    assert shown(bind_one(f"{INTO} {arms}").statement) == f"{ON} {expected}"


SAME_NAMES = "(SELECT iata AS code, name AS CITY, 5 AS elevation, 'z' AS other FROM Carrier) AS s"


@pytest.mark.parametrize(
    ("arm", "columns"),
    [
        ("WHEN MATCHED THEN UPDATE SET *", ["city", "elevation"]),
        ("WHEN MATCHED THEN UPDATE", ["city", "elevation"]),
        ("WHEN MATCHED THEN UPDATE *", ["city", "elevation"]),
        ("WHEN NOT MATCHED THEN INSERT *", ["code", "city", "elevation"]),
        ("WHEN NOT MATCHED THEN INSERT", ["code", "city", "elevation"]),
        ("WHEN NOT MATCHED THEN INSERT BY NAME", ["code", "city", "elevation"]),
    ],
)
def test_a_star_takes_columns_of_the_same_name_and_leaves_the_key_alone(arm: str, columns: list[str]) -> None:
    statement = bind_one(f"MERGE INTO Airport USING {SAME_NAMES} ON Airport.code = s.code {arm}").statement
    assert isinstance(statement, BoundMerge)
    assert [a.property for a in statement.arms[0].assignments] == columns


@pytest.mark.parametrize(
    "sql",
    [
        f"MERGE INTO Airport USING {SAME_NAMES} USING (code) WHEN MATCHED THEN DELETE",
        "WITH w AS (SELECT iata FROM Carrier) MERGE INTO Airport USING w ON code = iata WHEN MATCHED THEN DELETE",
        "MERGE INTO Hub AS h USING (VALUES ('a', 'b')) AS v(s, d) ON h.src = v.s AND h.dst = v.d "
        "WHEN NOT MATCHED THEN INSERT VALUES (s, d)",
        "MERGE INTO Note USING Carrier ON body = name WHEN NOT MATCHED THEN INSERT (id, body) VALUES (iata, name)",
        'MERGE INTO "x".Note USING Carrier ON body = name WHEN NOT MATCHED THEN INSERT (body) VALUES ($1)',
    ],
)
def test_every_form_of_source_and_target_is_bound(sql: str) -> None:
    assert isinstance(bind_one(sql).statement, BoundMerge)


REFUSED = """
WHEN MATCHED THEN UPDATE SET cty = 'x'
    unknown_name | unknown column 'cty' | cty
WHEN MATCHED THEN UPDATE SET code = 'x'
    type | Airport.code belongs to the key | code
WHEN MATCHED THEN UPDATE SET city = 5
    type | Airport.city is a String; 5 is an I64 | 5
WHEN MATCHED THEN INSERT (code) VALUES (c.iata)
    type | only a row that is not matched is inserted | code) VALUES (c.iata
WHEN NOT MATCHED THEN UPDATE SET city = c.name
    type | a row that is not in the table cannot be updated | city = c.name
WHEN NOT MATCHED AND c.rating > 1 THEN DELETE
    type | a row that is not in the table cannot be deleted | c.rating > 1
WHEN NOT MATCHED THEN INSERT (code, city) VALUES (a.code, c.name)
    type | WHEN NOT MATCHED sees no row of a | a.code
WHEN NOT MATCHED THEN INSERT (code, city) VALUES (code, c.name)
    unknown_name | unknown column 'code' | code
WHEN NOT MATCHED BY SOURCE AND c.rating > 1 THEN DELETE
    type | WHEN NOT MATCHED BY SOURCE sees no row of c | c.rating
WHEN NOT MATCHED BY SOURCE AND rating > 1 THEN DELETE
    unknown_name | unknown column 'rating' | rating
WHEN NOT MATCHED THEN INSERT (code, city) VALUES (c.iata)
    type | 2 columns are given 1 values | c.iata
WHEN NOT MATCHED THEN INSERT (code) VALUES (c.iata)
    type | Airport needs city; it cannot be null | code) VALUES (c.iata
WHEN NOT MATCHED THEN INSERT (code, CODE) VALUES (c.iata, c.iata)
    type | Airport.code is named twice | CODE
WHEN NOT MATCHED THEN INSERT (id, code, city) VALUES ('x', c.iata, c.name)
    type | the id of Airport cannot be given | id
WHEN MATCHED THEN DELETE RETURNING merge_actin
    unknown_name | unknown column 'merge_actin' | merge_actin
WHEN MATCHED THEN DO NOTHING WHEN MATCHED AND a.city = 'x' THEN DELETE
    type | this arm is never reached | a.city = 'x'
"""


@pytest.mark.parametrize(("arms", "expected"), cases(REFUSED))
def test_a_refusal_says_what_and_where(arms: str, expected: str) -> None:
    check_refusal(f"{INTO} {arms}", expected)


WHOLE = """
MERGE INTO Airprt USING Carrier ON true WHEN MATCHED THEN DELETE
    unknown_name | unknown table 'Airprt' | Airprt
MERGE INTO Airport USING Carier ON true WHEN MATCHED THEN DELETE
    unknown_name | unknown table 'Carier' | Carier
MERGE INTO Airport USING Airport ON true WHEN MATCHED THEN DELETE
    type | the table and its source are both called Airport | Airport
MERGE INTO Airport USING Carrier ON name WHEN MATCHED THEN DELETE
    type | ON takes a truth value | name
MERGE INTO Airport USING Carrier USING (code) WHEN MATCHED THEN DELETE
    type | both sides of USING have one column code | code
MERGE INTO Airport USING Hub ON true WHEN MATCHED THEN UPDATE SET *
    type | the source shares no column with Airport | *
MERGE INTO Airport VERSION AS OF 3 USING Hub ON code = src WHEN MATCHED THEN DELETE
    not_supported | a past state cannot be changed | 3
"""


@pytest.mark.parametrize(("sql", "expected"), cases(WHOLE))
def test_a_whole_statement_is_refused_with_a_place(sql: str, expected: str) -> None:
    check_refusal(sql, expected)


@pytest.mark.parametrize(
    "arms",
    [
        "WHEN MATCHED AND a.city = 'x' THEN DELETE WHEN MATCHED THEN UPDATE SET city = c.name",
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (code, city) VALUES (c.iata, c.name)",
        "WHEN NOT MATCHED BY SOURCE THEN DELETE WHEN MATCHED THEN UPDATE SET city = c.name",
    ],
)
def test_arms_that_write_and_delete_are_refused_alone(arms: str) -> None:
    error = refusal(f"{INTO} {arms}")
    assert error.code == "D2"
    for word in ("MERGE INTO Airport", "constructive", "destructive"):
        assert word in error.message
    assert error.hint is not None
    assert "split" in error.hint


def test_the_source_may_be_missing_in_what_is_returned() -> None:
    sql = f"{INTO} WHEN NOT MATCHED BY SOURCE THEN DELETE RETURNING c.iata, a.code, merge_action"
    statement = bind_one(sql).statement
    assert isinstance(statement, BoundMerge)
    source, target, action = (item.expr for item in statement.returning)
    assert (source.nullable, target.nullable) == (True, False)
    assert (action.type, action.nullable) == (STRING, False)


def test_an_arm_that_deletes_nodes_takes_their_edges_along() -> None:
    deletes = bind_one(f"{INTO} WHEN MATCHED THEN DELETE").statement
    updates = bind_one(f"{INTO} WHEN MATCHED THEN UPDATE SET city = 'x'").statement
    assert isinstance(deletes, BoundMerge)
    assert isinstance(updates, BoundMerge)
    assert [edge.name for edge in deletes.cascade] == ["Route", "Hub", "Tagged", "Rides"]
    assert updates.cascade == ()
