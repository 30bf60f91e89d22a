"""Search in `.gq`: text predicates, rankers, and the fusion of rankers."""

from __future__ import annotations

from typing import Final

from omnigraph_sql.base.expr import Bm25, Column, Expr, Fuse, Literal, Nearest, Score, TextMatch
from omnigraph_sql.base.types import I64, STRING, DataType, VectorType, is_integer, is_open, is_text
from omnigraph_sql.bind.gq_scope import ANONYMOUS, Scope, Work, a
from omnigraph_sql.bind.gq_values import LITERALS, cast, literal, property_column
from omnigraph_sql.grammar.ast import gq as ast

FUSION_K: Final = 60
"""What `rrf` adds to every rank when the text does not say."""

_TEXT_CODES: Final = {"search": "T19", "fuzzy": "T19", "match_text": "T20", "bm25": "T20"}


def score(work: Work, scope: Scope, value: ast.Nearest | ast.Bm25 | ast.Fuse) -> Score:
    if isinstance(value, ast.Nearest):
        return _nearest(work, scope, value)
    if isinstance(value, ast.Bm25):
        field, query = _text(work, scope, "bm25", value.field, value.query)
        return Bm25(field, query)
    return _fuse(work, scope, value)


def text_match(work: Work, scope: Scope, value: ast.TextTest) -> TextMatch:
    field, query = _text(work, scope, value.kind, value.field, value.query)
    if value.max_edits is None:
        return TextMatch(value.kind, field, query)
    edits = _constant(work, scope, value.max_edits, I64, "T19", "max_edits")
    negative = isinstance(edits, Literal) and isinstance(edits.value, int) and edits.value < 0
    if negative or not (is_integer(edits.type) or is_open(edits.type)):
        written = work.written(value.max_edits.span)
        raise work.wrong("T19", value.max_edits.span, f"max_edits of fuzzy is a whole number, not {written}")
    return TextMatch(value.kind, field, query, edits)


def _text(work: Work, scope: Scope, function: str, field: ast.Value, query: ast.Value) -> tuple[Column, Expr]:
    code = _TEXT_CODES[function]
    if not isinstance(field, ast.PropertyOf):
        message = f"{function} searches a property, written $x.p; {work.written(field.span)} is none"
        raise work.wrong(code, field.span, message)
    _refuse_edge(work, scope, function, field)
    column = property_column(work, scope, field)
    if not is_text(column.type):
        message = f"{function} searches text; {work.written(field.span)} is {a(column.type)}"
        raise work.wrong(code, field.span, message)
    words = _constant(work, scope, query, STRING, code, f"the query of {function}")
    if not (is_text(words.type) or is_open(words.type)):
        message = f"the query of {function} is a text; {work.written(query.span)} is {a(words.type)}"
        raise work.wrong(code, query.span, message)
    return column, words


def _nearest(work: Work, scope: Scope, value: ast.Nearest) -> Nearest:
    _refuse_edge(work, scope, "nearest", value.field)
    column = property_column(work, scope, value.field, "T15")
    of = column.type
    if not isinstance(of, VectorType):
        message = f"nearest compares vectors; {work.written(value.field.span)} is {a(of)}"
        raise work.wrong("T15", value.field.span, message)
    query = _constant(work, scope, value.query, of, "T15", "the query of nearest")
    if isinstance(query, Literal) and query.of != STRING:
        query = _vector(work, query, of, value)
    elif query.type not in (of, STRING) and not is_open(query.type):
        written = work.written(value.query.span)
        message = f"nearest needs {a(of)} or a String; {written} is {a(query.type)}"
        raise work.wrong("T15", value.query.span, message)
    return Nearest(column, query)


def _vector(work: Work, query: Literal, of: VectorType, value: ast.Nearest) -> Expr:
    made = cast(query, of)
    if made is None:
        message = f"nearest needs {a(of)} or a String, not {work.written(value.query.span)}"
        raise work.wrong("T15", value.query.span, message)
    return made


def _fuse(work: Work, scope: Scope, value: ast.Fuse) -> Fuse:
    rankers: list[Score] = []
    for ranker in value.rankers:
        # The grammar lets nothing else through; a tree built by hand may.
        if not isinstance(ranker, ast.Nearest | ast.Bm25):
            raise work.wrong("T21", value.span, "rrf fuses nearest and bm25 only")
        rankers.append(score(work, scope, ranker))
    if len(rankers) < 2:
        raise work.wrong("T21", value.span, "rrf fuses two rankings")
    if value.k is None:
        return Fuse(tuple(rankers), Literal(FUSION_K, I64))
    k = _constant(work, scope, value.k, I64, "T21", "k of rrf")
    small = isinstance(k, Literal) and isinstance(k.value, int) and k.value <= 0
    if small or not (is_integer(k.type) or is_open(k.type)):
        message = f"k of rrf is a whole number above 0, not {work.written(value.k.span)}"
        raise work.wrong("T21", value.k.span, message)
    return Fuse(tuple(rankers), k)


def _constant(work: Work, scope: Scope, value: ast.Value, meets: DataType, code: str, what: str) -> Expr:
    """A literal or a parameter: a search asks one question, not one per row."""
    if isinstance(value, LITERALS):
        return literal(work, value)
    if isinstance(value, ast.Var):
        bound = scope.find(value.name) if value.name != ANONYMOUS else None
        if bound is None:
            return work.parameter(value, meets, scope.names())
        if bound.is_edge:
            raise work.wrong("T23", value.span, f"${value.name} is an edge and cannot be {what}")
    message = f"{what} is a literal or a parameter, not {work.written(value.span)}"
    raise work.wrong(code, value.span, message)


def _refuse_edge(work: Work, scope: Scope, function: str, field: ast.PropertyOf) -> None:
    name = field.variable.name
    bound = scope.find(name) if name != ANONYMOUS else None
    if bound is not None and bound.is_edge:
        message = f"{function} searches nodes; ${name} is an edge of type {bound.type.name}"
        raise work.wrong("T23", field.variable.span, message)
