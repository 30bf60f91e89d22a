"""Filter text against Lance itself: a hostile value matches exactly the rows that hold it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph_sql.engine.store.predicate import column_text, id_in, member_of

HOSTILE = [
    "",
    " ",
    "'",
    "''",
    "' OR '1'='1",
    "x') OR true --",
    "\\",
    "\\'",
    '"',
    "`",
    "a`b",
    "; DROP TABLE x",
    "/* */",
    "--",
    "%",
    "_",
    "a_b",
    "$1",
    "?",
    ":x",
    "{}",
    "{0}",
    "\n",
    "\t\r\n",
    "NULL",
    "null",
    "0",
    "1e309",
    "NaN",
    "ÅÅ",
    "A\u030a",
    "\u00c5",
    "\u202eabc",
    "\ufeff",
    "😀",
    "日本",
    "x" * 20_000,
    "E'\\x41'",
    "U&'\\0041'",
    "\x01",
]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Any:
    import lance

    rows = pa.table({"id": HOSTILE, "Odd Name": HOSTILE})
    return lance.write_dataset(rows, str(tmp_path_factory.mktemp("p") / "t"))


@pytest.mark.parametrize("value", HOSTILE, ids=lambda v: repr(v)[:20])
def test_a_value_matches_itself_alone(table: Any, value: str) -> None:
    for text in (id_in(pa.array([value])), member_of("Odd Name", pa.array([value]))):
        assert table.to_table(filter=text)["id"].to_pylist() == [value]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(HOSTILE) | st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=20))
def test_a_list_matches_exactly_its_members(table: Any, values: list[str]) -> None:
    found = table.to_table(filter=id_in(pa.array(values)))["id"].to_pylist()
    assert sorted(found) == sorted(set(values) & set(HOSTILE))


def test_a_zero_byte_is_matched_or_refused_and_never_cut(tmp_path: Path) -> None:
    import lance

    table = lance.write_dataset(pa.table({"id": ["a", "a\x00b"]}), str(tmp_path / "t"))
    assert table.to_table(filter=id_in(pa.array(["a\x00b"])))["id"].to_pylist() == ["a\x00b"]
    assert table.to_table(filter=id_in(pa.array(["a"])))["id"].to_pylist() == ["a"]


def test_a_column_name_with_a_backtick_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be quoted"):
        column_text("a`b")
