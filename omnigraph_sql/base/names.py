"""Names that are parsed once and trusted afterwards, and the points in history a read may name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from omnigraph_sql.base import limits

_BRANCH: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9][A-Za-z0-9._-]*)*")


@dataclass(frozen=True, slots=True, order=True)
class BranchName:
    """A branch name that is safe as a path segment on every store."""

    text: str

    @classmethod
    def parse(cls, text: str) -> BranchName:
        """Raises ValueError with a sentence a person can act on."""
        if len(text.encode()) > limits.BRANCH_NAME_BYTES_MAX:
            raise ValueError(f"a branch name has at most {limits.BRANCH_NAME_BYTES_MAX} bytes")
        if not _BRANCH.fullmatch(text) or ".." in text or text.endswith((".", ".lock")):
            raise ValueError(
                f"{text!r} is not a branch name: use letters, digits, '-', '_', '.', in parts separated by single '/'"
            )
        return cls(text)


class PointKind(StrEnum):
    HEAD = "head"
    VERSION = "version"
    TIMESTAMP = "timestamp"
    BRANCH = "branch"
