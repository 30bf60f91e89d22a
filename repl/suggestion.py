"""What completion is made of before it is sifted: candidates, and the piece of text they would replace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Candidate:
    """A text that may stand here. Lower ranks come first."""

    text: str
    meta: str = ""
    rank: int = 5


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was typed of a word so far, and where it starts."""

    typed: str
    start: int


PATH: Final = Candidate("", "a file")
"""Stands for the names of files, which only the file system knows."""
