"""Everything that touches the graph, done on one thread: opening it, running statements, learning what is in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, Final

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import ConflictError, LanguageError
from omnigraph_sql.grammar.language import Language, language_of
from omnigraph_sql.repl.knowledge import Columns, Knowledge

if TYPE_CHECKING:
    import pyarrow as pa

    from omnigraph_sql.graph import Graph
    from omnigraph_sql.repl.last import Last
    from omnigraph_sql.result import Result

_COMMITS_KNOWN: Final = 20


@dataclass(frozen=True, slots=True)
class State:
    """Where the shell stands: what the prompt and the toolbar show."""

    branch: str = ""
    head: str = ""
    in_transaction: bool = False
    read_only: bool = False
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class Piece:
    """One statement of a text: where it starts there, the parameters it names, and what it would destroy."""

    text: str
    start: int
    language: Language
    parameters: tuple[str, ...] = ()
    danger: str | None = None
    query: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a statement came to. `total` counts rows; `whole` tells whether all of them were read."""

    table: pa.Table | None
    total: int
    whole: bool
    outcome: str | None
    seconds: float
    goal: str | None = None


@dataclass(slots=True)
class Meter:
    """How far a statement is; read by the thread that waits."""

    rows: int = 0


@dataclass(slots=True)
class Order:
    """A statement to run, with the values of its parameters, the rows called `_`, and where its rows go."""

    piece: Piece
    parameters: Mapping[str, object]
    last: Last | None = None
    write: Callable[[Result], None] | None = None
    goal: str | None = None
    meter: Meter = field(default_factory=Meter)


def pieces_of(text: str, name: str, language: Language | None) -> list[Piece]:
    """The statements of a text. Raises LanguageError when it does not parse; then nothing of it runs."""
    spoken = language or language_of(text)
    if spoken == "gq":
        return _gq_pieces(text.rstrip().removesuffix(";"), name)
    from omnigraph_sql.grammar.sql.destructive import destroys
    from omnigraph_sql.grammar.sql.parse import parse_script

    return [
        Piece(
            text[statement.span.start : statement.span.end],
            statement.span.start,
            "sql",
            tuple(dict.fromkeys(placeholder.name for placeholder in statement.placeholders)),
            destroys(statement),
        )
        for statement in parse_script(text, name=name)
    ]


def _gq_pieces(text: str, name: str) -> list[Piece]:
    from omnigraph_sql.grammar.gq import parse_any

    unit = parse_any(text, name=name)
    named = [query.name.text for query in unit.queries if query.name is not None]
    return [Piece(text, 0, "gq", query=one) for one in named] or [Piece(text, 0, "gq")]


class Work:
    """A graph that is open. Every method is called on the thread the graph belongs to, `interrupt` alone on another."""

    def __init__(self, graph: Graph, outcome: Callable[[Result], str]) -> None:
        self._graph, self._outcome = graph, outcome
        self._pinned = False

    @property
    def graph(self) -> Graph:
        return self._graph

    def interrupt(self) -> None:
        """Ask the running statement to stop."""
        self._graph.interrupt()

    def close(self) -> None:
        self._graph.close()

    def state(self) -> State:
        graph = self._graph
        return State(graph.branch, graph.head, graph.in_transaction, graph.read_only, self._pinned)

    # ---- statements -------------------------------------------------------------------------------------------

    def run(self, order: Order) -> Answer:
        """Run one statement and take its rows. Raises OmniError; places in it are those of the piece's own text."""
        begun = perf_counter()
        result = self._result(order)
        outcome = self._outcome(result) if _changes(result) else None
        if order.write is not None and result.columns:
            order.write(result)
            return Answer(None, result.rowcount, True, outcome, perf_counter() - begun, order.goal)
        table, whole = taken(result, order.meter) if result.columns else (None, True)
        total = table.num_rows if table is not None else 0
        return Answer(table, total, whole, outcome, perf_counter() - begun)

    def _result(self, order: Order) -> Result:
        piece = order.piece
        if piece.language == "gq":
            names = self.gq_parameters(piece)
            values = {name: value for name, value in order.parameters.items() if name in names}
            return self._graph.gq(piece.text, values or None, name=piece.query)
        values = {name: value for name, value in order.parameters.items() if name in piece.parameters}
        if order.last is None or (used := order.last.used_in(piece.text)) is None:
            return self._graph.sql(piece.text, values or None)
        try:
            return self._graph.sql(used.text, values | used.values)
        except LanguageError as error:
            error.at = used.original(error.at, piece.text)
            raise

    def gq_parameters(self, piece: Piece) -> list[str]:
        """The parameters of a `.gq` text, in the order it names them."""
        from omnigraph_sql.plan.compile import compile_gq

        programs = compile_gq(piece.text, self._graph.catalog, name="<statement>").programs
        chosen = [p for p in programs if piece.query is None or p.name == piece.query]
        return list(dict.fromkeys(param.name for program in chosen for param in program.parameters))

    def explain(self, text: str) -> str:
        return self._graph.explain(text)

    # ---- moving -----------------------------------------------------------------------------------------------

    def checkout(self, branch: str) -> None:
        """Work on another branch from now on. Raises ConflictError while a transaction is open."""
        self._refuse_open_transaction()
        self._graph = self._graph.checkout(branch)
        self._pinned = False

    def read_at(self, point: str | int) -> None:
        """Read a past state from now on."""
        self._refuse_open_transaction()
        self._graph, self._pinned = self._graph.at(point), True

    def _refuse_open_transaction(self) -> None:
        if self._graph.in_transaction:
            raise ConflictError(
                "a transaction is open", code="transaction_open", hint="end it first with COMMIT or ROLLBACK"
            )

    # ---- learning ---------------------------------------------------------------------------------------------

    def knowledge(self, known: Knowledge) -> Knowledge:
        """What is known, with what the graph says now."""
        graph = self._graph
        commits = tuple((c.id, _said(c.actor, c.message)) for c in graph.commits(limit=_COMMITS_KNOWN))
        own = tuple((name, columns) for name, columns in known.tables if "." not in name)
        return replace(
            known,
            catalog=graph.catalog,
            branches=tuple(branch.name for branch in graph.branches()),
            commits=commits,
            functions=known.functions or _functions(),
            tables=(*own, *_system_tables()),
        )


def _changes(result: Result) -> bool:
    return result.commit_id is not None or bool(result.affected_nodes or result.affected_edges)


def _said(actor: str | None, message: str | None) -> str:
    return ": ".join(part for part in (actor, message) if part)


def _functions() -> Columns:
    from omnigraph_sql.bind.sql_functions import AGGREGATES, ALL_NAMES, SCALARS, WINDOWS

    said: dict[str, str] = dict.fromkeys(ALL_NAMES, "function")
    for kind, table in (("window", WINDOWS), ("function", SCALARS), ("aggregate", AGGREGATES)):
        said |= {name: f"{kind}, {signature.arity}" for name, signature in table.items()}
    return tuple(sorted(said.items()))


def _system_tables() -> tuple[tuple[str, Columns], ...]:
    from omnigraph_sql.base.types import type_text
    from omnigraph_sql.bind.sql_system_tables import SYSTEM_TABLES

    return tuple((name, tuple((f.name, type_text(f.type)) for f in of)) for name, of in SYSTEM_TABLES.items())


def taken(
    result: Result, meter: Meter, rows: int = limits.SHELL_ROWS_MAX, size: int = limits.SHELL_BYTES_MAX
) -> tuple[pa.Table, bool]:
    """The rows of a result, up to what is kept; and whether that is all of them."""
    import pyarrow as pa

    batches: list[pa.RecordBatch] = []
    held = 0
    reader = result.batches()
    for batch in reader:
        batches.append(batch.slice(0, rows - meter.rows))
        meter.rows += batches[-1].num_rows
        held += batches[-1].nbytes
        if meter.rows >= rows or held >= size:
            more = next(reader, None) if meter.rows == rows and batch.num_rows == batches[-1].num_rows else batch
            return pa.Table.from_batches(batches, result.schema), more is None
    return pa.Table.from_batches(batches, result.schema), True
