"""A small graph of airports, with a property of every type."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa

import omnigraph_sql as og

SCHEMA = """
node Airport {
    code: String @key
    city: String
    elevation: I32?
    passengers: U64?
    runways: U32?
    rating: F32?
    score: F64?
    hub: Bool?
    opened: Date?
    seen: DateTime?
    size: enum(large, small)?
    tags: [String]?
    mood: Vector(2)?
    @range(elevation, -500..5000)
    @unique(city)
}
node Photo { name: String @key  picture: Blob?  counts: [U64]? }
edge Route: Airport -> Airport { miles: I32? }
edge Shows: Photo -> Airport
"""
COLUMNS = ["id", "code", "city", "elevation", "passengers", "runways", "rating", "score", "hub", "opened", "seen"]


def airports() -> pa.Table:
    most = 2**64 - 1
    return pa.table(
        {
            "code": ["LIM", "CUZ", "LPB", "AQP"],
            "city": ["Lima", "Cusco", "La Paz", "Arequipa"],
            "elevation": pa.array([34, 3310, None, 2561], pa.int32()),
            "passengers": pa.array([most, 0, None, 5], pa.uint64()),
            "runways": pa.array([2**32 - 1, 1, None, 1], pa.uint32()),
            "rating": pa.array([1.5, None, -0.0, 3.25], pa.float32()),
            "score": [1e308, None, 0.1, -5.0],
            "hub": [True, False, None, False],
            "opened": [date(1960, 10, 30), None, date(1, 1, 1), date(9999, 12, 31)],
            "seen": pa.array([datetime(2020, 1, 2, 3, 4, 5, 678901, UTC), None, None, None], pa.timestamp("us", "UTC")),
            "size": ["large", None, "small", "small"],
            "tags": [["a", None], [], None, ["ü"]],
            "mood": [[1.0, 2.0], None, None, [0.5, -1.0]],
        }
    )


def air(folder: Path, name: str = "air") -> og.Graph:
    """The airports, three routes (one of them a loop) and a picture, in several commits."""
    graph = og.init(folder / f"{name}.omni", schema=SCHEMA)
    graph.load(airports(), type="Airport", mode="append")
    counts = pa.array([[1, 2**64 - 1], [None]], pa.list_(pa.uint64()))
    photos = pa.table({"name": ["a", "b"], "picture": [b"\x00\xff" * 9, None], "counts": counts})
    graph.load(photos, type="Photo", mode="append")
    routes = {"src": ["LIM", "CUZ", "LPB", "LIM"], "dst": ["CUZ", "LPB", "LPB", "AQP"], "miles": [363, 333, 1, None]}
    graph.load(pa.table(routes), type="Route", mode="append")
    graph.load(pa.table({"src": ["a"], "dst": ["LIM"]}), type="Shows", mode="append")
    return graph


def content(graph: og.Graph) -> dict[str, list[tuple[object, ...]]]:
    """Everything in a graph: ids that were made on the way are left out."""
    found: dict[str, list[tuple[object, ...]]] = {}
    for of in graph.catalog.tables():
        names = [f.name for f in of.schema.fields if f.name != "id"]
        rows = graph.sql(f"SELECT {', '.join(names)} FROM {of.name}").fetchall()
        found[of.name] = sorted(rows, key=repr)
    return found
