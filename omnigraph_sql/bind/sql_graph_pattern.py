"""One way a pattern fits the schema → a bound pattern, and what names mean inside it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Final

from sqlglot import exp

from omnigraph_sql.base.catalog import ID, TableType
from omnigraph_sql.base.expr import Bm25, Call, Column, Expr, Fuse, Literal, Nearest, all_of, conjuncts, walk
from omnigraph_sql.base.travel import ReadPoint
from omnigraph_sql.base.types import I64, NULL, STRING, DataType, ListType, common_type
from omnigraph_sql.bind.bound import BoundEdge, BoundNode, BoundPattern, Walk
from omnigraph_sql.bind.sql_binder import SqlBinder, name_of
from omnigraph_sql.bind.sql_expr import Clause, bind_condition, bind_expr
from omnigraph_sql.bind.sql_functions import AGGREGATES, SCALARS
from omnigraph_sql.bind.sql_graph_elements import Elements, InlineTest, Step
from omnigraph_sql.bind.sql_graph_types import Choice, Fit
from omnigraph_sql.bind.sql_scope import MergedColumn, Name, RangeTable, Scope, ScopeColumn
from omnigraph_sql.grammar.ast.sql import Ident

_PATH_COLUMNS: Final[tuple[tuple[str, DataType], ...]] = (
    ("length", I64),
    ("vertices", ListType(STRING)),
    ("edges", ListType(STRING)),
)
_PATH_FUNCTIONS: Final = {"path_length": "length", "vertices": "vertices", "edges": "edges"}
_ELEMENT_ID: Final = "element_id"
_SCORES: Final = (Nearest, Bm25, Fuse)


@dataclass(frozen=True, slots=True)
class Placed:
    """A bound pattern with the scope of its variables; `where` holds conditions on scores, which are no part of it."""

    pattern: BoundPattern
    where: Expr | None
    place: Place


class Place:
    """Names inside one fit of a pattern: its elements, the paths, and the query around."""

    def __init__(self, binder: SqlBinder, elements: Elements, fit: Fit, every: tuple[Fit, ...], around: Scope) -> None:
        self.binder = binder
        self.elements = elements
        self.vertices = [_variable(binder, v.name) for v in elements.vertices]
        self.steps = [_step_variable(binder, elements, number) for number in range(len(elements.steps))]
        self.paths = [binder.fresh(s.path.text) if s.path is not None else None for s in elements.steps]
        self._vertex_tables = [
            _table(v.name, variable, fit.vertices[n], tuple(f.vertices[n] for f in every))
            for n, (v, variable) in enumerate(zip(elements.vertices, self.vertices, strict=True))
        ]
        self._step_tables = [
            _table(s.name, variable, fit.steps[n].type, tuple(f.steps[n].type for f in every)) if variable else None
            for n, (s, variable) in enumerate(zip(elements.steps, self.steps, strict=True))
        ]
        self._path_tables = [
            _path_table(s, variable, choice)
            for s, variable, choice in zip(elements.steps, self.paths, fit.steps, strict=True)
            if variable is not None
        ]
        elements_named = [t for t in (*self._vertex_tables, *self._step_tables) if t is not None and t.name]
        self.scope = Scope(around, [*elements_named, *self._path_tables])

    def expr(self, node: exp.Expr) -> Expr:
        """A value of COLUMNS."""
        self._refuse_more_than_a_match(node, "COLUMNS")
        return bind_expr(self.binder, node, self.scope, Clause("COLUMNS", graph=self._function))

    def condition(self, node: exp.Expr) -> Expr:
        self._refuse_more_than_a_match(node, "WHERE")
        return bind_condition(self.binder, node, self.scope, Clause("WHERE", graph=self._function))

    def inline(self, test: InlineTest) -> Expr:
        """A condition inside an element: its bare names are the element's own properties first."""
        self._refuse_more_than_a_match(test.condition, "WHERE")
        own = self._step_tables[test.owner] if test.of_step else self._vertex_tables[test.owner]
        bare = {c.name.casefold() for c in test.condition.find_all(exp.Column) if not c.table}
        mine = [] if own is None else [c for c in own.columns if c.name.casefold() in bare]
        first = [_first(c, self.scope.tables) for c in mine]
        scope = Scope(self.scope.parent, self.scope.tables, first)
        made = bind_condition(self.binder, test.condition, scope, Clause("WHERE", graph=self._function))
        self.scope.outer |= scope.outer
        return made

    def _refuse_more_than_a_match(self, node: exp.Expr, clause: str) -> None:
        """One match has no aggregates; and the variable of a quantified step is many edges, so it has no properties."""
        for part in node.walk(prune=lambda n: isinstance(n, exp.Query)):
            if _spans_rows(part):
                hint = "give the values in COLUMNS and aggregate in the SELECT around GRAPH_TABLE"
                message = f"{clause} of a pattern is asked once per match: no aggregates and no windows"
                raise self.binder.unsupported(message, part, hint)
            if isinstance(part, exp.Column) and self._is_many(part):
                hint = "name the path, as in p = (a)-[IS Knows]->{1,3}(b), and use edges(p) or path_length(p)"
                first = part.parts[0]
                raise self.binder.unsupported(f"{first.name} stands for many edges, not for one", first, hint)

    def _is_many(self, column: exp.Column) -> bool:
        name = name_of(column.parts[0])
        used = len(column.parts) > 1 or isinstance(column.parent, exp.Anonymous)
        return used and any(name.matches(ident.text) for ident in self.elements.many)

    def _function(self, name: str, node: exp.Expr) -> Expr | None:
        """`path_length(p)`, `vertices(p)`, `edges(p)` and `element_id(x)`."""
        if name == _ELEMENT_ID:
            return self._of(node, name, ID, [t for t in self.scope.tables if t not in self._path_tables], "element")
        if name in _PATH_FUNCTIONS:
            return self._of(node, name, _PATH_FUNCTIONS[name], self._path_tables, "path")
        return None

    def _of(self, node: exp.Expr, function: str, column: str, tables: list[RangeTable], kind: str) -> Expr:
        arguments = node.expressions
        if len(arguments) != 1 or not isinstance(arguments[0], exp.Column) or len(arguments[0].parts) != 1:
            raise self.binder.mismatch(f"{function} takes the variable of one {kind} of the pattern", node)
        name = name_of(arguments[0].this)
        found = [t for t in tables if name.matches(t.name)]
        if not found:
            other = any(name.matches(t.name) for t in self.scope.tables)
            hint = f"{name.text} is no {kind}" if other else ""
            raise self.binder.unknown(kind, name.text, arguments[0], (t.name for t in tables), hint)
        return found[0].find(Name(column, True))[0].expr


def _first(column: ScopeColumn, tables: list[RangeTable]) -> MergedColumn:
    """The column in front of all others that a bare name could mean."""
    found = frozenset((t.variable, c.name) for t in tables for c in t.find(Name(column.name)))
    return MergedColumn(column, found, "")


def _spans_rows(node: exp.Expr) -> bool:
    named = isinstance(node, exp.Anonymous) and node.name.lower() in AGGREGATES.keys() - SCALARS.keys()
    return named or isinstance(node, exp.AggFunc | exp.Window)


def place(
    binder: SqlBinder,
    elements: Elements,
    fit: Fit,
    every: tuple[Fit, ...],
    around: Scope,
    where: exp.Expr | None,
    at: ReadPoint,
) -> Placed:
    """The pattern with the types of `fit`; `every` holds all fits, whose properties its elements may be asked for."""
    inside = Place(binder, elements, fit, every, around)
    tests = [part for test in elements.tests for part in conjuncts(inside.inline(test))]
    if where is not None:
        tests += conjuncts(inside.condition(where))
    scored = [test for test in tests if any(isinstance(part, _SCORES) for part in walk(test))]
    plain = tuple(test for test in tests if test not in scored)
    nodes = tuple(BoundNode(v, of) for v, of in zip(inside.vertices, fit.vertices, strict=True))
    edges = tuple(_edge(inside, number, choice) for number, choice in enumerate(fit.steps))
    return Placed(BoundPattern(nodes, edges, plain, at=at), all_of(scored), inside)


def _edge(inside: Place, number: int, choice: Choice) -> BoundEdge:
    step = inside.elements.steps[number]
    left, right = inside.vertices[step.left], inside.vertices[step.right]
    source, target = (left, right) if choice.forward else (right, left)
    variable, path = inside.steps[number], inside.paths[number]
    return BoundEdge(choice.type, source, target, step.walk, step.hops, choice.undirected, variable, path)


# ---- variables --------------------------------------------------------------------------------------------------


def _variable(binder: SqlBinder, name: Ident | None) -> str:
    return binder.fresh(name.text) if name is not None else binder.anonymous()


def _step_variable(binder: SqlBinder, elements: Elements, number: int) -> str | None:
    """An edge has a variable when the text names it or tests it."""
    step = elements.steps[number]
    if step.walk is not Walk.EDGES:
        return None
    tested = any(test.of_step and test.owner == number for test in elements.tests)
    return _variable(binder, step.name) if step.name is not None or tested else None


def _table(name: Ident | None, variable: str, of: TableType, every: tuple[TableType, ...]) -> RangeTable:
    """The element's columns; a property that only other fits have is null in this one."""
    own = RangeTable.of_table(name.text if name is not None else "", variable, of)
    others = [t for t in {t.name: t for t in every}.values() if t.name != of.name]
    if not others:
        return own
    types = {t.name: t for t in every}.values()
    names = dict.fromkeys(f.name for t in types for f in t.schema.fields)
    columns = [_own_or_null(own, column, list(types)) for column in names]
    system = [c for c in own.columns if c.name not in names]
    return RangeTable(own.name, variable, (*columns, *system), of)


def _own_or_null(own: RangeTable, column: str, types: list[TableType]) -> ScopeColumn:
    found = own.find(Name(column, True))
    if found:
        return found[0]
    fields = [f for t in types if (f := t.column(column)) is not None]
    of = reduce(_common, (f.type for f in fields))
    return ScopeColumn(column, Literal(None, of))


def _common(left: DataType, right: DataType) -> DataType:
    return common_type(left, right) or NULL


def _path_table(step: Step, variable: str, choice: Choice) -> RangeTable:
    """A stored path runs along the arrow; the written one from left to right."""
    assert step.path is not None
    columns = []
    for name, of in _PATH_COLUMNS:
        column: Expr = Column(f"{variable}.{name}", of, False)
        if not choice.forward and isinstance(of, ListType):
            column = Call("array_reverse", (column,), of)
        columns.append(ScopeColumn(name, column))
    return RangeTable(step.path.text, variable, tuple(columns))
