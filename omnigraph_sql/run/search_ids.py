"""Rows that hold words, by the index: a scan with a text predicate then reads the few rows it may be true of."""

from __future__ import annotations

from typing import Final

from omnigraph_sql.base import expr as ex
from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import ID, TableType
from omnigraph_sql.base.expr import Column, Expr
from omnigraph_sql.base.travel import ReadPoint
from omnigraph_sql.base.types import STRING
from omnigraph_sql.engine.store.search import Candidates, has_text_index, text_rows
from omnigraph_sql.engine.write.staging import Mode
from omnigraph_sql.run.relation import Build
from omnigraph_sql.run.search_embed import value_of
from omnigraph_sql.run.search_words import spelled, terms_of

_IDS_MAX: Final = 256
"""More rows than these are found by reading the table."""


def narrowed(test: Expr | None, of: TableType, variable: str, at: ReadPoint, build: Build) -> Expr | None:
    """The condition of a scan, with the ids of the rows that a text predicate in it can be true of."""
    for part in ex.conjuncts(test):
        if isinstance(part, ex.TextMatch) and part.kind != "fuzzy" and isinstance(part.field, Column):
            ids = _ids(part, part.field.name.removeprefix(f"{variable}."), of, at, build)
            if ids is not None:
                column = Column(f"{variable}.{ID}", STRING, False)
                found: Expr = ex.InList(column, tuple(ex.Literal(one, STRING) for one in ids)) if ids else ex.FALSE
                return ex.all_of([found, *ex.conjuncts(test)])
    return test


def _ids(part: ex.TextMatch, column: str, of: TableType, at: ReadPoint, build: Build) -> list[str] | None:
    table, changes = build.committed(of, at)
    if table.pin.row_count < limits.INDEXED_ROWS_MIN or (changes is not None and changes.mode is Mode.OVERWRITE):
        return None
    tables = build.scene.world.tables
    words = [spelled(term) for term in terms_of(value_of(part.query, build.scene), part.kind)]
    if not words or not has_text_index(tables, table, column):
        return None
    # What is pending is tested row by row, so all of it stays.
    ids = [] if changes is None else sorted(changes.staged())
    if len(ids) <= _IDS_MAX:
        found = text_rows(tables, Candidates(table, ID, (ID,)), column, words, _IDS_MAX + 1)
        ids = list(dict.fromkeys([*ids, *found[ID].to_pylist()]))
    return ids if len(ids) <= _IDS_MAX else None
