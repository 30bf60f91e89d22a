"""Moves money between accounts in SQL: `python -m tests.processes.teller <graph> <count> <seed>`.

Every transfer reads two balances, decides, and writes both. Each line of the output is a commit.
"""

from __future__ import annotations

import random
import sys

from omnigraph_sql import graph as og
from omnigraph_sql.base.errors import ReadSetChanged, RecoveryRequired

ACCOUNTS = 4
SCHEMA = "node Account { name: String @key  balance: I64 }"
_ATTEMPTS_MAX = 400


def transfer(graph: og.Graph, giver: str, taker: str, amount: int) -> str | None:
    """Move the amount, if the giver has it; the commit."""
    with graph.transaction() as txn:
        rows = txn.sql("select name, balance from Account where name in ($1, $2)", [giver, taker]).fetchall()
        held = dict(rows)
        if held[giver] < amount:
            return None
        for name, balance in ((giver, held[giver] - amount), (taker, held[taker] + amount)):
            txn.sql("update Account set balance = $1 where name = $2", [balance, name])
    return graph.head


def main(uri: str, count: str, seed: str) -> None:
    choice = random.Random(seed)
    graph = og.open(uri, actor=seed)
    for _ in range(int(count)):
        giver, taker = choice.sample([f"a{i}" for i in range(ACCOUNTS)], 2)
        for _ in range(_ATTEMPTS_MAX):
            try:
                if transfer(graph, giver, taker, choice.randint(1, 30)) is not None:
                    print("moved", flush=True)
                break
            except ReadSetChanged:
                continue
            except RecoveryRequired:
                graph = og.open(uri, actor=seed)
        else:
            raise AssertionError(f"no transfer in {_ATTEMPTS_MAX} attempts")


if __name__ == "__main__":
    main(*sys.argv[1:4])
