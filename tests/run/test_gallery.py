"""The examples of the query language, run over a few rows. What they give was worked out by hand."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from omnigraph_sql import graph as og
from omnigraph_sql.engine.store.tables import table_schema
from tests.case_files import read_cases
from tests.schemas import AIRPORTS, SKY

AIR: dict[str, list[dict[str, Any]]] = {
    "Airport": [
        {
            "code": "LIM",
            "city": "Lima",
            "elevation": 34,
            "opened": date(1985, 1, 20),
            "tags": ["coast"],
            "blurb": "gateway by the sea",
            "pos": [1, 0, 0, 0],
        },
        {"code": "CUZ", "city": "Cusco", "elevation": 3310, "blurb": "high Andes airport", "pos": [0, 1, 0, 0]},
        {
            "code": "AQP",
            "city": "Arequipa",
            "elevation": 2560,
            "opened": date(1979, 6, 1),
            "tags": ["island", "seaplane"],
            "blurb": "white city",
            "pos": [1, 1, 0, 0],
        },
        {
            "code": "JUL",
            "city": "Juliaca",
            "elevation": 3826,
            "tags": [],
            "blurb": "Andes plateau",
            "pos": [0, 0, 1, 0],
        },
        {"code": "GRU", "city": "São Paulo", "elevation": 750, "opened": date(1985, 1, 20), "tags": ["island"]},
        {"code": "TMS", "city": "São Tomé"},
    ],
    "Carrier": [
        {"iata": "LA", "name": "Latam", "rating": 3.5, "status": "active"},
        {"iata": "SK", "name": "Sky", "status": "active"},
        {"iata": "DF", "name": "Faucett", "rating": 1.0, "status": "defunct"},
    ],
    "Route": [
        {"id": "r1", "src": "LIM", "dst": "CUZ", "miles": 363},
        {"id": "r2", "src": "CUZ", "dst": "JUL", "miles": 200},
        {"id": "r3", "src": "JUL", "dst": "LIM", "miles": 520},
        {"id": "r4", "src": "LIM", "dst": "AQP", "miles": 475},
        {"id": "r5", "src": "AQP", "dst": "CUZ", "miles": 190},
        {"id": "r6", "src": "LIM", "dst": "CUZ", "miles": 370},
        {"id": "r7", "src": "GRU", "dst": "LIM", "miles": 9100},
        {"id": "r8", "src": "CUZ", "dst": "CUZ", "miles": 5},
        {"id": "r9", "src": "LIM", "dst": "TMS", "miles": 50},
    ],
    "Hub": [
        {"id": "h1", "src": "LA", "dst": "LIM"},
        {"id": "h2", "src": "LA", "dst": "CUZ"},
        {"id": "h3", "src": "SK", "dst": "AQP"},
    ],
    "Owns": [{"id": "o1", "src": "LA", "dst": "SK"}, {"id": "o2", "src": "DF", "dst": "LA"}],
}
NIGHT = datetime(2031, 2, 3, tzinfo=UTC)
HEAVEN: dict[str, list[dict[str, Any]]] = {
    "Star": [
        {"hip": 32349, "name": "Sirius", "mag": -1.5},
        {"hip": 11767, "name": "Polaris", "mag": 2.0},
        {"hip": 24436, "name": "Rigel", "mag": 0.125},
        {"hip": 27989, "mag": 0.5},
        {"hip": 70890, "mag": 11.0},
    ],
    "Telescope": [{"tag": "WIDE-1", "aperture": 0.5}, {"tag": "BIG-8", "aperture": 8.0}],
    "Observed": [
        {"id": "b1", "src": "WIDE-1", "dst": "32349", "at": NIGHT, "seconds": 600},
        {"id": "b2", "src": "BIG-8", "dst": "11767", "at": NIGHT, "seconds": 30},
        {"id": "b3", "src": "WIDE-1", "dst": "11767", "at": NIGHT, "seconds": 60},
        {"id": "b4", "src": "WIDE-1", "dst": "32349", "at": NIGHT, "seconds": 100},
    ],
    "Orbits": [
        {"id": "e1", "src": "32349", "dst": "24436"},
        {"id": "e2", "src": "27989", "dst": "24436"},
        {"id": "e3", "src": "70890", "dst": "27989"},
    ],
}


def made(place: Path, schema: str, rows: dict[str, list[dict[str, Any]]]) -> og.Graph:
    graph = og.init(place, schema=schema)
    for name, own in rows.items():
        of = graph.catalog.node(name) or graph.catalog.edge(name)
        assert of is not None
        known = [
            column for column in table_schema(of) if column.name != "photo" and (column.name != "id" or "id" in own[0])
        ]
        graph.load(pa.Table.from_pylist(own, schema=pa.schema(known)), type=name, mode="append")
    return graph


@pytest.fixture(scope="module")
def air(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    return made(tmp_path_factory.mktemp("air") / "g.omni", AIRPORTS, AIR)


@pytest.fixture(scope="module")
def sky(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    return made(tmp_path_factory.mktemp("sky") / "g.omni", SKY, HEAVEN)


def text_of(number: str) -> str:
    """The first query of a case of the gallery, by the beginning of its name."""
    (case,) = [c for c in read_cases("gq/gallery.case") if c.name.split(" ")[0] == number or c.name == number]
    found = case.only("gq")
    second = found.find("\nquery ")
    return found if second < 0 else found[:second]


Rows = list[tuple[Any, ...]]
READS: list[tuple[str, dict[str, Any], Rows]] = [
    # Parallel routes lead to one neighbour; the loop at CUZ makes CUZ a stop on the way to itself.
    ("1", {"from": "LIM", "to": "CUZ"}, [("AQP", "Arequipa"), ("CUZ", "Cusco")]),
    # JUL is two legs away; CUZ is one away, and one more by its loop.
    ("2", {"c": "LIM"}, [("JUL",), ("CUZ",)]),
    ("3", {"c": "CUZ", "max": 400}, [("CUZ", 5), ("AQP", 190), ("JUL", 200), ("LIM", 363), ("LIM", 370)]),
    ("4", {"c": "LIM"}, [("LA", "Latam")]),
    ("5", {}, [(None, 3), (date(1985, 1, 20), 2), (date(1979, 6, 1), 1)]),
    ("6", {}, [(0, None)]),
    ("7", {}, [("AQP",)]),
    ("8", {"p": "São"}, [("GRU", "São Paulo")]),
    # Angles of 45, 90 and 90 degrees; LIM is closer and too low, the last two have no vector.
    ("9", {"v": [1, 0, 0, 0]}, [("AQP",), ("CUZ",), ("JUL",)]),
    # Nearest: LIM AQP CUZ JUL. Words: JUL (shorter) CUZ. 1/34+1/31, 1/33+1/32, 1/31, 1/32.
    (
        "10",
        {"q": "andes", "v": [1, 0, 0, 0]},
        [
            ("JUL", "Andes plateau"),
            ("CUZ", "high Andes airport"),
            ("LIM", "gateway by the sea"),
            ("AQP", "white city"),
        ],
    ),
    ("11", {"q": "andes"}, [("JUL",)]),
    (
        "15",
        {},
        [("CUZ", "CUZ", "CUZ"), ("CUZ", "JUL", "LIM"), ("JUL", "LIM", "CUZ"), ("LIM", "CUZ", "JUL")],
    ),
    ("16", {}, [("AQP", "CUZ"), ("CUZ", "JUL"), ("LIM", "AQP"), ("LIM", "CUZ")]),
    ("the smallest examples: one row by its key", {"c": "LIM"}, [("LIM", "Lima")]),
    ("edges that do not go far", {}, [("AQP",), ("CUZ",), ("GRU",), ("JUL",), ("TMS",)]),
    # A carrier without hubs has no hub that is low.
    ("for all, by two negations", {}, [("DF",), ("SK",)]),
    (
        "the busiest",
        {},
        [
            ("LIM", 4, 314.5, "São Tomé"),
            ("CUZ", 2, 102.5, "Juliaca"),
            ("AQP", 1, 190.0, "Cusco"),
            ("GRU", 1, 9100.0, "Lima"),
            ("JUL", 1, 520.0, "Lima"),
        ],
    ),
    ("the same question from the other end", {}, [("LA",)]),
]
SKY_READS: list[tuple[str, dict[str, Any], Rows]] = [
    ("18", {"d": 2.0}, [(32349, -1.5), (24436, 0.125), (27989, 0.5)]),
    ("19", {}, [("WIDE-1", 32349, 700, 2), ("WIDE-1", 11767, 60, 1), ("BIG-8", 11767, 30, 1)]),
    # Sirius and its neighbour's neighbours, named ones first; of the unnamed the smaller number.
    ("20", {"h": 32349}, [(24436, "Rigel"), (27989, None), (70890, None)]),
    ("21", {"m": -1.0}, [(32349,)]),
]


def rows(graph: og.Graph, text: str, params: dict[str, Any]) -> Rows:
    """In the order of the query; without one, in any."""
    found = graph.gq(text, params).fetchall()
    return found if "order" in text else sorted(found)


@pytest.mark.parametrize(("number", "params", "expected"), READS, ids=[r[0] for r in READS])
def test_a_query_of_the_gallery_gives_the_rows_worked_out_by_hand(
    air: og.Graph, number: str, params: dict[str, Any], expected: Rows
) -> None:
    assert rows(air, text_of(number), params) == expected


@pytest.mark.parametrize(("number", "params", "expected"), SKY_READS, ids=[r[0] for r in SKY_READS])
def test_a_query_of_the_second_gallery_gives_the_rows_worked_out_by_hand(
    sky: og.Graph, number: str, params: dict[str, Any], expected: Rows
) -> None:
    assert rows(sky, text_of(number), params) == expected


NULLS: list[tuple[str, Rows]] = [
    ("match { $a: Airport { elevation: $e } } return { $a.code }", []),
    (
        "match { $a: Airport  $a.elevation != 34 } return { $a.code } order { $a.code }",
        [("AQP",), ("CUZ",), ("GRU",), ("JUL",)],
    ),
    ("match { $a: Airport  $a.elevation = 34.0 } return { $a.code }", [("LIM",)]),
    ("match { $a: Airport  $a.elevation = 34.5 } return { $a.code }", []),
    (
        "match { $a: Airport  $a.elevation < 3000000000 } return { count($a) as n }",
        [(5,)],
    ),
    ("match { $a: Airport  1000 < $a.elevation } return { $a.code }", [("AQP",), ("CUZ",), ("JUL",)]),
    ('match { $a: Airport  $a.city contains "%" } return { $a.code }', []),
    ('match { $a: Airport  $a.city starts_with "_im" } return { $a.code }', []),
    ('match { $a: Airport  $a.city starts_with "lim" } return { $a.code }', []),
    ('match { $a: Airport  not { $a.blurb contains "e" } } return { $a.code }', [("GRU",), ("TMS",)]),
    ("match { $a: Airport  not { $a.elevation > 1000 } } return { $a.code }", [("GRU",), ("LIM",), ("TMS",)]),
    (
        "match { $a: Airport } return { $a.code } order { $a.elevation }",
        [("TMS",), ("LIM",), ("GRU",), ("AQP",), ("CUZ",), ("JUL",)],
    ),
    (
        "match { $a: Airport } return { $a.code } order { $a.opened desc, $a.code desc }",
        [("LIM",), ("GRU",), ("AQP",), ("TMS",), ("JUL",), ("CUZ",)],
    ),
    ("match { $a: Airport } return { $a.code } limit 2", [("AQP",), ("CUZ",)]),
    ("match { $a: Airport } return { $a.code } limit 0", []),
    ('match { $a: Airport { code: "?" } } return { $a.city, count($a) as n }', []),
    (
        'match { $a: Airport { code: "?" } } return { count($a) as n, sum($a.elevation) as s, min($a.city) as m }',
        [(0, None, None)],
    ),
    ("match { $a: Airport } return { count($a.elevation) as n, max($a.city) as last }", [(5, "São Tomé")]),
    ("match { $c: Carrier } return { count($c) as n, avg($c.rating) as mean }", [(3, 2.25)]),
    ("match { $a: Airport  $a $r:route $b } return { sum($r.miles) as s }", [(11273,)]),
    # Nine edge rows, and of the pairs they join one pair less, for two routes join the same.
    ("match { $a: Airport  $a $r:route $b } return { count($a) as n }", [(9,)]),
    ("match { $a: Airport  $a route $b } return { count($a) as n }", [(8,)]),
    ("match { $a owns $b } return { $a, $b }", [("DF", "LA"), ("LA", "SK")]),
    ("match { $a: Carrier  $b: Carrier } return { count($a) as n }", [(9,)]),
    ("match { $_: Carrier  $_: Carrier  $a: Airport } return { count($a) as n }", [(54,)]),
    # Either way: CUZ has LIM, AQP, JUL and itself, once each.
    (
        'match { $a: Airport { code: "CUZ" }  $a <route> $b } return { $b.code }',
        [("AQP",), ("CUZ",), ("JUL",), ("LIM",)],
    ),
    (
        'match { $a: Airport { code: "TMS" }  $a <route>{2,2} $b } return { $b.code }',
        [("AQP",), ("CUZ",), ("GRU",), ("JUL",)],
    ),
    # Edges between two types are one hop long.
    ('match { $c: Carrier { iata: "LA" }  $c hub{1,3} $a } return { $a.code }', [("CUZ",), ("LIM",)]),
    ('match { $c: Carrier { iata: "LA" }  $c hub{2,3} $a } return { $a.code }', []),
]


@pytest.mark.parametrize(("body", "expected"), NULLS, ids=[n[0][:70] for n in NULLS])
def test_a_query_over_nulls_gives_the_rows_worked_out_by_hand(air: og.Graph, body: str, expected: Rows) -> None:
    assert rows(air, f"query q($e: I32?) {{ {body} }}", {}) == expected


def test_a_limit_of_nothing_still_has_its_columns(air: og.Graph) -> None:
    table = air.gq("query q() { match { $a: Airport } return { $a.code, $a.elevation } limit 0 }").arrow()
    assert (table.num_rows, table.column_names) == (0, ["a.code", "a.elevation"])


# ---- writes -------------------------------------------------------------------------------------------------------

DAY_ONE = "SELECT iata, status, updated IS NOT NULL FROM Carrier ORDER BY iata"
WRITES: list[tuple[str, dict[str, Any], tuple[int, int], str, Rows]] = [
    (
        "12",
        {"i": "ZZ", "n": "Zephyr", "h": "AQP"},
        (2, 1),
        "SELECT c.iata, c.updated IS NOT NULL, a.blurb FROM Carrier c JOIN Hub h ON h.src = c.id "
        "JOIN Airport a ON a.id = h.dst WHERE a.code = 'AQP' ORDER BY 1",
        [("SK", False, "new home base"), ("ZZ", True, "new home base")],
    ),
    # The carrier takes its ownership along; one route is longer than that.
    (
        "13",
        {},
        (1, 2),
        "SELECT (SELECT count(*) FROM Carrier), (SELECT count(*) FROM Owns), (SELECT count(*) FROM Route)",
        [(2, 1, 8)],
    ),
    (
        "the smallest examples: one insert",
        {"c": "LIM", "city": "Callao"},
        (1, 0),
        "SELECT city, elevation, blurb FROM Airport WHERE code = 'LIM'",
        [("Callao", None, None)],
    ),
]
STATEMENTS: list[tuple[str, tuple[int, int], str, Rows]] = [
    (
        'insert Carrier { iata: "ZZ", name: "Zephyr", status: "active", updated: now() }',
        (1, 0),
        DAY_ONE,
        [("DF", "defunct", False), ("LA", "active", False), ("SK", "active", False), ("ZZ", "active", True)],
    ),
    (
        'insert Route { from: "LIM", to: "CUZ", miles: 363, since: now() }',
        (0, 1),
        "SELECT count(*) FROM Route WHERE src = 'LIM' AND dst = 'CUZ' AND miles = 363",
        [(2,)],
    ),
    (
        'update Airport set { city: "Qosqo", elevation: 3399 } where code = "CUZ"',
        (1, 0),
        "SELECT city, elevation, blurb FROM Airport WHERE code = 'CUZ'",
        [("Qosqo", 3399, "high Andes airport")],
    ),
    ("delete Route where miles < 10", (0, 1), "SELECT count(*) FROM Route", [(8,)]),
    # Three routes lead out of Lima to somewhere else, one of them twice; two lead in; one hub is there.
    ('delete Airport where code = "LIM"', (1, 7), "SELECT id FROM Route ORDER BY id", [("r2",), ("r5",), ("r8",)]),
    (
        'delete Route where miles > 9000 delete Route where from = "GRU"',
        (0, 1),
        "SELECT count(*) FROM Route",
        [(8,)],
    ),
    ('delete Airport where code = "?"', (0, 0), "SELECT count(*) FROM Airport", [(6,)]),
]


@pytest.fixture
def own(tmp_path: Path) -> og.Graph:
    return made(tmp_path / "g.omni", AIRPORTS, AIR)


@pytest.mark.parametrize(("number", "params", "counts", "asked", "expected"), WRITES, ids=[w[0] for w in WRITES])
def test_a_write_of_the_gallery_leaves_what_was_worked_out_by_hand(
    own: og.Graph, number: str, params: dict[str, Any], counts: tuple[int, int], asked: str, expected: Rows
) -> None:
    done = own.gq(text_of(number), params)
    assert (done.affected_nodes, done.affected_edges) == counts
    assert own.sql(asked).fetchall() == expected


@pytest.mark.parametrize(("body", "counts", "asked", "expected"), STATEMENTS, ids=[s[0][:50] for s in STATEMENTS])
def test_a_statement_leaves_what_was_worked_out_by_hand(
    own: og.Graph, body: str, counts: tuple[int, int], asked: str, expected: Rows
) -> None:
    before = own.head
    done = own.gq(f"query q() {{ {body} }}")
    assert (done.affected_nodes, done.affected_edges) == counts
    assert (own.head == before) == (counts == (0, 0))
    assert own.sql(asked).fetchall() == expected


def test_ends_of_edges_are_given_as_text_whatever_the_key_is(tmp_path: Path) -> None:
    graph = made(tmp_path / "g.omni", SKY, HEAVEN)
    done = graph.gq(text_of("17"), {"t": "WIDE-1", "s": "24436", "sec": 600})
    assert (done.affected_nodes, done.affected_edges) == (0, 1)
    asked = "SELECT s.name, o.seconds FROM Observed o JOIN Star s ON s.id = o.dst WHERE s.hip = 24436"
    assert graph.sql(asked).fetchall() == [("Rigel", 600)]
