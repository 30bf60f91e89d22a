"""What a process opened of graphs, kept while it is asked for: of each graph the states that were asked for last."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from omnigraph_sql.base import limits

if TYPE_CHECKING:
    from omnigraph_sql.spark.place import GraphPlace

T = TypeVar("T")
_held: dict[GraphPlace, dict[tuple[Hashable, ...], Any]] = {}
"""By place, the one asked for last at the end: what functions made of it, by function and what else they were given."""


class ByPlace(Generic[T]):
    """Calls a function once for a pinned place and what else it takes.

    A session that lives long moves from version to version, in the driver and in every worker: everything that was
    made of the state of a graph that nobody asked for longest is let go together.
    """

    def __init__(self, make: Callable[..., T]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __call__(self, place: GraphPlace, *more: Hashable) -> T:
        own, what = _own(place), (self._make, *more)
        if what not in own:
            own[what] = self._make(place, *more)
        found: T = own[what]
        return found

    def put(self, place: GraphPlace, made: T) -> None:
        """What the call for this place gives from now on, unless it was called before."""
        _own(place).setdefault((self._make,), made)


def places_held() -> tuple[GraphPlace, ...]:
    """The places of which something is held, in the order in which they were asked for last."""
    return tuple(_held)


def _own(place: GraphPlace) -> dict[tuple[Hashable, ...], Any]:
    if place.version is None:
        raise ValueError("only a pinned graph is kept open")
    own = _held[place] = _held.pop(place, {})
    same = [one for one in places_held() if one.uri == place.uri]
    for one in same[: -limits.SPARK_STATES_MAX]:
        _held.pop(one, None)
    return own
