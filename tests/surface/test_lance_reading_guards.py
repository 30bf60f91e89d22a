"""What the engine relies on when it reads through Lance: filters, addresses, block lists, blobs, metadata."""

from __future__ import annotations

from pathlib import Path

import lance
import pyarrow as pa
import pytest
from lance.dataset import serialize_row_addrs

from tests.surface.lance_tables import PRIMARY, Table, commit, deletion, held, merge, rows


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path)


def test_a_quote_is_doubled_in_a_filter_and_nothing_else_is_special(tmp_path: Path) -> None:
    values = ["it's", "back\\slash", '"', "a`b", "%", "x' OR '1'='1", "new\nline"]
    data = pa.table({"id": values, "odd name": values})
    dataset = lance.write_dataset(data, str(tmp_path / "q"))
    for value in values:
        quoted = "'" + value.replace("'", "''") + "'"
        for column in ("`id`", "`odd name`"):
            assert dataset.to_table(filter=f"{column} IN ({quoted})")["id"].to_pylist() == [value]


def test_an_address_is_a_fragment_and_an_offset_also_after_deletions(table: Table) -> None:
    made = commit(table.open(), deletion(table.open(), "a", "c"))
    found = made.scanner(columns=["id"], with_row_address=True).to_table().to_pylist()
    assert {row["id"]: (row["_rowaddr"] >> 32, row["_rowaddr"] & 0xFFFFFFFF) for row in found} == {
        "b": (0, 1),
        "d": (1, 1),
    }


def test_a_block_list_hides_rows_by_row_id(table: Table) -> None:
    dataset = table.open()
    ids = dataset.scanner(columns=["id"], filter="id IN ('a', 'd')", with_row_id=True).to_table()["_rowid"]
    blocked = serialize_row_addrs(ids.to_pylist())
    found = dataset.scanner(columns=["id"], row_addr_blocklist=blocked).to_table()
    assert found["id"].to_pylist() == ["b", "c"]


def test_without_stable_ids_a_row_id_is_its_address(table: Table) -> None:
    found = table.open().scanner(columns=["id"], with_row_id=True, with_row_address=True).to_table()
    assert found["_rowid"].to_pylist() == found["_rowaddr"].to_pylist()


def test_a_blob_is_shown_as_a_type_of_lance_and_read_as_bytes_on_demand(tmp_path: Path) -> None:
    schema = pa.schema(
        [pa.field("id", pa.utf8()), pa.field("b", pa.large_binary(), True, {b"lance-encoding:blob": b"true"})]
    )
    data = pa.table({"id": ["x", "y", "z"], "b": [b"bytes", b"", None]}, schema=schema)
    dataset = lance.write_dataset(data, str(tmp_path / "b"), data_storage_version="2.2")
    assert isinstance(dataset.schema.field("b").type, pa.BaseExtensionType)
    assert dataset.to_table()["b"].type != pa.large_binary()
    assert dataset.scanner(blob_handling="all_binary").to_table()["b"].to_pylist() == [b"bytes", b"", None]


def test_metadata_of_the_schema_and_of_fields_is_kept(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("id", pa.utf8(), False, {**PRIMARY, b"own": b"1"})], {b"stamp": b"7"})
    uri = str(tmp_path / "m")
    lance.write_dataset(pa.table({"id": ["a"]}, schema=schema), uri)
    found = lance.dataset(uri).schema
    assert found.metadata[b"stamp"] == b"7"
    assert found.field("id").metadata[b"own"] == b"1"
    merge(lance.dataset(uri), pa.table({"id": ["b"]}, schema=schema))
    assert lance.dataset(uri).schema.metadata[b"stamp"] == b"7"


def test_a_handle_stays_where_it_was_opened_and_knows_the_newest_version(table: Table) -> None:
    old = table.open(1)
    assert (old.version, old.latest_version) == (1, 2)
    lance.write_dataset(rows(e=5), table.uri, mode="append")
    assert (old.version, old.latest_version) == (1, 3)
    assert held(old) == {"a": 1, "b": 2}
