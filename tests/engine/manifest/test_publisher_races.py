"""Several publishers at once: who wins, what is retried, and what is told when the answer was lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import CommitUnknown, ConflictError
from omnigraph_sql.base.seams import Fault, PlannedFaults, Raise
from omnigraph_sql.engine.manifest.publisher import Publication, publish
from omnigraph_sql.engine.store.manifest_table import Contention
from omnigraph_sql.engine.values import Snapshot
from omnigraph_sql.engine.world import World
from tests.engine.manifest.publications import fresh, head_of, moved, publication
from tests.engine.worlds import At, at, make, pin_of, seams


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make(tmp_path / "g")


# ---- several publishers -------------------------------------------------------------------------------------------


class Meeting:
    """Failpoints that let everybody reach the compare-and-swap before anybody does it."""

    def __init__(self, parties: int) -> None:
        self._barrier = threading.Barrier(parties, timeout=60)
        self._met = threading.local()

    def hit(self, name: str) -> None:
        if name == "manifest.merge" and not getattr(self._met, "once", False):
            self._met.once = True
            self._barrier.wait()


def race(world: World, wanted: list[Publication]) -> list[Snapshot | BaseException]:
    meeting = Meeting(len(wanted))
    worlds = [at(world.root, seams(failpoints=meeting)) for _ in wanted]

    def run(one: tuple[World, Publication]) -> Snapshot | BaseException:
        try:
            return publish(one[0].manifest, one[1])
        except Exception as error:  # noqa: BLE001 - the outcome is what is asked for
            return error

    with ThreadPoolExecutor(len(wanted)) as pool:
        return list(pool.map(run, zip(worlds, wanted, strict=True)))


@pytest.mark.parametrize("round_number", range(3))
def test_of_two_publishers_on_one_head_one_wins(world: World, round_number: int) -> None:
    base, pin = fresh(world), pin_of(world)
    made = [publication(world, moved(pin, rows=n), head=head_of(base)) for n in (round_number, 90)]
    outcomes = race(world, made)
    assert sorted(type(o).__name__ for o in outcomes) == ["ReadSetChanged", "Snapshot"]
    winner = made[0 if isinstance(outcomes[0], Snapshot) else 1]
    assert fresh(world).named(pin.key) == winner.delta.versions[0]
    assert [c.id for c in world.manifest.commits("main")] == [winner.lineage.commit_id, base.head]


def test_of_two_publishers_of_one_table_one_wins_by_the_expected_version(world: World) -> None:
    pin = pin_of(world)
    made = [publication(world, moved(pin, rows=n), expected=((pin.identity, pin.version),)) for n in (1, 2)]
    outcomes = race(world, made)
    assert sorted(type(o).__name__ for o in outcomes) == ["ExpectedVersionMismatch", "Snapshot"]


def test_publishers_of_different_tables_all_get_in_on_one_chain(world: World) -> None:
    pins = [pin_of(world), pin_of(world, name="Place")]
    made = [
        publication(world, moved(pins[0]), expected=((pins[0].identity, pins[0].version),)),
        publication(world, moved(pins[1]), expected=((pins[1].identity, pins[1].version),)),
        publication(world),
        publication(world),
    ]
    outcomes = race(world, made)
    assert all(isinstance(o, Snapshot) for o in outcomes), outcomes
    chain = world.manifest.commits("main")
    assert len(chain) == 5
    assert {c.id for c in chain[:4]} == {w.lineage.commit_id for w in made}
    assert [c.parent for c in chain] == [*(c.id for c in chain[1:]), None]
    assert [c.version for c in chain] == [5, 4, 3, 2, 1]
    assert all(fresh(world).named(pin.key) == moved(pin) for pin in pins)


# ---- what is retried ----------------------------------------------------------------------------------------------


def test_contention_is_retried_five_times_and_then_told(world: World) -> None:
    other = at(world.root)

    class Rival:
        """Commits just before each of our attempts."""

        attempts = 0

        def hit(self, name: str) -> None:
            if name == "manifest.merge":
                self.attempts += 1
                publish(other.manifest, publication(other))

    rival = Rival()
    mine = at(world.root, seams(failpoints=rival))
    wanted = publication(world)
    with pytest.raises(ConflictError, match="met another writer"):
        publish(mine.manifest, wanted)
    assert rival.attempts == limits.PUBLISH_RETRIES_MAX + 1
    assert len(other.manifest.commits("main")) == 1 + rival.attempts


def test_a_contended_publish_keeps_the_commit_id_it_was_given(world: World) -> None:
    other = at(world.root)
    mine = at(world.root, seams(failpoints=At("manifest.merge", lambda: publish(other.manifest, publication(other)))))
    wanted = publication(world)
    after = publish(mine.manifest, wanted)
    assert after.own_head == wanted.lineage.commit_id
    assert after == fresh(world)


@pytest.mark.parametrize(
    "error",
    [
        OSError("connection reset by peer"),
        OSError("write failed in /data/commit conflict/__manifest"),
        OSError(28, "No space left on device"),
        RuntimeError("panicked"),
    ],
)
def test_nothing_but_contention_is_retried(world: World, error: Exception) -> None:
    faults = PlannedFaults([Fault("manifest.merge", Raise(error))])
    mine = at(world.root, seams(failpoints=faults))
    before, wanted = fresh(world), publication(world)
    with pytest.raises(CommitUnknown) as caught:
        publish(mine.manifest, wanted)
    assert caught.value.commit_id == wanted.lineage.commit_id
    assert faults.hits("manifest.merge") == 1
    assert fresh(world) == before
    assert publish(mine.manifest, wanted) == fresh(world)


def lost_answer(table: object, raises: Exception) -> Callable[..., object]:
    real = table.merge  # type: ignore[attr-defined]

    def merge(*arguments: object) -> object:
        real(*arguments)
        raise raises

    return merge


def test_a_publish_that_meets_itself_has_landed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    base, wanted = fresh(world), publication(world, moved(pin_of(world)), head=head_of(fresh(world)))
    monkeypatch.setattr(world.manifest.table, "merge", lost_answer(world.manifest.table, Contention("late")))
    assert publish(world.manifest, wanted) == fresh(world)
    assert [c.id for c in at(world.root).manifest.commits("main")] == [wanted.lineage.commit_id, base.head]
