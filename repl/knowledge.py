"""What suggestions are made from: the schema, the history, and what the person named. Values only, built elsewhere."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from omnigraph_sql.base.catalog import Catalog
from omnigraph_sql.base.types import type_text
from omnigraph_sql.repl.vocabulary import RESERVED

Columns = tuple[tuple[str, str], ...]
"""Names with what is said about each: a type, usually."""

LAST: Final = "_"
"""What the rows of the statement before are called."""

_PLAIN: Final = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Everything a suggestion may come from, as it was a moment ago."""

    catalog: Catalog = field(default_factory=Catalog)
    branches: tuple[str, ...] = ()
    commits: Columns = ()
    functions: Columns = ()
    tables: tuple[tuple[str, Columns], ...] = ()
    """Tables that no schema declares: those about the graph itself, views, and the rows of the statement before."""
    parameters: Columns = ()
    queries: Columns = ()
    settings: Columns = ()
    forms: tuple[str, ...] = ()


def columns_of(knowledge: Knowledge, table: str) -> Columns:
    """The columns of a table, with their types; nothing for one that is unknown."""
    for found in knowledge.catalog.tables_like(table):
        return tuple((f.name, type_text(f.type) + ("?" if f.nullable else "")) for f in found.schema.fields)
    return next((columns for name, columns in knowledge.tables if name.casefold() == table.casefold()), ())


def quoted(name: str) -> str:
    """A name as SQL text."""
    if _PLAIN.fullmatch(name) and name.upper() not in RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as a SQL string."""
    return "'" + text.replace("'", "''") + "'"
