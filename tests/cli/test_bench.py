"""`ogsql bench`: what it measures, that it measures the same thing in both languages, and that it leaves nothing."""

import csv
import io
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import click
import pytest

import omnigraph_sql
from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import StorageError
from omnigraph_sql.base.seams import SystemClock, UlidSource
from omnigraph_sql.cli import bench_work
from omnigraph_sql.cli.bench import bench, percentile
from omnigraph_sql.cli.bench_work import (
    KNOWN_BY_EACH,
    ONE_HOP_GQ,
    ONE_HOP_SQL,
    THREE_HOPS_GQ,
    THREE_HOPS_SQL,
    Work,
    handle,
    knows,
    people,
)
from omnigraph_sql.cli.interrupts import cleaned_up
from omnigraph_sql.engine.store.durable import Durability
from omnigraph_sql.engine.store.root import GraphRoot
from omnigraph_sql.engine.store.scratch import PREFIX, Scratch
from tests.cli.conftest import Command

STEPS = (
    *("load people", "load who knows whom", "build indexes", "look up by key", "aggregate all people"),
    *("one hop, .gq", "one hop, SQL", "three hops, .gq", "three hops, SQL"),
    *("insert one row", "insert 100, one commit", "upsert one row", "open to read"),
)
WITHOUT_FLOOR = {"build indexes", "one hop, .gq", "one hop, SQL", "three hops, .gq", "three hops, SQL"}
SMALL = ("--people", "100", "--rounds", "2")
STARTED = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it
from omnigraph_sql.cli import main
main()
"""


@pytest.fixture
def place(folder: Path) -> Path:
    """A folder with something in it that must stay."""
    (folder / "place").mkdir()
    (folder / "place" / "mine.txt").write_text("mine")
    return folder / "place"


@pytest.fixture
def work(folder: Path) -> Iterator[Work]:
    made = Work(Scratch.below(GraphRoot.parse(folder), UlidSource(SystemClock())), 100, Durability.PROCESS)
    yield made
    made.close()


def left_in(place: Path) -> list[str]:
    return sorted(str(path.relative_to(place)) for path in place.rglob("*"))


def test_every_step_is_shown_with_its_times_and_the_place_is_as_it_was(ogsql: Command, place: Path) -> None:
    done = ogsql("bench", "place", *SMALL)
    lines = done.out.splitlines()
    assert done.code == 0
    assert lines[0].split() == ["step", "count", "median_ms", "p95_ms", "per_second", "unit", "floor_ms", "ratio"]
    assert [line[: len(name)] for line, name in zip(lines[2:], STEPS, strict=True)] == list(STEPS)
    assert done.err.startswith("100 people who know 500, durability process, below ")
    assert done.err.endswith(" s, and removed\n")
    assert left_in(place) == ["mine.txt"]


def test_the_numbers_belong_together(ogsql: Command, place: Path) -> None:
    done = ogsql("bench", str(place), "--format", "json", "--people", "100", "--rounds", "7", "-q")
    found = {step["step"]: step for step in json.loads(done.out)}
    assert (done.code, done.err, tuple(found)) == (0, "", STEPS)
    for name, step in found.items():
        assert 0 < step["median_ms"] <= step["p95_ms"]
        assert (step["floor_ms"] is None, step["ratio"] is None) == (name in WITHOUT_FLOOR, name in WITHOUT_FLOOR)
        if step["ratio"] is not None:
            assert step["ratio"] == pytest.approx(step["median_ms"] / step["floor_ms"], rel=0.05)
    each = {"load people": 100, "load who knows whom": 500, "insert 100, one commit": 100, "insert one row": 1}
    for name, units in each.items():
        assert found[name]["per_second"] == pytest.approx(units * 1000 / found[name]["median_ms"], rel=0.05)
    counts = {name: step["count"] for name, step in found.items()}
    assert counts == dict.fromkeys(STEPS, 7) | {
        "load people": 3,
        "load who knows whom": 3,
        "build indexes": 1,
        "insert 100, one commit": 5,
    }


def test_csv_has_one_line_per_step(ogsql: Command, place: Path) -> None:
    done = ogsql("bench", str(place), "--format", "csv", "--people", "100", "--rounds", "1")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert tuple(row["step"] for row in rows) == STEPS
    assert {row["count"] for row in rows} == {"1"}


def test_a_commit_that_survives_a_loss_of_power_can_be_measured(ogsql: Command, place: Path) -> None:
    done = ogsql("bench", str(place), "--durability", "fsync", "--people", "100", "--rounds", "1")
    assert (done.code, "durability fsync" in done.err) == (0, True)
    assert left_in(place) == ["mine.txt"]


def test_without_a_place_temporary_files_are_where_the_system_has_them(
    ogsql: Command, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(place))
    done = ogsql("bench", "--people", "100", "--rounds", "1")
    assert (done.code, f"below {place};" in done.err) == (0, True)
    assert left_in(place) == ["mine.txt"]


# ---- what is measured -----------------------------------------------------------------------------------------------


def test_people_are_the_same_in_every_run() -> None:
    assert people(3).read_all().to_pylist() == [
        {"handle": "p00000000", "name": "Person 0", "city": "City 82", "age": 28},
        {"handle": "p00000001", "name": "Person 1", "city": "City 38", "age": 82},
        {"handle": "p00000002", "name": "Person 2", "city": "City 78", "age": 81},
    ]
    assert knows(100).read_all().equals(knows(100).read_all())


def test_batches_join_without_a_gap_and_everybody_known_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = people(100).read_all(), knows(100).read_all()
    monkeypatch.setattr(bench_work, "_BATCH_ROWS", 7)
    assert (people(100).read_all(), knows(100).read_all()) == whole
    handles, known = set(whole[0]["handle"].to_pylist()), whole[1]
    assert handles == {handle(number) for number in range(100)}
    assert set(known["src"].to_pylist()) == handles
    assert set(known["dst"].to_pylist()) <= handles
    assert len(set(zip(known["src"].to_pylist(), known["dst"].to_pylist(), strict=True))) == 100 * KNOWN_BY_EACH


def test_a_few_people_are_known_by_many() -> None:
    counts = knows(1000).read_all()["dst"].value_counts().field("counts").to_pylist()
    assert max(counts) > 10 * KNOWN_BY_EACH


def test_both_languages_give_the_same_counts_and_these_are_right(work: Work) -> None:
    for step in work._loads():
        step.act(0)
    known: dict[str, list[str]] = {}
    for edge in knows(100).read_all().to_pylist():
        known.setdefault(edge["src"], []).append(edge["dst"])
    for number in range(20):
        whom = work.someone(number)
        three = sum(len(known[c]) for b in known[whom] for c in known[b])
        assert work.ask(ONE_HOP_GQ, whom) == work.ask(ONE_HOP_SQL, whom) == [(KNOWN_BY_EACH,)]
        assert work.ask(THREE_HOPS_GQ, whom) == work.ask(THREE_HOPS_SQL, whom) == [(three,)]


def test_a_step_and_its_floor_do_the_same_to_the_same_rows(work: Work) -> None:
    for step in work.steps():
        step.act(0)
        if step.floor is not None:
            step.floor(0)
    columns = ["handle", "name", "city", "age"]
    own = work.graph.sql("SELECT handle, name, city, age FROM Person").arrow().sort_by("handle")
    bare = work.bare_people.read(columns).sort_by("handle")
    assert own.num_rows == 100 + 1 + 100
    assert own.to_pylist() == bare.to_pylist()
    assert work.bare_knows.read(["src"]).num_rows == 500
    questions = {step.name: step for step in work._questions()}
    by_key, aggregate = questions["look up by key"], questions["aggregate all people"]
    assert by_key.floor is not None
    assert aggregate.floor is not None
    row, bare_row = by_key.act(3), by_key.floor(3)
    assert isinstance(bare_row, list)
    assert row == [tuple(one.values()) for one in bare_row]
    cities, bare_cities = aggregate.act(0), aggregate.floor(0)
    assert isinstance(cities, list)
    assert isinstance(bare_cities, list)
    assert sorted(cities) == sorted((c["city"], c["count_all"], c["age_mean"]) for c in bare_cities)


@pytest.mark.parametrize(
    ("count", "percent", "value"), [(1, 95, 1), (3, 95, 3), (20, 95, 19), (100, 95, 95), (4, 50, 2)]
)
def test_a_percentile_is_one_of_the_values(count: int, percent: int, value: int) -> None:
    assert percentile(tuple(float(n) for n in range(count, 0, -1)), percent) == value


# ---- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("--people", limits.BENCH_PEOPLE_MIN, limits.BENCH_PEOPLE_MAX),
        ("--rounds", 1, limits.BENCH_ROUNDS_MAX),
    ],
)
def test_sizes_have_limits_that_are_named(ogsql: Command, name: str, low: int, high: int) -> None:
    for allowed in (low, low + 1, high - 1, high):
        assert bench.make_context("bench", [name, str(allowed)]).params[name[2:]] == allowed
    for refused in (low - 1, high + 1):
        with pytest.raises(click.BadParameter):
            bench.make_context("bench", [name, str(refused)])
        done = ogsql("bench", name, str(refused))
        assert (done.code, done.out) == (2, "")
        assert f"{low}<=x<={high}" in done.err
    assert str(high) in ogsql("bench", "--help").out


def test_a_place_that_is_not_there_or_no_folder_is_refused(ogsql: Command, place: Path) -> None:
    missing, file = ogsql("bench", "nowhere"), ogsql("bench", "place/mine.txt")
    assert (missing.code, file.code) == (2, 2)
    assert missing.err.startswith("error: there is no folder 'nowhere'\n  = hint: name a folder that exists")
    assert file.err.startswith("error: 'place/mine.txt' is a file\n")
    assert left_in(place) == ["mine.txt"]


def test_a_graph_is_left_alone(ogsql: Command, air: str) -> None:
    before = digest(Path(air))
    done = ogsql("bench", air)
    assert done.code == 2
    assert done.err.startswith(f"error: '{air}' is a graph, and graphs are left alone\n")
    assert digest(Path(air)) == before


def digest(folder: Path) -> str:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return sha256(b"".join(str(f.relative_to(folder)).encode() + f.read_bytes() for f in files)).hexdigest()


@pytest.mark.skipif(os.geteuid() == 0, reason="whoever may do everything is refused nothing")
def test_a_place_where_nothing_can_be_made_is_refused(ogsql: Command, place: Path) -> None:
    place.chmod(0o500)
    done = ogsql("bench", str(place))
    place.chmod(0o700)
    assert (done.code, "permission denied" in done.err) == (1, True)


# ---- nothing is left ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "code"),
    [(KeyboardInterrupt(), 130), (StorageError("gone", kind="transient"), 3), (ValueError("odd"), None)],
)
def test_whatever_ends_it_nothing_is_left(
    ogsql: Command, place: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int | None
) -> None:
    seen: list[list[str]] = []

    def broken(_work: Work, _number: int) -> None:
        seen.append(left_in(place))
        raise error

    monkeypatch.setattr(Work, "_insert", broken)
    if code is None:
        with pytest.raises(ValueError, match="odd"):
            ogsql("bench", str(place), *SMALL)
    else:
        assert ogsql("bench", str(place), *SMALL).code == code
    assert len(seen[0]) > 10
    assert left_in(place) == ["mine.txt"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_press_or_a_request_to_end_removes_everything(
    folder: Path, environment: dict[str, str], place: Path, number: signal.Signals
) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", STARTED, "bench", str(place), "--people", "100", "--rounds", "1000"]
    child = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    with child, os.fdopen(ours, "rb", buffering=0) as screen:
        shown = b""
        while b"look up by key: round 2" not in shown:
            shown += screen.read(4096)
        assert len(left_in(place)) > 10
        for _ in range(3):  # impatience does not keep it from cleaning up
            child.send_signal(number)
        assert child.wait(60) == 130
        assert child.stdout is not None
        assert child.stdout.read() == b""
    assert left_in(place) == ["mine.txt"]


def test_a_second_press_waits_until_everything_is_clean() -> None:
    done: list[str] = []

    def clean() -> None:
        signal.raise_signal(signal.SIGINT)
        done.append("clean")

    was = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with cleaned_up(clean):
            done.append("work")
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, was)
    assert done == ["work", "clean"]


def test_what_ignores_a_hang_up_goes_on_ignoring_it() -> None:
    was = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with cleaned_up(lambda: None):
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, was)


def test_only_places_made_for_a_trial_can_be_removed(folder: Path) -> None:
    with pytest.raises(ValueError, match="was not made for a trial"):
        Scratch(GraphRoot.parse(folder))
    made = Scratch.below(GraphRoot.parse(folder), UlidSource(SystemClock()))
    assert Path(made.root.uri).name.startswith(PREFIX)
    made.remove()
    made.remove()
    assert not Path(made.root.uri).exists()


def test_help_and_version_load_no_engine(folder: Path, environment: dict[str, str]) -> None:
    heavy = "{'lance', 'datafusion', 'pyarrow', 'numpy', 'omnigraph_sql.graph', 'omnigraph_sql.engine'}"
    program = f"""
import sys
from omnigraph_sql.cli.command import run
for args in (["--version"], ["--help"], ["bench", "--help"], ["bench", "--people", "1"], ["check", "--help"]):
    run(args)
print(sorted(set(sys.modules) & {heavy}), file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stderr.splitlines()[-1] == "[]"
    assert f"ogsql {omnigraph_sql.__version__}" in done.stdout
