"""`--embed`: the function that makes vectors of texts, named on the command line."""

from __future__ import annotations

import importlib
import runpy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

if TYPE_CHECKING:
    from omnigraph_sql.engine.world import Embed

_Command = TypeVar("_Command", bound=Callable[..., Any])
_HINT: Final = "--embed takes FILE.py:FUNCTION or MODULE:FUNCTION"


def embed_option(command: _Command) -> _Command:
    return click.option(
        "--embed",
        metavar="FILE.py:FUNCTION",
        help="The function that makes vectors of the texts nearest is asked with; MODULE:FUNCTION works too.",
    )(command)


def embedder(named: str) -> Embed:
    """The function of that name: a list of texts in, as many vectors out. Raises UsageError when there is none."""
    place, sign, name = named.rpartition(":")
    if not sign or not place or not name.isidentifier():
        raise click.UsageError(f"{_HINT}, not '{named}'")
    members = _members(place)
    found = members.get(name)
    if not callable(found):
        raise click.UsageError(f"{place} has no function '{name}'{_known(members)}")
    function: Embed = found
    return function


def _members(place: str) -> Mapping[str, object]:
    try:
        if place.endswith(".py"):
            if not Path(place).is_file():
                raise click.UsageError(f"there is no file '{place}'; {_HINT}")
            return runpy.run_path(place)
        return vars(importlib.import_module(place))
    except ModuleNotFoundError as missing:
        raise click.UsageError(f"there is no module '{missing.name}'; {_HINT}") from None
    except click.UsageError:
        raise
    except Exception as failure:
        # The code of a user may fail in any way, and is named as the place to look at.
        raise click.UsageError(f"{place} cannot be loaded: {type(failure).__name__}: {failure}") from failure


def _known(members: Mapping[str, object]) -> str:
    names = sorted(name for name, of in members.items() if callable(of) and not name.startswith("_"))
    return f"; it has {', '.join(names[:8])}" if names else ""
