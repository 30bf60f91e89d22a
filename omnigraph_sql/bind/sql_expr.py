"""Scalar expressions: where each kind of node is bound, and the names, literals and conditions themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isinf
from typing import Final, TypeAlias

from sqlglot import exp

from omnigraph_sql.base.expr import (
    FALSE,
    TRUE,
    Aggregate,
    Call,
    Column,
    Expr,
    LambdaVariable,
    Literal,
    OuterColumn,
    WindowCall,
    is_boolean,
    null_literal,
    transform,
    walk,
)
from omnigraph_sql.base.rebuild import rebuilt
from omnigraph_sql.base.types import BLOB, BOOL, F64, I64, STRING, U64, DecimalType, type_text
from omnigraph_sql.bind.sql_binder import SqlBinder, name_of
from omnigraph_sql.bind.sql_functions import field_type
from omnigraph_sql.bind.sql_scope import Name, RangeTable, Scope, ScopeColumn
from omnigraph_sql.bind.sql_types import declared
from omnigraph_sql.bind.sql_unknown import columns_told, unknown_column

Aliases: TypeAlias = Mapping[str, tuple[tuple[str, Expr], ...]]
"""Output names by their folded text: each with its declared spelling and what it stands for."""


@dataclass(frozen=True, slots=True)
class Clause:
    """Where an expression stands, and what may stand there."""

    name: str
    aggregates: bool = False
    windows: bool = False
    aliases: Aliases = field(default_factory=dict)
    aliases_first: bool = False
    named_windows: Mapping[str, exp.Expr] = field(default_factory=dict)
    variables: tuple[LambdaVariable, ...] = ()
    """Variables of the lambdas around, the innermost first."""
    inside: str = ""
    """The aggregate whose argument this is."""
    over: str = ""
    """The window function whose argument or window this is."""
    graph: Callable[[str, exp.Expr], Expr | None] | None = None
    """Inside a graph pattern: what a call of a function of this name means there, or None for every other function."""


class Site:
    """An expression's surroundings: the binder, the scope and the clause. `bind` is the way into every node."""

    __slots__ = ("binder", "clause", "scope")

    def __init__(self, binder: SqlBinder, scope: Scope, clause: Clause) -> None:
        self.binder = binder
        self.scope = scope
        self.clause = clause

    def within(self, **changes: object) -> Site:
        """The same place under a changed clause."""
        return Site(self.binder, self.scope, rebuilt(self.clause, changes))

    def bind(self, node: exp.Expr) -> Expr:
        rule = (_RULES or _rules()).get(type(node))
        if rule is not None:
            return rule(self, node)
        if not isinstance(node, exp.Func):
            self.binder.refuse_node(node)
        from omnigraph_sql.bind.sql_call import bind_call

        return bind_call(self, node)


Rule: TypeAlias = Callable[[Site, exp.Expr], Expr]
_RULES: Final[dict[type[exp.Expr], Rule]] = {}


def _rules() -> dict[type[exp.Expr], Rule]:
    """All rules; gathered on first use, because the modules that hold them stand on this one."""
    if not _RULES:
        from omnigraph_sql.bind import sql_call, sql_nested, sql_operators, sql_predicates

        _RULES.update(RULES)
        for part in (sql_operators, sql_predicates, sql_nested, sql_call):
            _RULES.update(part.RULES)
    return _RULES


def bind_expr(binder: SqlBinder, node: exp.Expr, scope: Scope, clause: Clause) -> Expr:
    return Site(binder, scope, clause).bind(node)


def bind_condition(binder: SqlBinder, node: exp.Expr, scope: Scope, clause: Clause) -> Expr:
    """An expression that must be a truth value."""
    return condition(Site(binder, scope, clause), node)


def condition(site: Site, node: exp.Expr) -> Expr:
    bound = site.binder.infer(site.bind(node), BOOL)
    if not is_boolean(bound):
        message = f"{site.clause.name} takes a truth value, not {declared(bound.type)}"
        raise site.binder.mismatch(message, node, "compare it with something")
    return bound


# ---- names ------------------------------------------------------------------------------------------------------


def _column(site: Site, node: exp.Expr) -> Expr:
    parts = node.parts if isinstance(node, exp.Column) else [node]
    if isinstance(node.this, exp.Star):
        raise site.binder.unsupported("* stands only in the select list and in count(*)", node)
    if len(parts) == 1:
        return _bare(site, parts[0])
    return _qualified(site, list(parts))


def _bare(site: Site, node: exp.Expr) -> Expr:
    name = name_of(node)
    for variable in site.clause.variables:
        if name.matches(variable.name):
            return variable
    if site.clause.aliases_first:
        found = _alias(site, name, node)
        if found is not None:
            return found
    column = _look_up(site, name, node)
    if column is None and not site.clause.aliases_first:
        column = _alias(site, name, node)
    if column is not None:
        return column
    if any(name.matches(t) for t in site.scope.table_names()):
        hint = f"name a column, as in {name.text}.id, or write {name.text}.* in the select list"
        raise site.binder.unsupported(f"{name.text} is a table, not a value", node, hint)
    known = [*site.scope.column_names(), *(text for many in site.clause.aliases.values() for text, _ in many)]
    raise unknown_column(site.binder, node, name.text, known)


def _alias(site: Site, name: Name, node: exp.Expr) -> Expr | None:
    found = [expr for text, expr in site.clause.aliases.get(name.text.casefold(), ()) if name.matches(text)]
    if not found:
        return None
    if any(other is not found[0] and other != found[0] for other in found[1:]):
        raise ambiguous(site, name.text, node, "two output columns have this name")
    _refuse_alias(site, found[0], node)
    return found[0]


def _refuse_alias(site: Site, meant: Expr, node: exp.Expr) -> None:
    """An alias stands for its expression, also where that may not stand."""
    clause = site.clause
    if clause.aggregates and clause.windows:
        return
    for part in walk(meant):
        if not isinstance(part, Aggregate | WindowCall):
            continue
        if clause.windows if isinstance(part, WindowCall) else clause.aggregates:
            continue
        message = f"'{node.name}' stands for {part.function}(…), which cannot stand in {clause.inside or clause.name}"
        raise site.binder.unsupported(message, node, "compute it in a sub-query")


def ambiguous(site: Site, name: str, node: exp.Expr, why: str) -> Exception:
    error = site.binder.unknown("column", name, node, (), "say which one is meant, as in t.column")
    error.message = f"column '{name}' is ambiguous: {why}"
    error.args = (error.message,)
    return error


def _look_up(site: Site, name: Name, node: exp.Expr) -> Expr | None:
    """A bare column in this scope, or in the nearest scope around that has one."""
    at: Scope | None = site.scope
    passed: list[Scope] = []
    while at is not None:
        found = at.find(name)
        if len(found) > 1:
            raise ambiguous(site, name.text, node, _owners(at, name))
        if found:
            return _from_around(_held(site, found[0], node), passed)
        passed.append(at)
        at = at.parent
    return None


def _held(site: Site, column: ScopeColumn, node: exp.Expr) -> Expr:
    """What the column stands for, unless no plan can read it."""
    if not column.held:
        hint = "leave it out; the history of rows is in table_changes('table', from, to)"
        raise site.binder.unsupported(f"the system column {column.name} cannot be read yet", node, hint)
    return column.expr


def _owners(scope: Scope, name: Name) -> str:
    owners = [f"{t.name}.{c.name}" for t in scope.tables for c in t.find(name)]
    return f"it may be {' or '.join(owners)}"


def _from_around(expr: Expr, passed: list[Scope]) -> Expr:
    """A column of a scope around: every scope between notes that it uses it."""
    if not passed:
        return expr

    def outer(part: Expr) -> Expr:
        if isinstance(part, Column):
            for scope in passed:
                scope.outer.add(part.name)
            return OuterColumn(part.name, part.of, part.null)
        return part

    return transform(expr, outer)


def _qualified(site: Site, parts: list[exp.Expr]) -> Expr:
    """`t.c`, `schema.t.c`, and fields of a column: `c.f`, `t.c.f`."""
    table_at = _table_at(site, parts)
    if table_at is None:
        column = _look_up(site, name_of(parts[0]), parts[0])
        if column is None:
            word = parts[-2] if len(parts) > 1 else parts[0]
            raise site.binder.unknown("table", word.name, word, site.scope.table_names())
        return _fields(site, column, parts[1:])
    index, table, passed = table_at
    node = parts[index + 1]
    found = table.find(name_of(node))
    if not found:
        known = [c.name for c in table.columns]
        raise site.binder.unknown("column", node.name, node, known, columns_told(table.name, known))
    if len(found) > 1:
        raise ambiguous(site, node.name, node, f"{table.name} has more than one")
    return _fields(site, _from_around(_held(site, found[0], node), passed), parts[index + 2 :])


def _table_at(site: Site, parts: list[exp.Expr]) -> tuple[int, RangeTable, list[Scope]] | None:
    """Which part names a range variable, and the scopes between here and there."""
    for index in range(min(len(parts) - 1, 3)):
        name = name_of(parts[index])
        at: Scope | None = site.scope
        passed: list[Scope] = []
        while at is not None:
            found = at.tables_named(name)
            if len(found) > 1:
                raise ambiguous(site, name.text, parts[index], "two tables in FROM have this name")
            if found:
                return index, found[0], passed
            passed.append(at)
            at = at.parent
    return None


def _fields(site: Site, expr: Expr, parts: list[exp.Expr]) -> Expr:
    for part in parts:
        of = field_type(expr.type, part.name)
        if of is None:
            raise site.binder.unknown("field", part.name, part, (), f"the value is a {type_text(expr.type)}")
        expr = Call("get_field", (expr, Literal(part.name, STRING)), of)
    return expr


def _dot(site: Site, node: exp.Expr) -> Expr:
    part = node.args.get("expression")
    if isinstance(part, exp.Anonymous):
        called = part.name.lower()
        hint = f"write {called}(…) with the value between the brackets"
        raise site.binder.unsupported(f"'{called}' is called behind a dot", node, hint)
    if not isinstance(part, exp.Identifier):
        site.binder.refuse_node(node)
    return _fields(site, site.bind(node.this), [part])


# ---- literals ---------------------------------------------------------------------------------------------------

_I64_MAX, _U64_MAX, _DECIMAL_DIGITS = 2**63 - 1, 2**64 - 1, 38


def _literal(site: Site, node: exp.Expr) -> Expr:
    text = str(node.this)
    if node.args.get("is_string"):
        return Literal(text, STRING)
    return number(site, text, node)


def number(site: Site, text: str, node: exp.Expr) -> Literal:
    digits = text.replace("_", "")
    if digits.isascii() and digits.isdecimal():
        if len(digits) > _DECIMAL_DIGITS:
            raise site.binder.mismatch("this whole number has more digits than any type holds", node)
        whole = int(digits)
        if whole <= _I64_MAX:
            return Literal(whole, I64)
        return Literal(whole, U64 if whole <= _U64_MAX else DecimalType(_DECIMAL_DIGITS, 0))
    try:
        value = float(digits)
    except ValueError:
        raise site.binder.mismatch(f"'{text}' is not a number", node) from None
    if isinf(value):
        raise site.binder.mismatch("this number is larger than any type holds", node)
    return Literal(value, F64)


def _hex(site: Site, node: exp.Expr) -> Expr:
    try:
        value = bytes.fromhex(str(node.this))
    except ValueError:
        raise site.binder.mismatch("a binary literal has an even number of hexadecimal digits", node) from None
    return Literal(value, BLOB)


def _boolean(_site: Site, node: exp.Expr) -> Expr:
    return TRUE if node.this else FALSE


def _null(_site: Site, _node: exp.Expr) -> Expr:
    return null_literal()


def _placeholder(site: Site, node: exp.Expr) -> Expr:
    return site.binder.placeholder(node)


def _paren(site: Site, node: exp.Expr) -> Expr:
    return site.bind(node.this)


def _star(site: Site, node: exp.Expr) -> Expr:
    raise site.binder.unsupported("* stands only in the select list and in count(*)", node)


def _columns(site: Site, node: exp.Expr) -> Expr:
    hint = "name the columns, or use * EXCLUDE (…), * REPLACE (…) or * RENAME (…)"
    raise site.binder.unsupported("COLUMNS(…) is not supported", node, hint)


def _default(site: Site, node: exp.Expr) -> Expr:
    raise site.binder.unsupported("named arguments stand only in table functions", node)


RULES: Final[dict[type[exp.Expr], Rule]] = {
    exp.Column: _column,
    exp.Identifier: _column,
    exp.Dot: _dot,
    exp.Literal: _literal,
    exp.HexString: _hex,
    exp.Boolean: _boolean,
    exp.Null: _null,
    exp.Placeholder: _placeholder,
    exp.Parameter: _placeholder,
    exp.Paren: _paren,
    exp.Star: _star,
    exp.Columns: _columns,
    exp.Kwarg: _default,
}
