"""D₂ over scripts: units, transactions, and commands that end a unit."""

from __future__ import annotations

import pytest

from omnigraph_sql.base.errors import BoundaryViolation
from omnigraph_sql.bind.boundaries import UnitKinds
from omnigraph_sql.bind.sql import bind_script, bind_statement
from omnigraph_sql.grammar.sql.parse import parse_one, parse_script
from tests.bind.statements import bind_all, catalog, refusal

BUILD = "INSERT INTO Note (body) VALUES ('x')"
CHANGE = "UPDATE Note SET body = 'y'"
TEAR = "DELETE FROM Note"
READ = "SELECT body FROM Note"


def script(letters: str) -> str:
    words = {
        "b": BUILD,
        "r": "INSERT OR REPLACE INTO Airport (code, city) VALUES ('a', 'b')",
        "u": CHANGE,
        "l": "COPY Note FROM 'n.csv'",
        "i": "IMPORT GRAPH 'g.jsonl'",
        "t": TEAR,
        "T": "TRUNCATE Note",
        "q": READ,
        "e": f"EXPLAIN {TEAR}",
        "E": f"EXPLAIN ANALYZE {TEAR}",
        "B": "BEGIN",
        "C": "COMMIT",
        "R": "ROLLBACK",
        "D": "CREATE TABLE Extra (a INT)",
        "U": "USE BRANCH x",
        "S": "SET branch = 'x'",
        "A": "SET actor = 'ana'",
        "M": "MERGE BRANCH x",
        "N": "CREATE BRANCH x",
        "O": "OPTIMIZE",
    }
    return ";\n".join(words[letter] for letter in letters)


@pytest.mark.parametrize(
    "letters",
    [
        *("bru", "tTt", "qqq", "bqu", "tqT", "lib", "beb", "bAb"),
        # a transaction is a unit of its own, and so is what follows it
        *("bBtC", "BbCBtC", "BtCb", "BbRt", "tBbCt", "Bb"),
        # commands that commit first end the unit
        *("bDt", "bUt", "bSt", "bMt", "bNt", "bOt", "BbDt", "BbDtC", "bCt"),
    ],
)
def test_units_of_one_kind_are_bound(letters: str) -> None:
    assert len(bind_all(script(letters))) == len(letters)


@pytest.mark.parametrize(
    ("letters", "offender"),
    [
        *(("bt", 2), ("tb", 2), ("ut", 2), ("bT", 2), ("rt", 2), ("lt", 2), ("it", 2), ("bE", 2), ("Eb", 2)),
        *(("bqt", 3), ("bAt", 3), ("bet", 3), ("tqqu", 4)),
        *(("Bbt", 3), ("BbtC", 3), ("bBbCBtb", 7), ("BbCbt", 5), ("bDbt", 4), ("DtBbCtb", 7)),
    ],
)
def test_the_first_statement_that_mixes_its_unit_is_refused(letters: str, offender: int) -> None:
    error = refusal(script(letters))
    assert isinstance(error, BoundaryViolation)
    assert error.code == "D2"
    # one statement per line
    assert error.at.line == offender


def test_the_refusal_names_the_unit_both_statements_and_the_way_out() -> None:
    error = refusal(script("bqt"))
    assert error.message == (
        "D₂: script mixes inserts or updates with deletes: "
        "statement 1 (insert) is constructive, statement 3 (delete) is destructive"
    )
    assert error.hint == "split it in two: first the inserts and updates, then the deletes"
    assert "the transaction of line 2 mixes" in refusal(script("bBbt")).message


def test_the_caller_names_the_script() -> None:
    with pytest.raises(BoundaryViolation, match="cell 7 mixes"):
        bind_script(parse_script(script("bt")), catalog(), unit="cell 7")


def test_a_transaction_within_a_transaction_is_refused() -> None:
    error = refusal(script("BB"))
    assert (error.code, error.at.line) == ("boundary", 2)
    assert refusal(script("BqB")).at.line == 3
    bind_all(script("BCB"))


def test_a_session_keeps_its_unit_when_a_statement_is_refused() -> None:
    unit = UnitKinds("transaction")
    for text in (BUILD, READ):
        statement = parse_one(text)
        unit = unit.admit(bind_statement(statement, catalog()).statement, statement.source.locate(statement.span))
    before = unit
    delete = parse_one(TEAR)
    with pytest.raises(BoundaryViolation):
        unit.admit(bind_statement(delete, catalog()).statement, delete.source.locate(delete.span))
    assert unit == before
    change = parse_one(CHANGE)
    assert unit.admit(bind_statement(change, catalog()).statement, delete.source.locate(delete.span)).statements == 3
