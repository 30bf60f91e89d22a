"""Which types a pattern's elements can have together: every way its labels and arrows fit the schema."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import EdgeType, NodeType
from omnigraph_sql.base.errors import LanguageError, TextLimitExceeded
from omnigraph_sql.bind.sql_binder import SqlBinder
from omnigraph_sql.bind.sql_graph_elements import Elements, Step, either
from omnigraph_sql.grammar.source import Span

_TRIES_MAX: Final = 4096
"""Most partial assignments looked at: a pattern with many unlabelled cycles has few answers and many dead ends."""


@dataclass(frozen=True, slots=True)
class Choice:
    """An edge type for a step, and whether its stored arrow runs from the left end to the right one."""

    type: EdgeType
    forward: bool
    undirected: bool = False

    @property
    def left(self) -> str:
        return self.type.source if self.forward else self.type.target

    @property
    def right(self) -> str:
        return self.type.target if self.forward else self.type.source


@dataclass(frozen=True, slots=True)
class Fit:
    """One type for every vertex and every step."""

    vertices: tuple[NodeType, ...]
    steps: tuple[Choice, ...]


@dataclass(slots=True)
class _State:
    """What is still possible: type names per vertex and choices per step."""

    vertices: list[tuple[str, ...]]
    steps: list[tuple[Choice, ...]]

    def copy(self) -> _State:
        return _State(list(self.vertices), list(self.steps))


def fits(binder: SqlBinder, elements: Elements, span: Span) -> tuple[Fit, ...]:
    """All ways the pattern fits, at least one, in catalog order. Raises TypeMismatch where none does."""
    state = _State([tuple(t.name for t in v.types) for v in elements.vertices], [_choices(s) for s in elements.steps])
    search = _Search(elements)
    failed = search.narrow(state, range(len(elements.steps)))
    if failed is not None:
        raise _misfit(binder, elements.steps[failed], state)
    _refuse_typeless(binder, elements, state)
    found = search.all(state)
    if found is None:
        raise _too_many(binder, span)
    if not found:
        raise binder.mismatch("the labels of this pattern fit no part of the graph together", span)
    return tuple(_fit(binder, one) for one in found)


def _fit(binder: SqlBinder, state: _State) -> Fit:
    nodes = tuple(node for (name,) in state.vertices if (node := binder.catalog.node(name)) is not None)
    return Fit(nodes, tuple(choice for (choice,) in state.steps))


def _choices(step: Step) -> tuple[Choice, ...]:
    match step.pattern.direction:
        case "out":
            return tuple(Choice(e, True) for e in step.types)
        case "in":
            return tuple(Choice(e, False) for e in step.types)
        case "any":
            return tuple(choice for e in step.types for choice in _either_way(e))


def _either_way(edge: EdgeType) -> tuple[Choice, ...]:
    if edge.source == edge.target:
        return (Choice(edge, True, undirected=True),)
    return Choice(edge, True), Choice(edge, False)


class _Search:
    """Narrows what is possible by what lies beside it, then tries what is left, vertex by vertex."""

    def __init__(self, elements: Elements) -> None:
        self.elements = elements
        self.incident: list[list[int]] = [[] for _ in elements.vertices]
        for number, step in enumerate(elements.steps):
            for end in {step.left, step.right}:
                self.incident[end].append(number)

    def narrow(self, state: _State, begin: range | list[int]) -> int | None:
        """Drop what no neighbour allows; the number of a step that nothing is left for, or None."""
        waiting = deque(begin)
        queued = set(waiting)
        while waiting:
            number = waiting.popleft()
            queued.discard(number)
            step = self.elements.steps[number]
            lefts, rights = state.vertices[step.left], state.vertices[step.right]
            choices = tuple(c for c in state.steps[number] if c.left in lefts and c.right in rights)
            if not choices:
                return number
            state.steps[number] = choices
            for end, allowed in ((step.left, {c.left for c in choices}), (step.right, {c.right for c in choices})):
                kept = tuple(name for name in state.vertices[end] if name in allowed)
                if len(kept) != len(state.vertices[end]):
                    state.vertices[end] = kept
                    more = [n for n in self.incident[end] if n not in queued]
                    waiting.extend(more)
                    queued.update(more)
        return None

    def all(self, start: _State) -> list[_State] | None:
        """Every complete assignment; None when there are more than the limit, or the search takes too long."""
        found: list[_State] = []
        stack, tries = [start], 0
        while stack:
            state, tries = stack.pop(), tries + 1
            branches = self._branches(state)
            if branches is None:
                found.append(state)
                if len(found) > limits.PATTERN_ALTERNATIVES_MAX:
                    return None
            else:
                stack.extend(reversed(branches))
            if tries > _TRIES_MAX:
                return None
        return found

    def _branches(self, state: _State) -> list[_State] | None:
        """The state with the first open question answered in every possible way; None when nothing is open."""
        for number, names in enumerate(state.vertices):
            if len(names) != 1:
                return [s for name in names if (s := self._with_type(state, number, name)) is not None]
        for number, choices in enumerate(state.steps):
            if len(choices) != 1:
                return [_with_choice(state, number, choice) for choice in choices]
        return None

    def _with_type(self, state: _State, number: int, name: str) -> _State | None:
        made = state.copy()
        made.vertices[number] = (name,)
        return made if self.narrow(made, self.incident[number]) is None else None


def _with_choice(state: _State, number: int, choice: Choice) -> _State:
    """Both ends are settled by then, so nothing else follows from it."""
    made = state.copy()
    made.steps[number] = (choice,)
    return made


# ---- errors -----------------------------------------------------------------------------------------------------


def _refuse_typeless(binder: SqlBinder, elements: Elements, state: _State) -> None:
    for vertex, names in zip(elements.vertices, state.vertices, strict=True):
        if not names:
            raise binder.mismatch("the graph has no node types", vertex.span, "create one first")


def _too_many(binder: SqlBinder, span: Span) -> LanguageError:
    most = limits.PATTERN_ALTERNATIVES_MAX
    return TextLimitExceeded(
        f"the pattern fits the types of the graph in more than {most} ways",
        at=binder.location(span),
        resource="pattern_alternatives",
        limit=most,
        actual=most + 1,
        hint="name the labels of its elements, as in (a IS Person)-[e IS Knows]->(b IS Person)",
    )


def _misfit(binder: SqlBinder, step: Step, state: _State) -> LanguageError:
    if not step.types:
        return binder.mismatch("the graph has no edge types", step.place, "create one first")
    direction = step.pattern.direction
    begins, ends = state.vertices[step.left], state.vertices[step.right]
    if direction == "in":
        begins, ends = ends, begins
    words = f"from {either(begins)} to {either(ends)}"
    if direction == "any":
        words = f"between {either(begins)} and {either(ends)}"
    what = either(t.name for t in step.types) if step.pattern.labels else "edge type"
    message = f"no {what} leads {words}"
    if len(step.types) == 1:
        (edge,) = step.types
        message = f"{edge.name} leads from {edge.source} to {edge.target}, not {words}"
    turned = direction != "any" and any(t.source in ends and t.target in begins for t in step.types)
    return binder.mismatch(message, step.place, "turn the arrow round" if turned else "")
