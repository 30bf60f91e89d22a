"""Random `.gq` texts, right by the grammar: `queries()` mostly fit the airport schema, `units()` are files of them.

A careful query uses what the schema declares, each value of the type its place wants, and binds. A careless one, one in
four, takes any name and any value the grammar lets stand there; words of the language are among the names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import strategies as st

from omnigraph_sql.grammar.lexical import encode_string

NODES = {
    "Airport": {
        "code": "String",
        "city": "String",
        "elevation": "I32",
        "opened": "Date",
        "tags": "[String]",
        "blurb": "String",
        "pos": "Vector(4)",
        "photo": "Blob",
    },
    "Carrier": {"iata": "String", "name": "String", "rating": "F64", "status": "enum", "updated": "DateTime"},
}
REQUIRED = {"Airport": ("code", "city"), "Carrier": ("iata", "name", "status"), "Route": ("miles",)}
KEYS = {"Airport": "code", "Carrier": "iata"}
EDGES = {
    "Route": ("Airport", "Airport", {"miles": "I32", "since": "DateTime"}),
    "Hub": ("Carrier", "Airport", {}),
    "Owns": ("Carrier", "Carrier", {}),
}
KEYWORDS = (
    *("query", "match", "return", "order", "limit", "as", "asc", "desc", "insert", "update", "delete", "set", "where"),
    *("is", "null", "true", "false", "contains", "starts_with", "count", "now", "nearest", "search", "rrf", "date"),
)
PARAMETER_TYPES = (
    *("String", "Bool", "I32", "I64", "U32", "U64", "F32", "F64", "Date", "DateTime", "Blob"),
    *("[String]", "[I64]", "[Date]", "Vector(4)", "Vector(7)"),
)
RELATIONS = ("=", "!=", "<", "<=", ">", ">=")
LABELS = ("active", "dormant", "defunct")

strings = st.text(st.characters(exclude_categories=["Cs"]), max_size=6).map(encode_string)
whole = st.integers(-(2**63), 2**63 - 1).map(str)
small = st.integers(-(2**31), 2**31 - 1).map(str)
fractions = st.builds("{}.{}".format, st.integers(-(10**6), 10**6), st.from_regex(r"[0-9]{1,6}", fullmatch=True))
days = st.dates().map(lambda day: f'date("{day.isoformat()}")')
instants = st.datetimes().map(lambda at: f'datetime("{at.isoformat(timespec="milliseconds")}Z")')
literals: dict[str, st.SearchStrategy[str]] = {
    "String": strings,
    "Bool": st.sampled_from(["true", "false"]),
    "I32": small,
    "F64": fractions,
    "Date": days,
    "DateTime": instants,
    "enum": st.sampled_from([encode_string(label) for label in LABELS]),
    "[String]": st.lists(strings, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
    "Vector(4)": st.lists(fractions, min_size=4, max_size=4).map(lambda items: f"[{', '.join(items)}]"),
    "Blob": strings,
    "I64": whole,
}
careful_literal = st.one_of(*literals.values())
any_literal = st.one_of(
    careful_literal, st.lists(st.one_of(strings, whole), max_size=3).map(lambda items: f"[{', '.join(items)}]")
)
names = st.one_of(st.sampled_from(KEYWORDS), st.from_regex(r"[a-z_][A-Za-z0-9_]{0,5}", fullmatch=True))
aliases = names.filter(lambda name: name not in ("true", "false", "null"))
types = st.sampled_from([*NODES, *EDGES, "Plane"])


@dataclass
class _Writer:
    """One query being written: what it has declared so far."""

    draw: st.DrawFn
    careless: bool
    parameters: dict[str, str] = field(default_factory=dict)
    nodes: dict[str, str] = field(default_factory=dict)
    edges: dict[str, str] = field(default_factory=dict)
    given: int = 0
    """How many names were given; none is given twice, so that blocks cannot clash."""

    def odds(self, out_of: int) -> bool:
        return self.draw(st.integers(1, out_of)) == 1

    def pick(self, careful: list[str] | tuple[str, ...], otherwise: st.SearchStrategy[str] = names) -> str:
        """One of the careful choices, or, carelessly, now and then anything."""
        if not careful or (self.careless and self.odds(3)):
            return self.draw(otherwise)
        return self.draw(st.sampled_from(careful))

    def fresh(self, stem: str) -> str:
        self.given += 1
        return f"{stem}{self.given}"

    # ---- values ----

    def constant(self, of: str) -> str:
        """A literal or a parameter of the type; instants may be now()."""
        if of == "DateTime" and self.odds(3):
            return "now()"
        if self.odds(3):
            name = self.fresh("p")
            exact = {"enum": "String", "Blob": "String"}.get(of, of)
            self.parameters[name] = exact if not self.careless else self.draw(st.sampled_from(PARAMETER_TYPES))
            return f"${name}"
        fitting: st.SearchStrategy[str] = any_literal if self.careless and self.odds(3) else literals[of]
        return self.draw(fitting)

    def owner(self) -> tuple[str, dict[str, str]]:
        """A variable and its properties."""
        owned = {**{n: NODES[of] for n, of in self.nodes.items()}, **{e: EDGES[of][2] for e, of in self.edges.items()}}
        variable = self.draw(st.sampled_from([name for name, properties in owned.items() if properties]))
        return variable, owned[variable]

    def property(self, *wanted: str) -> tuple[str, str]:
        """`$x.p` of one of the types, and which; any property when no type is wanted or none fits."""
        variable, properties = self.owner()
        fitting = [name for name, of in properties.items() if not wanted or of in wanted]
        name = self.pick(fitting or [*properties])
        return f"${variable}.{name}", properties.get(name, "String")

    # ---- clauses ----

    def node(self) -> str:
        of = self.pick([*NODES], types)
        name = self.fresh("n")
        self.nodes[name] = of if of in NODES else "Airport"
        if self.odds(2):
            return f"${name}: {of}"
        testable = [p for p, kind in NODES[self.nodes[name]].items() if kind not in ("Vector(4)", "Blob")]
        chosen = self.draw(st.lists(st.sampled_from(testable), min_size=1, max_size=3))
        tests = [f"{p}: {self.constant(NODES[self.nodes[name]][p].strip('[]'))}" for p in chosen]
        return f"${name}: {of} {{ {', '.join(tests)}{self.draw(st.sampled_from(['', ',']))} }}"

    def edge(self) -> str:
        left = self.draw(st.sampled_from([*self.nodes]))
        of = self.nodes[left]
        word = self.draw(st.sampled_from([e for e, (source, target, _) in EDGES.items() if of in (source, target)]))
        source, target, _ = EDGES[word]
        far = target if of == source else source
        known = [n for n, kind in self.nodes.items() if kind == far]
        right = self.draw(st.sampled_from([*known, ""])) if self.odds(2) else ""
        if not right and self.odds(4):
            right = "_"
        elif not right:
            right = self.fresh("n")
            self.nodes[right] = far
        spelled = self.pick([word.lower(), word[0].lower() + word[1:].upper()])
        both = source == target and self.odds(3)
        step = f"<{spelled}>" if both else spelled
        if self.odds(3):
            name = self.fresh("r")
            self.edges[name] = word
            return f"${left} ${name}:{step} ${right}"
        low = self.draw(st.integers(1, 3))
        hops = f"{{{low},{self.draw(st.integers(low, 5))}}}" if self.odds(4) else ""
        if self.careless and self.odds(4):
            hops = self.draw(st.sampled_from(["{0,2}", "{3,1}", "{2,}", "{1,99}"]))
        return f"${left} {step}{hops} ${right}"

    def test(self) -> str:
        match self.draw(st.integers(0, 6)):
            case 0:
                value, of = self.property("String")
                relation = self.draw(st.sampled_from(["contains", "starts_with"]))
                return f"{value} {relation} {self.constant('String')}" if of == "String" else f"{value} is not null"
            case 1:
                value, of = self.property("[String]")
                return f"{value} contains {self.constant('String')}" if of == "[String]" else f"{value} is not null"
            case 2:
                value, _ = self.property("String", "I32", "Date")
                return f"{value} is{self.draw(st.sampled_from(['', ' not']))} null"
            case 3 if any(self.nodes.values()):
                return self.text_test()
            case 4:
                value, of = self.property("I32", "F64", "String", "Date", "DateTime")
                other, same = self.property(of)
                fits = of == same and of in ("I32", "F64", "String", "Date", "DateTime")
                return f"{value} {self.draw(st.sampled_from(RELATIONS))} {other}" if fits else f"{value} is null"
            case _:
                value, of = self.property("I32", "F64", "String", "Date", "DateTime", "enum")
                return f"{value} {self.draw(st.sampled_from(RELATIONS))} {self.constant(of)}"

    def text_field(self) -> str:
        variable = self.draw(st.sampled_from([*self.nodes]))
        texts = [p for p, of in NODES[self.nodes[variable]].items() if of == "String"]
        return f"${variable}.{self.pick(texts)}"

    def text_test(self) -> str:
        word = self.draw(st.sampled_from(["search", "fuzzy", "match_text"]))
        edits = ", 1" if word == "fuzzy" and self.odds(2) else ""
        return f"{word}({self.text_field()}, {self.constant('String')}{edits})"

    def absence(self) -> str:
        """A block that mentions something outside; what it declares is forgotten behind it."""
        before = (dict(self.nodes), dict(self.edges))
        inside = [self.edge() if self.odds(2) else self.test()]
        inside += [self.clause() for _ in range(self.draw(st.integers(0, 2)))]
        self.nodes, self.edges = before
        return f"not {{ {' '.join(inside)} }}"

    def clause(self) -> str:
        kinds: list[Callable[[], str]] = [self.node, self.edge, self.edge, self.test, self.test, self.absence]
        return self.draw(st.sampled_from(kinds))()

    # ---- bodies ----

    def ranker(self) -> str:
        airports = [n for n, of in self.nodes.items() if of == "Airport"]
        if airports and self.odds(2):
            return (
                f"nearest(${self.draw(st.sampled_from(airports))}.{self.pick(['pos'])}, {self.constant('Vector(4)')})"
            )
        return f"bm25({self.text_field()}, {self.constant('String')})"

    def ranking(self) -> str:
        if self.odds(2):
            return self.ranker()
        return f"rrf({self.ranker()}, {self.ranker()}{self.draw(st.sampled_from(['', ', 30', ', 1']))})"

    def read(self) -> str:
        clauses = [self.node(), *(self.clause() for _ in range(self.draw(st.integers(0, 5))))]
        grouped = self.odds(3)
        sortable: list[str] = []
        columns = [self.column(grouped, sortable) for _ in range(self.draw(st.integers(1, 4)))]
        ranked = self.ranking() if self.odds(4) and (not grouped or self.careless) else ""
        if ranked.startswith("nearest") and not self.careless:
            sortable = [key for key in sortable if key.startswith("$")]
        order = [f"{key}{self.draw(st.sampled_from(['', ' asc', ' desc']))}" for key in sortable if self.odds(2)]
        order = [ranked, *order] if ranked else order
        limited = any("nearest" in key or "rrf" in key for key in order) or self.odds(2)
        text = f"match {{ {' '.join(clauses)} }} return {{ {', '.join(columns)} }}"
        text += f" order {{ {', '.join(order)} }}" if order else ""
        if limited and not (self.careless and self.odds(3)):
            text += f" limit {self.draw(st.integers(0, 100))}"
        return text

    def column(self, grouped: bool, sortable: list[str]) -> str:
        plain = "String", "I32", "F64", "Date", "DateTime", "enum"
        if grouped and self.odds(2):
            call = self.draw(st.sampled_from(["count", "sum", "avg", "min", "max"]))
            value, of = self.property("I32", "F64", "String")
            numeric = of in ("I32", "F64") or self.careless or (call in ("min", "max") and of == "String")
            return f"{call if numeric else 'count'}({value})"
        value, of = self.property(*plain)
        if of not in plain:
            value = f"${self.draw(st.sampled_from([*self.nodes]))}"
        elif self.odds(3):
            alias = self.draw(aliases)
            sortable.append(alias)
            return f"{value} as {alias}"
        else:
            sortable.append(value)
        if not grouped and self.odds(6):
            return self.draw(any_literal if self.careless else careful_literal) if self.odds(2) else self.text_test()
        return value

    def assignments(self, of: str, chosen: list[str]) -> str:
        kinds = {**NODES.get(of, {}), **(EDGES[of][2] if of in EDGES else {}), "from": "String", "to": "String"}
        gap = self.draw(st.sampled_from([", ", " "]))
        return f"{{ {gap.join(f'{self.pick([p])}: {self.constant(kinds[p])}' for p in chosen)} }}"

    def row_test(self, of: str) -> str:
        kinds = {**NODES.get(of, {}), **(EDGES[of][2] if of in EDGES else {}), "id": "String"}
        name = self.draw(
            st.sampled_from([p for p, kind in kinds.items() if kind in ("String", "I32", "F64", "DateTime")])
        )
        if self.odds(6):
            return f"{self.pick([name])} is null"
        return f"{self.pick([name])} {self.draw(st.sampled_from(RELATIONS))} {self.constant(kinds[name])}"

    def insert(self) -> str:
        of = self.draw(st.sampled_from([*NODES, *EDGES]))
        free = [p for p in NODES.get(of, EDGES.get(of, ("", "", {}))[2]) if p not in REQUIRED.get(of, ())]
        ends = ["from", "to"] if of in EDGES else []
        more = self.draw(st.lists(st.sampled_from(free), unique=True, max_size=2)) if free else []
        return f"insert {self.pick([of], types)} {self.assignments(of, [*ends, *REQUIRED.get(of, ()), *more])}"

    def update(self) -> str:
        of = self.draw(st.sampled_from([*NODES]))
        free = [p for p in NODES[of] if p != KEYS[of]]
        chosen = self.draw(st.lists(st.sampled_from(free), unique=True, min_size=1, max_size=3))
        return f"update {self.pick([of], types)} set {self.assignments(of, chosen)} where {self.row_test(of)}"

    def delete(self) -> str:
        of = self.draw(st.sampled_from([*NODES, *EDGES]))
        return f"delete {self.pick([of], types)} where {self.row_test(of)}"

    def write(self) -> str:
        kinds: list[Callable[[], str]] = [self.insert, self.update] if self.odds(2) else [self.delete]
        if self.careless and self.odds(3):
            kinds = [self.insert, self.update, self.delete]
        return " ".join(self.draw(st.sampled_from(kinds))() for _ in range(self.draw(st.integers(1, 3))))

    def query(self) -> str:
        body = self.write() if self.odds(4) else self.read()
        declared = ", ".join(
            f"${name}: {of}{self.draw(st.sampled_from(['', '?']))}" for name, of in self.parameters.items()
        )
        notes = f"@description({self.draw(strings)}) " if self.odds(4) else ""
        return f"query {self.draw(names)}({declared}) {notes}{{ {body} }}"


@st.composite
def queries(draw: st.DrawFn) -> str:
    """One query."""
    return _Writer(draw, careless=draw(st.integers(1, 4)) == 1).query()


@st.composite
def careful_queries(draw: st.DrawFn) -> str:
    """One query that binds against the airport schema."""
    return _Writer(draw, careless=False).query()


def units() -> st.SearchStrategy[str]:
    """A file of queries."""
    return st.lists(queries(), max_size=3).map("\n".join)
