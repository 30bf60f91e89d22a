"""House statements become commands; whatever they name is checked without touching a graph."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from omnigraph_sql.base import commands as c
from omnigraph_sql.base.expr import Literal, Param
from omnigraph_sql.base.names import BranchName, PointKind
from omnigraph_sql.base.travel import ReadPoint
from omnigraph_sql.base.types import BOOL, DATETIME, I64, INTERVAL, STRING
from omnigraph_sql.bind.bound import BoundControl
from tests.bind.statements import bind_one, cases, check_refusal, refusal


def text(value: str) -> Literal:
    return Literal(value, STRING)


def number(value: int) -> Literal:
    return Literal(value, I64)


def branch(name: str) -> BranchName:
    return BranchName.parse(name)


MAIN = ReadPoint(PointKind.BRANCH, branch=branch("main"))
CSV = (("format", text("csv")),)

COMMANDS: list[tuple[str, c.Command]] = [
    ("BEGIN", c.Begin()),
    ("START TRANSACTION", c.Begin()),
    ("COMMIT", c.Commit()),
    ("END", c.Commit()),
    ("ROLLBACK WORK", c.Rollback()),
    # session
    ("SET branch = 'review/x'", c.SetOption("branch", text("review/x"))),
    ("SET SESSION Actor TO ana", c.SetOption("actor", text("ana"))),
    ("SET commit_message = 'first'", c.SetOption("commit_message", text("first"))),
    ("SET if_commit = '01H'", c.SetOption("if_commit", text("01H"))),
    ("SET edge_delete = RESTRICT", c.SetOption("edge_delete", text("restrict"))),
    ("SET hops_max = 12", c.SetOption("hops_max", number(12))),
    ("SET read_only = on", c.SetOption("read_only", Literal(True, BOOL))),
    ("SET read_only = 0", c.SetOption("read_only", Literal(False, BOOL))),
    ("SET actor = $who", c.SetOption("actor", Param("who", STRING))),
    ("SET hops_max = ?", c.SetOption("hops_max", Param("1", I64))),
    ("SET actor = DEFAULT", c.SetOption("actor", None)),
    ("SET if_commit = NULL", c.SetOption("if_commit", None)),
    ("RESET edge_delete", c.SetOption("edge_delete", None)),
    ("SHOW TABLES", c.Show("tables")),
    ("SHOW NODES", c.Show("nodes")),
    ("SHOW EDGES", c.Show("edges")),
    ("SHOW BRANCHES", c.Show("branches")),
    ("SHOW COMMITS", c.Show("commits")),
    ('SHOW COMMITS FOR BRANCH "a/b"', c.Show("commits", "a/b")),
    ("SHOW CONFLICTS", c.Show("conflicts")),
    ("SHOW INDEXES", c.Show("indexes")),
    ("SHOW INDEXES ON airport", c.Show("indexes", "Airport")),
    ("SHOW SETTINGS", c.Show("settings")),
    ("SHOW VIEWS", c.Show("views")),
    ("DESCRIBE airport", c.Describe("Airport")),
    ("DESC TABLE Route", c.Describe("Route")),
    # branches
    ("CREATE BRANCH x", c.CreateBranch(branch("x"), False)),
    ('CREATE BRANCH IF NOT EXISTS "review/x" FROM main', c.CreateBranch(branch("review/x"), True, MAIN)),
    ("CREATE BRANCH x AS OF VERSION 3", c.CreateBranch(branch("x"), False, ReadPoint(PointKind.VERSION, number(3)))),
    (
        "CREATE BRANCH x AS OF TIMESTAMP '2031-02-03'",
        c.CreateBranch(
            branch("x"), False, ReadPoint(PointKind.TIMESTAMP, Literal(datetime(2031, 2, 3, tzinfo=UTC), DATETIME))
        ),
    ),
    ("DROP BRANCH x", c.DropBranch(branch("x"), False)),
    ("DROP BRANCH IF EXISTS x", c.DropBranch(branch("x"), True)),
    ("MERGE BRANCH x", c.MergeBranch(branch("x"), None, False)),
    ("MERGE BRANCH x INTO main DELETE SOURCE", c.MergeBranch(branch("x"), branch("main"), True)),
    ('USE BRANCH "review/x"', c.UseBranch(branch("review/x"))),
    ("USE main", c.UseBranch(branch("main"))),
    # procedures
    ("CALL omni_branch_create('x')", c.CreateBranch(branch("x"), False)),
    ("CALL omni_branch_create('x', 'main')", c.CreateBranch(branch("x"), False, MAIN)),
    ("CALL OMNI_BRANCH_CREATE(name => 'x', if_not_exists => true)", c.CreateBranch(branch("x"), True)),
    ("CALL omni_branch_create(?, 'main')", c.CallProcedure("omni_branch_create", (Param("1", STRING), text("main")))),
    ("CALL omni_branch_delete('x')", c.DropBranch(branch("x"), False)),
    ("CALL omni_branch_drop('x', true)", c.DropBranch(branch("x"), True)),
    ("CALL omni_branch_merge('x', 'main', true)", c.MergeBranch(branch("x"), branch("main"), True)),
    ("CALL omni_branch_use('x')", c.UseBranch(branch("x"))),
    ("CALL omni_optimize()", c.Optimize(None)),
    ("CALL omni_vacuum('route', 5)", c.Vacuum("Route", number(5))),
    # indexes and maintenance
    ("CREATE INDEX ON Airport (city)", c.CreateIndex(None, "Airport", ("city",), None, False, False)),
    ("CREATE INDEX i ON Airport (CODE, city)", c.CreateIndex("i", "Airport", ("code", "city"), None, False, False)),
    ("CREATE INDEX ON Route (src) USING BTREE", c.CreateIndex(None, "Route", ("src",), "btree", False, False)),
    ("CREATE UNIQUE INDEX i ON Carrier (name)", c.CreateIndex("i", "Carrier", ("name",), None, True, False)),
    (
        "CREATE INDEX IF NOT EXISTS i ON Airport USING INVERTED (blurb) WITH (language = english, stem = false)",
        c.CreateIndex(
            "i",
            "Airport",
            ("blurb",),
            "inverted",
            False,
            True,
            (("language", text("english")), ("stem", Literal(False, BOOL))),
        ),
    ),
    ("CREATE INDEX ON Airport USING FTS (blurb)", c.CreateIndex(None, "Airport", ("blurb",), "inverted", False, False)),
    (
        "CREATE INDEX i ON Airport (pos) USING IVF_PQ WITH (num_partitions = 16, metric = 'L2')",
        c.CreateIndex(
            "i", "Airport", ("pos",), "ivf_pq", False, False, (("num_partitions", number(16)), ("metric", text("l2")))
        ),
    ),
    (
        "CREATE INDEX ON Airport USING IVF_FLAT (pos)",
        c.CreateIndex(None, "Airport", ("pos",), "ivf_flat", False, False),
    ),
    (
        "CREATE INDEX ON Airport USING IVF_HNSW_SQ (pos)",
        c.CreateIndex(None, "Airport", ("pos",), "ivf_hnsw_sq", False, False),
    ),
    (
        "CREATE INDEX ON Airport USING LABEL_LIST (tags)",
        c.CreateIndex(None, "Airport", ("tags",), "label_list", False, False),
    ),
    ("DROP INDEX i", c.DropIndex("i", False)),
    ("DROP INDEX IF EXISTS i ON Airport", c.DropIndex("i", True)),
    ("OPTIMIZE", c.Optimize(None)),
    ("OPTIMIZE airport", c.Optimize("Airport")),
    ("VACUUM", c.Vacuum(None, None)),
    ("VACUUM Airport RETAIN 10", c.Vacuum("Airport", number(10))),
    ("VACUUM RETAIN $1", c.Vacuum(None, Param("1"))),
    # property graphs and views
    (
        "CREATE PROPERTY GRAPH g VERTEX TABLES (Airport KEY (code)) EDGE TABLES (Route SOURCE KEY (src) "
        "REFERENCES Airport (id) DESTINATION KEY (dst) REFERENCES Airport (id) LABEL route)",
        c.CreatePropertyGraph("g", ("Airport",), ("Route",)),
    ),
    ("CREATE PROPERTY GRAPH g NODE TABLES (carrier, Airport)", c.CreatePropertyGraph("g", ("Carrier", "Airport"), ())),
    ("DROP PROPERTY GRAPH IF EXISTS g", c.DropPropertyGraph("g", True)),
    ("DROP VIEW IF EXISTS v", c.DropView("v", True)),
    # files
    ("COPY Airport FROM 'a.csv'", c.CopyFrom("Airport", (), text("a.csv"), "append", CSV)),
    ("COPY Airport FROM 's3://b/A.CSV.GZ'", c.CopyFrom("Airport", (), text("s3://b/A.CSV.GZ"), "append", CSV)),
    (
        "COPY Airport (city, code) FROM 'a.data' (FORMAT csv, HEADER, SEP ';', MODE merge)",
        c.CopyFrom(
            "Airport",
            ("city", "code"),
            text("a.data"),
            "merge",
            (*CSV, ("header", Literal(True, BOOL)), ("delimiter", text(";"))),
        ),
    ),
    (
        'COPY Route ("from", "to", miles) FROM $path (FORMAT parquet)',
        c.CopyFrom("Route", ("src", "dst", "miles"), Param("path", STRING), "append", (("format", text("parquet")),)),
    ),
    ("EXPORT GRAPH 'x.jsonl'", c.ExportGraph(text("x.jsonl"))),
    ("EXPORT GRAPH TO ?", c.ExportGraph(Param("1", STRING))),
    ("IMPORT GRAPH 'x.jsonl'", c.ImportGraph(text("x.jsonl"))),
    ("IMPORT GRAPH FROM 'x' (FORMAT jsonl, MODE overwrite)", c.ImportGraph(text("x"), "overwrite")),
]


@pytest.mark.parametrize(("sql", "command"), COMMANDS, ids=[sql for sql, _ in COMMANDS])
def test_a_statement_becomes_its_command(sql: str, command: c.Command) -> None:
    assert bind_one(sql).statement == BoundControl(command)


def test_an_interval_can_be_retained() -> None:
    statement = bind_one("VACUUM RETAIN INTERVAL '7 days'").statement
    assert isinstance(statement, BoundControl)
    assert isinstance(statement.command, c.Vacuum)
    assert statement.command.retain is not None
    assert statement.command.retain.type == INTERVAL


REFUSED = """
# session
SET actr = 'x'
    unknown_name | unknown setting 'actr' | actr
SET hops_max = 65
    type | hops_max is 1 to 64, not 65 | 65
SET hops_max = 0
    type | hops_max is 1 to 64, not 0 | 0
SET hops_max = many
    type | hops_max takes a whole number, not many | many
SET hops_max = 1 + 1
    type | hops_max takes a constant | 1 + 1
SET actor = 5
    type | actor takes a text, not 5 | 5
SET read_only = 'perhaps'
    type | read_only takes true or false | 'perhaps'
SET edge_delete = 'restric'
    type | edge_delete is cascade or restrict, not 'restric' | 'restric'
SET branch = 'a..b'
    branch_name | is not a branch name | 'a..b'
SHOW INDEXES ON airprt
    unknown_name | unknown table 'airprt' | airprt
SHOW COMMITS FOR BRANCH "a//b"
    branch_name | is not a branch name | "a//b"
DESCRIBE Airprt
    unknown_name | unknown table 'Airprt' | Airprt
SUMMARIZE Airprt
    unknown_name | unknown table 'Airprt' | Airprt
# branches
CREATE BRANCH "a b"
    branch_name | is not a branch name | "a b"
CREATE BRANCH main
    type | every graph has the branch main already | main
CREATE BRANCH x FROM x
    type | a branch cannot start at itself | x
CREATE BRANCH x FROM main AS OF VERSION 3
    not_supported | a branch starts at a branch or at a point | 3
DROP BRANCH main
    type | the branch main cannot be dropped | main
MERGE BRANCH x INTO x
    type | a branch cannot be merged into itself | x
MERGE BRANCH main INTO x DELETE SOURCE
    type | the branch main cannot be dropped | main
# procedures
CALL omni_branch_crate('x')
    unknown_name | unknown procedure 'omni_branch_crate' | omni_branch_crate
CALL omni_branch_create()
    type | omni_branch_create needs name | omni_branch_create
CALL omni_branch_create('x', 'y', true, 1)
    type | takes at most 3 arguments | 1
CALL omni_branch_create('x', fron => 'y')
    unknown_name | unknown argument 'fron' | fron => 'y'
CALL omni_branch_create('x', name => 'y')
    type | omni_branch_create gets name twice | name => 'y'
CALL omni_branch_create(5)
    type | name takes a text, not 5 | 5
CALL omni_branch_create('a b')
    branch_name | is not a branch name | 'a b'
CALL omni_branch_drop('main')
    type | the branch main cannot be dropped | 'main'
CALL omni_branch_create($1, if_not_exists => true)
    not_supported | has its arguments in order | omni_branch_create
CALL omni_optimize('Airprt')
    unknown_name | unknown table 'Airprt' | 'Airprt'
# indexes and maintenance
CREATE INDEX ON Airport (cty)
    unknown_name | unknown column 'cty' | cty
CREATE INDEX ON Airprt (city)
    unknown_name | unknown table 'Airprt' | Airprt
CREATE INDEX ON Airport (city, CITY)
    type | city is named twice | city
CREATE INDEX ON Airport (photo)
    type | an index takes any column but a Blob; photo is Blob | photo
CREATE INDEX ON Airport USING BTREE (pos)
    type | a BTREE index takes columns of numbers | pos
CREATE INDEX ON Airport USING INVERTED (pos)
    type | an INVERTED index takes a text column; pos is Vector(4) | pos
CREATE INDEX ON Airport USING IVF_PQ (city)
    type | an IVF_PQ index takes a vector column; city is String | city
CREATE INDEX ON Airport USING INVERTED (city, blurb)
    not_supported | a INVERTED index has one column | blurb
CREATE UNIQUE INDEX ON Airport (tags)
    type | a unique index takes columns | tags
CREATE INDEX ON "x".Airport (city)
    not_supported | works on the branch of the session only | "x".Airport
CREATE INDEX ON Airport USING IVF_PQ (pos) WITH (num_partition = 1)
    unknown_name | unknown option 'num_partition' | 1
CREATE INDEX ON Airport USING IVF_PQ (pos) WITH (num_partitions = 0)
    type | num_partitions is 1 to | 0
CREATE INDEX ON Airport (city) WITH (a = 1)
    unknown_name | unknown option 'a' | 1
DROP INDEX i ON Airprt
    unknown_name | unknown table 'Airprt' | Airprt
OPTIMIZE Airprt
    unknown_name | unknown table 'Airprt' | Airprt
VACUUM Airport RETAIN 'long'
    type | RETAIN takes a number of versions or an interval | 'long'
# property graphs and views
CREATE PROPERTY GRAPH g VERTEX TABLES (Route)
    type | Route is an edge table | Route
CREATE PROPERTY GRAPH g VERTEX TABLES (Airport, Airport)
    type | Airport is listed twice | Airport
CREATE PROPERTY GRAPH g VERTEX TABLES (Airprt)
    unknown_name | unknown table 'Airprt' | Airprt
CREATE PROPERTY GRAPH g VERTEX TABLES (Airport) EDGE TABLES (Carrier)
    type | Carrier is a node table | Carrier
CREATE PROPERTY GRAPH g VERTEX TABLES (Airport) EDGE TABLES (Hub)
    type | Hub starts at Carrier, which is not in | Hub
CREATE PROPERTY GRAPH g VERTEX TABLES (Airport) EDGE TABLES (Route SOURCE Carrier DESTINATION Airport)
    type | Route starts at Airport, not at Carrier | Carrier
CREATE PROPERTY GRAPH g VERTEX TABLES (Airport LABEL place)
    not_supported | has no other labels | place
CREATE PROPERTY GRAPH g VERTEX TABLES (Airport AS a)
    not_supported | keeps its name | a
CREATE PROPERTY GRAPH g VERTEX TABLES (Airport PROPERTIES (city))
    not_supported | shows all its columns | PROPERTIES (city)
CREATE PROPERTY GRAPH omni VERTEX TABLES (Airport)
    type | omni is the graph of all types already | omni
CREATE OR REPLACE PROPERTY GRAPH g VERTEX TABLES (Airport)
    not_supported | has no OR REPLACE | g
DROP PROPERTY GRAPH omni
    type | omni is the graph of all types and stays | omni
DROP PROPERTY GRAPH g
    unknown_name | unknown property graph 'g' | g
DROP VIEW v
    unknown_name | unknown view 'v' | v
CREATE VIEW Airport AS SELECT 1 AS x
    type | a table called Airport exists already | Airport
CREATE VIEW v (a, b) AS SELECT 1 AS x
    type | 2 columns are named, the query has 1 | a, b
CREATE VIEW v (a, A) AS SELECT 1 AS x, 2 AS y
    type | the column A is named twice | A
CREATE VIEW v AS SELECT cty FROM Airport
    unknown_name | unknown column 'cty' | cty
CREATE VIEW v AS SELECT * FROM v
    unknown_name | unknown table 'v' | v
CREATE VIEW v AS SELECT $1 AS x
    not_supported | a view has no parameters | $1
# files
COPY Airport FROM 'a.xyz'
    type | the format cannot be told from this path | 'a.xyz'
COPY Airport FROM $p
    type | a path given as a parameter does not tell its format | $p
COPY Airport FROM ' '
    type | the path is empty | ' '
COPY Airport FROM 'a.csv' (FORMAT cvs)
    type | FORMAT is parquet, csv, jsonl, arrow or lance, not 'cvs' | cvs
COPY Airport FROM 'a.csv' (FORMAT $f)
    not_supported | FORMAT is not given as a parameter | $f
COPY Airport FROM 'a.csv' (MODE replace)
    type | MODE is append, merge or overwrite, not 'replace' | replace
COPY Airport FROM 'a.csv' (HEADR)
    unknown_name | unknown option 'HEADR' | HEADR
COPY Airport FROM 'a.csv' (DELIMITER '::')
    type | DELIMITER is one character | '::'
COPY Airport FROM 'a.csv' (SEP ';', DELIMITER ',')
    type | the option DELIMITER is given twice | ','
COPY Airport FROM 'a.parquet' (HEADER)
    unknown_name | unknown option 'HEADER' | HEADER
COPY Airport (code) FROM 'a.csv'
    type | Airport needs city; it cannot be null | Airport
COPY Airport (id, code, city) FROM 'a.csv'
    type | the id of Airport cannot be given | id
COPY Airport (code, cty) FROM 'a.csv'
    unknown_name | unknown column 'cty' | cty
COPY Route FROM 'a.csv' (MODE merge)
    type | rows are merged by key, and Route has none | Route
COPY Airprt TO 'a.csv'
    unknown_name | unknown table 'Airprt' | Airprt
COPY Airport TO 'a.csv' (MODE append)
    unknown_name | unknown option 'MODE' | append
EXPORT GRAPH 'x.csv'
    not_supported | a whole graph is written as JSON lines | 'x.csv'
EXPORT GRAPH 'x.jsonl' (MODE append)
    unknown_name | unknown option 'MODE' | append
EXPLAIN ANALYZE DROP BRANCH x
    not_supported | EXPLAIN ANALYZE runs queries and changes of rows only | EXPLAIN ANALYZE
"""


@pytest.mark.parametrize(("sql", "expected"), cases(REFUSED))
def test_a_refusal_says_what_and_where(sql: str, expected: str) -> None:
    check_refusal(sql, expected)


@pytest.mark.parametrize(
    ("sql", "suggestion"),
    [
        ("SET actr = 'x'", "actor"),
        ("SET edge_delete = 'restric'", "restrict"),
        ("CALL omni_branch_crate('x')", "omni_branch_create"),
        ("CREATE INDEX ON Airport USING IVFPQ (pos)", "ivf_pq"),
        ("COPY Airport FROM 'a.csv' (HEADR)", "header"),
        ("OPTIMIZE Airprt", "Airport"),
    ],
)
def test_a_misspelt_word_is_suggested(sql: str, suggestion: str) -> None:
    assert refusal(sql).suggestion == suggestion
