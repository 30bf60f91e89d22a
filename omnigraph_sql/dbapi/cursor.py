"""Cursor: a statement of a connection and the rows it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from omnigraph_sql.base.catalog import NodeType
from omnigraph_sql.base.process import refuse_forked
from omnigraph_sql.bind.parameters import Given
from omnigraph_sql.dbapi.errors import InterfaceError, ProgrammingError, telling
from omnigraph_sql.dbapi.types import Column, described
from omnigraph_sql.plan.mutations import Delete, Merge
from omnigraph_sql.result import Result
from omnigraph_sql.session import Request

if TYPE_CHECKING:
    import pyarrow as pa

    from omnigraph_sql.dbapi.connection import Connection

RowFactory = Callable[["Cursor", tuple[Any, ...]], Any]
"""Makes what a fetch gives of a row; gets the cursor for its description."""


def dict_row(cursor: Cursor, row: tuple[Any, ...]) -> dict[str, Any]:
    """A row factory: a dictionary by column name."""
    return dict(zip((column[0] for column in cursor.description or ()), row, strict=True))


class Cursor:
    """One statement at a time. All cursors of a connection are part of its transaction.

    >>> import omnigraph_sql as og
    >>> con = og.connect("numbers.omni", create=True)
    >>> cursor = con.cursor()
    >>> for row in cursor.execute("SELECT n, n * n FROM generate_series(1, 3) AS s(n) ORDER BY n"):
    ...     print(row)
    (1, 1)
    (2, 4)
    (3, 9)
    >>> cursor.execute("SELECT 'x' AS word").description[0][:2]
    ('word', string)
    >>> con.close()
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._closed = False
        self._result: Result | None = None
        self._description: tuple[Column, ...] | None = None
        self._rowcount = -1
        self._fetched = 0
        self.arraysize = 1
        self.row_factory = connection.row_factory
        self.lastrowid: None = None
        """Always None: ids are not numbers. RETURNING id gives them."""

    # ---- facts ------------------------------------------------------------------------------------------------

    @property
    def connection(self) -> Connection:
        return self._connection

    @property
    def description(self) -> tuple[Column, ...] | None:
        """The columns of the rows, seven facts each; None when there are none."""
        return self._description

    @property
    def rowcount(self) -> int:
        """Rows that a change has changed, edges that went with a node left out; -1 for a query."""
        return self._rowcount

    @property
    def rownumber(self) -> int | None:
        """How many rows were fetched; None when there are none to fetch."""
        return None if self._description is None else self._fetched

    # ---- statements -------------------------------------------------------------------------------------------

    def execute(self, operation: str, parameters: Given = None) -> Cursor:
        """Run SQL or `.gq`, perhaps several statements; the rows are those of the last. Gives the cursor itself.

        >>> import omnigraph_sql as og
        >>> con = og.connect("cities.omni", create=True, schema="node City { name: String @key }")
        >>> con.execute("SELECT upper($word) AS loud", {"word": "lima"}).fetchone()
        ('LIMA',)
        >>> con.close()
        """
        request = self._ready(operation, parameters)
        self._take(self._connection.run(request), request)
        return self

    def describe(self, operation: str) -> tuple[Column, ...] | None:
        """What `description` would be after `execute`, without running anything; None for a text that gives no rows.

        >>> import omnigraph_sql as og
        >>> con = og.connect("cities.omni", create=True, schema="node City { name: String @key }")
        >>> [column[:2] for column in con.cursor().describe("SELECT name, 1 AS one FROM City")]
        [('name', string), ('one', int64)]
        >>> con.close()
        """
        self._refuse_closed()
        with telling():
            return described(self._connection.graph.describe(operation)) or None

    def cancel(self) -> None:
        """Stop what the connection is running, from any thread; the same as its `interrupt()`."""
        self._connection.interrupt()

    def executemany(self, operation: str, seq_of_parameters: Iterable[Given]) -> Cursor:
        """Run one statement for every set of parameters, all or nothing; inserts go in great parts.

        `rowcount` is the sum. Rows that RETURNING gives are not kept.
        """
        request = self._ready(operation, None)
        self._take(self._connection.run_many(request, seq_of_parameters), request)
        self._description = None
        return self

    def adbc_ingest(
        self,
        table_name: str,
        data: Any,
        mode: str = "create",
        *,
        catalog_name: str | None = None,
        db_schema_name: str | None = None,
        temporary: bool = False,
    ) -> int:
        """Load whatever hands over an Arrow stream into a table, as one commit; gives the number of rows.

        `mode` is `create` (the table must be new; its columns follow from the data), `append`, `replace` or
        `create_append`. It is a commit of its own at once, so no transaction may be open. Refused rows leave nothing,
        a table that was made for them included; `replace` with other columns drops what was there first.

        >>> import omnigraph_sql as og, pyarrow as pa
        >>> con = og.connect("menu.omni", create=True)
        >>> con.cursor().adbc_ingest("dishes", pa.table({"name": ["Ceviche", "Causa"], "price": [9.5, 6.0]}))
        2
        >>> con.execute("SELECT name FROM dishes WHERE price < 7").fetchall()
        [('Causa',)]
        >>> con.close()
        """
        from omnigraph_sql.dbapi.ingest import ingest, refuse_elsewhere

        self._ready("", None)
        refuse_elsewhere(self._connection, catalog_name, db_schema_name, temporary)
        self._connection.refuse_transaction("an ingestion is a commit of its own")
        self._rowcount = ingest(self._connection, table_name, data, mode)
        return self._rowcount

    def _ready(self, operation: str, parameters: Given) -> Request:
        self._refuse_closed()
        self._result, self._description, self._rowcount, self._fetched = None, None, -1, 0
        if not isinstance(operation, str):
            raise ProgrammingError(f"a statement is a text, not {type(operation).__name__}")
        return Request(operation, parameters)

    def _take(self, result: Result, request: Request) -> None:
        self._result = result
        self._description = described(result.schema) or None
        self._rowcount = result.rowcount
        if result.affected_nodes and result.affected_edges:
            self._rowcount = self._own_rows(result, request)

    def _own_rows(self, result: Result, request: Request) -> int:
        """Rows of the statement's own table: the edges that a deleted node takes along are not counted."""
        session = self._connection.graph.session
        every = session.steps(request, session.snapshot())
        plan = every[0].program.plan if len(every) == 1 else None
        if isinstance(plan, Delete | Merge):
            return result.affected_nodes if isinstance(plan.type, NodeType) else result.affected_edges
        return result.rowcount

    def setinputsizes(self, sizes: object) -> None:
        """Does nothing: types follow from the statement."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Does nothing: values come whole."""

    # ---- rows -------------------------------------------------------------------------------------------------

    def fetchone(self) -> Any:
        """The next row, or None after the last."""
        result = self._rows()
        with telling():
            row = result.fetchone()
        return None if row is None else self._made([row])[0]

    def fetchmany(self, size: int | None = None) -> list[Any]:
        """The next rows, at most `size` (`arraysize` without it)."""
        result = self._rows()
        with telling():
            return self._made(result.fetchmany(self.arraysize if size is None else size))

    def fetchall(self) -> list[Any]:
        """All rows that were not fetched."""
        result = self._rows()
        with telling():
            return self._made(result.fetchall())

    def _made(self, rows: list[tuple[Any, ...]]) -> list[Any]:
        self._fetched += len(rows)
        make = self.row_factory
        return rows if make is None else [make(self, row) for row in rows]

    def __iter__(self) -> Iterator[Any]:
        self._rows()
        return self

    def __next__(self) -> Any:
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row

    # ---- Arrow and frames -------------------------------------------------------------------------------------

    def fetch_arrow_table(self) -> pa.Table:
        """All rows that were not fetched, as one Arrow table."""
        return self.fetch_record_batch().read_all()

    to_arrow_table = fetch_arrow_table

    def fetch_record_batch(self) -> pa.RecordBatchReader:
        """A stream of Arrow batches of what was not fetched. Errors on the way are those of PEP 249."""
        from pyarrow import RecordBatchReader

        reader = self._rows().batches()
        return RecordBatchReader.from_batches(reader.schema, _told(reader))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.fetch_record_batch().__arrow_c_stream__(requested_schema)

    def fetch_df(self) -> Any:
        """All rows that were not fetched, as a pandas frame."""
        return self.fetch_arrow_table().to_pandas()

    def fetch_polars(self) -> Any:
        """All rows that were not fetched, as a polars frame."""
        from importlib import import_module

        return import_module("polars").from_arrow(self.fetch_arrow_table())

    # ---- ending -----------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Drop the rows; every later use raises InterfaceError."""
        self._closed, self._result, self._description = True, None, None

    def _rows(self) -> Result:
        self._refuse_closed()
        with telling():
            refuse_forked()
        if self._result is None or self._description is None:
            raise ProgrammingError("there are no rows to fetch", code="no_rows", hint="execute a query first")
        return self._result

    def _refuse_closed(self) -> None:
        self._connection._refuse_closed()
        if self._closed:
            raise InterfaceError("the cursor is closed", code="closed", hint="make another one")

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _told(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    with telling():
        yield from reader
