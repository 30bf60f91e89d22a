"""What a write asks an object store for: as often with a long history as with a short one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from unittest import mock

import pytest

from omnigraph_sql.base import limits
from omnigraph_sql.engine.store.root import GraphRoot
from tests.engine.worlds import make, upsert

HISTORY = 1000 if os.environ.get("OMNI_CRASH") == "full" else 50
ROUND = 5
"""Inserts from one compaction to the next, with limits as below; requests grow within a round and fall at its end."""


@pytest.fixture
def requests() -> Iterator[list[int]]:
    """How many requests the emulated store has answered."""
    serving = pytest.importorskip("werkzeug.serving", reason="the object store is emulated by moto[server]")
    answered = [0]

    def count(*_: object) -> None:
        answered[0] += 1

    with (
        mock.patch.object(serving.WSGIRequestHandler, "log_request", count),
        mock.patch.object(limits, "MANIFEST_FRAGMENTS_MAX", ROUND - 1),
        mock.patch.object(limits, "SMALL_FRAGMENTS_MAX", ROUND - 1),
    ):
        yield answered


@pytest.mark.timeout(3600)
def test_a_one_row_write_asks_the_store_as_often_after_many_commits_as_after_ten(
    root: GraphRoot, requests: list[int]
) -> None:
    world = make(root)

    def asked(first: int, last: int) -> int:
        """The requests of writes with these numbers."""
        before = requests[0]
        for number in range(first, last):
            upsert(world, {f"k{number}": 1})
        return requests[0] - before

    asked(0, 10)
    young = asked(10, 10 + 2 * ROUND)
    asked(10 + 2 * ROUND, HISTORY)
    old = asked(HISTORY, HISTORY + 2 * ROUND)
    print(f"{young} requests of {2 * ROUND} writes after 10 commits, {old} after {HISTORY}")
    assert old <= young * 1.02
    assert young <= 2 * ROUND * 60
