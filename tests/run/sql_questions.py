"""Random SQL over two node types and an edge type, drawn from a grammar by a seed; both engines take the same text."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any, Final

SCHEMA: Final = """
node Person {
    name: String @key  age: I32?  score: F64?  born: Date?  seen: DateTime?  active: Bool?  town: String?  points: I64?
}
node City { code: String @key  country: String?  size: I64?  founded: Date? }
edge Lives: Person -> City { since: I32?  share: F64? }
"""
INT, FLOAT, TEXT, BOOL, DATE, TIME = "int", "float", "text", "bool", "date", "time"
TYPES: Final = (INT, FLOAT, TEXT, BOOL, DATE, TIME)
COLUMNS: Final = {
    "Person": {"id": TEXT, "name": TEXT, "age": INT, "score": FLOAT, "born": DATE, "seen": TIME, "active": BOOL}
    | {"town": TEXT, "points": INT},
    "City": {"id": TEXT, "code": TEXT, "country": TEXT, "size": INT, "founded": DATE},
    "Lives": {"src": TEXT, "dst": TEXT, "since": INT, "share": FLOAT},
}
KEYS: Final = {"Person": "name", "City": "code"}
_WORDS: Final = ("ab", "abc", "b_c", "", "Äa", "a%b", "Lima", "x'y", "東京", "LIMA", "lima ")
_DAYS: Final = (date(1999, 12, 31), date(2000, 2, 29), date(2024, 1, 1), date(1970, 1, 1), date(1969, 7, 20))


def rows(rng: random.Random) -> dict[str, list[dict[str, Any]]]:
    """A small graph with many nulls and many equal values."""
    people = [person(rng, f"p{n}") for n in range(rng.randint(5, 14))]
    cities = [city(rng, f"c{n}") for n in range(rng.randint(2, 6))]
    lives = [
        {"src": rng.choice(people)["name"], "dst": rng.choice(cities)["code"], **stay(rng)}
        for _ in range(rng.randint(0, 20))
    ]
    return {"Person": people, "City": cities, "Lives": lives}


def maybe(rng: random.Random, value: Any, nulls: float = 0.25) -> Any:
    return None if rng.random() < nulls else value


def person(rng: random.Random, name: str) -> dict[str, Any]:
    day = rng.choice(_DAYS)
    seen = datetime(day.year, day.month, day.day, rng.randint(0, 23), rng.randint(0, 59), tzinfo=UTC)
    return {
        "name": name,
        "age": maybe(rng, rng.randint(-3, 5)),
        "score": maybe(rng, rng.choice((0.0, 0.5, -1.25, 3.0, 1e6))),
        "born": maybe(rng, rng.choice(_DAYS)),
        "seen": maybe(rng, seen),
        "active": maybe(rng, rng.random() < 0.5),
        "town": maybe(rng, rng.choice(_WORDS)),
        "points": maybe(rng, rng.choice((0, 1, 2, 7, -7, 2**40))),
    }


def city(rng: random.Random, code: str) -> dict[str, Any]:
    return {
        "code": code,
        "country": maybe(rng, rng.choice(_WORDS)),
        "size": maybe(rng, rng.randint(-2, 4)),
        "founded": maybe(rng, rng.choice(_DAYS)),
    }


def stay(rng: random.Random) -> dict[str, Any]:
    return {"since": maybe(rng, rng.randint(0, 4)), "share": maybe(rng, rng.choice((0.25, 1.0, -2.5)))}


@dataclass(frozen=True, slots=True)
class Question:
    """A text; `ordered` when its ORDER BY leaves no two rows in doubt."""

    text: str
    ordered: bool = False


@dataclass(slots=True)
class Scope:
    """Columns by type that an expression may read, each behind its alias."""

    columns: dict[str, list[str]] = field(default_factory=lambda: {t: [] for t in TYPES})
    keys: list[str] = field(default_factory=list)
    """What tells every row from every other."""

    def __add__(self, other: Scope) -> Scope:
        both = {t: [*self.columns[t], *other.columns[t]] for t in TYPES}
        return Scope(both, [*self.keys, *other.keys])


class Grammar:
    """Draws questions. Every choice comes from the seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self._names = 0

    def fresh(self, lead: str) -> str:
        self._names += 1
        return f"{lead}{self._names}"

    def chance(self, odds: float) -> bool:
        return self.rng.random() < odds

    # ---- values ----

    def value(self, of: str, scope: Scope, depth: int = 2) -> str:
        choices = scope.columns[of]
        roll = self.rng.random()
        if choices and (roll < 0.45 or depth <= 0):
            return self.rng.choice(choices)
        if depth <= 0 or roll < 0.6:
            return self.literal(of)
        common = self.rng.choice((self._case, self._coalesce, self._nullif, None, None, None, None))
        if common is not None:
            return common(of, scope, depth - 1)
        return getattr(self, f"_{of}")(scope, depth - 1)  # type: ignore[no-any-return]

    def literal(self, of: str) -> str:
        rng = self.rng
        match of:
            case "int":
                return str(rng.choice((0, 1, 2, 3, -1, 7)))
            case "float":
                return rng.choice(("CAST(0.5 AS DOUBLE)", "CAST(3 AS DOUBLE)", "CAST('-1.25' AS DOUBLE)"))
            case "text":
                return "'" + rng.choice(_WORDS).replace("'", "''") + "'"
            case "bool":
                return rng.choice(("TRUE", "FALSE"))
            case "date":
                return f"DATE '{rng.choice(_DAYS).isoformat()}'"
            case _:
                return f"TIMESTAMPTZ '{rng.choice(_DAYS).isoformat()} 10:30:00+00:00'"

    def _case(self, of: str, scope: Scope, depth: int) -> str:
        whens = " ".join(
            f"WHEN {self.test(scope, depth)} THEN {self.value(of, scope, depth)}" for _ in range(self.rng.randint(1, 2))
        )
        otherwise = f" ELSE {self.value(of, scope, depth)}" if self.chance(0.7) else ""
        return f"CASE {whens}{otherwise} END"

    def _coalesce(self, of: str, scope: Scope, depth: int) -> str:
        return f"coalesce({self.value(of, scope, depth)}, {self.value(of, scope, depth)})"

    def _nullif(self, of: str, scope: Scope, depth: int) -> str:
        return f"nullif({self.value(of, scope, depth)}, {self.value(of, scope, depth)})"

    def _int(self, scope: Scope, depth: int) -> str:
        def one() -> str:
            return self.value(INT, scope, depth)

        match self.rng.randint(0, 6):
            case 0 | 1:
                return f"({one()} {self.rng.choice('+-')} {one()})"
            case 2:
                return f"({one()} * {self.rng.choice(('2', '3', '-1'))})"
            case 3:
                return f"({one()} % {self.rng.choice(('2', '3', '7'))})"
            case 4:
                return f"length({self.value(TEXT, scope, depth)})"
            case 5:
                part = self.rng.choice(("YEAR", "MONTH", "DAY"))
                return f"CAST(EXTRACT({part} FROM {self.value(DATE, scope, depth)}) AS BIGINT)"
            case _:
                return f"abs({one()})"

    def _float(self, scope: Scope, depth: int) -> str:
        def one() -> str:
            return self.value(FLOAT, scope, depth)

        match self.rng.randint(0, 3):
            case 0:
                return f"({one()} {self.rng.choice('+-*')} {one()})"
            case 1:
                return f"CAST({self.value(INT, scope, depth)} AS DOUBLE)"
            case 2:
                return f"{self.rng.choice(('abs', 'floor', 'ceil'))}({one()})"
            case _:
                return f"({one()} / {self.rng.choice(('CAST(2 AS DOUBLE)', 'CAST(4 AS DOUBLE)'))})"

    def _text(self, scope: Scope, depth: int) -> str:
        def one() -> str:
            return self.value(TEXT, scope, depth)

        match self.rng.randint(0, 7):
            case 0:
                return f"({one()} || {one()})"
            case 1:
                return f"{self.rng.choice(('upper', 'lower', 'trim', 'reverse'))}({one()})"
            case 2:
                return f"substr({one()}, {self.rng.randint(1, 3)}, {self.rng.randint(0, 3)})"
            case 3:
                return f"replace({one()}, 'a', 'zz')"
            case 4:
                return f"CAST({self.value(INT, scope, depth)} AS VARCHAR)"
            case 5:
                return f"concat({one()}, {one()})"
            case 6:
                return f"left({one()}, {self.rng.randint(0, 3)})"
            case _:
                return f"CAST({self.value(DATE, scope, depth)} AS VARCHAR)"

    def _bool(self, scope: Scope, depth: int) -> str:
        return f"({self.test(scope, depth)})"

    def _date(self, scope: Scope, depth: int) -> str:
        one = self.value(DATE, scope, depth)
        match self.rng.randint(0, 2):
            case 0:
                return f"({one} + {self.rng.randint(-40, 40)})"
            case 1:
                return f"CAST(date_trunc('{self.rng.choice(('month', 'year'))}', {one}) AS DATE)"
            case _:
                return f"CAST({self.value(TIME, scope, depth)} AS DATE)"

    def _time(self, scope: Scope, depth: int) -> str:
        one = self.value(TIME, scope, depth)
        return f"({one} + INTERVAL '{self.rng.randint(1, 40)} {self.rng.choice(('day', 'hour'))}')"

    # ---- conditions ----

    def test(self, scope: Scope, depth: int = 2) -> str:
        roll = self.rng.random()
        if depth > 0 and roll < 0.3:
            word = self.rng.choice(("AND", "OR"))
            return f"({self.test(scope, depth - 1)} {word} {self.test(scope, depth - 1)})"
        if depth > 0 and roll < 0.4:
            return f"NOT ({self.test(scope, depth - 1)})"
        of = self.rng.choice(TYPES)
        left = self.value(of, scope, depth - 1)
        match self.rng.randint(0, 7):
            case 0:
                return f"{left} IS {self.rng.choice(('', 'NOT '))}NULL"
            case 1:
                low, high = self.value(of, scope, 0), self.value(of, scope, 0)
                return f"{left} {self.rng.choice(('', 'NOT '))}BETWEEN {low} AND {high}"
            case 2:
                items = [self.literal(of) for _ in range(self.rng.randint(1, 5))]
                if self.chance(0.2):
                    items.append("NULL")
                return f"{left} {self.rng.choice(('', 'NOT '))}IN ({', '.join(items)})"
            case 3 if of == TEXT:
                pattern = self.rng.choice(("a%", "%a", "%b%", "_b%", "L%", "%", "", "a%b"))
                return f"{left} {self.rng.choice(('', 'NOT '))}{self.rng.choice(('LIKE', 'ILIKE'))} '{pattern}'"
            case 4 if of == BOOL:
                return f"{left} IS {self.rng.choice(('', 'NOT '))}{self.rng.choice(('TRUE', 'FALSE'))}"
            case 5:
                return f"{left} IS {self.rng.choice(('', 'NOT '))}DISTINCT FROM {self.value(of, scope, depth - 1)}"
            case _:
                return f"{left} {self.rng.choice(('=', '<>', '<', '<=', '>', '>='))} {self.value(of, scope, depth - 1)}"

    # ---- tables ----

    def table(self, name: str | None = None) -> tuple[str, Scope]:
        name = name or self.rng.choice(("Person", "City", "Lives", "Person"))
        alias = self.fresh("t")
        scope = Scope()
        for column, of in COLUMNS[name].items():
            scope.columns[of].append(f"{alias}.{column}")
        scope.keys = [f"{alias}.{KEYS[name]}"] if name in KEYS else []
        return f"{name} AS {alias}", scope

    def derived(self) -> tuple[str, Scope]:
        """A query in FROM, with a column of every type it happened to draw."""
        inner, scope = self.table()
        alias, columns, shown = self.fresh("d"), Scope(), []
        for of in self.rng.sample(TYPES, self.rng.randint(1, 4)):
            name = self.fresh("c")
            shown.append(f"{self.value(of, scope, 1)} AS {name}")
            columns.columns[of].append(f"{alias}.{name}")
        where = f" WHERE {self.test(scope, 1)}" if self.chance(0.6) else ""
        word = "DISTINCT " if self.chance(0.3) else ""
        return f"(SELECT {word}{', '.join(shown)} FROM {inner}{where}) AS {alias}", columns

    def source(self, parts: int) -> tuple[str, Scope]:
        """A FROM clause of some tables, joined in some way."""
        text, scope = self.table() if self.chance(0.8) else self.derived()
        for _ in range(parts - 1):
            right, more = self.table() if self.chance(0.75) else self.derived()
            kind = self.rng.choice(("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", "LEFT JOIN"))
            if kind == "CROSS JOIN":
                text = f"{text} CROSS JOIN {right}"
            else:
                text = f"{text} {kind} {right} ON {self._on(scope, more, kind)}"
            scope = scope + more
        return text, scope

    def _on(self, left: Scope, right: Scope, kind: str) -> str:
        shared = [t for t in TYPES if left.columns[t] and right.columns[t]]
        if not shared:
            return "1 = 1"
        of = self.rng.choice(shared)
        equal = f"{self.rng.choice(left.columns[of])} = {self.rng.choice(right.columns[of])}"
        # DuckDB takes other conditions than these in FULL JOIN only sometimes.
        if kind == "FULL JOIN" or self.chance(0.6):
            return equal
        return f"{equal} AND {self.test(left + right, 1)}"

    # ---- questions ----

    def question(self) -> Question:
        made = self.rng.choice(
            (
                self.plain, self.plain, self.joined, self.joined, self.grouped, self.grouped, self.windowed,
                self.windowed, self.sets, self.sets, self.nested, self.nested, self.nested, self.first_of, self.named,
                self.distinct_on, self.qualified, self.sets_of_groups, self.lateral, self.few, self.few,
            )
        )  # fmt: skip
        return made()

    def _items(self, scope: Scope, count: int) -> list[str]:
        return [f"{self.value(self.rng.choice(TYPES), scope)} AS {self.fresh('c')}" for _ in range(count)]

    def _where(self, scope: Scope, odds: float = 0.7) -> str:
        return f" WHERE {self.test(scope)}" if self.chance(odds) else ""

    def plain(self) -> Question:
        text, scope = self.table()
        word = "DISTINCT " if self.chance(0.25) else ""
        return Question(f"SELECT {word}{', '.join(self._items(scope, 3))} FROM {text}{self._where(scope)}")

    def joined(self) -> Question:
        text, scope = self.source(self.rng.randint(2, 3))
        return Question(f"SELECT {', '.join(self._items(scope, 3))} FROM {text}{self._where(scope, 0.5)}")

    def _aggregate(self, scope: Scope, plain_only: bool = False) -> str:
        of = self.rng.choice((INT, FLOAT, TEXT, DATE, BOOL))
        argument = self.value(of, scope, 1)
        if of in (INT, FLOAT):
            name = self.rng.choice(("sum", "avg", "min", "max", "count"))
        elif of == BOOL:
            name = self.rng.choice(("bool_and", "bool_or", "count"))
        else:
            name = self.rng.choice(("min", "max", "count"))
        word = "DISTINCT " if not plain_only and self.chance(0.25) else ""
        call = f"{name}({word}{argument})" if self.chance(0.85) else "count(*)"
        if not plain_only and self.chance(0.25):
            call += f" FILTER (WHERE {self.test(scope, 1)})"
        return call

    def grouped(self) -> Question:
        text, scope = self.source(self.rng.randint(1, 2))
        keys = [self.value(self.rng.choice(TYPES), scope, 1) for _ in range(self.rng.randint(0, 2))]
        names = [self.fresh("g") for _ in keys]
        calls = [f"{self._aggregate(scope)} AS {self.fresh('a')}" for _ in range(self.rng.randint(1, 3))]
        shown = ", ".join([*(f"{k} AS {n}" for k, n in zip(keys, names, strict=True)), *calls])
        tail = ""
        if keys:
            tail = " GROUP BY ALL" if self.chance(0.2) else f" GROUP BY {', '.join(map(str, range(1, len(keys) + 1)))}"
        if self.chance(0.4):
            op = self.rng.choice(("> 1", "<> 2", "IS NOT NULL"))
            tail += f" HAVING count({self.rng.choice(('*', self.value(INT, scope, 0)))}) {op}"
        return Question(f"SELECT {shown} FROM {text}{self._where(scope, 0.5)}{tail}")

    def sets_of_groups(self) -> Question:
        text, scope = self.source(1)
        columns = [self.rng.choice(c) for c in scope.columns.values() if c][:3]
        first, second = columns[0], columns[-1]
        if first == second:
            return self.grouped()
        how = self.rng.choice(
            (f"ROLLUP ({first}, {second})", f"CUBE ({first}, {second})", f"GROUPING SETS (({first}), ({second}), ())")
        )
        return Question(f"SELECT {first} AS a, {second} AS b, {self._aggregate(scope)} AS c FROM {text} GROUP BY {how}")

    def _order(self, keys: list[str]) -> str:
        return ", ".join(
            f"{k} {self.rng.choice(('ASC', 'DESC'))} NULLS {self.rng.choice(('FIRST', 'LAST'))}" for k in keys
        )

    def first_of(self) -> Question:
        text, scope = self.table(self.rng.choice(("Person", "City")))
        keys = [self.value(self.rng.choice(TYPES), scope, 1) for _ in range(self.rng.randint(0, 2))]
        tail = f" LIMIT {self.rng.randint(0, 5)}" if self.chance(0.7) else ""
        tail += f" OFFSET {self.rng.randint(0, 3)}" if tail and self.chance(0.5) else ""
        order = self._order([*keys, *scope.keys])
        shown = ", ".join([*self._items(scope, 2), f"{scope.keys[0]} AS k"])
        return Question(f"SELECT {shown} FROM {text}{self._where(scope, 0.4)} ORDER BY {order}{tail}", ordered=True)

    def _window(self, scope: Scope) -> str:
        parts = f"PARTITION BY {self.value(self.rng.choice(TYPES), scope, 1)} " if self.chance(0.6) else ""
        order = self._order([*([self.value(INT, scope, 1)] if self.chance(0.5) else []), *scope.keys])
        match self.rng.randint(0, 4):
            case 0:
                name = self.rng.choice(("row_number", "rank", "dense_rank"))
                return f"{name}() OVER ({parts}ORDER BY {order})"
            case 1:
                name = self.rng.choice(("lag", "lead"))
                of = self.rng.choice((INT, TEXT, DATE))
                return f"{name}({self.value(of, scope, 0)}, {self.rng.randint(1, 2)}) OVER ({parts}ORDER BY {order})"
            case 2:
                start = self.rng.choice(("UNBOUNDED PRECEDING", "1 PRECEDING", "CURRENT ROW"))
                end = self.rng.choice(("CURRENT ROW", "1 FOLLOWING", "UNBOUNDED FOLLOWING"))
                call = self._aggregate(scope, plain_only=True)
                return f"{call} OVER ({parts}ORDER BY {order} ROWS BETWEEN {start} AND {end})"
            case 3:
                return f"{self._aggregate(scope, plain_only=True)} OVER ({parts.strip()})"
            case _:
                name = self.rng.choice(("first_value", "last_value"))
                return f"{name}({self.value(INT, scope, 0)}) OVER ({parts}ORDER BY {order})"

    def windowed(self) -> Question:
        text, scope = self.table(self.rng.choice(("Person", "City")))
        shown = [*self._items(scope, 1), *(f"{self._window(scope)} AS {self.fresh('w')}" for _ in range(2))]
        return Question(f"SELECT {scope.keys[0]} AS k, {', '.join(shown)} FROM {text}{self._where(scope, 0.4)}")

    def qualified(self) -> Question:
        text, scope = self.table(self.rng.choice(("Person", "City")))
        parts = f"PARTITION BY {self.value(self.rng.choice(TYPES), scope, 1)} "
        order = self._order(scope.keys)
        return Question(
            f"SELECT {scope.keys[0]} AS k, {', '.join(self._items(scope, 1))} FROM {text}{self._where(scope, 0.4)} "
            f"QUALIFY row_number() OVER ({parts}ORDER BY {order}) <= {self.rng.randint(1, 2)}"
        )

    def distinct_on(self) -> Question:
        text, scope = self.table(self.rng.choice(("Person", "City")))
        key = self.value(self.rng.choice(TYPES), scope, 0)
        order = self._order([key, *scope.keys])
        shown = f"{key} AS a, {scope.keys[0]} AS b"
        return Question(f"SELECT DISTINCT ON ({key}) {shown} FROM {text}{self._where(scope, 0.4)} ORDER BY {order}")

    def sets(self) -> Question:
        types = [self.rng.choice(TYPES) for _ in range(self.rng.randint(1, 2))]
        parts = []
        for _ in range(self.rng.randint(2, 3)):
            text, scope = self.table()
            items = ", ".join(f"{self.value(of, scope, 1)} AS c{n}" for n, of in enumerate(types))
            parts.append(f"SELECT {items} FROM {text}{self._where(scope, 0.5)}")
        words = ("UNION", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL")
        made = parts[0]
        for part in parts[1:]:
            made = f"({made}) {self.rng.choice(words)} ({part})"
        return Question(made)

    def named(self) -> Question:
        inner, scope = self.source(self.rng.randint(1, 2))
        of = self.rng.choice((INT, TEXT, DATE))
        body = f"SELECT {self.value(of, scope, 1)} AS v, count(*) AS n FROM {inner}{self._where(scope, 0.5)} GROUP BY 1"
        if self.chance(0.5):
            return Question(f"WITH w AS ({body}) SELECT a.v, a.n, b.n FROM w AS a LEFT JOIN w AS b ON a.n = b.n + 1")
        return Question(f"WITH w AS ({body}) SELECT v, n FROM w WHERE n >= (SELECT avg(n) FROM w)")

    def _few(self) -> tuple[str, Scope]:
        """A query that can give but a few rows, always the same ones; its first column is `a`, of the type that is
        the only one in the scope that is returned beside it."""
        found = Scope()
        if self.chance(0.4):
            end = self.rng.choice(("src", "dst"))
            found.columns[TEXT].append("a")
            order = self._order(["n", "a"])
            body = f"SELECT {end} AS a, count(*) AS n FROM Lives GROUP BY 1 ORDER BY {order}"
            return f"{body} LIMIT {self._count()}", found
        text, scope = self.table(self.rng.choice(("Person", "City")))
        of = self.rng.choice((TEXT, TEXT, INT, DATE))
        found.columns[of].append("a")
        value = scope.keys[0] if of == TEXT and self.chance(0.6) else self.value(of, scope, 1)
        first = [f"coalesce({self.value(INT, scope, 1)}, 0)"] if self.chance(0.5) else []
        tail = f"{self._where(scope, 0.2)} ORDER BY {self._order([*first, *scope.keys])} LIMIT {self._count()}"
        return f"SELECT {value} AS a, {scope.keys[0]} AS n FROM {text}{tail}", found

    def _count(self) -> int:
        return 0 if self.chance(0.05) else self.rng.randint(1, 5)

    def few(self) -> Question:
        """Few rows beside tables: joined, named, in a list, or as one value."""
        body, known = self._few()
        of = next(t for t in TYPES if known.columns[t])
        text, scope = self._steps() if self.chance(0.6) else self.source(1)
        ids = [c for c in scope.columns[of] if c.endswith((".id", ".src", ".dst", ".name", ".code"))]
        columns = ids if ids and self.chance(0.8) else scope.columns[of]
        column = self.rng.choice(columns) if columns else self.value(of, scope, 1)
        every = [c for columns in scope.columns.values() for c in columns]
        plain = [f"{c} AS {self.fresh('c')}" for c in self.rng.sample(every, min(2, len(every)))]
        shown = ", ".join(plain if self.chance(0.6) else self._items(scope, 2))
        more = f" AND {self.test(scope, 1)}" if self.chance(0.3) else ""
        match self.rng.randint(0, 4):
            case 0:
                word = self.rng.choice(("JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN"))
                return Question(f"SELECT {shown}, w.n FROM ({body}) AS w {word} ({text}) ON w.a = {column}")
            case 1:
                return Question(f"WITH w AS ({body}) SELECT w.n, {shown} FROM w, {text} WHERE w.a = {column}{more}")
            case 2:
                return Question(f"SELECT {shown} FROM {text} WHERE {column} IN (SELECT a FROM ({body}) AS w){more}")
            case 3:
                one = f"SELECT a FROM ({body}) AS w ORDER BY a NULLS LAST, n LIMIT 1"
                return Question(f"SELECT {shown} FROM {text} WHERE {column} = ({one}){more}")
            case _:
                pairs = "SELECT x.a, y.n FROM w AS x JOIN w AS y ON x.n = y.n"
                lead = f"WITH w AS ({body}), v AS ({pairs})"
                return Question(f"{lead} SELECT v.n, {shown} FROM v JOIN ({text}) ON {column} = v.a")

    def _steps(self) -> tuple[str, Scope]:
        """People and where they live, joined as a graph is."""
        (who, first), (stay, second), (where, third) = (self.table(name) for name in ("Person", "Lives", "City"))
        one, two, three = (text.rpartition(" ")[2] for text in (who, stay, where))
        if self.chance(0.4):
            return f"{stay} JOIN {where} ON {three}.id = {two}.dst", second + third
        joined = f"{who} JOIN {stay} ON {two}.src = {one}.id JOIN {where} ON {three}.id = {two}.dst"
        return joined, first + second + third

    def lateral(self) -> Question:
        outer, scope = self.table("Person")
        inner, more = self.table(self.rng.choice(("City", "Lives")))
        shared = [t for t in TYPES if scope.columns[t] and more.columns[t]]
        of = self.rng.choice(shared)
        op = self.rng.choice(("=", "<", ">="))
        link = f"{self.rng.choice(more.columns[of])} {op} {self.rng.choice(scope.columns[of])}"
        word = self.rng.choice(("CROSS JOIN LATERAL", "LEFT JOIN LATERAL"))
        on = " ON TRUE" if word.startswith("LEFT") else ""
        body = f"SELECT count(*) AS n, max({self.value(INT, more, 0)}) AS m FROM {inner} WHERE {link}"
        return Question(f"SELECT {scope.keys[0]}, l.n, l.m FROM {outer} {word} ({body}) AS l{on}")

    # ---- sub-queries ----

    def nested(self) -> Question:
        outer, scope = self.source(self.rng.randint(1, 2))
        if self.chance(0.5):
            return Question(
                f"SELECT {', '.join(self._items(scope, 2))} FROM {outer} WHERE {self._asking(scope)}"
                + (f" AND {self.test(scope, 1)}" if self.chance(0.3) else "")
            )
        return Question(f"SELECT {', '.join(self._items(scope, 1))}, {self._asked(scope)} AS s FROM {outer}")

    def _inner(self, scope: Scope, correlated: float = 0.6) -> tuple[str, Scope, str]:
        text, inner = self.table()
        tests = [self.test(inner, 1)] if self.chance(0.4) else []
        shared = [t for t in TYPES if scope.columns[t] and inner.columns[t]]
        if shared and self.chance(correlated):
            of = self.rng.choice(shared)
            op = self.rng.choice(("=", "=", "=", "<", "<>"))
            tests.append(f"{self.rng.choice(inner.columns[of])} {op} {self.rng.choice(scope.columns[of])}")
        return text, inner, f" WHERE {' AND '.join(tests)}" if tests else ""

    def _asking(self, scope: Scope) -> str:
        """A condition with a sub-query."""
        text, inner, where = self._inner(scope)
        match self.rng.randint(0, 3):
            case 0:
                return f"{self.rng.choice(('', 'NOT '))}EXISTS (SELECT 1 FROM {text}{where})"
            case 1:
                of = self.rng.choice(TYPES)
                word = self.rng.choice(("IN", "NOT IN"))
                return f"{self.value(of, scope, 0)} {word} (SELECT {self.value(of, inner, 1)} FROM {text}{where})"
            case 2:
                of = self.rng.choice((INT, TEXT, DATE))
                op = self.rng.choice(("=", "<>", "<", ">="))
                word = self.rng.choice(("ANY", "ALL"))
                return f"{self.value(of, scope, 0)} {op} {word} (SELECT {self.value(of, inner, 0)} FROM {text}{where})"
            case _:
                op = self.rng.choice(("=", "<", ">=", "<>"))
                return f"{self.value(INT, scope, 1)} {op} {self._one(INT, text, inner, where)}"

    def _asked(self, scope: Scope) -> str:
        """A value with a sub-query."""
        text, inner, where = self._inner(scope)
        match self.rng.randint(0, 3):
            case 0:
                return f"(EXISTS (SELECT 1 FROM {text}{where}))"
            case 1:
                of = self.rng.choice(TYPES)
                return f"({self.value(of, scope, 0)} IN (SELECT {self.value(of, inner, 1)} FROM {text}{where}))"
            case _:
                of = self.rng.choice((INT, TEXT))
                return f"coalesce({self._one(of, text, inner, where)}, {self.value(of, scope, 0)})"

    def _one(self, of: str, text: str, inner: Scope, where: str) -> str:
        if of == TEXT or self.chance(0.5):
            return f"(SELECT {self.rng.choice(('min', 'max'))}({self.value(of, inner, 1)}) FROM {text}{where})"
        return f"(SELECT count({self.rng.choice(('*', self.value(INT, inner, 0)))}) FROM {text}{where})"
