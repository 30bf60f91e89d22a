"""Traversals spelled out over lists of edges, with no thought for speed."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

Edge = tuple[Hashable, Hashable]


def steps(edges: Iterable[Edge], direction: str, at: Hashable) -> Iterator[Hashable]:
    """Where the edges at a node lead; a loop once."""
    for src, dst in edges:
        if direction != "in" and src == at:
            yield dst
        elif direction != "out" and dst == at:
            yield src


def neighbors(edges: Sequence[Edge], direction: str, start: Hashable, least: int, most: int) -> set[Hashable]:
    """Nodes at a shortest distance in the window, and nodes that their own loop brings there one hop later."""
    distance: dict[Hashable, int] = {start: 0}
    waiting = [start]
    while waiting:
        at = waiting.pop(0)
        for end in steps(edges, direction, at):
            if end not in distance:
                distance[end] = distance[at] + 1
                waiting.append(end)
    loops = {src for src, dst in edges if src == dst}
    direct = {v for v, d in distance.items() if v != start and least <= d <= most}
    return direct | {v for v, d in distance.items() if v in loops and least <= d + 1 <= most}


def walks(
    edges: Sequence[tuple[str, Hashable, Hashable]], direction: str, start: Hashable, least: int, most: int
) -> list[tuple[tuple[Hashable, ...], tuple[str, ...]]]:
    """Every walk with a length in the window: its nodes and its edges, from the start on."""
    found = []
    level: list[tuple[tuple[Hashable, ...], tuple[str, ...]]] = [((start,), ())]
    for length in range(most + 1):
        if length >= least:
            found += level
        grown = []
        for nodes, used in level:
            for name, src, dst in edges:
                if direction != "in" and src == nodes[-1]:
                    grown.append(((*nodes, dst), (*used, name)))
                elif direction != "out" and dst == nodes[-1]:
                    grown.append(((*nodes, src), (*used, name)))
        level = grown
    return found
