"""GRAPH_TABLE: what patterns become, and how wrong ones are refused."""

from __future__ import annotations

import pytest

from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import Catalog
from omnigraph_sql.base.commands import CreatePropertyGraph
from omnigraph_sql.base.errors import TextLimitExceeded
from omnigraph_sql.bind.bound import BoundDerived, BoundJoin, BoundPattern, BoundQuery, BoundSelect
from omnigraph_sql.bind.gq import bind_query
from omnigraph_sql.bind.schema import compile_schema
from omnigraph_sql.bind.sql_binder import SqlOptions
from omnigraph_sql.grammar.gq import parse_any
from tests.bind.bound_text import bound, lines, refusal, source_of, under_caret
from tests.case_files import airport_catalog


def match(body: str, alias: str = "g") -> str:
    return f"SELECT * FROM GRAPH_TABLE (MATCH {body}) {alias}"


def pattern_of(query: BoundQuery) -> BoundPattern:
    source = source_of(query)
    assert isinstance(source, BoundDerived)
    assert isinstance(source.query.body, BoundSelect)
    assert isinstance(source.query.body.source, BoundPattern)
    return source.query.body.source


PATTERNS = [
    (
        "a node with a label and a condition",
        "(a IS Airport WHERE a.code = 'LIM') COLUMNS (a.code, a.city AS town)",
        ["g(code, town)", "nodes a: Airport", "where a.code = 'LIM'", "select a.code as code, a.city as town"],
    ),
    (
        "labels in any case, with a colon",
        "(a:AIRPORT)-[r:route]->(b:airport) COLUMNS (r.miles)",
        ["g(miles)", "nodes a: Airport, b: Airport", "edge r: Route a -> b", "select r.miles as miles"],
    ),
    (
        "an arrow to the left follows the stored one",
        "(b IS Airport)<-[r IS Route]-(a IS Airport) COLUMNS (a.code)",
        ["g(code)", "nodes b: Airport, a: Airport", "edge r: Route a -> b", "select a.code as code"],
    ),
    (
        "no arrow between equal types goes both ways",
        "(a IS Airport)-[r IS Route]-(b IS Airport) COLUMNS (r.miles)",
        ["g(miles)", "nodes a: Airport, b: Airport", "edge r: Route a -- b", "select r.miles as miles"],
    ),
    (
        "no arrow between different types goes the one way that fits",
        "(a IS Airport)-[h IS Hub]-(c IS Carrier) COLUMNS (c.name)",
        ["g(name)", "nodes a: Airport, c: Carrier", "edge h: Hub c -> a", "select c.name as name"],
    ),
    (
        "an edge without a name has no variable",
        "(a IS Airport)-[IS Route]->(b IS Airport) COLUMNS (b.code)",
        ["g(code)", "nodes a: Airport, b: Airport", "edge Route a -> b", "select b.code as code"],
    ),
    (
        "a condition inside an unnamed element means its own properties",
        "(a IS Airport)-[IS Route WHERE miles > 9]->(IS Airport WHERE code = 'LIM') COLUMNS (a.code)",
        [
            "g(code)",
            "nodes a: Airport, _1: Airport",
            "edge _2: Route a -> _1",
            "where _2.miles > 9",
            "where _1.code = 'LIM'",
            "select a.code as code",
        ],
    ),
    (
        "types follow from the edges around",
        "(a)-[r IS Hub]->(b)<-[IS Route]-(c) COLUMNS (a.iata, b.code, c.city)",
        [
            "g(iata, code, city)",
            "nodes a: Carrier, b: Airport, c: Airport",
            "edge r: Hub a -> b",
            "edge Route c -> b",
            "select a.iata as iata, b.code as code, c.city as city",
        ],
    ),
    (
        "the edge follows from its ends",
        "(c IS Carrier)-[e]->(a IS Airport) COLUMNS (e.src)",
        ["g(src)", "nodes c: Carrier, a: Airport", "edge e: Hub c -> a", "select e.src as src"],
    ),
    (
        "the same variable is the same node",
        "(a IS Airport)-[r]->(b), (b)-[s]->(a) COLUMNS (r.miles AS there, s.miles AS back)",
        [
            "g(there, back)",
            "nodes a: Airport, b: Airport",
            "edge r: Route a -> b",
            "edge s: Route b -> a",
            "select r.miles as there, s.miles as back",
        ],
    ),
    (
        "a quantifier makes walks",
        "(a IS Airport)-[IS Route]->{2,3}(b) COLUMNS (b.code)",
        ["g(code)", "nodes a: Airport, b: Airport", "edge Route a -> b walks {2,3}", "select b.code as code"],
    ),
    (
        "a star begins at no hop and ends at the limit",
        "(a IS Airport)-[IS Route]->*(b) COLUMNS (b.code)",
        ["g(code)", "nodes a: Airport, b: Airport", "edge Route a -> b walks {0,64}", "select b.code as code"],
    ),
    (
        "a question mark is at most one hop",
        "(a IS Airport)-[IS Route]-?(b) COLUMNS (b.code)",
        ["g(code)", "nodes a: Airport, b: Airport", "edge Route a -- b walks {0,1}", "select b.code as code"],
    ),
    (
        "walks between different types have one hop",
        "(c)-[IS Hub]->+(a) COLUMNS (a.code)",
        ["g(code)", "nodes c: Carrier, a: Airport", "edge Hub c -> a walks", "select a.code as code"],
    ),
    (
        "a path is named and measured",
        "p = (a IS Airport)-[r IS Route]->{1,3}(b) WHERE path_length(p) > 1 "
        "COLUMNS (element_id(b) AS b, vertices(p) AS v, edges(p) AS e)",
        [
            "g(b, v, e)",
            "nodes a: Airport, b: Airport",
            "edge Route a -> b walks {1,3} as p",
            "where p.length > 1",
            "select b.id as b, p.vertices as v, p.edges as e",
        ],
    ),
    (
        "a shortest path against the arrow is read from left to right",
        "p = ANY SHORTEST (a IS Airport)<-[IS Route]-{1,4}(b) COLUMNS (vertices(p) AS v)",
        [
            "g(v)",
            "nodes a: Airport, b: Airport",
            "edge Route b -> a shortest {1,4} as p",
            "select array_reverse(p.vertices) as v",
        ],
    ),
    (
        "all properties of an element",
        "(c IS Carrier)-[h IS Hub]->() COLUMNS (c.*, h.*)",
        [
            "g(iata, name, rating, status, updated, src, dst)",
            "nodes c: Carrier, _1: Airport",
            "edge h: Hub c -> _1",
            "select c.iata as iata, c.name as name, c.rating as rating, c.status as status, c.updated as updated, "
            "h.src as src, h.dst as dst",
        ],
    ),
    (
        "a condition on a score is no part of the pattern",
        "(a IS Airport) WHERE nearest(a.pos, $v) < 0.5 AND a.city = 'Lima' COLUMNS (a.code)",
        [
            "g(code)",
            "nodes a: Airport",
            "where a.city = 'Lima'",
            "filter nearest(a.pos, $v) < 0.5",
            "select a.code as code",
        ],
    ),
]


@pytest.mark.parametrize(("body", "expected"), [p[1:] for p in PATTERNS], ids=[p[0] for p in PATTERNS])
def test_a_pattern_becomes(body: str, expected: list[str]) -> None:
    assert lines(source_of(bound(match(body)))) == expected


UNIONS = [
    (
        "one of two labels",
        "(x IS Airport|Carrier) COLUMNS (x.id AS id, x.city, x.rating)",
        [
            "g(id, city, rating)",
            "nodes x: Airport",
            "select x.id as id, x.city as city, null as rating",
            "union all",
            "nodes x_2: Carrier",
            "select x_2.id as id, null as city, x_2.rating as rating",
        ],
    ),
    (
        "an edge of any type into a known node",
        "(x)-[e]->(a IS Airport WHERE code = 'LIM') WHERE e.miles > 5 COLUMNS (element_id(x) AS x)",
        [
            "g(x)",
            "nodes x: Airport, a: Airport",
            "edge e: Route x -> a",
            "where a.code = 'LIM'",
            "where e.miles > 5",
            "select x.id as x",
            "union all",
            "nodes x_2: Carrier, a_2: Airport",
            "edge e_2: Hub x_2 -> a_2",
            "where a_2.code = 'LIM'",
            "where null > 5",
            "select x_2.id as x",
        ],
    ),
    (
        "edges of two types in any direction",
        "(c IS Carrier)-[e IS Hub|Owns]-(x) COLUMNS (e.src, x.*)",
        [
            "g(src, code, city, elevation, opened, tags, blurb, pos, photo, iata, name, rating, status, updated)",
            "nodes c: Carrier, x: Airport",
            "edge e: Hub c -> x",
            "select e.src as src, x.code as code, x.city as city, x.elevation as elevation, x.opened as opened, "
            "x.tags as tags, x.blurb as blurb, x.pos as pos, x.photo as photo, null as iata, null as name, "
            "null as rating, null as status, null as updated",
            "union all",
            "nodes c_2: Carrier, x_2: Carrier",
            "edge e_2: Owns c_2 -- x_2",
            "select e_2.src as src, null as code, null as city, null as elevation, null as opened, null as tags, "
            "null as blurb, null as pos, null as photo, x_2.iata as iata, x_2.name as name, x_2.rating as rating, "
            "x_2.status as status, x_2.updated as updated",
        ],
    ),
]


@pytest.mark.parametrize(("body", "expected"), [u[1:] for u in UNIONS], ids=[u[0] for u in UNIONS])
def test_open_labels_become_a_union(body: str, expected: list[str]) -> None:
    assert lines(source_of(bound(match(body)))) == expected


def test_a_union_has_the_common_types_and_says_what_may_be_null() -> None:
    catalog = compile_schema("""
        node A { n: I32  only: String }
        node B { n: F64 }
    """).catalog
    query = bound(match("(x IS A|B) COLUMNS (x.n, x.only)"), catalog)
    source = source_of(query)
    assert lines(source)[2] == "select cast(x.n as F64) as n, x.only as only"
    assert isinstance(source, BoundDerived)
    assert [(f.type, f.nullable) for f in source.query.schema.fields] == [
        (catalog.nodes[1].properties[0].type, False),
        (catalog.nodes[0].properties[1].type, True),
    ]


REFUSED = [
    ("(a IS Airprt) COLUMNS (a.code)", "unknown_name", "unknown node type 'Airprt'", "Airprt"),
    ('(a IS "airport") COLUMNS (a.code)', "unknown_name", "unknown node type 'airport'", '"airport"'),
    ("(a IS Route) COLUMNS (a.code)", "unknown_name", "unknown node type 'Route'", "Route"),
    ("(a IS Airport)-[r IS Rout]->(b) COLUMNS (a.code)", "unknown_name", "unknown edge type 'Rout'", "Rout"),
    ("(a IS Airport)-[h IS Hub]->(c IS Carrier) COLUMNS (a.code)", "type", "Hub leads from Carrier to Airport", "Hub"),
    ("(a IS Airport)-[IS Route]->(b)-[IS Owns]->(c) COLUMNS (a.code)", "type", "Owns leads from Carrier", "Owns"),
    ("(a IS Airport)-[h IS Hub]-(b IS Airport) COLUMNS (a.code)", "type", "not between Airport and Airport", "Hub"),
    ("(a IS Airport)-[]->(c IS Carrier) COLUMNS (a.code)", "type", "no edge type leads from Airport", "-[]->"),
    ("(a IS Airport), (a IS Carrier) COLUMNS (a.code)", "type", "a is Airport already", "Carrier"),
    ("(a IS Airport)-[a IS Route]->(b) COLUMNS (b.code)", "type", "a is a node and cannot be an edge too", "a"),
    ("(a)-[e IS Route]->(b)-[e IS Route]->(c) COLUMNS (b.code)", "type", "e is bound twice", "e"),
    ("(a)-[e IS Route]->(e) COLUMNS (a.code)", "type", "e is an edge and cannot be a node too", "e"),
    ("(a IS Airport)-[IS Route]->{1,65}(b) COLUMNS (b.code)", "type", "at most 64 hops (HOPS_MAX)", "{1,65}"),
    ("(a)-[IS Hub]->*(b) COLUMNS (b.code)", "type", "a walk of no hops stays at one node", "*"),
    ("(a)-[IS Hub]->{2,3}(b) COLUMNS (b.code)", "type", "no walk has 2 hops here", "{2,3}"),
    ("(a)-[IS Hub]-{1,3}(b) COLUMNS (b.code)", "not_supported", "in both directions needs equal ends", "Hub"),
    ("(a)-[IS Route|Owns]->{1,3}(b) COLUMNS (a.id)", "not_supported", "edges of one type", "Route|Owns"),
    ("(a)-[r IS Route WHERE r.miles > 3]->+(b) COLUMNS (b.code)", "not_supported", "no condition", "r.miles > 3"),
    ("(a)-[r IS Route]->+(b) COLUMNS (r.miles)", "not_supported", "r stands for many edges", "r"),
    ("p = (a)-[IS Route]->(b)-[IS Route]->(c) COLUMNS (a.code)", "not_supported", "a path over 2 steps", "p"),
    ("p = (a IS Airport) COLUMNS (a.code)", "not_supported", "a path without a step", "p"),
    ("p = (a)-[IS Route]->+(b) COLUMNS (element_id(p) AS x)", "unknown_name", "unknown element 'p'", "p"),
    ("p = (a)-[IS Route]->+(b) COLUMNS (path_length(a) AS x)", "unknown_name", "unknown path 'a'", "a"),
    ("(a IS Airport) COLUMNS (*)", "not_supported", "* does not stand in COLUMNS", "*"),
    ("(a IS Airport) COLUMNS (b.*)", "unknown_name", "unknown element 'b'", "b"),
    ("(a IS Airport) COLUMNS (a.code, a.city AS code)", "type", "two columns are called code", "a.city AS code"),
    ("(a IS Airport) COLUMNS (a.elevation + 1)", "type", "this column needs a name", "a.elevation + 1"),
    ("(a IS Airport) COLUMNS (count(a.code) AS n)", "not_supported", "no aggregates", "count(a.code"),
    ("(a IS Airport WHERE max(elevation) > 1) COLUMNS (a.code)", "not_supported", "no aggregates", "max(elevation"),
    ("(a IS Airport) COLUMNS (a.cod)", "unknown_name", "unknown column 'cod'", "cod"),
    ("(a IS Airport|Carrier) COLUMNS (a.miles)", "unknown_name", "unknown column 'miles'", "miles"),
    ("(a IS Airport WHERE a.city) COLUMNS (a.code)", "type", "truth value", "a.city"),
]


@pytest.mark.parametrize(("body", "code", "message", "place"), REFUSED, ids=[r[0] for r in REFUSED])
def test_a_wrong_pattern_is_refused_at_its_place(body: str, code: str, message: str, place: str) -> None:
    statement = match(body)
    error = refusal(statement)
    assert (error.code, under_caret(statement, error)) == (code, place), error.report()
    assert message in error.message


HINTS = [
    ("(a IS Airport)-[h IS Hub]->(c IS Carrier) COLUMNS (a.code)", "turn the arrow round"),
    ("(c IS Carrier)<-[h IS Hub]-(a IS Airport) COLUMNS (a.code)", "turn the arrow round"),
    ("(a IS Route) COLUMNS (a.code)", "-[e IS Route]->"),
    ("(a IS Airport)-[IS Carrier]->(b) COLUMNS (a.code)", "(a IS Carrier)"),
    ("(a IS Airport) COLUMNS (count(a.code) AS n)", "around GRAPH_TABLE"),
    ("(a)-[r IS Route]->+(b) COLUMNS (r.miles)", "edges(p)"),
]


@pytest.mark.parametrize(("body", "hint"), HINTS, ids=[h[0] for h in HINTS])
def test_a_refusal_says_what_to_do(body: str, hint: str) -> None:
    assert hint in (refusal(match(body)).hint or "")


def test_misspelt_labels_come_with_the_nearest_one() -> None:
    assert refusal(match("(a IS Airprt) COLUMNS (a.code)")).suggestion == "Airport"
    assert refusal(match("(a)-[IS rout]->(b) COLUMNS (a.code)")).suggestion == "Route"


def test_a_graph_is_the_one_of_the_session_or_unknown() -> None:
    body = "MATCH (a IS Airport) COLUMNS (a.code)"
    options = SqlOptions(graph="air")
    assert lines(source_of(bound(f"SELECT * FROM GRAPH_TABLE (Air {body}) g", options=options)))
    statement = f"SELECT * FROM GRAPH_TABLE (omni {body}) g"
    error = refusal(statement, options=options)
    assert (error.code, under_caret(statement, error)) == ("unknown_name", "omni")


def test_a_property_graph_holds_the_types_it_was_made_of() -> None:
    options = SqlOptions(graphs=(CreatePropertyGraph("carriers", ("Carrier",), ("Owns",)),))
    statement = "SELECT * FROM GRAPH_TABLE (carriers MATCH (a)-[e]->(b) COLUMNS (a.name)) g"
    found = lines(source_of(bound(statement, options=options)))
    assert found[1:3] == ["nodes a: Carrier, b: Carrier", "edge e: Owns a -> b"]
    statement = "SELECT * FROM GRAPH_TABLE (carriers MATCH (a IS Airport) COLUMNS (a.code)) g"
    error = refusal(statement, options=options)
    assert (error.code, under_caret(statement, error)) == ("unknown_name", "Airport")


def test_an_open_quantifier_ends_where_the_session_says() -> None:
    body = "(a IS Airport)-[IS Route]->{2,}(b) COLUMNS (b.code)"
    assert "edge Route a -> b walks {2,5}" in lines(source_of(bound(match(body), options=SqlOptions(hops_max=5))))
    error = refusal(match(body), options=SqlOptions(hops_max=1))
    assert "begins at 2 hops" in error.message


POINTS = [
    ("GRAPH_TABLE (MATCH (a IS Airport) COLUMNS (a.code)) VERSION AS OF 3 g", "nodes a: Airport at version 3"),
    ("GRAPH_TABLE (MATCH (a IS Airport) COLUMNS (a.code)) AT (BRANCH => 'x/y') AS g", "nodes a: Airport at branch x/y"),
]


@pytest.mark.parametrize(("item", "expected"), POINTS)
def test_a_pattern_is_read_at_a_point_in_history(item: str, expected: str) -> None:
    assert lines(source_of(bound(f"SELECT * FROM {item}")))[1] == expected


def test_a_pattern_may_use_the_items_to_its_left_and_the_query_around() -> None:
    query = bound(
        "SELECT g.code FROM Carrier c, "
        "GRAPH_TABLE (MATCH (x IS Carrier WHERE x.id = c.id)-[IS Hub]->(a) COLUMNS (a.code, c.name AS owner)) g"
    )
    assert lines(source_of(query)) == [
        "cross join",
        "table c: Carrier",
        "lateral g(code, owner)",
        "nodes x: Carrier, a: Airport",
        "edge Hub x -> a",
        "where x.id = outer(c.id)",
        "select a.code as code, outer(c.name) as owner",
    ]
    statement = (
        "SELECT c.name FROM Carrier c WHERE EXISTS "
        "(SELECT 1 FROM GRAPH_TABLE (MATCH (x IS Carrier WHERE x.id = c.id)-[IS Hub]->(a) COLUMNS (a.code)) g)"
    )
    assert "c.id" in str(bound(statement).body)


@pytest.mark.parametrize("where", ["(a IS Airport WHERE id = h.dst)", "(a IS Airport) WHERE a.id = h.dst"])
def test_one_reference_to_the_left_makes_a_pattern_lateral(where: str) -> None:
    source = source_of(bound(f"SELECT * FROM Hub h, GRAPH_TABLE (MATCH {where} COLUMNS (a.code)) g"))
    assert isinstance(source, BoundJoin)
    assert isinstance(source.right, BoundDerived)
    assert source.right.lateral
    assert source.right.query.outer_columns == {"h.dst"}


def test_variables_stay_apart_from_those_of_the_statement() -> None:
    query = bound("SELECT * FROM Airport a, GRAPH_TABLE (MATCH (a IS Carrier) COLUMNS (a.name)) g, Owns g_2")
    assert lines(source_of(query))[-3:] == ["nodes a_2: Carrier", "select a_2.name as name", "table g_2: Owns"]


def test_an_alias_renames_columns_from_the_left() -> None:
    statement = match("(a IS Airport) COLUMNS (a.code, a.city)", "AS g (x)")
    assert lines(source_of(bound(statement)))[0] == "g(x, city)"


@pytest.mark.parametrize(("alias", "place"), [("g (x, y, z)", "z"), ("g (x, X)", "X"), ("g (City)", "City")])
def test_an_alias_that_does_not_fit_is_refused(alias: str, place: str) -> None:
    statement = match("(a IS Airport) COLUMNS (a.code, a.city)", alias)
    error = refusal(statement)
    assert (error.code, under_caret(statement, error)) == ("type", place)


def many_types(count: int) -> Catalog:
    nodes = "\n".join(f"node N{i} {{ p: String }}" for i in range(count))
    return compile_schema(nodes).catalog


def test_a_pattern_stands_for_as_many_types_as_the_limit_allows() -> None:
    assert limits.PATTERN_ALTERNATIVES_MAX == 64
    bound(match("(a), (b) COLUMNS (a.p, b.p AS q)"), many_types(8))
    bound(match("(a) COLUMNS (a.p)"), many_types(64))
    error = refusal(match("(a) COLUMNS (a.p)"), many_types(65))
    assert isinstance(error, TextLimitExceeded)
    assert (error.resource, error.limit) == ("pattern_alternatives", 64)


def test_unlabelled_cycles_are_refused_before_they_take_long() -> None:
    edges = "\n".join(f"edge E{i}: N{i} -> N{(i + 1) % 7}" for i in range(7))
    nodes = "\n".join(f"node N{i} {{ p: String }}" for i in range(7))
    catalog = compile_schema(f"{nodes}\n{edges}").catalog
    ring = "->".join(f"(v{i})" for i in range(8))
    assert "fit" in refusal(match(f"{ring}->(v0) COLUMNS (v0.p)"), catalog).message


SAME = [
    (
        "(a IS Airport WHERE a.code = 'LIM')-[r IS Route]->(b IS Airport) COLUMNS (b.city AS x)",
        'match { $a: Airport { code: "LIM" }  $b: Airport  $a $r:route $b } return { $b.city as x }',
    ),
    (
        "(c IS Carrier)-[h IS Hub]->(a IS Airport) WHERE a.elevation > 100 COLUMNS (c.iata AS x)",
        "match { $c: Carrier  $a: Airport  $c $h:hub $a  $a.elevation > 100 } return { $c.iata as x }",
    ),
]


@pytest.mark.parametrize(("body", "gq"), SAME)
def test_a_pattern_is_the_one_of_the_sister_language(body: str, gq: str) -> None:
    (query,) = parse_any(gq).queries
    other = bind_query(query, airport_catalog()).statement
    assert isinstance(other, BoundQuery)
    assert pattern_of(bound(match(body))) == source_of(other)
