"""Predicates: IS, IN, BETWEEN, LIKE and its kin, EXISTS."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sqlglot import exp

from omnigraph_sql.base.expr import (
    FALSE,
    TRUE,
    Call,
    Compare,
    Exists,
    Expr,
    InList,
    IsNull,
    Like,
    Literal,
    Logic,
    Param,
)
from omnigraph_sql.base.types import BOOL, STRING, ListType, is_open, is_text
from omnigraph_sql.bind.sql_expr import Rule, Site
from omnigraph_sql.bind.sql_operands import compare, membership, shown
from omnigraph_sql.bind.sql_operators import compare_rows, is_row
from omnigraph_sql.bind.sql_quantified import in_subquery
from omnigraph_sql.bind.sql_types import declared

# ---- IS ---------------------------------------------------------------------------------------------------------


def _is(site: Site, node: exp.Expr) -> Expr:
    operand, what = site.bind(node.this), node.args["expression"]
    if isinstance(what, exp.Null):
        return IsNull(operand)
    if not isinstance(what, exp.Boolean):
        hint = "to compare two values of which any may be null, write IS NOT DISTINCT FROM"
        raise site.binder.unsupported("IS takes NULL, TRUE, FALSE or UNKNOWN", node, hint)
    operand = site.binder.infer(operand, BOOL)
    if not (operand.type == BOOL or is_open(operand.type)):
        message = f"IS {'TRUE' if what.this else 'FALSE'} takes a truth value; this is {declared(operand.type)}"
        raise site.binder.mismatch(message, node.this)
    return Compare("is not distinct from", operand, TRUE if what.this else FALSE)


# ---- IN ---------------------------------------------------------------------------------------------------------


def _in(site: Site, node: exp.Expr) -> Expr:
    query, items, field = node.args.get("query"), node.expressions, node.args.get("field")
    if query is not None:
        return in_subquery(site, node.this, query, "=", "any")
    if is_row(node.this):
        return _rows_in(site, node, items)
    operand = site.bind(node.this)
    if field is not None:
        return membership(site, site.bind(field), operand, (field, node.this))
    if not items:
        raise site.binder.mismatch("IN has no values to look among", node)
    if len(items) == 1 and isinstance(items[0], exp.Query):
        return in_subquery(site, node.this, items[0], "=", "any")
    bound = [site.bind(item) for item in items]
    if len(bound) == 1 and isinstance(bound[0].type, ListType) and not isinstance(operand.type, ListType):
        return membership(site, bound[0], operand, (items[0], node.this))
    return in_list(site, operand, node.this, bound, items)


def in_list(site: Site, operand: Expr, node: exp.Expr, bound: list[Expr], items: list[exp.Expr]) -> InList:
    """`operand IN (items)`, every item checked and typed as in a comparison with the operand."""
    typed, made = operand, list[Expr]()
    for value, item in zip(bound, items, strict=True):
        pair = compare(site, "=", typed, value, (node, item))
        typed = pair.left
        made.append(pair.right)
    if typed is not operand:
        # A parameter took its type from an item, or a day became an instant beside one: the others follow.
        made = [compare(site, "=", typed, value, (node, item)).right for value, item in zip(made, items, strict=True)]
    return InList(typed, tuple(made))


def _rows_in(site: Site, node: exp.Expr, items: list[exp.Expr]) -> Expr:
    if not items:
        raise site.binder.unsupported("a row is looked for among rows only", node, "write (a, b) IN ((1, 2), (3, 4))")
    rows = tuple(compare_rows(site, "=", node.this, item, item) for item in items)
    return rows[0] if len(rows) == 1 else Logic("or", rows)


# ---- BETWEEN ----------------------------------------------------------------------------------------------------


def _between(site: Site, node: exp.Expr) -> Expr:
    operand, low, high = site.bind(node.this), site.bind(node.args["low"]), site.bind(node.args["high"])
    nodes = (node.this, node.args["low"], node.args["high"])
    least = compare(site, ">=", operand, low, nodes[:2])
    operand = least.left if isinstance(operand, Param) else operand
    most = compare(site, "<=", operand, high, (nodes[0], nodes[2]))
    both = Logic("and", (least, most))
    if not node.args.get("symmetric"):
        return both
    turned = (replace(least, right=most.right), replace(most, right=least.right))
    return Logic("or", (both, Logic("and", turned)))


# ---- LIKE -------------------------------------------------------------------------------------------------------


def _like(ignore_case: bool) -> Rule:
    def rule(site: Site, node: exp.Expr) -> Expr:
        return _liked(site, node, None, ignore_case)

    return rule


def _escape(site: Site, node: exp.Expr) -> Expr:
    like = node.this
    if not isinstance(like, exp.Like | exp.ILike):
        raise site.binder.unsupported("ESCAPE stands behind LIKE and ILIKE only", node)
    escape = _text(site, node.args["expression"], "ESCAPE")
    if isinstance(escape, Literal) and isinstance(escape.value, str) and len(escape.value) != 1:
        raise site.binder.mismatch("ESCAPE takes one character", node.args["expression"])
    return _liked(site, like, escape, isinstance(like, exp.ILike))


def _liked(site: Site, node: exp.Expr, escape: Expr | None, ignore_case: bool) -> Expr:
    word = "ILIKE" if ignore_case else "LIKE"
    pattern = node.args["expression"]
    negated = bool(node.args.get("negate"))
    operand = _text(site, node.this, word)
    if not isinstance(pattern, exp.Any | exp.All):
        return Like(operand, _text(site, pattern, word), escape, ignore_case, negated)
    patterns = pattern.this.unnest()
    if not isinstance(patterns, exp.Tuple | exp.Array | exp.Literal):
        hint = f"write the patterns out: {word} ANY ('a%', 'b%')"
        raise site.binder.unsupported(f"{word} ANY and ALL take a list of patterns", pattern, hint)
    texts = [_text(site, p, word) for p in patterns.expressions] or [_text(site, patterns, word)]
    made = tuple(Like(operand, text, escape, ignore_case, negated) for text in texts)
    every = isinstance(pattern, exp.All)
    return made[0] if len(made) == 1 else Logic("and" if every else "or", made)


def _text(site: Site, node: exp.Expr, word: str) -> Expr:
    bound = site.binder.infer(site.bind(node), STRING)
    if not (is_text(bound.type) or is_open(bound.type)):
        message = f"{word} takes texts; {shown(site, node)} is {declared(bound.type)}"
        raise site.binder.mismatch(message, node, "convert it: CAST(… AS TEXT)")
    return bound


def _glob(site: Site, node: exp.Expr) -> Expr:
    hint = "write LIKE with % and _, or regexp_like(text, pattern)"
    raise site.binder.unsupported("GLOB is not supported", node, hint)


# ---- regular expressions ----------------------------------------------------------------------------------------


def _regexp(flags: str) -> Rule:
    def rule(site: Site, node: exp.Expr) -> Expr:
        operand, pattern = _text(site, node.this, "~"), _text(site, node.args["expression"], "~")
        more = (Literal(flags, STRING),) if flags else ()
        return Call("regexp_like", (operand, pattern, *more), BOOL)

    return rule


def _similar(site: Site, node: exp.Expr) -> Expr:
    """SIMILAR TO as a regular expression over the whole text, with % and _ as in LIKE."""
    operand, pattern = _text(site, node.this, "SIMILAR TO"), _text(site, node.args["expression"], "SIMILAR TO")
    if not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
        hint = "write regexp_like(text, pattern)"
        raise site.binder.unsupported("SIMILAR TO takes a literal pattern", node.args["expression"], hint)
    return Call("regexp_like", (operand, replace(pattern, value=_similar_regexp(pattern.value))), BOOL)


_PLAIN: Final = {"%": ".*", "_": ".", "^": r"\^", "$": r"\$", ".": r"\."}


def _similar_regexp(pattern: str) -> str:
    made: list[str] = []
    escaped = False
    for sign in pattern:
        made.append(sign if escaped else _PLAIN.get(sign, sign))
        escaped = sign == "\\" and not escaped
    return f"^(?:{''.join(made)})$"


# ---- EXISTS -----------------------------------------------------------------------------------------------------


def _exists(site: Site, node: exp.Expr) -> Expr:
    if not isinstance(node.this, exp.Query | exp.Values):
        raise site.binder.unsupported("EXISTS takes a query", node, "write EXISTS (SELECT …)")
    return Exists(site.binder.bind_query(node.this, site.scope))


RULES: Final[dict[type[exp.Expr], Rule]] = {
    exp.Is: _is,
    exp.In: _in,
    exp.Between: _between,
    exp.Like: _like(ignore_case=False),
    exp.ILike: _like(ignore_case=True),
    exp.Escape: _escape,
    exp.Glob: _glob,
    exp.RegexpLike: _regexp(""),
    exp.RegexpILike: _regexp("i"),
    exp.SimilarTo: _similar,
    exp.Exists: _exists,
}
