"""SQL means what DuckDB says it means, on the same rows, with and without pending ones."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.run.duck import changed, difference, duck, loaded, told, without
from tests.run.sql_questions import Grammar, rows

GRAPHS = int(os.environ.get("OMNI_DUCK_GRAPHS", "4"))
QUESTIONS = int(os.environ.get("OMNI_DUCK_QUESTIONS", "90"))
FIRST = int(os.environ.get("OMNI_DUCK_SEED", "20310"))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + GRAPHS))
def test_generated_questions_have_the_answers_duckdb_gives(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    model = rows(rng)
    graph = loaded(tmp_path / "graph", model)
    writing, deleting = graph.transaction(), graph.transaction()
    views = [
        ("committed", graph, duck(model)),
        ("inserts and updates", writing, duck(changed(rng, writing, model))),
        ("deletes", deleting, duck(without(rng, deleting, model))),
    ]
    wrong, empty, refused = [], 0, 0
    for number in range(QUESTIONS):
        pending, ours, theirs = views[number % len(views)]
        drawn = seed * 100_000 + number
        question = Grammar(drawn).question()
        expected = told(question, theirs)
        refused += isinstance(expected, str)
        empty += not expected
        differs = difference(question, ours, theirs)
        if differs is not None:
            wrong.append(f"seed {drawn}, {pending}: {question.text}\n  {differs}")
    assert not wrong, "\n".join(wrong)
    assert refused < QUESTIONS / 20
    assert empty < QUESTIONS / 2
