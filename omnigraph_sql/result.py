"""Result: the rows of a statement as Arrow, and what a mutation came to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Final

from omnigraph_sql.engine.write.txn import Receipt

if TYPE_CHECKING:
    import pyarrow as pa

_SHOWN_ROWS: Final = 20
_CELL_CHARACTERS: Final = 60


@dataclass(frozen=True, slots=True)
class Counts:
    """What a mutation changed."""

    affected_nodes: int = 0
    affected_edges: int = 0

    @property
    def total(self) -> int:
        return self.affected_nodes + self.affected_edges


class Result:
    """Rows, read once from front to back; or the receipt of a mutation. Not for several threads at once."""

    def __init__(
        self, reader: pa.RecordBatchReader, *, counts: Counts | None = None, receipt: Receipt | None = None
    ) -> None:
        self._reader = reader
        self._schema: pa.Schema = reader.schema
        self._rows: Iterator[tuple[Any, ...]] | None = None
        self._table: pa.Table | None = None
        self._counts = counts
        self._receipt = receipt

    # ---- facts ------------------------------------------------------------------------------------------------

    @property
    def columns(self) -> tuple[str, ...]:
        """Names as the client sees them; they may repeat."""
        return tuple(self._schema.names)

    @property
    def schema(self) -> pa.Schema:
        return self._schema

    @property
    def affected_nodes(self) -> int:
        return self._counts.affected_nodes if self._counts is not None else 0

    @property
    def affected_edges(self) -> int:
        return self._counts.affected_edges if self._counts is not None else 0

    @property
    def commit_id(self) -> str | None:
        """The commit that made a mutation visible; None when nothing changed, or inside a transaction."""
        return self._receipt.commit_id if self._receipt is not None else None

    @property
    def rowcount(self) -> int:
        """Rows a mutation changed; -1 for a query whose rows have not been counted."""
        if self._counts is not None:
            return self._counts.total
        return self._table.num_rows if self._table is not None else -1

    # ---- rows -------------------------------------------------------------------------------------------------

    def batches(self) -> pa.RecordBatchReader:
        """A streaming reader of what is left."""
        return self._table.to_reader() if self._table is not None else self._reader

    def arrow(self) -> pa.Table:
        """Everything as one table; can be asked for again."""
        if self._table is None:
            self._table = self._reader.read_all()
        return self._table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.batches().__arrow_c_stream__(requested_schema)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        if self._rows is None:
            self._rows = _tuples(self.batches())
        return self._rows

    def fetchone(self) -> tuple[Any, ...] | None:
        return next(iter(self), None)

    def fetchmany(self, size: int = 1) -> list[tuple[Any, ...]]:
        rows = iter(self)
        return [row for _, row in zip(range(size), rows, strict=False)]

    def fetchall(self) -> list[tuple[Any, ...]]:
        return list(self)

    def dicts(self) -> list[dict[str, Any]]:
        """Rows by column name; of columns with one name the last one counts."""
        return [dict(zip(self.columns, row, strict=True)) for row in _tuples(self.arrow().to_reader())]

    def df(self) -> Any:
        """A pandas DataFrame; pandas must be installed."""
        return self.arrow().to_pandas()

    def pl(self) -> Any:
        """A polars DataFrame; polars must be installed."""
        from importlib import import_module

        return import_module("polars").from_arrow(self.arrow())

    # ---- showing ----------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        if self._counts is not None and not self.columns:
            commit = f", commit {self.commit_id}" if self.commit_id else ""
            nodes, edges = _counted(self.affected_nodes, "node"), _counted(self.affected_edges, "edge")
            return f"{nodes} and {edges} changed{commit}"
        head, more = self._head()
        widths = [max(len(cell) for cell in column) for column in zip(self.columns, *head, strict=True)]
        every = (self.columns, *head)
        lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in every]
        lines.insert(1, "  ".join("-" * w for w in widths))
        return "\n".join([*lines, *([f"… {more} more rows"] if more else [])])

    def _repr_html_(self) -> str:
        head, more = self._head()
        names = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in head)
        rest = f"<p>… {more} more rows</p>" if more else ""
        return f"<table><thead><tr>{names}</tr></thead><tbody>{rows}</tbody></table>{rest}"

    def _head(self) -> tuple[list[tuple[str, ...]], int]:
        table = self.arrow()
        rows = [tuple(map(_cell, row)) for row in _tuples(table.slice(0, _SHOWN_ROWS).to_reader())]
        return rows, max(0, table.num_rows - _SHOWN_ROWS)


def _tuples(reader: pa.RecordBatchReader) -> Iterator[tuple[Any, ...]]:
    for batch in reader:
        columns = [column.to_pylist() for column in batch.columns]
        if columns:
            yield from zip(*columns, strict=True)


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _cell(value: object) -> str:
    text = "NULL" if value is None else " ".join(str(value).split())
    return text if len(text) <= _CELL_CHARACTERS else text[: _CELL_CHARACTERS - 1] + "…"
