"""Blocks of lines read by Arrow's parser mean exactly what the lines mean one by one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph_sql.base.errors import OmniError
from omnigraph_sql.engine.load import jsonl
from omnigraph_sql.engine.load.rows import rows_of
from tests.engine.load.loading import SCHEMA
from tests.engine.worlds import seams, small_schema

CATALOG = small_schema(SCHEMA).catalog

numbers = st.one_of(
    st.integers(-5, 5),
    st.sampled_from([2**31, -(2**31), 2**63, -(2**63), 2**64 - 1, 2**64, 10**25]),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([1e39, 3.4028235677973366e38, 1e-46, -0.0, 1.0]),
)
moments = st.sampled_from(
    ["2026-01-02", "2026-02-30", "0000-01-01", "2026-01-02T03:04:05Z", "2026-01-02 03:04:05.1234567+14:30", "2026-1-2",
     "9999-12-31T23:59:59-23:59", "2026-01-02T03:04:60Z", "2026-01-02T24:00:00Z", "2026-01-02t03:04:05z", "1-1-1"]
)  # fmt: skip
atoms = st.one_of(st.none(), st.booleans(), numbers, moments, st.text(max_size=3), st.just("base64:AAE="))
values = st.one_of(atoms, st.lists(atoms, max_size=4), st.dictionaries(st.text(max_size=2), atoms, max_size=1))
likely = {
    "truth": st.booleans(),
    "small": numbers,
    "huge": numbers,
    "narrow": numbers,
    "wide": numbers,
    "day": moments,
    "at": moments,
    "words": st.lists(st.text(max_size=2) | st.none(), max_size=2),
    "pos": st.lists(numbers, min_size=2, max_size=4),
    "body": st.just("base64:AAE="),
}
data = st.fixed_dictionaries(
    {"name": st.text(max_size=3) | values}, optional={k: v | v | v | values for k, v in likely.items()}
)
kinds = st.builds(lambda d: {"type": "Kinds", "data": d}, data)
founded = st.builds(
    lambda a, b: {"edge": "Founded", "from": a, "to": b}, st.text(max_size=2) | numbers, st.text(max_size=2) | numbers
)
near = st.builds(
    lambda a, b, d: {"edge": "Near", "from": a, "to": b, **d},
    atoms,
    atoms,
    st.sampled_from([{}, {"data": {}}, {"data": None}]),
)
lines = st.one_of(kinds, kinds, founded, near, st.builds(lambda v: {"type": "Town", "data": v}, values))


def outcome(path: Path, *, fast: bool) -> tuple[dict[str, list[Any]], str | None]:
    """Rows by type as they would be stored, without made-up ids, and the refusal that ended the reading."""
    found: dict[str, list[Any]] = {}
    ids = seams().ids

    def read() -> None:
        for chunk in jsonl.read_jsonl(path, CATALOG):
            columns = rows_of(chunk, CATALOG, ids).batch
            rows = pa.Table.from_batches([columns]).drop_columns(["id"] if not chunk.type.key else [])
            found.setdefault(chunk.type.name, []).extend(map(repr, rows.to_pylist()))

    try:
        if fast:
            read()
        else:
            with patch.object(jsonl.JsonLines, "_groups", return_value=None):
                read()
    except OmniError as error:
        return found, str(error)
    return found, None


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(given=st.lists(lines, min_size=1, max_size=1))
def test_a_line_is_read_or_refused_the_same_way(given: list[object], tmp_path_factory: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "one.jsonl"
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in given))
    assert outcome(path, fast=True) == outcome(path, fast=False)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(given=st.lists(kinds, min_size=2, max_size=12))
def test_blocks_are_read_or_refused_the_same_way(given: list[object], tmp_path_factory: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "many.jsonl"
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in given))
    quick, slow = outcome(path, fast=True), outcome(path, fast=False)
    assert (quick[1] is None) == (slow[1] is None)
    if slow[1] is None:
        assert quick == slow


def test_ordinary_lines_take_the_fast_way(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    given = [
        {"type": "Kinds", "data": {"name": str(n), "at": "2026-01-02T03:04:05Z", "pos": [1, 2, 3]}} for n in range(9)
    ]
    edges = [{"edge": "Founded", "from": str(n), "to": n} for n in range(9)]
    path.write_text("".join(json.dumps(line) + "\r\n" for line in [*given, *edges]))
    with patch.object(jsonl, "read_line", side_effect=AssertionError("read line by line")):
        assert sum(chunk.rows for chunk in jsonl.read_jsonl(path, CATALOG)) == 18


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(size=st.integers(1, 200), count=st.integers(0, 30), end=st.sampled_from(["\n", "\r\n"]), blank=st.booleans())
def test_blocks_end_between_lines_and_lines_keep_their_numbers(
    size: int, count: int, end: str, blank: bool, tmp_path_factory: Any
) -> None:
    path = tmp_path_factory.getbasetemp() / "blocks.jsonl"
    texts = [
        "" if blank and n % 7 == 3 else json.dumps({"type": "Note", "data": {"text": str(n)}}) for n in range(count)
    ]
    path.write_text(end.join(texts), newline="")
    with patch.object(jsonl, "BLOCK_BYTES", size):
        found = [
            (chunk.columns["text"][row].as_py(), chunk.place(row))
            for chunk in jsonl.read_jsonl(path, CATALOG)
            for row in range(chunk.rows)
        ]
    assert found == [(str(n), f"{path}, line {n + 1}") for n, text in enumerate(texts) if text]
