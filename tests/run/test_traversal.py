"""Hop windows and paths, on random graphs, against traversals spelled out."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from omnigraph_sql.base.errors import ResourceLimitExceeded
from omnigraph_sql.engine.write.staging import MutationStaging
from omnigraph_sql.run import adjacency
from tests.run.graphs import Graph
from tests.run.oracles import neighbors, walks

SCHEMA = """
node Stop { name: String @key }
node Depot { name: String @key }
edge Line: Stop -> Stop
edge Ends: Stop -> Depot
"""
NAMES = "ABCDEF"
often = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
lines = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=10)
windows = st.tuples(st.integers(1, 3), st.integers(0, 2)).map(lambda w: (w[0], w[0] + w[1]))
ARROWS = {"out": "-[IS Line]->", "in": "<-[IS Line]-", "both": "-[IS Line]-"}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """Stops without lines; tests put lines on top."""
    folder: Path = tmp_path_factory.mktemp("lines")
    nodes = [{"id": n, "name": n} for n in NAMES]
    return Graph(folder / "graph", SCHEMA, {"Stop": nodes, "Depot": [{"id": "A", "name": "A"}]})


def laid(graph: Graph, pairs: list[tuple[str, str]]) -> MutationStaging:
    staging = MutationStaging()
    graph.stage(staging, {"Line": [{"id": f"l{i}", "src": a, "dst": b} for i, (a, b) in enumerate(pairs)]})
    return staging


@often
@given(pairs=lines, window=windows, both=st.booleans())
def test_a_window_of_hops_is_a_window_of_shortest_distances(
    graph: Graph, pairs: list[tuple[str, str]], window: tuple[int, int], both: bool
) -> None:
    least, most = window
    edge = f"<line>{{{least},{most}}}" if both else f"line{{{least},{most}}}"
    text = f"query q() {{ match {{ $a: Stop  $a {edge} $b }} return {{ $a.name as a, $b.name as b }} }}"
    note(text)
    expected = {(a, b) for a in NAMES for b in neighbors(pairs, "both" if both else "out", a, least, most)}
    assert Counter(graph.ask(text, staging=laid(graph, pairs))) == Counter(expected)


def test_the_worked_example_of_a_window_with_loops_and_parallel_lines(graph: Graph) -> None:
    pairs = [("A", "B"), ("B", "C"), ("C", "A"), ("B", "B"), ("A", "C"), ("A", "C")]
    asked = {
        ("A", "{1,2}"): {"B", "C"},
        ("A", "{2,2}"): {"B"},
        ("B", "{1,1}"): {"B", "C"},
        ("B", "{2,3}"): {"A"},
    }
    for (start, hops), expected in asked.items():
        text = f'query q() {{ match {{ $a: Stop {{ name: "{start}" }}  $a line{hops} $b }} return {{ $b.name as b }} }}'
        assert Counter(graph.ask(text, staging=laid(graph, pairs))) == Counter({(e,): 1 for e in expected})


def test_a_step_to_another_type_is_one_hop_even_where_ids_are_the_same(graph: Graph) -> None:
    staging = MutationStaging()
    graph.stage(staging, {"Ends": [{"id": "e", "src": "A", "dst": "A"}]})
    for hops, expected in (("{1,3}", [("A", "A")]), ("{2,3}", [])):
        text = f"query q() {{ match {{ $a: Stop  $a ends{hops} $d }} return {{ $a.name as a, $d.name as d }} }}"
        assert graph.ask(text, staging=staging) == expected


@often
@given(pairs=lines, window=st.tuples(st.integers(0, 2), st.integers(1, 3)), direction=st.sampled_from(sorted(ARROWS)))
def test_a_quantified_step_gives_every_walk_with_its_path(
    graph: Graph, pairs: list[tuple[str, str]], window: tuple[int, int], direction: str
) -> None:
    least, most = window[0], max(window)
    found = graph.ask(paths("", direction, f"{{{least},{most}}}"), staging=laid(graph, pairs))
    named = [(f"l{i}", a, b) for i, (a, b) in enumerate(pairs)]
    expected: Counter[Any] = Counter()
    for start in NAMES:
        for nodes, edges in walks(named, direction, start, least, most):
            expected[(start, nodes[-1], len(edges), nodes, edges)] += 1
    assert Counter((a, b, n, tuple(v), tuple(e)) for a, b, n, v, e in found) == expected


@often
@given(pairs=lines, window=st.tuples(st.integers(0, 3), st.integers(1, 4)), direction=st.sampled_from(sorted(ARROWS)))
def test_any_shortest_gives_one_walk_of_least_length_for_every_pair(
    graph: Graph, pairs: list[tuple[str, str]], window: tuple[int, int], direction: str
) -> None:
    least, most = window[0], max(window)
    found = graph.ask(paths("ANY SHORTEST", direction, f"{{{least},{most}}}"), staging=laid(graph, pairs))
    named = [(f"l{i}", a, b) for i, (a, b) in enumerate(pairs)]
    possible: dict[tuple[Any, Any], list[Any]] = {}
    for start in NAMES:
        for nodes, edges in walks(named, direction, start, least, most):
            possible.setdefault((start, nodes[-1]), []).append((len(edges), nodes, edges))
    assert Counter((a, b) for a, b, *_ in found) == Counter(dict.fromkeys(possible, 1))
    for a, b, n, v, e in found:
        shortest = min(length for length, _, _ in possible[(a, b)])
        assert n == shortest
        assert (n, tuple(v), tuple(e)) in possible[(a, b)]


def paths(word: str, direction: str, quantifier: str) -> str:
    columns = "a.name AS x, b.name AS y, path_length(p) AS n, vertices(p) AS v, edges(p) AS e"
    arrow = f"{ARROWS[direction]}{quantifier}"
    return f"SELECT * FROM GRAPH_TABLE (MATCH p = {word} (a IS Stop){arrow}(b IS Stop) COLUMNS ({columns})) g"


def test_too_many_walks_are_refused_and_not_run_out_of_memory(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adjacency, "WALKS_MAX", 1000)
    pairs = [(a, b) for a in NAMES for b in NAMES]
    with pytest.raises(ResourceLimitExceeded, match="more than 1000 walks"):
        graph.ask(paths("", "out", "{1,9}"), staging=laid(graph, pairs))
    assert len(graph.ask(paths("ANY SHORTEST", "out", "{1,9}"), staging=laid(graph, pairs))) == len(NAMES) ** 2
