"""Random statements over the airport graph, and random small graphs to ask them of."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from tests.plan.values import Row, Tables

CODES = ("LIM", "CUZ", "AQP")
CITIES = ("Lima", "Cusco")


@dataclass(frozen=True)
class Ranged:
    """A range variable with its columns: `texts` and `numbers` by name."""

    name: str
    texts: tuple[str, ...]
    numbers: tuple[str, ...] = ()


_COLUMNS = {
    "Airport": (("id", "code", "city"), ("elevation",)),
    "Carrier": (("id", "iata", "name"), ()),
    "Route": (("src", "dst"), ("miles",)),
    "Hub": (("src", "dst"), ()),
}


@st.composite
def graphs(draw: st.DrawFn) -> Tables:
    """Three airports, two carriers and a few edges; nodes of different types may share an id."""
    numbers = st.none() | st.integers(0, 3)
    text = st.sampled_from(CITIES)
    airports: list[Row] = [
        {"id": c, "code": c, "city": draw(text), "elevation": draw(numbers), "opened": None}
        | {"tags": draw(st.none() | st.just(("x",))), "blurb": draw(st.none() | text), "pos": None, "photo": None}
        for c in CODES[: draw(st.integers(1, 3))]
    ]
    carriers: list[Row] = [
        {"id": i, "iata": i, "name": draw(text), "rating": None, "status": draw(st.sampled_from(("active", "dormant")))}
        | {"updated": None}
        for i in ("LIM", "LA")[: draw(st.integers(0, 2))]
    ]
    ends = [a["id"] for a in airports]
    routes = [
        {"id": f"r{n}", "src": draw(st.sampled_from(ends)), "dst": draw(st.sampled_from(ends))}
        | {"miles": draw(st.integers(0, 3)), "since": None}
        for n in range(draw(st.integers(0, 5)))
    ]
    from_ = [c["id"] for c in carriers]
    hubs = [
        {"id": f"h{n}", "src": draw(st.sampled_from(from_)), "dst": draw(st.sampled_from(ends))}
        for n in range(draw(st.integers(0, 3)) if from_ else 0)
    ]
    return {"Airport": airports, "Carrier": carriers, "Route": routes, "Hub": hubs, "Owns": []}


class _Writer:
    """Writes one statement; names are numbered so that they never collide."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.count = 0
        self.fuel = 6

    def pick(self, *options: str) -> str:
        return self.draw(st.sampled_from(options))

    def chance(self, of: int) -> bool:
        """True once in `of` times, while there is fuel for larger texts."""
        if self.fuel <= 0 or self.draw(st.integers(1, of)) != 1:
            return False
        self.fuel -= 1
        return True

    def fresh(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    # ---- sources ----

    def table(self) -> tuple[str, Ranged]:
        of = self.pick("Airport", "Airport", "Carrier", "Route", "Route", "Hub")
        name = self.fresh(of[0].lower())
        return f"{of} {name}", Ranged(name, *_COLUMNS[of])

    def item(self, around: list[Ranged]) -> tuple[str, list[Ranged]]:
        if self.chance(5):
            return self.derived(around)
        if self.chance(5):
            return self.pattern()
        text, ranged = self.table()
        return text, [ranged]

    def derived(self, around: list[Ranged]) -> tuple[str, list[Ranged]]:
        del around
        name = self.fresh("d")
        body, texts, numbers = self.select([])
        return f"({body}) {name}", [Ranged(name, texts, numbers)]

    def pattern(self) -> tuple[str, list[Ranged]]:
        a, r, b, g = (self.fresh(letter) for letter in "arbg")
        arrow = self.pick(f"-[{r} IS Route]->", f"<-[{r} IS Route]-", f"-[{r} IS Route]-")
        where = f" WHERE {self.condition([Ranged(a, ('code', 'city'), ('elevation',))], 1)}" if self.chance(2) else ""
        columns = f"{a}.code AS x, {b}.id AS y, {r}.miles AS m, {r}.src AS s"
        text = f"GRAPH_TABLE (MATCH ({a} IS Airport){arrow}({b} IS Airport){where} COLUMNS ({columns})) {g}"
        return text, [Ranged(g, ("x", "y", "s"), ("m",))]

    def sources(self, around: list[Ranged]) -> tuple[str, list[Ranged]]:
        text, ranged = self.item(around)
        while len(ranged) < 4 and self.draw(st.booleans()):
            more, added = self.item(around)
            kind = self.pick("JOIN", "JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", "SEMI JOIN")
            if kind == "SEMI JOIN":
                kind = self.pick("SEMI JOIN", "ANTI JOIN")
            if kind == "CROSS JOIN":
                text = f"{text} CROSS JOIN {more}"
            else:
                text = f"{text} {kind} {more} ON {self.join(ranged, added)}"
            if kind not in ("SEMI JOIN", "ANTI JOIN"):
                ranged = ranged + added
        return text, ranged

    def join(self, left: list[Ranged], right: list[Ranged]) -> str:
        ends = [(f"{r.name}.{c}") for r in left for c in r.texts if c in ("id", "src", "dst", "x", "y", "s")]
        others = [(f"{r.name}.{c}") for r in right for c in r.texts if c in ("id", "src", "dst", "x", "y", "s")]
        on = f"{self.pick(*ends)} = {self.pick(*others)}" if ends and others else "true"
        return f"{on} AND {self.condition(left + right, 1)}" if self.chance(4) else on

    # ---- values and conditions ----

    def text_value(self, scope: list[Ranged]) -> str:
        columns = [f"{r.name}.{c}" for r in scope for c in r.texts]
        constants = ("'LIM'", "'Lima'", "NULL") if not columns else ("'LIM'", "'Lima'")
        return self.pick(*columns, *columns, *constants)

    def number(self, scope: list[Ranged]) -> str:
        columns = [f"{r.name}.{c}" for r in scope for c in r.numbers]
        one = self.pick(*columns, *columns, "1", "2")
        return f"({one} + {self.pick('0', '1')})" if self.chance(6) else one

    def condition(self, scope: list[Ranged], depth: int = 2) -> str:
        choice = self.draw(st.integers(0, 11 if depth else 5))
        if choice <= 1:
            return f"{self.text_value(scope)} {self.pick('=', '<>', '<')} {self.text_value(scope)}"
        if choice <= 3:
            return f"{self.number(scope)} {self.pick('=', '<>', '<', '>=')} {self.number(scope)}"
        if choice == 4:
            return f"{self.number(scope)} IS {self.pick('', 'NOT ')}NULL"
        if choice == 5:
            return f"{self.number(scope)} {self.pick('', 'NOT ')}IN (1, {self.number(scope)})"
        if choice <= 7:
            word = self.pick("AND", "OR")
            return f"({self.condition(scope, depth - 1)} {word} {self.condition(scope, depth - 1)})"
        if choice == 8:
            return f"NOT ({self.condition(scope, depth - 1)})"
        if choice == 9:
            return self.pick("1 = 1", "1 > 2", "NULL", "TRUE")
        return self.subquery(scope)

    def subquery(self, scope: list[Ranged]) -> str:
        if self.fuel <= 0:
            return "TRUE"
        self.fuel -= 2
        text, ranged = self.table() if self.chance(2) else self._two_tables()
        inner = [ranged] if isinstance(ranged, Ranged) else ranged
        where = f"{self.correlation(scope, inner)} AND {self.condition(inner, 1)}"
        if self.draw(st.booleans()):
            return f"{self.pick('', 'NOT ')}EXISTS (SELECT 1 FROM {text} WHERE {where})"
        numbers = [f"{r.name}.{c}" for r in inner for c in r.numbers]
        if numbers and self.pick("text", "number") == "number":
            # These may be null on either side, which NOT IN has to mind.
            query = f"SELECT {self.pick(*numbers)} FROM {text} WHERE {where}"
            return f"{self.number(scope)} {self.pick('', 'NOT ')}IN ({query})"
        column = self.pick(*(f"{r.name}.{c}" for r in inner for c in r.texts))
        return f"{self.text_value(scope)} {self.pick('', 'NOT ')}IN (SELECT {column} FROM {text} WHERE {where})"

    def _two_tables(self) -> tuple[str, list[Ranged]]:
        (one, a), (other, b) = self.table(), self.table()
        return f"{one} JOIN {other} ON {self.join([a], [b])}", [a, b]

    def correlation(self, scope: list[Ranged], inner: list[Ranged]) -> str:
        outer = [f"{r.name}.{c}" for r in scope for c in r.texts]
        own = [f"{r.name}.{c}" for r in inner for c in r.texts]
        plain = not outer or self.draw(st.integers(0, 4)) == 0
        return "TRUE" if plain else f"{self.pick(*own)} = {self.pick(*outer)}"

    # ---- queries ----

    def select(self, around: list[Ranged]) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        """A query with text columns t1, t2 … and numbers n1, n2 …."""
        source, scope = self.sources(around)
        where = f" WHERE {self.condition(scope)}" if self.draw(st.booleans()) else ""
        if self.chance(3):
            return self.grouped(source, scope, where)
        if self.chance(4):
            text = self.text_value(scope)
            other = f"SELECT {self.text_value([])} AS t1, 1 AS n1"
            op = self.pick("UNION", "UNION ALL", "INTERSECT", "EXCEPT")
            return (
                f"SELECT {text} AS t1, {self.number(scope)} AS n1 FROM {source}{where} {op} {other}",
                ("t1",),
                ("n1",),
            )
        distinct = "DISTINCT " if self.chance(4) else ""
        items = f"{self.text_value(scope)} AS t1, {self.text_value(scope)} AS t2, {self.number(scope)} AS n1"
        return f"SELECT {distinct}{items} FROM {source}{where}", ("t1", "t2"), ("n1",)

    def grouped(self, source: str, scope: list[Ranged], where: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        columns = [f"{r.name}.{c}" for r in scope for c in r.texts]
        key = self.pick(*columns)
        call = self.pick("count(*)", f"sum({self.number(scope)})", f"count({self.text_value(scope)})")
        having = f" HAVING {self.pick('count(*) > 1', f'{key} <> {chr(39)}LIM{chr(39)}')}" if self.chance(2) else ""
        return f"SELECT {key} AS t1, {call} AS n1 FROM {source}{where} GROUP BY {key}{having}", ("t1",), ("n1",)


@st.composite
def selects(draw: st.DrawFn) -> str:
    """A SELECT whose rows, apart from their order, are determined."""
    writer = _Writer(draw)
    body, texts, numbers = writer.select([])
    if draw(st.integers(0, 3)):
        return body
    # A limit over all columns picks the same rows whatever the order below.
    keys = ", ".join(f"{c} NULLS FIRST" for c in (*texts, *numbers))
    where = f" WHERE {writer.condition([Ranged('q', texts, numbers)], 1)}" if draw(st.booleans()) else ""
    return f"SELECT * FROM (SELECT * FROM ({body}) q ORDER BY {keys} LIMIT 3) q{where}"


@st.composite
def reads(draw: st.DrawFn) -> str:
    """A `.gq` read: a few nodes, steps among them, tests and absences."""
    names = draw(st.lists(st.sampled_from(("a", "b", "c")), min_size=1, max_size=3, unique=True))
    clauses = [f"${n}: Airport" for n in names]
    clauses += [_gq_step(draw, names, number) for number in range(draw(st.integers(0, 3)))]
    clauses += [_gq_test(draw, names) for _ in range(draw(st.integers(0, 2)))]
    for number in range(draw(st.integers(0, 2))):
        inner = _gq_step(draw, [*names, "z"], 10 + number)
        inner += f" {_gq_test(draw, names)}"
        clauses.append(f"not {{ {inner} }}")
    order = draw(st.permutations(clauses))
    tail = draw(st.sampled_from(("", " limit 2", " order { n desc } limit 2")))
    column = f"${names[0]}.code" if draw(st.booleans()) else f"count(${names[0]})"
    shown = f"{column} as n" if "n desc" in tail else column
    return f"query q() {{ match {{ {' '.join(order)} }} return {{ {shown} }}{tail} }}"


def _gq_step(draw: st.DrawFn, names: list[str], number: int) -> str:
    left, right = f"${draw(st.sampled_from(names))}", f"${draw(st.sampled_from([*names, '_']))}"
    kind = draw(st.sampled_from(("route", "route", f"$r{number}:route", "<route>", "route{1,2}", "route{2,3}")))
    return f"{left} {kind} {right}"


def _gq_test(draw: st.DrawFn, names: list[str]) -> str:
    left, right = draw(st.sampled_from(names)), draw(st.sampled_from(names))
    return draw(
        st.sampled_from(
            (
                f"${left}.elevation > 1",
                f'${left}.code = "LIM"',
                f"${left}.elevation < ${right}.elevation",
                f"${left}.city != ${right}.city",
                f"${left}.elevation is null",
            )
        )
    )
