"""`gq($$ match { … } return { … } $$, name => value, …)` in FROM: the sister language as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from sqlglot import exp

from omnigraph_sql.base.errors import BoundaryViolation, LanguageError, ParseError
from omnigraph_sql.base.expr import (
    Bm25,
    Exists,
    Expr,
    Fuse,
    InSubquery,
    Literal,
    Nearest,
    OuterColumn,
    Param,
    ScalarSubquery,
    TextMatch,
    walk,
)
from omnigraph_sql.base.schema import Field
from omnigraph_sql.base.types import is_open
from omnigraph_sql.bind.bound import BoundPattern, BoundProgram, BoundQuery, BoundSelect, BoundSource
from omnigraph_sql.bind.gq import bind_query
from omnigraph_sql.bind.sql_binder import SqlBinder
from omnigraph_sql.bind.sql_gq_rename import embedded
from omnigraph_sql.bind.sql_scope import Scope
from omnigraph_sql.bind.sql_stored import assigned
from omnigraph_sql.bind.sql_table_alias import derived, point_of, refuse_ordinality
from omnigraph_sql.bind.sql_targets import listed
from omnigraph_sql.grammar.ast import gq as ast
from omnigraph_sql.grammar.ast.sql import GqTable
from omnigraph_sql.grammar.gq import parse_any
from omnigraph_sql.grammar.source import Span

_SEARCHES = (Nearest, Bm25, Fuse, TextMatch)
_PER_ROW = (OuterColumn, ScalarSubquery, Exists, InSubquery)


def bind_gq_table(binder: SqlBinder, tree: exp.Expr, around: Scope) -> tuple[BoundSource, Scope]:
    """`tree` holds a GqTable as `this`. Its columns are what `return` names; its arguments may use items of `around`.

    Errors of the inner text point into the SQL text.
    """
    call = tree.this
    if not isinstance(call, GqTable):
        binder.refuse_node(tree)
    refuse_ordinality(binder, tree)
    with _places_outside(binder, call):
        query = _parsed(call)
        program = bind_query(query, binder.catalog)
    read = program.statement
    assert isinstance(read, BoundQuery)
    inside = Scope(around)
    values = _values(binder, call, query, program, inside)
    _refuse_questions_per_row(binder, call, read, values)
    made = embedded(read, binder.fresh, values, point_of(binder, tree))
    return derived(binder, tree, around, replace(made, outer_columns=frozenset(inside.outer)), "gq")


# ---- the text ---------------------------------------------------------------------------------------------------


@contextmanager
def _places_outside(binder: SqlBinder, call: GqTable) -> Iterator[None]:
    """Errors leave with their place in the SQL text: exact where the literal stands as it is, else all of it."""
    try:
        yield
    except LanguageError as error:
        body, text = call.body, call.args["text"]
        span = binder.span_of(text)
        if binder.source.text[body.start : body.end] == text.this:
            span = Span(body.start + error.at.start, body.start + error.at.end)
        error.at = binder.source.locate(span)
        raise


def _parsed(call: GqTable) -> ast.Query:
    unit = parse_any(str(call.args["text"].this))
    everything = unit.source.locate(Span(0, len(unit.source.text)))
    if len(unit.queries) != 1:
        message = f"gq takes one query, this text has {len(unit.queries) or 'none'}"
        raise ParseError(message, at=everything, hint="write gq($$ match { … } return { … } $$)")
    (query,) = unit.queries
    if isinstance(query.body, ast.WriteBody):
        hint = "run the mutation as a statement of its own"
        at = unit.source.locate(query.body.span)
        raise BoundaryViolation("only reads stand in FROM, and this text writes", at=at, hint=hint)
    return query


# ---- arguments --------------------------------------------------------------------------------------------------


def _values(
    binder: SqlBinder, call: GqTable, query: ast.Query, program: BoundProgram, inside: Scope
) -> dict[str, Expr]:
    """A value for every parameter of the text. Those that may be null and get none are null."""
    wanted = {param.name: param for param in program.parameters}
    values: dict[str, Expr] = {}
    for argument in call.args.get("arguments") or ():
        name = argument.this.name
        param = wanted.get(name)
        if param is None:
            hint = "" if wanted else "the text has no parameters"
            raise binder.unknown("parameter", name, argument.this, wanted, hint)
        if name in values:
            raise binder.mismatch(f"the parameter {name} is given twice", argument.this)
        values[name] = _fitted(binder, binder.bind_expr(argument.expression, inside, "gq"), param, argument.expression)
    declared = query.name is not None
    missing = [p.name for p in wanted.values() if p.name not in values and not (declared and p.null)]
    if missing:
        noun = "parameter" if len(missing) == 1 else "parameters"
        hint = f"write {', '.join(f'{name} => …' for name in missing)} behind the text"
        raise binder.mismatch(f"gq needs a value for the {noun} {listed(missing)}", call.args["text"], hint)
    return {name: values.get(name, Literal(None, param.of)) for name, param in wanted.items()}


def _fitted(binder: SqlBinder, value: Expr, param: Param, at: exp.Expr) -> Expr:
    if is_open(param.of):
        return value
    return assigned(binder, value, f"parameter {param.name}", Field(param.name, param.of, param.null), at)


def _refuse_questions_per_row(binder: SqlBinder, call: GqTable, read: BoundQuery, values: Mapping[str, Expr]) -> None:
    """A search asks one question and a limit counts once: neither may depend on the row beside."""
    fixed = {part.name for expr in _fixed(read) for part in walk(expr) if isinstance(part, Param)}
    for argument in call.args.get("arguments") or ():
        name = argument.this.name
        if name in fixed and any(isinstance(part, _PER_ROW) for part in walk(values[name])):
            message = f"{name} is used in a search or as a limit, so it cannot depend on a row"
            raise binder.unsupported(message, argument.expression, "pass a constant or a parameter")


def _fixed(read: BoundQuery) -> Iterator[Expr]:
    if read.limit is not None:
        yield read.limit
    assert isinstance(read.body, BoundSelect)
    assert isinstance(read.body.source, BoundPattern)
    exprs = [item.expr for item in read.body.items] + [key.expr for key in read.order]
    for expr in (*exprs, *_predicates(read.body.source)):
        yield from (part for part in walk(expr) if isinstance(part, _SEARCHES))


def _predicates(pattern: BoundPattern) -> Iterator[Expr]:
    yield from pattern.predicates
    for block in pattern.absences:
        yield from _predicates(block)
