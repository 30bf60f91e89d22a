"""Did you mean: the known word closest to an unknown one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from typing import Final

_CUTOFF: Final = 0.6
_CANDIDATES_MAX: Final = 2000


def closest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate that looks most like `word`, in its own spelling, or None when nothing is near.

    Case is ignored first: someone who wrote `airport` meant `Airport`. Equal candidates are told apart by their order.
    """
    known = list(dict.fromkeys(islice(candidates, _CANDIDATES_MAX)))
    folded: dict[str, str] = {}
    for candidate in known:
        folded.setdefault(candidate.casefold(), candidate)
    found = get_close_matches(word.casefold(), list(folded), n=1, cutoff=_CUTOFF)
    return folded[found[0]] if found else None
