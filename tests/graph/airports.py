"""A small graph of airports, as an application would make it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from omnigraph_sql.graph import Graph, init
from omnigraph_sql.graph import open as open_graph
from tests.engine.worlds import seams

SCHEMA = """
node Airport { code: String @key  city: String  elevation: I32?  @range(elevation, -500..6000) }
node Note { text: String  at: DateTime? }
edge Route: Airport -> Airport { miles: I32 }
"""
CODES = "SELECT code FROM Airport ORDER BY code"
NOTES = "SELECT text FROM Note ORDER BY text"


def airports(folder: Path, *, rows: bool = True) -> Graph:
    """Three airports and two routes, in two commits."""
    graph = init(place(folder), schema=SCHEMA, actor="ana", seams=seams())
    if rows:
        graph.sql("INSERT INTO Airport VALUES ('LIM', 'Lima', 34), ('CUZ', 'Cusco', 3310), ('AQP', 'Arequipa', 2560)")
        graph.sql("INSERT INTO Route (src, dst, miles) VALUES ('LIM', 'CUZ', 363), ('CUZ', 'AQP', 190)")
    return graph


def place(folder: Path) -> Path:
    return folder / "air.omni"


def another(folder: Path, **options: Any) -> Graph:
    """A second handle of the same graph."""
    return open_graph(place(folder), **options)


def column(graph: Any, text: str) -> list[Any]:
    """The first column of a query."""
    return [row[0] for row in graph.sql(text)]
