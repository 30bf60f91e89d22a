"""CREATE, ALTER and DROP TABLE: commands, refusals, and the catalog that later statements see."""

from __future__ import annotations

from decimal import Decimal

import pytest

from omnigraph_sql.base import commands as c
from omnigraph_sql.base.catalog import (
    Cardinality,
    Catalog,
    Check,
    Constraint,
    Index,
    Key,
    NodeType,
    Property,
    Range,
    Unique,
)
from omnigraph_sql.base.types import (
    BLOB,
    BOOL,
    DATE,
    DATETIME,
    F32,
    F64,
    I32,
    I64,
    STRING,
    U32,
    U64,
    DataType,
    EnumType,
    ListType,
    VectorType,
)
from omnigraph_sql.bind.bound import BoundControl
from omnigraph_sql.bind.schema import compile_schema
from omnigraph_sql.bind.sql import bind_script
from omnigraph_sql.bind.sql_evolve import catalog_after
from omnigraph_sql.grammar.sql.parse import parse_script
from tests.bind.statements import bind_all, bind_one, cases, catalog, check_refusal
from tests.schemas import KITCHEN


def column(name: str, of: DataType, nullable: bool = True) -> Property:
    return Property(name, of, nullable)


KEYED = column("a", I32, False)


def node(properties: tuple[Property, ...], rules: tuple[Constraint, ...] = (), exists: bool = False) -> c.Command:
    return c.CreateNodeType("T", properties, rules, exists)


def alter(*changes: c.TypeChange) -> c.Command:
    return c.AlterType("node", "Airport", changes)


COMMANDS: list[tuple[str, c.Command]] = [
    ("CREATE TABLE T (a INT PRIMARY KEY)", node((KEYED,), (Key(("a",)),))),
    ("CREATE NODE TABLE IF NOT EXISTS T (a INT)", node((column("a", I32),), (), True)),
    (
        "CREATE TABLE T (a INT, b TEXT NOT NULL, PRIMARY KEY (a))",
        node((KEYED, column("b", STRING, False)), (Key(("a",)),)),
    ),
    ("CREATE TABLE T (a INT UNIQUE)", node((column("a", I32),), (Unique(("a",)),))),
    (
        "CREATE TABLE T (a INT CHECK (a BETWEEN 0 AND 150))",
        node((column("a", I32),), (Range("a", 0, 150),)),
    ),
    ("CREATE TABLE T (a INT CHECK (a > 0 AND 10 >= a))", node((column("a", I32),), (Range("a", 1, 10),))),
    ("CREATE TABLE T (a REAL, CHECK (a >= 1.5))", node((column("a", F32),), (Range("a", Decimal("1.5"), None),))),
    ("CREATE TABLE T (a TEXT CHECK (regexp_like(a, '^x')))", node((column("a", STRING),), (Check("a", "^x"),))),
    ("CREATE TABLE T (a TEXT CHECK (a IN ('y', 'x')))", node((column("a", EnumType(("x", "y"))),))),
    (
        "CREATE EDGE TABLE T (FROM airport TO Carrier, CARDINALITY 0..1, since DATE)",
        c.CreateEdgeType("T", "Airport", "Carrier", Cardinality(0, 1), (column("since", DATE),), ()),
    ),
    ("DROP TABLE note_", c.DropType("node", "Note_")),
    ("DROP EDGE TABLE route", c.DropType("edge", "Route")),
    ("DROP TABLE IF EXISTS nothing", c.AlterType("node", "nothing", ())),
    ("ALTER TABLE Airport ADD COLUMN runway INT", alter(c.AddProperty(column("runway", I32)))),
    ("ALTER TABLE Airport ADD COLUMN IF NOT EXISTS City TEXT", alter()),
    ("ALTER TABLE Airport DROP COLUMN blurb", alter(c.DropProperty("blurb"))),
    ("ALTER TABLE Airport DROP COLUMN IF EXISTS nothing", alter()),
    ("ALTER TABLE Airport RENAME COLUMN City TO town", alter(c.RenameProperty("city", "town"))),
    ("ALTER TABLE Airport RENAME TO Port", alter(c.RenameType("Port"))),
    ("ALTER TABLE Airport ADD UNIQUE (city)", alter(c.AddConstraint(Unique(("city",))))),
    (
        "ALTER TABLE Airport ADD CONSTRAINT r CHECK (elevation < 9000)",
        alter(c.AddConstraint(Range("elevation", None, 8999))),
    ),
    (
        "ALTER TABLE Airport ADD COLUMN x INT, RENAME COLUMN x TO y, ADD UNIQUE (y)",
        alter(c.AddProperty(column("x", I32)), c.RenameProperty("x", "y"), c.AddConstraint(Unique(("y",)))),
    ),
    ("ALTER TABLE IF EXISTS nothing ADD COLUMN x INT", c.AlterType("node", "nothing", ())),
]


@pytest.mark.parametrize(("sql", "command"), COMMANDS, ids=[sql for sql, _ in COMMANDS])
def test_a_schema_statement_becomes_its_command(sql: str, command: c.Command) -> None:
    sql, command = sql.replace("note_", "loose"), c.DropType("node", "Loose") if "note_" in sql else command
    made = bind_all(f"CREATE TABLE Loose (a INT); {sql}")[1]
    assert made.statement == BoundControl(command)


TYPES: list[tuple[str, DataType]] = [
    *((name, STRING) for name in ("TEXT", "VARCHAR", "VARCHAR(20)", "String", "CHAR(3)")),
    *((name, BOOL) for name in ("BOOLEAN", "Bool")),
    *((name, I32) for name in ("INT", "INTEGER", "SMALLINT", "I32")),
    *((name, I64) for name in ("BIGINT", "I64")),
    *((name, U32) for name in ("UINTEGER", "UINT32", "U32")),
    *((name, U64) for name in ("UBIGINT", "U64")),
    *((name, F32) for name in ("REAL", "FLOAT", "F32")),
    *((name, F64) for name in ("DOUBLE", "DOUBLE PRECISION", "F64")),
    ("DATE", DATE),
    *((name, DATETIME) for name in ("TIMESTAMP", "TIMESTAMPTZ", "DATETIME")),
    *((name, BLOB) for name in ("BLOB", "BYTEA")),
    *((name, ListType(STRING)) for name in ("TEXT[]", "VARCHAR[]")),
    ("INT[]", ListType(I32)),
    *((name, VectorType(4)) for name in ("VECTOR(4)", "FLOAT[4]")),
    ("ENUM('b', 'a')", EnumType(("a", "b"))),
]


@pytest.mark.parametrize(("name", "of"), TYPES, ids=[name for name, _ in TYPES])
def test_a_column_type_becomes_a_property_type(name: str, of: DataType) -> None:
    assert bind_one(f"CREATE TABLE T (a {name})").statement == BoundControl(node((column("a", of),)))


REFUSED = """
CREATE TABLE airport (a INT)
    type | a table called Airport exists already | airport
CREATE EDGE TABLE IF NOT EXISTS Airport (FROM Airport TO Airport)
    type | a table called Airport exists already | Airport
CREATE TABLE "a b" (a INT)
    type | 'a b' is not a table name | "a b"
CREATE TABLE "x".T (a INT)
    not_supported | works on the branch of the session only | "x".T
CREATE TABLE T (a INT, A TEXT)
    type | the column a is declared twice | A
CREATE TABLE T (id INT)
    S8 | may not call a property 'id' | id
CREATE TABLE T (a DECIMAL(10, 2))
    not_supported | a column cannot have the type DECIMAL(10, 2) | a DECIMAL(10, 2)
CREATE TABLE T (a JSON)
    not_supported | a column cannot have the type JSON | a JSON
CREATE TABLE T (a INT DEFAULT 5)
    not_supported | columns have no default values | a INT DEFAULT 5
CREATE TABLE T (a INT REFERENCES Airport)
    not_supported | a table has no foreign keys | a INT REFERENCES Airport
CREATE TABLE T (a INT, PRIMARY KEY (b))
    unknown_name | unknown column 'b' | b
CREATE TABLE T (a INT PRIMARY KEY, b INT PRIMARY KEY)
    S13 | has more than one key | b INT PRIMARY KEY
CREATE TABLE T (a INT CHECK (a > b))
    not_supported | the schema has no rule for the condition | a INT CHECK (a > b)
CREATE TABLE T (a TEXT CHECK (a > 5))
    not_supported | only numbers have a range | a TEXT CHECK (a > 5)
CREATE TABLE T (a INT CHECK (a BETWEEN 5 AND 1))
    S18 | has a range on a that nothing fits | a INT CHECK (a BETWEEN 5 AND 1)
CREATE TABLE T (a TEXT CHECK (regexp_like(a, '(')))
    S20 | has a malformed regular expression | a TEXT CHECK (regexp_like(a, '('))
CREATE TABLE T AS SELECT 1 AS x
    not_supported | CREATE TABLE … AS is not supported | T
CREATE EDGE TABLE T (FROM Airprt TO Airport)
    unknown_name | unknown node table 'Airprt' | Airprt
CREATE EDGE TABLE T (FROM Route TO Airport)
    unknown_name | unknown node table 'Route' | Route
DROP TABLE Airprt
    unknown_name | unknown table 'Airprt' | Airprt
DROP TABLE Carrier
    type | edges end on Carrier: Hub, Owns and Rides | Carrier
ALTER TABLE Airport ADD COLUMN city TEXT
    type | the column city is declared twice | city
ALTER TABLE Airport ADD COLUMN x INT PRIMARY KEY
    not_supported | a new column comes without rules | x INT PRIMARY KEY
ALTER TABLE Airport DROP COLUMN code
    type | code is part of the key of Airport | code
ALTER TABLE Airport DROP COLUMN id
    type | id belongs to every node table and stays | id
ALTER TABLE Airport DROP COLUMN cty
    unknown_name | unknown column 'cty' | cty
ALTER TABLE Airport RENAME COLUMN city TO Blurb
    type | Airport has a column Blurb already | Blurb
ALTER TABLE Airport RENAME TO carrier
    type | a table called carrier exists already | carrier
ALTER TABLE Airport ADD PRIMARY KEY (city)
    not_supported | a table cannot get a key later | ADD PRIMARY KEY (city)
ALTER TABLE Airport DROP CONSTRAINT x
    not_supported | a constraint cannot be dropped by name | x
ALTER TABLE Airport ALTER COLUMN city TYPE INT
    not_supported | ALTER COLUMN is not supported | ALTER COLUMN city TYPE INT
ALTER TABLE Airport ALTER COLUMN cty TYPE INT
    unknown_name | unknown column 'cty' | cty
"""


@pytest.mark.parametrize(("sql", "expected"), cases(REFUSED))
def test_a_refusal_says_what_and_where(sql: str, expected: str) -> None:
    check_refusal(sql, expected)


# ---- the catalog afterwards ---------------------------------------------------------------------------------------


def after(sql: str, before: Catalog | None = None) -> Catalog:
    """The catalog once every statement of a script is carried out."""
    at = before or catalog()
    for program in bind_script(parse_script(sql), at):
        assert isinstance(program.statement, BoundControl)
        at = catalog_after(program.statement.command, at)
    return at


def test_a_new_table_is_there_without_an_identity() -> None:
    grown = after("CREATE TABLE T (a INT PRIMARY KEY); CREATE EDGE TABLE Near (FROM T TO Airport)")
    made, edge = grown.node("T"), grown.edge("Near")
    assert made is not None
    assert edge is not None
    assert (made.stable_id, made.key, made.properties[0].stable_id) == (0, ("a",), 0)
    assert (edge.source, edge.target, edge.stable_id) == ("T", "Airport", 0)


def test_if_not_exists_leaves_an_existing_table_alone() -> None:
    assert after("CREATE TABLE IF NOT EXISTS Note (x INT)") is catalog()


def test_a_dropped_table_is_gone() -> None:
    rest = after("DROP TABLE Tagged; DROP TABLE Note")
    assert rest.edge("Tagged") is None
    assert rest.node("Note") is None
    assert rest.node("Airport") is catalog().node("Airport")


def test_columns_change_in_place_and_keep_their_identity() -> None:
    old, new = (
        catalog().node("Airport"),
        after("ALTER TABLE Airport RENAME COLUMN code TO iata, DROP blurb").node("Airport"),
    )
    assert old is not None
    assert new is not None
    assert new.key == ("iata",)
    assert new.properties[0].stable_id == old.properties[0].stable_id
    assert new.property("blurb") is None
    assert Index(("blurb",)) not in new.constraints


def test_edges_follow_a_renamed_node() -> None:
    renamed = after("ALTER TABLE Airport RENAME TO Port")
    assert renamed.node("Airport") is None
    assert [(e.source, e.target) for e in renamed.edges if e.name in ("Route", "Hub")] == [
        ("Port", "Port"),
        ("Carrier", "Port"),
    ]


def test_an_embedding_follows_its_renamed_text() -> None:
    kitchen = compile_schema(KITCHEN).catalog
    renamed = after("ALTER TABLE Recipe RENAME COLUMN summary TO abstract", kitchen).node("Recipe")
    assert isinstance(renamed, NodeType)
    embed = renamed.property("embed")
    assert embed is not None
    assert embed.embedding is not None
    assert embed.embedding.source == "abstract"


def test_an_index_counts_at_once() -> None:
    indexed = after("CREATE INDEX ON Airport (city); CREATE UNIQUE INDEX ON Airport (elevation)").node("Airport")
    assert indexed is not None
    assert "city" in indexed.indexed
    assert Unique(("elevation",)) in indexed.constraints


def test_other_commands_leave_the_catalog_alone() -> None:
    assert after("OPTIMIZE; CREATE BRANCH x; SET actor = 'x'") is catalog()


def test_later_statements_of_a_script_see_the_changed_schema() -> None:
    bind_all(
        """
        CREATE TABLE City (name TEXT PRIMARY KEY, people BIGINT);
        CREATE EDGE TABLE LiesIn (FROM Airport TO City);
        INSERT INTO City VALUES ('Lima', 10000000);
        INSERT INTO LiesIn VALUES ('LIM', 'Lima');
        ALTER TABLE City RENAME COLUMN people TO inhabitants;
        UPDATE City SET inhabitants = 1;
        ALTER TABLE City RENAME TO Town;
        SELECT inhabitants FROM Town;
        DROP TABLE LiesIn;
        DROP TABLE Town;
        """
    )
    check_refusal(
        "DROP TABLE Tagged; DROP TABLE Note; SELECT body FROM Note", "unknown_name | unknown table 'Note' | Note"
    )
