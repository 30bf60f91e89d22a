"""Data files that another process wrote beside a table: as text on their way, read before any version names them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph_sql.base.errors import OmniError, StorageError
from omnigraph_sql.engine.store.effects import write_files
from omnigraph_sql.engine.store.objects import remote_store
from omnigraph_sql.engine.store.tables import Tables, is_blob
from omnigraph_sql.engine.values import TablePin

_BATCH_ROWS: Final = 16_384
_BATCHES_AHEAD: Final = 2
"""Batches that are read before they are asked for; they lie in memory until then."""


def file_text(fragment: Any) -> str:
    """A fragment that belongs to no version yet, or one with rows marked as deleted, as text."""
    return json.dumps(fragment.to_json(), sort_keys=True)


def file_of(text: str) -> Any:
    from lance.fragment import FragmentMetadata

    return FragmentMetadata.from_json(text)


def loose_rows(tables: Tables, pin: TablePin, text: str, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
    """Rows of a loose file in the order in which they were written; None means every column."""
    schema: pa.Schema = tables.open(pin).schema
    if any(is_blob(field) for field in schema):
        yield from _rows_beside_blobs(tables, pin, text, columns)
        return
    from lance.file import LanceFileReader

    (file,) = file_of(text).files
    place = f"{tables.address(pin.path, pin.branch)}/data/{file.path}"
    with tables.telling(f"reading a file of {pin.key}"):
        tables.failpoints.hit("store.lookup")
        reader: Any = LanceFileReader(
            place, storage_options=tables.root.storage_options, columns=None if columns is None else list(columns)
        )
        yield from reader.read_all(batch_size=_BATCH_ROWS, batch_readahead=_BATCHES_AHEAD).to_batches()


def _rows_beside_blobs(
    tables: Tables, pin: TablePin, text: str, columns: Sequence[str] | None
) -> Iterator[pa.RecordBatch]:
    """The same where large values lie in files of their own, which only a dataset can follow.

    The dataset is a version that no branch shows; what describes it is removed again.
    """
    from lance import LanceDataset, LanceOperation

    base = tables.open(pin).dataset
    with tables.telling(f"reading a file of {pin.key}"):
        tables.failpoints.hit("store.lookup")
        view: Any = LanceDataset.commit(
            base,
            LanceOperation.Overwrite(base.lance_schema, [file_of(text)]),
            read_version=pin.version,
            detached=True,
            storage_options=tables.root.storage_options,
        )
        try:
            yield from view.scanner(
                columns=None if columns is None else list(columns), blob_handling="all_binary", batch_size=_BATCH_ROWS
            ).to_batches()
        finally:
            _forget(tables, f"{_below(pin)}/_versions/d{int(view.version)}.manifest")


def _below(pin: TablePin) -> str:
    return pin.path if pin.branch is None else f"{pin.path}/tree/{pin.branch}"


def _forget(tables: Tables, path: str) -> None:
    with suppress(OmniError), tables.telling(f"removing {path}"):
        if tables.root.local is not None:
            (tables.root.local / path).unlink(missing_ok=True)
        else:
            remote_store(tables.root).delete([path])


def without_rows(tables: Tables, pin: TablePin, text: str, gone: npt.NDArray[np.int64], schema: pa.Schema) -> list[Any]:
    """New loose files with the rows of an old one but for those at the places `gone`. The old one stays."""

    def left() -> Iterator[pa.RecordBatch]:
        start = 0
        for batch in loose_rows(tables, pin, text, None):
            stay = np.ones(batch.num_rows, np.bool_)
            stay[gone[(gone >= start) & (gone < start + batch.num_rows)] - start] = False
            start += batch.num_rows
            kept = batch if stay.all() else batch.filter(pa.array(stay))
            if kept.num_rows:
                plain = [kept[field.name].cast(field.type) for field in schema]
                yield pa.RecordBatch.from_arrays(plain, schema=schema)

    return write_files(tables, tables.open(pin).dataset, left(), schema) if len(gone) < _rows(text) else []


def _rows(text: str) -> int:
    return int(file_of(text).physical_rows)


def marked(tables: Tables, pin: TablePin, fragment: int, offsets: Sequence[int]) -> str | None:
    """The fragment of a version with some of its rows marked as deleted, as text; None when no row is left."""
    with tables.telling("marking rows as deleted"):
        left = tables.open(pin).dataset.get_fragment(fragment).delete_rows(list(offsets))
    return None if left is None else file_text(left)


def check_files(tables: Tables, pin: TablePin, branch: str | None, files: Sequence[Any]) -> None:
    """Every data file is there: a commit would not look, and reading would fail for ever after. Raises StorageError."""
    folder = pin.path if branch is None else f"{pin.path}/tree/{branch}"
    names = {str(file.path) for fragment in files for file in fragment.files}
    with tables.telling(f"looking for files of {pin.key}"):
        tables.failpoints.hit("store.lookup")
        if tables.root.local is not None:
            missing = {name for name in names if not (tables.root.local / folder / "data" / name).is_file()}
        else:
            store: Any = remote_store(tables.root)
            seen = {str(item["path"]) for batch in store.list(f"{folder}/data/") for item in batch}
            missing = {name for name in names if f"{folder}/data/{name}" not in seen}
    if missing:
        raise StorageError(
            f"{len(missing)} of {len(names)} files for {pin.key} are gone, {min(missing)} among them",
            kind="not_found",
            hint="a cleanup removed them; load again",
        )
