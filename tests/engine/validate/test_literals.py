"""What the renderer of filters writes is read back by the store as exactly the same value."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from datetime import UTC, date, datetime
from math import inf, nan

import lance
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph_sql.engine.store.predicate import column_text, literal, member_of

TYPES: dict[str, tuple[pa.DataType, st.SearchStrategy[object]]] = {
    "String": (pa.utf8(), st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("'\"\\`%_-;\n\0"))),
    "Bool": (pa.bool_(), st.booleans()),
    "I32": (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "I64": (pa.int64(), st.integers(-(2**63), 2**63 - 1) | st.just(-(2**63))),
    "U32": (pa.uint32(), st.integers(0, 2**32 - 1)),
    "U64": (pa.uint64(), st.integers(0, 2**64 - 1) | st.just(2**64 - 1)),
    "F32": (pa.float32(), st.floats(width=32, allow_nan=False, allow_infinity=False)),
    "F64": (pa.float64(), st.floats(allow_nan=False, allow_infinity=False)),
    "Date": (pa.date32(), st.dates()),
    "DateTime": (pa.timestamp("us", tz="UTC"), st.datetimes(timezones=st.just(UTC))),
}


@pytest.mark.parametrize("name", TYPES)
def test_a_filter_finds_the_rows_that_hold_the_values_and_no_others(name: str) -> None:
    of, values = TYPES[name]

    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(values, min_size=1, max_size=12, unique=True), st.lists(values, max_size=4), st.data())
    def finds(held: Sequence[object], others: Sequence[object], data: st.DataObject) -> None:
        wanted = [*data.draw(st.lists(st.sampled_from(held), max_size=6)), *others, None]
        with tempfile.TemporaryDirectory() as folder:
            stored = lance.write_dataset(pa.table({"a col": pa.array([*held, None], of)}), f"{folder}/x")
            found = stored.to_table(filter=member_of("a col", pa.array(wanted, of)))["a col"].to_pylist()
        assert found == [v for v in held if v in [w for w in wanted if w is not None]]

    finds()


@pytest.mark.parametrize(
    ("value", "of", "error"),
    [
        (nan, pa.float64(), ValueError),
        (-inf, pa.float32(), ValueError),
        (b"x", pa.large_binary(), TypeError),
        ([1.0], pa.list_(pa.float64()), TypeError),
        (True, pa.int64(), TypeError),
        (1, pa.bool_(), TypeError),
        (1, pa.utf8(), TypeError),
        ("1", pa.int64(), TypeError),
        (date(2020, 1, 1), pa.timestamp("us"), TypeError),
        (datetime(2020, 1, 1), pa.date32(), TypeError),
        (None, pa.utf8(), TypeError),
    ],
)
def test_what_has_no_literal_is_refused(value: object, of: pa.DataType, error: type[Exception]) -> None:
    with pytest.raises(error):
        literal(value, of)


@pytest.mark.parametrize("of", [pa.float32(), pa.float64()])
def test_the_two_zeros_find_each_other(of: pa.DataType) -> None:
    with tempfile.TemporaryDirectory() as folder:
        stored = lance.write_dataset(pa.table({"x": pa.array([0.0, -0.0, 1.0], of)}), f"{folder}/x")
        for zero in (0.0, -0.0):
            assert stored.count_rows(member_of("x", pa.array([zero], of))) == 2


def test_a_name_that_cannot_be_quoted_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be quoted"):
        column_text("a`b")


def test_nothing_is_a_member_of_nothing() -> None:
    assert member_of("a", pa.array([None], pa.utf8())) == "FALSE"
