"""What a plan is carried out against."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from omnigraph_sql.base.catalog import Catalog
from omnigraph_sql.base.expr import NOW_PARAMETER, Value
from omnigraph_sql.engine.values import Snapshot
from omnigraph_sql.engine.world import World
from omnigraph_sql.engine.write.staging import MutationStaging
from omnigraph_sql.run.interrupt import Running


@dataclass(frozen=True, slots=True)
class Sets:
    """Several values for every parameter: what a statement that is carried out for all of them at once works on."""

    count: int
    columns: Mapping[str, Sequence[Value]]

    def __post_init__(self) -> None:
        if any(len(values) != self.count for values in self.columns.values()):
            raise ValueError("every parameter has a value in every set")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a session adds to a graph: the views of its schema, its settings as rows, and how it deletes.

    `keeps_edges`: a node that has edges is not deleted, instead of taking them along.
    """

    views: tuple[tuple[str, str], ...] = ()
    settings: Callable[[], list[dict[str, str | None]]] = list
    keeps_edges: bool = False


NOTHING_AROUND: Final = Surroundings()


@dataclass(frozen=True, slots=True)
class Scene:
    """One snapshot, what is pending on top of it, and the values of the parameters, or several sets of them.

    `now` is the instant of the statement; every use of `now()` sees it. `commits_later`: other statements may come
    before the commit, so what the commit would refuse is looked for now where that is cheap.
    """

    world: World
    snapshot: Snapshot
    catalog: Catalog
    now: datetime
    staging: MutationStaging | None = None
    parameters: Mapping[str, Value] = field(default_factory=dict)
    running: Running = field(default_factory=Running)
    """By which the statement can be stopped; whoever waits for the engine waits through it."""
    embedded: dict[str, Sequence[float]] = field(default_factory=dict, compare=False)
    """Texts of this statement that were embedded already."""
    sets: Sets | None = None
    commits_later: bool = False
    around: Surroundings = NOTHING_AROUND

    def value(self, name: str) -> Value:
        """The value of a parameter, the reserved one included."""
        return self.now if name == NOW_PARAMETER else self.parameters[name]
