"""Versions that a loss of power left without all of their files. Nobody can read them, and whoever made them was not
told that they are safe."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from omnigraph_sql.engine.store.durable import REFS, files_of
from omnigraph_sql.engine.store.versions import newest_version, version_file

_EMPTY: Final = 0


def drop_torn(root: Path, home: str) -> bool:
    """Remove the newest version of a dataset if files of it are missing or empty and the version before is whole.

    Only under the lease of the graph branch, and only while an intent says that a writer was at work there. As long as
    power lasts, a version appears after all of its files.
    """
    newest = newest_version(root / home)
    if newest is not None and _whole(root, home, newest):
        return _drop_name(root, home, only_empty=True)
    if newest is not None and _whole(root, home, newest - 1):
        version_file(root / home, newest).unlink()
        return True
    # A branch that has no version but a torn one was never begun.
    if newest is not None and (version_file(root / home, newest - 1).exists() or "/tree/" not in home):
        return False
    if newest is not None:
        version_file(root / home, newest).unlink()
    return _drop_name(root, home) or newest is not None


def _drop_name(root: Path, home: str, *, only_empty: bool = False) -> bool:
    """Remove the name of a Lance branch from its trunk."""
    trunk, fork, branch = home.partition("/tree/")
    name = root / trunk / REFS / f"{quote(branch, safe='')}.json"
    if not fork or not name.exists() or (only_empty and _filled(name)):
        return False
    name.unlink()
    return True


def _whole(root: Path, home: str, version: int) -> bool:
    import lance

    opened: Any = lance.dataset
    if not _filled(version_file(root / home, version)):
        return False
    try:
        return all(_filled(file) for file in files_of(root, home, opened(str(root / home), version=version)))
    except (OSError, ValueError):
        return False


def _filled(file: Path) -> bool:
    try:
        return file.stat().st_size > _EMPTY
    except FileNotFoundError:
        return False
