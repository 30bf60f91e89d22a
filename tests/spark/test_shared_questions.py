"""A question shared out over tasks is answered by all of them together as the oracle of whole questions answers it."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from random import Random

import pytest

import omnigraph_sql as og
from omnigraph_sql.foreign import PinnedTables
from omnigraph_sql.spark.place import GraphPlace
from omnigraph_sql.spark.query import Question
from tests.run.gq_oracle import Oracle
from tests.run.test_gq_like_the_document import answered, cells, filled

FULL = os.environ.get("OMNI_SPARK") == "full"
QUESTIONS = 40


@pytest.mark.parametrize("seed", range(60) if FULL else range(3))
def test_shares_of_a_question_answer_it_together(tmp_path: Path, seed: int) -> None:
    print(f"seed {seed}")
    random = Random(seed)
    _, committed = filled(random, tmp_path / "graph")
    graph = og.open(tmp_path / "graph")
    tables = PinnedTables.at(GraphPlace(graph.uri).root(), "main", None)
    shared_out = 0
    for number in range(QUESTIONS):
        question, expected = answered(random, Oracle(committed))
        parameters = {name: given.value for name, given in question.parameters().items()}
        shares = Question(question.text()).shares(tables, random.choice([2, 3]))
        shared_out += len(shares) > 1
        found = [row for share in shares for row in graph.gq(share.bounded(), parameters).fetchall()]
        told = f"seed {seed}, question {number}, {parameters}: {[share.bounded() for share in shares]}"
        if question.order or question.limit is not None:
            assert len(shares) == 1, told
            assert cells(found) == cells(expected), told
        else:
            assert Counter(cells(found)) == Counter(cells(expected)), told
    assert shared_out or min(len(committed["Person"]), len(committed["Place"])) < 3


@pytest.mark.parametrize(
    "text",
    [
        "match { $a: P } return { $a.k, now() as t }",
        "match { $a: P  $a.at < now() } return { $a.k }",
        "match { $a: P  not { $a knows $b  $b.at < now() } } return { $a.k }",
        "match { $a: P } return { count($a) as n }",
        "match { $a: P } return { $a.k } limit 3",
        "match { $a: P } return { $a.k } order { $a.k }",
    ],
)
def test_a_question_about_all_rows_together_is_one_task(tmp_path: Path, text: str) -> None:
    graph = og.init(tmp_path / "g.omni", schema="node P { k: I32 @key  at: DateTime? }  edge Knows: P -> P")
    graph.sql("INSERT INTO P (k) VALUES (1), (2), (3), (4), (5), (6)")
    tables = PinnedTables.at(GraphPlace(graph.uri).root(), "main", None)
    assert len(Question(text).shares(tables, 3)) == 1
    assert len(Question("match { $a: P } return { $a.k }").shares(tables, 3)) == 3
