"""The format stamp: which versions of the software may touch a graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from omnigraph_sql.base.errors import FormatError

STAMP_KEY: Final = b"omnigraph:internal_schema_version"
FLOOR: Final = 1
"""Oldest format this version reads and writes."""

CEILING: Final = 1
"""Newest format this version reads, and the one it writes."""

_DIGITS_MAX: Final = 9


def stamp_metadata() -> dict[bytes, bytes]:
    """What a new manifest carries."""
    return {STAMP_KEY: str(CEILING).encode()}


def check_stamp(metadata: Mapping[bytes, bytes] | None) -> int:
    """The stamp of a manifest. Raises FormatError when it is missing, unreadable, too old or too new."""
    value = (metadata or {}).get(STAMP_KEY)
    if value is None:
        raise FormatError(
            "the graph has no format stamp: its creation was interrupted, or it is damaged",
            hint="restore the graph from a backup, or look for files of another program in its folder",
        )
    text = value.decode("utf-8", "replace")
    if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS_MAX):
        raise FormatError(f"the graph's format stamp is unreadable: {text!r}", hint="restore the graph from a backup")
    stamp = int(text)
    if stamp < FLOOR:
        raise FormatError(
            f"the graph has format {stamp}; this version reads {FLOOR} to {CEILING}",
            hint="export it with a version that reads it, make a new graph and load the export",
        )
    if stamp > CEILING:
        raise FormatError(
            f"the graph has format {stamp}; this version reads {FLOOR} to {CEILING}", hint="upgrade omnigraph-sql"
        )
    return stamp
