"""Each rule once broken and once just kept, in every mode: what is said, and which facts the error carries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from math import inf

import pytest

from omnigraph_sql.base.errors import ConstraintViolation
from omnigraph_sql.engine.values import Snapshot
from omnigraph_sql.engine.world import World
from omnigraph_sql.engine.write.staging import TableChanges
from omnigraph_sql.engine.write.validate import validate, violations
from tests.engine.validate.airports import (
    AIRPORT,
    CARRIER,
    CATALOG,
    DAY,
    DELETE,
    HUB,
    INSERT,
    OVERWRITE,
    ROUTE,
    SEEN,
    UPSERT,
    airport,
    carrier,
    edge,
    one,
)
from tests.engine.validate.graphs import changed


@dataclass(frozen=True)
class Refused:
    message: str
    rule: str
    type: str
    properties: tuple[str, ...]
    value: object
    ids: tuple[str, ...]


def value(message: str, rule: str, name: str, found: object, *, of: str = "Airport", id: str = "X") -> Refused:
    return Refused(f"{of}.{name} of '{id}' {message}", rule, of, (name,), found, (id,))


VALUES: dict[str, tuple[list[TableChanges], Refused]] = {
    "null in a required property": (
        one(airport("X", city=None)),
        value("is null, but it is required", "not_null", "city", None),
    ),
    "null in a key": (
        one({**airport("X"), "code": None}),
        value("is null, but it is part of the key", "not_null", "code", None),
    ),
    "null as a source": (
        [changed(SEEN, INSERT, [edge("e", None, "LA")])],
        value("is null, but it is required", "not_null", "src", None, of="Seen", id="e"),
    ),
    "no label of the enum": (
        one(airport("V"), airport("W"), airport("X", kind="Civil")),
        value("is 'Civil', not one of civil, military", "enum", "kind", "Civil"),
    ),
    "above the range": (
        one(airport("X", elevation=6001)),
        value("is 6001, outside 0..6000", "range", "elevation", 6001),
    ),
    "below the range": (
        one(airport("X", elevation=-1)),
        value("is -1, outside 0..6000", "range", "elevation", -1),
    ),
    "below an open range": (
        one(airport("X", runways=0)),
        value("is 0, outside 1..", "range", "runways", 0),
    ),
    "above a decimal bound": (
        one(airport("X", lat=0.25)),
        value("is 0.25, outside -90..0.1", "range", "lat", 0.25),
    ),
    "a pattern that is not found": (
        one(airport("X", city="lima")),
        value("is 'lima', which does not match '^[A-Z]'", "check", "city", "lima"),
    ),
    "a pattern that RE2 is not asked about": (
        one(airport("X", slug="a b")),
        value("is 'a b', which does not match '^\\w+$'", "check", "slug", "a b"),
    ),
    "an infinite number": (
        [changed(CARRIER, INSERT, [carrier("X", score=-inf)])],
        value("is -inf, not a finite number", "finite", "score", -inf, of="Carrier"),
    ),
    "an infinite item": (
        one(airport("W", marks=None), airport("X", marks=[None, 1.0, inf, -inf])),
        value("holds inf, not a finite number", "finite", "marks", inf),
    ),
    "an infinite element": (
        one(airport("V"), airport("W", pos=[1, 2]), airport("X", pos=[0, inf])),
        value("holds inf, not a finite number", "finite", "pos", inf),
    ),
    "a null element": (
        one(airport("V"), airport("W", pos=[1, 2]), airport("X", pos=[1, None])),
        value("has an element that is null", "vector", "pos", None),
    ),
    "in an upsert": (
        [changed(AIRPORT, UPSERT, [airport("LIM", elevation=9000)])],
        value("is 9000, outside 0..6000", "range", "elevation", 9000, id="LIM"),
    ),
    "in an image that a later one replaces": (
        [changed(AIRPORT, UPSERT, [airport("LIM", elevation=9000)], [airport("LIM", elevation=1)])],
        value("is 9000, outside 0..6000", "range", "elevation", 9000, id="LIM"),
    ),
    "in an overwrite": (
        [changed(CARRIER, OVERWRITE, [carrier("X", score=10.5), carrier("LA"), carrier("H2")])],
        value("is 10.5, outside ..10", "range", "score", 10.5, of="Carrier"),
    ),
}


def unique(shown: str, names: tuple[str, ...], found: object, *ids: str, of: str = "Airport") -> Refused:
    what = names[0] if len(names) == 1 else f"({', '.join(names)})"
    whose = f"both '{ids[0]}' and '{ids[1]}'" if len(ids) > 1 else f"'{ids[0]}', given twice"
    return Refused(f"{of}.{what} is {shown} in {whose}, but it must be unique", "unique", of, names, found, ids)


UNIQUE: dict[str, tuple[list[TableChanges], Refused]] = {
    "two rows of one batch": (
        one(airport("X", icao="A"), airport("Y", icao="B"), airport("Z", icao="A")),
        unique("'A'", ("icao",), "A", "X", "Z"),
    ),
    "the same row twice in one batch": (
        [changed(AIRPORT, UPSERT, [airport("X", icao="A"), airport("X", icao="A")])],
        unique("'A'", ("icao",), "A", "X"),
    ),
    "two rows of two batches": (
        [changed(AIRPORT, INSERT, [airport("X", icao="A")], [airport("Y", icao="A")])],
        unique("'A'", ("icao",), "A", "X", "Y"),
    ),
    "a committed row": (
        one(airport("X", icao="SPZO")),
        unique("'SPZO'", ("icao",), "SPZO", "X", "CUZ"),
    ),
    "two zeros": (
        [changed(CARRIER, INSERT, [carrier("X", rate=-0.0)])],
        unique("-0.0", ("rate",), 0.0, "X", "LA", of="Carrier"),
    ),
    "two zeros of one batch": (
        [changed(CARRIER, UPSERT, [carrier("LA", rate=1.0), carrier("X", rate=0.0), carrier("Y", rate=-0.0)])],
        unique("0.0", ("rate",), 0.0, "X", "Y", of="Carrier"),
    ),
    "a tuple with a member that is null beside one that is not": (
        one(airport("X", city="Cusco"), airport("Y", city="Cusco", day=DAY), airport("Z", city="Cusco", day=DAY)),
        unique("('Cusco', 2020-02-29)", ("city", "day"), ("Cusco", DAY), "Y", "Z"),
    ),
    "a committed row, by an upsert": (
        [changed(AIRPORT, UPSERT, [airport("AQP", icao="SPZO")])],
        unique("'SPZO'", ("icao",), "SPZO", "AQP", "CUZ"),
    ),
    "a committed tuple": (
        one(airport("X", day=DAY)),
        unique("('Lima', 2020-02-29)", ("city", "day"), ("Lima", DAY), "X", "LIM"),
    ),
    "ends of an edge": (
        [changed(ROUTE, INSERT, [edge("r9", "CUZ", "LIM")])],
        unique("('CUZ', 'LIM')", ("src", "dst"), ("CUZ", "LIM"), "r9", "r3", of="Route"),
    ),
    "rows of an overwrite": (
        [changed(ROUTE, OVERWRITE, [edge("a", "LIM", "CUZ"), edge("b", "LIM", "CUZ"), edge("c", "CUZ", "LIM")])],
        unique("('LIM', 'CUZ')", ("src", "dst"), ("LIM", "CUZ"), "a", "b", of="Route"),
    ),
}


def end(message: str, of: str, side: str, found: str, id: str) -> Refused:
    return Refused(message, "endpoint", of, (side,), found, (id,))


ENDPOINTS: dict[str, tuple[list[TableChanges], Refused]] = {
    "no such source": (
        [changed(ROUTE, INSERT, [edge("r9", "ZZZ", "LIM")])],
        end("Route 'r9' comes from Airport 'ZZZ', which does not exist", "Route", "src", "ZZZ", "r9"),
    ),
    "no such target": (
        [changed(SEEN, UPSERT, [edge("s1", "IQT", "LIM")])],
        end("Seen 's1' goes to Carrier 'LIM', which does not exist", "Seen", "dst", "LIM", "s1"),
    ),
    "a source that an overwrite leaves out": (
        [
            changed(HUB, INSERT, [edge("h9", "H2", "LIM")]),
            changed(CARRIER, OVERWRITE, [carrier("LA")]),
            changed(SEEN, OVERWRITE, []),
        ],
        end("Hub 'h9' comes from Carrier 'H2', which does not exist", "Hub", "src", "H2", "h9"),
    ),
    "a source that is deleted, in a merge": (
        [changed(SEEN, UPSERT, [edge("s1", "IQT", "LA")]), changed(AIRPORT, DELETE, deleted=["IQT"])],
        end("Seen 's1' comes from Airport 'IQT', which does not exist", "Seen", "src", "IQT", "s1"),
    ),
    "a deleted node with an outgoing edge": (
        [changed(AIRPORT, DELETE, deleted=["IQT"])],
        end("Airport 'IQT' goes, but Seen 's1' comes from it", "Seen", "src", "IQT", "s1"),
    ),
    "a deleted node with an incoming edge": (
        [changed(AIRPORT, DELETE, deleted=["AQP"])],
        end("Airport 'AQP' goes, but Route 'r2' goes to it", "Route", "dst", "AQP", "r2"),
    ),
    "an overwrite of nodes under kept edges": (
        [changed(CARRIER, OVERWRITE, [carrier("H2"), carrier("XX")])],
        end("Carrier 'LA' goes, but Hub 'h1' comes from it", "Hub", "src", "LA", "h1"),
    ),
    "an overwrite of nodes with nothing": (
        [changed(CARRIER, OVERWRITE, []), changed(SEEN, OVERWRITE, [])],
        end("Carrier 'LA' goes, but Hub 'h1' comes from it", "Hub", "src", "LA", "h1"),
    ),
    "an overwritten edge table with an old end": (
        [changed(SEEN, OVERWRITE, [edge("s2", "IQT", "ZZ")])],
        end("Seen 's2' goes to Carrier 'ZZ', which does not exist", "Seen", "dst", "ZZ", "s2"),
    ),
}


def card(of: str, source: str, count: int, wanted: str) -> Refused:
    node = "Airport" if of == "Route" else "Carrier"
    text = f"{node} '{source}' would have {count} {of} {'edge' if count == 1 else 'edges'}, {wanted}"
    return Refused(text, "card", of, ("src",), count, (source,))


CARDINALITY: dict[str, tuple[list[TableChanges], Refused]] = {
    "one edge too many": (
        [changed(ROUTE, INSERT, [edge("r9", "LIM", "IQT")])],
        card("Route", "LIM", 3, "at most 2 are allowed"),
    ),
    "too many in one go": (
        [changed(HUB, INSERT, [edge("a", "H2", "LIM")], [edge("b", "H2", "CUZ")])],
        card("Hub", "H2", 2, "at most 1 is allowed"),
    ),
    "too many because one moves in": (
        [changed(ROUTE, UPSERT, [edge("r3", "LIM", "LIM")], [edge("r9", "CUZ", "IQT")])],
        card("Route", "LIM", 3, "at most 2 are allowed"),
    ),
    "too few because one moves away": (
        [changed(ROUTE, UPSERT, [edge("r3", "AQP", "LIM")])],
        card("Route", "CUZ", 0, "at least 1 is required"),
    ),
    "too few because one is deleted": (
        [changed(ROUTE, DELETE, deleted=["r3"])],
        card("Route", "CUZ", 0, "at least 1 is required"),
    ),
    "too few because an overwrite leaves them out": (
        [changed(ROUTE, OVERWRITE, [edge("r3", "CUZ", "LIM")])],
        card("Route", "LIM", 0, "at least 1 is required"),
    ),
    "too many in an overwrite": (
        [changed(HUB, OVERWRITE, [edge("a", "LA", "LIM"), edge("b", "LA", "CUZ")])],
        card("Hub", "LA", 2, "at most 1 is allowed"),
    ),
}

BROKEN = {
    f"{group}: {name}": case
    for group, cases in (("value", VALUES), ("unique", UNIQUE), ("endpoint", ENDPOINTS), ("card", CARDINALITY))
    for name, case in cases.items()
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_is_told_with_its_facts(graph: tuple[World, Snapshot], name: str) -> None:
    changes, refused = BROKEN[name]
    with pytest.raises(ConstraintViolation) as caught:
        validate(*graph, CATALOG, changes)
    error = caught.value
    told = Refused(error.message, error.rule, error.type, error.properties, error.value, error.ids)
    assert told == refused
    assert [v.message for v in violations(*graph, CATALOG, changes)] == [refused.message]


KEPT: dict[str, list[TableChanges]] = {
    "nothing": [],
    "nulls where they may be": one(airport("X")),
    "bounds are inside": one(airport("X", elevation=0, runways=1, lat=-90), airport("Y", elevation=6000, lat=0.1)),
    "the largest number": one(airport("X", runways=2**64 - 1)),
    "a pattern means what Python makes of it": one(airport("X", city="A\n", slug="é\n")),
    "null items of a list": one(airport("X", marks=[None, 1.5], names=[None, ""])),
    "empty lists": one(airport("X", marks=[], names=[]), airport("Y", pos=[0, 0])),
    "null in a unique property, twice": one(airport("X"), airport("Y")),
    "null in a unique tuple": one(airport("X", city="Lima", day=None)),
    "half of a tuple": one(airport("X", city="Cusco", day=DAY), airport("Y", day=date(2020, 3, 1))),
    "a row keeps its own unique value": [changed(AIRPORT, UPSERT, [airport("CUZ", icao="SPZO", elevation=3300)])],
    "two rows swap a unique value": [
        changed(AIRPORT, UPSERT, [airport("CUZ", icao="SPJC"), airport("LIM", icao="SPZO")])
    ],
    "a value freed in one statement and taken in the next": [
        changed(AIRPORT, UPSERT, [airport("CUZ", icao="Q")], [airport("CUZ", icao=None)], [airport("X", icao="Q")])
    ],
    "a value that a deleted row frees, in a merge": [
        changed(AIRPORT, UPSERT, [airport("X", icao="SPZO")], deleted=["CUZ"]),
        changed(ROUTE, DELETE, deleted=["r1", "r3"]),
    ],
    "a value that an overwrite frees": [
        changed(AIRPORT, OVERWRITE, [airport("X", icao="SPZO"), *(airport(c) for c in ("LIM", "CUZ", "AQP", "IQT"))])
    ],
    "the key again": [changed(AIRPORT, UPSERT, [airport("LIM"), airport("LIM")])],
    "the key again, which is called unique too": [changed(CARRIER, UPSERT, [carrier("X"), carrier("X")])],
    "edges to nodes of the same transaction": [
        changed(AIRPORT, INSERT, [airport("X")]),
        changed(ROUTE, INSERT, [edge("r9", "X", "X"), edge("r8", "X", "LIM")]),
    ],
    "a deleted node that is written again, in a merge": [changed(AIRPORT, UPSERT, [airport("AQP")], deleted=["AQP"])],
    "a deleted node with its edges": [
        changed(AIRPORT, DELETE, deleted=["IQT"]),
        changed(SEEN, DELETE, deleted=["s1"]),
    ],
    "a deleted source is not counted": [
        changed(AIRPORT, DELETE, deleted=["CUZ"]),
        changed(ROUTE, DELETE, deleted=["r1", "r3"]),
    ],
    "ids that are nowhere": [changed(AIRPORT, DELETE, deleted=["nobody"]), changed(ROUTE, DELETE, deleted=["none"])],
    "an edge that moves from a deleted node, in a merge": [
        changed(AIRPORT, DELETE, deleted=["IQT"]),
        changed(SEEN, UPSERT, [edge("s1", "AQP", "H2")]),
    ],
    "nodes and edges are overwritten together": [
        changed(AIRPORT, OVERWRITE, [airport("X")]),
        changed(ROUTE, OVERWRITE, [edge("r", "X", "X")]),
        changed(HUB, OVERWRITE, []),
        changed(SEEN, OVERWRITE, []),
    ],
    "an edge that is sent again counts once": [changed(ROUTE, UPSERT, [edge("r1", "LIM", "CUZ", note="again")])],
    "an edge that is sent twice counts once": [
        changed(HUB, UPSERT, [edge("h9", "H2", "LIM")], [edge("h9", "H2", "CUZ")])
    ],
    "an edge makes room for another": [changed(ROUTE, UPSERT, [edge("r1", "AQP", "LIM"), edge("r9", "LIM", "IQT")])],
    "a node without edges is not asked for a minimum": one(airport("X")),
    "one of two edges goes": [changed(ROUTE, DELETE, deleted=["r2"])],
    "a table is emptied that nothing needs": [changed(SEEN, OVERWRITE, [])],
}


@pytest.mark.parametrize("name", KEPT)
def test_a_near_miss_passes(graph: tuple[World, Snapshot], name: str) -> None:
    assert list(violations(*graph, CATALOG, KEPT[name])) == []
