"""Types, nullability, parameters, views and ceilings of queries; nothing a text says is passed over."""

from __future__ import annotations

from contextlib import suppress

import pytest
from sqlglot import exp

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import LanguageError, NotSupported, UnknownName
from omnigraph_sql.base.types import DataType, type_text
from omnigraph_sql.bind.sql import GUARDED, bind_statement
from omnigraph_sql.bind.sql_binder import SqlBinder, SqlOptions
from omnigraph_sql.bind.sql_naming import distinct_names
from omnigraph_sql.grammar.sql.parse import parse_one
from omnigraph_sql.plan.lower import lower
from tests.bind.bound_text import bound, refusal
from tests.bind.query_text import described, pairs, typed
from tests.bind.test_sql_from import BOUND as FROM_TABLE
from tests.bind.test_sql_query import BOUND as QUERY_TABLE
from tests.case_files import airport_catalog

STATEMENTS = [statement for statement, _ in (*pairs(QUERY_TABLE), *pairs(FROM_TABLE))]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_what_is_bound_can_be_planned(statement: str) -> None:
    query = bound(statement)
    assert lower(query).schema.order == query.schema.order


# ---- types ------------------------------------------------------------------------------------------------------

TYPED = """
SELECT code, elevation, count(*) AS n FROM Airport GROUP BY ALL
    code String, elevation I32?, n I64
SELECT a.code, h.src FROM Airport a LEFT JOIN Hub h ON h.dst = a.id
    code String, src String?
SELECT a.code, h.src FROM Airport a RIGHT JOIN Hub h ON h.dst = a.id
    code String?, src String
SELECT a.code, h.src FROM Airport a FULL JOIN Hub h ON h.dst = a.id
    code String?, src String?
SELECT a.code, b.code AS d, c.name FROM Airport a LEFT JOIN (Airport b JOIN Carrier c ON TRUE) ON TRUE
    code String, d String?, name String?
SELECT src, h.dst, r.miles FROM Hub h RIGHT JOIN Route r USING (src)
    src String, dst String?, miles I32
SELECT src, k.iata FROM Hub h JOIN Owns o USING (src) RIGHT JOIN Carrier k ON k.id = src
    src String?, iata String
SELECT code, l.src FROM Airport a LEFT JOIN LATERAL (SELECT src FROM Hub WHERE dst = a.id) l ON TRUE
    code String, src String?
SELECT city, code FROM Airport GROUP BY ROLLUP (city), code
    city String?, code String?
SELECT elevation FROM Airport UNION ALL SELECT rating FROM Carrier
    elevation F64?
SELECT code FROM Airport UNION SELECT status FROM Carrier
    code String
SELECT code FROM Airport UNION ALL BY NAME SELECT name FROM Carrier
    code String?, name String?
VALUES (1, 'x', NULL), (2.5, 'y', NULL)
    column1 F64, column2 String, column3 Null?
WITH RECURSIVE n(x) AS (SELECT elevation FROM Airport UNION ALL SELECT x + 1 FROM n) SELECT x FROM n
    x I32?
WITH RECURSIVE n(x) AS (SELECT code FROM Airport UNION ALL SELECT NULL FROM n) SELECT x FROM n
    x String?
SELECT x FROM (SELECT code AS x FROM Airport) t
    x String
WITH t AS (SELECT code AS x FROM Airport) SELECT x FROM t
    x String
"""


@pytest.mark.parametrize(("statement", "expected"), pairs(TYPED))
def test_columns_have_types_and_may_be_null_where_a_join_or_a_set_leaves_them_out(
    statement: str, expected: str
) -> None:
    assert typed(bound(statement)) == expected


def _parameters(statement: str) -> list[tuple[str, DataType]]:
    program = bind_statement(parse_one(statement), airport_catalog())
    return [(p.name, p.of) for p in program.parameters]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT code FROM Airport LIMIT $n OFFSET $m", "n I64, m I64"),
        ("SELECT code FROM Airport FETCH FIRST ? ROWS ONLY", "1 I64"),
        ("SELECT code FROM Airport AT (TIMESTAMP => $t)", "t DateTime"),
        ("SELECT code FROM Airport AT (VERSION => $v)", "v Any"),
        ("VALUES ($a, 1), ('x', $b)", "a String, b I64"),
        ("SELECT $x FROM Airport WHERE elevation = $x", "x I32"),
        ("SELECT 1 FROM Airport a JOIN Route r ON r.miles > $far", "far I32"),
    ],
)
def test_parameters_take_the_type_of_their_place(statement: str, expected: str) -> None:
    assert ", ".join(f"{name} {type_text(of)}" for name, of in _parameters(statement)) == expected


def test_a_parameter_typed_behind_its_first_use_is_typed_everywhere() -> None:
    assert typed(bound("SELECT $x AS x FROM Airport WHERE elevation = $x")) == "x I32?"


@pytest.mark.parametrize(
    ("labels", "names"),
    [("x y", "x y"), ("x x x", "x x_2 x_3"), ("x x x_2", "x x_3 x_2"), ("x_2 x x x_2", "x_2 x x_3 x_2_2")],
)
def test_repeated_labels_are_numbered_past_the_numbers_that_are_taken(labels: str, names: str) -> None:
    assert distinct_names(labels.split()) == tuple(names.split())


# ---- views ------------------------------------------------------------------------------------------------------


def _views(**texts: str) -> SqlOptions:
    return SqlOptions(views=tuple(texts.items()))


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT x FROM Codes", "Codes.x as x | from Codes(x) = [Airport.code as x | from Airport Airport]"),
        ("SELECT c.x FROM codes c", "c.x as x | from c(x) = [Airport.code as x | from Airport Airport]"),
        ("SELECT p FROM Named", "Named.p as p | from Named(p) = [Airport.code as p | from Airport Airport]"),
        ("SELECT k FROM Codes AS c(k)", "c.k as k | from c(k) = [Airport.code as x | from Airport Airport]"),
    ],
)
def test_a_view_is_its_query(statement: str, expected: str) -> None:
    views = _views(Codes="SELECT code AS x FROM Airport", Named="CREATE VIEW Named (p) AS SELECT code FROM Airport")
    assert described(bound(statement, options=views)) == expected


def test_a_view_does_not_see_the_names_of_the_statement_that_uses_it() -> None:
    views = _views(Codes="SELECT code FROM Airport")
    query = bound("WITH Airport AS (SELECT 1 AS one) SELECT code, one FROM Codes, Airport", options=views)
    assert "from (Codes(code) = [Airport.code as code | from Airport Airport] cross cte Airport" in described(query)


def test_an_error_inside_a_view_is_shown_in_its_own_text() -> None:
    views = _views(Codes="SELECT cod FROM Airport")
    error = refusal("SELECT * FROM Codes", options=views)
    assert isinstance(error, UnknownName)
    assert (error.at.source, error.at.start, error.suggestion) == ("view Codes", 7, "code")


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ({"A": "SELECT * FROM B", "B": "SELECT * FROM A"}, "the view A is defined by itself"),
        ({"A": "SELECT code FROM Airport WHERE code = $p"}, "a view has no parameters"),
        ({"A": "DELETE FROM Airport"}, "a view is a query"),
    ],
)
def test_a_view_that_cannot_be_read_is_refused(texts: dict[str, str], words: str) -> None:
    error = refusal("SELECT * FROM A", options=_views(**texts))
    assert isinstance(error, NotSupported)
    assert error.message == words


def test_a_view_has_no_history_and_no_branch() -> None:
    views = _views(Codes="SELECT code FROM Airport")
    assert refusal("SELECT * FROM Codes VERSION AS OF 3", options=views).message == "a view has no history of its own"
    assert refusal("SELECT * FROM main.Codes", options=views).message == "unknown table 'Codes'"


@pytest.mark.parametrize("levels", [limits.VIEW_LEVELS_MAX - 1, limits.VIEW_LEVELS_MAX])
def test_views_may_go_through_so_many_others(levels: int) -> None:
    views = _views(**_tower(levels))
    assert typed(bound(f"SELECT * FROM v{levels}", options=views)) == "x I64"


def test_views_may_go_through_no_more() -> None:
    levels = limits.VIEW_LEVELS_MAX + 1
    error = refusal(f"SELECT * FROM v{levels}", options=_views(**_tower(levels)))
    assert error.message == f"views go through at most {limits.VIEW_LEVELS_MAX} other views"


def _tower(levels: int) -> dict[str, str]:
    return {"v1": "SELECT 1 AS x", **{f"v{n}": f"SELECT x FROM v{n - 1}" for n in range(2, levels + 1)}}


# ---- ceilings ---------------------------------------------------------------------------------------------------


def _cube(columns: int) -> str:
    return f"SELECT count(*) FROM Airport GROUP BY CUBE ({', '.join(f'elevation + {n}' for n in range(columns))})"


@pytest.mark.parametrize("columns", [11, 12])
def test_so_many_grouping_sets_are_made(columns: int) -> None:
    assert described(bound(_cube(columns))).count("[") == 2**columns <= limits.GROUPING_SETS_MAX


@pytest.mark.parametrize("text", [_cube(13), f"{_cube(12)}, ROLLUP (code)"])
def test_no_more_grouping_sets_are_made(text: str) -> None:
    assert refusal(text).message == f"GROUP BY makes more than {limits.GROUPING_SETS_MAX} grouping sets"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1 AS x" + " UNION ALL SELECT 1" * 1900,
        "SELECT 1 AS x" + " EXCEPT SELECT 1" * 1900,
        "SELECT 1 AS x FROM Airport a0" + "".join(f", Airport a{n}" for n in range(1, limits.JOINS_MAX)),
        "SELECT 1 AS x FROM Airport a0" + "".join(f" JOIN Airport a{n} ON a{n}.id = a0.id" for n in range(1, 400)),
        "SELECT * FROM " + "(SELECT * FROM " * 40 + "(SELECT 1 AS x)" + ")" * 40,
        "SELECT 1 AS x FROM Airport" + " WHERE EXISTS (SELECT 1 FROM Airport" * 40 + ")" * 40,
    ],
    ids=["unions", "differences", "commas", "joins", "brackets", "correlations"],
)
def test_long_chains_and_deep_nests_are_bound(text: str) -> None:
    assert typed(bound(text)) == "x I64"


# ---- nothing is passed over -------------------------------------------------------------------------------------

_MODIFIERS = "with_ order limit offset"
HANDLED: dict[type[exp.Expr], tuple[str, str]] = {
    exp.Select: ("SELECT 1 AS x", f"{_MODIFIERS} expressions distinct from_ joins where group having qualify windows"),
    exp.Union: ("SELECT 1 UNION SELECT 2", f"{_MODIFIERS} this expression distinct by_name"),
    exp.Subquery: ("(SELECT 1 AS x)", f"{_MODIFIERS} this"),
    exp.Values: ("VALUES (1)", "expressions alias order limit offset"),
    exp.Table: ("SELECT 1 FROM Airport", "this alias db catalog joins version"),
    exp.Join: ("SELECT 1 FROM Airport a JOIN Carrier c ON TRUE", "this on side kind using method"),
    exp.Lateral: ("SELECT 1 FROM LATERAL (SELECT 1) l", "this alias cross_apply ordinality"),
    exp.With: ("WITH a AS (SELECT 1) SELECT 2", "expressions recursive"),
    exp.CTE: ("WITH a AS (SELECT 1) SELECT 2", "this alias materialized"),
    exp.Group: ("SELECT 1 FROM Airport GROUP BY code", "expressions all rollup cube grouping_sets"),
    exp.Order: ("SELECT code FROM Airport ORDER BY code", "expressions"),
    exp.Ordered: ("SELECT code FROM Airport ORDER BY code", "this desc nulls_first"),
    exp.Limit: ("SELECT 1 LIMIT 3", "expression limit_options"),
    exp.Fetch: ("SELECT 1 FETCH FIRST 3 ROWS ONLY", "direction count limit_options"),
    exp.Offset: ("SELECT 1 OFFSET 3", "expression"),
    exp.Star: ("SELECT * FROM Hub", "except_ replace rename"),
    exp.Distinct: ("SELECT DISTINCT 1", "on"),
}
UNHANDLED = [(of, key) for of, (_, handled) in HANDLED.items() for key in of.arg_types if key not in handled.split()]


@pytest.mark.parametrize(("of", "key"), UNHANDLED, ids=lambda value: getattr(value, "__name__", value))
def test_a_clause_without_a_rule_is_refused(of: type[exp.Expr], key: str) -> None:
    text, _ = HANDLED[of]
    assert bound(text) is not None
    statement = parse_one(text)
    assert isinstance(statement.tree, exp.Expr)
    node = statement.tree.find(of)
    assert node is not None
    node.set(key, [exp.Var(this="x")] if key in ("joins", "laterals", "pivots", "locks") else exp.Var(this="x"))
    binder = SqlBinder(airport_catalog(), statement.source, statement.span)
    with pytest.raises(NotSupported):
        binder.bind_query(statement.tree)


def test_whatever_word_is_left_out_the_answer_is_a_query_or_an_error() -> None:
    token = GUARDED.set(False)
    try:
        for statement in STATEMENTS:
            words = statement.split()
            for at in range(len(words)):
                with suppress(LanguageError):
                    bind_statement(parse_one(" ".join(words[:at] + words[at + 1 :])), airport_catalog())
    finally:
        GUARDED.reset(token)
