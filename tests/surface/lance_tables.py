"""Tables that the guards try Lance on, and the operations the engine stages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
from lance import LanceDataset, LanceOperation, Transaction
from lance.fragment import write_fragments

PRIMARY = {b"lance-schema:unenforced-primary-key": b"true"}
SCHEMA = pa.schema([pa.field("id", pa.utf8(), False, PRIMARY), pa.field("n", pa.int64())])


def rows(**values: int | None) -> pa.Table:
    return pa.table({"id": list(values), "n": pa.array(list(values.values()), pa.int64())}, schema=SCHEMA)


def held(dataset: Any) -> dict[str, int | None]:
    found = dataset.to_table()
    assert len(set(found["id"].to_pylist())) == found.num_rows, "an id is there twice"
    return dict(zip(found["id"].to_pylist(), found["n"].to_pylist(), strict=True))


class Table:
    """A table of two fragments: a, b and c, d."""

    def __init__(self, folder: Path) -> None:
        self.uri = str(folder / "t")
        lance.write_dataset(
            rows(a=1, b=2), self.uri, mode="create", data_storage_version="2.2", enable_v2_manifest_paths=True
        )
        lance.write_dataset(rows(c=3, d=4), self.uri, mode="append")

    def open(self, version: int | None = None) -> Any:
        return lance.dataset(self.uri, version=version)


def commit(dataset: Any, operation: Any, uuid: str = "11111111-1111-4111-8111-111111111111") -> Any:
    made = Transaction(dataset.version, operation, uuid=uuid, transaction_properties={"who": "me"})
    return LanceDataset.commit(dataset, made, max_retries=0)


def deletion(dataset: Any, *ids: str) -> Any:
    """The operation that deletes these ids by address."""
    inside = ", ".join(f"'{i}'" for i in ids)
    found = dataset.scanner(columns=["id"], filter=f"id IN ({inside})", with_row_address=True).to_table()
    offsets: dict[int, list[int]] = {}
    for address in found["_rowaddr"].to_pylist():
        offsets.setdefault(address >> 32, []).append(address & 0xFFFFFFFF)
    left = {number: dataset.get_fragment(number).delete_rows(gone) for number, gone in offsets.items()}
    return LanceOperation.Delete(
        [f for f in left.values() if f is not None], [n for n, f in left.items() if f is None], "by address"
    )


def append(dataset: Any, data: pa.Table) -> Any:
    return LanceOperation.Append(list(write_fragments(data, dataset)))


def update(dataset: Any, data: pa.Table, *ids: str) -> Any:
    """The operation that replaces rows: deleted where they were, and written anew."""
    gone = deletion(dataset, *ids)
    return LanceOperation.Update(
        removed_fragment_ids=gone.deleted_fragment_ids,
        updated_fragments=gone.updated_fragments,
        new_fragments=list(write_fragments(data, dataset)),
        update_mode="rewrite_rows",
        fields_for_preserving_frag_bitmap=[],
    )


def merge(dataset: Any, data: pa.Table) -> None:
    """The compare-and-swap of the manifest."""
    (
        dataset.merge_insert("id")
        .when_matched_update_all()
        .when_not_matched_insert_all()
        .use_index(False)
        .conflict_retries(0)
        .execute(data)
    )
