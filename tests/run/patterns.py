"""Random patterns that are trees, the texts that ask for aggregates over them, and what they mean, spelled out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

SCHEMA = """
node Person { name: String @key  age: I64?  city: String?  born: Date? }
node Place { name: String @key  land: String  size: I32? }
edge Follows: Person -> Person { weight: I32? }
edge LivesIn: Person -> Place
edge PartOf: Place -> Place
"""
ENDS = {"Follows": ("Person", "Person"), "LivesIn": ("Person", "Place"), "PartOf": ("Place", "Place")}
COLUMNS = {"Person": ("name", "age", "city", "born"), "Place": ("name", "land", "size")}
SUMMABLE = {"Person": "age", "Place": "size"}
Row = dict[str, Any]
Tables = dict[str, list[Row]]


@dataclass(frozen=True)
class Way:
    """A step from spot `start` to a new spot over an edge, seen from `start`."""

    start: int
    edge: str
    direction: str


@dataclass(frozen=True)
class Question:
    """An aggregate over a pattern; `tests` are (spot, column, comparison, value)."""

    types: tuple[str, ...]
    ways: tuple[Way, ...]
    tests: tuple[tuple[int, str, str, Any], ...]
    keys: tuple[tuple[int, str], ...]
    calls: tuple[tuple[str, int | None, str | None], ...]

    # ---- as text ----------------------------------------------------------------------------------------------

    def sql(self) -> str:
        keys = [f"g.v{s}_{c}" for s, c in self.keys]
        calls = ["count(*)" if s is None else f"{f}(g.v{s}_{c})" for f, s, c in self.calls]
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        items = ", ".join(f"{text} AS c{i}" for i, text in enumerate([*keys, *calls]))
        return f"SELECT {items} FROM {self._table()}{group}"

    def sql_rows(self) -> str:
        """Asks for the matches themselves, by the names of their nodes."""
        return f"SELECT {', '.join(f'g.v{s}_name' for s in range(len(self.types)))} FROM {self._table()}"

    def gq_rows(self) -> str:
        shown = ", ".join(f"$v{s}.name as c{s}" for s in range(len(self.types)))
        return f"query q() {{ match {{ {self._lines()} }} return {{ {shown} }} }}"

    def _table(self) -> str:
        parts = []
        for place, way in enumerate(self.ways):
            arrow = {"out": f"-[IS {way.edge}]->", "in": f"<-[IS {way.edge}]-", "both": f"-[IS {way.edge}]-"}
            start, end = f"(v{way.start} IS {self.types[way.start]})", f"(v{place + 1} IS {self.types[place + 1]})"
            parts.append(f"{start}{arrow[way.direction]}{end}")
        shown = [f"v{s}.{c} AS v{s}_{c}" for s, t in enumerate(self.types) for c in COLUMNS[t]]
        where = " AND ".join(f"v{s}.{c} {op} {_sql(v)}" for s, c, op, v in self.tests)
        table = f"MATCH {', '.join(parts)}{f' WHERE {where}' if where else ''} COLUMNS ({', '.join(shown)})"
        return f"GRAPH_TABLE ({table}) g"

    def gq(self) -> str:
        items = [f"$v{s}.{c}" for s, c in self.keys]
        items += ["count($v0)" if s is None else f"{f}($v{s}.{c})" for f, s, c in self.calls]
        shown = ", ".join(f"{text} as c{i}" for i, text in enumerate(items))
        return f"query q() {{ match {{ {self._lines()} }} return {{ {shown} }} }}"

    def _lines(self) -> str:
        lines = [f"$v{s}: {t}" for s, t in enumerate(self.types)]
        for place, way in enumerate(self.ways):
            near, far, name = f"$v{way.start}", f"$v{place + 1}", way.edge[0].lower() + way.edge[1:]
            step = {"out": f"{near} {name} {far}", "in": f"{far} {name} {near}", "both": f"{near} <{name}> {far}"}
            lines.append(step[way.direction])
        lines += [f"$v{s}.{c} {op} {_gq(v)}" for s, c, op, v in self.tests]
        return "  ".join(lines)

    # ---- what it means ----------------------------------------------------------------------------------------

    def rows(self, tables: Tables, *, edges: bool) -> list[tuple[Any, ...]]:
        """The answer; `edges`: one match per edge, else per pair of nodes."""
        groups: dict[tuple[Any, ...], list[tuple[Row, ...]]] = {} if self.keys else {(): []}
        for match in self.matches(tables, edges=edges):
            groups.setdefault(tuple(match[s][c] for s, c in self.keys), []).append(match)
        return [(*key, *(self._call(call, found) for call in self.calls)) for key, found in groups.items()]

    def matches(self, tables: Tables, *, edges: bool) -> Iterator[tuple[Row, ...]]:
        named = {kind: {row["id"]: row for row in tables[kind]} for kind in COLUMNS}
        found: list[tuple[Row, ...]] = [(row,) for row in tables[self.types[0]]]
        for place, way in enumerate(self.ways):
            grown = []
            for match in found:
                ends = list(_ends(tables[way.edge], way.direction, match[way.start]["id"]))
                kept = ends if edges else sorted(set(ends))
                grown += [(*match, named[self.types[place + 1]][end]) for end in kept]
            found = grown
        return (m for m in found if all(_holds(m[s][c], op, value) for s, c, op, value in self.tests))

    def _call(self, call: tuple[str, int | None, str | None], found: list[tuple[Row, ...]]) -> Any:
        function, spot, column = call
        if spot is None or column is None:
            return len(found)
        values = [match[spot][column] for match in found if match[spot][column] is not None]
        if function == "count":
            return len(values)
        if not values:
            return None
        match function:
            case "sum":
                return sum(values)
            case "avg":
                return sum(values) / len(values)
            case _:
                return min(values) if function == "min" else max(values)


def _ends(edges: list[Row], direction: str, at: str) -> Iterator[str]:
    for edge in edges:
        if direction != "in" and edge["src"] == at:
            yield edge["dst"]
        elif direction != "out" and edge["dst"] == at:
            yield edge["src"]


def _holds(value: Any, op: str, other: Any) -> bool:
    if value is None:
        return False
    return {"=": value == other, "<": value < other, ">=": value >= other, "!=": value != other}[op]  # type: ignore[no-any-return]


def _sql(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value)


def _gq(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def random_question(random: Random, *, one_key_spot: bool = True) -> Question:
    """A pattern of one to three steps with conditions, keys and aggregates."""
    types = [random.choice(("Person", "Place"))]
    ways: list[Way] = []
    for _ in range(random.randint(1, 3)):
        start = random.randrange(len(types))
        choices = [(e, d) for e, ends in ENDS.items() for d in ("out", "in", "both") if _fits(ends, d, types[start])]
        edge, direction = random.choice(choices)
        ways.append(Way(start, edge, direction))
        types.append(ENDS[edge][0 if direction == "in" else 1])
    tests = []
    for _ in range(random.choice((0, 0, 1, 2))):
        spot = random.randrange(len(types))
        column, value = random.choice({"Person": _PERSON, "Place": _PLACE}[types[spot]])
        tests.append((spot, column, random.choice(("=", "<", ">=", "!=")), value))
    spot = random.randrange(len(types))
    keys = []
    for name in random.sample(COLUMNS[types[spot]], random.choice((0, 1, 1, 2))):
        own = spot if one_key_spot else random.randrange(len(types))
        keys.append((own, name if own == spot else random.choice(COLUMNS[types[own]])))
    calls: list[tuple[str, int | None, str | None]] = [("count", None, None)]
    for _ in range(random.choice((0, 1, 2))):
        own = random.randrange(len(types))
        calls.append((random.choice(("count", "sum", "avg", "min", "max")), own, SUMMABLE[types[own]]))
    return Question(tuple(types), tuple(ways), tuple(tests), tuple(dict.fromkeys(keys)), tuple(dict.fromkeys(calls)))


_PERSON = (("age", 30), ("age", 5), ("city", "Lima"), ("name", "p3"))
_PLACE = (("size", 2), ("land", "Peru"), ("name", "q1"))


def _fits(ends: tuple[str, str], direction: str, at: str) -> bool:
    if direction == "both":
        return ends[0] == ends[1] == at
    return ends[1 if direction == "in" else 0] == at
