"""Whether a version is still the newest, without listing all of them: a listing costs more with every commit."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_LAST: Final = 2**64 - 1


def has_successor(table: Path, version: int) -> bool | None:
    """Whether the version after this one exists; None when it cannot be told from the names of files.

    Versions are made one after the other and never skipped. Only a cleanup can take a successor away and leave later
    ones, so a caller either knows that none has run or checks again where it matters.
    """
    folder = table / "_versions"
    if not _file(folder, version).exists():
        return None
    return _file(folder, version + 1).exists()


def _file(folder: Path, version: int) -> Path:
    """Lance counts names down, so that the newest version comes first in a listing."""
    return folder / f"{_LAST - version:020d}.manifest"
