"""Time, ids and planned faults."""

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from ulid import ULID

from omnigraph_sql.base.seams import (
    CATALOGUE,
    Clock,
    Failpoint,
    Failpoints,
    Fault,
    IdSource,
    Kill,
    NoFailpoints,
    PlannedFaults,
    Raise,
    SystemClock,
    UlidSource,
)

NOON = datetime(2031, 2, 3, 12, 0, 0, 123456, tzinfo=UTC)
POINTS = (
    Failpoint("commit.after_table", "a table has moved and nothing is visible"),
    Failpoint("publish.before", "everything is durable and nothing is visible"),
)


class SetClock:
    """A clock a test moves by hand."""

    def __init__(self, instant: datetime) -> None:
        self.instant = instant

    def now(self) -> datetime:
        return self.instant


def test_the_real_defaults_fit_their_protocols() -> None:
    clock: Clock = SystemClock()
    ids: IdSource = UlidSource(clock)
    failpoints: Failpoints = NoFailpoints()
    assert clock.now() <= clock.now()
    assert len(ids.ulid()) == 26
    failpoints.hit("any.name")


def test_the_system_clock_is_aware_and_in_utc() -> None:
    assert SystemClock().now().utcoffset() == timedelta(0)


def test_a_ulid_carries_the_millisecond_of_its_clock() -> None:
    ulid = ULID.from_str(UlidSource(SetClock(NOON)).ulid())
    assert ulid.milliseconds == int(NOON.timestamp() * 1000)


def test_ulids_ascend_within_one_millisecond() -> None:
    ids = UlidSource(SetClock(NOON))
    made = [ids.ulid() for _ in range(1000)]
    assert made == sorted(set(made))


def test_ulids_ascend_when_the_clock_steps_back() -> None:
    clock = SetClock(NOON)
    ids = UlidSource(clock)
    before = ids.ulid()
    clock.instant = NOON - timedelta(hours=1)
    assert ids.ulid() > before


def test_ulids_follow_the_clock_when_it_moves_on() -> None:
    clock = SetClock(NOON)
    ids = UlidSource(clock)
    before = ids.ulid()
    clock.instant = NOON + timedelta(milliseconds=1)
    assert ULID.from_str(ids.ulid()).milliseconds == ULID.from_str(before).milliseconds + 1


@pytest.mark.parametrize("count", [1, 8, 9, 1023, 1024, 1025, 5000])
@pytest.mark.parametrize("low", [0, 1, 1023, 1024, (1 << 60) - 3, (1 << 79) + (1 << 60) - 1025, 12345678901234567890])
def test_many_ulids_are_those_that_follow_one_another(monkeypatch: pytest.MonkeyPatch, low: int, count: int) -> None:
    monkeypatch.setattr("os.urandom", lambda size: low.to_bytes(size, "big"))
    ids = UlidSource(SetClock(NOON))
    made = ids.ulids(count)
    made.validate(full=True)
    first = int(NOON.timestamp() * 1000) << 80 | low
    assert made.to_pylist() == [str(ULID.from_int(first + place)) for place in range(count)]
    assert ids.ulid() == str(ULID.from_int(first + count))


def test_two_sources_at_the_same_instant_give_different_ids() -> None:
    clock = SetClock(NOON)
    assert UlidSource(clock).ulid() != UlidSource(clock).ulid()


def test_threads_sharing_a_source_never_get_the_same_ulid() -> None:
    ids = UlidSource(SetClock(NOON))
    with ThreadPoolExecutor(8) as pool:
        batches = list(pool.map(lambda _: [ids.ulid() for _ in range(500)], range(8)))
    assert all(batch == sorted(batch) for batch in batches)
    assert len({ulid for batch in batches for ulid in batch}) == 8 * 500


def test_planned_faults_without_a_plan_only_count() -> None:
    faults = PlannedFaults(catalogue=POINTS)
    faults.hit("publish.before")
    faults.hit("publish.before")
    assert faults.hits("publish.before") == 2
    assert faults.hits("commit.after_table") == 0


def test_a_planned_error_is_raised_at_exactly_the_planned_hit() -> None:
    faults = PlannedFaults([Fault("commit.after_table", Raise(OSError("disk full")), at_hit=2)], catalogue=POINTS)
    faults.hit("commit.after_table")
    with pytest.raises(OSError, match="disk full"):
        faults.hit("commit.after_table")
    faults.hit("commit.after_table")
    assert faults.hits("commit.after_table") == 3


def test_two_faults_may_be_planned_at_one_point() -> None:
    plan = [
        Fault("publish.before", Raise(OSError("first"))),
        Fault("publish.before", Raise(OSError("third")), at_hit=3),
    ]
    faults = PlannedFaults(plan, catalogue=POINTS)
    with pytest.raises(OSError, match="first"):
        faults.hit("publish.before")
    faults.hit("publish.before")
    with pytest.raises(OSError, match="third"):
        faults.hit("publish.before")


def test_a_planned_kill_ends_the_process_before_its_cleanup_runs() -> None:
    program = """
from omnigraph_sql.base.seams import Failpoint, Fault, Kill, PlannedFaults
faults = PlannedFaults([Fault("here", Kill(), at_hit=2)], catalogue=[Failpoint("here", "")])
try:
    faults.hit("here")
    print("passed once", flush=True)
    faults.hit("here")
finally:
    print("cleaned up", flush=True)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL
    assert done.stdout == "passed once\n"


def test_a_fault_at_an_unknown_point_is_refused_when_planned() -> None:
    with pytest.raises(ValueError, match=r"no failpoint is called 'commit.after_tabel'"):
        PlannedFaults([Fault("commit.after_tabel", Kill())], catalogue=POINTS)


def test_an_unknown_point_is_refused_when_hit_and_when_asked_about() -> None:
    faults = PlannedFaults(catalogue=POINTS)
    with pytest.raises(ValueError, match="no failpoint"):
        faults.hit("elsewhere")
    with pytest.raises(ValueError, match="no failpoint"):
        faults.hits("elsewhere")


@pytest.mark.parametrize("at_hit", [0, -1])
def test_hits_are_counted_from_one(at_hit: int) -> None:
    with pytest.raises(ValueError, match="counted from one"):
        Fault("publish.before", Kill(), at_hit=at_hit)


def test_the_catalogue_names_each_point_once_and_says_why_it_exists() -> None:
    names = [point.name for point in CATALOGUE]
    assert len(names) == len(set(names))
    assert all(point.reason for point in CATALOGUE)
