"""Links of numbered nodes as compressed rows: one part of what an edge type has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from omnigraph_sql.engine.store.derived import Array
from omnigraph_sql.run.held import Bools, Ints

Places = npt.NDArray[np.int32]
_HALF: Final = np.uint64(32)
_LOWER: Final = np.uint64((1 << 32) - 1)


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
    order = _order(tails)
    order = order[_order(heads[order])]
    first = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(heads, minlength=nodes), out=first[1:])
    return Part(first, tails[order].astype(np.int32), edges[order].astype(np.int32))


def _order(keys: Array) -> Ints:
    """The places of the keys, which have 31 bits, in ascending order; what is equal stays in order.

    Sorting numbers is many times faster than sorting places by them, so the places are sorted with their keys.
    """
    packed = keys.astype(np.uint64)
    packed <<= _HALF
    packed |= np.arange(len(keys), dtype=np.uint32)
    packed.sort()
    packed &= _LOWER
    return packed.view(np.int64)


def distinct_part(part: Part) -> Part:
    """One link of those between the same two nodes."""
    whole = part if part.dead is None else part.kept(np.ones(len(part.ends), np.bool_))
    owners = whole.owners()
    keep = np.ones(len(owners), np.bool_)
    keep[1:] = (owners[1:] != owners[:-1]) | (whole.ends[1:] != whole.ends[:-1])
    return whole if bool(keep.all()) else whole.kept(keep)


def without_loops(part: Part) -> Part:
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
