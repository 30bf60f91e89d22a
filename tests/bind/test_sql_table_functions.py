"""Functions in FROM: lists, series, searches, history, and the system tables."""

from __future__ import annotations

import pytest

from omnigraph_sql.bind.sql_system_tables import SYSTEM_TABLES
from tests.bind.bound_text import bound, lines, refusal, source_of, under_caret

ROWS = [
    ("unnest([1, 2])", "unnest = unnest([1, 2]) -> unnest I64?"),
    ("unnest([1, 2]) AS t(x)", "t = unnest([1, 2]) -> x I64?"),
    ("unnest(['a']) u", "u = unnest(['a']) -> u String?"),
    (
        "unnest(['a']) WITH ORDINALITY AS t(x, n)",
        "t = unnest with ordinality(['a']) -> x String?, n I64",
    ),
    ("unnest(['a']) WITH ORDINALITY", "unnest = unnest with ordinality(['a']) -> unnest String?, ordinality I64"),
    ("unnest(['a'], [2]) AS t(x, y)", "t = unnest(['a'], [2]) -> x String?, y I64?"),
    ("unnest($ids)", "unnest = unnest($ids) -> unnest Any?"),
    ("generate_series(1, 10, 2) g", "g = generate_series(1, 10, 2) -> g I64"),
    ("range(5)", "range = range(0, 5) -> range I64"),
    ("range(1, $n) AS r(i)", "r = range(1, $n) -> i I64"),
    ("LATERAL generate_series(1, 2) AS g(i)", "g = generate_series(1, 2) -> i I64"),
    ("generate_series(1, 2) WITH ORDINALITY AS g(a, b)", "g = generate_series with ordinality(1, 2) -> a I64, b I64"),
    (
        "graph_changes(3, 'main')",
        "graph_changes = graph_changes(3, 'main') -> kind String, type String, id String, op String, "
        "before Any?, after Any?",
    ),
    (
        "graph_changes(3, $to, 'owns') c",
        "c = graph_changes(3, $to, 'Owns') -> kind String, type String, id String, op String, "
        "before Struct(id: String, src: String, dst: String)?, after Struct(id: String, src: String, dst: String)?",
    ),
    (
        "table_changes(Owns, 2, 3)",
        "table_changes = table_changes('Owns', 2, 3) -> change_type String, id String, src String, dst String",
    ),
    (
        "graph_merge_preview('review/x', 'main') AS m(k)",
        "m = graph_merge_preview('review/x', 'main') -> k String, type String, id String, op String, conflict String?, "
        "before Any?, after Any?",
    ),
    (
        "graph_conflicts()",
        "graph_conflicts = graph_conflicts() -> kind String, type String, id String, message String?, base Any?, "
        "ours Any?, theirs Any?",
    ),
]


@pytest.mark.parametrize(("item", "expected"), ROWS, ids=[r[0] for r in ROWS])
def test_a_function_gives_rows(item: str, expected: str) -> None:
    assert lines(source_of(bound(f"SELECT * FROM {item}"))) == [expected]


@pytest.mark.parametrize(("ends", "of"), [("DATE", "Date"), ("TIMESTAMP", "DateTime")])
def test_a_series_over_time_has_the_type_of_its_ends(ends: str, of: str) -> None:
    statement = f"SELECT * FROM generate_series({ends} '2031-01-01', {ends} '2031-02-01', INTERVAL 1 DAY) AS g(d)"
    assert lines(source_of(bound(statement)))[0].endswith(f"-> d {of}")


def test_a_function_reads_the_items_to_its_left() -> None:
    query = bound("SELECT a.code, tag FROM Airport a, unnest(a.tags) AS u(tag)")
    assert lines(source_of(query)) == [
        "cross join",
        "table a: Airport",
        "lateral u = unnest(a.tags) -> tag String?",
    ]


@pytest.mark.parametrize("column", ["u", "u.u", "unnest", "u.unnest"])
def test_a_single_column_goes_by_the_name_of_the_alias_and_of_the_function(column: str) -> None:
    query = bound(f"SELECT {column} AS x, * FROM unnest([1]) AS u")
    assert "u.u" in str(query.body)
    assert len(query.schema) == 2


def best(statement: str) -> list[str]:
    found = lines(source_of(bound(f"SELECT * FROM {statement}")))
    return [found[0], found[1], found[2][found[2].rindex(", ") + 2 :], *found[3:]]


COLUMNS = "id, code, city, elevation, opened, tags, blurb, pos, photo"
FOUND = [
    (
        "nearest(Airport, 'pos', $q) n",
        [
            f"n({COLUMNS}, _distance)",
            "table Airport: Airport",
            "$q) as _distance",
            "order nearest(Airport.pos, $q) asc nulls last, Airport.id asc nulls first",
            "limit 10",
        ],
    ),
    (
        "bm25('airport', 'blurb', 'wind', k := 3) AS b(c)",
        [
            f"b({COLUMNS.replace('code', 'c')}, _score)",
            "table Airport: Airport",
            "'wind') as _score",
            "order bm25(Airport.blurb, 'wind') desc nulls last, Airport.id asc nulls first",
            "limit 3",
        ],
    ),
    (
        "hybrid(Airport, 'pos', $v, blurb, $q, k => $k, rrf_k => 30) VERSION AS OF 3 AS h",
        [
            f"h({COLUMNS}, _hybrid_score)",
            "table Airport: Airport at version 3",
            "30) as _hybrid_score",
            "order rrf(nearest(Airport.pos, $v), bm25(Airport.blurb, $q), 30) desc nulls last, "
            "Airport.id asc nulls first",
            "limit $k",
        ],
    ),
    (
        "nearest(\"review/x\".Airport, 'pos', [1, 0, 0, 0]) n",
        [
            f"n({COLUMNS}, _distance)",
            "table Airport: Airport at branch review/x",
            "0.0]) as _distance",
            "order nearest(Airport.pos, [1.0, 0.0, 0.0, 0.0]) asc nulls last, Airport.id asc nulls first",
            "limit 10",
        ],
    ),
]


@pytest.mark.parametrize(("item", "expected"), FOUND, ids=[f[0] for f in FOUND])
def test_a_search_is_a_query_for_the_best_rows(item: str, expected: list[str]) -> None:
    assert best(item) == expected


def test_a_search_shows_the_id_only_when_it_is_asked_for() -> None:
    query = bound("SELECT * FROM nearest(Airport, 'pos', $q) n JOIN Route r ON r.src = n.id")
    labels = query.labels or query.schema.order
    assert labels.count("id") == 0
    assert "_distance" in labels


REFUSED = [
    ("unnest(3)", "type", "unnest takes a list, not a I64", "3"),
    ("unnest([1]) AS t(x, y)", "type", "1 column to name", "y"),
    ("generate_series(1, 'x')", "type", "not String", "'x'"),
    ("generate_series(1, 10, 0)", "type", "a step of 0", "0"),
    ("generate_series(1, 10, 1.5)", "type", "is a whole number", "1.5"),
    ("generate_series(DATE '2031-01-01', DATE '2031-01-02')", "type", "needs a step", "'2031-01-02'"),
    ("nearest(Airprt, 'pos', $q)", "unknown_name", "unknown table 'Airprt'", "Airprt"),
    ("nearest('Airprt', 'pos', $q)", "unknown_name", "unknown table 'Airprt'", "'Airprt'"),
    ("nearest(Airport, 'poss', $q)", "unknown_name", "unknown column 'poss'", "'poss'"),
    ("nearest(Airport, 'city', $q)", "type", "nearest searches vectors", "'city'"),
    ("bm25(Airport, 'pos', $q)", "type", "bm25 searches texts", "'pos'"),
    ("nearest(Route, 'miles', $q)", "type", "nearest searches nodes", "Route"),
    ("nearest(Airport, 'pos', $q, k => 0)", "type", "above 0", "0"),
    ("nearest(Airport, 'pos', $q, k => 2.5)", "type", "above 0", "2.5"),
    ("nearest(Airport, 'pos', $q, kk => 2)", "unknown_name", "unknown argument 'kk'", "kk"),
    ("nearest(Airport, 'pos')", "type", "takes 3 arguments", "nearest(Airport, 'pos'"),
    ("hybrid(Airport, 'pos', $v, 'blurb', $q, rrf_k => -1)", "type", "above 0", "1"),
    ("Airport a, nearest(Airport, 'pos', a.pos)", None, "", "a.pos"),
    ("table_changes('Ownz', 1, 2)", "unknown_name", "unknown table 'Ownz'", "'Ownz'"),
    ("table_changes('Owns', 1)", "type", "called with 2 arguments", "table_changes('Owns', 1"),
    ("graph_changes(1, true)", "type", "not a Bool", "true"),
    ("graph_changes(1, 2) VERSION AS OF 3", "not_supported", "no history of its own", "3"),
    ("graph_conflicts() WITH ORDINALITY g", "not_supported", "WITH ORDINALITY belongs to", "graph_conflicts"),
    ("read_csv('x.csv')", "not_supported", "files are not read in FROM", "read_csv('x.csv'"),
    ("read_parquet('x')", "not_supported", "files are not read in FROM", "read_parquet('x'"),
    ("nearset(Airport, 'pos', $q)", "unknown_name", "unknown table function 'nearset'", "nearset(Airport, 'pos', $q"),
    ("abs(3)", "unknown_name", "unknown table function 'abs'", "abs(3"),
    ("omni.branchs", "unknown_name", "unknown table in omni 'branchs'", "branchs"),
    ("omni.Airport", "unknown_name", "unknown table in omni 'Airport'", "Airport"),
    ("information_schema.table", "unknown_name", "unknown table in information_schema 'table'", "table"),
    ("omni.branches VERSION AS OF 2", "not_supported", "as it is now", "branches"),
]


@pytest.mark.parametrize(("item", "code", "message", "place"), REFUSED, ids=[r[0] for r in REFUSED])
def test_a_wrong_call_is_refused_at_its_place(item: str, code: str | None, message: str, place: str) -> None:
    statement = f"SELECT *\nFROM {item}"
    error = refusal(statement)
    assert (code or error.code, place) == (error.code, under_caret(statement, error)), error.report()
    assert message in error.message


NEAR = [
    ("omni.branchs", "branches"),
    ("information_schema.table", "tables"),
    ("nearset(Airport, 'pos', $q)", "nearest"),
    ("nearest(Airport, 'poss', $q)", "pos"),
    ("bm25(Airprt, 'blurb', $q)", "Airport"),
]


@pytest.mark.parametrize(("item", "suggestion"), NEAR)
def test_a_misspelt_name_comes_with_the_nearest_one(item: str, suggestion: str) -> None:
    assert refusal(f"SELECT * FROM {item}").suggestion == suggestion


@pytest.mark.parametrize("name", SYSTEM_TABLES)
def test_a_system_table_is_a_function_of_its_name(name: str) -> None:
    found = lines(source_of(bound(f"SELECT * FROM {name.upper()} AS s")))
    assert found[0].startswith(f"s = {name}() -> ")


def test_commits_have_the_columns_of_the_log() -> None:
    (found,) = lines(source_of(bound("SELECT * FROM omni.commits c")))
    assert found == (
        "c = omni.commits() -> id String, parent String?, merged_parent String?, branch String, actor String?, "
        "message String?, authored_at DateTime"
    )
