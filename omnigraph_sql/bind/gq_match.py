"""`match`: clauses become one pattern of nodes, edges, predicates and absent patterns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import NodeType
from omnigraph_sql.base.expr import FALSE, TRUE, Compare, Expr, IsNull
from omnigraph_sql.base.types import BLOB, ListType, is_open
from omnigraph_sql.bind.bound import BoundEdge, BoundNode, BoundPattern, Walk
from omnigraph_sql.bind.gq_edges import Directed, Step, direct, resolve_steps
from omnigraph_sql.bind.gq_scope import ANONYMOUS, Ranged, Scope, Work, a
from omnigraph_sql.bind.gq_search import text_match
from omnigraph_sql.bind.gq_values import (
    LITERALS,
    comparison,
    input_value,
    instant,
    literal,
    membership,
    property_column,
    text_relation,
)
from omnigraph_sql.grammar.ast import gq as ast
from omnigraph_sql.grammar.lexical import too_many_joins


@dataclass(slots=True)
class _Clauses:
    nodes: list[ast.NodeClause]
    edges: list[ast.EdgeClause]
    tests: list[ast.Test | ast.NullTest]
    absences: list[ast.Absence]


def bind_pattern(work: Work, clauses: tuple[ast.Clause, ...], parent: Scope | None) -> tuple[BoundPattern, Scope]:
    """The pattern, and the scope of its variables. All names are settled before any value is looked at."""
    scope = Scope(parent)
    sorted_out = _sort_out(clauses)
    _refuse_many(work, sorted_out)
    nodes: list[BoundNode] = []
    declared = [(clause, _declare_node(work, scope, clause, nodes)) for clause in sorted_out.nodes]
    steps = resolve_steps(work, sorted_out.edges)
    edge_variables = [_declare_edge(work, scope, step) for step in steps]
    directed, types = direct(work, scope, steps)
    for step in steps:
        _declare_ends(work, scope, step, types, nodes)
    edges = tuple(_edge(scope, d, v) for d, v in zip(directed, edge_variables, strict=True))
    predicates = [_field_test(work, scope, ranged, test) for clause, ranged in declared for test in clause.tests]
    predicates += [_test(work, scope, test) for test in sorted_out.tests]
    if any(step.impossible for step in steps):
        predicates.append(FALSE)
    absences = tuple(_absence(work, scope, absence) for absence in sorted_out.absences)
    return BoundPattern(tuple(nodes), edges, tuple(predicates), absences, _outer(scope)), scope


def _refuse_many(work: Work, found: _Clauses) -> None:
    for several in (found.nodes, found.edges):
        if len(several) > limits.JOINS_MAX:
            raise too_many_joins(work.source, several[limits.JOINS_MAX].span, len(several))


def _sort_out(clauses: tuple[ast.Clause, ...]) -> _Clauses:
    kinds = _Clauses([], [], [], [])
    for clause in clauses:
        match clause:
            case ast.NodeClause():
                kinds.nodes.append(clause)
            case ast.EdgeClause():
                kinds.edges.append(clause)
            case ast.Test() | ast.NullTest():
                kinds.tests.append(clause)
            case ast.Absence():
                kinds.absences.append(clause)
            case _:
                assert_never(clause)
    return kinds


def _outer(scope: Scope) -> tuple[BoundNode, ...]:
    """Nodes from outside that the block uses, in name order, so that the order of clauses leaves no trace."""
    used = sorted(scope.outer.values(), key=lambda ranged: ranged.name)
    return tuple(BoundNode(r.name, r.type) for r in used if isinstance(r.type, NodeType))


# ---- variables --------------------------------------------------------------------------------------------------


def _declare_node(work: Work, scope: Scope, clause: ast.NodeClause, nodes: list[BoundNode]) -> Ranged:
    var, of = clause.variable, work.node_type(clause.type)
    known = scope.find(var.name) if var.name != ANONYMOUS else None
    if known is None:
        return _introduce(work, scope, var, of, nodes)
    if known.is_edge:
        message = f"${var.name} is already an edge of type {known.type.name}"
        raise work.wrong("T23", var.span, message)
    if known.type.name != of.name:
        message = f"${var.name} is {a(known.type)} already and cannot be {a(of)} too"
        raise work.wrong("T0", clause.type.span, message)
    return known


def _introduce(work: Work, scope: Scope, var: ast.Var, of: NodeType, nodes: list[BoundNode]) -> Ranged:
    ranged = Ranged(work.unique(var.name), of, var.span)
    nodes.append(BoundNode(ranged.name, of))
    if var.name != ANONYMOUS:
        _refuse_parameter(work, var)
        scope.variables[var.name] = ranged
    return ranged


def _refuse_parameter(work: Work, var: ast.Var) -> None:
    if var.name in work.params:
        message = f"${var.name} is a parameter; a variable of match needs a name of its own"
        raise work.wrong("T0", var.span, message)


def _declare_edge(work: Work, scope: Scope, step: Step) -> Ranged | None:
    var = step.clause.edge_variable
    if var is None:
        return None
    if var.name == ANONYMOUS:
        return Ranged(work.unique(ANONYMOUS), step.type, var.span)
    if var.name in (step.clause.left.name, step.clause.right.name):
        raise work.wrong("T23", var.span, f"${var.name} cannot name both the edge and one of its ends")
    known = scope.find(var.name)
    if known is not None:
        local = scope.variables.get(var.name) is known
        at = max(known.span, var.span, key=lambda s: s.start) if local else var.span
        raise work.wrong("T23", at, f"${var.name} is bound twice; an edge variable is bound exactly once")
    _refuse_parameter(work, var)
    ranged = Ranged(work.unique(var.name), step.type, var.span)
    scope.variables[var.name] = ranged
    return ranged


def _declare_ends(work: Work, scope: Scope, step: Step, types: dict[str, NodeType], nodes: list[BoundNode]) -> None:
    """Variables that stand in edge clauses only take the type of the end they stand on."""
    for key, var in ((step.left, step.clause.left), (step.right, step.clause.right)):
        if var.name == ANONYMOUS:
            nodes.append(BoundNode(key, types[key]))
        elif scope.find(key) is None:
            _introduce(work, scope, var, types[key], nodes)


def _edge(scope: Scope, directed: Directed, variable: Ranged | None) -> BoundEdge:
    step = directed.step
    left, right = (_end(scope, key) for key in (step.left, step.right))
    source, target = (left, right) if directed.forward else (right, left)
    return BoundEdge(
        step.type,
        source,
        target,
        Walk.NEIGHBORS if variable is None else Walk.EDGES,
        step.hops,
        step.clause.undirected,
        variable.name if variable is not None else None,
    )


def _end(scope: Scope, key: str) -> str:
    found = scope.find(key)
    return found.name if found is not None else key


# ---- predicates -------------------------------------------------------------------------------------------------


def _field_test(work: Work, scope: Scope, ranged: Ranged, test: ast.FieldTest) -> Expr:
    name = test.property
    column = ranged.column(name.text)
    if column is None:
        known = [p.name for p in ranged.type.properties]
        raise work.no_property("T2", name.span, ranged.type.name, name.text, known)
    of = column.type
    if of == BLOB:
        raise work.wrong("T3", name.span, f"{ranged.type.name}.{name.text} is a Blob and cannot be tested")
    meets = of.item if isinstance(of, ListType) else of
    value = input_value(work, scope, test.value, meets)
    code = "T3" if isinstance(test.value, LITERALS) else "T7"
    spans = (name.span, test.value.span)
    if isinstance(of, ListType):
        return membership(work, column, value, spans, code)
    return comparison(work, "=", column, value, spans, code)


def _test(work: Work, scope: Scope, test: ast.Test | ast.NullTest) -> Expr:
    if isinstance(test, ast.NullTest):
        return _null_test(work, scope, test)
    left, right = _operands(work, scope, test)
    spans = (test.left.span, test.right.span)
    match test.relation:
        case ast.Relation.CONTAINS if isinstance(left.type, ListType):
            return membership(work, left, right, spans)
        case ast.Relation.CONTAINS:
            return text_relation(work, "contains", left, right, spans)
        case ast.Relation.STARTS_WITH:
            return text_relation(work, "starts_with", left, right, spans)
        case relation:
            made = comparison(work, relation.value, left, right, spans)
            stands_alone = isinstance(test.left, ast.TextTest) and relation is ast.Relation.EQ and right == TRUE
            return left if stands_alone and isinstance(made, Compare) else made


def _operands(work: Work, scope: Scope, test: ast.Test) -> tuple[Expr, Expr]:
    """Both sides. A parameter of a bare body takes the type of the other side, so that side goes first."""
    if isinstance(test.left, ast.Var) and scope.find(test.left.name) is None:
        right = _operand(work, scope, test.right, None)
        return _operand(work, scope, test.left, right), right
    left = _operand(work, scope, test.left, None)
    return left, _operand(work, scope, test.right, left)


def _operand(work: Work, scope: Scope, value: ast.Value, other: Expr | None) -> Expr:
    match value:
        case ast.PropertyOf():
            return property_column(work, scope, value)
        case ast.Var():
            return _bare_variable(work, scope, value, other)
        case ast.Now():
            return instant(work, value)
        case ast.TextTest():
            return text_match(work, scope, value)
        case ast.AliasRef():
            message = f"{value.name} is no value here; a property is written $x.{value.name}"
            raise work.wrong("T0", value.span, message, "a string stands in double quotes")
        case ast.Nearest() | ast.Bm25() | ast.Fuse():
            message = f"{work.written(value.span)} is a score; scores stand in return and order"
            raise work.wrong("T7", value.span, message)
        case ast.Aggregate():
            message = f"{work.written(value.span)} is an aggregate; aggregates stand in return"
            raise work.wrong("T7", value.span, message)
        case _:
            return literal(work, value)


def _bare_variable(work: Work, scope: Scope, var: ast.Var, other: Expr | None) -> Expr:
    bound = scope.find(var.name) if var.name != ANONYMOUS else None
    if bound is not None:
        message = f"${var.name} is {'an edge' if bound.is_edge else 'a node'}, not a value; write ${var.name}.property"
        raise work.wrong("T23" if bound.is_edge else "T7", var.span, message)
    meets = other.type if other is not None and not is_open(other.type) else None
    if isinstance(meets, ListType):
        meets = meets.item
    return work.parameter(var, meets, scope.names())


def _null_test(work: Work, scope: Scope, test: ast.NullTest) -> Expr:
    work.extension(test.span, "is null")
    value = _operand(work, scope, test.value, None)
    if value.type == BLOB:
        raise work.wrong("T7", test.value.span, f"{work.written(test.value.span)} is a Blob and cannot be tested")
    return IsNull(value, test.negated)


def _absence(work: Work, scope: Scope, absence: ast.Absence) -> BoundPattern:
    pattern, inside = bind_pattern(work, absence.clauses, scope)
    if not inside.outer:
        message = "this not block mentions no variable from outside, so it says the same for every row"
        hint = "connect it to an outer variable by an edge or a comparison"
        raise work.wrong("T9", absence.span, message, hint)
    return pattern
