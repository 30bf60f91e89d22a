"""`*` and `t.*` in a select list, with EXCLUDE, REPLACE and RENAME."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from omnigraph_sql.base.expr import Expr
from omnigraph_sql.bind.sql_binder import SqlBinder, name_of
from omnigraph_sql.bind.sql_clauses import refuse_clauses
from omnigraph_sql.bind.sql_scope import Name, RangeTable, Scope, ScopeColumn

_STAR: Final = frozenset({"except_", "replace", "rename"})


@dataclass(frozen=True, slots=True)
class _Shown:
    """A column of the star: its table (None for a merged one), its name before RENAME, its label and value."""

    table: RangeTable | None
    name: str
    label: str
    expr: Expr


def is_star(node: exp.Expr) -> bool:
    return isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))


def expand(binder: SqlBinder, node: exp.Expr, scope: Scope, bind: Callable[[exp.Expr], Expr]) -> list[tuple[str, Expr]]:
    """Labels and values of the columns the star stands for; `bind` binds the values of REPLACE."""
    star = node.this if isinstance(node, exp.Column) else node
    refuse_clauses(binder, star, _STAR)
    found = _columns(binder, node, scope)
    found = _excluded(binder, star, found)
    found = _replaced(binder, star, found, bind)
    found = _renamed(binder, star, found)
    if not found:
        hint = "name what you want; id is there by name and never part of *"
        raise binder.mismatch("* stands for no column here", node, hint)
    return [(shown.label, shown.expr) for shown in found]


def _columns(binder: SqlBinder, node: exp.Expr, scope: Scope) -> list[_Shown]:
    if not isinstance(node, exp.Column):
        if not scope.tables:
            raise binder.mismatch("* needs a FROM", node, "name a table: SELECT * FROM table")
        return [_shown(table, column) for table, column in scope.starred()]
    word = node.parts[-2]
    tables = scope.tables_named(name_of(word))
    if not tables:
        raise binder.unknown("table", word.name, word, (t.name for t in scope.tables))
    return [_shown(tables[0], column) for column in tables[0].columns if column.starred]


def _shown(table: RangeTable | None, column: ScopeColumn) -> _Shown:
    return _Shown(table, column.name, column.name, column.expr)


def _named(binder: SqlBinder, found: list[_Shown], node: exp.Expr, clause: str) -> list[int]:
    """Which columns of the star a name in EXCLUDE, REPLACE or RENAME means; `t.c` picks one table."""
    parts = node.parts if isinstance(node, exp.Column) else [node]
    if not 1 <= len(parts) <= 2 or not all(isinstance(part, exp.Identifier) for part in parts):
        raise binder.unsupported(f"{clause} takes names of columns", node, f"write * {clause} (column)")
    name, owner = name_of(parts[-1]), name_of(parts[0]) if len(parts) == 2 else None
    places = [i for i, shown in enumerate(found) if _is_meant(shown, name, owner)]
    if not places:
        raise binder.unknown("column", name.text, node, (s.name for s in found), f"* has no such column to {clause}")
    return places


def _is_meant(shown: _Shown, name: Name, owner: Name | None) -> bool:
    if not name.matches(shown.name):
        return False
    return owner is None or (shown.table is not None and owner.matches(shown.table.name))


def _excluded(binder: SqlBinder, star: exp.Expr, found: list[_Shown]) -> list[_Shown]:
    gone: set[int] = set()
    for node in star.args.get("except_") or ():
        gone.update(_named(binder, found, node, "EXCLUDE"))
    return [shown for i, shown in enumerate(found) if i not in gone] if gone else found


def _replaced(binder: SqlBinder, star: exp.Expr, found: list[_Shown], bind: Callable[[exp.Expr], Expr]) -> list[_Shown]:
    for node in star.args.get("replace") or ():
        if not isinstance(node, exp.Alias):
            raise binder.unsupported(
                "REPLACE takes expressions with names", node, "write * REPLACE (expression AS column)"
            )
        places = _named(binder, found, node.args["alias"], "REPLACE")
        value = bind(node.this)
        found = [_Shown(s.table, s.name, s.label, value) if i in places else s for i, s in enumerate(found)]
    return found


def _renamed(binder: SqlBinder, star: exp.Expr, found: list[_Shown]) -> list[_Shown]:
    for node in star.args.get("rename") or ():
        if not isinstance(node, exp.Alias):
            raise binder.unsupported("RENAME takes pairs of names", node, "write * RENAME (column AS name)")
        places = _named(binder, found, node.this, "RENAME")
        label = node.args["alias"].name
        found = [_Shown(s.table, s.name, label, s.expr) if i in places else s for i, s in enumerate(found)]
    return found
