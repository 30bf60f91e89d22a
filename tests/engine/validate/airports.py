"""The graph that the tables of cases change: a few airports, carriers and what connects them."""

from __future__ import annotations

from datetime import date

from omnigraph_sql.bind.schema import compile_schema
from omnigraph_sql.engine.write.staging import Mode, TableChanges
from tests.engine.validate.graphs import Row, changed, type_of

CATALOG = compile_schema(
    """
    node Airport {
        code: String @key
        city: String
        kind: enum(civil, military)
        icao: String? @unique
        elevation: I32?
        runways: U64?
        lat: F32?
        marks: [F64]?
        names: [String]?
        pos: Vector(2)?
        day: Date?
        slug: String?
        @unique(city, day)
        @range(elevation, 0..6000)
        @range(runways, 1..)
        @range(lat, -90..0.1)
        @check(city, "^[A-Z]")
        @check(slug, "^\\\\w+$")
    }
    node Carrier { iata: String @key  score: F64?  rate: F64? @unique  @unique(iata)  @range(score, ..10) }
    edge Route: Airport -> Airport @card(1..2) { note: String?  @unique(src, dst) }
    edge Hub: Carrier -> Airport @card(0..1)
    edge Seen: Airport -> Carrier { at: Date? }
    """
).catalog
AIRPORT, CARRIER, ROUTE, HUB, SEEN = (type_of(CATALOG, n) for n in ("Airport", "Carrier", "Route", "Hub", "Seen"))
DAY = date(2020, 2, 29)


def airport(code: str, **more: object) -> Row:
    return {"id": code, "code": code, "city": "Lima", "kind": "civil", **more}


def carrier(code: str, **more: object) -> Row:
    return {"id": code, "iata": code, **more}


def edge(id: str, src: str | None, dst: str | None, **more: object) -> Row:
    return {"id": id, "src": src, "dst": dst, **more}


BASE = {
    "Airport": [airport("LIM", icao="SPJC", day=DAY), airport("CUZ", icao="SPZO"), airport("AQP"), airport("IQT")],
    "Carrier": [carrier("LA", rate=0.0), carrier("H2")],
    "Route": [edge("r1", "LIM", "CUZ"), edge("r2", "LIM", "AQP"), edge("r3", "CUZ", "LIM")],
    "Hub": [edge("h1", "LA", "LIM")],
    "Seen": [edge("s1", "IQT", "H2")],
}
INSERT, UPSERT, DELETE, OVERWRITE = Mode.INSERT, Mode.UPSERT, Mode.DELETE, Mode.OVERWRITE


def one(*given: Row) -> list[TableChanges]:
    return [changed(AIRPORT, INSERT, list(given))]
