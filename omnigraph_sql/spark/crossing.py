"""Refusals on their way through Spark, which keeps nothing of an error but its class and its text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from omnigraph_sql.base.errors import LanguageError, OmniError


class Refused(Exception):
    """A refusal as Spark shows it, at the end of its own trace."""


_MARKER: Final = f"{Refused.__module__}.{Refused.__qualname__}: "


@contextmanager
def crossing() -> Iterator[None]:
    """Raises refusals of the block as Refused: for whatever Spark calls, on the driver or in a task."""
    try:
        yield
    except OmniError as error:
        raise Refused(_told(error)) from None


def _told(error: OmniError) -> str:
    place = f" (line {error.at.line}, column {error.at.column})" if isinstance(error, LanguageError) else ""
    hint = f"; {error.hint}" if error.hint else ""
    return f"[{error.code}] {error.message}{place}{hint}"


def plain(error: BaseException) -> str | None:
    """Our own words in an error that came through Spark; None when there are none."""
    if isinstance(error, OmniError):
        return error.message
    text = str(error)
    return text.rpartition(_MARKER)[2].strip().partition("\n")[0] if _MARKER in text else None
