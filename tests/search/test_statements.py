"""What the languages say of search: who is ranked, what a score is, what is refused, and where texts come in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph_sql as og
from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import DataError, ExecutionError, OmniError, ResourceLimitExceeded

SCHEMA = """
node Doc {
    code: String @key
    body: String? @index
    vec: Vector(2)? @embed("body", model="mini-2") @index
    n: I32?
}
node Person { name: String @key  bio: String? }
edge Wrote: Person -> Doc { year: I32? }
"""
ROWS = """
INSERT INTO Doc (code, body, vec, n) VALUES
    ('a', 'The red fox', [1, 0], 1), ('b', 'blue sea, red sky', [0, 1], 2), ('c', NULL, NULL, 3),
    ('d', 'fox fox fox', [1, 1], 4), ('e', '...', [0, 0], 5), ('f', 'Fuchs''s "red" -- box', [-1, 0], 6);
INSERT INTO Person (name, bio) VALUES ('ana', 'likes foxes'), ('bo', NULL);
INSERT INTO Wrote (src, dst, year) VALUES ('ana', 'a', 1), ('ana', 'a', 2), ('ana', 'b', 3),
    ('bo', 'd', 4), ('bo', 'c', 5)
"""
CALLS: list[list[str]] = []


def embed(texts: list[str]) -> list[list[float]]:
    CALLS.append(texts)
    return [[1.0, 0.2] for _ in texts]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    made = og.init(tmp_path_factory.mktemp("search") / "g", schema=SCHEMA, embed=embed)
    made.sql(ROWS)
    return made


def codes(result: og.Result) -> list[Any]:
    return [row[0] for row in result.fetchall()]


NEAR = "query q($v: Vector(2)) { match { $a: Doc %s } return { $a.code } order { nearest($a.vec, $v) } limit %d }"
V = {"v": [1.0, 0.2]}


# ---- nearest --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "expected"), [(1, ["a"]), (2, ["a", "d"]), (4, ["a", "d", "b", "f"])])
def test_k_rows_come_best_first(graph: og.Graph, k: int, expected: list[str]) -> None:
    assert codes(graph.gq(NEAR % ("", k), V)) == expected


def test_a_row_without_a_vector_or_with_a_zero_one_is_never_near(graph: og.Graph) -> None:
    assert codes(graph.gq(NEAR % ("", 100), V)) == ["a", "d", "b", "f"]
    assert codes(graph.sql("SELECT code FROM Doc ORDER BY distance(vec, $v) LIMIT 100", V)) == ["a", "d", "b", "f"]
    assert codes(graph.sql("SELECT code FROM Doc ORDER BY distance(vec, $v)", V)) == ["a", "d", "b", "f"]
    assert codes(graph.sql("SELECT code FROM Doc ORDER BY distance(vec, $v) DESC", V)) == ["f", "b", "d", "a"]


def test_a_row_that_says_none_of_the_words_is_not_ranked(graph: og.Graph) -> None:
    text = "query q($q: String) { match { $a: Doc } return { $a.code } order { bm25($a.body, $q) } }"
    assert codes(graph.gq(text, {"q": "fox"})) == ["d", "a"]
    inner = "SELECT code FROM (SELECT code, bm25(body, 'fox') AS s FROM Doc) ORDER BY s DESC"
    assert codes(graph.sql(inner)) == ["d", "a"]


@pytest.mark.parametrize("spelling", ["{ n: 2 }", " $a.n = 2"])
def test_a_filter_applies_before_the_ranking_however_it_is_spelled(graph: og.Graph, spelling: str) -> None:
    assert codes(graph.gq(NEAR % (spelling, 1), V)) == ["b"]


def test_a_score_in_the_select_list_alone_keeps_every_row(graph: og.Graph) -> None:
    rows = graph.sql("SELECT code, bm25(body, 'fox') IS NULL, nearest(vec, $v) IS NULL FROM Doc ORDER BY code", V)
    assert rows.fetchall() == [
        ("a", False, False),
        ("b", True, False),
        ("c", True, True),
        ("d", False, False),
        ("e", True, True),
        ("f", True, False),
    ]


def test_an_alias_of_a_score_orders_like_the_score(graph: og.Graph) -> None:
    text = "query q($q: String) { match { $a: Doc } return { $a.code, bm25($a.body, $q) as s } order { s } limit 9 }"
    assert codes(graph.gq(text, {"q": "red fox"})) == ["d", "a", "b", "f"]


def test_fan_out_keeps_the_rank_order_and_every_row(graph: og.Graph) -> None:
    text = (
        "query q($v: Vector(2), $q: String) { match { $p: Person  $p $w:wrote $a } return { $a.code, $w.year } "
        "order { rrf(nearest($a.vec, $v), bm25($a.body, $q)), $w.year } limit 9 }"
    )
    assert graph.gq(text, {**V, "q": "fox"}).fetchall() == [("a", 1), ("a", 2), ("d", 4), ("b", 3)]


def test_a_score_in_a_query_that_writes_counts(graph: og.Graph) -> None:
    with graph.transaction() as tx:
        done = tx.sql("UPDATE Doc SET n = 0 WHERE code IN (SELECT code FROM nearest(Doc, 'vec', $v, k => 2))", V)
        assert done.affected_nodes == 2
        assert codes(tx.sql("SELECT code FROM Doc WHERE n = 0 ORDER BY code")) == ["a", "d"]
        tx.rollback()


# ---- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("vector", "message"),
    [
        ([0.0, 0.0], "zero everywhere"),
        ([1.0], "Vector\\(2\\) needs 2"),
        ([1.0, 2.0, 3.0], "Vector\\(2\\) needs 2"),
        ([1.0, float("nan")], "not a finite number"),
        (None, "is missing"),
    ],
)
def test_a_query_vector_without_direction_or_of_another_dimension_is_refused(
    graph: og.Graph, vector: object, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        graph.sql("SELECT code FROM Doc ORDER BY nearest(vec, $v) LIMIT 1", {"v": vector})


@pytest.mark.parametrize("k", [0, -1])
def test_k_of_rrf_is_above_zero_also_when_it_is_a_parameter(graph: og.Graph, k: int) -> None:
    text = "SELECT code FROM Doc ORDER BY rrf(nearest(vec, $v), bm25(body, 'x'), $k) DESC LIMIT 3"
    with pytest.raises(ExecutionError, match="above 0"):
        graph.sql(text, {**V, "k": k})


def test_a_limit_of_nothing_gives_nothing(graph: og.Graph) -> None:
    assert codes(graph.gq(NEAR % ("", 0), V)) == []


def test_a_search_for_too_much_text_is_refused_by_name(graph: og.Graph) -> None:
    longest = "x" * limits.SEARCH_QUERY_BYTES_MAX
    for text in ("search(body, $q)", "match_text(body, $q)", "fuzzy(body, $q)", "bm25(body, $q) > 0"):
        statement = f"SELECT code FROM Doc WHERE {text}"
        assert codes(graph.sql(statement, {"q": longest})) == []
        with pytest.raises(ResourceLimitExceeded) as refused:
            graph.sql(statement, {"q": longest + "x"})
        assert refused.value.resource == "search_query_bytes"


# ---- texts are values -----------------------------------------------------------------------------------------------

STRANGE = [
    "",
    "   ",
    "'",
    "''; DROP TABLE Doc --",
    '"red fox"',
    "red AND NOT fox",
    "+red -fox",
    "(red",
    "red)",
    "body:red",
    "red~2",
    "re*",
    "[red]",
    "\\",
    "\\w+",
    "$1",
    "{red}",
    "\u0000",
    "红 狐",
    "РЕД",
    "🦊",
    "%",
    "_",
    "red\nfox",
    ".*",
    "a|b",
]


@pytest.mark.parametrize("query", STRANGE)
def test_nothing_in_a_query_is_an_operator(graph: og.Graph, query: str) -> None:
    words = {word for word in ("red", "fox") if word in query}
    expected = sorted({"red": ["a", "b", "f"], "fox": ["a", "d"]}[word] for word in words)
    found = sorted({code for part in expected for code in part})
    assert codes(graph.sql("SELECT code FROM Doc WHERE search(body, $q) ORDER BY code", {"q": query})) == found
    scored = graph.sql("SELECT code FROM Doc ORDER BY bm25(body, $q) DESC LIMIT 9", {"q": query})
    assert sorted(codes(scored)) == found
    graph.sql("SELECT code FROM Doc WHERE match_text(body, $q) OR fuzzy(body, $q, 1)", {"q": query}).fetchall()
    assert graph.sql("SELECT count(*) FROM Doc").fetchall() == [(6,)]


def test_a_quoted_text_in_the_statement_is_a_value_too(graph: og.Graph) -> None:
    assert codes(graph.sql("SELECT code FROM Doc WHERE search(body, 'fuchs''s')")) == ["f"]
    assert codes(graph.gq('query q() { match { $a: Doc  search($a.body, "\\"box\\"") } return { $a.code } }')) == ["f"]


# ---- texts for nearest ----------------------------------------------------------------------------------------------


def test_a_text_is_embedded_once_and_gives_what_its_vector_gives(graph: og.Graph) -> None:
    CALLS.clear()
    text = "query q($t: String) { match { $a: Doc } return { $a.code, nearest($a.vec, $t) as d } order { d } limit 3 }"
    by_text = graph.gq(text, {"t": "fox"}).fetchall()
    assert CALLS == [["fox"]]
    by_vector = (
        "query q($v: Vector(2)) { match { $a: Doc } return { $a.code, nearest($a.vec, $v) as d } order { d } limit 3 }"
    )
    assert by_text == graph.gq(by_vector, V).fetchall()
    assert graph.sql("SELECT code, _distance FROM nearest(Doc, 'vec', 'fox', k => 3)").fetchall() == by_text
    assert graph.sql("SELECT code, _distance FROM nearest(Doc, 'vec', $t, k => 3)", {"t": "fox"}).fetchall() == by_text
    assert CALLS == [["fox"]] * 3


def test_planning_embeds_nothing(graph: og.Graph) -> None:
    CALLS.clear()
    graph.explain("SELECT code FROM nearest(Doc, 'vec', 'fox')")
    graph.compile("SELECT code FROM nearest(Doc, 'vec', 'fox')")
    assert CALLS == []


def opened(graph: og.Graph, function: Any) -> og.Graph:
    return og.open(graph.uri, read_only=True, embed=function)


def test_without_a_function_a_text_is_refused_with_the_way_out_and_a_vector_works(graph: og.Graph) -> None:
    bare = opened(graph, None)
    with pytest.raises(ExecutionError, match="no embedding function") as refused:
        bare.sql("SELECT code FROM nearest(Doc, 'vec', 'fox')")
    assert "embed=" in (refused.value.hint or "")
    assert codes(bare.gq(NEAR % ("", 1), V)) == ["a"]


class Model:
    """A provider that says which model it uses."""

    def __init__(self, model: str) -> None:
        self.model = model

    def __call__(self, texts: list[str]) -> list[list[float]]:
        return embed(texts)


def test_the_model_that_made_the_vectors_is_the_one_that_asks(graph: og.Graph) -> None:
    assert codes(opened(graph, Model("mini-2")).sql("SELECT code FROM nearest(Doc, 'vec', 'fox', k => 1)")) == ["a"]
    with pytest.raises(ExecutionError, match="made by the model mini-2"):
        opened(graph, Model("maxi-2")).sql("SELECT code FROM nearest(Doc, 'vec', 'fox', k => 1)")


def _raises(_: list[str]) -> Any:
    raise RuntimeError("out of credits")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (_raises, "out of credits"),
        (lambda _: [[1.0, 2.0, 3.0]], "has 3 numbers"),
        (lambda _: [[1.0, float("inf")]], "not finite"),
        (lambda _: [["x", "y"]], "vector of numbers"),
        (lambda _: [], "0 vectors for 1 text"),
        (lambda _: [[1.0, 2.0]] * 2, "2 vectors for 1 text"),
        (lambda _: None, "embedding function failed"),
    ],
)
def test_what_goes_wrong_in_the_function_is_told(graph: og.Graph, function: Any, message: str) -> None:
    with pytest.raises(OmniError, match=message):
        opened(graph, function).sql("SELECT code FROM nearest(Doc, 'vec', 'fox')")


def test_a_text_for_a_stored_vector_is_refused(graph: og.Graph) -> None:
    with pytest.raises(OmniError, match=r"not a Vector|does not fit"):
        graph.sql("INSERT INTO Doc (code, vec) VALUES ('x', $v)", {"v": "fox"})


def test_branches_that_deleted_as_many_texts_but_others_weigh_words_by_their_own(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", schema="node Doc { code: String @key  body: String }")
    graph.sql("INSERT INTO Doc (code, body) VALUES ('a', 'red fox'), ('b', 'red sea'), ('c', 'blue sky'), ('d', 'red')")
    graph.create_branch("other")
    other = graph.checkout("other")
    text = "SELECT code, bm25(body, 'red') AS s FROM Doc ORDER BY s DESC, code"
    graph.sql("DELETE FROM Doc WHERE code = 'a'")
    here = graph.sql(text).fetchall()
    other.sql("DELETE FROM Doc WHERE code = 'c'")
    fresh = og.init(tmp_path / "fresh", schema="node Doc { code: String @key  body: String }")
    fresh.sql("INSERT INTO Doc (code, body) VALUES ('a', 'red fox'), ('b', 'red sea'), ('d', 'red')")
    assert other.sql(text).fetchall() == fresh.sql(text).fetchall() != here
