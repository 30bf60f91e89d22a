"""Links of a state from those of another: what a few commits changed is taken out and put in, the rest renumbered.

What comes out is, number by number, what making the links anew would give.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base.catalog import DST, ID, SRC
from omnigraph_sql.engine.store.moved import moved, rows_at, stretches
from omnigraph_sql.run.held import Bools, Held, Ints
from omnigraph_sql.run.links_part import Part, Places

_NONE: Final[Ints] = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Renumbered:
    """One table of two states: `to` by old number, -1 for rows that are gone; `order` the same, but -1 too for rows
    that changed places among the others. None for both where no number changed."""

    count: int
    to: Ints | None
    order: Ints | None
    fresh: Ints
    unsettled: Ints
    """Old numbers of rows that are gone or changed places."""

    def of(self, numbers: Ints) -> Ints:
        return numbers if self.to is None else self.to[numbers]


@dataclass(frozen=True, slots=True)
class Change:
    """What lies between two states of an edge table and its ends; `rows` is how much."""

    edges: Renumbered
    source: Renumbered
    target: Renumbered
    rows: int


def change_between(old: tuple[Held, Held, Held], new: tuple[Held, Held, Held], most: int) -> Change | None:
    """From the edges, sources and targets of one state to those of another; None when more than `most` rows differ."""
    found: list[Renumbered] = []
    rows = 0
    for place, (before, after) in enumerate(zip(old, new, strict=True)):
        if place == 2 and after.token == new[1].token and before.token == old[1].token:
            found.append(found[1])
            continue
        made = _renumbered(before, after, most, by_id=place > 0)
        if made is None:
            return None
        rows += len(made.fresh) + len(made.unsettled)
        found.append(made)
    return Change(found[0], found[1], found[2], rows) if rows <= most else None


def _renumbered(before: Held, after: Held, most: int, *, by_id: bool) -> Renumbered | None:
    count = after.table.pin.row_count
    known, now = stretches(before.table), stretches(after.table)
    if now[: len(known)] == known:
        # Rows only came after the others.
        old = before.table.pin.row_count
        fresh = np.arange(old, count, dtype=np.int64)
        return Renumbered(count, None, None, fresh, _NONE) if len(fresh) <= most else None
    move = moved(before.tables, before.table, after.table, most)
    if move is None:
        return None
    gone = move.gone
    if len(gone) == len(move.to):
        # Nothing was there before: another table in the same place, or one that was written over.
        return None
    if not by_id or not len(gone) or not len(move.fresh):
        return Renumbered(count, move.to, move.to, move.fresh, gone)
    names = before.stored_column(ID).array.take(pa.array(gone))
    own = rows_at(after.tables, after.table, move.fresh, [ID])[ID].combine_chunks()
    at = pc.index_in(names, value_set=own).fill_null(-1).to_numpy(zero_copy_only=False)
    to = move.to.copy()
    to[gone] = np.where(at >= 0, np.append(move.fresh, -1)[at], -1)
    return Renumbered(count, to, move.to, move.fresh, gone)


# ---- links ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Made:
    """The links out of either end, and whether one of those that were put in joins nodes that another one joins."""

    out: Part
    into: Part
    doubled: bool


def parts_since(out: Part, into: Part, change: Change, edges: Held, source: Held, target: Held) -> Made | None:
    """The links of the later state, out of either end, from those of the earlier; None where an edge leads nowhere."""
    if len(out.edges) != (len(change.edges.to) if change.edges.to is not None else _before(change, edges)):
        # Some edge led nowhere. Whether it does now, only the edges themselves say.
        return None
    dead = _dead(out, into, change)
    heads, tails, numbers = _added(out, dead, change, edges, source, target)
    first, doubled = _put(_taken(out, dead, change.edges, change.source, change.target), heads, tails, numbers)
    order = np.lexsort((numbers, heads, tails))
    second, _ = _put(
        _taken(into, dead, change.edges, change.target, change.source), tails[order], heads[order], numbers[order]
    )
    return Made(first, second, doubled)


def _before(change: Change, edges: Held) -> int:
    return edges.table.pin.row_count - len(change.edges.fresh)


def _dead(out: Part, into: Part, change: Change) -> Bools | None:
    """Old edges whose links are taken out: those that are gone, and those at nodes that are gone or changed places."""
    found = [change.edges.unsettled]
    for part, nodes in ((out, change.source), (into, change.target)):
        at = nodes.unsettled
        if len(at):
            found.append(part.edges[part.places(at)[1]].astype(np.int64))
    numbers = np.concatenate(found)
    if not len(numbers):
        return None
    made = np.zeros(len(out.edges), np.bool_)
    made[numbers] = True
    return made


def _added(
    out: Part, dead: Bools | None, change: Change, edges: Held, source: Held, target: Held
) -> tuple[Ints, Ints, Ints]:
    """Where the links that are put in begin and end, and their edges, in the order of all three."""
    heads, tails, numbers = [_NONE], [_NONE], [_NONE]
    if dead is not None:
        places = np.flatnonzero(dead[out.edges]).astype(np.int64)
        owners = np.searchsorted(out.first, places, side="right") - 1
        again = (
            change.source.of(owners),
            change.target.of(out.ends[places].astype(np.int64)),
            change.edges.of(out.edges[places].astype(np.int64)),
        )
        kept = (again[0] >= 0) & (again[1] >= 0) & (again[2] >= 0)
        for into, values in zip((heads, tails, numbers), again, strict=True):
            into.append(values[kept])
    if len(change.edges.fresh):
        rows = rows_at(edges.tables, edges.table, change.edges.fresh, [SRC, DST])
        head, tail = _numbers(source, rows[SRC]), _numbers(target, rows[DST])
        whole = (head >= 0) & (tail >= 0)
        for into, values in zip((heads, tails, numbers), (head, tail, change.edges.fresh), strict=True):
            into.append(values[whole])
    head, tail, number = np.concatenate(heads), np.concatenate(tails), np.concatenate(numbers)
    order = np.lexsort((number, tail, head))
    return head[order], tail[order], number[order]


def _numbers(nodes: Held, ids: pa.ChunkedArray) -> Ints:
    """Numbers of committed rows by id, few of them; -1 where there is none."""
    wanted = pc.unique(ids)
    every = nodes.stored_column(ID).array
    at = pc.index_in(every, value_set=wanted)
    there = np.flatnonzero(at.is_valid().to_numpy(zero_copy_only=False)).astype(np.int64)
    known = np.full(len(wanted) + 1, -1, np.int64)
    known[at.take(pa.array(there)).to_numpy()] = there
    found: Ints = known[pc.index_in(ids.combine_chunks(), value_set=wanted).fill_null(len(wanted)).to_numpy()]
    return found


def _taken(part: Part, dead: Bools | None, edges: Renumbered, near: Renumbered, far: Renumbered) -> Part:
    """The links that stay, in the new numbers."""
    first, ends, numbers = part.first, part.ends, part.edges
    if dead is not None:
        places = np.flatnonzero(dead[part.edges]).astype(np.int64)
        first = first - np.searchsorted(places, first)
        ends, numbers = _without(ends, places), _without(numbers, places)
    if near.order is not None:
        counts = np.zeros(near.count, np.int64)
        stays = near.order >= 0
        counts[near.order[stays]] = np.diff(first)[stays]
        first = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    elif near.count + 1 > len(first):
        first = np.pad(first, (0, near.count + 1 - len(first)), mode="edge")
    ends = ends if far.order is None else far.order.astype(np.int32)[ends]
    numbers = numbers if edges.order is None else edges.order.astype(np.int32)[numbers]
    return Part(first, ends, numbers)


def _put(part: Part, heads: Ints, tails: Ints, numbers: Ints) -> tuple[Part, bool]:
    """The links with more of them, which come in order, and whether one of those joins nodes that another one joins."""
    if not len(heads):
        return part, False
    places = np.empty(len(heads), np.int64)
    doubled = bool(((heads[1:] == heads[:-1]) & (tails[1:] == tails[:-1])).any())
    for which, (head, tail, number) in enumerate(zip(heads.tolist(), tails.tolist(), numbers.tolist(), strict=True)):
        begin, end = int(part.first[head]), int(part.first[head + 1])
        own = part.ends[begin:end]
        low, high = int(np.searchsorted(own, tail)), int(np.searchsorted(own, tail, side="right"))
        places[which] = begin + low + int(np.searchsorted(part.edges[begin + low : begin + high], number))
        doubled = doubled or low < high
    first = part.first.copy()
    first[1:] += np.cumsum(np.bincount(heads, minlength=len(first) - 1))
    return Part(first, _with(part.ends, places, tails), _with(part.edges, places, numbers)), doubled


def _without(values: Places, places: Ints) -> Places:
    """The values but for those at some places, which ascend: long stretches are copied as they are."""
    bounds = [-1, *places.tolist(), len(values)]
    return np.concatenate([values[a + 1 : b] for a, b in pairwise(bounds)])


def _with(values: Places, places: Ints, added: Ints) -> Places:
    """The values with others put in before some places, which ascend."""
    made = np.empty(len(values) + len(added), values.dtype)
    before = 0
    for number, (place, value) in enumerate(zip(places.tolist(), added.tolist(), strict=True)):
        made[before + number : place + number] = values[before:place]
        made[place + number] = value
        before = place
    made[before + len(added) :] = values[before:]
    return made
