"""Steps from a few nodes, on random graphs with and without pending rows, however their edges are found."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from omnigraph_sql.run import narrow
from omnigraph_sql.run.narrow import Mode
from omnigraph_sql.run.read import read
from tests.run.graphs import Graph, rows_of
from tests.run.oracles import neighbors, walks
from tests.run.patterns import SCHEMA, Question, Tables, random_question
from tests.run.random_graphs import changed, random_tables, vandalise

QUESTIONS = int(os.environ.get("OMNI_STEP_QUESTIONS", "24"))
SEEDS = range(int(os.environ.get("OMNI_STEP_GRAPHS", "4")))


def from_one_node(question: Question, random: Random) -> Question:
    """The question, asked of one node that its key names."""
    name = random.choice(("p1", "p3", "newPerson0") if question.types[0] == "Person" else ("q0", "q1", "q9"))
    return replace(question, tests=((0, "name", "=", name), *question.tests))


def named(question: Question, tables: Tables, *, edges: bool) -> Counter[tuple[str, ...]]:
    return Counter(tuple(row["name"] for row in match) for match in question.matches(tables, edges=edges))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_pattern_gives_its_matches_however_edges_are_found(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(seed)
    committed = random_tables(random)
    graph = Graph(tmp_path / "graph", SCHEMA, committed)
    for number in range(QUESTIONS):
        question = from_one_node(random_question(random), random)
        tables, staging = changed(random, graph, committed) if number % 2 else (committed, None)
        for text, edges in ((question.sql_rows(), True), (question.gq_rows(), False)):
            expected = named(question, tables, edges=edges)
            for mode in (None, *Mode):
                happened = vandalise(random, graph)
                monkeypatch.setattr(narrow, "forced", mode)
                (program,) = graph.compile(text).programs
                found = Counter(rows_of(read(program.plan, graph.scene(staging=staging))))
                assert found == expected, f"seed {seed}, question {number}, {mode}, {happened}: {text}"


@pytest.mark.parametrize("seed", SEEDS)
def test_windows_and_walks_go_over_committed_and_pending_edges(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    committed = random_tables(random)
    graph = Graph(tmp_path / "graph", SCHEMA, committed)
    for number in range(QUESTIONS):
        tables, staging = changed(random, graph, committed) if number % 2 else (committed, None)
        happened = vandalise(random, graph)
        pairs = [(row["src"], row["dst"]) for row in tables["Follows"]]
        least = random.randint(1, 2)
        most = least + random.randint(0, 1)
        both = random.random() < 0.5
        step = f"<follows>{{{least},{most}}}" if both else f"follows{{{least},{most}}}"
        text = f"query q() {{ match {{ $a: Person  $a {step} $b }} return {{ $a.name as a, $b.name as b }} }}"
        people = [row["id"] for row in tables["Person"]]
        expected = {(a, b) for a in people for b in neighbors(pairs, "both" if both else "out", a, least, most)}
        told = f"seed {seed}, question {number}, {happened}: {text}"
        assert Counter(graph.ask(text, staging=staging)) == Counter(expected), told
        name = random.choice(("p1", "p3", "newPerson0"))
        lead = f'query q() {{ match {{ $a: Person {{ name: "{name}" }}  $a {step} $b }} return'
        text = f"{lead} {{ $a.name as a, $b.name as b }} }}"
        begun = sorted(pair for pair in expected if pair[0] == name)
        assert Counter(graph.ask(text, staging=staging)) == Counter(begun), told
        assert graph.ask(f"{lead} {{ count($b) as n }} }}", staging=staging) == [(len(begun),)], told
        text = f'query q() {{ match {{ $b: Person {{ name: "{name}" }}  $a {step} $b }} return {{ $a.name as a }} }}'
        ended = Counter((a,) for a, b in expected if b == name)
        assert Counter(graph.ask(text, staging=staging)) == ended, told
        edges = [(row["id"], row["src"], row["dst"]) for row in tables["Follows"]]
        text = (
            "SELECT g.v, g.e FROM GRAPH_TABLE (MATCH p = (a IS Person)-[IS Follows]->{1,2}(b IS Person) "
            "COLUMNS (vertices(p) AS v, edges(p) AS e)) g"
        )
        found = Counter((tuple(v), tuple(e)) for v, e in graph.ask(text, staging=staging))
        assert found == Counter(walk for a in people for walk in walks(edges, "out", a, 1, 2)), told
