"""Graphs the user names: the options that say which and how, and opening them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from omnigraph_sql.base.errors import StorageError
from omnigraph_sql.cli.embedding import embedder
from omnigraph_sql.cli.texts import Unreadable, near_path, read_schema

if TYPE_CHECKING:
    from omnigraph_sql.base.catalog import Catalog
    from omnigraph_sql.graph import Graph

MAIN = "main"
DURABILITIES = ("process", "fsync")
Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Address:
    """A graph and the way to it. Storage options may hold secrets and are never shown."""

    graph: str
    branch: str = MAIN
    actor: str | None = None
    storage: Mapping[str, str] = field(default_factory=dict, repr=False)
    durability: str = DURABILITIES[0]
    embed: str | None = None
    memory_limit: str | None = None

    def check(self) -> None:
        """Raises Absent for a file."""
        if "://" not in self.graph and Path(self.graph).is_file():
            raise Absent(f"'{self.graph}' is a file; a graph is a folder", hint="name the folder of a graph")

    def nothing(self) -> Absent:
        """What to tell when there is nothing at the place."""
        near = None if "://" in self.graph else near_path(self.graph)
        meant = f"did you mean '{near}'? " if near is not None and near.endswith(".omni") else ""
        return Absent(f"there is no graph at '{self.graph}'", hint=f"{meant}{self.making()}")

    def making(self) -> str:
        return f"ogsql init {self.graph} --schema FILE.pg makes one"

    def open(self, *, read_only: bool) -> Graph:
        """Raises Absent when there is no such graph or branch, OmniError when it cannot be opened."""
        self.check()
        from omnigraph_sql.graph import open as open_graph

        try:
            return open_graph(
                self.graph,
                branch=self.branch,
                actor=self.actor,
                read_only=read_only,
                durability=self.durability,
                storage_options=dict(self.storage) or None,
                embed=None if self.embed is None else embedder(self.embed),
                memory_limit=self.memory_limit,
            )
        except StorageError as error:
            raise absent(self, error) or error from None


class Absent(Unreadable):
    """A graph or a branch the user named that is not there."""


def absent(address: Address, error: StorageError) -> Absent | None:
    """What to tell when opening failed because nothing is there; None when it failed for another reason."""
    if error.kind != "not_found":
        return None
    if error.message.startswith("there is no branch"):
        return Absent(error.message, hint=f"ogsql branch list {address.graph} shows those there are")
    if "://" in address.graph or not Path(address.graph).exists():
        return address.nothing()
    return Absent(f"the folder '{address.graph}' holds no graph", hint=address.making())


def pairs(given: Iterable[str], option: str) -> dict[str, str]:
    """`name=value` texts by name. Raises UsageError for one without a name or a sign."""
    found: dict[str, str] = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise click.UsageError(f"{option} takes name=value, not '{text if not sign else '=…'}'")
        found[name] = value
    return found


def parameters(given: Iterable[str]) -> dict[str, object]:
    """Values of parameters: JSON where the text is JSON, the text itself otherwise."""
    return {name: _value(text) for name, text in pairs(given, "--param").items()}


def _value(text: str) -> object:
    try:
        value: object = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return text
    return value


def _no_constant(word: str) -> object:
    raise ValueError(f"{word} is no JSON")


def storage_option(command: Command) -> Command:
    return click.option(
        "--storage-option",
        "storage",
        multiple=True,
        metavar="K=V",
        help="A setting of the object store, such as region=eu-west-1; repeatable.",
    )(command)


def branch_option(command: Command) -> Command:
    return click.option("--branch", default=MAIN, show_default=True, metavar="NAME", help="The branch to work on.")(
        command
    )


def actor_option(command: Command) -> Command:
    return click.option("--actor", metavar="NAME", help="Who the commit names as its author.")(command)


def durability_option(command: Command) -> Command:
    return click.option(
        "--durability",
        type=click.Choice(DURABILITIES),
        default=DURABILITIES[0],
        help="What a commit survives: the death of the process (the default), or with fsync a loss of power too.",
    )(command)


def memory_option(command: Command) -> Command:
    return click.option(
        "--memory-limit",
        metavar="AMOUNT",
        help="How much the query engine may use for one statement, as in 512MB; the rest goes to disk.",
    )(command)


def address(
    graph: str,
    branch: str = MAIN,
    actor: str | None = None,
    storage: Iterable[str] = (),
    durability: str = DURABILITIES[0],
) -> Address:
    """The address the options of a command line give."""
    return Address(graph, branch, actor, pairs(storage, "--storage-option"), durability)


# ---- a schema, from a file or from a graph ----------------------------------------------------------------------


def schema_option(command: Command) -> Command:
    return click.option("--schema", metavar="FILE", help="The schema to check against, a .pg file.")(command)


def graph_option(command: Command) -> Command:
    return click.option("--graph", metavar="GRAPH", help="The graph whose schema to check against.")(command)


def check_source(schema: str | None, graph: str | None, wanted: str) -> None:
    """Raises UsageError unless exactly one of the two is given."""
    if schema is not None and graph is not None:
        raise click.UsageError("--schema and a graph exclude each other")
    if schema is None and graph is None:
        raise click.UsageError(wanted)


def catalog_of(schema: str | None, graph: str | None, storage: Iterable[str]) -> Catalog:
    """What the schema file, or the graph, declares. Raises Unreadable, or LanguageError with the place of the fault."""
    if graph is None:
        assert schema is not None
        return read_schema(schema)
    with address(graph, storage=storage).open(read_only=True) as opened:
        return opened.catalog
