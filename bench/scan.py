"""How long scans take, each beside the same query over the bare table: DataFusion with the least dataset that works.

Both are asked in turn, round by round. Printed are medians and ratios, without pending rows and with many of them in an
open transaction. Exits with 1 when a stated ceiling is passed. `--rows` and `--rounds` make it smaller.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pds

from omnigraph_sql import graph as og

SCHEMA = "node Item { name: String @key  n: I64  kind: I32  price: F64  day: Date  label: String }"
KINDS = 100
PENDING = 100_000
BARE_RATIO_MAX = 1.3
"""Without pending rows, against the bare table."""
PENDING_RATIO_MAX = 2.0
"""With pending rows, against the same without."""
POINT_MS_MAX = 3.0
POINT_RATIO_MAX = 2.5
"""Against a Lance scanner with a filter on the id."""
PIECE = 500_000


@dataclass(frozen=True, slots=True)
class Query:
    name: str
    text: str
    """`{t}` stands for the table."""


def queries(rows: int) -> list[Query]:
    some = ", ".join(f"'{key(n)}'" for n in range(0, rows, max(1, rows // 20))[:20])
    low, high = rows // 10, rows // 10 + rows // 3
    return [
        Query("count", "SELECT count(*) AS c FROM {t}"),
        Query("point", f"SELECT n, label FROM {{t}} WHERE id = '{key(rows // 2)}'"),
        Query("IN list", f"SELECT n, label FROM {{t}} WHERE id IN ({some})"),
        Query("range", f"SELECT count(*) AS c, sum(price) AS s FROM {{t}} WHERE n >= {low} AND n < {high}"),
        Query("group by", "SELECT kind, count(*) AS c, sum(price) AS s FROM {t} GROUP BY kind"),
        Query("projection", "SELECT n, price FROM {t}"),
    ]


def key(number: int) -> str:
    return f"item-{(number * 7_919) % 1_000_003:07d}-{number}"


def made(folder: Path, rows: int) -> og.Graph:
    graph = og.init(folder / "scan.omni", schema=SCHEMA)

    def pieces() -> Iterator[pa.RecordBatch]:
        rng = np.random.default_rng(5)
        for start in range(0, rows, PIECE):
            own = np.arange(start, min(start + PIECE, rows))
            yield pa.RecordBatch.from_pydict(
                {
                    "name": [key(int(n)) for n in own],
                    "n": own,
                    "kind": pa.array(own % KINDS, pa.int32()),
                    "price": rng.random(len(own)),
                    "day": pa.array(own % 9_000, pa.int32()).cast(pa.date32()),
                    "label": [f"label {n % 1000}" for n in own],
                }
            )

    first = next(pieces())
    graph.load(pa.RecordBatchReader.from_batches(first.schema, pieces()), mode="append", type="Item")
    graph.ensure_indices()
    return graph


# ---- the bare table ---------------------------------------------------------------------------------------------


class _Scanner:
    def __init__(self, schema: pa.Schema, batches: Callable[[], Any]) -> None:
        self.projected_schema, self.to_batches = schema, batches


class Bare(pds.Dataset):
    """A Lance table as an Arrow dataset: projection and filter go to the scanner, nothing else is done."""

    def __init__(self, table: Any) -> None:
        self._table, self._fields = table, table.schema

    @property
    def schema(self) -> pa.Schema:
        return self._fields

    def _projected(self, columns: list[str] | None) -> pa.Schema:
        return self._fields if columns is None else pa.schema([self._fields.field(name) for name in columns])

    def get_fragments(self, filter: Any = None) -> list[Any]:
        del filter
        return [self]

    def scanner(self, *_: Any, columns: list[str] | None = None, filter: Any = None, **__: Any) -> Any:
        projected = self._projected(columns)

        def batches() -> Any:
            if not projected.names and filter is None:
                empty = pa.Array.from_buffers(pa.struct([]), self._table.count_rows(), [None], children=[])
                return iter([pa.RecordBatch.from_struct_array(empty)])
            scan = self._table.scanner(columns=projected.names, filter=filter, batch_size=65_536)
            return scan.to_reader()

        return _Scanner(projected, batches)


def bare_asker(table: Any) -> Callable[[str], int]:
    from datafusion import SessionConfig, SessionContext, Table

    context = SessionContext(SessionConfig().with_target_partitions(1))
    context.register_table("bare", Table(Bare(table)))
    return lambda text: rows_in(pa.RecordBatchReader.from_stream(context.sql(text.format(t="bare"))))


def rows_in(reader: pa.RecordBatchReader) -> int:
    return sum(batch.num_rows for batch in reader)


# ---- measuring --------------------------------------------------------------------------------------------------


def milliseconds(work: Callable[[], int]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def compared(rounds: int, askers: dict[str, Callable[[], int]]) -> dict[str, float]:
    """Medians, measured in turn; the first two rounds are not counted."""
    found: dict[str, list[float]] = {name: [] for name in askers}
    for number in range(rounds + 2):
        for name, ask in askers.items():
            took = milliseconds(ask)
            if number >= 2:
                found[name].append(took)
    return {name: statistics.median(times) for name, times in found.items()}


def table_of(graph: og.Graph) -> Any:
    snapshot = graph._session.snapshot()
    (pin,) = [pin for pin in snapshot.tables if pin.key == "node:Item"]
    return graph._world.tables.open(pin).dataset


def pending(graph: og.Graph, rows: int) -> Any:
    """An open transaction with many changed and new rows."""
    half = min(PENDING, rows) // 2
    tx = graph.transaction()
    tx.sql(f"UPDATE Item SET price = price + 1 WHERE n < {half}")
    tx.sql(
        "INSERT INTO Item (name, n, kind, price, day, label) SELECT 'new-' || CAST(v AS VARCHAR), "
        f"{rows} + v, 1, CAST(0.5 AS DOUBLE), DATE '2024-01-01', 'new' FROM generate_series(1, {half}) AS s(v)"
    )
    return tx


def line(name: str, figures: list[str], missed: bool) -> None:
    print(f"{name:12}" + "".join(f"{figure:>14}" for figure in figures) + ("   MISSED" if missed else ""))


def scans(graph: og.Graph, rows: int, rounds: int) -> bool:
    bare = bare_asker(table_of(graph))
    tx = pending(graph, rows)
    missed = False
    line("", ["bare ms", "ours ms", "ratio", "pending ms", "ratio"], missed=False)
    for query in queries(rows):
        own = query.text.format(t="Item")

        def ask(handle: Any, text: str = own) -> int:
            return rows_in(handle.sql(text).batches())

        askers = {"bare": lambda q=query: bare(q.text), "ours": lambda a=ask: a(graph), "tx": lambda a=ask: a(tx)}
        took = compared(rounds, askers)
        plain, loaded = took["ours"] / took["bare"], took["tx"] / took["ours"]
        bad = plain > BARE_RATIO_MAX or loaded > PENDING_RATIO_MAX
        missed |= bad
        figures = [f"{took['bare']:.2f}", f"{took['ours']:.2f}", f"{plain:.2f}", f"{took['tx']:.2f}", f"{loaded:.2f}"]
        line(query.name, figures, bad)
    tx.rollback()
    return missed


def points(graph: og.Graph, rows: int, rounds: int) -> bool:
    """Rows by key, a different one each time, against the scanner itself."""
    table, numbers = table_of(graph), iter(range(10**9))

    def scanner() -> int:
        wanted = key((next(numbers) * 104_729) % rows)
        return int(table.scanner(columns=["n", "label"], filter=f"id = '{wanted}'").to_table().num_rows)

    def ours() -> int:
        wanted = key((next(numbers) * 104_729) % rows)
        return graph.sql("SELECT n, label FROM Item WHERE name = $k", {"k": wanted}).arrow().num_rows

    took = compared(rounds * 20, {"scanner": scanner, "ours": ours})
    ratio = took["ours"] / took["scanner"]
    bad = took["ours"] > POINT_MS_MAX or ratio > POINT_RATIO_MAX
    line("by key", [f"{took['scanner']:.2f}", f"{took['ours']:.2f}", f"{ratio:.2f}"], bad)
    return bad


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=5_000_000)
    options.add_argument("--rounds", type=int, default=9)
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="omnigraph-scan-") as folder:
        graph = made(Path(folder), given.rows)
        missed = scans(graph, given.rows, given.rounds)
        missed |= points(graph, given.rows, given.rounds)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
