"""A `.gq` read as a table for Spark: its columns before it runs, its rows, and shares of them for tasks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from omnigraph_sql.base.errors import BoundaryViolation, DataError, ParseError
from omnigraph_sql.base.identity import key_members
from omnigraph_sql.base.types import arrow_type, is_integer, is_open, is_text
from omnigraph_sql.bind.parameters import bind_parameters
from omnigraph_sql.engine.store.tables import OpenTable
from omnigraph_sql.foreign import PinnedTables
from omnigraph_sql.grammar.ast import gq as ast
from omnigraph_sql.grammar.gq import nodes_below, parse_any
from omnigraph_sql.grammar.source import Span
from omnigraph_sql.grammar.unparse_gq import unparse_query
from omnigraph_sql.plan.compile import Program

if TYPE_CHECKING:
    from omnigraph_sql.graph import Graph

_SAMPLED_PER_SHARE: Final = 32
_WHOLE: Final = (ast.Nearest, ast.Bm25, ast.Fuse, ast.Aggregate, ast.Now)
"""What is one for all rows, so that the answer is not the sum of answers for parts."""


@dataclass(frozen=True, slots=True)
class Question:
    """A query text with values for its parameters as JSON texts.

    As a share of a larger question, `low` and `high` bound a key property of one variable.
    """

    text: str
    values: tuple[tuple[str, str], ...] = ()
    variable: str | None = None
    member: str = ""
    low: str | int | None = None
    high: str | int | None = None

    def parsed(self) -> ast.Query:
        """Raises LanguageError unless the text is exactly one read."""
        unit = parse_any(self.text, name="<gq>")
        everything = unit.source.locate(Span(0, len(self.text)))
        if len(unit.queries) != 1:
            raise ParseError(f"one query is needed, this text has {len(unit.queries) or 'none'}", at=everything)
        (query,) = unit.queries
        if isinstance(query.body, ast.WriteBody):
            at = unit.source.locate(query.body.span)
            raise BoundaryViolation("only reads can be a table, and this text writes", at=at)
        return query

    def program(self, graph: Graph) -> Program:
        self.parsed()
        (program,) = graph.compile(self.text).programs
        return program

    def schema(self, graph: Graph) -> pa.Schema:
        """The columns, known before anything runs. Raises DataError for one without a type."""
        fields = []
        for field in self.program(graph).fields:
            if is_open(field.type):
                raise DataError(f"the type of column {field.name!r} is known only when the query runs")
            fields.append(pa.field(field.name, arrow_type(field.type), True))
        twice = {f.name for f in fields if sum(1 for g in fields if g.name == f.name) > 1}
        if twice:
            raise DataError(f"two columns are called {min(twice)!r}", hint="name one of them with as")
        return pa.schema(fields)

    def parameters(self, graph: Graph) -> dict[str, object]:
        """Values by the names the text uses. Raises DataError for one that is missing, too many or does not fit."""
        return self.named(graph, {name: _value(text) for name, text in self.values})

    def named(self, graph: Graph, values: Mapping[str, object]) -> dict[str, object]:
        """The same of values whose names came through Spark, which does not care for capital letters."""
        declared = self.program(graph).parameters
        names = {param.name.casefold(): param.name for param in declared}
        found = {names.get(name.casefold(), name): value for name, value in values.items()}
        bind_parameters(declared, found)
        return found

    def bounded(self) -> str:
        """The text, with the bounds as conditions."""
        if self.variable is None:
            return self.text
        query = self.parsed()
        body = query.body
        assert isinstance(body, ast.ReadBody)
        nowhere = Span(0, 0)
        own = ast.PropertyOf(ast.Var(self.variable, nowhere), ast.Name(self.member, nowhere), nowhere)
        tests = [
            ast.Test(own, relation, _literal(bound), nowhere)
            for relation, bound in ((ast.Relation.GE, self.low), (ast.Relation.LT, self.high))
            if bound is not None
        ]
        return unparse_query(replace(query, body=replace(body, clauses=(*body.clauses, *tests))))

    def shares(self, tables: PinnedTables, count: int) -> list[Question]:
        """Questions whose answers together are the answer of this one; itself when it cannot be shared out."""
        found = _splitting(self.parsed())
        if found is None or count < 2:
            return [self]
        node = tables.catalog.node(found.type.text)
        member = key_members(node)[:1] if node is not None else ()
        if node is None or not member or not (is_text(member[0].type) or is_integer(member[0].type)):
            return [self]
        name, variable = member[0].name, found.variable.name
        edges = [None, *_bounds(tables.open(node), name, count), None]
        return [replace(self, variable=variable, member=name, low=low, high=high) for low, high in pairwise(edges)]


def question(text: str, values: Mapping[str, str]) -> Question:
    return Question(text, tuple(sorted(values.items())))


def _value(text: str) -> object:
    try:
        found: object = json.loads(text)
    except ValueError:
        return text
    return found


def _splitting(query: ast.Query) -> ast.NodeClause | None:
    """The node by which the rows can be shared out; None for a query that orders, counts, ranks, cuts or says now."""
    body = query.body
    assert isinstance(body, ast.ReadBody)
    if body.order or body.limit is not None or any(isinstance(node, _WHOLE) for node in nodes_below(body)):
        return None
    nodes = (c for c in body.clauses if isinstance(c, ast.NodeClause) and c.variable.name != "_")
    return next(nodes, None)


def _literal(value: str | int) -> ast.StringLit | ast.IntLit:
    nowhere = Span(0, 0)
    return ast.StringLit(value, nowhere) if isinstance(value, str) else ast.IntLit(value, nowhere)


def _bounds(table: OpenTable, name: str, count: int) -> list[Any]:
    """Keys that cut a table into about equal shares, from a sample of it."""
    rows = table.pin.row_count
    if rows < count:
        return []
    wanted = min(rows, count * _SAMPLED_PER_SHARE)
    places = [n * rows // wanted for n in range(wanted)]
    found = sorted(table.dataset.take(places, columns=[name])[name].to_pylist())
    cuts = [found[len(found) * n // count] for n in range(1, count)]
    return sorted(set(cuts) - {found[0]})


def answer(graph: Graph, asked: Question) -> Iterator[pa.RecordBatch]:
    """The rows of a question."""
    parameters = asked.parameters(graph)
    yield from graph.gq(asked.bounded(), parameters or None).batches()
