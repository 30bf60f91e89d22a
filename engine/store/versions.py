"""Whether a version is still the newest, without listing all of them: a listing costs more with every commit."""

from __future__ import annotations

from pathlib import Path
from typing import Final

VERSIONS: Final = "_versions"
_LAST: Final = 2**64 - 1


def has_successor(table: Path, version: int) -> bool | None:
    """Whether the version after this one exists; None when it cannot be told from the names of files.

    Versions are made one after the other and never skipped. Only a cleanup can take a successor away and leave later
    ones, so a caller either knows that none has run or checks again where it matters.
    """
    if not version_file(table, version).exists():
        return None
    return version_file(table, version + 1).exists()


def versions_of(table: Path) -> list[int]:
    """The versions of a local dataset by the names of their files, newest first."""
    numbers = (int(file.stem) for file in (table / VERSIONS).glob("*.manifest") if file.stem.isdigit())
    return [_LAST - number for number in sorted(numbers)]


def newest_version(table: Path) -> int | None:
    """The newest of them; None when there is none."""
    return next(iter(versions_of(table)), None)


def version_file(table: Path, version: int) -> Path:
    """Lance counts names down, so that the newest version comes first in a listing."""
    return table / VERSIONS / f"{_LAST - version:020d}.manifest"
