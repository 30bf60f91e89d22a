"""`order`: the keys of the text, made total by ids or group keys."""

from __future__ import annotations

from collections.abc import Mapping

from omnigraph_sql.base.errors import TypeMismatch
from omnigraph_sql.base.expr import Aggregate, Bm25, Expr, Fuse, Nearest, SortKey
from omnigraph_sql.base.types import BLOB
from omnigraph_sql.bind.gq_scope import ANONYMOUS, Scope, Work, a
from omnigraph_sql.bind.gq_search import score
from omnigraph_sql.bind.gq_values import is_vector_or_list, property_column
from omnigraph_sql.grammar.ast import gq as ast

_SCORES = Nearest | Bm25 | Fuse


def bind_order(
    work: Work,
    scope: Scope,
    body: ast.ReadBody,
    aliases: Mapping[str, Expr],
    keys: tuple[Expr, ...] | None,
    ties: tuple[Expr, ...],
) -> tuple[SortKey, ...]:
    """The total order of the read. `keys` are the group keys of an aggregate query, None for plain rows."""
    _refuse_alias_beside_nearest(work, body.order, aliases)
    if not body.order and (body.limit is None or not work.options.total_order):
        return ()
    order: list[SortKey] = []
    for term in body.order:
        expr = _sorted_by(work, scope, term, aliases, keys)
        if isinstance(expr, _SCORES):
            _refuse_unlimited(work, expr, term, body)
        order.append(_key(expr, term.descending))
    written = {key.expr for key in order}
    order.extend(_key(tie, False) for tie in ties if tie not in written)
    return tuple(order)


def _key(expr: Expr, descending: bool) -> SortKey:
    """Null is the smallest value; a score is best first whatever the text says, and a missing one is last."""
    if isinstance(expr, _SCORES):
        return SortKey(expr, not isinstance(expr, Nearest), False)
    return SortKey(expr, descending, not descending)


def _refuse_alias_beside_nearest(work: Work, order: tuple[ast.SortTerm, ...], aliases: Mapping[str, Expr]) -> None:
    if not any(isinstance(term.value, ast.Nearest) for term in order):
        return
    for term in order:
        if not isinstance(term.value, ast.AliasRef):
            continue
        ranker = isinstance(aliases.get(term.value.name), _SCORES)
        if not (ranker and work.options.extensions):
            message = f"{term.value.name} is an alias; beside nearest, sort by the property itself"
            raise work.wrong("T18", term.value.span, message)


def _refuse_unlimited(work: Work, expr: Expr, term: ast.SortTerm, body: ast.ReadBody) -> None:
    if body.limit is not None or isinstance(expr, Bm25):
        return
    code, word = ("T17", "nearest") if isinstance(expr, Nearest) else ("T21", "rrf")
    raise work.wrong(code, term.span, f"ordering by {word} needs a limit: it is the number of rows searched for")


def _sorted_by(
    work: Work, scope: Scope, term: ast.SortTerm, aliases: Mapping[str, Expr], keys: tuple[Expr, ...] | None
) -> Expr:
    value = term.value
    match value:
        case ast.AliasRef():
            expr = aliases.get(value.name)
            if expr is None:
                message = f"no returned column is called {value.name}"
                raise work.unknown("T0", value.span, message, value.name, aliases)
        case ast.PropertyOf():
            expr = property_column(work, scope, value)
        case ast.Nearest() | ast.Bm25() | ast.Fuse():
            expr = score(work, scope, value)
        case _:
            raise _unsortable(work, scope, value)
    _refuse_type(work, expr, term)
    if keys is not None and not isinstance(expr, Aggregate) and expr not in keys:
        message = f"{work.written(value.span)} is not a group key; rows are grouped, so it has no single value"
        raise work.wrong("T9", value.span, message, "return it as a column of its own, or sort by an aggregate")
    return expr


def _refuse_type(work: Work, expr: Expr, term: ast.SortTerm) -> None:
    if expr.type == BLOB:
        raise work.wrong("T24", term.value.span, f"{work.written(term.value.span)} is a Blob and cannot be sorted by")
    if is_vector_or_list(expr.type):
        message = f"{work.written(term.value.span)} is {a(expr.type)}, which has no order"
        raise work.wrong("T7", term.value.span, message)


def _unsortable(work: Work, scope: Scope, value: ast.Value) -> TypeMismatch:
    written = work.written(value.span)
    if isinstance(value, ast.Var) and value.name != ANONYMOUS:
        bound = scope.find(value.name)
        if bound is not None and bound.is_edge:
            return work.wrong("T23", value.span, f"{written} is an edge; sort by {written}.property")
    hint = "give the column a name with as, and sort by the name"
    return work.wrong(
        "T0", value.span, f"{written} cannot be a sort key: keys are properties, aliases and scores", hint
    )
