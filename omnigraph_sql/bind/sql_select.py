"""One SELECT block.

Names in clauses: WHERE and ON see the columns of FROM; GROUP BY, HAVING and QUALIFY see those first and output names
behind them; an ORDER BY or DISTINCT ON key that is one bare name means an output column first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from sqlglot import exp

from omnigraph_sql.base.errors import UnknownName
from omnigraph_sql.base.expr import Aggregate, Expr, SortKey, WindowCall, walk
from omnigraph_sql.bind.bound import BoundGroup, BoundItem, BoundSelect, BoundSource
from omnigraph_sql.bind.sql_binder import SqlBinder
from omnigraph_sql.bind.sql_clauses import refuse_clauses
from omnigraph_sql.bind.sql_expr import Clause, bind_condition, bind_expr
from omnigraph_sql.bind.sql_group import Grouped, bind_group, has_sets
from omnigraph_sql.bind.sql_naming import distinct_names, label_of
from omnigraph_sql.bind.sql_order import bind_order, ordinal
from omnigraph_sql.bind.sql_scope import Scope
from omnigraph_sql.bind.sql_star import expand, is_star

_SELECT: Final = frozenset(
    {
        "with_",
        "expressions",
        "distinct",
        "from_",
        "joins",
        "where",
        "group",
        "having",
        "qualify",
        "windows",
        "order",
        "limit",
        "offset",
    }
)
_DISTINCT: Final = frozenset({"on"})


@dataclass(frozen=True, slots=True)
class Selected:
    """A bound block with its order, the labels of its columns, and the columns it takes from queries around."""

    body: BoundSelect
    order: tuple[SortKey, ...]
    labels: tuple[str, ...]
    outer: frozenset[str]


@dataclass(slots=True)
class _Block:
    """The block while its clauses are bound. `seen` pairs every expression over groups with its place."""

    binder: SqlBinder
    tree: exp.Select
    scope: Scope
    windows: dict[str, exp.Expr] = field(default_factory=dict)
    exprs: list[Expr] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    aliases: dict[str, tuple[tuple[str, Expr], ...]] = field(default_factory=dict)
    seen: list[tuple[exp.Expr, Expr]] = field(default_factory=list)

    def note(self, node: exp.Expr, expr: Expr) -> Expr:
        self.seen.append((node, expr))
        return expr


def bind_select(binder: SqlBinder, tree: exp.Select, outer: Scope | None) -> Selected:
    refuse_clauses(binder, tree, _SELECT)
    source, scope = _from(binder, tree, outer)
    where = _where(binder, tree, scope)
    inner = scope.outer
    if has_sets(tree.args.get("group")):
        scope = scope.optional()
    block = _Block(binder, tree, scope, _windows(binder, tree))
    _items(block)
    group = _group(block)
    having = _having(block)
    qualify = _qualify(block)
    distinct, on = _distinct(block)
    order = _order(block, distinct and not on)
    group = _checked(block, group, having is not None)
    items = tuple(map(BoundItem, distinct_names(block.labels), block.exprs))
    body = BoundSelect(items, source, where, group, having, qualify, distinct, on)
    return Selected(body, order, tuple(block.labels), frozenset(scope.outer | inner))


def _from(binder: SqlBinder, tree: exp.Select, outer: Scope | None) -> tuple[BoundSource | None, Scope]:
    from omnigraph_sql.bind.sql_from import bind_source
    from omnigraph_sql.bind.sql_join import join_all

    clause, joins = tree.args.get("from_"), tree.args.get("joins")
    if clause is None:
        if joins:
            binder.refuse_node(joins[0])
        return None, Scope(outer)
    around = Scope(outer)
    item = bind_source(binder, clause.this, around)
    if joins:
        item = join_all(binder, item, joins, around)
    source, scope = item
    scope.outer |= around.outer
    return source, scope


def _where(binder: SqlBinder, tree: exp.Select, scope: Scope) -> Expr | None:
    where = tree.args.get("where")
    if where is None:
        return None
    try:
        return binder.bind_condition(where.this, scope, "WHERE")
    except UnknownName as error:
        outputs = (item.alias for item in tree.expressions if isinstance(item, exp.Alias))
        if any(error.message == f"unknown column '{name}'" for name in outputs):
            error.hint = "it is an output column, which WHERE cannot see; repeat its expression"
        raise


def _windows(binder: SqlBinder, tree: exp.Select) -> dict[str, exp.Expr]:
    """The WINDOW clause by folded name."""
    found: dict[str, exp.Expr] = {}
    for window in tree.args.get("windows") or ():
        name = window.this.name if isinstance(window.this, exp.Expr) else window.name
        if name.casefold() in found:
            raise binder.mismatch(f"two windows are called {name}", window.this, "give one of them another name")
        found[name.casefold()] = window
    return found


# ---- the select list --------------------------------------------------------------------------------------------


def _items(block: _Block) -> None:
    binder, scope = block.binder, block.scope
    clause = Clause("SELECT", aggregates=True, windows=True, named_windows=block.windows)

    def bind(node: exp.Expr) -> Expr:
        return bind_expr(binder, node, scope, clause)

    for node in block.tree.expressions:
        if is_star(node):
            for label, expr in expand(binder, node, scope, bind):
                _add(block, node, label, expr)
        elif isinstance(node, exp.Alias):
            _add(block, node, node.alias, bind(node.this))
        elif isinstance(node, exp.Aliases):
            raise binder.unsupported("an item of the select list has one name", node, "name the columns one by one")
        else:
            expr = bind(node)
            _add(block, node, label_of(node, expr, scope), expr)
    if not block.exprs:
        raise binder.mismatch("the select list is empty", block.tree, "name columns, or write *")


def _add(block: _Block, node: exp.Expr, label: str, expr: Expr) -> None:
    block.exprs.append(block.note(node, expr))
    block.labels.append(label)
    same = block.aliases.get(label.casefold(), ())
    if not same or same[0] != (label, expr):
        block.aliases[label.casefold()] = (*same, (label, expr))


# ---- clauses over the output ------------------------------------------------------------------------------------


def _group(block: _Block) -> BoundGroup | None:
    group = block.tree.args.get("group")
    if group is None:
        return None
    clause = Clause("GROUP BY", aliases=block.aliases)

    def take(node: exp.Expr) -> Expr:
        place = ordinal(block.binder, node, len(block.exprs), "GROUP BY")
        key = bind_expr(block.binder, node, block.scope, clause) if place is None else block.exprs[place]
        if any(isinstance(part, Aggregate | WindowCall) for part in walk(key)):
            hint = "group by what it is computed from, or filter with HAVING"
            raise block.binder.mismatch("GROUP BY cannot hold an aggregate or a window function", node, hint)
        return key

    return bind_group(block.binder, group, block.exprs, take)


def _having(block: _Block) -> Expr | None:
    having = block.tree.args.get("having")
    if having is None:
        return None
    clause = Clause("HAVING", aggregates=True, aliases=block.aliases)
    found = bind_condition(block.binder, having.this, block.scope, clause)
    if any(isinstance(part, WindowCall) for part in walk(found)):
        raise block.binder.mismatch("HAVING cannot hold a window function", having.this, "use QUALIFY")
    return block.note(having.this, found)


def _qualify(block: _Block) -> Expr | None:
    qualify = block.tree.args.get("qualify")
    if qualify is None:
        return None
    clause = Clause("QUALIFY", aggregates=True, windows=True, aliases=block.aliases, named_windows=block.windows)
    found = bind_condition(block.binder, qualify.this, block.scope, clause)
    if not any(isinstance(part, WindowCall) for expr in (found, *block.exprs) for part in walk(expr)):
        hint = "use WHERE for rows and HAVING for groups"
        raise block.binder.mismatch("QUALIFY filters by window functions, and there is none", qualify.this, hint)
    return block.note(qualify.this, found)


def _key(block: _Block, node: exp.Expr, clause: str) -> Expr:
    bare = isinstance(node, exp.Column) and len(node.parts) == 1
    place = Clause(clause, True, True, block.aliases, bare, block.windows)
    return block.note(node, bind_expr(block.binder, node, block.scope, place))


def _distinct(block: _Block) -> tuple[bool, tuple[Expr, ...]]:
    distinct = block.tree.args.get("distinct")
    if distinct is None:
        return False, ()
    refuse_clauses(block.binder, distinct, _DISTINCT)
    on = distinct.args.get("on")
    if on is None:
        return True, ()
    keys: list[Expr] = []
    for node in on.expressions if isinstance(on, exp.Tuple) else [on]:
        place = ordinal(block.binder, node, len(block.exprs), "DISTINCT ON")
        keys.append(_key(block, node, "DISTINCT ON") if place is None else block.exprs[place])
    return True, tuple(keys)


def _order(block: _Block, distinct: bool) -> tuple[SortKey, ...]:
    def take(node: exp.Expr) -> Expr:
        expr = _key(block, node, "ORDER BY")
        if distinct and not any(expr is output or expr == output for output in block.exprs):
            hint = "put it into the select list, or use DISTINCT ON or GROUP BY"
            raise block.binder.mismatch("with DISTINCT, ORDER BY takes what is selected", node, hint)
        return expr

    return bind_order(block.binder, block.tree.args.get("order"), block.exprs, take)


def _checked(block: _Block, group: BoundGroup | None, having: bool) -> BoundGroup | None:
    """The group, or the one group of everything that HAVING alone makes; refuses what is not grouped."""
    aggregated = any(isinstance(part, Aggregate) for _, expr in block.seen for part in walk(expr))
    if group is None and not aggregated and not having:
        return None
    check = Grouped(block.binder, block.scope, group.keys if group is not None else (), group is not None)
    for node, expr in block.seen:
        check.check(node, expr)
    return BoundGroup(()) if group is None and not aggregated else group
