"""SQL expressions over the airports; names and types are right most of the time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

from hypothesis import strategies as st

from omnigraph_sql.bind.sql_functions import ALL_NAMES

Kind: TypeAlias = Literal["text", "int", "float", "bool", "date", "time", "list", "vector", "blob"]
Columns: TypeAlias = tuple[tuple[str, Kind], ...]
_Item = TypeVar("_Item")

NODES: dict[str, Columns] = {
    "Airport": (
        *(("code", "text"), ("city", "text"), ("elevation", "int"), ("opened", "date"), ("tags", "list")),
        *(("blurb", "text"), ("pos", "vector"), ("photo", "blob"), ("id", "text")),
    ),
    "Carrier": (
        *(("iata", "text"), ("name", "text"), ("rating", "float"), ("status", "text"), ("updated", "time")),
        ("id", "text"),
    ),
}
EDGES: dict[str, tuple[str, str, Columns]] = {
    "Route": ("Airport", "Airport", (("miles", "int"), ("since", "time"))),
    "Hub": ("Carrier", "Airport", ()),
    "Owns": ("Carrier", "Carrier", ()),
}
TABLES: dict[str, Columns] = {
    **NODES,
    **{name: (("src", "text"), ("dst", "text"), *columns, ("id", "text")) for name, (_, _, columns) in EDGES.items()},
}
LITERALS: dict[Kind, tuple[str, ...]] = {
    "text": ("'LIM'", "'it''s'", "''", "$$a$$", "E'\\n'", "NULL"),
    "int": ("0", "1", "-3", "40", "NULL", "2147483648"),
    "float": ("1.5", "0.0", "2e3", ".5", "1"),
    "bool": ("true", "false", "NULL"),
    "date": ("DATE '2026-01-31'", "CURRENT_DATE", "NULL"),
    "time": ("TIMESTAMP '2026-01-31 10:00:00'", "now()", "NULL"),
    "list": ("['a', 'b']", "[]", "NULL"),
    "vector": ("[1.0, 2.0, 3.0, 4.0]", "NULL"),
    "blob": ("x'00ff'", "NULL"),
}
TYPES: dict[Kind, tuple[str, ...]] = {
    "text": ("TEXT", "VARCHAR"),
    "int": ("INT", "BIGINT", "UINTEGER"),
    "float": ("DOUBLE", "REAL"),
    "bool": ("BOOLEAN",),
    "date": ("DATE",),
    "time": ("TIMESTAMP",),
    "list": ("TEXT[]",),
    "vector": ("FLOAT[4]",),
    "blob": ("BLOB",),
}
PLAIN: tuple[Kind, ...] = ("text", "int", "float", "bool", "date", "time")
COMPARED: tuple[Kind, ...] = ("text", "int", "float", "date", "time")
# fmt: off
OPERATORS = (
    "+", "-", "*", "/", "%", "//", "**", "^", "||", "&", "|", "<<", ">>", "=", "<>", "<", "AND", "OR", "LIKE",
    "ILIKE", "~", "IS", "IN", "->", "->>", "@>", "<@", "&&", "^@", "<->", "<=>", "IS DISTINCT FROM",
    "NOT SIMILAR TO", "COLLATE", ".", "AT TIME ZONE", "GLOB", "IS OF",
)
ODD_TYPES = (
    "INT", "TEXT", "DECIMAL(5, 2)", "TIME", "INTERVAL", "JSON", "UUID", "INT[]", "INT[3]", "STRUCT(a INT)",
    "ENUM('a')", "MAP(INT, TEXT)", "Nothing", "VARCHAR(3)", "TINYINT", "HUGEINT", "TIMESTAMPTZ", "BIT", "FLOAT[0]",
    "VECTOR(4)", "DECIMAL(99, 98)",
)
ENDINGS = (
    "", "", "", "", " OVER ()", " FILTER (WHERE true)", " WITHIN GROUP (ORDER BY 1)",
    " IGNORE NULLS OVER (ORDER BY 1)", ".a", "[1]", " OVER w", " OVER (ROWS 1 PRECEDING)", "::INT",
)
# fmt: on


@dataclass(frozen=True, slots=True)
class Scope:
    """What a name may mean: tables by alias, and the scope around."""

    tables: tuple[tuple[str, Columns], ...] = ()
    ctes: tuple[tuple[str, Columns], ...] = ()
    aggregates: bool = False


@dataclass(slots=True)
class ExprWriter:
    """Draws pieces of SQL; every method returns text."""

    draw: st.DrawFn
    aliases: int = 0

    def pick(self, *options: _Item) -> _Item:
        return self.draw(st.sampled_from(options))

    def chance(self, percent: int) -> bool:
        return self.draw(st.integers(0, 99)) < percent

    def alias(self) -> str:
        self.aliases += 1
        return f"t{self.aliases}"

    # ---- expressions ----------------------------------------------------------------------------------------------

    def expr(self, kind: Kind, scope: Scope, depth: int) -> str:
        if self.draw(st.integers(0, 150)) >= 149:
            return self.odd(scope, depth - 1)
        if depth <= 0 or self.chance(35):
            return self.leaf(kind, scope)
        if self.chance(8):
            return self.any_kind(kind, scope, depth - 1)
        match kind:
            case "text":
                return self.text(scope, depth - 1)
            case "int" | "float":
                return self.number(kind, scope, depth - 1)
            case "bool":
                return self.condition(scope, depth - 1)
            case "date" | "time":
                return self.moment(kind, scope, depth - 1)
            case "list":
                return self.a_list(scope, depth - 1)
            case _:
                return self.leaf(kind, scope)

    def odd(self, scope: Scope, depth: int) -> str:
        """Something that is often wrong: any function of any arguments, any operator between any operands."""
        if self.chance(40):
            return self.pick(
                "nothing", "a.b.c", "*", "nosuch(1)", "$p", "?", ":q", "t1.code", "DEFAULT", "()", "current_date"
            )
        kinds = [self.pick(*LITERALS) for _ in range(self.draw(st.integers(0, 3)))]
        parts = [self.expr(kind, scope, depth) for kind in kinds]
        if len(parts) == 2 and self.chance(60):
            return f"{parts[0]} {self.pick(*OPERATORS)} {parts[1]}"
        if len(parts) == 1 and self.chance(60):
            return f"{self.pick('CAST', 'TRY_CAST')}({parts[0]} AS {self.pick(*ODD_TYPES)})"
        return f"{self.pick(*ALL_NAMES)}({self.pick('', '', '', 'DISTINCT ')}{', '.join(parts)}){self.pick(*ENDINGS)}"

    def leaf(self, kind: Kind, scope: Scope) -> str:
        found = [f"{alias}.{name}" for alias, columns in scope.tables for name, of in columns if of == kind]
        if found and not self.chance(25):
            name = self.pick(*found)
            return name if self.chance(92) else name.partition(".")[2]
        return self.pick(*LITERALS[kind])

    def any_kind(self, kind: Kind, scope: Scope, depth: int) -> str:
        def part() -> str:
            return self.expr(kind, scope, depth)

        match self.pick("case", "cast", "coalesce", "query", "switch", "bracket", "least", "parameter"):
            case "case":
                return f"CASE WHEN {self.expr('bool', scope, depth)} THEN {part()} ELSE {part()} END"
            case "switch":
                of = self.pick(*COMPARED)
                value, wanted = self.expr(of, scope, depth), self.leaf(of, scope)
                return f"CASE {value} WHEN {wanted} THEN {part()} END"
            case "cast":
                other = self.expr(self.pick(*PLAIN), scope, depth)
                to = self.pick(*TYPES[kind])
                return self.pick(f"CAST({other} AS {to})", f"TRY_CAST({other} AS {to})", f"({other})::{to}")
            case "coalesce":
                return f"coalesce({part()}, {part()})"
            case "least":
                return f"{self.pick('least', 'greatest', 'nullif')}({part()}, {part()})"
            case "query":
                return f"({self.scalar_query(kind, scope, depth)})"
            case "parameter":
                return f"$p::{self.pick(*TYPES[kind])}"
            case _:
                return f"({part()})"

    def text(self, scope: Scope, depth: int) -> str:
        def part() -> str:
            return self.expr("text", scope, depth)

        number = self.expr("int", scope, depth)
        return self.pick(
            f"{self.pick('lower', 'upper', 'trim', 'reverse')}({part()})",
            f"{part()} || {part()}",
            f"substr({part()}, {number})",
            f"replace({part()}, 'a', {part()})",
            f"concat({part()}, {number})",
            f"{self.expr('list', scope, depth)}[1]",
            f"strftime({self.expr('date', scope, depth)}, '%Y')",
            f"string_agg({part()}, ',')" if scope.aggregates else f"left({part()}, 2)",
        )

    def number(self, kind: Kind, scope: Scope, depth: int) -> str:
        def part() -> str:
            return self.expr(kind, scope, depth)

        if scope.aggregates and self.chance(40):
            return self.aggregate(kind, scope, depth)
        return self.pick(
            f"{part()} {self.pick('+', '-', '*', '/', '%', '//')} {part()}",
            f"{self.pick('abs', 'round', 'sqrt', 'floor', 'sign')}({part()})",
            f"- {part()}",
            f"length({self.expr('text', scope, depth)})",
            f"len({self.expr('list', scope, depth)})",
            f"extract({self.pick('year', 'month', 'day')} FROM {self.expr('date', scope, depth)})",
            f"date_part('year', {self.expr('date', scope, depth)})",
        )

    def aggregate(self, kind: Kind, scope: Scope, depth: int) -> str:
        inner = Scope(scope.tables, scope.ctes)
        what = self.expr(kind, inner, depth)
        called = self.pick(
            "count(*)",
            f"count({self.pick('', 'DISTINCT ')}{what})",
            f"{self.pick('sum', 'avg', 'min', 'max', 'stddev', 'median')}({what})",
        )
        if self.chance(20):
            called += f" FILTER (WHERE {self.expr('bool', inner, depth)})"
        return called

    def condition(self, scope: Scope, depth: int) -> str:
        of = self.pick(*COMPARED)
        left = self.expr(of, scope, depth)
        match self.pick("compare", "compare", "and", "not", "null", "in", "sub", "between", "like", "exists", "any"):
            case "compare":
                sign = self.pick("=", "<>", "<", ">", "<=", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")
                return f"{left} {sign} {self.expr(of, scope, depth)}"
            case "and":
                other = self.expr("bool", scope, depth)
                return f"({self.expr('bool', scope, depth)} {self.pick('AND', 'OR')} {other})"
            case "not":
                return f"NOT {self.expr('bool', scope, depth)}"
            case "null":
                return f"{left} IS {self.pick('', 'NOT ')}NULL"
            case "in":
                items = [self.expr(of, scope, depth) for _ in range(self.draw(st.integers(1, 3)))]
                return f"{left} {self.pick('', 'NOT ')}IN ({', '.join(items)})"
            case "sub":
                return f"{left} {self.pick('', 'NOT ')}IN ({self.scalar_query(of, scope, depth)})"
            case "between":
                return f"{left} BETWEEN {self.expr(of, scope, depth)} AND {self.expr(of, scope, depth)}"
            case "like":
                text, word = self.expr("text", scope, depth), self.pick("LIKE", "ILIKE", "NOT LIKE", "SIMILAR TO", "~")
                return f"{text} {word} 'a%'"
            case "any":
                return f"{left} {self.pick('=', '<')} {self.pick('ANY', 'ALL')} ({self.scalar_query(of, scope, depth)})"
            case _:
                return f"{self.pick('', 'NOT ')}EXISTS ({self.scalar_query(of, scope, depth)})"

    def moment(self, kind: Kind, scope: Scope, depth: int) -> str:
        part = self.expr(kind, scope, depth)
        return self.pick(
            f"{part} {self.pick('+', '-')} INTERVAL {self.pick('3 DAY', chr(39) + '2 months' + chr(39))}",
            f"date_trunc('month', {part})",
            f"{part}::{self.pick('DATE', 'TIMESTAMP')}",
            f"greatest({part}, {part})",
        )

    def a_list(self, scope: Scope, depth: int) -> str:
        part = self.expr("list", scope, depth)
        text = self.expr("text", scope, depth)
        return self.pick(
            f"[{text}, {text}]",
            f"list_transform({part}, x -> upper(x))",
            f"[x || 'a' FOR x IN {part} IF x <> 'b']",
            f"{part}[1:2]",
            f"list_sort({part})",
            f"list({text})" if scope.aggregates else f"string_split({text}, ',')",
        )

    def scalar_query(self, kind: Kind, around: Scope, depth: int) -> str:
        """One column; outer names are visible."""
        name = self.pick(*TABLES)
        alias = self.alias()
        inner = Scope(((alias, TABLES[name]), *around.tables), around.ctes)
        what = self.expr(kind, inner, depth - 1)
        where = f" WHERE {self.expr('bool', inner, depth - 1)}" if self.chance(70) else ""
        return f"SELECT {what} FROM {name} {alias}{where}{self.pick('', ' LIMIT 1')}"
