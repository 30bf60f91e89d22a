"""Versions that a loss of power left without all of their files. Nobody can read them, and whoever made them was not
told that they are safe."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from omnigraph_sql.engine.store.durable import REFS, files_of
from omnigraph_sql.engine.store.versions import newest_version, version_file, versions_of

_EMPTY: Final = 0
_TORN_VERSIONS_MAX: Final = 4
"""Versions that may be dropped: a writer makes at most three of a dataset (a publish, and two when it compacts) before
its intent goes, and a recovery of it one more."""


def is_torn(root: Path, home: str) -> bool:
    """Whether files of the newest version of a dataset are missing or empty."""
    newest = newest_version(root / home)
    return newest is not None and not _whole(root, home, newest)


def drop_torn(root: Path, home: str) -> bool:
    """Remove the newest versions of a dataset whose files are missing or empty, down to the newest that is whole.

    Only under the lease of the graph branch, and only while an intent says that a writer was at work there. As long as
    power lasts, a version appears after all of its files. Versions may be missing in between: whichever file the disk
    kept is there.
    """
    torn: list[int] = []
    for version in versions_of(root / home):
        if _whole(root, home, version):
            break
        torn.append(version)
        if len(torn) > _TORN_VERSIONS_MAX:
            return False
    else:
        # A branch without a whole version was never begun; any other dataset without one is beyond mending.
        if "/tree/" not in home:
            return False
        _drop(root, home, torn)
        return _drop_name(root, home) or bool(torn)
    if not torn:
        return _drop_name(root, home, only_empty=True)
    _drop(root, home, torn)
    return True


def _drop(root: Path, home: str, torn: Sequence[int]) -> None:
    for version in torn:
        version_file(root / home, version).unlink()


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
