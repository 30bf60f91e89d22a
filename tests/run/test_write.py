"""Mutations from text to rows: what is stored, what is counted, what commits, what is refused without a trace."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

import omnigraph_sql as og
from omnigraph_sql.base.errors import (
    BoundaryViolation,
    ConstraintViolation,
    DataError,
    KeyConflict,
    OmniError,
    PreconditionFailed,
    TypeMismatch,
)

SCHEMA = """
node Airport { code: String @key  city: String  elevation: I32?  openedOn: Date?  note: String? }
node Carrier { iata: String @key  name: String  status: enum(active, dormant)? }
node Note { text: String  score: F64? }
node Memo { text: String?  size: I32? }
node Sample {
    name: String @key
    small: I32?
    photo: Blob?
    count: U32?
    huge: U64?
    whole: I64?
    single: F32?
    seen: DateTime?
    tags: [String]?
    spot: Vector(3)?
    born: Date?
    status: enum(on, off)?
}
edge Route: Airport -> Airport { miles: I32?  via: String? }
edge Hub: Carrier -> Airport
edge Likes: Carrier -> Carrier { score: I32?  @key(src, dst) }
"""
Rows = list[tuple[Any, ...]]


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    """Three airports, one carrier, and edges of two types among them."""
    made = og.init(tmp_path / "air.omni", schema=SCHEMA, actor="ana")
    made.sql(
        "INSERT INTO Airport (code, city, elevation) VALUES ('LIM', 'Lima', 34), ('CUZ', 'Cusco', 3310),"
        " ('AQP', 'Arequipa', NULL); INSERT INTO Carrier VALUES ('LA', 'Latam', 'active');"
        "INSERT INTO Route (id, src, dst, miles) VALUES ('r1', 'LIM', 'CUZ', 363), ('r2', 'CUZ', 'LIM', NULL),"
        " ('r3', 'AQP', 'LIM', 475), ('r4', 'LIM', 'LIM', 0); INSERT INTO Hub (id, src, dst) VALUES ('h1', 'LA', 'LIM')"
    )
    return made


def run(graph: og.Graph, text: str, params: Any = None) -> og.Result:
    return graph.gq(text, params) if text.startswith("query") else graph.sql(text, params)


def ask(graph: og.Graph, text: str) -> Rows:
    return graph.sql(text).fetchall()


def counts(result: og.Result) -> tuple[int, int]:
    return result.affected_nodes, result.affected_edges


def versions(graph: og.Graph) -> dict[str, int]:
    return {table["name"]: table["version"] for table in graph.stats()["tables"]}


def moved(graph: og.Graph, before: dict[str, int]) -> set[str]:
    """Tables whose version changed."""
    return {name for name, version in versions(graph).items() if version != before[name]}


def refused(graph: og.Graph, text: str, kind: type[OmniError], params: Any = None) -> OmniError:
    """The error of a statement that leaves no trace: same head, same manifest, same tables, nothing pending."""
    before = told(graph)
    with pytest.raises(kind) as caught:
        run(graph, text, params)
    assert told(graph) == before
    return caught.value


def told(graph: og.Graph) -> dict[str, Any]:
    """What is told of a graph, but for the memory that looking keys up may take."""
    return {name: fact for name, fact in graph.stats().items() if name != "held_ids"}


# ---- what is stored ---------------------------------------------------------------------------------------------

AIRPORTS = "SELECT code, city, elevation, note FROM Airport WHERE city = 'x' OR note IS NOT NULL ORDER BY code"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INSERT INTO Airport VALUES ('ZZZ', 'x', 1, DATE '2001-02-03', 'n')", [("ZZZ", "x", 1, "n")]),
        ("INSERT INTO Airport (note, city, code) VALUES ('n', 'x', 'ZZZ')", [("ZZZ", "x", None, "n")]),
        ("INSERT INTO Airport (code, city, note) VALUES ('ZZZ', 'x', DEFAULT)", [("ZZZ", "x", None, None)]),
        ("INSERT INTO Airport BY NAME SELECT 'x' AS city, 'ZZZ' AS code", [("ZZZ", "x", None, None)]),
        (
            "INSERT INTO Airport (code, city, elevation) SELECT code || '2', 'x', elevation + 1 FROM Airport",
            [("AQP2", "x", None, None), ("CUZ2", "x", 3311, None), ("LIM2", "x", 35, None)],
        ),
        (
            "WITH w AS (SELECT 'ZZZ' AS c) INSERT INTO Airport (code, city) SELECT c, 'x' FROM w",
            [("ZZZ", "x", None, None)],
        ),
        ("INSERT OR REPLACE INTO Airport (code, city) VALUES ('LIM', 'x')", [("LIM", "x", None, None)]),
        ("INSERT OR IGNORE INTO Airport (code, city) VALUES ('LIM', 'x')", []),
        (
            "INSERT OR IGNORE INTO Airport (code, city, note) VALUES ('E', 'x', '1'), ('E', 'x', '2')",
            [("E", "x", None, "1")],
        ),
        ("INSERT INTO Airport (code, city) VALUES ('LIM', 'x') ON CONFLICT DO NOTHING", []),
        (
            "INSERT INTO Airport (code, city) VALUES ('LIM', 'x'), ('NEW', 'x')"
            " ON CONFLICT (code) DO UPDATE SET note = excluded.city || Airport.city, elevation = Airport.elevation * 2",
            [("LIM", "Lima", 68, "xLima"), ("NEW", "x", None, None)],
        ),
        (
            "INSERT INTO Airport (code, city) VALUES ('LIM', 'y'), ('CUZ', 'y'), ('AQP', 'y')"
            " ON CONFLICT (code) DO UPDATE SET note = 'high' WHERE Airport.elevation > 1000",
            [("CUZ", "Cusco", 3310, "high")],
        ),
        ("UPDATE Airport SET note = city WHERE elevation IS NULL", [("AQP", "Arequipa", None, "Arequipa")]),
        ("UPDATE Airport SET (city, note) = ('x', city) WHERE code = 'LIM'", [("LIM", "x", 34, "Lima")]),
        ("UPDATE Airport SET elevation = DEFAULT, note = 'n' WHERE code = 'CUZ'", [("CUZ", "Cusco", None, "n")]),
        (
            "UPDATE Airport SET note = 'n', elevation = r.miles FROM Route r WHERE r.src = Airport.id AND r.id = 'r3'",
            [("AQP", "Arequipa", 475, "n")],
        ),
        (
            "UPDATE Airport a SET note = b.city FROM Airport b WHERE a.code = 'LIM' AND b.code = 'CUZ'",
            [("LIM", "Lima", 34, "Cusco")],
        ),
        (
            "UPDATE Airport SET note = (SELECT max(city) FROM Airport) WHERE code = 'LIM'",
            [("LIM", "Lima", 34, "Lima")],
        ),
        ('query q() { insert Airport { code: "LIM", city: "x" } }', [("LIM", "x", None, None)]),
        ('query q() { update Airport set { note: "n" } where code = "LIM" }', [("LIM", "Lima", 34, "n")]),
    ],
)
def test_a_mutation_stores_what_it_says_and_keeps_the_rest(graph: og.Graph, text: str, expected: Rows) -> None:
    run(graph, text)
    assert ask(graph, AIRPORTS) == expected
    untouched = {"LIM": ("Lima", 34), "CUZ": ("Cusco", 3310), "AQP": ("Arequipa", None)}
    shown = {code for code, *_ in expected}
    rest = {code: (city, up) for code, city, up in ask(graph, "SELECT code, city, elevation FROM Airport")}
    assert {code: row for code, row in rest.items() if code not in shown} == {
        code: row for code, row in untouched.items() if code not in shown
    }


@pytest.mark.parametrize(
    ("text", "expected", "gone"),
    [
        ("DELETE FROM Airport WHERE code = 'LIM'", (1, 5), {"LIM", "r1", "r2", "r3", "r4", "h1"}),
        ("DELETE FROM Airport WHERE code = 'CUZ'", (1, 2), {"CUZ", "r1", "r2"}),
        ("DELETE FROM Airport WHERE elevation IS NULL", (1, 1), {"AQP", "r3"}),
        ("DELETE FROM Carrier", (1, 1), {"LA", "h1"}),
        ("DELETE FROM Route WHERE src = 'LIM'", (0, 2), {"r1", "r4"}),
        ("DELETE FROM Route WHERE miles IS NULL", (0, 1), {"r2"}),
        ("DELETE FROM Route USING Airport a WHERE a.id = Route.dst AND a.city = 'Cusco'", (0, 1), {"r1"}),
        ("DELETE FROM Airport USING Route r WHERE r.dst = Airport.id AND r.miles >= 363", (2, 5), None),
        ("TRUNCATE Route", (0, 4), {"r1", "r2", "r3", "r4"}),
        ("TRUNCATE TABLE Airport", (3, 5), None),
        ("DELETE FROM Airport WHERE code = 'LIM'; DELETE FROM Airport WHERE elevation < 99", (1, 5), None),
        ("DELETE FROM Route WHERE miles IS NULL; DELETE FROM Route WHERE src = 'CUZ'", (0, 1), {"r2"}),
        ("DELETE FROM Airport WHERE code = 'CUZ'; DELETE FROM Route WHERE dst = 'CUZ'", (1, 2), {"CUZ", "r1", "r2"}),
        ("DELETE FROM Route WHERE dst = 'CUZ'; DELETE FROM Airport WHERE code = 'CUZ'", (1, 2), {"CUZ", "r1", "r2"}),
        ('query q() { delete Airport where code = "CUZ" }', (1, 2), {"CUZ", "r1", "r2"}),
        ('query q() { delete Route where from = "LIM" }', (0, 2), {"r1", "r4"}),
        ("query q() { delete Route where miles > 400 delete Route where miles > 300 }", (0, 2), {"r1", "r3"}),
        ('query q() { delete Airport where code = "CUZ" delete Route where to = "CUZ" }', (1, 2), {"CUZ", "r1", "r2"}),
    ],
)
def test_a_delete_takes_the_edges_with_it_and_counts_everything_once(
    graph: og.Graph, text: str, expected: tuple[int, int], gone: set[str] | None
) -> None:
    every = " UNION ALL ".join(f"SELECT id FROM {table}" for table in ("Airport", "Carrier", "Route", "Hub"))
    before, head = set(ask(graph, every)), graph.head
    result = run(graph, text)
    missing = {one for (one,) in before - set(ask(graph, every))}
    assert counts(result) == expected
    assert len(missing) == sum(expected)
    assert gone is None or missing == gone
    assert graph.commits()[0].parent == head


def test_a_delete_of_a_node_without_edges_moves_its_own_table_alone(graph: og.Graph) -> None:
    graph.sql("INSERT INTO Airport (code, city) VALUES ('ISO', 'Isolated')")
    before = versions(graph)
    assert counts(graph.sql("DELETE FROM Airport WHERE code = 'ISO'")) == (1, 0)
    assert moved(graph, before) == {"node:Airport"}


def test_a_node_and_an_edge_to_it_become_visible_together(graph: og.Graph) -> None:
    head = graph.head
    text = 'query q() { insert Airport { code: "TRU", city: "Trujillo" } insert Route { from: "TRU", to: "LIM" } }'
    assert counts(graph.gq(text)) == (1, 1)
    assert graph.commits()[0].parent == head
    assert ask(graph, "SELECT src, dst, miles FROM Route WHERE src = 'TRU'") == [("TRU", "LIM", None)]


@pytest.mark.parametrize(
    "text",
    [
        'query q() { insert Airport { code: "N", city: "c" } update Airport set { note: "n" } where code = "N" }',
        "INSERT INTO Airport (code, city) VALUES ('N', 'c'); UPDATE Airport SET note = 'n' WHERE code = 'N'",
    ],
)
def test_an_insert_and_an_update_of_one_row_are_one_row_and_one_version(graph: og.Graph, text: str) -> None:
    before, head = versions(graph), graph.head
    assert counts(run(graph, text)) == (2, 0)
    assert ask(graph, "SELECT city, note FROM Airport WHERE code = 'N'") == [("c", "n")]
    assert moved(graph, before) == {"node:Airport"}
    assert versions(graph)["node:Airport"] == before["node:Airport"] + 1
    assert graph.commits()[0].parent == head


def test_several_inserts_into_one_table_are_one_version_and_one_commit(graph: og.Graph) -> None:
    before, head = versions(graph), graph.head
    result = graph.sql("; ".join(f"INSERT INTO Note (text) VALUES ('{n}')" for n in range(5)))
    assert counts(result) == (5, 0)
    assert versions(graph) == {**before, "node:Note": before["node:Note"] + 1}
    assert [commit.id for commit in graph.commits(limit=2)] == [result.commit_id, head]


def test_a_later_statement_sees_the_pending_value_and_not_the_committed_one(graph: og.Graph) -> None:
    result = graph.sql(
        "UPDATE Airport SET openedOn = DATE '2001-01-01', elevation = 1 WHERE code = 'CUZ';"
        "UPDATE Airport SET note = 'pending' WHERE openedOn < DATE '2002-01-01';"
        "UPDATE Airport SET note = 'committed' WHERE elevation > 3000;"
        "UPDATE Airport SET elevation = elevation + 1 WHERE elevation = 1"
    )
    assert counts(result) == (3, 0)
    assert ask(graph, "SELECT elevation, note FROM Airport WHERE code = 'CUZ'") == [(2, "pending")]


def test_the_same_row_can_be_updated_in_two_commits_and_read_through_filters(graph: og.Graph) -> None:
    for _ in range(2):
        assert counts(graph.sql("UPDATE Airport SET elevation = elevation + 1 WHERE code = 'LIM'")) == (1, 0)
    graph.gq('query q() { insert Airport { code: "CUZ", city: "Qosqo", elevation: 36 } }')
    graph.sql("DELETE FROM Airport WHERE code = 'AQP'")
    assert ask(graph, "SELECT code, city FROM Airport WHERE elevation = 36 ORDER BY code") == [
        ("CUZ", "Qosqo"),
        ("LIM", "Lima"),
    ]
    assert ask(graph, "SELECT count(*) FROM Airport WHERE elevation IN (34, 35, 3310)") == [(0,)]


def test_every_row_gets_its_own_value_in_whatever_order_rows_are_met(graph: og.Graph) -> None:
    with graph.transaction() as transaction:
        transaction.sql("UPDATE Airport SET elevation = 1 WHERE code = 'CUZ'")
        transaction.sql("INSERT INTO Airport (code, city) VALUES ('AAA', 'a')")
        transaction.sql("UPDATE Airport SET city = code || city, elevation = 2 WHERE code <> 'AQP'")
        transaction.sql(
            "UPDATE Airport SET note = v.n FROM"
            " (VALUES ('CUZ', '1'), ('AQP', '2'), ('AAA', '3'), ('LIM', '4')) AS v(c, n) WHERE v.c = Airport.code"
        )
    assert ask(graph, AIRPORTS) == [
        ("AAA", "AAAa", 2, "3"),
        ("AQP", "Arequipa", None, "2"),
        ("CUZ", "CUZCusco", 2, "1"),
        ("LIM", "LIMLima", 2, "4"),
    ]


# ---- values -----------------------------------------------------------------------------------------------------

NOON = datetime(2020, 2, 29, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("column", "written", "value"),
    [
        ("small", "-2147483648", -(2**31)),
        ("count", "4294967295", 2**32 - 1),
        ("huge", "18446744073709551615", 2**64 - 1),
        ("whole", "-9223372036854775808", -(2**63)),
        ("single", "1.5", 1.5),
        ("seen", "TIMESTAMP '2020-02-29 12:00:00'", NOON),
        ("tags", "['a', 'b''c']", ["a", "b'c"]),
        ("spot", "[1, 2.5, -3]", [1.0, 2.5, -3.0]),
        ("born", "DATE '1899-12-31'", date(1899, 12, 31)),
        ("status", "'off'", "off"),
        ("photo", "'abc'::BLOB", b"abc"),
    ],
)
def test_a_value_is_read_back_as_it_was_written(graph: og.Graph, column: str, written: str, value: object) -> None:
    read = f"SELECT {column} FROM Sample ORDER BY name"
    graph.sql(f"INSERT INTO Sample (name, {column}) VALUES ('a', {written})")
    graph.sql(f"INSERT INTO Sample (name, {column}) SELECT 'b', {column} FROM Sample")
    graph.sql("INSERT INTO Sample (name) VALUES ('c')")
    assert ask(graph, read) == [(value,), (value,), (None,)]
    graph.sql(f"UPDATE Sample SET {column} = {written} WHERE name = 'c'")
    graph.sql(f"UPDATE Sample SET {column} = NULL WHERE name = 'b'")
    assert ask(graph, read) == [(value,), (None,), (value,)]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("small", 2**31 - 1),
        ("whole", -(2**63)),
        ("single", 0.25),
        ("seen", NOON),
        ("tags", ["a", "b'c"]),
        ("tags", []),
        ("spot", [1.0, 2.5, -3.0]),
        ("born", date(1899, 12, 31)),
        ("status", "off"),
        ("photo", b"\x00\xff"),
        ("photo", None),
    ],
)
def test_a_given_value_is_read_back_as_it_was_given(graph: og.Graph, column: str, value: object) -> None:
    given = {"v": value}
    graph.sql(f"INSERT INTO Sample (name, {column}) VALUES ('a', $v)", given)
    graph.sql(f"INSERT INTO Sample (name, {column}) SELECT 'b', $v", given)
    graph.sql("INSERT INTO Sample (name) VALUES ('c')")
    graph.sql(f"UPDATE Sample SET {column} = $v WHERE name = 'c'", given)
    assert ask(graph, f"SELECT {column} FROM Sample ORDER BY name") == [(value,)] * 3


@pytest.mark.parametrize(
    ("column", "start", "change"),
    [
        ("small", "2147483647", "small + 1"),
        ("small", "1", "small + 2147483647"),
        ("count", "0", "count - 1"),
        ("count", "4294967295", "count * 2"),
        ("huge", "18446744073709551615", "huge + 1"),
        ("whole", "9223372036854775807", "whole + 1"),
        ("single", "3e38", "single * 10"),
        ("single", "1", "1e300 * 1"),
    ],
)
def test_a_computed_value_that_its_column_cannot_hold_is_refused_before_any_effect(
    graph: og.Graph, column: str, start: str, change: str
) -> None:
    graph.sql(f"INSERT INTO Sample (name, {column}) VALUES ('a', {start}), ('b', NULL)")
    refused(graph, f"UPDATE Sample SET {column} = {change}", OmniError)
    refused(graph, f"INSERT INTO Sample (name, {column}) SELECT 'c', {change} FROM Sample", OmniError)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("small", 2**31),
        ("count", -1),
        ("huge", 2**64),
        ("huge", -1),
        ("single", 1e300),
        ("single", float("nan")),
        ("spot", [1.0, 2.0]),
        ("spot", [1.0, 2.0, 1e300]),
        ("status", "asleep"),
    ],
)
def test_a_given_value_that_its_column_cannot_hold_is_refused_before_any_effect(
    graph: og.Graph, column: str, value: object
) -> None:
    refused(graph, f"INSERT INTO Sample (name, {column}) VALUES ('a', $v)", OmniError, {"v": value})
    types = {"small": "I32", "count": "U32", "huge": "U64", "single": "F32", "spot": "Vector(3)", "status": "String"}
    text = f'query q($v: {types[column]}) {{ insert Sample {{ name: "a", {column}: $v }} }}'
    refused(graph, text, OmniError, {"v": value})


def test_blobs_in_the_middle_of_a_row_are_kept_replaced_and_removed(graph: og.Graph) -> None:
    large = bytes(range(256)) * 4096
    graph.sql("INSERT INTO Sample (name, photo, tags) VALUES ('a', $b, ['t'])", {"b": large})
    graph.sql("INSERT INTO Sample (name, count) VALUES ('b', 7)")
    graph.sql("UPDATE Sample SET small = 1, tags = ['u']")
    assert ask(graph, "SELECT name, small, photo, count, tags FROM Sample ORDER BY name") == [
        ("a", 1, large, None, ["u"]),
        ("b", 1, None, 7, ["u"]),
    ]
    graph.sql("UPDATE Sample SET photo = $b WHERE name = 'b'", {"b": b""})
    graph.sql("UPDATE Sample SET photo = NULL WHERE name = 'a'")
    assert ask(graph, "SELECT photo, count FROM Sample ORDER BY name") == [(None, None), (b"", 7)]
    graph.sql(
        "UPDATE Sample SET photo = $b WHERE name = 'a'; UPDATE Sample SET small = 2 WHERE name = 'a'", {"b": large}
    )
    assert ask(graph, "SELECT small, photo FROM Sample WHERE name = 'a'") == [(2, large)]


# ---- refusals ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("INSERT INTO Airport (code, city) VALUES ('LIM', 'x')", KeyConflict),
        ("INSERT INTO Airport (code, city) VALUES ('F', '1'), ('F', '2')", KeyConflict),
        ("INSERT INTO Airport (code, city) VALUES ('F', '1'), ('F', '2') ON CONFLICT (code) DO UPDATE SET city = 'x'",
         ConstraintViolation),
        ("INSERT INTO Airport (code) VALUES ('X')", TypeMismatch),
        ("INSERT INTO Airport (code, city) SELECT code || 'x', note FROM Airport", ConstraintViolation),
        ("INSERT INTO Airport (code, city) SELECT note, 'x' FROM Airport", ConstraintViolation),
        ("UPDATE Airport SET city = note", ConstraintViolation),
        ("UPDATE Airport SET code = 'X' WHERE code = 'LIM'", TypeMismatch),
        ("UPDATE Route SET src = 'CUZ'", TypeMismatch),
        ("UPDATE Airport SET elevation = r.miles FROM Route r WHERE r.src = Airport.id", ConstraintViolation),
        ("INSERT INTO Route (src, dst) VALUES ('LIM', 'NOPE')", ConstraintViolation),
        ("INSERT INTO Route (src, dst) VALUES ('LIM', NULL)", TypeMismatch),
        ("INSERT INTO Route (id, src, dst) VALUES ('r1', 'LIM', 'CUZ')", KeyConflict),
        ("INSERT INTO Carrier SELECT 'X', 'x', 'as' || 'leep'", ConstraintViolation),
        ("INSERT INTO Note (text) VALUES ('a'); DELETE FROM Route", BoundaryViolation),
        ("INSERT INTO Note (text) VALUES ('a'); INSERT INTO Route (src, dst) VALUES ('LIM', 'NOPE')",
         ConstraintViolation),
        ("INSERT INTO Note (text) VALUES ('a'); INSERT INTO Airport (code, city) VALUES ('LIM', 'x')", KeyConflict),
        ("INSERT INTO Note (text) VALUES ('a'); UPDATE Airport SET elevation = elevation + 2147483647", DataError),
        ('query q() { insert Airport { code: "X" } }', TypeMismatch),
        ('query q() { update Airport set { code: "X" } where code = "LIM" }', TypeMismatch),
        ('query q() { insert Note { text: "a" } delete Route where from = "LIM" }', BoundaryViolation),
        ('query q() { insert Note { text: "a" } insert Route { from: "LIM", to: "NOPE" } }', ConstraintViolation),
    ],
)  # fmt: skip
def test_a_refused_mutation_leaves_no_trace_and_the_next_one_works(
    graph: og.Graph, text: str, kind: type[OmniError]
) -> None:
    refused(graph, text, kind)
    assert counts(graph.sql("INSERT INTO Note (text) VALUES ('next')")) == (1, 0)
    assert ask(graph, "SELECT text FROM Note") == [("next",)]


@pytest.mark.parametrize(
    "text",
    [
        "UPDATE Airport SET elevation = 1 WHERE code = 'NOPE'",
        "DELETE FROM Airport WHERE code = 'NOPE'",
        "TRUNCATE Note",
        "INSERT INTO Airport (code, city) SELECT 'x', city FROM Airport WHERE false",
        "INSERT INTO Airport (code, city) VALUES ('LIM', 'x') ON CONFLICT DO NOTHING",
        'query q() { update Airport set { elevation: 1 } where code = "NOPE" }',
        'query q() { delete Airport where code = "NOPE" }',
    ],
)
def test_a_mutation_that_meets_no_row_makes_no_commit(graph: og.Graph, text: str) -> None:
    before = graph.stats()
    result = run(graph, text)
    assert (counts(result), result.commit_id, result.rowcount) == ((0, 0), None, 0)
    assert graph.stats() == before


# ---- commits ----------------------------------------------------------------------------------------------------


def test_the_receipt_names_the_commit_and_the_commit_its_actor(graph: og.Graph) -> None:
    result = graph.sql("INSERT INTO Note (text) VALUES ('a')")
    other = og.open(graph.uri, actor="bo").gq('query q() { insert Note { text: "b" } }')
    assert [(c.id, c.actor) for c in graph.commits(limit=2)] == [(other.commit_id, "bo"), (result.commit_id, "ana")]
    with graph.transaction(message="why") as transaction:
        inner = transaction.sql("INSERT INTO Note (text) VALUES ('c')")
    assert inner.commit_id is None
    assert [(c.actor, c.message) for c in graph.commits(limit=1)] == [("ana", "why")]


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO Note (text) VALUES ('a')",
        "UPDATE Airport SET elevation = 1 WHERE code = 'LIM'",
        "DELETE FROM Airport WHERE code = 'LIM'",
        "UPDATE Airport SET elevation = 1 WHERE code = 'NOPE'",
        "INSERT INTO Note (text) VALUES ('a'); INSERT INTO Note (text) VALUES ('b')",
        'query q() { insert Note { text: "a" } }',
    ],
)
def test_a_head_the_caller_insists_on_is_compared_once(graph: og.Graph, text: str) -> None:
    speak = graph.gq if text.startswith("query") else graph.sql
    old = graph.head
    graph.sql("INSERT INTO Carrier VALUES ('XX', 'x', NULL)")
    before = graph.stats()
    with pytest.raises(PreconditionFailed) as caught:
        speak(text, expected_head=old)
    assert (caught.value.expected, caught.value.actual) == (old, graph.head)
    assert graph.stats() == before
    result = speak(text, expected_head=graph.head)
    assert graph.head == (result.commit_id or before["head"])


# ---- returning --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "columns", "rows"),
    [
        (
            "INSERT INTO Airport (code, city) VALUES ('A', 'a'), ('B', 'b') RETURNING id, upper(city) AS big, note",
            ("id", "big", "note"),
            [("A", "A", None), ("B", "B", None)],
        ),
        ("INSERT INTO Carrier VALUES ('A', 'a', NULL) RETURNING *", ("iata", "name", "status"), [("A", "a", None)]),
        ("INSERT INTO Note (text) VALUES ('a') RETURNING length(id) AS n, text", ("n", "text"), [(26, "a")]),
        ("INSERT INTO Memo DEFAULT VALUES RETURNING *", ("text", "size"), [(None, None)]),
        (
            "INSERT INTO Airport (code, city) VALUES ('LIM', 'x'), ('NEW', 'n') ON CONFLICT DO NOTHING RETURNING code",
            ("code",),
            [("NEW",)],
        ),
        (
            "INSERT INTO Airport (code, city) VALUES ('LIM', 'x') ON CONFLICT (code)"
            " DO UPDATE SET city = excluded.city WHERE Airport.elevation > 1000 RETURNING *",
            ("code", "city", "elevation", "openedOn", "note"),
            [],
        ),
        (
            "UPDATE Airport SET elevation = elevation + 1 WHERE code = 'LIM' RETURNING code, elevation * 2 AS twice",
            ("code", "twice"),
            [("LIM", 70)],
        ),
        (
            "UPDATE Airport a SET note = b.city FROM Airport b WHERE a.code = 'LIM' AND b.code = 'CUZ'"
            " RETURNING a.note, b.code",
            ("note", "code"),
            [("Cusco", "CUZ")],
        ),
        ("UPDATE Airport SET note = 'n' WHERE code = 'NOPE' RETURNING code", ("code",), []),
        (
            "DELETE FROM Airport WHERE code = 'CUZ' RETURNING *",
            ("code", "city", "elevation", "openedOn", "note"),
            [("CUZ", "Cusco", 3310, None, None)],
        ),
        ("TRUNCATE Carrier RETURNING iata, name", ("iata", "name"), [("LA", "Latam")]),
        (
            "DELETE FROM Route USING Airport a WHERE a.id = Route.dst AND a.city = 'Cusco' RETURNING miles, a.city",
            ("miles", "city"),
            [(363, "Cusco")],
        ),
        (
            "DELETE FROM Airport USING Route r WHERE r.dst = Airport.id AND Airport.code = 'LIM'"
            " RETURNING code, r.dst = 'LIM' AS met",
            ("code", "met"),
            [("LIM", True)],
        ),
        ("DELETE FROM Airport WHERE code = 'NOPE' RETURNING code", ("code",), []),
    ],
)
def test_returning_shows_the_rows_that_were_changed(
    graph: og.Graph, text: str, columns: tuple[str, ...], rows: Rows
) -> None:
    result = graph.sql(text)
    assert (result.columns, result.fetchall()) == (columns, rows)


# ---- ids --------------------------------------------------------------------------------------------------------


def test_rows_without_a_key_are_new_each_time_unless_they_bring_an_id(graph: og.Graph) -> None:
    graph.gq('query q() { insert Note { text: "a" } insert Note { text: "a" } }')
    graph.sql("INSERT INTO Note (id, text) VALUES ('mine', 'b')")
    refused(graph, "INSERT INTO Note (id, text) VALUES ('mine', 'c')", KeyConflict)
    found = ask(graph, "SELECT id, text FROM Note ORDER BY text")
    assert [text for _, text in found] == ["a", "a", "b"]
    assert len({one for one, _ in found}) == 3
    assert found[2] == ("mine", "b")


def test_an_edge_with_a_key_is_replaced_by_one_between_the_same_ends(graph: og.Graph) -> None:
    graph.sql("INSERT INTO Carrier VALUES ('A\"', 'a', NULL), ('B', 'b', NULL)")
    graph.sql("INSERT INTO Likes VALUES ('A\"', 'B', 3), ('B', 'A\"', 1)")
    refused(graph, "INSERT INTO Likes VALUES ('A\"', 'B', 4)", KeyConflict)
    text = "INSERT INTO Likes VALUES ($a, 'B', 4) ON CONFLICT (src, dst) DO UPDATE SET score = score + excluded.score"
    assert counts(graph.sql(text, {"a": 'A"'})) == (0, 1)
    assert ask(graph, "SELECT src, score FROM Likes ORDER BY src") == [('A"', 7), ("B", 1)]
    graph.gq('query q() { insert Likes { from: "B", to: "A\\"" } }')
    assert ask(graph, "SELECT src, score FROM Likes ORDER BY src") == [('A"', 7), ("B", None)]


@pytest.mark.parametrize("params", [{"c": "ZZZ", "n": 3}, [("c", "ZZZ"), ("n", 3)]])
def test_parameters_are_values(graph: og.Graph, params: Any) -> None:
    text = "INSERT INTO Airport (code, city, elevation) VALUES ($c, 'x', $n)"
    graph.sql(text, dict(params))
    graph.sql("UPDATE Airport SET elevation = elevation + $n WHERE code = $c", dict(params))
    assert ask(graph, AIRPORTS) == [("ZZZ", "x", 6, None)]
    assert counts(graph.sql("DELETE FROM Airport WHERE code = ?", ["ZZZ"])) == (1, 0)


def test_a_key_that_exists_is_refused_at_its_statement_and_the_transaction_goes_on(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "keys.omni", schema="node A { k: String @key  n: I64? }")
    graph.sql("INSERT INTO A VALUES ('a', 1)")
    tx = graph.transaction()
    with pytest.raises(KeyConflict, match="it exists already"):
        tx.sql("INSERT INTO A VALUES ('a', 2)")
    assert tx.sql("SELECT k, n FROM A").fetchall() == [("a", 1)]
    assert tx.sql("UPDATE A SET n = 3").affected_nodes == 1
    tx.commit()
    assert graph.sql("SELECT k, n FROM A").fetchall() == [("a", 3)]
