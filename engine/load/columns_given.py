"""What a file calls its columns → what the table calls them."""

from __future__ import annotations

from collections.abc import Sequence

from omnigraph_sql.base.catalog import DST, ID, SRC, EdgeType, TableType
from omnigraph_sql.base.errors import DataError


def column_names(of: TableType, given: Sequence[str], name: str) -> list[str]:
    """The table's names of columns called `given`. Raises DataError for unknown, repeated and missing ones."""
    aliases = {"from": SRC, "to": DST} if isinstance(of, EdgeType) else {}
    names = [column if of.column(column) else aliases.get(column, column) for column in given]
    for column, meant in zip(given, names, strict=True):
        if of.column(meant) is None:
            known = ", ".join(f.name for f in of.schema.fields)
            raise DataError(f"{name}: {of.name} has no column {column!r}", hint=f"it has {known}")
        if names.count(meant) > 1:
            raise DataError(f"{name}: column {meant!r} occurs twice")
    for field in of.schema.fields:
        if field.name not in names and not field.nullable and field.name != ID:
            raise DataError(f"{name}: column {field.name!r} is missing, and {of.name}.{field.name} cannot be null")
    return names
