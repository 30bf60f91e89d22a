"""Connection: one graph, one branch, one transaction at a time, as PEP 249 wants it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final, TypeVar

from omnigraph_sql.base.errors import ConflictError, StorageError
from omnigraph_sql.bind.parameters import Given
from omnigraph_sql.dbapi import errors
from omnigraph_sql.dbapi.cursor import Cursor, RowFactory, dict_row
from omnigraph_sql.dbapi.errors import InterfaceError, ProgrammingError, telling
from omnigraph_sql.dbapi.types import Column
from omnigraph_sql.engine.world import Embed
from omnigraph_sql.graph import Graph, init
from omnigraph_sql.graph import open as open_graph
from omnigraph_sql.result import Result
from omnigraph_sql.session import Request

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Connection", "Cursor", "connected", "dict_row"]

_CLOSED: Final = "connect again"
Made = TypeVar("Made", bound=errors.Error)
Done = TypeVar("Done")


def connected(
    uri: str | os.PathLike[str],
    *,
    branch: str,
    actor: str | None,
    read_only: bool,
    autocommit: bool,
    schema: str | Path | None,
    storage_options: dict[str, str] | None,
    durability: str,
    memory_limit: int | str | None,
    embed: Embed | None,
) -> Connection:
    """A connection; a schema is for the graph that is made when there is none."""

    def opened() -> Graph:
        return open_graph(
            uri,
            branch=branch,
            actor=actor,
            read_only=read_only,
            durability=durability,
            storage_options=storage_options,
            embed=embed,
            memory_limit=memory_limit,
        )

    try:
        graph = opened()
    except StorageError as error:
        if schema is None or error.kind != "not_found":
            raise
        _make(uri, schema, actor, durability, storage_options)
        graph = opened()
    return Connection(graph, autocommit=autocommit)


def _make(
    uri: str | os.PathLike[str],
    schema: str | Path,
    actor: str | None,
    durability: str,
    storage_options: dict[str, str] | None,
) -> None:
    try:
        init(uri, schema=schema, actor=actor, durability=durability, storage_options=storage_options).close()
    except ConflictError as error:
        # Somebody else made it meanwhile, which is what was wanted.
        if error.code != "exists":
            raise


class Connection:
    """Statements and transactions on one branch of a graph. For one thread at a time; `interrupt()` is for any.

    A transaction begins with the first change after a commit, all cursors are part of it, and `commit()` publishes it.
    With `autocommit` every statement is a commit of its own.

    >>> import omnigraph_sql as og
    >>> con = og.connect("bar.omni", create=True)
    >>> cursor = con.execute("CREATE TABLE drinks (name TEXT PRIMARY KEY, price DOUBLE PRECISION)")
    >>> con.executemany("INSERT INTO drinks VALUES (?, ?)", [("Chicha", 2.0), ("Pisco", 7.5)]).rowcount
    2
    >>> con.in_transaction
    True
    >>> con.rollback()
    >>> con.execute("SELECT count(*) FROM drinks").fetchone()
    (0,)
    >>> con.close()
    """

    Warning = errors.Warning
    Error = errors.Error
    InterfaceError = errors.InterfaceError
    DatabaseError = errors.DatabaseError
    DataError = errors.DataError
    OperationalError = errors.OperationalError
    IntegrityError = errors.IntegrityError
    InternalError = errors.InternalError
    ProgrammingError = errors.ProgrammingError
    NotSupportedError = errors.NotSupportedError

    def __init__(self, graph: Graph, *, autocommit: bool = False) -> None:
        self._graph = graph
        self._autocommit = autocommit
        self._closed = False
        self._turn = Lock()
        self.row_factory: RowFactory | None = None

    # ---- facts ------------------------------------------------------------------------------------------------

    @property
    def graph(self) -> Graph:
        """The graph; its statements are part of the connection's transaction while one is open."""
        self._refuse_closed()
        return self._graph

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def in_transaction(self) -> bool:
        """Whether something waits for `commit()`."""
        return not self._closed and self._graph.in_transaction

    @property
    def autocommit(self) -> bool:
        return self._autocommit

    @autocommit.setter
    def autocommit(self, wanted: bool) -> None:
        self._refuse_closed()
        if self.in_transaction and wanted != self._autocommit:
            raise _open_transaction("autocommit cannot change inside a transaction")
        self._autocommit = bool(wanted)

    # ---- statements -------------------------------------------------------------------------------------------

    def cursor(self) -> Cursor:
        self._refuse_closed()
        return Cursor(self)

    def execute(self, operation: str, parameters: Given = None) -> Cursor:
        """A new cursor that has executed a statement of SQL or `.gq`."""
        return self.cursor().execute(operation, parameters)

    def executemany(self, operation: str, seq_of_parameters: Iterable[Given]) -> Cursor:
        """A new cursor that has executed a statement for every set of parameters, all or nothing."""
        return self.cursor().executemany(operation, seq_of_parameters)

    def executescript(self, script: str) -> Cursor:
        """A new cursor that has executed several statements; its rows are those of the last."""
        return self.cursor().execute(script)

    def describe(self, operation: str) -> tuple[Column, ...] | None:
        """The columns that a text would give, as in a cursor's `description`, without running it."""
        return self.cursor().describe(operation)

    # ---- what there is ----------------------------------------------------------------------------------------

    def adbc_get_table_types(self) -> list[str]:
        """Kinds of tables: node types, edge types and views."""
        from omnigraph_sql.dbapi.metadata import TABLE_TYPES

        self._refuse_closed()
        return list(TABLE_TYPES)

    def adbc_get_table_schema(
        self, table_name: str, *, catalog_filter: str | None = None, db_schema_filter: str | None = None
    ) -> pa.Schema:
        """The Arrow schema of a table or a view, as `SELECT *` gives it. Raises ProgrammingError when there is none."""
        from omnigraph_sql.dbapi.metadata import matches, table_schema

        graph = self.graph
        if not matches("", catalog_filter) or not matches(graph.branch, db_schema_filter):
            raise ProgrammingError(f"there is no table {table_name} there", code="unknown_name")
        return table_schema(self, table_name)

    def adbc_get_objects(
        self,
        *,
        depth: str = "all",
        catalog_filter: str | None = None,
        db_schema_filter: str | None = None,
        table_name_filter: str | None = None,
        table_types_filter: list[str] | None = None,
        column_name_filter: str | None = None,
    ) -> pa.RecordBatchReader:
        """What there is, nested as ADBC has it: the one catalog, whose name is empty, the branch as its schema, tables,
        columns, constraints. `depth` is catalogs, db_schemas, tables, columns or all; filters are patterns of LIKE."""
        from omnigraph_sql.dbapi.metadata import OBJECTS, matches, objects

        self._refuse_closed()
        if not matches("", catalog_filter):
            return OBJECTS.empty_table().to_reader()
        filters = db_schema_filter, table_name_filter, table_types_filter, column_name_filter
        return objects(self, depth, *filters)

    def refuse_transaction(self, why: str) -> None:
        """Raises ProgrammingError while something waits for `commit()`."""
        if self.in_transaction:
            raise _open_transaction(why)

    def run(self, request: Request) -> Result:
        """A text in the connection's transaction; a change opens one. For cursors."""
        return self._alone(lambda: self._graph.session.run(request, opens=not self._autocommit))

    def run_many(self, request: Request, sets: Iterable[Given]) -> Result:
        """The same for many sets of parameters."""
        return self._alone(lambda: self._graph.session.many(request, sets, opens=not self._autocommit))

    # ---- transactions -----------------------------------------------------------------------------------------

    def commit(self) -> None:
        """Publish what was changed since the last commit; nothing to publish is fine.

        Raises IntegrityError or OperationalError (sqlstate 40001: start over) when that is refused; the transaction is
        over then, and nothing of it happened.
        """
        self._alone(self._commit)

    def _commit(self) -> None:
        transaction = self._graph.session.transaction
        if transaction is not None:
            transaction.commit()

    def rollback(self) -> None:
        """Drop what was changed since the last commit. Never raises, whatever state the connection is in."""
        transaction = self._graph.session.transaction
        if transaction is not None:
            transaction.rollback()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """`with con.transaction(): …` is one commit, with autocommit too; an error inside rolls back."""
        if self.in_transaction:
            raise _open_transaction("a transaction is open already")
        self.run(Request("BEGIN", language="sql"))
        try:
            yield self
        except BaseException:
            self.rollback()
            raise
        self.commit()

    def interrupt(self) -> None:
        """Stop what the connection is running, from any thread: it raises OperationalError there (sqlstate 57014).

        The connection stays usable, and so does its transaction: a statement that was stopped left nothing.
        """
        self._refuse_closed()
        self._graph.interrupt()

    def close(self) -> None:
        """Roll back and give everything back. Every later use raises InterfaceError; closing again does nothing."""
        if not self._closed:
            self._closed = True
            self._graph.close()

    # ---- one at a time ----------------------------------------------------------------------------------------

    def _alone(self, work: Callable[[], Done]) -> Done:
        self._refuse_closed()
        if not self._turn.acquire(blocking=False):
            raise ProgrammingError(
                "another thread is using this connection",
                code="busy",
                hint="give every thread a connection of its own",
            )
        try:
            with telling():
                return work()
        finally:
            self._turn.release()

    def _refuse_closed(self) -> None:
        if self._closed:
            raise _with_state(InterfaceError("the connection is closed", code="closed", hint=_CLOSED), "08003")

    def __enter__(self) -> Connection:
        self._refuse_closed()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if kind is None and not self._closed:
                self.commit()
        finally:
            self.close()

    def __repr__(self) -> str:
        state = "closed" if self._closed else "in a transaction" if self.in_transaction else "idle"
        return f"<omnigraph_sql.Connection to {self._graph.uri!r}, branch {self._graph.branch!r}, {state}>"


def _open_transaction(message: str) -> ProgrammingError:
    hint = "commit() or rollback() first"
    return _with_state(ProgrammingError(message, code="transaction_open", hint=hint), "25001")


def _with_state(error: Made, state: str) -> Made:
    error.sqlstate = state
    return error
