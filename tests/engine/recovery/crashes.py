"""Writers that die at a named place, and what they leave."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from omnigraph_sql.base.seams import Fault, PlannedFaults, Raise
from omnigraph_sql.engine.store.root import GraphRoot
from omnigraph_sql.engine.write.txn import Author
from tests.engine.worlds import at, seams, upsert


class Died(BaseException):
    """No handler of the product catches this, so nothing is tidied up but locks: those the kernel frees."""


def crash(
    root: Path | GraphRoot,
    place: str,
    rows: dict[str, int | None],
    *,
    branch: str = "main",
    names: Iterable[str] = ("Person",),
    at_hit: int = 1,
    author: Author | None = None,
) -> None:
    """A writer that dies when it reaches `place`."""
    faults = PlannedFaults([Fault(place, Raise(Died()), at_hit)])
    with pytest.raises(Died):
        upsert(at(root, seams(failpoints=faults)), rows, branch=branch, names=names, author=author)
    assert faults.hits(place) == at_hit
