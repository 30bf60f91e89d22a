"""What to say of a column that is not there: what was probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sqlglot import exp

from omnigraph_sql.base.errors import UnknownName
from omnigraph_sql.bind.sql_binder import SqlBinder
from omnigraph_sql.bind.sql_targets import listed

_SHOWN_NAMES: Final = 12
_SINGLE: Final = "a text stands in single quotes"


def unknown_column(binder: SqlBinder, node: exp.Expr, name: str, known: Iterable[str]) -> UnknownName:
    """An error to raise for a bare name. It may be a column misspelt, a text, or a column of a table not asked."""
    names = list(dict.fromkeys(known))
    error = binder.unknown("column", name, node, names)
    if error.suggestion is None:
        error.hint = _meant(node, names)
    return error


def _meant(node: exp.Expr, names: list[str]) -> str:
    if isinstance(node, exp.Identifier) and node.quoted:
        return f"double quotes are for names; {_SINGLE}"
    if not names:
        return f"columns need FROM and a table; {_SINGLE}"
    return f"the columns are {_first(names)}; {_SINGLE}"


def columns_told(table: str, known: Iterable[str]) -> str:
    """The hint about a name that a table lacks."""
    return f"{table} has {_first(list(dict.fromkeys(known)))}"


def _first(every: list[str]) -> str:
    """Names to choose from; those of the system, which begin with an underscore, are seldom meant."""
    names = [name for name in every if not name.startswith("_")] or every
    if len(names) > _SHOWN_NAMES:
        return f"{', '.join(names[:_SHOWN_NAMES])} and {len(names) - _SHOWN_NAMES} more"
    return listed(names)
