"""A process that was forked from one with an open graph: everything says so, nothing hangs, nothing is damaged."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os, sys, warnings
import omnigraph_sql as og

where = sys.argv[1]
if os.environ.get("FORK_FIRST"):
    pid = os.fork()
    if pid == 0:
        with og.connect(where, create=True) as con:
            print(con.execute("SELECT 1").fetchone(), flush=True)
        os._exit(0)
    sys.exit(os.waitpid(pid, 0)[1])

SCHEMA = "node Note { text: String }"
graph = og.init(where, schema=SCHEMA)
con = og.connect(where)
con.execute("INSERT INTO Note (text) VALUES ('before')")
transaction = graph.transaction()
transaction.sql("INSERT INTO Note (text) VALUES ('open')")
rows = con.execute("SELECT n FROM generate_series(1, 100000) AS s(n)")
result = graph.sql("SELECT n FROM generate_series(1, 100000) AS s(n)")
begun = graph.sql("SELECT n FROM generate_series(1, 100000) AS s(n)")
begun.fetchone()
USES = {
    "open": lambda: og.open(where),
    "init": lambda: og.init(where + "2", schema=SCHEMA),
    "connect": lambda: og.connect(where),
    "sql": lambda: graph.sql("SELECT 1"),
    "head": lambda: graph.head,
    "load": lambda: graph.load(where, mode="append"),
    "transaction": lambda: transaction.sql("SELECT 1"),
    "transaction.commit": lambda: transaction.commit(),
    "execute": lambda: con.execute("SELECT 1"),
    "executemany": lambda: con.executemany("INSERT INTO Note (text) VALUES (?)", [("x",)]),
    "commit": lambda: con.commit(),
    "fetch": lambda: rows.fetchall(),
    "result": lambda: result.arrow(),
    "result.begun": lambda: begun.fetchall(),
}
warnings.simplefilter("ignore")
pid = os.fork()
if pid == 0:
    for name, use in USES.items():
        try:
            use()
            print(name, "worked", flush=True)
        except og.Error as error:
            print(name, type(error).__name__, error.code, "spawn" in (error.hint or ""), flush=True)
    con.rollback()
    con.close()
    graph.close()
    os._exit(0)
status = os.waitpid(pid, 0)[1]
con.commit()
transaction.rollback()
print("parent", status, graph.sql("SELECT text FROM Note").fetchall(), len(rows.fetchall()))
"""


def run(where: Path, **environment: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(where)],
        env={"PYTHONWARNINGS": "ignore", **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="this system does not fork")
def test_a_forked_child_is_refused_and_its_parent_goes_on(tmp_path: Path) -> None:
    *child, parent = run(tmp_path / "fork.omni")
    told = [line.split() for line in child]
    kinds = {name: kind for name, kind, *_ in told}
    of_the_tree = ("open", "init", "sql", "head", "load", "transaction", "transaction.commit", "result", "result.begun")
    assert {name for name, kind in kinds.items() if kind == "ConflictError"} == set(of_the_tree)
    assert {name for name, kind in kinds.items() if kind == "InterfaceError"} == set(kinds) - set(of_the_tree)
    assert [rest for _, _, *rest in told] == [["forked", "True"]] * 14
    assert parent == "parent 0 [('before',)] 100000"


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="this system does not fork")
def test_a_child_forked_before_the_first_graph_works(tmp_path: Path) -> None:
    assert run(tmp_path / "first.omni", FORK_FIRST="1") == ["(1,)"]
