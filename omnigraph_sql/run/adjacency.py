"""Edges as arrays: which nodes lead where, and the walks over them. Nodes are numbers here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base.catalog import ID
from omnigraph_sql.base.errors import ResourceLimitExceeded
from omnigraph_sql.base.limits import WALKS_MAX
from omnigraph_sql.bind.bound import Hops
from omnigraph_sql.run.held import Held
from omnigraph_sql.run.links import Links, merged

Ints = npt.NDArray[np.int64]
_NONE: Final[Ints] = np.zeros(0, np.int64)
_SPARSE_SHARE: Final = 64
"""Fewer nodes than one in so many are sorted to find each once; more are marked."""


@dataclass(frozen=True, slots=True)
class Adjacency:
    """Links by the node they are left from: those of node `n` are `first[n] : first[n + 1]`.

    `ends` says where a link leads, `edges` which stored edge it is; links of a node are in the order of the edges.
    """

    nodes: pa.Array
    first: Ints
    ends: Ints
    edges: Ints

    @classmethod
    def of(cls, src: pa.Array, dst: pa.Array, direction: str) -> Adjacency:
        """The links of edges followed along the arrow (out), against it (in), or either way; a loop is one link."""
        both = pa.chunked_array([src, dst]).combine_chunks().dictionary_encode()
        numbers = both.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        heads, tails = numbers[: len(src)], numbers[len(src) :]
        places = np.arange(len(src), dtype=np.int64)
        if direction == "in":
            heads, tails = tails, heads
        elif direction == "both":
            other = heads != tails
            heads, tails = np.concatenate((heads, tails[other])), np.concatenate((tails, heads[other]))
            places = np.concatenate((places, places[other]))
        order = np.lexsort((places, heads))
        counts = np.bincount(heads, minlength=len(both.dictionary))
        first = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)))
        return cls(both.dictionary, first, tails[order], places[order])

    def numbers(self, ids: pa.Array) -> tuple[Ints, Ints]:
        """Numbers of those ids that occur in edges, and the places of these ids in `ids`."""
        found = pc.index_in(ids, value_set=self.nodes)
        known = pc.is_valid(found).to_numpy(zero_copy_only=False)
        numbers = found.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        return numbers[known], np.flatnonzero(known).astype(np.int64)

    def links(self, at: Ints) -> tuple[Ints, Ints]:
        """All links out of the nodes `at`: which entry of `at` each belongs to, and its place in `ends`."""
        counts = self.first[at + 1] - self.first[at]
        owner = np.repeat(np.arange(len(at), dtype=np.int64), counts)
        before = np.repeat(np.cumsum(counts) - counts, counts)
        return owner, np.repeat(self.first[at], counts) + np.arange(len(owner), dtype=np.int64) - before

    def looped(self, at: Ints) -> npt.NDArray[np.bool_]:
        """Which of the nodes have an edge to themselves."""
        owner, place = self.links(at)
        found = np.zeros(len(at), np.bool_)
        found[owner[at[owner] == self.ends[place]]] = True
        return found

    def distances(self, start: int, most: int) -> Iterator[tuple[int, Ints]]:
        """(d, nodes at shortest distance d) for d = 0 … most."""
        seen = np.zeros(len(self.first) - 1, np.bool_)
        seen[start] = True
        ring = np.array([start], np.int64)
        for distance in range(most + 1):
            if not len(ring):
                return
            yield distance, ring
            if distance < most:
                ring = self._unseen(ring, seen)
                seen[ring] = True

    def _unseen(self, ring: Ints, seen: npt.NDArray[np.bool_]) -> Ints:
        """The nodes one hop from those of a ring that were not seen yet, in order."""
        ends = self.ends[self.links(ring)[1]]
        if len(ends) * _SPARSE_SHARE < len(seen):
            reached = np.unique(ends)
            return reached[~seen[reached]].astype(np.int64)
        marked = np.zeros(len(seen), np.bool_)
        marked[ends] = True
        return np.flatnonzero(marked & ~seen).astype(np.int64)

    def neighbors(self, start: int, hops: Hops, *, backwards: bool) -> Ints:
        """Nodes whose shortest distance is in the window; a loop at the end of a walk makes it one hop longer.

        `backwards`: walks end at `start`, and the nodes found are where they begin. A node is no neighbour of its own,
        but by its loop, or when no hop is allowed too.
        """
        least, most = hops.minimum, hops.maximum
        found: list[Ints] = []
        for distance, ring in self.distances(start, most):
            if least <= distance <= most and (distance > 0 or least == 0):
                found.append(ring)
            elif least <= distance + 1 <= most:
                if backwards:
                    found.append(ring if self.looped(np.array([start], np.int64))[0] else _NONE)
                else:
                    found.append(ring[self.looped(ring)])
        return np.concatenate(found) if found else _NONE


@dataclass(frozen=True, slots=True)
class StoredAdjacency(Adjacency):
    """Links between rows of one stored table: every node has a number, and `held` knows it."""

    held: Held

    @classmethod
    def at(cls, links: Links, direction: str, *, in_order: bool) -> StoredAdjacency:
        """`in_order`: the links of a node in the order of the ids of their edges, wherever those are stored."""
        part = merged(list(links.side(direction).parts))
        if in_order:
            part = part.ordered(links.edges.ranks())
        nodes = links.source.column(ID).array
        return cls(nodes, part.first, cast("Ints", part.ends), cast("Ints", part.edges), links.source)

    def numbers(self, ids: pa.Array) -> tuple[Ints, Ints]:
        found = self.held.numbers(ids)
        known = np.flatnonzero(found >= 0).astype(np.int64)
        return found[known], known


@dataclass(frozen=True, slots=True)
class Level:
    """Walks of one length: where each ends, which walk of the level before it goes on, over which edge."""

    ends: Ints
    before: Ints
    edges: Ints


@dataclass(slots=True)
class Walks:
    """Walks from `starts`, level by level; `chosen` are (length, place in that level) of those that are answers."""

    graph: Adjacency
    starts: Ints
    levels: list[Level]
    chosen: list[tuple[int, Ints]]

    @classmethod
    def all(cls, graph: Adjacency, starts: Ints, least: int, most: int) -> Walks:
        """Every walk with a length in the window."""
        made = cls(graph, starts, [Level(starts, _NONE, _NONE)], [])
        total = 0
        for length in range(most + 1):
            level = made.levels[length]
            if not len(level.ends):
                break
            if length >= least:
                made.chosen.append((length, np.arange(len(level.ends), dtype=np.int64)))
            if length < most:
                made._grow(np.arange(len(level.ends), dtype=np.int64))
                total += len(made.levels[-1].ends)
                _refuse_excess(total)
        return made

    @classmethod
    def shortest(cls, graph: Adjacency, start: int, least: int, most: int) -> Walks:
        """One walk to every node that a walk in the window reaches, the shortest of them."""
        made = cls(graph, np.array([start], np.int64), [Level(np.array([start], np.int64), _NONE, _NONE)], [])
        found = np.zeros(len(graph.first) - 1, np.bool_)
        expanded = np.zeros(len(graph.first) - 1, np.bool_)
        for length in range(most + 1):
            ends = made.levels[length].ends
            if not len(ends):
                break
            if length >= least:
                places = np.flatnonzero(~found[ends]).astype(np.int64)
                found[ends[places]] = True
                made.chosen.append((length, places))
            going = np.flatnonzero(~expanded[ends]).astype(np.int64)
            # Leaving a node a second time helps only while walks are still too short to count.
            if length + 1 >= least:
                expanded[ends[going]] = True
            if length < most:
                made._grow(going, once=True)
        return made

    def _grow(self, going: Ints, *, once: bool = False) -> None:
        """The next level: every link out of the walks `going`; with `once`, one walk for every node reached."""
        level = self.levels[-1]
        owner, place = self.graph.links(level.ends[going])
        ends, before, edges = self.graph.ends[place], going[owner], self.graph.edges[place]
        if once:
            _, kept = np.unique(ends, return_index=True)
            kept.sort()
            ends, before, edges = ends[kept], before[kept], edges[kept]
        self.levels.append(Level(ends, before, edges))

    def traced(self, length: int, places: Ints) -> tuple[Ints, Ints, Ints]:
        """For walks of a length: which start each has, its nodes and its edges, a row each, from the start on."""
        nodes = np.empty((len(places), length + 1), np.int64)
        edges = np.empty((len(places), length), np.int64)
        at = places
        for step in range(length, 0, -1):
            level = self.levels[step]
            nodes[:, step], edges[:, step - 1] = level.ends[at], level.edges[at]
            at = level.before[at]
        nodes[:, 0] = self.starts[at]
        return at, nodes, edges


def _refuse_excess(total: int) -> None:
    if total > WALKS_MAX:
        raise ResourceLimitExceeded(
            f"the pattern has more than {WALKS_MAX} walks",
            resource="walks",
            limit=WALKS_MAX,
            actual=total,
            hint="allow fewer hops, or ask for ANY SHORTEST",
        )


def listed_rows(values: pa.Array, rows: Any) -> pa.Array:
    """A list per row of a matrix of places in `values`."""
    offsets = pa.array(np.arange(len(rows) + 1, dtype=np.int32) * (rows.shape[1] if rows.ndim == 2 else 0))
    return pa.ListArray.from_arrays(offsets, values.take(pa.array(rows.reshape(-1))))
