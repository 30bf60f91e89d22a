"""What a new user gets wrong: every refusal says what to do next, and none shows the insides."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Command

FILES = {
    "bad_cell.csv": "code,city,elevation\nAQP,Arequipa,high\n",
    "no_key.csv": "code,city\n,Arequipa\n",
    "bad_column.csv": "code,town\nAQP,Arequipa\n",
    "taken.csv": "code,city\nLIM,Lima\n",
    "nowhere.csv": "from,to,miles\nLIM,ZZZ,3\n",
    "plain.jsonl": '{"code": "AQP", "city": "Arequipa"}\n',
    "bad_type.jsonl": '{"type": "Airprt", "data": {"code": "AQP"}}\n',
    "list.json": '[{"code": "AQP"}]',
    "range.pg": "node A { k: String @key  n: I32? @range(-5, 5) }",
}
SELECT = "SELECT city FROM Airport WHERE"
MISTAKES = [
    (("air.omn", "-c", "SELECT 1"), "did you mean 'air.omni'?"),
    (("nothing.omni", "-c", "SELECT 1"), "ogsql init nothing.omni --schema FILE.pg makes one"),
    (("lod", "air.omni"), "did you mean 'load'?"),
    (("init", "air.omni", "--schema", "air.pg"), "ogsql air.omni opens it"),
    (("init", "new.omni"), "ogsql init --help"),
    (("init", "new.omni", "--schema", "air.pgg"), "did you mean 'air.pg'?"),
    (("init", "new.omni", "--schema", "elsewhere.pg"), "looked in "),
    (("init", "new.omni", "--schema", "range.pg"), "@range(property, low..high)"),
    (("load", "air.omni", "bad_cell.csv", "--mode", "append"), "--type TYPE"),
    (("load", "air.omni", "bad_cell.csv", "--mode", "append", "--type", "Airport"), "mend the file"),
    (("load", "air.omni", "no_key.csv", "--mode", "append", "--type", "Airport"), "mend the file"),
    (("load", "air.omni", "bad_column.csv", "--mode", "append", "--type", "Airport"), "it has id, code, city"),
    (("load", "air.omni", "taken.csv", "--mode", "append", "--type", "Airport"), "mode merge"),
    (("load", "air.omni", "nowhere.csv", "--mode", "append", "--type", "Route"), "insert the Airport"),
    (("load", "air.omni", "taken.csv", "--mode", "append", "--type", "Airprt"), "the schema has Airport, Route"),
    (("load", "air.omni", "plain.jsonl", "--mode", "append"), "COPY TYPE FROM"),
    (("load", "air.omni", "bad_type.jsonl", "--mode", "append"), "the schema has Airport"),
    (("load", "air.omni", "list.json", "--mode", "append"), "one object in a line"),
    (("load", "air.omni", "taken.cvs", "--mode", "append"), "did you mean 'taken.csv'?"),
    (("load", "air.omni", "taken.csv", "--mode", "upsert"), "'append', 'merge', 'overwrite'"),
    (("air.omni", "SELECT 1"), "a statement is given with -c"),
    (("air.omni", "--formt", "csv", "-c", "SELECT 1"), "--format"),
    (("air.omni", "--branch", "nope", "-c", "SELECT 1"), "ogsql branch list air.omni"),
    (("air.omni", "--at", "99", "-c", "SELECT 1"), "ogsql commit list"),
    (("air.omni", "--at", "2026-01-31T12:00:00", "-c", "SELECT 1"), "2026-01-31T12:00:00Z"),
    (("air.omni", "--read-only", "-c", "DELETE FROM Route"), "--read-only"),
    (("air.omni", "-f", "missing.sql"), "looked in "),
    (
        ("air.omni", "-c", f"{SELECT} city = 'Lima'; DELETE FROM Route; INSERT INTO Airport VALUES ('A', 'b', 1)"),
        "split",
    ),
    (("air.omni", "-c", f'{SELECT} city = "Limma"'), "single quotes"),
    (("air.omni", "-c", f"{SELECT} code = LIM"), "a text stands in single quotes"),
    (("air.omni", "-c", f"{SELECT} code = $c"), "--param name=value"),
    (("air.omni", "-c", f"{SELECT} code = $c", "--param", "d=LIM"), "there are c"),
    (("air.omni", "-c", f"{SELECT} code = $c", "--param", "LIM"), "name=value"),
    (("air.omni", "-c", f"{SELECT} code = %s"), "parameters are written ?"),
    (("air.omni", "-c", f"{SELECT} code = 'LIM"), "single quote"),
    (("air.omni", "-c", "SELCT 1"), "did you mean 'SELECT'?"),
    (("air.omni", "-c", "SELECT a.town FROM Airport a"), "a has id, code, city and elevation"),
    (("air.omni", "-c", "SELECT city, count(*) FROM Airport"), "GROUP BY city"),
    (("air.omni", "-c", "SELECT count(*) FROM Airport GROUP BY"), "GROUP BY names columns"),
    (("air.omni", "-c", "INSERT INTO Airport VALUES ('LIM', 'Lima', 1)"), "INSERT OR REPLACE"),
    (("air.omni", "-c", "INSERT INTO Airport VALUES ('A')"), "name the columns"),
    (("air.omni", "-c", "CREATE TABLE t (id INT)"), "call yours otherwise"),
    (("air.omni", "-c", 'match { $a: Airport { code: "LIM" } } return { $a.town }'), "Airport has code, city"),
    (("air.omni", "-c", "COPY Airport FROM 'nope.csv'"), "working folder"),
    (("air.omni", "-c", "COPY Airport TO 'no/such/folder/a.csv'"), "make the folder first"),
    (("air.omni", "-c", ".tables"), "SHOW TABLES"),
    (("air.omni", "-c", "\\d"), "SHOW TABLES"),
    (("export", "air.omni", "no/such/folder/a.jsonl"), "make the folder first"),
    (("query", "air.omni", "air.qq"), "did you mean 'air.gq'?"),
    *((("pipeline", step, "air.qq"), "did you mean 'air.gq'?") for step in ("check", "plan", "run")),
]


@pytest.mark.parametrize(("args", "next_move"), MISTAKES, ids=[" ".join(args) for args, _ in MISTAKES])
def test_a_mistake_is_answered_with_what_to_do_next(
    ogsql: Command, air: str, folder: Path, args: tuple[str, ...], next_move: str
) -> None:
    assert air == "air.omni"
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    done = ogsql(*args)
    assert done.code in (1, 2), done
    assert done.out == ""
    assert next_move in done.err
    assert "Traceback" not in done.err
    assert "omnigraph_sql/" not in done.err
