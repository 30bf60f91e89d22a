"""The committed links of an edge table between two node tables, as they are kept in memory and on disk."""

from __future__ import annotations

from typing import Final

import numpy as np

from omnigraph_sql.base.catalog import DST, ID, SRC
from omnigraph_sql.base.errors import StorageError
from omnigraph_sql.base.limits import LINKS_CHANGED_MAX
from omnigraph_sql.engine.store.derived import Array, Damaged, DerivedFiles, StoredArrays
from omnigraph_sql.engine.store.lookup import pieces
from omnigraph_sql.run.held import Held, Ints, joined
from omnigraph_sql.run.ids import IdIndex
from omnigraph_sql.run.links_part import Part, part_of
from omnigraph_sql.run.links_since import Change, parts_since

_NONE: Final[Ints] = np.zeros(0, np.int64)


def stored_name(edges: Held, source: Held, target: Held) -> tuple[str, str]:
    """What the file of the links is called: the table, and the state of it and of its ends."""
    return edges.table.pin.path, f"{edges.token[:16]}{source.token[:8]}{target.token[:8]}"


class StoredLinks:
    """The committed links of an edge table between two node tables, out of both of its ends."""

    def __init__(
        self,
        edges: Held,
        source: Held,
        target: Held,
        files: DerivedFiles,
        since: tuple[StoredLinks, Change] | None = None,
    ) -> None:
        """`since`: links of another state, and what lies between; they are made of those where that can be."""
        edges, source, target = (Held(held.tables, held.table, held.type) for held in (edges, source, target))
        self._edges, self._ends, self._files = edges, (source, target), files
        self._path, self._token = stored_name(edges, source, target)
        self._made: dict[str, Array] | None = None
        self._notes: dict[str, object] = {}
        self._unwritten = 0
        """How many rows differ from the last state whose links were written."""
        self._stored: StoredArrays | None = files.open(self._path, self._token)
        if self._stored is None and (since is None or not self._derive(*since)):
            self._make()

    @property
    def state(self) -> tuple[Held, Held, Held]:
        """What the links are of: the edges and the nodes at both of their ends."""
        return self._edges, *self._ends

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
        out = part_of(heads, tails, edges, source)
        self._keep(out, part_of(tails, heads, edges, target), _is_simple(out))
        self._write()

    def _derive(self, base: StoredLinks, change: Change) -> bool:
        """Make the links of those of another state; whether that could be done."""
        try:
            made = parts_since(base.part("out"), base.part("in"), change, self._edges, *self._ends)
        except StorageError:
            # Of the other state something was missing that cannot be made again.
            return False
        if made is None:
            return False
        simple = not made.doubled if base.simple else _is_simple(made.out)
        self._keep(made.out, made.into, simple)
        self._unwritten = base._unwritten + change.rows
        if self._unwritten > LINKS_CHANGED_MAX:
            self._write()
        return True

    def _keep(self, out: Part, into: Part, simple: bool) -> None:
        made: dict[str, Array] = {}
        for side, part in (("out", out), ("in", into)):
            made |= {f"{side}.first": part.first, f"{side}.ends": part.ends, f"{side}.edges": part.edges}
        pins = [held.table.pin for held in self.state]
        self._notes = {"simple": simple, "state": [[pin.version, pin.branch, pin.row_count] for pin in pins]}
        self._made = made

    def _write(self) -> None:
        assert self._made is not None
        self._files.write(self._path, self._token, self._made, self._notes)
        self._unwritten = 0

    def part(self, direction: str) -> Part:
        return Part(*(self.array(f"{direction}.{name}") for name in ("first", "ends", "edges")))

    def first(self, direction: str) -> Ints:
        return self.array(f"{direction}.first")


def _is_simple(out: Part) -> bool:
    """Whether no two links are between the same two nodes."""
    owners = out.owners()
    return not bool(((owners[1:] == owners[:-1]) & (out.ends[1:] == out.ends[:-1])).any())


def _numbered(edges: Held, source: Held, target: Held) -> tuple[Ints, Ints, Ints]:
    """Where every committed edge begins and ends, and its number; edges without one of their ends lead nowhere."""
    starts = IdIndex.of(source.stored_column(ID).array)
    ends = starts if source.token == target.token else IdIndex.of(target.stored_column(ID).array)
    heads: list[Array] = []
    tails: list[Array] = []
    for piece in pieces(edges.tables, edges.table, (SRC, DST)):
        for name, index, into in ((SRC, starts, heads), (DST, ends, tails)):
            into.append(index.find(joined(piece[name])))
    if not heads:
        return _NONE, _NONE, _NONE
    head, tail = np.concatenate(heads), np.concatenate(tails)
    whole = (head >= 0) & (tail >= 0)
    number = np.arange(len(head), dtype=np.int64)
    return (head, tail, number) if bool(whole.all()) else (head[whole], tail[whole], number[whole])
