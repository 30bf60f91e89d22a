"""What the evaluator does beside single rules: the order, the facts it keeps, and what it refuses to look at."""

from __future__ import annotations

from math import nan
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph_sql.base.catalog import Catalog, NodeType, Property, Unique
from omnigraph_sql.base.errors import ConstraintViolation, InternalError
from omnigraph_sql.base.types import BLOB
from omnigraph_sql.engine.values import Snapshot
from omnigraph_sql.engine.world import World
from omnigraph_sql.engine.write.staging import TableChanges
from omnigraph_sql.engine.write.validate import validate, violations
from tests.engine.validate.airports import (
    AIRPORT,
    CARRIER,
    CATALOG,
    INSERT,
    ROUTE,
    airport,
    carrier,
    edge,
    one,
)
from tests.engine.validate.graphs import build, changed, rows


def test_nan_is_neither_finite_nor_in_any_range(graph: tuple[World, Snapshot]) -> None:
    found = list(violations(*graph, CATALOG, [changed(CARRIER, INSERT, [carrier("X", score=nan)])]))
    assert [(v.rule, v.message) for v in found] == [
        ("finite", "Carrier.score of 'X' is nan, not a finite number"),
        ("range", "Carrier.score of 'X' is nan, outside ..10"),
    ]


def test_values_come_before_tuples_and_tuples_before_ends(graph: tuple[World, Snapshot]) -> None:
    """Broken in the opposite order, and in types that are declared in the opposite order."""
    changes = [
        changed(ROUTE, INSERT, [edge("r9", "CUZ", "LIM"), edge("r8", "LIM", "ZZZ")]),
        changed(CARRIER, INSERT, [carrier("X", score=11.0)]),
        changed(AIRPORT, INSERT, [airport("Y", icao="SPZO")]),
    ]
    found = [(v.rule, v.type) for v in violations(*graph, CATALOG, changes)]
    assert found == [
        ("range", "Carrier"),
        ("unique", "Airport"),
        ("unique", "Route"),
        ("endpoint", "Route"),
        ("card", "Route"),
    ]


@pytest.mark.parametrize("length", [1, 3])
def test_a_vector_of_another_length_is_refused(graph: tuple[World, Snapshot], length: int) -> None:
    table = rows(AIRPORT, [airport("W"), airport("X")])
    vectors = pa.array([None, [1.0] * length], pa.list_(pa.float32()))
    table = table.set_column(table.schema.get_field_index("pos"), "pos", vectors)
    found = next(violations(*graph, CATALOG, [TableChanges(AIRPORT, INSERT, (table,))]))
    assert (found.rule, found.value, found.ids) == ("vector", length, ("X",))
    assert found.message == f"Airport.pos of 'X' has {length} elements, not 2"


def test_rows_of_another_shape_are_our_mistake(graph: tuple[World, Snapshot]) -> None:
    table = rows(CARRIER, [carrier("X")])
    for wrong in (table.drop_columns(["score"]), table.set_column(2, "score", pa.array([1], pa.int64()))):
        with pytest.raises(InternalError):
            validate(*graph, CATALOG, [TableChanges(CARRIER, INSERT, (wrong,))])


def test_long_values_are_cut_in_the_message_but_not_in_the_field(graph: tuple[World, Snapshot]) -> None:
    long = "x" * 500
    found = next(violations(*graph, CATALOG, one(airport("X", city=long))))
    assert found.value == long
    assert len(found.message) < 200


def test_the_first_violation_is_found_without_looking_for_the_others(graph: tuple[World, Snapshot]) -> None:
    many = [airport(f"a{i}", city="lima") for i in range(3000)]
    found = violations(*graph, CATALOG, one(*many))
    assert next(found).ids == ("a0",)
    assert sum(1 for _ in found) == 2999


def test_members_that_cannot_be_compared_are_refused_loudly(tmp_path: Path) -> None:
    """A stored contract may still hold such a rule; its rows must not slip through unchecked."""
    blob = Property("photo", BLOB, True, stable_id=4)
    node = NodeType("Pic", (blob,), (Unique(("photo",)),), stable_id=1, incarnation_id=2)
    catalog = Catalog((node,))
    world, snapshot = build(tmp_path, catalog, {})
    with pytest.raises(ConstraintViolation, match=r"Pic\.photo is Blob, and two of those cannot be compared"):
        validate(world, snapshot, catalog, [changed(node, INSERT, [{"id": "a", "photo": b"x"}])])
