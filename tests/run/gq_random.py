"""Random questions in `.gq`, random graphs to ask them of, and what a transaction makes of those."""

from __future__ import annotations

from datetime import date
from random import Random
from typing import Any

from omnigraph_sql.engine.write.staging import MutationStaging
from tests.run.gq_oracle import Types, single
from tests.run.gq_question import (
    ANONYMOUS,
    ENDS,
    KINDS,
    NUMBERS,
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
    SortKey,
    Step,
    Test,
    Value,
    is_anonymous,
)
from tests.run.graphs import Graph
from tests.run.patterns import Row, Tables
from tests.run.random_graphs import drop, upsert

WORDS = ("Lima", "Li", "Íquitos", "lima", "50%", "a_b", "")
STORED: dict[str, tuple[Any, ...]] = {
    "String": WORDS,
    "I32": (-3, 0, 1, 2, 30, 31),
    "U32": (0, 1, 2, 30, 2**32 - 1),
    "I64": (-3, 1, 2, 30, 2**53, 2**53 + 1),
    "F64": (-3.0, 0.5, 1.0, 2.0, 30.5),
    "F32": (-3.0, 0.5, single(0.1), 2.0, 30.0),
    "Date": (date(1999, 12, 31), date(2001, 2, 3), date(2001, 2, 4)),
    "[String]": (("Lima",), ("Li", "lima"), (), ("50%", "50%")),
    "Bool": (True, False),
}
ASKED_NUMBERS = (-3, 0, 1, 2, 30, 2.0, 0.5, 0.1, 30.5, 3_000_000_000, 2**53 + 1)
# As texts, which ids are, they have another order.
PLACES = (3, 10, 4, 11, 5, 20)
RELATIONS = ("=", "!=", "<", "<=", ">", ">=")


# ---- graphs ---------------------------------------------------------------------------------------------------


def random_tables(random: Random) -> Tables:
    """A handful of nodes with the same ids in both types; loops, parallel edges and circles among the edges."""
    tables: Tables = {
        "Person": [node(random, "Person", number) for number in range(random.choice((0, 4, 5, 6, 6, 7, 7)))],
        "Place": [node(random, "Place", number) for number in PLACES[: random.choice((1, 3, 4, 5))]],
    }
    return tables | {edge: edges_of(random, tables, edge, "e", random.choice((0, 4, 8, 12))) for edge in ENDS}


def node(random: Random, of: str, number: int) -> Row:
    row: Row = {"id": str(number)} | {name: random_cell(random, kind) for name, kind in KINDS[of].items()}
    if of == "Person":
        return row | {"name": str(number), "huge": random.choice((None, 1.0, 2.0**53, 2.0**53 + 2))}
    if random.random() < 0.2:
        row["temp"] = 2.0**32
    return row | {"no": number, "land": random.choice((None, "Peru", "Chile")), "title": random.choice(WORDS)}


def random_cell(random: Random, kind: str) -> Any:
    return None if random.random() < 0.25 else random.choice(STORED[kind])


def edges_of(random: Random, tables: Tables, edge: str, prefix: str, count: int) -> list[Row]:
    starts, ends = ([row["id"] for row in tables[of]] for of in ENDS[edge])
    if not starts or not ends:
        return []
    rows = []
    for number in range(count):
        row: Row = {"id": f"{prefix}{number}", "src": random.choice(starts), "dst": random.choice(ends)}
        rows.append(row | {name: random_cell(random, kind) for name, kind in KINDS[edge].items()})
    return rows


def changed(random: Random, graph: Graph, tables: Tables) -> tuple[Tables, MutationStaging]:
    """What a transaction makes of the tables: it builds or tears down."""
    staging = MutationStaging()
    return (_torn if random.random() < 0.4 else _built)(random, graph, tables, staging), staging


def _built(random: Random, graph: Graph, tables: Tables, staging: MutationStaging) -> Tables:
    made = {name: {row["id"]: row for row in rows} for name, rows in tables.items()}
    for of, numbers in (("Person", range(9)), ("Place", PLACES)):
        rows = [node(random, of, number) for number in random.sample(numbers, random.randint(0, 4))]
        made[of] |= {row["id"]: row for row in rows}
        upsert(graph, staging, of, rows)
    now = {name: list(rows.values()) for name, rows in made.items()}
    for edge in ENDS:
        rows = edges_of(random, now, edge, "n", random.choice((0, 0, 3)))
        rows += edges_of(random, now, edge, "e", min(random.choice((0, 2)), len(tables[edge])))
        made[edge] |= {row["id"]: row for row in rows}
        upsert(graph, staging, edge, rows)
    return {name: list(rows.values()) for name, rows in made.items()}


def _torn(random: Random, graph: Graph, tables: Tables, staging: MutationStaging) -> Tables:
    made = dict(tables)
    for of in ("Person", "Place"):
        gone = {row["id"] for row in made[of] if random.random() < 0.25}
        drop(graph, staging, made, of, gone)
        for edge, ends in ENDS.items():
            touched = [end for end, at in zip(("src", "dst"), ends, strict=True) if at == of]
            drop(graph, staging, made, edge, {r["id"] for r in made[edge] if any(r[end] in gone for end in touched)})
    for edge in ENDS:
        drop(graph, staging, made, edge, {row["id"] for row in made[edge] if random.random() < 0.2})
    return made


# ---- questions ------------------------------------------------------------------------------------------------


class Writer:
    """Writes one question; names are given in no order, so that the order of names is not that of clauses."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.names = random.sample("abcdefghijklmnopqrstuvwxyz", 26)
        self.given = 0
        self.parameters = 0

    def question(self) -> Question:
        random = self.random
        clauses, types = self.pattern({}, depth=0)
        anonymous = any(isinstance(c, Step) and is_anonymous(c) for c in clauses)
        if random.random() < 0.05:
            anonymous = True
            clauses.append(Node(None, random.choice(("Person", "Place"))))
        random.shuffle(clauses)
        nodes = sorted(name for name, of in types.items() if of not in ENDS)
        shown = [self.property(types) for _ in range(random.randint(1, 3))]
        columns: list[Property | Id | Aggregate] = [*shown, Id(random.choice(nodes))]
        columns = random.sample(columns, random.randint(1, len(columns)))
        if random.random() < 0.4:
            columns = random.choice((columns[:2], [])) + [self.aggregate(types) for _ in range(random.randint(1, 3))]
            random.shuffle(columns)
        order = () if anonymous or random.random() < 0.3 else self.order(columns, types)
        limit = None if anonymous or random.random() < 0.6 else random.choice((0, 1, 2, 5, 100))
        return Question(tuple(clauses), tuple(columns), order, limit)

    def order(self, columns: list[Property | Id | Aggregate], types: Types) -> tuple[SortKey, ...]:
        aggregate = any(isinstance(column, Aggregate) for column in columns)
        keys: list[Property | int] = []
        for place, column in enumerate(columns):
            if not isinstance(column, Property) or self.kind(column, types) != "[String]":
                keys.append(place)
                if aggregate and isinstance(column, Property):
                    keys.append(column)
        if not aggregate:
            keys += [key for key in (self.property(types), self.property(types)) if self.kind(key, types) != "[String]"]
        picked = self.random.sample(keys, min(len(keys), self.random.randint(1, 3)))
        return tuple(SortKey(key, self.random.random() < 0.5) for key in picked)

    def aggregate(self, types: Types) -> Aggregate:
        nodes = sorted(name for name, of in types.items() if of not in ENDS)
        function = self.random.choice(("count", "count", "sum", "avg", "min", "max"))
        if function == "count" and self.random.random() < 0.5:
            return Aggregate("count", Id(self.random.choice(nodes)))
        fitting = [p for p in self.properties(types) if self._folds(function, p, types)]
        return Aggregate(function, self.random.choice(fitting)) if fitting else Aggregate("count", Id(nodes[0]))

    def _folds(self, function: str, of: Property, types: Types) -> bool:
        # A sum of fractions of very different sizes depends on the order of adding.
        kind = self.kind(of, types)
        match function:
            case "count":
                return True
            case "sum":
                return kind in NUMBERS and of.name not in ("huge", "temp")
            case "avg":
                return kind in NUMBERS and of.name not in ("big", "huge", "temp")
            case _:
                return kind in NUMBERS or kind == "String"

    # ---- patterns ---------------------------------------------------------------------------------------------

    def fresh(self) -> str:
        self.given += 1
        return self.names[(self.given - 1) % len(self.names)] + ("" if self.given <= len(self.names) else "x")

    def pattern(self, outer: Types, depth: int) -> tuple[list[Clause], Types]:
        """Clauses, and the types of all variables they may use; inside a block, of few variables."""
        random = self.random
        types, clauses = dict(outer), list[Clause]()
        declared = set(outer)
        if not outer or random.random() < 0.2:
            self.declare(clauses, types, declared)
        for _ in range(random.choice((0, 1, 1, 2) if depth == 0 else (0, 1, 1))):
            self.step(clauses, types, declared)
        if depth == 0 and len(types) < 3 and random.random() < 0.2:
            self.declare(clauses, types, declared)
        for _ in range(random.choice((0, 0, 0, 1, 2) if depth == 0 else (0, 1))):
            clauses.append(self.test(types))
        if depth < 3 and random.random() < (0.45 if depth == 0 else 0.35):
            for _ in range(random.choice((1, 1, 2)) if depth == 0 else 1):
                clauses.append(self.absence(types, depth + 1))
        random.shuffle(clauses)
        return clauses, types

    def absence(self, outer: Types, depth: int) -> Absent:
        """A block; names of blocks beside it may come again."""
        given = self.given
        clauses, _ = self.pattern(outer, depth)
        used = {name for clause in clauses for name in _outer_names(clause)} & set(outer)
        if not used:
            only_outer = {name: of for name, of in outer.items() if KINDS[of]}
            clauses.append(self.test(only_outer))
        if self.random.random() < 0.5:
            self.given = given
        return Absent(tuple(clauses))

    def declare(self, clauses: list[Clause], types: Types, declared: set[str]) -> None:
        name, of = self.fresh(), self.random.choice(("Person", "Person", "Place"))
        types[name] = of
        declared.add(name)
        clauses.append(self.node(name, of))

    def node(self, name: str, of: str) -> Node:
        tests: list[tuple[str, Literal | Parameter]] = []
        for prop in self.random.sample(sorted(KINDS[of]), self.random.choice((0, 0, 0, 0, 0, 1, 2))):
            if prop == "land":
                tests.append((prop, Literal(self.random.choice(("Peru", "Chile")))))
            else:
                kind = KINDS[of][prop]
                tests.append((prop, self.given_value("String" if kind == "[String]" else kind)))
        return Node(name, of, tuple(tests))

    def step(self, clauses: list[Clause], types: Types, declared: set[str]) -> None:
        random = self.random
        near = random.choice(sorted(name for name, of in types.items() if of not in ENDS))
        edge = random.choice([edge for edge, ends in ENDS.items() if types[near] in ends])
        starts, ends = ENDS[edge]
        leaves = types[near] == starts and (starts != ends or random.random() < 0.5)
        far_type = ends if leaves else starts
        known = sorted(name for name, of in types.items() if of == far_type)
        far = random.choice(known) if known and random.random() < 0.15 else self.fresh()
        if far not in types and random.random() < 0.05:
            far = f"{ANONYMOUS}{far}"
        else:
            if far not in types and random.random() < 0.5:
                declared.add(far)
                clauses.append(self.node(far, far_type))
            types[far] = far_type
        left, right = (near, far) if leaves else (far, near)
        if starts != ends and declared & {near, far} and random.random() < 0.5:
            left, right = right, left
        either_way = starts == ends and random.random() < 0.3
        variable = self.fresh() if random.random() < 0.3 else None
        least = random.choice((1, 1, 2))
        hops = (least, least + random.choice((0, 1, 2))) if random.random() < 0.4 and not variable else None
        clauses.append(Step(left, edge, right, either_way, hops, variable))
        if variable is not None:
            types[variable] = edge

    def test(self, types: Types) -> Test | NullTest:
        random = self.random
        left = self.property(types)
        kind = self.kind(left, types)
        if random.random() < 0.12:
            return NullTest(left, random.random() < 0.5)
        if kind == "[String]":
            return Test(left, "contains", self.given_value("String"))
        if kind == "String" and left.name != "land" and random.random() < 0.4:
            return Test(left, random.choice(("contains", "starts_with")), self.given_value("String"))
        other: Value
        alike = [p for p in self.properties(types) if p != left and _comparable(kind, self.kind(p, types))]
        if alike and random.random() < 0.4:
            other = random.choice(alike)
        elif left.name == "land":
            other = Literal(random.choice(("Peru", "Chile")))
        else:
            other = self.given_value(kind)
            if random.random() < 0.2:
                return Test(other, random.choice(RELATIONS), left)
        return Test(left, random.choice(RELATIONS), other)

    def given_value(self, kind: str) -> Literal | Parameter:
        """A literal, or a parameter that may be null."""
        random = self.random
        value = random.choice(ASKED_NUMBERS if kind in NUMBERS and random.random() < 0.5 else STORED[kind])
        if isinstance(value, float):
            value = round(value, 1)
        if random.random() < 0.75:
            return Literal(value)
        number = "I64" if isinstance(value, int) else "F64"
        if value == 0.1:
            value = 0.5
        asked = f"{number if kind in NUMBERS else kind}?"
        self.parameters += 1
        return Parameter(f"p{self.parameters}", asked, None if random.random() < 0.2 else value)

    def property(self, types: Types) -> Property:
        name = self.random.choice(sorted(name for name, of in types.items() if KINDS[of]))
        return Property(name, self.random.choice(sorted(KINDS[types[name]])))

    def properties(self, types: Types) -> list[Property]:
        return [Property(name, prop) for name, of in sorted(types.items()) for prop in KINDS[of]]

    def kind(self, of: Property, types: Types) -> str:
        return KINDS[types[of.variable]][of.name]


def _comparable(one: str, other: str) -> bool:
    return one == other or (one in NUMBERS and other in NUMBERS)


def _outer_names(clause: Clause) -> set[str]:
    """The variables that a clause of a block names, those of blocks within it not among them."""
    match clause:
        case Node(variable):
            return {variable} if variable else set()
        case Step():
            return {clause.left, clause.right}
        case Test(left, _, right):
            return {value.variable for value in (left, right) if isinstance(value, Property)}
        case NullTest(value):
            return {value.variable}
        case Absent():
            return set()
