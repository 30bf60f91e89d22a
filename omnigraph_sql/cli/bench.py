"""`ogsql bench`: how fast this machine and this storage are, beside what storage alone takes."""

from __future__ import annotations

import math
import statistics
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

import click

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import StorageError
from omnigraph_sql.cli.exit_codes import ExitCode
from omnigraph_sql.cli.formats import FORMS, Row
from omnigraph_sql.cli.graphs import address, durability_option, storage_option
from omnigraph_sql.cli.interrupts import check, cleaned_up
from omnigraph_sql.cli.progress import Line
from omnigraph_sql.cli.terminal import say, tell
from omnigraph_sql.cli.texts import Unreadable

if TYPE_CHECKING:
    from omnigraph_sql.cli.bench_work import Step, Work
    from omnigraph_sql.engine.store.root import GraphRoot
    from omnigraph_sql.engine.store.scratch import Scratch

_EPILOG = """\b
Examples:
  ogsql bench
  ogsql bench . --people 100000 --durability fsync
  ogsql bench s3://bucket/trials --storage-option region=eu-west-1 --rounds 5
  ogsql bench --format json > bench.json
"""
_COLUMNS = ("step", "count", "median_ms", "p95_ms", "per_second", "unit", "floor_ms", "ratio")
_PEOPLE = 20_000
_ROUNDS = 20


@click.command(epilog=_EPILOG)
@click.argument("place", required=False)
@click.option(
    "--people",
    type=click.IntRange(limits.BENCH_PEOPLE_MIN, limits.BENCH_PEOPLE_MAX),
    default=_PEOPLE,
    show_default=True,
    metavar="N",
    help="How many people the graph has, from 100 to 10000000; each knows five others.",
)
@click.option(
    "--rounds",
    type=click.IntRange(1, limits.BENCH_ROUNDS_MAX),
    default=_ROUNDS,
    show_default=True,
    metavar="N",
    help="How often a step is measured, up to 1000; loads and transactions less often.",
)
@click.option("--format", "form", type=click.Choice(list(FORMS)), default="table", help="How rows are written.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but the measurements.")
@durability_option
@storage_option
def bench(
    place: str | None, people: int, rounds: int, form: str, quiet: bool, durability: str, storage: tuple[str, ...]
) -> int:
    """Measure how fast this machine and this storage are.

    Makes a graph of made-up people in a folder of its own below PLACE, which is a folder or s3://bucket/prefix, loads
    it, asks, writes, and removes it, also when interrupted. Without PLACE that is where temporary files go, which may
    be memory; name a folder on the disk you care about. Graphs that exist are never touched.

    floor_ms is what storage alone took in the same run, in turn with the step: bare Lance on the same rows. A busy
    machine slows both, so compare machines by the times and versions by the ratio.
    """
    where = _place(place, storage)
    from omnigraph_sql.base.seams import SystemClock, UlidSource
    from omnigraph_sql.engine.store.durable import Durability
    from omnigraph_sql.engine.store.scratch import Scratch

    start = perf_counter()
    scratch = Scratch.below(where, UlidSource(SystemClock()))
    with cleaned_up(lambda: _removed(scratch)):
        from omnigraph_sql.cli.bench_work import KNOWN_BY_EACH, Work

        with closing(Work(scratch, people, Durability(durability))) as work, Line(sys.stderr, quiet=quiet) as line:
            found = _measured(work, rounds, line.show)
    for piece in FORMS[form](_COLUMNS, iter([[one.row() for one in found]])):
        say(piece)
    if not quiet:
        tell(
            f"{people} people who know {people * KNOWN_BY_EACH}, durability {durability}, below {where.uri}; "
            f"measured in {perf_counter() - start:.0f} s, and removed"
        )
    return ExitCode.OK


def _place(place: str | None, storage: tuple[str, ...]) -> GraphRoot:
    """The place to work below. Raises Unreadable for one that is not there, or that is a graph itself."""
    where = address(place or tempfile.gettempdir(), storage=storage)
    from omnigraph_sql.engine.store.root import GraphRoot
    from omnigraph_sql.engine.world import World

    root = GraphRoot.parse(where.graph, dict(where.storage) or None)
    if root.local is not None and not root.local.is_dir():
        what = f"'{place}' is a file" if root.local.exists() else f"there is no folder '{place}'"
        raise Unreadable(what, hint="name a folder that exists, or s3://bucket/prefix")
    if World.at(root).manifest.table.exists():
        raise Unreadable(f"'{place}' is a graph, and graphs are left alone", hint="name the folder it lies in")
    return root


def _removed(scratch: Scratch) -> None:
    try:
        scratch.remove()
    except StorageError as error:
        error.hint = f"remove {scratch.root.uri} by hand"
        raise


# ---- measuring ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Measured:
    """The seconds that every round of a step took, and those of its floor."""

    name: str
    unit: str
    each: int
    seconds: tuple[float, ...]
    floors: tuple[float, ...]

    def row(self) -> Row:
        middle = statistics.median(self.seconds)
        floor = statistics.median(self.floors) if self.floors else None
        return (
            self.name,
            len(self.seconds),
            _rounded(middle * 1000),
            _rounded(percentile(self.seconds, 95) * 1000),
            _rounded(self.each / middle),
            self.unit,
            None if floor is None else _rounded(floor * 1000),
            None if floor is None else _rounded(middle / floor),
        )


def percentile(values: tuple[float, ...], percent: int) -> float:
    """The smallest of the values that so many percent of them do not exceed."""
    return sorted(values)[math.ceil(len(values) * percent / 100) - 1]


def _rounded(number: float) -> float | int:
    """Three digits say what a measurement can."""
    places = 2 - math.floor(math.log10(number)) if number > 0 else 0
    return round(number) if places <= 0 else round(number, places)


def _measured(work: Work, rounds: int, show: Callable[[str], None]) -> list[Measured]:
    found = []
    for step in work.steps():
        found.append(_of_step(step, min(rounds, step.rounds_max or rounds), show))
    return found


def _of_step(step: Step, rounds: int, show: Callable[[str], None]) -> Measured:
    """Step and floor in turn, every other time the other way round: a busy moment meets both."""
    times: dict[bool, list[float]] = {True: [], False: []}
    first = -1 if step.warm else 0
    for number in range(first, rounds):
        check()
        show(f"{step.name}: round {max(number + 1, 1)} of {rounds}")
        acts = [(True, step.act), *([(False, step.floor)] if step.floor is not None else [])]
        for own, act in acts if number % 2 else reversed(acts):
            start = perf_counter()
            act(number - first)
            if number >= 0:
                times[own].append(perf_counter() - start)
    return Measured(step.name, step.unit, step.each, tuple(times[True]), tuple(times[False]))
