"""Answers are what plans mean: random statements over random graphs, with and without pending rows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from omnigraph_sql.base.catalog import NodeType
from omnigraph_sql.base.errors import LanguageError
from omnigraph_sql.bind.bound import Walk
from omnigraph_sql.engine.write.staging import MutationStaging
from omnigraph_sql.plan.explain import explain
from omnigraph_sql.plan.lower import lower
from omnigraph_sql.run.read import read
from tests.plan import interpreter
from tests.plan.interpreter import bag, run
from tests.plan.statements import graphs, reads, selects
from tests.plan.values import Row, Tables, World
from tests.run.graphs import Graph, Rows, rows_of
from tests.run.oracles import neighbors
from tests.schemas import AIRPORTS

EXAMPLES = int(os.environ.get("OMNI_READ_EXAMPLES", "100"))
often = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


def airport(code: str, city: str, elevation: int | None) -> dict[str, Any]:
    rest = dict.fromkeys(("opened", "tags", "blurb", "pos", "photo"))
    return {"id": code, "code": code, "city": city, "elevation": elevation, **rest}


def carrier(iata: str, name: str) -> dict[str, Any]:
    return {"id": iata, "iata": iata, "name": name, "rating": None, "status": "active", "updated": None}


def route(name: str, src: str, dst: str, miles: int) -> dict[str, Any]:
    return {"id": name, "src": src, "dst": dst, "miles": miles, "since": None}


COMMITTED: Rows = {
    "Airport": [airport("LIM", "Lima", 1), airport("CUZ", "Cusco", None), airport("AQP", "Lima", 3)],
    "Carrier": [carrier("LIM", "Lima"), carrier("LA", "Cusco")],
    "Route": [
        route("r0", "LIM", "CUZ", 1),
        route("r1", "LIM", "CUZ", 2),
        route("r8", "CUZ", "CUZ", 0),
        route("r9", "CUZ", "AQP", 3),
    ],
    "Hub": [{"id": "h0", "src": "LIM", "dst": "LIM"}, {"id": "h9", "src": "LA", "dst": "AQP"}],
    "Owns": [],
}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    folder: Path = tmp_path_factory.mktemp("reads")
    return Graph(folder / "graph", AIRPORTS, COMMITTED)


@pytest.fixture(autouse=True)
def exact_hops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of hops mean shortest distances."""

    def by_distance(plan: Any, world: World, start: Any) -> Iterator[tuple[Row | None, Any]]:
        edges = [(e["src"], e["dst"]) for e in world.tables[plan.edge.name]]
        found = neighbors(edges, plan.direction, start, plan.hops.minimum, plan.hops.maximum)
        return ((None, end) for end in found)

    monkeypatch.setitem(interpreter._EXPANSIONS, Walk.NEIGHBORS, by_distance)


@st.composite
def pending(draw: st.DrawFn) -> dict[str, tuple[str, list[dict[str, Any]]]]:
    """By type: how the rows of a drawn graph change the committed ones."""
    drawn: Tables = draw(graphs())
    ways = st.sampled_from(("none", "none", "insert", "upsert", "overwrite", "delete"))
    return {name: (draw(ways), rows) for name, rows in drawn.items()}


def staged(graph: Graph, changes: dict[str, tuple[str, list[dict[str, Any]]]]) -> tuple[MutationStaging, Tables]:
    """The changes as staged, and the rows that are to be seen; edges without both of their ends are left out."""
    staging = MutationStaging()
    seen: Tables = {}
    for of in sorted(graph.catalog.tables(), key=lambda t: not isinstance(t, NodeType)):
        name = of.name
        way, rows = changes[name]
        base = {r["id"]: r for r in COMMITTED[name]}
        if not isinstance(of, NodeType):
            ends = [{r["id"] for r in seen[t]} for t in (of.source, of.target)]
            rows = [r for r in rows if r["src"] in ends[0] and r["dst"] in ends[1]]
            broken = any(r["src"] not in ends[0] or r["dst"] not in ends[1] for r in base.values())
            way = "overwrite" if broken else way
        if way == "insert":
            rows = [r for r in rows if r["id"] not in base]
        match way:
            case "insert" | "upsert":
                (staging.insert if way == "insert" else staging.upsert)(of, graph.table(name, rows))
                base |= {r["id"]: r for r in rows}
            case "overwrite":
                staging.overwrite(of, graph.table(name, rows))
                base = {r["id"]: r for r in rows}
            case "delete":
                staging.delete(of, graph.table(name, rows)["id"].combine_chunks())
                base = {k: r for k, r in base.items() if k not in {r["id"] for r in rows}}
            case _:
                pass
        seen[name] = list(base.values())
    return staging, seen


def answers_alike(graph: Graph, text: str, changes: dict[str, tuple[str, list[dict[str, Any]]]]) -> None:
    note(text)
    try:
        (program,) = graph.compile(text).programs
    except LanguageError:
        return
    staging, seen = staged(graph, changes)
    note(explain(program.plan))
    note(str(seen))
    expected = bag(run(lower(program.bound.statement), seen))
    assert bag(rows_of(read(program.plan, graph.scene(staging=staging)))) == expected
    assert bag(rows_of(read(lower(program.bound.statement), graph.scene(staging=staging)))) == expected


@often
@given(text=reads(), changes=pending())
def test_a_gq_read_gives_the_rows_its_plan_means(
    graph: Graph, text: str, changes: dict[str, tuple[str, list[dict[str, Any]]]]
) -> None:
    answers_alike(graph, text, changes)


@often
@given(text=selects(), changes=pending())
def test_a_select_gives_the_rows_its_plan_means(
    graph: Graph, text: str, changes: dict[str, tuple[str, list[dict[str, Any]]]]
) -> None:
    answers_alike(graph, text, changes)
