"""COPY TO and FROM, EXPORT and IMPORT GRAPH: paths, formats and their options."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Final

from sqlglot import exp

from omnigraph_sql.base import commands
from omnigraph_sql.base.catalog import TableType
from omnigraph_sql.base.expr import Expr, Literal
from omnigraph_sql.base.types import BOOL, I64, STRING
from omnigraph_sql.bind.bound import BoundControl
from omnigraph_sql.bind.sql_binder import SqlBinder
from omnigraph_sql.bind.sql_constants import Wanted, constant
from omnigraph_sql.bind.sql_control_session import rows_of
from omnigraph_sql.bind.sql_insert import named_columns
from omnigraph_sql.bind.sql_stored import refuse_missing
from omnigraph_sql.bind.sql_targets import identifier, known_table, listed
from omnigraph_sql.grammar.ast import sql as ast

_FORMATS: Final = ("parquet", "csv", "jsonl", "arrow", "lance")
_EXTENSIONS: Final = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".lance": "lance",
}
_PACKED: Final = (".gz", ".zst")
_MODES: Final = ("append", "merge", "overwrite")
_SIGN: Final = Wanted(length=1)
_CSV: Final = {"header": Wanted(BOOL), "delimiter": _SIGN, "quote": _SIGN, "escape": _SIGN, "null": Wanted()}
_WRITING: Final[Mapping[str, Mapping[str, Wanted]]] = {
    "parquet": {
        "compression": Wanted(words=("none", "snappy", "gzip", "zstd", "lz4")),
        "row_group_size": Wanted(I64, 1, 2**31 - 1),
    },
    "csv": {**_CSV, "compression": Wanted(words=("none", "gzip", "zstd"))},
    "jsonl": {"compression": Wanted(words=("none", "gzip", "zstd"))},
    "arrow": {"compression": Wanted(words=("none", "lz4", "zstd"))},
    "lance": {},
}
_READING: Final[Mapping[str, Mapping[str, Wanted]]] = {
    "parquet": {},
    "csv": {**_CSV, "skip": Wanted(I64, 0, 2**31 - 1), "compression": Wanted(words=("none", "gzip", "zstd"))},
    "jsonl": {"compression": Wanted(words=("none", "gzip", "zstd"))},
    "arrow": {},
    "lance": {},
}
_SAME: Final = {"sep": "delimiter", "delim": "delimiter", "nullstr": "null", "null_string": "null"}


def copy_to(binder: SqlBinder, statement: ast.CopyTo) -> BoundControl:
    path = _path(binder, statement.path)
    query = rows_of(binder, statement.table, statement.query, statement.span)
    kind = _format(binder, path, statement.path, statement.options)
    options = _options(binder, statement.options, _WRITING[kind], kind, ("format",))
    return BoundControl(commands.CopyTo(path, (("format", Literal(kind, STRING)), *options)), query)


def copy_from(binder: SqlBinder, statement: ast.CopyFrom) -> commands.CopyFrom:
    table = known_table(binder, statement.table)
    columns = _columns(binder, table, statement)
    path = _path(binder, statement.path)
    kind = _format(binder, path, statement.path, statement.options)
    mode = _mode(binder, statement.options)
    if mode == "merge" and not table.key:
        hint = "use MODE append, or declare a key"
        raise binder.mismatch(f"rows are merged by key, and {table.name} has none", statement.table.span, hint)
    options = _options(binder, statement.options, _READING[kind], kind, ("format", "mode"))
    options = (("format", Literal(kind, STRING)), *options)
    return commands.CopyFrom(table.name, columns, path, mode, options)


def _columns(binder: SqlBinder, table: TableType, statement: ast.CopyFrom) -> tuple[str, ...]:
    if not statement.columns:
        return ()
    columns = named_columns(binder, table, [identifier(column) for column in statement.columns])
    refuse_missing(binder, table, set(columns), statement.table.span)
    return columns


def export_graph(binder: SqlBinder, statement: ast.ExportGraph) -> commands.ExportGraph:
    path = _path(binder, statement.path)
    _graph_format(binder, path, statement.path, statement.options, ("format",))
    return commands.ExportGraph(path)


def import_graph(binder: SqlBinder, statement: ast.ImportGraph) -> commands.ImportGraph:
    path = _path(binder, statement.path)
    _graph_format(binder, path, statement.path, statement.options, ("format", "mode"))
    return commands.ImportGraph(path, _mode(binder, statement.options))


def _graph_format(binder: SqlBinder, path: Expr, at: exp.Expr, options: ast.Options, known: tuple[str, ...]) -> None:
    """A whole graph is JSON lines, whatever its file is called, unless the name says another format."""
    _options(binder, options, {}, "graph", known)
    written = _written(binder, options, "format", Wanted(words=_FORMATS)) or _by_extension(path)
    if written not in (None, "jsonl"):
        raise binder.unsupported("a whole graph is written as JSON lines", at, "name the file something.jsonl")


# ---- paths and options --------------------------------------------------------------------------------------------


def _path(binder: SqlBinder, node: exp.Expr) -> Expr:
    path = constant(binder, node, Wanted(), "the path")
    if isinstance(path, Literal) and not str(path.value).strip():
        raise binder.mismatch("the path is empty", node)
    return path


def _format(binder: SqlBinder, path: Expr, at: exp.Expr, options: ast.Options) -> str:
    kind = _written(binder, options, "format", Wanted(words=_FORMATS)) or _by_extension(path)
    if kind is None:
        hint = f"write (FORMAT …) with one of {', '.join(_FORMATS)}"
        what = "a path given as a parameter does not tell its format" if not isinstance(path, Literal) else ""
        raise binder.mismatch(what or "the format cannot be told from this path", at, hint)
    return kind


def _by_extension(path: Expr) -> str | None:
    if not isinstance(path, Literal):
        return None
    name = PurePosixPath(str(path.value).casefold().replace("\\", "/")).name
    for packed in _PACKED:
        name = name.removesuffix(packed)
    return next((kind for extension, kind in _EXTENSIONS.items() if name.endswith(extension)), None)


def _mode(binder: SqlBinder, options: ast.Options) -> str:
    return _written(binder, options, "mode", Wanted(words=_MODES)) or "append"


def _written(binder: SqlBinder, options: ast.Options, name: str, wanted: Wanted) -> str | None:
    """An option that decides how the statement is bound, so it cannot be a parameter."""
    for given, node in options:
        if given == name:
            value = constant(binder, node, wanted, name.upper())
            if not isinstance(value, Literal):
                raise binder.unsupported(f"{name.upper()} is not given as a parameter", node, "write the word itself")
            return str(value.value)
    return None


def _options(
    binder: SqlBinder, options: ast.Options, known: Mapping[str, Wanted], kind: str, common: tuple[str, ...]
) -> tuple[tuple[str, Expr], ...]:
    """The options but the common ones, in text order, each of the type it takes."""
    made: dict[str, Expr] = {}
    seen: set[str] = set()
    for written, node in options:
        name = _SAME.get(written, written)
        if name in seen:
            raise binder.mismatch(f"the option {written.upper()} is given twice", node)
        seen.add(name)
        if name in common:
            continue
        wanted = known.get(name)
        if wanted is None:
            hint = f"options of {kind} are {listed(word.upper() for word in (*common, *known))}"
            raise binder.unknown("option", written.upper(), node, [*common, *known], hint)
        made[name] = constant(binder, node, wanted, written.upper())
    return tuple(made.items())
