"""Whole `.gq` questions on random graphs, with and without pending rows, against an oracle that knows no plan."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from omnigraph_sql.engine.write.staging import MutationStaging
from omnigraph_sql.run import narrow
from omnigraph_sql.run.narrow import Mode
from tests.run.gq_oracle import Oracle, Rows
from tests.run.gq_question import (
    SCHEMA,
    Aggregate,
    Id,
    Literal,
    Node,
    Parameter,
    Property,
    Question,
    SortKey,
    Step,
    Test,
)
from tests.run.gq_random import Writer, changed, random_tables
from tests.run.graphs import Graph
from tests.run.patterns import Tables

GRAPHS = int(os.environ.get("OMNI_ORACLE_GRAPHS", "6"))
QUESTIONS = int(os.environ.get("OMNI_ORACLE_QUESTIONS", "60"))
SEED = int(os.environ.get("OMNI_ORACLE_SEED", "0"))


def cells(rows: Rows) -> list[tuple[Any, ...]]:
    """Rows that can be counted, with the kind of number beside each."""
    return [tuple(tuple(c) if isinstance(c, list | tuple) else (type(c), c) for c in row) for row in rows]


def answered(random: Random, oracle: Oracle) -> tuple[Question, Rows]:
    """A question and its rows; most that have none are passed over."""
    for _ in range(3):
        question = Writer(random).question()
        rows = oracle.rows(question)
        if rows:
            break
    return question, rows


def check(graph: Graph, question: Question, expected: Rows, staging: MutationStaging | None, told: str) -> None:
    parameters = {name: given.value for name, given in question.parameters().items()}
    told = f"{told}, {parameters}: {question.text()}"
    try:
        found = cells(graph.ask(question.text(), parameters, staging))
    except Exception as error:
        raise AssertionError(told) from error
    if question.order or question.limit is not None:
        assert found == cells(expected), told
    else:
        assert Counter(found) == Counter(cells(expected)), told


def filled(random: Random, folder: Path) -> tuple[Graph, Tables]:
    """A graph of two commits, and its rows."""
    committed = random_tables(random)
    early = {of: committed[of][: random.randint(0, 3)] for of in ("Person", "Place")}
    graph = Graph(folder, SCHEMA, early)
    graph.write({of: rows[len(early.get(of, ())) :] for of, rows in committed.items()})
    return graph, committed


@pytest.mark.parametrize("seed", range(SEED, SEED + GRAPHS))
def test_a_question_gives_the_rows_the_language_says(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(seed)
    graph, committed = filled(random, tmp_path / "graph")
    for number in range(QUESTIONS):
        tables, staging = changed(random, graph, committed) if number % 2 else (committed, None)
        question, expected = answered(random, Oracle(tables))
        mode = random.choice((None, *Mode))
        monkeypatch.setattr(narrow, "forced", mode)
        check(graph, question, expected, staging, f"seed {seed}, question {number}, {mode}")


A, B = Node("a", "Person"), Node("b", "Person")
NEAR = Test(Property("c", "temp"), ">=", Parameter("least", "I64?", 2**32 - 1))
COUNTED = Aggregate("count", Id("a"))
PINNED = {
    "a loop counts at the right end of an undirected window, wherever the walk begins": Question(
        (Step("s", "Knows", "n", True, (2, 2)), Test(Property("s", "age"), ">", Literal(-9))), (Id("s"), Id("n"))
    ),
    "a sort key may come again": Question(
        (A, Step("a", "Knows", "b")),
        (COUNTED, Property("b", "name")),
        (SortKey(1, False), SortKey(Property("b", "name"), True)),
    ),
    "a number too large for its column is found nowhere": Question(
        (Node("a", "Person", (("name", Literal("1")), ("age", Literal(3_000_000_000)))), B), (Id("b"),)
    ),
    "a whole number is not rounded to meet a fraction of 32 bits": Question(
        (Test(Property("c", "temp"), "=", Property("d", "size")), Node("c", "Place"), Node("d", "Place"), NEAR),
        (Id("c"), Id("d")),
    ),
    "a list is asked for a member under an aggregate": Question(
        (Node("a", "Person", (("tags", Literal("Li")),)), Step("a", "Knows", "b")), (COUNTED, Property("b", "city"))
    ),
}


@pytest.mark.parametrize("sentence", PINNED)
def test_this_holds_on_several_graphs(sentence: str, tmp_path: Path) -> None:
    for seed in range(4):
        random = Random(seed)
        graph, committed = filled(random, tmp_path / f"graph{seed}")
        for pending in range(3):
            tables, staging = changed(random, graph, committed) if pending else (committed, None)
            check(graph, PINNED[sentence], Oracle(tables).rows(PINNED[sentence]), staging, f"seed {seed}, {pending}")
