"""Edge clauses of `.gq`: edge words, hop bounds, and which way each clause runs.

Directions follow from the types of the ends over the whole pattern, so the order of clauses cannot matter: declared
variables come first, then edges between equal types, then whatever an edge between different types implies about its
other end. Only a group of clauses about which nothing is known is free; there one clause, picked by name and not by
place, runs along its arrow.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import EdgeType, NodeType
from omnigraph_sql.base.errors import TypeMismatch
from omnigraph_sql.bind.bound import ONE_HOP, Hops
from omnigraph_sql.bind.gq_scope import ANONYMOUS, Ranged, Scope, Work, a
from omnigraph_sql.grammar.ast import gq as ast


@dataclass(frozen=True, slots=True)
class Step:
    """An edge clause with its edge type. Ends are keys: the written name, or a fresh one for `$_`."""

    clause: ast.EdgeClause
    type: EdgeType
    left: str
    right: str
    hops: Hops
    impossible: bool
    """More than one hop over an edge between different types: nothing can match."""


@dataclass(frozen=True, slots=True)
class Directed:
    step: Step
    forward: bool


def resolve_steps(work: Work, clauses: list[ast.EdgeClause]) -> list[Step]:
    return [_step(work, clause) for clause in clauses]


def _step(work: Work, clause: ast.EdgeClause) -> Step:
    edge = work.catalog.edge_word(clause.word.text)
    if edge is None:
        word = clause.word.text
        raise work.unknown("T4", clause.word.span, f"there is no edge type {word}", word, _edge_words(work))
    mixed = edge.source != edge.target
    if clause.undirected and mixed:
        message = f"<{clause.word.text}> goes both ways, but {edge.name} leads from {edge.source} to {edge.target}"
        raise work.wrong("T22", clause.word.span, message, "leave the angle brackets out")
    hops = _hops(work, clause)
    impossible = mixed and hops.minimum > 1
    left = clause.left.name if clause.left.name != ANONYMOUS else work.unique(ANONYMOUS)
    right = clause.right.name if clause.right.name != ANONYMOUS else work.unique(ANONYMOUS)
    return Step(clause, edge, left, right, ONE_HOP if mixed else hops, impossible)


def _edge_words(work: Work) -> list[str]:
    """Edge names as a traversal writes them, with a small first letter."""
    return [e.name[0].lower() + e.name[1:] for e in work.catalog.edges]


def _hops(work: Work, clause: ast.EdgeClause) -> Hops:
    bounds = clause.hops
    if bounds is None:
        return ONE_HOP
    low, high = bounds.minimum, bounds.maximum
    if high is None:
        raise work.wrong("T15", bounds.span, f"{clause.word.text}{{{low},}} has no upper bound; write {{{low},n}}")
    if low < 1 or high < low:
        message = f"{clause.word.text}{{{low},{high}}} is no window of hops; the bounds are 1 <= first <= second"
        raise work.wrong("T15", bounds.span, message)
    if high > limits.HOPS_MAX:
        raise work.wrong("T15", bounds.span, f"at most {limits.HOPS_MAX} hops are walked, not {high}")
    if clause.edge_variable is not None and (low, high) != (1, 1):
        message = f"${clause.edge_variable.name} names one edge, so {{{low},{high}}} hops cannot be bound to it"
        raise work.wrong("T23", bounds.span, message)
    return Hops(low, high)


# ---- directions -------------------------------------------------------------------------------------------------


class _Types:
    """Node types of ends, known or inferred, and the clauses that wait for one."""

    def __init__(self, work: Work, scope: Scope, steps: list[Step]) -> None:
        self.work = work
        self.of: dict[str, str] = {}
        self.waiting: dict[str, list[Step]] = {}
        self.fresh: deque[str] = deque()
        for step in steps:
            for key, var in ((step.left, step.clause.left), (step.right, step.clause.right)):
                self.waiting.setdefault(key, []).append(step)
                known = scope.find(key) if var.name != ANONYMOUS else None
                if known is not None:
                    _refuse_edge_as_end(work, var, known)
                    self.pin(key, known.type.name)

    def pin(self, key: str, type_name: str) -> None:
        if key not in self.of:
            self.of[key] = type_name
            self.fresh.append(key)

    def spread(self) -> None:
        """Infer other ends from known ones until nothing new is learnt."""
        while self.fresh:
            key = self.fresh.popleft()
            for step in self.waiting[key]:
                self._infer(step, key)

    def _infer(self, step: Step, key: str) -> None:
        edge, mine = step.type, self.of[key]
        other = step.right if key == step.left else step.left
        if mine == edge.source:
            self.pin(other, edge.target)
        elif mine == edge.target:
            self.pin(other, edge.source)


def _refuse_edge_as_end(work: Work, var: ast.Var, known: Ranged) -> None:
    if known.is_edge:
        raise work.wrong("T23", var.span, f"${var.name} is an edge of type {known.type.name}, not a node")


def direct(work: Work, scope: Scope, steps: list[Step]) -> tuple[list[Directed], dict[str, NodeType]]:
    """The direction of every step, and the node type of every end; T5 when an end does not fit its edge."""
    types = _Types(work, scope, steps)
    for step in steps:
        if step.type.source == step.type.target:
            types.pin(step.left, step.type.source)
            types.pin(step.right, step.type.target)
    types.spread()
    for step in sorted(steps, key=lambda s: (s.left, s.type.name, s.right)):
        if step.left not in types.of:
            types.pin(step.left, step.type.source)
            types.pin(step.right, step.type.target)
            types.spread()
    directed = [_checked(work, step, types.of) for step in steps]
    nodes = {key: node for key, name in types.of.items() if (node := work.catalog.node(name)) is not None}
    return directed, nodes


def _checked(work: Work, step: Step, of: dict[str, str]) -> Directed:
    edge, left, right = step.type, of.get(step.left), of.get(step.right)
    if left == edge.source and right == edge.target:
        return Directed(step, True)
    if left == edge.target and right == edge.source:
        return Directed(step, False)
    raise _misplaced(work, step, left, right)


def _misplaced(work: Work, step: Step, left: str | None, right: str | None) -> TypeMismatch:
    edge = step.type
    ends = (edge.source, edge.target)
    # With one end in place the other is at fault; with both on the same side of the edge, the right one is.
    var, found = (step.clause.right, right) if left in ends else (step.clause.left, left)
    node = work.catalog.node(found) if found is not None else None
    being = a(node) if node is not None else "of no type"
    message = f"${var.name} is {being}; {edge.name} leads from {edge.source} to {edge.target}"
    return work.wrong("T5", var.span, message)
