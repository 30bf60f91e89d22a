"""SQL statements of all kinds over the airports; names and types are right most of the time."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.strategies_sql_expr import EDGES, NODES, PLAIN, TABLES, TYPES, Columns, ExprWriter, Kind, Scope

FUNCTIONS: tuple[tuple[str, Columns], ...] = (
    ("generate_series(1, 3)", (("generate_series", "int"),)),
    ("unnest([1, 2])", (("unnest", "int"),)),
    ("nearest(Airport, 'pos', $q, k => 3)", NODES["Airport"]),
    ("bm25('Airport', 'blurb', 'sea')", NODES["Airport"]),
    ("table_changes('Airport', 1, 2)", NODES["Airport"]),
    ("omni.branches", (("name", "text"),)),
    ("information_schema.tables", (("table_name", "text"),)),
    ("(VALUES (1, 'a'), (2, 'b'))", (("col0", "int"), ("col1", "text"))),
)


class Writer(ExprWriter):
    """Draws statements; every method returns text, those of queries and tables their columns too."""

    # ---- queries --------------------------------------------------------------------------------------------------

    def query(self, around: Scope, depth: int) -> tuple[str, Columns]:
        """A query and its columns."""
        if depth > 0 and self.chance(12):
            return self.with_query(around, depth)
        if depth > 0 and self.chance(12):
            return self.set_query(around, depth)
        if self.chance(2):
            rows = ", ".join(f"({self.leaf('int', Scope())}, {self.leaf('text', Scope())})" for _ in range(2))
            return f"VALUES {rows}", (("col0", "int"), ("col1", "text"))
        return self.select(around, depth)

    def with_query(self, around: Scope, depth: int) -> tuple[str, Columns]:
        first, columns = self.query(around, depth - 1)
        name = self.alias()
        scope = Scope(around.tables, ((name, columns), *around.ctes))
        if self.chance(15):
            step = f"SELECT n + 1 FROM {name} WHERE n < 5"
            first, columns = f"SELECT 1 AS n UNION ALL {step}", (("n", "int"),)
            scope = Scope(around.tables, ((name, columns), *around.ctes))
            body, found = self.query(scope, depth - 1)
            return f"WITH RECURSIVE {name} AS ({first}) {body}", found
        body, found = self.query(scope, depth - 1)
        return f"WITH {name} AS {self.pick('', 'MATERIALIZED ')}({first}) {body}", found

    def set_query(self, around: Scope, depth: int) -> tuple[str, Columns]:
        kinds = [self.pick(*PLAIN) for _ in range(self.draw(st.integers(1, 3)))]
        sides = [self.fixed_select(kinds, around, depth - 1) for _ in range(2)]
        word = self.pick("UNION", "UNION ALL", "INTERSECT", "EXCEPT", "UNION ALL BY NAME")
        tail = self.pick("", " ORDER BY 1", " LIMIT 3")
        return f"{sides[0]} {word} {sides[1]}{tail}", tuple((f"c{at}", kind) for at, kind in enumerate(kinds))

    def fixed_select(self, kinds: list[Kind], around: Scope, depth: int) -> str:
        source, scope = self.sources(around, depth)
        items = [f"{self.expr(kind, scope, depth)} AS c{at}" for at, kind in enumerate(kinds)]
        return f"SELECT {', '.join(items)} FROM {source}"

    def select(self, around: Scope, depth: int) -> tuple[str, Columns]:
        source, scope = self.sources(around, depth)
        if self.chance(30):
            return self.grouped(source, scope, depth)
        kinds = [self.pick(*PLAIN) for _ in range(self.draw(st.integers(1, 4)))]
        items = [self.item(kind, scope, depth, at) for at, kind in enumerate(kinds)]
        columns: Columns = tuple((f"c{at}", kind) for at, kind in enumerate(kinds))
        if self.chance(10):
            items.append(self.pick("*", f"{scope.tables[0][0]}.*", "* EXCLUDE (id)", "* REPLACE (1 AS city)"))
        text = f"SELECT {self.pick('', '', '', 'DISTINCT ')}{', '.join(items)} FROM {source}"
        if self.chance(60):
            text += f" WHERE {self.expr('bool', scope, depth)}"
        if self.chance(6):
            text += f" QUALIFY {self.window(scope, depth)} = 1"
        return text + self.tail(scope, columns, depth), columns

    def item(self, kind: Kind, scope: Scope, depth: int, at: int) -> str:
        value = self.window(scope, depth) if kind == "int" and self.chance(20) else self.expr(kind, scope, depth)
        return self.pick(f"{value} AS c{at}", f"{value} c{at}", f"c{at}: {value}")

    def window(self, scope: Scope, depth: int) -> str:
        called = self.pick(
            "row_number()",
            "rank()",
            "count(*)",
            f"sum({self.leaf('int', scope)})",
            f"lag({self.leaf('int', scope)}, 1)",
        )
        by = f"PARTITION BY {self.leaf('text', scope)} " if self.chance(50) else ""
        order = f"ORDER BY {self.expr('int', scope, depth - 2)} DESC" if self.chance(70) else ""
        frame = " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW" if order and self.chance(20) else ""
        return f"{called} OVER ({by}{order}{frame})"

    def grouped(self, source: str, scope: Scope, depth: int) -> tuple[str, Columns]:
        keys = [self.leaf("text", scope) for _ in range(self.draw(st.integers(0, 2)))]
        over = Scope(scope.tables, scope.ctes)
        items = [f"{key} AS k{at}" for at, key in enumerate(keys)]
        items += [f"{self.aggregate('int', over, depth - 1)} AS n", f"max({self.leaf('text', scope)}) AS m"]
        text = f"SELECT {', '.join(items)} FROM {source}"
        if self.chance(40):
            text += f" WHERE {self.expr('bool', scope, depth - 1)}"
        if keys:
            text += f" GROUP BY {self.pick(', '.join(keys), 'ALL', ', '.join(f'k{at}' for at in range(len(keys))))}"
        if self.chance(30):
            text += f" HAVING {self.aggregate('int', over, 0)} > {self.pick('1', 'n', '0')}"
        columns: Columns = (*((f"k{at}", "text") for at in range(len(keys))), ("n", "int"), ("m", "text"))
        return text + self.pick("", " ORDER BY n DESC", " ORDER BY ALL", " LIMIT 2"), columns

    def tail(self, scope: Scope, columns: Columns, depth: int) -> str:
        text = ""
        if self.chance(40):
            keys = [self.pick(columns[0][0], "1", self.expr("int", scope, depth - 2)) for _ in range(2)]
            text += f" ORDER BY {keys[0]} {self.pick('', 'DESC', 'ASC NULLS LAST')}, {keys[1]}"
        if self.chance(30):
            text += f" LIMIT {self.pick('1', '10', '$n', '$n')}{self.pick('', ' OFFSET 2')}"
        return text

    # ---- tables ---------------------------------------------------------------------------------------------------

    def sources(self, around: Scope, depth: int) -> tuple[str, Scope]:
        """A FROM clause and what its tables offer."""
        first, columns, alias = self.source(around, depth)
        text, tables = f"{first} {alias}", [(alias, columns)]
        for _ in range(self.pick(0, 0, 0, 1, 1, 2)):
            more, columns, alias = self.source(around, depth - 1)
            scope = Scope((*tables, (alias, columns), *around.tables), around.ctes)
            text += self.joined(f"{more} {alias}", alias, scope, depth - 1)
            if " SEMI " not in text and " ANTI " not in text:
                tables.append((alias, columns))
        return text, Scope((*tables, *around.tables) if self.chance(60) else tuple(tables), around.ctes)

    def joined(self, more: str, alias: str, scope: Scope, depth: int) -> str:
        """`more`, called `alias`, behind the tables in front of it in `scope`."""
        match self.pick(*("on", "edge", "cross", "comma") * 3, "using", "natural", "some"):
            case "on":
                word = self.pick("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
                return f" {word} {more} ON {self.expr('bool', scope, depth)}"
            case "some":
                word = self.pick("SEMI", "ANTI")
                return f" {word} JOIN {more} ON {self.expr('bool', scope, depth)}"
            case "using":
                return f" {self.pick('', 'LEFT ')}JOIN {more} USING ({self.pick('id', 'city', 'src')})"
            case "natural":
                return f" NATURAL JOIN {more}"
            case "cross":
                return f" CROSS JOIN {more}"
            case "edge":
                column = dict(scope.tables)[alias][0][0]
                return f" JOIN {more} ON {alias}.{column} = {scope.tables[0][0]}.{scope.tables[0][1][0][0]}"
            case _:
                return f", {more}"

    def source(self, around: Scope, depth: int) -> tuple[str, Columns, str]:
        alias = self.alias()
        if around.ctes and self.chance(50):
            name, columns = self.pick(*around.ctes)
            return name, columns, alias
        if depth > 0 and self.chance(12):
            body, columns = self.query(Scope((), around.ctes), depth - 1)
            return f"({body})", columns, alias
        if depth > 0 and self.chance(5):
            body, columns = self.query(around, depth - 1)
            return f"LATERAL ({body})", columns, alias
        if self.chance(15):
            return *self.pattern(depth), alias
        if self.chance(6):
            return *self.gq(), alias
        if self.chance(6):
            return *self.function(), alias
        name = self.pick(*TABLES) if not self.chance(3) else self.pick("Nowhere", "airport", "main.Airport", '"Route"')
        return name + self.travel(), TABLES.get(name, TABLES["Airport"]), alias

    def travel(self) -> str:
        if not self.chance(5):
            return ""
        return self.pick(
            " VERSION AS OF 3",
            " FOR SYSTEM_TIME AS OF '2026-01-31'",
            " AT (BRANCH => 'review')",
            " TIMESTAMP AS OF now()",
        )

    def function(self) -> tuple[str, Columns]:
        return self.pick(*FUNCTIONS)

    def pattern(self, depth: int) -> tuple[str, Columns]:
        """GRAPH_TABLE over a walk along edges that exist."""
        start = self.pick(*NODES)
        variables: list[tuple[str, Columns]] = [("n0", NODES[start])]
        text = self.node("n0", start, depth)
        at = start
        for number in range(self.pick(0, 1, 1, 1, 2)):
            ways = [(name, "out") for name, (source, _, _) in EDGES.items() if source == at]
            ways += [(name, "in") for name, (_, target, _) in EDGES.items() if target == at]
            name, way = self.pick(*ways)
            source, target, columns = EDGES[name]
            at = target if way == "out" else source
            quantifier = self.pick("", "", "", "", "{1,3}", "+", "*", "?", "{2}") if self.chance(40) else ""
            variable = self.pick("", f"e{number}")
            if variable and not quantifier:
                variables.append((variable, columns))
            filler = f"[{variable} {self.pick('IS ', ':')}{name}]"
            text += f"-{filler}->{quantifier}" if way == "out" else f"<-{filler}-{quantifier}"
            text += self.node(f"n{number + 1}", at, depth)
            variables.append((f"n{number + 1}", NODES[at]))
        head = self.pick("", "", "", "ANY SHORTEST ", "p = ")
        scope = Scope(tuple(variables))
        where = f" WHERE {self.expr('bool', scope, depth - 1)}" if self.chance(40) else ""
        kinds = [self.pick(*PLAIN) for _ in range(self.draw(st.integers(1, 3)))]
        items = ", ".join(f"{self.expr(kind, scope, depth - 2)} AS g{place}" for place, kind in enumerate(kinds))
        columns = tuple((f"g{place}", kind) for place, kind in enumerate(kinds))
        return f"GRAPH_TABLE (MATCH {head}{text}{where} COLUMNS ({items}))", columns

    def node(self, variable: str, label: str, depth: int) -> str:
        where = ""
        if self.chance(20):
            where = f" WHERE {self.expr('bool', Scope(((variable, NODES[label]),)), depth - 2)}"
        return f"({variable}{self.pick(f' IS {label}', f':{label}', f':{label}', '')}{where})"

    def gq(self) -> tuple[str, Columns]:
        text = self.pick(
            "match { $a: Airport } return { $a.code as g0 }",
            "match { $a: Airport  $a route $b } return { $a.code as g0, count($b) as g1 }",
            "match { $a: Airport { code: $c } } return { $a.city as g0 }",
        )
        argument = ", c => 'LIM'" if "$c" in text else ""
        return f"gq($$ {text} $${argument})", (("g0", "text"),)

    # ---- statements -----------------------------------------------------------------------------------------------

    def statement(self, depth: int) -> str:
        roll = self.draw(st.integers(0, 99))
        if roll < 60:
            return self.query(Scope(), depth)[0]
        if roll < 66:
            return f"EXPLAIN {self.pick('', 'ANALYZE ', 'FORMAT json ')}{self.query(Scope(), depth)[0]}"
        if roll < 74:
            return self.insert(depth)
        if roll < 80:
            return self.update(depth)
        if roll < 85:
            return self.delete(depth)
        if roll < 89:
            return self.merge(depth)
        if roll < 95:
            return self.definition(depth)
        return self.control(depth)

    def written(self) -> tuple[str, Columns]:
        name = self.pick(*TABLES)
        return name, tuple(column for column in TABLES[name] if column[0] != "id" or self.chance(3))

    def insert(self, depth: int) -> str:
        name, columns = self.written()
        chosen = [column for column in columns if column[1] not in ("blob",) and not self.chance(10)] or list(columns)
        names = ", ".join(column for column, _ in chosen)
        if self.chance(60):
            rows = [
                f"({', '.join(self.expr(kind, Scope(), depth - 2) for _, kind in chosen)})"
                for _ in range(self.draw(st.integers(1, 2)))
            ]
            body = f"VALUES {', '.join(rows)}"
        else:
            source, scope = self.sources(Scope(), depth - 1)
            items = ", ".join(f"{self.expr(kind, scope, depth - 2)} AS {column}" for column, kind in chosen)
            body = f"SELECT {items} FROM {source}"
        conflict = ""
        if self.chance(30):
            change = f"DO UPDATE SET {chosen[-1][0]} = excluded.{chosen[-1][0]}"
            conflict = f" ON CONFLICT {self.pick('', '(code) ', '(iata) ')}{self.pick('DO NOTHING', change)}"
        head = self.pick("INSERT INTO", "INSERT INTO", "INSERT INTO", "INSERT OR REPLACE INTO", "INSERT OR IGNORE INTO")
        return f"{head} {name} ({names}) {body}{conflict}{self.returning(columns)}"

    def returning(self, columns: Columns) -> str:
        return self.pick("", "", "", " RETURNING *", f" RETURNING {columns[0][0]}, 1 + 1 AS two")

    def update(self, depth: int) -> str:
        name, columns = self.written()
        alias = self.alias()
        tables: tuple[tuple[str, Columns], ...] = ((alias, columns),)
        source = ""
        if self.chance(30):
            more, other, called = self.source(Scope(), depth - 1)
            source, tables = f" FROM {more} {called}", (*tables, (called, other))
        scope = Scope(tables)
        column, kind = self.pick(*columns)
        where = f" WHERE {self.expr('bool', scope, depth)}" if self.chance(85) else ""
        change = f"{column} = {self.expr(kind, scope, depth - 1)}"
        return f"UPDATE {name} {alias} SET {change}{source}{where}{self.returning(columns)}"

    def delete(self, depth: int) -> str:
        name, columns = self.written()
        alias = self.alias()
        tables: tuple[tuple[str, Columns], ...] = ((alias, columns),)
        source = ""
        if self.chance(30):
            more, other, called = self.source(Scope(), depth - 1)
            source, tables = f" USING {more} {called}", (*tables, (called, other))
        where = f" WHERE {self.expr('bool', Scope(tables), depth)}" if self.chance(85) else ""
        return f"DELETE FROM {name} {alias}{source}{where}{self.returning(columns)}"

    def merge(self, depth: int) -> str:
        name, columns = self.written()
        more, other, called = self.source(Scope(), depth - 1)
        scope = Scope((("t", columns), (called, other)))
        column, kind = self.pick(*columns)
        value = self.expr(kind, scope, depth - 1)
        names = ", ".join(column for column, _ in columns)
        values = ", ".join(self.expr(of, Scope(((called, other),)), depth - 2) for _, of in columns)
        whens = [
            f"WHEN MATCHED THEN {self.pick(f'UPDATE SET {column} = {value}', 'UPDATE SET *', 'DELETE', 'DO NOTHING')}",
            f"WHEN NOT MATCHED THEN {self.pick(f'INSERT ({names}) VALUES ({values})', 'INSERT *', 'DO NOTHING')}",
            f"WHEN MATCHED AND {self.expr('bool', scope, depth - 1)} THEN UPDATE SET {column} = {value}",
            f"WHEN NOT MATCHED BY SOURCE THEN {self.pick('DELETE', f'UPDATE SET {column} = {value}')}",
        ]
        chosen = self.draw(st.lists(st.sampled_from(whens), min_size=1, max_size=2, unique=True))
        on = self.pick(f"t.{columns[0][0]} = {called}.{other[0][0]}", self.expr("bool", scope, depth - 1))
        return f"MERGE INTO {name} t USING {more} {called} ON {on} {' '.join(chosen)}{self.returning(columns)}"

    def definition(self, depth: int) -> str:
        kind = self.pick(*PLAIN)
        of = self.pick(*TYPES[kind])
        scope = Scope((("x", (("a", kind), ("b", "int"))),))
        return self.pick(
            f"CREATE TABLE New (a {of} PRIMARY KEY, b INT CHECK (b > 0))",
            f"CREATE NODE TABLE New (a {of} NOT NULL DEFAULT {self.leaf(kind, Scope())}, b INT, UNIQUE (a, b))",
            f"CREATE TABLE New (a {of}, b INT, CHECK ({self.expr('bool', scope, 1)}))",
            f"CREATE EDGE TABLE Flies (FROM {self.pick(*NODES)} TO Airport, CARDINALITY 0..2, a {of})",
            f"CREATE TABLE New AS {self.query(Scope(), depth - 1)[0]}",
            f"CREATE OR REPLACE VIEW seen AS {self.query(Scope(), depth - 1)[0]}",
            f"ALTER TABLE {self.pick(*TABLES)} ADD COLUMN more {of}",
            f"ALTER TABLE Airport {self.pick('DROP COLUMN', 'RENAME COLUMN city TO', 'ALTER COLUMN')} blurb",
            f"ALTER TABLE Airport ALTER COLUMN elevation {self.pick('TYPE BIGINT', 'SET NOT NULL', 'SET DEFAULT 3')}",
            f"DROP {self.pick('TABLE', 'VIEW', 'INDEX')} {self.pick('', 'IF EXISTS ')}{self.pick(*TABLES)}",
            f"CREATE INDEX i ON Airport (city) {self.pick('', 'USING btree', 'USING inverted')}",
            f"TRUNCATE {self.pick(*TABLES)}",
            "CREATE PROPERTY GRAPH g VERTEX TABLES (Airport) EDGE TABLES (Route SOURCE Airport DESTINATION Airport)",
        )

    def control(self, depth: int) -> str:
        query = self.query(Scope(), depth - 1)[0]
        return self.pick(
            *("BEGIN", "COMMIT", "ROLLBACK", "SHOW TABLES", "SHOW COMMITS FOR main", "USE BRANCH review", "OPTIMIZE"),
            *("CREATE BRANCH b FROM main", "DROP BRANCH IF EXISTS b", "MERGE BRANCH b INTO main", "VACUUM RETAIN 3"),
            *("SET actor = 'ana'", "SET hops_max = 3", "RESET actor", "CALL omni_branch_create('b')"),
            *("DESCRIBE Airport", "SUMMARIZE Airport", "EXPORT GRAPH 'x.jsonl'", "COPY Airport FROM 'a.csv'"),
            *(f"DESCRIBE {query}", f"SUMMARIZE {query}", f"COPY ({query}) TO 'x.parquet' (FORMAT parquet)"),
        )


@st.composite
def statements(draw: st.DrawFn, depth: int = 3) -> str:
    """One statement."""
    return Writer(draw).statement(depth)


@st.composite
def scripts(draw: st.DrawFn) -> str:
    """A few statements, one behind the other."""
    return ";\n".join(draw(st.lists(statements(depth=2), min_size=1, max_size=3)))
