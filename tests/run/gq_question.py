"""Questions in `.gq` as values, and their text."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any, assert_never

SCHEMA = """
node Person {
    name: String @key  age: I32?  score: F64?  big: I64?  huge: F64?  city: String?  born: Date?
    tags: [String]?  keen: Bool?
}
node Place { no: I64 @key  size: U32?  temp: F32?  land: enum(Peru, Chile)?  title: String }
edge Knows: Person -> Person { weight: I32?  label: String? }
edge LivesIn: Person -> Place { rent: F64? }
edge PartOf: Place -> Place { share: F32? }
"""
ENDS = {"Knows": ("Person", "Person"), "LivesIn": ("Person", "Place"), "PartOf": ("Place", "Place")}
KINDS = {
    "Person": {
        "name": "String",
        "age": "I32",
        "score": "F64",
        "big": "I64",
        "huge": "F64",
        "city": "String",
        "born": "Date",
        "tags": "[String]",
        "keen": "Bool",
    },
    "Place": {"no": "I64", "size": "U32", "temp": "F32", "land": "String", "title": "String"},
    "Knows": {"weight": "I32", "label": "String"},
    "LivesIn": {"rent": "F64"},
    "PartOf": {"share": "F32"},
}
# What begins with it is written `$_`.
ANONYMOUS = "_"
NUMBERS = frozenset({"I32", "I64", "U32", "F32", "F64"})


@dataclass(frozen=True, slots=True)
class Property:
    variable: str
    name: str


@dataclass(frozen=True, slots=True)
class Id:
    """A bare variable."""

    variable: str


@dataclass(frozen=True, slots=True)
class Literal:
    value: Any


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    kind: str
    value: Any


Value = Property | Literal | Parameter


@dataclass(frozen=True, slots=True)
class Node:
    """`variable` is None for the anonymous one."""

    variable: str | None
    of: str
    tests: tuple[tuple[str, Literal | Parameter], ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """An edge clause as it is written; `hops` is None where none are written."""

    left: str
    edge: str
    right: str
    either_way: bool = False
    hops: tuple[int, int] | None = None
    variable: str | None = None


@dataclass(frozen=True, slots=True)
class Test:
    __test__ = False
    left: Value
    relation: str
    right: Value


@dataclass(frozen=True, slots=True)
class NullTest:
    value: Property
    is_null: bool


@dataclass(frozen=True, slots=True)
class Absent:
    clauses: tuple[Clause, ...]


Clause = Node | Step | Test | NullTest | Absent


@dataclass(frozen=True, slots=True)
class Aggregate:
    function: str
    of: Property | Id


@dataclass(frozen=True, slots=True)
class SortKey:
    """By a property, or by the column at a place, through its alias."""

    by: Property | int
    descending: bool


@dataclass(frozen=True, slots=True)
class Question:
    clauses: tuple[Clause, ...]
    columns: tuple[Property | Id | Aggregate, ...]
    order: tuple[SortKey, ...] = ()
    limit: int | None = None

    @property
    def is_aggregate(self) -> bool:
        return any(isinstance(column, Aggregate) for column in self.columns)

    def parameters(self) -> dict[str, Parameter]:
        return {found.name: found for found in _parameters(self.clauses)}

    def text(self) -> str:
        formals = ", ".join(f"${name}: {given.kind}" for name, given in sorted(self.parameters().items()))
        shown = ", ".join(f"{_column(column)} as c{i}" for i, column in enumerate(self.columns))
        keys = ", ".join(_sort_key(key) for key in self.order)
        order = f" order {{ {keys} }}" if keys else ""
        limit = "" if self.limit is None else f" limit {self.limit}"
        return f"query q({formals}) {{ match {{ {_pattern(self.clauses)} }} return {{ {shown} }}{order}{limit} }}"


def _parameters(clauses: tuple[Clause, ...]) -> list[Parameter]:
    found: list[Parameter] = []
    for clause in clauses:
        match clause:
            case Node():
                found += [value for _, value in clause.tests if isinstance(value, Parameter)]
            case Test():
                found += [value for value in (clause.left, clause.right) if isinstance(value, Parameter)]
            case Absent():
                found += _parameters(clause.clauses)
            case Step() | NullTest():
                pass
            case _:
                assert_never(clause)
    return found


def _pattern(clauses: tuple[Clause, ...]) -> str:
    return "  ".join(_clause(clause) for clause in clauses)


def _clause(clause: Clause) -> str:
    match clause:
        case Node(variable, of, tests):
            fields = ", ".join(f"{name}: {_value(value)}" for name, value in tests)
            return f"${variable or '_'}: {of}{f' {{ {fields} }}' if fields else ''}"
        case Step(left, edge, right, either_way, hops, variable):
            word = edge[0].lower() + edge[1:]
            word = f"<{word}>" if either_way else word
            bounds = "" if hops is None else f"{{{hops[0]},{hops[1]}}}"
            return f"{_end(left)} {f'${variable}:' if variable else ''}{word}{bounds} {_end(right)}"
        case Test(of, relation, other):
            return f"{_value(of)} {relation} {_value(other)}"
        case NullTest(value, is_null):
            return f"{_value(value)} is {'' if is_null else 'not '}null"
        case Absent(inner):
            return f"not {{ {_pattern(inner)} }}"
        case _:
            assert_never(clause)


def is_anonymous(step: Step) -> bool:
    return any(end.startswith(ANONYMOUS) for end in (step.left, step.right))


def _end(name: str) -> str:
    return f"${ANONYMOUS if name.startswith(ANONYMOUS) else name}"


def _value(value: Value) -> str:
    match value:
        case Property(variable, name):
            return f"${variable}.{name}"
        case Parameter(name):
            return f"${name}"
        case Literal(bool() as truth):
            return "true" if truth else "false"
        case Literal(str() as words):
            return f'"{words}"'
        case Literal(date() as day):
            return f'date("{day.isoformat()}")'
        case Literal(float() as number):
            return f"{number:.1f}"
        case Literal(number):
            return str(number)
        case _:
            assert_never(value)


def _column(column: Property | Id | Aggregate) -> str:
    match column:
        case Property():
            return _value(column)
        case Id(variable):
            return f"${variable}"
        case Aggregate(function, of):
            return f"{function}({_column(of)})"
        case _:
            assert_never(column)


def _sort_key(key: SortKey) -> str:
    by = f"c{key.by}" if isinstance(key.by, int) else _value(key.by)
    return f"{by} desc" if key.descending else by
