"""A number and a stored number compare as numbers do, whatever their types can hold; Python's own are exact."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from omnigraph_sql import graph as og

SCHEMA = "node N { k: I64 @key  i: I64?  f: F64?  h: F32? }"
OPS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
BIG = 2**53
WHOLES = [0, 5, -5, BIG - 1, BIG, BIG + 1, BIG + 2, BIG + 3, -BIG - 1, 2**24 + 1, 2**62 + 1, 2**63 - 1, -(2**63)]
FRACTIONS = [0.0, 5.0, 5.5, -5.5, float(BIG), float(BIG + 2), -float(BIG), float(2**24), 2.0**62, 1e300]
FRACTIONS += [2.0**63, -(2.0**63)]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    made = og.init(tmp_path_factory.mktemp("exact") / "g", schema=SCHEMA)
    with made.transaction() as unit:
        for number, row in enumerate(STORED):
            given = {"k": number, **dict(zip("ifh", row, strict=True))}
            unit.sql("INSERT INTO N (k, i, f, h) VALUES ($k, $i, $f, $h)", given)
    return made


def single(value: float) -> float | None:
    return float(np.float32(value)) if abs(value) < 1e30 else None


STORED: list[tuple[int | None, float | None, float | None]] = [
    (whole, fraction, single(fraction)) for whole in WHOLES for fraction in FRACTIONS
] + [(None, None, None)]


def expected(place: int, op: str, number: Any) -> list[int]:
    return [k for k, row in enumerate(STORED) if (own := row[place]) is not None and OPS[op](own, number)]


def asked(graph: og.Graph, text: str, given: Any = None) -> list[int]:
    ask = graph.gq if text.startswith("query ") else graph.sql
    return [row[0] for row in ask(text, given).fetchall()]


CASES = [("i", 0, n, "F64") for n in FRACTIONS] + [(c, p, n, "I64") for c, p in (("f", 1), ("h", 2)) for n in WHOLES]


@pytest.mark.parametrize(("column", "place", "number", "of"), CASES)
def test_a_constant_that_the_type_of_a_column_rounds_is_not_rounded(
    graph: og.Graph, column: str, place: int, number: Any, of: str
) -> None:
    spelled = f"CAST({number!r} AS DOUBLE)" if of == "F64" else str(number)
    turned = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
    for op in OPS:
        right = expected(place, op, number)
        given = {"x": number}
        for text, values in (
            (f"SELECT k FROM N WHERE {column} {op} {spelled} ORDER BY k", None),
            (f"SELECT k FROM N WHERE {spelled} {turned.get(op, op)} {column} ORDER BY k", None),
            (
                f"query q($x: {of}) {{ match {{ $n: N  $n.{column} {op} $x }} "
                f"return {{ $n.k as k }} order {{ k asc }} }}",
                given,
            ),
        ):
            assert asked(graph, text, values) == right, (op, text)
    for word, keeps in (("IN", "="), ("NOT IN", "!=")):
        text = f"SELECT k FROM N WHERE {column} {word} ({spelled}) ORDER BY k"
        assert asked(graph, text) == expected(place, keeps, number), text
    text = f"SELECT k FROM N WHERE {column} IS DISTINCT FROM {spelled} ORDER BY k"
    assert asked(graph, text) == [k for k, row in enumerate(STORED) if row[place] != number]
