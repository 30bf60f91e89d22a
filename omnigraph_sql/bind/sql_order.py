"""ORDER BY, LIMIT, OFFSET and FETCH.

Null placement: ascending keys put nulls last and descending ones first, as in PostgreSQL and DataFusion, unless NULLS
FIRST or NULLS LAST says otherwise; every SortKey spells it out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from sqlglot import exp

from omnigraph_sql.base.expr import Column, Expr, Literal, Param, SortKey
from omnigraph_sql.base.schema import Schema
from omnigraph_sql.base.types import I64, is_integer
from omnigraph_sql.bind.sql_binder import SqlBinder, name_of
from omnigraph_sql.bind.sql_clauses import refuse_clauses
from omnigraph_sql.bind.sql_scope import Scope
from omnigraph_sql.bind.sql_types import declared

_ORDER: Final = frozenset({"expressions"})
_ORDERED: Final = frozenset({"this", "desc", "nulls_first"})
_LIMIT: Final = frozenset({"expression", "limit_options"})
_FETCH: Final = frozenset({"direction", "count", "limit_options"})
_OFFSET: Final = frozenset({"expression"})
_WHOLE_DIGITS_MAX: Final = 18

Take = Callable[[exp.Expr], Expr]


def bind_order(binder: SqlBinder, order: exp.Expr | None, outputs: Sequence[Expr], take: Take) -> tuple[SortKey, ...]:
    """The sort keys. A whole number and ALL mean `outputs`; every other key is bound by `take`."""
    if order is None:
        return ()
    refuse_clauses(binder, order, _ORDER)
    keys: list[SortKey] = []
    for ordered in order.expressions:
        if isinstance(ordered, exp.Ordered):
            refuse_clauses(binder, ordered, _ORDERED)
            node, descending = ordered.this, bool(ordered.args.get("desc"))
            nulls_first = bool(ordered.args.get("nulls_first", descending))
        else:
            node, descending, nulls_first = ordered, False, False
        if isinstance(node, exp.Var) and node.name.upper() == "ALL":
            keys += [SortKey(expr, descending, nulls_first) for expr in outputs]
            continue
        place = ordinal(binder, node, len(outputs), "ORDER BY")
        keys.append(SortKey(take(node) if place is None else outputs[place], descending, nulls_first))
    return tuple(keys)


def ordinal(binder: SqlBinder, node: exp.Expr, count: int, clause: str) -> int | None:
    """The 0-based column that a whole number means; None for anything else."""
    if not isinstance(node, exp.Literal) or node.is_string or not str(node.this).isdecimal():
        return None
    text = str(node.this)
    place = int(text) if len(text) <= _WHOLE_DIGITS_MAX else count + 1
    if not 1 <= place <= count:
        columns = "1 column" if count == 1 else f"{count} columns"
        raise binder.mismatch(f"{clause} {text} points at no column; the select list has {columns}", node)
    return place - 1


def by_output(binder: SqlBinder, labels: Sequence[str], schema: Schema, what: str) -> Take:
    """For queries whose keys must be output columns: set operations, VALUES and queries in brackets."""
    fields = schema.fields

    def take(node: exp.Expr) -> Expr:
        while isinstance(node, exp.Paren):
            node = node.this
        if not isinstance(node, exp.Column) or len(node.parts) != 1 or isinstance(node.this, exp.Star):
            hint = "order by the name or number of an output column, or put the query into FROM"
            raise binder.unsupported(f"ORDER BY over {what} takes output columns only", node, hint)
        name = name_of(node.this)
        found = [f for label, f in zip(labels, fields, strict=True) if name.matches(label)]
        if not found:
            raise binder.unknown("output column", name.text, node, labels)
        if len(found) > 1:
            raise binder.mismatch(f"two output columns are called {name.text}", node, "order by their number")
        return Column(found[0].name, found[0].type, found[0].nullable)

    return take


# ---- limit ------------------------------------------------------------------------------------------------------


def bind_limit(binder: SqlBinder, limit: exp.Expr | None) -> Expr | None:
    """LIMIT or FETCH; None for LIMIT ALL too."""
    if limit is None:
        return None
    options = limit.args.get("limit_options")
    if isinstance(options, exp.Expr):
        _refuse_options(binder, limit, options)
    if isinstance(limit, exp.Fetch):
        refuse_clauses(binder, limit, _FETCH)
        count = limit.args.get("count")
        return Literal(1, I64) if count is None else _count(binder, count, "FETCH")
    if isinstance(limit.args.get("expressions"), list) and limit.args["expressions"]:
        hint = "keep the first rows with QUALIFY row_number() OVER (PARTITION BY …) <= n"
        raise binder.unsupported("LIMIT … BY is not supported", limit.args["expressions"][0], hint)
    refuse_clauses(binder, limit, _LIMIT)
    return _count(binder, limit.expression, "LIMIT")


def bind_offset(binder: SqlBinder, offset: exp.Expr | None) -> Expr | None:
    if offset is None:
        return None
    refuse_clauses(binder, offset, _OFFSET)
    return _count(binder, offset.expression, "OFFSET")


def _refuse_options(binder: SqlBinder, limit: exp.Expr, options: exp.Expr) -> None:
    if options.args.get("percent"):
        raise binder.unsupported("LIMIT takes a number of rows, not a percentage", limit, "count the rows first")
    if options.args.get("with_ties"):
        hint = "use QUALIFY rank() OVER (ORDER BY …) <= n"
        raise binder.unsupported("WITH TIES is not supported", limit, hint)


def _count(binder: SqlBinder, node: exp.Expr, clause: str) -> Expr | None:
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Null) or (isinstance(node, exp.Var) and node.name.upper() == "ALL"):
        return None
    if isinstance(node, exp.Neg):
        raise binder.mismatch(f"{clause} is not negative", node)
    if not isinstance(node, exp.Literal | exp.Placeholder | exp.Parameter):
        hint = "compute the number first and pass it as a parameter"
        raise binder.unsupported(f"{clause} takes a whole number or a parameter", node, hint)
    found = binder.infer(binder.bind_expr(node, Scope(), clause), I64)
    whole = isinstance(found, Literal) and isinstance(found.value, int) and found.type == I64
    if not whole and not (isinstance(found, Param) and is_integer(found.type)):
        message = f"{clause} takes a whole number of rows, not {declared(found.type)}"
        raise binder.mismatch(message, node)
    return found
