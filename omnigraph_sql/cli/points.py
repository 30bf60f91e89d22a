"""`--at`: a graph as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from omnigraph_sql.cli.graphs import Address
    from omnigraph_sql.graph import Graph

_Command = TypeVar("_Command", bound=Callable[..., Any])


def at_option(command: _Command) -> _Command:
    return click.option(
        "--at", metavar="POINT", help="Read the graph as it was: a version, an instant in ISO 8601, or a commit."
    )(command)


@contextmanager
def opened_at(where: Address, at: str | None) -> Iterator[Graph]:
    """The graph for reading, now or at a point."""
    from omnigraph_sql.cli.shell import point_of

    with where.open(read_only=True) as opened:
        yield opened if at is None else opened.at(point_of(at))
