"""Text predicates in the engine's text: the query stays a value, inside a function made for the statement."""

from __future__ import annotations

import pyarrow as pa

from omnigraph_sql.base import expr as ex
from omnigraph_sql.run.relation import Build
from omnigraph_sql.run.search_embed import value_of
from omnigraph_sql.run.search_words import TextTest


def text_match(expr: ex.TextMatch, field: str, build: Build) -> str:
    """A text predicate; `field` is the rendered column."""
    edits = None if expr.max_edits is None else value_of(expr.max_edits, build.scene)
    test = TextTest.of(expr.kind, value_of(expr.query, build.scene), edits)
    name = build.function(test.matcher(), pa.utf8(), pa.bool_())
    return f"{name}(arrow_cast({field}, 'Utf8'))"
