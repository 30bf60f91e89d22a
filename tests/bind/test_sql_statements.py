"""Every kind of statement there is can be bound, and nothing but a LanguageError comes out of the binder."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph_sql.base import commands
from omnigraph_sql.base.errors import LanguageError
from omnigraph_sql.bind.bound import BoundControl, BoundProgram
from omnigraph_sql.bind.sql import SqlOptions, bind_script
from omnigraph_sql.grammar.ast.sql import HouseStatement
from omnigraph_sql.grammar.sql.parse import parse_one, parse_script
from tests.bind.statements import bind_one, catalog, unguarded
from tests.fuzz.corpus import bent_texts

SURFACE = """
# time travel
SELECT code FROM Airport VERSION AS OF 3
SELECT code FROM Airport FOR VERSION AS OF 'commit'
SELECT code FROM Airport TIMESTAMP AS OF '2031-02-03'
SELECT code FROM Airport FOR SYSTEM_TIME AS OF '2031-02-03T04:05:06Z'
SELECT code FROM Airport AT (VERSION => 3)
SELECT code FROM Airport AT (TIMESTAMP => '2031-02-03')
SELECT code FROM Airport AT (BRANCH => 'review/x')
# branches
SELECT code FROM "review/x".Airport
UPDATE "review/x".Airport SET city = 'x'
USE BRANCH "review/x"
SET branch = 'review/x'
SELECT current_branch(), current_commit()
CREATE BRANCH IF NOT EXISTS "review/x" FROM main
CREATE BRANCH x AS OF VERSION 3
DROP BRANCH IF EXISTS "review/x"
MERGE BRANCH "review/x" INTO main DELETE SOURCE
SHOW BRANCHES
SHOW COMMITS FOR BRANCH main
SHOW CONFLICTS
CALL omni_branch_create('x')
# history
SELECT * FROM omni.branches
SELECT id, actor, message FROM omni.commits
SELECT * FROM omni.tables
SELECT * FROM omni.indexes
SELECT * FROM graph_changes('a', 'b')
SELECT * FROM table_changes('Airport', 1, 2)
SELECT * FROM graph_merge_preview('x', 'main')
SELECT * FROM graph_conflicts()
SET commit_message = 'x'
SET actor = 'x'
SET if_commit = 'x'
# changes of rows
INSERT INTO Hub VALUES ('a', 'b')
INSERT INTO Airport (code, city) SELECT iata, name FROM Carrier
INSERT INTO Airport BY NAME SELECT iata AS code, name AS city FROM Carrier
INSERT INTO Airport (code, city) VALUES ('a', 'b') ON CONFLICT DO NOTHING
INSERT INTO Airport (code, city) VALUES ('a', 'b') ON CONFLICT (code) DO UPDATE SET city = excluded.city WHERE true
INSERT OR REPLACE INTO Airport (code, city) VALUES ('a', 'b')
INSERT OR IGNORE INTO Airport (code, city) VALUES ('a', 'b') RETURNING *
UPDATE Airport SET city = c.name FROM Carrier c WHERE c.iata = code RETURNING code
DELETE FROM Airport USING Carrier c WHERE c.iata = code RETURNING code
MERGE INTO Airport USING Carrier c ON code = c.iata WHEN MATCHED THEN UPDATE SET city = c.name RETURNING merge_action
MERGE INTO Airport USING Carrier c ON code = c.iata WHEN NOT MATCHED BY SOURCE AND city = 'x' THEN DELETE
TRUNCATE Airport
SET edge_delete = 'restrict'
# schema
CREATE NODE TABLE IF NOT EXISTS Person (name TEXT PRIMARY KEY, age INT CHECK (age BETWEEN 0 AND 150), emb VECTOR(4))
CREATE EDGE TABLE Knows (FROM Airport TO Airport, CARDINALITY 0..1, since DATE)
CREATE TABLE t (a INT, b TEXT[])
ALTER TABLE Airport ADD COLUMN x INT
ALTER TABLE Airport DROP COLUMN blurb
ALTER TABLE Airport RENAME COLUMN city TO town
ALTER TABLE Airport RENAME TO Port
ALTER TABLE Airport ADD CONSTRAINT u UNIQUE (city)
DROP TABLE Route
CREATE UNIQUE INDEX i ON Airport (city)
CREATE INDEX i ON Airport (pos) USING IVF_PQ WITH (num_partitions = 2)
DROP INDEX i
OPTIMIZE Airport
VACUUM Airport RETAIN INTERVAL '7 days'
CREATE OR REPLACE VIEW v AS SELECT code FROM Airport
DROP VIEW IF EXISTS v
CREATE PROPERTY GRAPH g VERTEX TABLES (Airport) EDGE TABLES (Route)
DROP PROPERTY GRAPH IF EXISTS g
# catalog
SELECT table_name FROM information_schema.tables
SELECT column_name FROM information_schema.columns
SHOW TABLES
SHOW NODES
SHOW EDGES
SHOW INDEXES ON Airport
SHOW SETTINGS
SHOW VIEWS
DESCRIBE Airport
DESCRIBE SELECT code FROM Airport
SUMMARIZE Airport
SUMMARIZE SELECT code FROM Airport
EXPLAIN SELECT code FROM Airport
EXPLAIN ANALYZE UPDATE Airport SET city = 'x'
EXPLAIN FORMAT json SELECT code FROM Airport
RESET actor
# files
COPY Airport TO 'x.parquet'
COPY Airport TO 'x.lance'
COPY (SELECT code FROM Airport) TO 'x.csv' (HEADER)
COPY Airport FROM 'x.jsonl' (MODE overwrite)
COPY Airport FROM 'x.arrow' (MODE merge)
EXPORT GRAPH 'x.jsonl'
IMPORT GRAPH 'x.jsonl' (MODE merge)
# transactions
BEGIN
COMMIT
ROLLBACK
"""
STATEMENTS = [line for line in SURFACE.splitlines() if line and not line.startswith("#")]


@pytest.mark.parametrize("sql", STATEMENTS)
def test_every_statement_of_the_surface_is_bound(sql: str) -> None:
    assert isinstance(bind_one(sql), BoundProgram)


def test_the_surface_holds_every_house_statement_and_every_command() -> None:
    kinds = {type(parse_one(sql).tree) for sql in STATEMENTS}
    assert set(get_args(HouseStatement)) <= kinds
    bound = (bind_one(sql).statement for sql in STATEMENTS)
    made = {type(statement.command) for statement in bound if isinstance(statement, BoundControl)}
    # A procedure with parameters is the one command no plain statement becomes.
    assert set(get_args(commands.Command)) - made == {commands.CallProcedure}


@settings(max_examples=400, deadline=None)
@given(bent_texts(st.sampled_from(STATEMENTS), 1).map(lambda texts: texts[0]))
def test_bent_statements_are_bound_or_refused_with_a_place(text: str) -> None:
    options = SqlOptions(views=(("v", "SELECT code FROM Airport"),))
    refused: LanguageError | None = None
    try:
        with unguarded():
            bind_script(parse_script(text), catalog(), options)
    except LanguageError as error:
        refused = error
    if refused is not None:
        assert 0 <= refused.at.start <= refused.at.end <= len(text)
        assert refused.message
