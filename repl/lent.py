"""What the command line lends to the shell, which lies below it and cannot ask for it: graphs, forms of rows, files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from omnigraph_sql.base.errors import OmniError

if TYPE_CHECKING:
    from omnigraph_sql.graph import Graph
    from omnigraph_sql.result import Result


@dataclass(frozen=True, slots=True)
class Lent:
    """`open` opens the graph the shell was started with; `name` is what the person calls it.

    `write` writes the rows of a result in a form to a file, which appears when it is complete.
    """

    name: str
    open: Callable[[], Graph]
    forms: tuple[str, ...]
    binary: frozenset[str]
    written: Callable[[Result, str], Iterator[str]]
    write: Callable[[Result, str, str], None]
    cell: Callable[[object], str]
    outcome: Callable[[Result], str]
    painted: Callable[[str], str]
    exit_code: Callable[[OmniError], int]


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says about this one shell. None leaves a setting as it is."""

    form: str | None = None
    goal: str | None = None
    confirms: bool = True
    parameters: Mapping[str, object] = field(default_factory=dict)
