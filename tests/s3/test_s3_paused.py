"""A writer that sleeps past the end of its lease, and wakes up after somebody else has worked."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import CommitUnknown, ReadSetChanged, RecoveryRequired
from omnigraph_sql.engine import opening
from omnigraph_sql.engine.store.lease import RemoteLeases
from omnigraph_sql.engine.store.root import GraphRoot
from omnigraph_sql.engine.world import World
from tests.engine.recovery.crashes import crash
from tests.engine.worlds import START, At, at, held, make, pin_of, seams, sidecars, upsert
from tests.s3.stores import Store

BOTH = ("Person", "Place")
_SECONDS = limits.LEASE_SECONDS_MAX


class Hands:
    """A clock that moves a millisecond per look, and as far as it is told."""

    def __init__(self) -> None:
        self.at = START

    def now(self) -> datetime:
        self.at += timedelta(milliseconds=1)
        return self.at

    def move(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


def _tried(world: World, key: str, *names: str) -> str | None:
    """A write that is acknowledged, or the name of the error it ends with."""
    try:
        upsert(world, {key: 1}, names=names)
    except (ReadSetChanged, RecoveryRequired, CommitUnknown) as error:
        return type(error).__name__
    return None


_PLACES = (
    "write.before_lease",
    "arm.before",
    "arm.after",
    "commit.before_table",
    "commit.after_table",
    "confirm.before",
    "confirm.after",
    "publish.before",
    "publish.after_merge",
    "disarm.before",
)


@pytest.mark.parametrize(
    ("place", "rival"), [*((place, "Person") for place in _PLACES), ("arm.after", "Place"), ("confirm.before", "Place")]
)
def test_a_writer_that_slept_leaves_nothing_that_nobody_can_mend(root: GraphRoot, place: str, rival: str) -> None:
    clock = Hands()
    upsert(make(root, seams(clock=clock)), {"a": 1}, names=BOTH)
    told: dict[str, str | None] = {}

    def sleep() -> None:
        clock.move(_SECONDS + 1)
        told["rival"] = _tried(at(root, seams(clock=clock)), "rival", rival)

    told["mine"] = _tried(at(root, seams(clock=clock, failpoints=At(place, sleep))), "mine", "Person")
    opening.open_for_writing(at(root, seams(clock=clock)))
    upsert(at(root, seams(clock=clock)), {"next": 1}, names=BOTH)
    world = at(root)
    assert sidecars(world) == []
    for name in BOTH:
        pin = pin_of(world, name=name)
        assert world.tables.newest(pin.path, None, pin.version) == pin.version
    assert told["mine"] != "ReadSetChanged", "rows that depend on nothing are prepared anew"
    for key, name in (("rival", rival), ("mine", "Person")):
        assert key in held(world, name=name) or told[key] is not None, "an acknowledged row is gone"
    assert {"a", "next"} <= held(world).keys()


def _leases(root: GraphRoot, clock: Hands) -> RemoteLeases:
    found = at(root, seams(clock=clock)).leases
    assert isinstance(found, RemoteLeases)
    return found


def test_a_lease_is_renewed_once_half_of_it_is_gone_and_not_before(store: Store, root: GraphRoot) -> None:
    clock = Hands()
    leases = _leases(root, clock)
    with leases.hold("main") as lease:
        before = store.keys("t/")
        clock.move(_SECONDS / 2 - 1)
        assert leases.renewed(lease) is lease
        assert store.keys("t/") == before
        clock.move(1)
        longer = leases.renewed(lease)
        assert (longer.fence, longer.owner) == (lease.fence, lease.owner)
        assert longer.expires_at == clock.at + timedelta(seconds=_SECONDS)
        clock.move(_SECONDS - 1)
        assert _leases(root, clock)._try("main", "somebody else") is None
        clock.move(_SECONDS)
        assert leases.renewed(longer).fence == lease.fence, "nobody has taken it meanwhile"
    with leases.hold("main") as again:
        assert again.fence == lease.fence + 1, "it was given back with its counter"


def test_a_lease_that_somebody_else_took_is_not_renewed(root: GraphRoot) -> None:
    clock = Hands()
    leases = _leases(root, clock)
    with leases.hold("main") as lost:
        clock.move(_SECONDS + 1)
        with _leases(root, clock).hold("main") as taken:
            with pytest.raises(ReadSetChanged, match="lost to another writer") as told:
                leases.renewed(lost)
            assert (told.value.member, told.value.expected) == ("lease", lost.fence)
            assert _leases(root, clock).renewed(taken) == taken
        with pytest.raises(ReadSetChanged):
            leases.renewed(lost)


def test_a_recovery_that_slept_restores_nothing(root: GraphRoot) -> None:
    clock = Hands()
    upsert(make(root, seams(clock=clock)), {"a": 1})
    crash(root, "commit.after_table", {"b": 2})
    clock.move(_SECONDS + 1)  # the clock of the dead writer stood at the beginning

    def sleep() -> None:
        clock.move(_SECONDS + 1)
        assert [one.kind for one in opening.open_for_writing(at(root, seams(clock=clock)))] == ["RolledBack"]
        upsert(at(root, seams(clock=clock)), {"rival": 1})

    with pytest.raises(ReadSetChanged, match="lost to another writer"):
        opening.open_for_writing(at(root, seams(clock=clock, failpoints=At("heal.before_restore", sleep))))
    assert held(at(root)) == {"a": 1, "rival": 1}
    upsert(at(root, seams(clock=clock)), {"next": 1})
