"""Counting over patterns, on random graphs with and without pending rows, against matches spelled out one by one.

Nothing that is kept changes an answer: memory that is cold, files that are gone, cut off or changed.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from omnigraph_sql.plan.node import Plan, walk_plan
from omnigraph_sql.plan.pattern import Tally
from omnigraph_sql.plan.rules.count_patterns import plain_aggregates
from omnigraph_sql.run.read import read
from tests.run.graphs import Graph, rows_of
from tests.run.patterns import SCHEMA, random_question
from tests.run.random_graphs import changed, random_tables, vandalise

QUESTIONS = int(os.environ.get("OMNI_TALLY_QUESTIONS", "40"))
SEEDS = range(int(os.environ.get("OMNI_TALLY_GRAPHS", "6")))


def close(rows: list[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(round(cell, 9) if isinstance(cell, float) else cell for cell in row) for row in rows)


def is_tallied(plan: Plan) -> bool:
    return any(isinstance(node, Tally) for node in walk_plan(plan))


@pytest.mark.parametrize("seed", SEEDS)
def test_tallies_count_what_is_there(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    committed = random_tables(random)
    graph = Graph(tmp_path / "graph", SCHEMA, committed)
    tallied = 0
    for number in range(QUESTIONS):
        question = random_question(random, one_key_spot=random.random() < 0.8)
        tables, staging = changed(random, graph, committed) if number % 2 else (committed, None)
        happened = vandalise(random, graph)
        for text, edges in ((question.sql(), True), (question.gq(), False)):
            (program,) = graph.compile(text).programs
            tallied += is_tallied(program.plan)
            expected = close(question.rows(tables, edges=edges))
            told = f"seed {seed}, question {number}, {happened}: {text}"
            assert close(rows_of(read(program.plan, graph.scene(staging=staging)))) == expected, told
            if number % 4 < 2:
                plain = plain_aggregates(program.plan)
                assert close(rows_of(read(plain, graph.scene(staging=staging)))) == expected, told
    assert tallied > QUESTIONS
