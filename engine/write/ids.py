"""A set of ids that grows by statement: every statement leaves a value of its own, and none copies the whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from itertools import chain


class Ids(Set[str]):
    """An immutable set in parts, each larger than the one after it, so an id is copied a few times in all."""

    __slots__ = ("_parts",)

    def __init__(self, ids: Iterable[str] = ()) -> None:
        first = frozenset(ids)
        self._parts: tuple[frozenset[str], ...] = (first,) if first else ()

    def plus(self, ids: Iterable[str]) -> Ids:
        """This set and these ids."""
        last = frozenset(one for one in ids if one not in self)
        if not last:
            return self
        parts = list(self._parts)
        while parts and len(parts[-1]) <= len(last):
            last |= parts.pop()
        made = Ids()
        made._parts = (*parts, last)
        return made

    def __contains__(self, one: object) -> bool:
        return any(one in part for part in self._parts)

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(self._parts)

    def __len__(self) -> int:
        return sum(len(part) for part in self._parts)
