"""What a `.gq` question means, by the words of the language alone: variables range over rows, clauses are tests.

No plan, no direction of evaluation, no thought for speed: every assignment of rows to variables is tried.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from operator import eq, ge, gt, le, lt, ne
from typing import Any, assert_never

from tests.run.gq_question import (
    ENDS,
    KINDS,
    Absent,
    Aggregate,
    Clause,
    Id,
    Literal,
    Node,
    NullTest,
    Parameter,
    Property,
    Question,
    Step,
    Test,
    Value,
)
from tests.run.oracles import neighbors
from tests.run.patterns import Row, Tables

Rows = list[tuple[Any, ...]]
Types = dict[str, str]
Bound = dict[str, Row]
COMPARED = {"=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}


def single(number: float) -> float:
    """The F32 nearest to a number."""
    return float(struct.unpack("f", struct.pack("f", number))[0])


class Oracle:
    """Answers questions about the rows of one graph."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self._pairs = {edge: [(row["src"], row["dst"]) for row in tables[edge]] for edge in ENDS}
        self._reached: dict[tuple[Any, ...], set[Any]] = {}

    def rows(self, question: Question) -> Rows:
        """The rows in order; where the question has neither `order` nor `limit` the order means nothing."""
        types = types_of(question.clauses, {})
        found = list(self.solutions(question.clauses, {}, {}))
        sortable = self._groups(question, found) if question.is_aggregate else _shown(question, found, types)
        rows = sorted(sortable, key=lambda entry: tuple(_rank(value) for value in entry[1]))
        for key in reversed(question.order):
            by = key.by
            if isinstance(by, int):
                rows.sort(key=lambda entry: _rank(entry[0][by]), reverse=key.descending)
            else:
                rows.sort(key=lambda entry: _rank(entry[2][by.variable][by.name]), reverse=key.descending)
        return [row for row, _, _ in rows][: question.limit]

    def _groups(self, question: Question, found: list[Bound]) -> list[tuple[Any, Any, Bound]]:
        keys = [column for column in question.columns if not isinstance(column, Aggregate)]
        groups: dict[tuple[Any, ...], list[Bound]] = {} if keys else {(): []}
        for bound in found:
            groups.setdefault(tuple(_cell(key, bound) for key in keys), []).append(bound)
        rows = []
        for ties, members in groups.items():
            given = iter(ties)
            row = tuple(_folded(c, members) if isinstance(c, Aggregate) else next(given) for c in question.columns)
            rows.append((row, ties, members[0] if members else {}))
        return rows

    # ---- patterns ---------------------------------------------------------------------------------------------

    def solutions(self, clauses: tuple[Clause, ...], outer: Bound, outer_types: Types) -> Iterator[Bound]:
        """Every assignment of rows to the variables of a pattern, those of outside staying as they are."""
        types = types_of(clauses, outer_types)
        fresh = [variable for variable in types if variable not in outer]
        waiting: list[list[Clause]] = [[] for _ in range(len(fresh) + 1)]
        for clause in clauses:
            # Tested as soon as the last of its variables has a row; a block once everything around it has.
            used = set(fresh) if isinstance(clause, Absent) else variables_of(clause)
            waiting[max((place + 1 for place, name in enumerate(fresh) if name in used), default=0)].append(clause)
        anonymous = [clause for clause in clauses if isinstance(clause, Node) and clause.variable is None]
        times = 1
        for clause in anonymous:
            times *= sum(_passes(row, clause) for row in self.tables[clause.of])

        def fill(place: int, bound: Bound) -> Iterator[Bound]:
            if not all(self._holds(clause, bound, types) for clause in waiting[place]):
                return
            if place == len(fresh):
                for _ in range(times):
                    yield bound
                return
            for row in self.tables[types[fresh[place]]]:
                yield from fill(place + 1, {**bound, fresh[place]: row})

        return fill(0, outer)

    def _holds(self, clause: Clause, bound: Bound, types: Types) -> bool:
        match clause:
            case Node(variable):
                return variable is None or _passes(bound[variable], clause)
            case Step():
                return self._leads(clause, bound, types)
            case Test():
                return _compared(clause, bound, types)
            case NullTest(value, is_null):
                return (_value(value, bound) is None) == is_null
            case Absent(inner):
                return next(self.solutions(inner, bound, types), None) is None
            case _:
                assert_never(clause)

    def _leads(self, step: Step, bound: Bound, types: Types) -> bool:
        left, right = bound[step.left]["id"], bound[step.right]["id"]
        starts, ends = ENDS[step.edge]
        if starts != ends and types[step.left] == ends:
            left, right = right, left
        least, most = step.hops or (1, 1)
        if step.variable is not None:
            edge = bound[step.variable]
            pair = (edge["src"], edge["dst"])
            return pair == (left, right) or (step.either_way and pair == (right, left))
        if starts != ends:
            return least == 1 and (left, right) in self._pairs[step.edge]
        asked = (step.edge, step.either_way, left, least, most)
        if asked not in self._reached:
            direction = "both" if step.either_way else "out"
            self._reached[asked] = neighbors(self._pairs[step.edge], direction, left, least, most)
        return right in self._reached[asked]


def types_of(clauses: tuple[Clause, ...], outer: Types) -> Types:
    """The types of the variables a pattern may use: declared, or those of the ends they stand on."""
    types = dict(outer)
    types |= {clause.variable: clause.of for clause in clauses if isinstance(clause, Node) and clause.variable}
    for step in (clause for clause in clauses if isinstance(clause, Step)):
        starts, ends = ENDS[step.edge]
        against = starts != ends and (types.get(step.left) == ends or types.get(step.right) == starts)
        types.setdefault(step.left, ends if against else starts)
        types.setdefault(step.right, starts if against else ends)
        if step.variable is not None:
            types[step.variable] = step.edge
    return types


def variables_of(clause: Node | Step | Test | NullTest) -> set[str]:
    match clause:
        case Node(variable):
            return {variable} if variable else set()
        case Step():
            return {name for name in (clause.left, clause.right, clause.variable) if name}
        case Test(left, _, right):
            return {value.variable for value in (left, right) if isinstance(value, Property)}
        case NullTest(value):
            return {value.variable}
        case _:
            assert_never(clause)


def _passes(row: Row, clause: Node) -> bool:
    """A field test is equality, of a list membership."""
    for name, value in clause.tests:
        relation = "contains" if KINDS[clause.of][name].startswith("[") else "="
        if not _compared(Test(Property("self", name), relation, value), {"self": row}, {"self": clause.of}):
            return False
    return True


def _value(value: Value, bound: Bound) -> Any:
    match value:
        case Property(variable, name):
            return bound[variable][name]
        case Literal(given) | Parameter(_, _, given):
            return given
        case _:
            assert_never(value)


def _compared(test: Test, bound: Bound, types: Types) -> bool:
    left, right = _value(test.left, bound), _value(test.right, bound)
    if left is None or right is None:
        return False
    if isinstance(right, float) and isinstance(test.right, Literal) and _is_single(test.left, types):
        right = single(right)
    if isinstance(left, float) and isinstance(test.left, Literal) and _is_single(test.right, types):
        left = single(left)
    both_stored = isinstance(test.left, Property) and isinstance(test.right, Property)
    if both_stored and {type(left), type(right)} == {int, float}:
        left, right = float(left), float(right)
    match test.relation:
        case "contains":
            return right in left
        case "starts_with":
            return bool(left.startswith(right))
        case relation:
            return bool(COMPARED[relation](left, right))


def _is_single(value: Value, types: Types) -> bool:
    return isinstance(value, Property) and KINDS[types[value.variable]][value.name] == "F32"


# ---- columns and their order ----------------------------------------------------------------------------------


def _shown(question: Question, found: list[Bound], types: Types) -> list[tuple[Any, Any, Bound]]:
    names = sorted(types)
    rows = []
    for bound in found:
        row = tuple(_cell(column, bound) for column in question.columns if not isinstance(column, Aggregate))
        rows.append((row, tuple(bound[name]["id"] for name in names), bound))
    return rows


def _cell(column: Property | Id, bound: Bound) -> Any:
    return bound[column.variable]["id" if isinstance(column, Id) else column.name]


def _folded(aggregate: Aggregate, members: list[Bound]) -> Any:
    values = [cell for bound in members if (cell := _cell(aggregate.of, bound)) is not None]
    match aggregate.function:
        case "count":
            return len(values)
        case "sum":
            return sum(values) if values else None
        case "avg":
            return sum(values) / len(values) if values else None
        case "min":
            return min(values, default=None)
        case "max":
            return max(values, default=None)
        case other:
            raise ValueError(other)


def _rank(value: Any) -> tuple[Any, ...]:
    """Null is the smallest value."""
    return () if value is None else (value,)
