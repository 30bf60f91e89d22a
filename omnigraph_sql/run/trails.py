"""Matches of a pattern that begins at a few nodes, followed link by link in memory."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from omnigraph_sql.base.limits import FRONTIER_NODES_MAX, TRAIL_MATCHES_MAX, TRAIL_ROWS_MAX
from omnigraph_sql.base.types import BLOB, arrow_type
from omnigraph_sql.bind.bound import ONE_HOP, Walk
from omnigraph_sql.plan import nodes as pn
from omnigraph_sql.plan.pattern import Pattern, Stride, pattern_of
from omnigraph_sql.run import narrow
from omnigraph_sql.run.adjacency import StoredAdjacency
from omnigraph_sql.run.ground import Ground
from omnigraph_sql.run.held import Held, Ints
from omnigraph_sql.run.links import Links
from omnigraph_sql.run.relation import Build
from omnigraph_sql.run.scene import Scene
from omnigraph_sql.run.traverse import is_backwards
from omnigraph_sql.run.truths import holds

_NONE: Final[Ints] = np.zeros(0, np.int64)
_WINDOWS_MAX: Final = 64
"""Nodes from which all others within some hops are looked for one after the other."""


class Lost(Exception):
    """The matches are not to be found this way; ask the query engine."""


def trail_table(plan: pn.Expand, scene: Scene) -> pa.Table:
    """The rows of a chain of steps from a few nodes. Raises Lost."""
    pattern = pattern_of(plan, scene.catalog, windows=True)
    if pattern is None or any(stride.walk is Walk.WALKS for stride in pattern.strides):
        raise Lost
    if any(field.type == BLOB for field in plan.schema.fields):
        raise Lost
    if narrow.forced not in (None, narrow.Mode.LINKS):
        raise Lost
    return _Trail(plan, pattern, scene).table()


class _Trail:
    """Numbers of nodes by spot, and of edges by stride: one entry per match."""

    def __init__(self, plan: pn.Expand, pattern: Pattern, scene: Scene) -> None:
        self.plan, self.pattern, self.scene = plan, pattern, scene
        self.ground = Ground(Build(scene), pattern.at)
        self.nodes: list[Ints] = []
        self.edges: list[Ints] = []
        for stride in pattern.strides:
            links = self.ground.links(stride.edge)
            if links is None or not (links.is_at_hand() or narrow.forced):
                raise Lost
        if any(self._held(spot).count > TRAIL_ROWS_MAX for spot in range(len(pattern.spots))):
            raise Lost

    def _held(self, spot: int) -> Held:
        return self.ground.held(self.pattern.spots[spot].type)

    def table(self) -> pa.Table:
        self._begin()
        for place, stride in enumerate(self.pattern.strides):
            self._go(place, stride)
        columns = [self._column(field.name).cast(arrow_type(field.type)) for field in self.plan.schema.fields]
        return pa.table(columns, names=list(self.plan.schema.order))

    def _begin(self) -> None:
        spot = self.pattern.spots[0]
        found = holds(spot.filter, self._held(0), spot.variable, self.scene)
        if found is None or int(np.count_nonzero(found)) > FRONTIER_NODES_MAX:
            raise Lost
        self.nodes.append(np.flatnonzero(found).astype(np.int64))

    def _go(self, place: int, stride: Stride) -> None:
        links = self.ground.links(stride.edge)
        assert links is not None
        if stride.hops == ONE_HOP:
            owner, ends, edges = self._stepped(links, stride)
        else:
            owner, ends = self._within(links, place, stride)
            edges = ends
        spot = self.pattern.spots[place + 1]
        kept = holds(spot.filter, self._held(place + 1), spot.variable, self.scene)
        keep = np.ones(len(ends), np.bool_) if kept is None else kept[ends]
        if stride.filter is not None:
            assert stride.variable is not None
            passed = holds(stride.filter, links.edges, stride.variable, self.scene)
            keep = keep if passed is None else keep & passed[edges]
        self.nodes = [own[owner[keep]] for own in self.nodes]
        self.edges = [own[owner[keep]] for own in self.edges]
        self.nodes.append(ends[keep])
        self.edges.append(edges[keep])

    def _stepped(self, links: Links, stride: Stride) -> tuple[Ints, Ints, Ints]:
        """Which match each link goes on, where it leads, and over which edge."""
        side = links.side(stride.direction, distinct=stride.walk is Walk.NEIGHBORS)
        at = self.nodes[stride.start]
        parts = [(part, *part.places(at)) for part in side.parts]
        owner = np.concatenate([found for _, found, _ in parts])
        if len(owner) > TRAIL_MATCHES_MAX:
            raise Lost
        ends = np.concatenate([part.ends[at_] for part, _, at_ in parts]).astype(np.int64)
        edges = np.concatenate([part.edges[at_] for part, _, at_ in parts]).astype(np.int64)
        return owner, ends, edges

    def _within(self, links: Links, place: int, stride: Stride) -> tuple[Ints, Ints]:
        """Which match each node within the hops of a step goes on; an edge of such a step has no name."""
        starts, which = np.unique(self.nodes[stride.start], return_inverse=True)
        if len(starts) > _WINDOWS_MAX:
            raise Lost
        graph = StoredAdjacency.at(links, stride.direction, in_order=False)
        backwards = is_backwards(self._expand(place))
        found = [graph.neighbors(start, stride.hops, backwards=backwards) for start in starts.tolist()]
        counts = np.array([len(ends) for ends in found], np.int64)[which]
        if int(counts.sum()) > TRAIL_MATCHES_MAX:
            raise Lost
        owner = np.repeat(np.arange(len(which), dtype=np.int64), counts)
        return owner, np.concatenate([_NONE, *(found[number] for number in which.tolist())]).astype(np.int64)

    def _expand(self, place: int) -> pn.Expand:
        """The plan of a stride."""
        at = self.plan
        for _ in range(len(self.pattern.strides) - 1 - place):
            assert isinstance(at.input, pn.Expand)
            at = at.input
        return at

    def _column(self, name: str) -> pa.Array:
        found = self.pattern.located(name)
        if found is not None:
            spot, column = found
            return self._held(spot).column(column).array.take(pa.array(self.nodes[spot]))
        variable, _, column = name.rpartition(".")
        for stride, numbers in zip(self.pattern.strides, self.edges, strict=True):
            if stride.variable == variable:
                return self.ground.held(stride.edge).column(column).array.take(pa.array(numbers))
        raise Lost
