"""What a graph pattern is made of: nodes, steps and paths, with their labels resolved and equal variables made one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeVar

from sqlglot import exp

from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import Catalog, EdgeType, NodeType
from omnigraph_sql.base.errors import LanguageError
from omnigraph_sql.bind.bound import ONE_HOP, Hops, Walk
from omnigraph_sql.bind.sql_binder import SqlBinder
from omnigraph_sql.bind.sql_scope import Name
from omnigraph_sql.grammar.ast.sql import EdgePattern, Ident, NodePattern, PathPattern, Quantifier
from omnigraph_sql.grammar.source import Span

_Labelled = TypeVar("_Labelled", NodeType, EdgeType)


@dataclass(frozen=True, slots=True)
class Vertex:
    """A node; every place of the pattern with its variable is the same node. `types` is what its labels allow."""

    name: Ident | None
    types: tuple[NodeType, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Step:
    """From vertex `left` to vertex `right`, in the order they are written; `types` is what its labels allow."""

    pattern: EdgePattern
    left: int
    right: int
    types: tuple[EdgeType, ...]
    walk: Walk
    hops: Hops
    path: Ident | None

    @property
    def name(self) -> Ident | None:
        """The variable of the one edge; a step over several edges has none."""
        return self.pattern.variable if self.walk is Walk.EDGES else None

    @property
    def place(self) -> Span:
        """What errors about its type point at."""
        labels = self.pattern.labels
        return labels[0].span.to(labels[-1].span) if labels else self.pattern.span


@dataclass(frozen=True, slots=True)
class InlineTest:
    """A condition inside the brackets of vertex or step number `owner`; its bare names are those of the owner."""

    owner: int
    of_step: bool
    condition: exp.Expr


@dataclass(frozen=True, slots=True)
class Elements:
    vertices: tuple[Vertex, ...]
    steps: tuple[Step, ...]
    tests: tuple[InlineTest, ...]

    @property
    def many(self) -> tuple[Ident, ...]:
        """Variables of steps that walk over several edges: they stand for no single edge."""
        found = (s.pattern.variable for s in self.steps if s.walk is not Walk.EDGES)
        return tuple(ident for ident in found if ident is not None)


class _Kind(StrEnum):
    NODE = "a node"
    EDGE = "an edge"
    PATH = "a path"


@dataclass(slots=True)
class _Gathering:
    catalog: Catalog
    vertices: list[Vertex] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    tests: list[InlineTest] = field(default_factory=list)
    names: list[tuple[Ident, _Kind, int]] = field(default_factory=list)

    def find(self, name: Ident) -> tuple[_Kind, int] | None:
        return next(((kind, number) for known, kind, number in self.names if _same(known, name)), None)


def _same(one: Ident, other: Ident) -> bool:
    exact = one.quoted or other.quoted
    return one.text == other.text if exact else one.text.casefold() == other.text.casefold()


def gather(binder: SqlBinder, catalog: Catalog, paths: tuple[PathPattern, ...]) -> Elements:
    """The elements of all paths, with the types of `catalog` as labels.

    Raises UnknownName for labels, TypeMismatch for variables used in two ways.
    """
    found = _Gathering(catalog)
    for path in paths:
        _refuse_long_path(binder, path)
        if path.path_variable is not None:
            _declare(binder, found, path.path_variable, _Kind.PATH, len(found.steps))
        _along(binder, found, path)
    return Elements(tuple(found.vertices), tuple(found.steps), tuple(found.tests))


def _along(binder: SqlBinder, found: _Gathering, path: PathPattern) -> None:
    """Elements in text order, so that an error points at the second of two places that disagree."""
    left, waiting = -1, None
    for element in path.elements:
        if isinstance(element, EdgePattern):
            _announce(binder, found, element)
            waiting = element
            continue
        right = _vertex(binder, found, element)
        if waiting is not None:
            found.steps.append(_step(binder, found.catalog, path, waiting, left, right))
        left, waiting = right, None


def _announce(binder: SqlBinder, found: _Gathering, pattern: EdgePattern) -> None:
    number = len(found.steps)
    if pattern.variable is not None:
        _declare(binder, found, pattern.variable, _Kind.EDGE, number)
    if pattern.where is not None:
        found.tests.append(InlineTest(number, True, pattern.where))


def _refuse_long_path(binder: SqlBinder, path: PathPattern) -> None:
    steps = len(path.elements) // 2
    variable = path.path_variable
    if variable is not None and steps != 1:
        what = f"{variable.text} is a path over {steps} steps" if steps else f"{variable.text} is a path without a step"
        hint = "name the elements of the pattern, or name a path over one quantified step such as ->{1,3}"
        raise binder.unsupported(f"{what}; a path variable stands for exactly one", variable, hint)
    if path.shortest and steps != 1:
        hint = "write one quantified step, as in ANY SHORTEST (a)-[IS Knows]->*(b)"
        raise binder.unsupported("ANY SHORTEST searches along exactly one step", path.span, hint)


def _declare(binder: SqlBinder, found: _Gathering, name: Ident, kind: _Kind, number: int) -> None:
    known = found.find(name)
    if known is None:
        found.names.append((name, kind, number))
    elif known[0] is kind:
        hint = f"compare two {kind.value.split()[1]}s in WHERE instead" if kind is _Kind.EDGE else ""
        raise binder.mismatch(f"{name.text} is bound twice; only a node may stand in several places", name, hint)
    else:
        raise binder.mismatch(f"{name.text} is {known[0].value} and cannot be {kind.value} too", name)


# ---- nodes ------------------------------------------------------------------------------------------------------


def _vertex(binder: SqlBinder, found: _Gathering, pattern: NodePattern) -> int:
    types = _types(binder, pattern.labels, found.catalog.nodes, found.catalog.edges, "node")
    number = _number(binder, found, pattern)
    if number == len(found.vertices):
        found.vertices.append(Vertex(pattern.variable, types, pattern.span))
    elif pattern.labels:
        found.vertices[number] = _intersected(binder, found.vertices[number], types, pattern)
    if pattern.where is not None:
        found.tests.append(InlineTest(number, False, pattern.where))
    return number


def _number(binder: SqlBinder, found: _Gathering, pattern: NodePattern) -> int:
    """The number of the vertex this place means; one past the last for a new one."""
    fresh = len(found.vertices)
    if pattern.variable is None:
        return fresh
    known = found.find(pattern.variable)
    if known is not None and known[0] is _Kind.NODE:
        return known[1]
    _declare(binder, found, pattern.variable, _Kind.NODE, fresh)
    return fresh


def _intersected(binder: SqlBinder, vertex: Vertex, types: tuple[NodeType, ...], pattern: NodePattern) -> Vertex:
    names = {t.name for t in types}
    both = tuple(t for t in vertex.types if t.name in names)
    if not both:
        assert pattern.variable is not None
        was, now = (either([t.name for t in of]) for of in (vertex.types, types))
        message = f"{pattern.variable.text} is {was} already and cannot be {now} too"
        raise binder.mismatch(message, pattern.labels[0].span.to(pattern.labels[-1].span))
    return replace(vertex, types=both)


# ---- steps ------------------------------------------------------------------------------------------------------


def _step(binder: SqlBinder, catalog: Catalog, path: PathPattern, pattern: EdgePattern, left: int, right: int) -> Step:
    types = _types(binder, pattern.labels, catalog.edges, catalog.nodes, "edge")
    walk = Walk.SHORTEST if path.shortest else Walk.WALKS if pattern.quantifier is not None else Walk.EDGES
    hops = _hops(binder, pattern.quantifier) if pattern.quantifier is not None else ONE_HOP
    step = Step(pattern, left, right, types, walk, hops, path.path_variable)
    return step if walk is Walk.EDGES else _walkable(binder, step)


def _hops(binder: SqlBinder, quantifier: Quantifier) -> Hops:
    low, high = quantifier.minimum, quantifier.maximum
    if high is None:
        high = binder.options.hops_max
        if low > high:
            message = f"the quantifier begins at {low} hops, but an open one ends at {high} here"
            raise binder.mismatch(message, quantifier.span, "write the upper bound, as in {1,3}")
    if high > limits.HOPS_MAX:
        message = f"at most {limits.HOPS_MAX} hops (HOPS_MAX) are walked, not {high}"
        raise binder.mismatch(message, quantifier.span)
    return Hops(low, high)


def _walkable(binder: SqlBinder, step: Step) -> Step:
    """A step that may take several hops; raises when its edges cannot be walked that way."""
    pattern = step.pattern
    if pattern.where is not None:
        hint = "filter the ends of the walk, or write the hops one by one and filter each edge"
        raise binder.unsupported("a step over several edges takes no condition on them", pattern.where, hint)
    if len(step.types) != 1:
        hint = "name one label, as in -[IS Knows]->{1,3}"
        raise binder.unsupported("a walk follows edges of one type", step.place, hint)
    (edge,) = step.types
    if edge.source == edge.target:
        return step
    leads = f"{edge.name} leads from {edge.source} to {edge.target}"
    if step.hops.minimum == 0:
        message = f"a walk of no hops stays at one node, but {leads}"
        raise binder.mismatch(message, _quantified(step), "begin the quantifier at 1")
    if pattern.direction == "any" and step.hops.maximum > 1:
        hint = "write the steps one by one"
        raise binder.unsupported(f"a walk in both directions needs equal ends, but {leads}", step.place, hint)
    if step.hops.minimum > 1:
        raise binder.mismatch(f"no walk has {step.hops.minimum} hops here: {leads}", _quantified(step))
    return replace(step, hops=ONE_HOP)


def _quantified(step: Step) -> Span:
    quantifier = step.pattern.quantifier
    return quantifier.span if quantifier is not None else step.place


# ---- labels -----------------------------------------------------------------------------------------------------


def _types(
    binder: SqlBinder,
    labels: tuple[Ident, ...],
    known: tuple[_Labelled, ...],
    others: tuple[NodeType, ...] | tuple[EdgeType, ...],
    kind: str,
) -> tuple[_Labelled, ...]:
    """The types the labels name, in catalog order; all of them when there is no label."""
    wanted = {_label(binder, label, known, others, kind).name for label in labels}
    return tuple(t for t in known if t.name in wanted) if labels else known


def _label(
    binder: SqlBinder,
    label: Ident,
    known: tuple[_Labelled, ...],
    others: tuple[NodeType, ...] | tuple[EdgeType, ...],
    kind: str,
) -> _Labelled:
    exact = [t for t in known if t.name == label.text]
    name = Name(label.text, label.quoted)
    fitting = exact or [t for t in known if name.matches(t.name)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        message = f"the label {label.text} may mean {either([t.name for t in fitting])}"
        raise binder.mismatch(message, label, "write it in double quotes, in its own spelling")
    raise _unknown_label(binder, label, [t.name for t in known], [t.name for t in others], kind)


def _unknown_label(binder: SqlBinder, label: Ident, known: list[str], others: list[str], kind: str) -> LanguageError:
    name = Name(label.text, label.quoted)
    hint = ""
    if any(name.matches(other) for other in others):
        shape = f"-[e IS {label.text}]->" if kind == "node" else f"(a IS {label.text})"
        hint = f"{label.text} is the other kind of type; write {shape}"
    return binder.unknown(f"{kind} type", label.text, label, known, hint)


def either(names: Iterable[str]) -> str:
    """`A`, `A or B`, `A, B or C`; a long list is cut."""
    every = list(names)
    shown = every if len(every) <= _NAMES_SHOWN else [*every[:_NAMES_SHOWN], f"{len(every) - _NAMES_SHOWN} others"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}" if shown else "nothing"


_NAMES_SHOWN = 5
