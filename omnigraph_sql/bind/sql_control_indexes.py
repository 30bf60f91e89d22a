"""CREATE and DROP INDEX, OPTIMIZE, VACUUM."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from sqlglot import exp

from omnigraph_sql.base import commands
from omnigraph_sql.base.catalog import TableType
from omnigraph_sql.base.expr import Expr
from omnigraph_sql.base.schema import Field
from omnigraph_sql.base.types import (
    BLOB,
    BOOL,
    I64,
    INTERVAL,
    STRING,
    DataType,
    ListType,
    VectorType,
    is_integer,
    is_open,
    type_text,
)
from omnigraph_sql.bind.sql_binder import SqlBinder
from omnigraph_sql.bind.sql_constants import Wanted, constant
from omnigraph_sql.bind.sql_scope import Scope
from omnigraph_sql.bind.sql_targets import column_like, known_table, listed, name_from
from omnigraph_sql.grammar.ast import sql as ast


def _is_vector(of: DataType) -> bool:
    return isinstance(of, VectorType)


def _is_text(of: DataType) -> bool:
    return of == STRING or (isinstance(of, ListType) and of.item == STRING)


def _is_list(of: DataType) -> bool:
    return isinstance(of, ListType)


def _is_plain(of: DataType) -> bool:
    return of != BLOB and not isinstance(of, ListType | VectorType)


@dataclass(frozen=True, slots=True)
class _Method:
    """Which columns a kind of index takes, in words too, and the options it knows."""

    fits: Callable[[DataType], bool]
    takes: str
    options: Mapping[str, Wanted] = field(default_factory=dict)


_COUNT: Final = Wanted(I64, 1, 2**31 - 1)
_METRIC: Final = {"metric": Wanted(words=("cosine", "l2", "dot"))}
_IVF: Final = {**_METRIC, "num_partitions": _COUNT}
_PQ: Final = {"num_sub_vectors": _COUNT, "num_bits": Wanted(I64, 1, 16)}
_HNSW: Final = {"m": _COUNT, "ef_construction": _COUNT}
_WORDS: Final = {
    "language": Wanted(),
    "stem": Wanted(BOOL),
    "lower_case": Wanted(BOOL),
    "remove_stop_words": Wanted(BOOL),
    "ascii_folding": Wanted(BOOL),
    "with_position": Wanted(BOOL),
    "max_token_length": _COUNT,
}
_VECTOR: Final = "a vector column"
_METHODS: Final[dict[str, _Method]] = {
    "btree": _Method(_is_plain, "columns of numbers, text, truth values, dates or enums"),
    "bitmap": _Method(_is_plain, "columns of numbers, text, truth values, dates or enums"),
    "label_list": _Method(_is_list, "a list column"),
    "inverted": _Method(_is_text, "a text column", _WORDS),
    "fts": _Method(_is_text, "a text column", _WORDS),
    "ivf_flat": _Method(_is_vector, _VECTOR, _IVF),
    "ivf_sq": _Method(_is_vector, _VECTOR, _IVF),
    "ivf_pq": _Method(_is_vector, _VECTOR, {**_IVF, **_PQ}),
    "ivf_hnsw_flat": _Method(_is_vector, _VECTOR, {**_IVF, **_HNSW}),
    "ivf_hnsw_sq": _Method(_is_vector, _VECTOR, {**_IVF, **_HNSW}),
    "ivf_hnsw_pq": _Method(_is_vector, _VECTOR, {**_IVF, **_PQ, **_HNSW}),
}
_ANY: Final = _Method(lambda of: of != BLOB, "any column but a Blob")


def create_index(binder: SqlBinder, statement: ast.CreateIndex) -> commands.CreateIndex:
    table = known_table(binder, statement.table)
    method = _method(binder, statement)
    names = tuple(_indexed(binder, table, method, column, statement) for column in statement.columns)
    twice = next((i for n, i in enumerate(names) if i in names[:n]), None)
    if twice is not None:
        raise binder.mismatch(f"{twice} is named twice", statement.columns[names.index(twice)])
    if len(names) > 1 and method is not _ANY and method is not _METHODS["btree"]:
        word = (statement.using or "").upper()
        raise binder.unsupported(f"a {word} index has one column", statement.columns[1], "create one for each column")
    options = tuple((name, _option(binder, method, name, node)) for name, node in statement.options)
    using = "inverted" if statement.using == "fts" else statement.using
    return commands.CreateIndex(
        statement.name.text if statement.name is not None else None,
        table.name,
        names,
        using,
        statement.unique,
        statement.if_not_exists,
        options,
    )


def _method(binder: SqlBinder, statement: ast.CreateIndex) -> _Method:
    if statement.using is None:
        return _METHODS["btree"] if statement.unique else _ANY
    found = _METHODS.get(statement.using)
    if found is None:
        raise binder.unknown("kind of index", statement.using, statement.span, _METHODS)
    if statement.unique and statement.using != "btree":
        raise binder.mismatch(f"a {statement.using.upper()} index cannot be unique", statement.span, "use BTREE")
    return found


def _indexed(binder: SqlBinder, table: TableType, method: _Method, ident: ast.Ident, statement: ast.CreateIndex) -> str:
    column = _column(binder, table, ident)
    if not method.fits(column.type):
        word = (
            f"{statement.using.upper()} index" if statement.using else "unique index" if statement.unique else "index"
        )
        article = "an" if word[0] in "Ii" else "a"
        message = f"{article} {word} takes {method.takes}; {column.name} is {type_text(column.type)}"
        raise binder.mismatch(message, ident)
    return column.name


def _column(binder: SqlBinder, table: TableType, ident: ast.Ident) -> Field:
    found = table.column(column_like(binder, table, name_from(ident), ident))
    assert found is not None
    return found


def _option(binder: SqlBinder, method: _Method, name: str, node: exp.Expr) -> Expr:
    wanted = method.options.get(name)
    if wanted is None:
        hint = f"options are {listed(method.options)}" if method.options else "this kind of index has no options"
        raise binder.unknown("option", name, node, method.options, hint)
    return constant(binder, node, wanted, name)


def drop_index(binder: SqlBinder, statement: ast.DropIndex) -> commands.DropIndex:
    if statement.table is not None:
        known_table(binder, statement.table)
    return commands.DropIndex(statement.name.text, statement.if_exists)


def optimize(binder: SqlBinder, statement: ast.Optimize) -> commands.Optimize:
    return commands.Optimize(known_table(binder, statement.table).name if statement.table is not None else None)


def vacuum(binder: SqlBinder, statement: ast.Vacuum) -> commands.Vacuum:
    table = known_table(binder, statement.table).name if statement.table is not None else None
    return commands.Vacuum(table, _retained(binder, statement.retain) if statement.retain is not None else None)


def _retained(binder: SqlBinder, node: exp.Expr) -> Expr:
    """A number of versions, or an interval."""
    if isinstance(node.unnest(), exp.Literal) and not node.unnest().is_string:
        return constant(binder, node, Wanted(I64, 0), "RETAIN")
    value = binder.bind_expr(node, Scope(), "RETAIN")
    if value.type == INTERVAL or is_integer(value.type) or is_open(value.type):
        return value
    message = f"RETAIN takes a number of versions or an interval, not a {type_text(value.type)}"
    raise binder.mismatch(message, node, "write RETAIN 10 or RETAIN INTERVAL '7 days'")
