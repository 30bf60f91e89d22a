"""The state of binding one SQL statement, and the verbs every part of the binder shares.

The parts live in their own modules (queries, sources, expressions, functions, patterns) as functions that take the
binder first; the methods here only name them, so that a part never imports its siblings in a circle.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NoReturn

from sqlglot import exp

from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import Catalog, TableType
from omnigraph_sql.base.commands import CreatePropertyGraph
from omnigraph_sql.base.errors import Location, NotSupported, TypeMismatch, UnknownName
from omnigraph_sql.base.expr import NOW_PARAMETER, Expr, Param
from omnigraph_sql.base.travel import ReadPoint
from omnigraph_sql.base.types import ANY, STRING, DataType, EnumType, is_open
from omnigraph_sql.bind.bound import BoundQuery, BoundSource
from omnigraph_sql.bind.sql_scope import Name, Scope
from omnigraph_sql.bind.suggest import closest
from omnigraph_sql.grammar.ast.sql import Ident, Placeholder
from omnigraph_sql.grammar.source import Source, Span
from omnigraph_sql.grammar.sql.spans import span_of


@dataclass(frozen=True, slots=True)
class SqlOptions:
    """What a session may change about binding: the graph's own name, how far an open quantifier walks, and its views.

    A view is its name and the text of its query; `graphs` are the property graphs somebody created.
    """

    graph: str = "omni"
    hops_max: int = limits.HOPS_MAX
    views: tuple[tuple[str, str], ...] = ()
    graphs: tuple[CreatePropertyGraph, ...] = ()


@dataclass(frozen=True, slots=True)
class CteName:
    """A common table expression in force: the name in the text, its unique name, its columns.

    `labels` are the names its users see, where two of them are equal.
    """

    text: str
    unique: str
    columns: tuple[tuple[str, DataType, bool], ...]
    labels: tuple[str, ...] = ()


class SqlBinder:
    """Binds one statement. `bind_query`, `bind_source`, `bind_expr` and `resolve_table` are what parts build on."""

    def __init__(
        self,
        catalog: Catalog,
        source: Source,
        span: Span,
        options: SqlOptions | None = None,
        placeholders: tuple[Placeholder, ...] = (),
        known: dict[str, DataType] | None = None,
    ) -> None:
        self.catalog = catalog
        self.source = source
        self.span = span
        self.options = options or SqlOptions()
        self.ctes: list[CteName] = []
        self.scanned_ctes: set[str] = set()
        """Unique names of the common table expressions that something scans."""
        self.open_ctes: list[str] = []
        self.later_ctes: list[str] = []
        """Names of a WITH whose queries are being bound, and that are declared further on: hints for early uses."""
        self.open_views: list[str] = []
        """The views whose texts are being bound, the outermost first."""
        self.parameters: dict[str, Param] = {}
        self._known = known or {}
        self._open_uses: dict[str, int] = {}
        self._variables: set[str] = set()
        self._cte_names: set[str] = set()
        self._anonymous = 0
        self._positions = {p.span.start: p.name for p in placeholders}
        self._question_marks = 0

    # ---- places and errors ------------------------------------------------------------------------------------

    def span_of(self, at: exp.Expr | Ident | Span | None) -> Span:
        if isinstance(at, Span):
            return at
        if isinstance(at, Ident):
            return at.span
        return span_of(at, self.span) if at is not None else self.span

    def location(self, at: exp.Expr | Ident | Span | None) -> Location:
        return self.source.locate(self.span_of(at))

    def unknown(
        self, what: str, name: str, at: exp.Expr | Ident | Span | None, candidates: Iterable[str] = (), hint: str = ""
    ) -> UnknownName:
        """An error to raise: nothing called `name` is known; the nearest candidate is suggested."""
        near = closest(name, candidates)
        return UnknownName(f"unknown {what} '{name}'", at=self.location(at), suggestion=near, hint=hint or None)

    def mismatch(self, message: str, at: exp.Expr | Ident | Span | None, hint: str = "") -> TypeMismatch:
        return TypeMismatch(message, at=self.location(at), hint=hint or None)

    def unsupported(self, message: str, at: exp.Expr | Ident | Span | None, hint: str = "") -> NotSupported:
        return NotSupported(message, at=self.location(at), hint=hint or None)

    def refuse_node(self, node: exp.Expr) -> NoReturn:
        """For every tree node that no rule of the binder knows."""
        words = type(node).__name__
        raise self.unsupported(f"{words} is not supported here", node, "rewrite the statement without it")

    # ---- names ------------------------------------------------------------------------------------------------

    def fresh(self, wanted: str) -> str:
        """A range variable no other part of the statement has: `a`, then `a_2`; dots become underscores."""
        base = wanted.replace(".", "_") or "t"
        return _first_free(base, self._variables)

    def fresh_cte(self, wanted: str) -> str:
        return _first_free(wanted.replace(".", "_") or "t", self._cte_names)

    def anonymous(self) -> str:
        """A variable for a pattern element the text did not name."""
        self._anonymous += 1
        return self.fresh(f"_{self._anonymous}")

    # ---- parameters -------------------------------------------------------------------------------------------

    def parameter(self, name: str, of: DataType = ANY) -> Param:
        """A use of a parameter; every use of one name has one type, known from any of them."""
        if name == NOW_PARAMETER:
            raise self.unsupported(f"the parameter name {NOW_PARAMETER} is reserved", self.span)
        param = self.parameters.get(name)
        if param is None:
            param = Param(name, self._known.get(name, of))
            self.parameters[name] = param
        if is_open(param.of):
            self._open_uses[name] = self._open_uses.get(name, 0) + 1
        return param

    def placeholder(self, node: exp.Expr) -> Param:
        """The parameter of a placeholder node; a question mark is named by its number."""
        this = node.this
        text = this.name if isinstance(this, exp.Expr) else str(this or "")
        if not text or text == "?":
            self._question_marks += 1
            text = self._positions.get(span_of(node, self.span).start) or str(self._question_marks)
        return self.parameter(text)

    def infer(self, expr: Expr, of: DataType) -> Expr:
        """Give an untyped parameter the type its neighbour has; anything else comes back as it is."""
        if not isinstance(expr, Param) or not is_open(expr.of) or is_open(of):
            return expr
        known = self.parameters[expr.name]
        if is_open(known.of):
            known = replace(known, of=STRING if isinstance(of, EnumType) else of)
            self.parameters[expr.name] = known
        self._open_uses[expr.name] -= 1
        return known

    def stale_parameters(self) -> dict[str, DataType]:
        """Types learnt too late: uses of the parameter before that stayed untyped. Bind once more with these."""
        late = any(self._open_uses.get(p.name) and not is_open(p.of) for p in self.parameters.values())
        return {p.name: p.of for p in self.parameters.values()} if late else {}

    # ---- the parts --------------------------------------------------------------------------------------------

    def bind_query(self, tree: exp.Expr, outer: Scope | None = None) -> BoundQuery:
        """A SELECT, VALUES, set operation or parenthesised query with its WITH, ORDER BY and LIMIT."""
        from omnigraph_sql.bind.sql_query import bind_query

        return bind_query(self, tree, outer)

    def bind_source(self, tree: exp.Expr, outer: Scope | None = None) -> tuple[BoundSource, Scope]:
        """One item of FROM, USING or MERGE … USING: a table, derived table or function, with its joins."""
        from omnigraph_sql.bind.sql_from import bind_source

        return bind_source(self, tree, Scope(outer))

    def bind_expr(self, node: exp.Expr, scope: Scope, clause: str = "WHERE") -> Expr:
        """A scalar expression without aggregates or windows; `clause` names the place in errors."""
        from omnigraph_sql.bind.sql_expr import Clause, bind_expr

        return bind_expr(self, node, scope, Clause(clause))

    def bind_condition(self, node: exp.Expr, scope: Scope, clause: str = "WHERE") -> Expr:
        """As `bind_expr`, and it must be a truth value."""
        from omnigraph_sql.bind.sql_expr import Clause, bind_condition

        return bind_condition(self, node, scope, Clause(clause))

    def resolve_table(self, table: exp.Table) -> tuple[TableType, ReadPoint]:
        """The graph type a table name means and the point in history its qualifier or suffix asks for."""
        from omnigraph_sql.bind.sql_tables import resolve_table

        return resolve_table(self, table)


def name_of(identifier: exp.Expr) -> Name:
    this = identifier.args.get("this")
    return Name(this if isinstance(this, str) else identifier.name, bool(identifier.args.get("quoted")))


def _first_free(base: str, taken: set[str]) -> str:
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    taken.add(name)
    return name
