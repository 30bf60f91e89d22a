"""Result: the rows of a statement as Arrow, and what a mutation came to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import chain
from typing import TYPE_CHECKING, Any, Final
from unicodedata import combining, east_asian_width

from omnigraph_sql.engine.write.txn import Receipt

if TYPE_CHECKING:
    import pyarrow as pa

_SHOWN_ROWS: Final = 20
_LOOKED_AT_ROWS: Final = 10_000
"""Rows that showing a result may read; a longer one is not read to its end."""
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
    """Rows, read once from front to back; or the receipt of a mutation. Not for several threads at once.

    >>> import omnigraph_sql as og
    >>> graph = og.init("cities.omni", schema="node City { name: String @key  people: I64? }")
    >>> graph.sql("INSERT INTO City VALUES ('Lima', 10000000), ('Ica', NULL)")
    2 nodes and 0 edges changed, commit ...
    >>> result = graph.sql("SELECT name, people FROM City ORDER BY name")
    >>> result
    name  people
    ----  --------
    Ica   NULL
    Lima  10000000
    >>> result.columns, result.fetchone(), list(result)
    (('name', 'people'), ('Ica', None), [('Lima', 10000000)])
    >>> graph.sql("SELECT name FROM City ORDER BY name").dicts()
    [{'name': 'Ica'}, {'name': 'Lima'}]
    >>> graph.sql("SELECT people FROM City").arrow().num_rows
    2
    >>> graph.close()

    Fetching and iterating go through the rows once and keep none. `arrow()`, and whatever shows the rows, leaves them
    to be fetched.
    """

    def __init__(
        self, reader: pa.RecordBatchReader, *, counts: Counts | None = None, receipt: Receipt | None = None
    ) -> None:
        self._reader = reader
        self._schema: pa.Schema = reader.schema
        self._rows = self._fetching()
        self._waiting: Iterator[pa.RecordBatch] = iter(reader)
        self._batch: pa.RecordBatch | None = None
        self._fetched = 0
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
        """A streaming reader of what was not fetched; of everything in `arrow()` once that was asked for."""
        if self._table is not None:
            return self._table.to_reader()
        begun = self._begun()
        return type(self._reader).from_batches(self._schema, chain(begun, self._reader)) if begun else self._reader

    def arrow(self) -> pa.Table:
        """What was not fetched before the first call, as one table; can be asked for again."""
        if self._table is None:
            later = self._reader.read_all()
            begun = self._begun()
            self._waiting = iter(later.to_batches())
            self._table = type(later).from_batches([*begun, *later.to_batches()], self._schema) if begun else later
        return self._table

    def _begun(self) -> list[pa.RecordBatch]:
        """The rows of the batch at hand that were not fetched."""
        if self._batch is None or self._fetched == self._batch.num_rows:
            return []
        return [self._batch.slice(self._fetched)]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.batches().__arrow_c_stream__(requested_schema)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self._rows

    def _fetching(self) -> Iterator[tuple[Any, ...]]:
        while (batch := next(self._waiting, None)) is not None:
            self._batch, self._fetched = batch, 0
            for row in _tuples(batch):
                self._fetched += 1
                yield row
        self._batch = None

    def fetchone(self) -> tuple[Any, ...] | None:
        return next(iter(self), None)

    def fetchmany(self, size: int = 1) -> list[tuple[Any, ...]]:
        rows = iter(self)
        return [row for _, row in zip(range(size), rows, strict=False)]

    def fetchall(self) -> list[tuple[Any, ...]]:
        return list(self)

    def dicts(self) -> list[dict[str, Any]]:
        """Rows by column name; of columns with one name the last one counts."""
        return [dict(zip(self.columns, row, strict=True)) for row in _every(self.arrow())]

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
            return self._changed()
        head, more = self._head()
        every = (tuple(map(_cell, self.columns)), *head)
        widths = [max(map(_width, column)) for column in zip(*every, strict=True)]
        lines = ["  ".join(_padded(c, w) for c, w in zip(row, widths, strict=True)).rstrip() for row in every]
        lines.insert(1, "  ".join("-" * w for w in widths))
        return "\n".join([*lines, *([] if more == 0 else [f"… {_more(more)}"])])

    def _repr_html_(self) -> str:
        if self._counts is not None and not self.columns:
            return f"<p>{escape(self._changed())}</p>"
        head, more = self._head()
        names = "".join(f"<th>{escape(_cell(name))}</th>" for name in self.columns)
        rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in head)
        rest = "" if more == 0 else f"<p>… {_more(more)}</p>"
        return f"<table><thead><tr>{names}</tr></thead><tbody>{rows}</tbody></table>{rest}"

    def _changed(self) -> str:
        commit = f", commit {self.commit_id}" if self.commit_id else ""
        nodes, edges = _counted(self.affected_nodes, "node"), _counted(self.affected_edges, "edge")
        return f"{nodes} and {edges} changed{commit}"

    def _head(self) -> tuple[list[tuple[str, ...]], int | None]:
        """The first rows as text, and how many more there are; None for more than were looked at."""
        table, ended = self._ahead()
        rows = [tuple(map(_cell, row)) for row in _every(table.slice(0, _SHOWN_ROWS))]
        more = max(0, table.num_rows - _SHOWN_ROWS)
        return rows, more if ended else None

    def _ahead(self) -> tuple[pa.Table, bool]:
        """Rows that were not fetched, at least as many as are shown, and whether these are all; they stay unread."""
        begun = self._begun()
        found: list[pa.RecordBatch] = []
        rows = sum(batch.num_rows for batch in begun)
        while self._table is None and rows <= _LOOKED_AT_ROWS:
            batch = next(self._waiting, None)
            if batch is None:
                break
            found.append(batch)
            rows += batch.num_rows
        ended = self._table is not None or rows <= _LOOKED_AT_ROWS
        if self._table is None:
            kind = type(self._reader)
            self._reader = kind.from_batches(self._schema, chain(found, self._reader))
            self._waiting = iter(self._reader)
        return (self.arrow() if ended else _table(self._schema, [*begun, *found])), ended


def _table(schema: pa.Schema, batches: list[pa.RecordBatch]) -> pa.Table:
    import pyarrow

    return pyarrow.Table.from_batches(batches, schema)


def _more(rows: int | None) -> str:
    return "more rows" if rows is None else _counted(rows, "more row")


def _width(text: str) -> int:
    """Columns of a terminal that a text takes: wide characters two, those that sit on others none."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _every(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    return chain.from_iterable(map(_tuples, table.to_batches()))


def _tuples(batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    columns = [column.to_pylist() for column in batch.columns]
    return zip(*columns, strict=True)


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _cell(value: object) -> str:
    """One line, as wide as it is; what would move the cursor is a space. Indentation stays, plans have it."""
    text = "NULL" if value is None else "".join(c if c.isprintable() else " " for c in str(value))
    return text if len(text) <= _CELL_CHARACTERS else text[: _CELL_CHARACTERS - 1] + "…"
