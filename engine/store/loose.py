"""Data files that lie beside a table and belong to no version of it yet."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from omnigraph_sql.base.errors import OmniError
from omnigraph_sql.engine.store.objects import remote_store
from omnigraph_sql.engine.store.tables import Tables


def _folder(path: str, branch: str | None) -> str:
    return f"{path}/data" if branch is None else f"{path}/tree/{branch}/data"


def _names(files: Iterable[Any]) -> list[str]:
    return [str(file.path) for fragment in files for file in fragment.files]


def _beside(name: str) -> str:
    """The folder in which Lance keeps the large values of a data file."""
    return name.removesuffix(".lance")


def move_files(tables: Tables, path: str, owner: str | None, branch: str | None, files: Sequence[Any]) -> None:
    """Bring files from one Lance branch of a table to another, which need not exist yet.

    A file is found below the branch it is committed to, and only files that were written through the table itself carry
    the right field numbers; so they are written there first.
    """
    old, new = _folder(path, owner), _folder(path, branch)
    with tables.telling(f"moving files of {path}"):
        tables.failpoints.hit("store.move")
        if tables.root.local is not None:
            (tables.root.local / new).mkdir(parents=True, exist_ok=True)
            for name in _names(files):
                for one in (name, _beside(name)):
                    source = tables.root.local / old / one
                    if source.exists():
                        os.rename(source, tables.root.local / new / one)
            return
        store: Any = remote_store(tables.root)
        for found in _remote(store, old, files):
            store.rename(found, f"{new}{found[len(old) :]}")


def delete_files(tables: Tables, path: str, branch: str | None, files: Sequence[Any]) -> None:
    """Remove files that no version names. Best effort: what stays behind is found by a cleanup."""
    folder = _folder(path, branch)
    with suppress(OmniError), tables.telling(f"removing files of {path}"):
        tables.failpoints.hit("store.remove")
        if tables.root.local is not None:
            for name in _names(files):
                (tables.root.local / folder / name).unlink(missing_ok=True)
                shutil.rmtree(tables.root.local / folder / _beside(name), ignore_errors=True)
            return
        store: Any = remote_store(tables.root)
        store.delete(_remote(store, folder, files))


def _remote(store: Any, folder: str, files: Sequence[Any]) -> list[str]:
    found = [f"{folder}/{name}" for name in _names(files)]
    for name in _names(files):
        for batch in store.list(f"{folder}/{_beside(name)}/"):
            found += [str(item["path"]) for item in batch]
    return found
