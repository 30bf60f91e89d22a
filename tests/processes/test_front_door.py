"""Processes that read and write through the front door: what they decided on must still hold when they commit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from omnigraph_sql import graph as og
from tests.processes.teller import ACCOUNTS, SCHEMA

FULL = os.environ.get("OMNI_CRASH") == "full"
PROCESSES, TRANSFERS = (6, 40) if FULL else (3, 8)
_SECONDS_MAX = 240


def test_money_moves_between_accounts_and_none_is_made_or_lost(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "bank", schema=SCHEMA)
    graph.sql("insert into Account (name, balance) values " + ", ".join(f"('a{i}', 100)" for i in range(ACCOUNTS)))
    before = len(graph.commits())
    tellers = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.processes.teller", str(tmp_path / "bank"), str(TRANSFERS), f"teller {n}"],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        for n in range(PROCESSES)
    ]
    moved = 0
    for teller in tellers:
        said, _ = teller.communicate(timeout=_SECONDS_MAX)
        assert teller.returncode == 0
        moved += said.count("moved")
    balances = [row[0] for row in og.open(tmp_path / "bank").sql("select balance from Account").fetchall()]
    assert sum(balances) == 100 * ACCOUNTS
    assert min(balances) >= 0
    assert len(graph.commits()) - before == moved > 0
