"""Edges as links between numbered nodes, by the node they are left from; kept in memory and on disk.

The links of a table at a state are made once, for the edges a query walks. Pending edges come on top: links of edges
that are gone are skipped, and the new ones form a part of their own. Nothing is made anew for them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import Final

import numpy as np

from omnigraph_sql.base.catalog import DST, SRC
from omnigraph_sql.base.errors import StorageError
from omnigraph_sql.base.limits import LINKS_CHANGED_MAX, LINKS_MADE_MAX
from omnigraph_sql.engine.store.derived import DerivedFiles
from omnigraph_sql.run.held import Held, Ints, joined
from omnigraph_sql.run.links_part import Part, distinct_part, merged, part_of, without_loops
from omnigraph_sql.run.links_since import Change, change_between
from omnigraph_sql.run.links_stored import StoredLinks, stored_name
from omnigraph_sql.run.shelf import SHELF, Key

__all__ = ["Links", "Part", "Side", "merged"]

_NONE: Final[Ints] = np.zeros(0, np.int64)
_latest: dict[Key, Key] = {}
"""What the links last used of a table are called on the shelf, by the places of the table and its ends."""
_latest_lock = Lock()


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


def _key(edges: Held, source: Held, target: Held) -> Key:
    return ("links", edges.token, source.token, target.token)


def _at(own: Held, version: int, branch: str | None, row_count: int) -> Held:
    """The table at another version."""
    pin = replace(own.table.pin, version=version, branch=branch, row_count=row_count)
    return Held(own.tables, own.tables.open(pin), own.type)


class Links:
    """The links of an edge type at a state, in every direction."""

    def __init__(self, edges: Held, source: Held, target: Held, files: DerivedFiles) -> None:
        self.edges, self.source, self.target = edges, source, target
        self._files = files
        self._sides: dict[tuple[str, bool], Side] = {}
        self._new: tuple[Ints, Ints, Ints] | None = None

    @property
    def _tables(self) -> tuple[Held, Held, Held]:
        return self.edges, self.source, self.target

    @property
    def _key(self) -> Key:
        return _key(*self._tables)

    def is_at_hand(self) -> bool:
        """Whether the stored links need not be made, or are few: they are in memory, on disk, or do not count."""
        if self._is_moved or self.edges.table.pin.row_count <= LINKS_MADE_MAX or SHELF.peek(self._key) is not None:
            return True
        return self._files.has(*stored_name(self.edges, self.source, self.target)) or self._since is not None

    def stored(self) -> StoredLinks:
        def make() -> StoredLinks:
            return StoredLinks(*self._tables, self._files, self._since)

        found = SHELF.get(self._key, make, lambda made: made.nbytes)
        with _latest_lock:
            _latest[self._home] = self._key
        return found

    @property
    def _home(self) -> Key:
        return (self.edges.tables.root.uri, *(held.table.pin.path for held in self._tables))

    @cached_property
    def _since(self) -> tuple[StoredLinks, Change] | None:
        """Links of another state that these differ from in few rows, and what lies between."""
        with _latest_lock:
            key = _latest.get(self._home)
        base: StoredLinks | None = SHELF.peek(key) if key is not None else None
        try:
            base = base or self._written_before()
            change = change_between(base.state, self._tables, LINKS_CHANGED_MAX) if base is not None else None
        except StorageError:
            # The other state cannot be read any more.
            return None
        return (base, change) if base is not None and change is not None else None

    def _written_before(self) -> StoredLinks | None:
        """The links of the last state that were written."""
        for token, notes in self._files.states(self.edges.table.pin.path):
            states = notes.get("state", ())
            if len(states) != len(self._tables):
                continue
            edges, source, target = (_at(own, *state) for own, state in zip(self._tables, states, strict=True))
            if stored_name(edges, source, target)[1] == token:
                return StoredLinks(edges, source, target, self._files)
        return None

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
            backward = [without_loops(part) for part in self._parts("in")]
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
