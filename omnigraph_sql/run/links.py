"""Edges as links between numbered nodes, by the node they are left from; kept in memory and on disk.

The links of a table at a state are made once, for the edges a query walks. Pending edges come on top: links of edges
that are gone are skipped, and the new ones form a part of their own. Nothing is made anew for them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from omnigraph_sql.base.catalog import DST, ID, SRC
from omnigraph_sql.base.limits import LINKS_MADE_MAX
from omnigraph_sql.engine.store.derived import Array, Damaged, DerivedFiles, StoredArrays
from omnigraph_sql.engine.store.lookup import pieces
from omnigraph_sql.run.held import Bools, Held, Ints, joined
from omnigraph_sql.run.shelf import SHELF

Places = npt.NDArray[np.int32]
_NONE: Final[Ints] = np.zeros(0, np.int64)
_HALF: Final = 16


# ---- one part ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Part:
    """Links of node `n` are `first[n] : first[n + 1]`: `ends` says where each leads, `edges` the number of its edge.

    They are in the order of `ends`. Links at the places `dead` are not there.
    """

    first: Ints
    ends: Places
    edges: Places
    dead: Ints | None = None

    def degrees(self) -> Ints:
        counts = np.diff(self.first)
        if self.dead is not None:
            owners = np.searchsorted(self.first, self.dead, side="right") - 1
            counts = counts - np.bincount(owners, minlength=len(counts))
        return counts

    def places(self, at: Ints) -> tuple[Ints, Ints]:
        """All links out of the nodes `at`: which entry of `at` each belongs to, and its place."""
        begin = self.first[at]
        counts = self.first[at + 1] - begin
        owner = np.repeat(np.arange(len(at), dtype=np.int64), counts)
        place = np.arange(len(owner), dtype=np.int64) + np.repeat(begin - (np.cumsum(counts) - counts), counts)
        if self.dead is not None and len(place):
            kept = ~np.isin(place, self.dead)
            owner, place = owner[kept], place[kept]
        return owner, place

    def kept(self, keep: Bools) -> Part:
        """The links at the places where `keep` is true, and no dead ones."""
        if self.dead is not None:
            keep = keep.copy()
            keep[self.dead] = False
        before = np.concatenate((np.zeros(1, np.int64), np.cumsum(keep, dtype=np.int64)))
        return Part(before[self.first], self.ends[keep], self.edges[keep])

    def grown(self, nodes: int) -> Part:
        """The part for so many nodes, the last of which have no links in it."""
        missing = nodes + 1 - len(self.first)
        return self if missing <= 0 else replace(self, first=np.pad(self.first, (0, missing), mode="edge"))

    def ordered(self, ranks: Ints) -> Part:
        """The links of each node in the order of the ranks of their edges; none of them dead."""
        order = np.lexsort((ranks[self.edges], self.owners()))
        return Part(self.first, self.ends[order], self.edges[order])

    def owners(self) -> Ints:
        """The node each link is left from."""
        return np.repeat(np.arange(len(self.first) - 1, dtype=np.int64), np.diff(self.first))


def part_of(heads: Array, tails: Array, edges: Array, nodes: int) -> Part:
    """The links from `heads` to `tails` over `edges`."""
    order = _sorted_by(heads, _sorted_by(tails, np.arange(len(heads), dtype=np.int64)))
    first = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(heads, minlength=nodes), out=first[1:])
    return Part(first, tails[order].astype(np.int32), edges[order].astype(np.int32))


def _sorted_by(keys: Array, order: Ints) -> Ints:
    """`order` sorted by its keys; what is equal stays in order. Sorting halves of the keys is by counting."""
    for shift in (0, _HALF):
        half = ((keys[order] >> shift) & 0xFFFF).astype(np.uint16)
        if shift and not half.any():
            break
        order = order[np.argsort(half, kind="stable")]
    return order


def distinct_part(part: Part) -> Part:
    """One link of those between the same two nodes."""
    whole = part if part.dead is None else part.kept(np.ones(len(part.ends), np.bool_))
    owners = whole.owners()
    keep = np.ones(len(owners), np.bool_)
    keep[1:] = (owners[1:] != owners[:-1]) | (whole.ends[1:] != whole.ends[:-1])
    return whole if bool(keep.all()) else whole.kept(keep)


# ---- what is stored ---------------------------------------------------------------------------------------------


def stored_name(edges: Held, source: Held, target: Held) -> tuple[str, str]:
    """What the file of the links is called: the table, and the state of it and of its ends."""
    return edges.table.pin.path, f"{edges.token[:16]}{source.token[:8]}{target.token[:8]}"


class StoredLinks:
    """The committed links of an edge table between two node tables, out of both of its ends."""

    def __init__(self, edges: Held, source: Held, target: Held, files: DerivedFiles) -> None:
        self._edges, self._ends, self._files = edges, (source, target), files
        self._path, self._token = stored_name(edges, source, target)
        self._made: dict[str, Array] | None = None
        self._notes: dict[str, object] = {}
        self._stored: StoredArrays | None = files.open(self._path, self._token)
        if self._stored is None:
            self._make()

    @property
    def nbytes(self) -> int:
        if self._made is not None:
            return sum(int(array.nbytes) for array in self._made.values())
        assert self._stored is not None
        return self._stored.nbytes

    def array(self, name: str) -> Array:
        """One of the arrays; those of a file that does not hold what it says are made again."""
        if self._stored is not None:
            try:
                return self._stored.get(name)
            except Damaged:
                self._files.drop(self._path, self._token)
                self._stored = None
        if self._made is None:
            self._make()
        assert self._made is not None
        return self._made[name]

    @property
    def simple(self) -> bool:
        """Whether no two links are between the same two nodes."""
        notes = self._stored.notes if self._stored is not None else self._notes
        return bool(notes.get("simple"))

    def _make(self) -> None:
        heads, tails, edges = _numbered(self._edges, *self._ends)
        source, target = (end.table.pin.row_count for end in self._ends)
        out, into = part_of(heads, tails, edges, source), part_of(tails, heads, edges, target)
        made: dict[str, Array] = {}
        for side, part in (("out", out), ("in", into)):
            made |= {f"{side}.first": part.first, f"{side}.ends": part.ends, f"{side}.edges": part.edges}
        owners = out.owners()
        twice = (owners[1:] == owners[:-1]) & (out.ends[1:] == out.ends[:-1])
        self._notes = {"simple": not bool(twice.any())}
        self._made = made
        self._files.write(self._path, self._token, made, self._notes)

    def part(self, direction: str) -> Part:
        return Part(*(self.array(f"{direction}.{name}") for name in ("first", "ends", "edges")))

    def first(self, direction: str) -> Ints:
        return self.array(f"{direction}.first")


def _numbered(edges: Held, source: Held, target: Held) -> tuple[Ints, Ints, Ints]:
    """Where every committed edge begins and ends, and its number; edges without one of their ends lead nowhere."""
    ids = [end.stored_column(ID).array for end in (source, target)]
    heads: list[Array] = []
    tails: list[Array] = []
    for piece in pieces(edges.tables, edges.table, (SRC, DST)):
        for name, values, into in ((SRC, ids[0], heads), (DST, ids[1], tails)):
            found = pc.index_in(piece[name], value_set=values).fill_null(-1)
            into.append(found.to_numpy().astype(np.int64))
    if not heads:
        return _NONE, _NONE, _NONE
    head, tail = np.concatenate(heads), np.concatenate(tails)
    whole = (head >= 0) & (tail >= 0)
    number = np.arange(len(head), dtype=np.int64)
    return (head, tail, number) if bool(whole.all()) else (head[whole], tail[whole], number[whole])


# ---- with what is pending ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Side:
    """Every link out of the nodes at one end of an edge type, in parts."""

    parts: tuple[Part, ...]
    nodes: int

    @property
    def size(self) -> int:
        return sum(len(part.ends) for part in self.parts)

    def degrees(self) -> Ints:
        counts = self.parts[0].degrees()
        for part in self.parts[1:]:
            counts = counts + part.degrees()
        return counts


class Links:
    """The links of an edge type at a state, in every direction."""

    def __init__(self, edges: Held, source: Held, target: Held, files: DerivedFiles) -> None:
        self.edges, self.source, self.target = edges, source, target
        self._files = files
        self._sides: dict[tuple[str, bool], Side] = {}
        self._new: tuple[Ints, Ints, Ints] | None = None

    @property
    def _key(self) -> tuple[str, ...]:
        return ("links", self.edges.token, self.source.token, self.target.token)

    def is_at_hand(self) -> bool:
        """Whether the stored links need not be made, or are few: they are in memory, on disk, or do not count."""
        if self._is_moved or self.edges.table.pin.row_count <= LINKS_MADE_MAX or SHELF.peek(self._key) is not None:
            return True
        return self._files.has(*stored_name(self.edges, self.source, self.target))

    def stored(self) -> StoredLinks:
        def make() -> StoredLinks:
            return StoredLinks(self.edges, self.source, self.target, self._files)

        return SHELF.get(self._key, make, lambda made: made.nbytes)

    def side(self, direction: str, *, distinct: bool = False) -> Side:
        """Links along the arrow (out), against it (in), or either way; `distinct`: one per pair of nodes."""
        found = self._sides.get((direction, distinct))
        if found is None:
            parts = self._distinct(direction) if distinct else self._parts(direction)
            nodes = (self.target if direction == "in" else self.source).count
            found = self._sides[direction, distinct] = Side(tuple(parts), nodes)
        return found

    def _parts(self, direction: str) -> list[Part]:
        if direction == "both":
            backward = [_without_loops(part) for part in self._parts("in")]
            return [*self._parts("out"), *backward]
        nodes = (self.target if direction == "in" else self.source).count
        parts: list[Part] = []
        if not self._is_moved:
            base = self.stored().part(direction).grown(nodes)
            dead = self._dead_places(direction, base)
            parts.append(replace(base, dead=dead) if len(dead) else base)
        heads, tails, edges = self._pending()
        if len(heads) or not parts:
            starts, ends = (tails, heads) if direction == "in" else (heads, tails)
            parts.append(part_of(starts, ends, edges, nodes))
        return parts

    def _distinct(self, direction: str) -> list[Part]:
        parts = self._parts(direction)
        if direction != "both" and self._is_only_stored() and self.stored().simple:
            return parts
        return [distinct_part(merged(parts))]

    def _is_only_stored(self) -> bool:
        """Whether every link is a stored one, less some."""
        return not self._is_moved and not len(self._pending()[0])

    @property
    def _is_moved(self) -> bool:
        """Whether a table was overwritten, so that nothing stored counts."""
        return self.edges.is_overwritten or self.source.is_overwritten or self.target.is_overwritten

    def _pending(self) -> tuple[Ints, Ints, Ints]:
        """Where pending edges begin and end, and their numbers."""
        if self._new is None:
            self._new = self._find_pending()
        return self._new

    def _find_pending(self) -> tuple[Ints, Ints, Ints]:
        rows = self.edges.pending
        moved = self.source.is_overwritten or self.target.is_overwritten
        if moved and not self.edges.is_overwritten:
            # Nodes were numbered anew, so every edge has to be looked at.
            heads = self.source.numbers(self.edges.column(SRC).array)
            tails = self.target.numbers(self.edges.column(DST).array)
            alive = self.edges.alive
            there = (heads >= 0) & (tails >= 0) & (alive if alive is not None else True)
            number = np.flatnonzero(there).astype(np.int64)
            return heads[number], tails[number], number
        if rows is None:
            return _NONE, _NONE, _NONE
        heads = self.source.numbers(joined(rows[SRC]))
        tails = self.target.numbers(joined(rows[DST]))
        there = (heads >= 0) & (tails >= 0)
        number = self.edges.stored + np.arange(rows.num_rows, dtype=np.int64)
        return heads[there], tails[there], number[there]

    def _dead_places(self, direction: str, part: Part) -> Ints:
        """Places of links that are gone: of edges that are, and of edges at nodes that are."""
        found = [_NONE]
        gone = self.edges.dead
        if len(gone):
            found.append(self._places_of(part, gone))
        near, far = (self.target, self.source) if direction == "in" else (self.source, self.target)
        if len(near.dead):
            found.append(part.places(near.dead)[1])
        if len(far.dead):
            other = self.stored().part("out" if direction == "in" else "in")
            edges = other.edges[other.places(far.dead)[1]]
            if len(edges):
                found.append(self._places_of(part, edges.astype(np.int64)))
        return np.unique(np.concatenate(found))

    def _places_of(self, part: Part, edges: Ints) -> Ints:
        """Places in the part of stored edges by number."""
        wanted = np.zeros(self.edges.stored, np.bool_)
        wanted[edges] = True
        return np.flatnonzero(wanted[part.edges]).astype(np.int64)


def _without_loops(part: Part) -> Part:
    loops = np.flatnonzero(part.owners() == part.ends).astype(np.int64)
    if not len(loops):
        return part
    return replace(part, dead=loops if part.dead is None else np.union1d(part.dead, loops))


def merged(parts: list[Part]) -> Part:
    """All links as one part."""
    whole = [part if part.dead is None else part.kept(np.ones(len(part.ends), np.bool_)) for part in parts]
    if len(whole) == 1:
        return whole[0]
    heads = np.concatenate([part.owners() for part in whole])
    tails = np.concatenate([part.ends for part in whole]).astype(np.int64)
    edges = np.concatenate([part.edges for part in whole]).astype(np.int64)
    return part_of(heads, tails, edges, len(whole[0].first) - 1)
