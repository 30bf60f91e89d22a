"""Functions in FROM: lists and series as rows. Searches and history live in modules of their own."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from omnigraph_sql.base.expr import Column, Expr, Literal, Negate, walk
from omnigraph_sql.base.schema import Field
from omnigraph_sql.base.types import (
    ANY,
    DATE,
    DATETIME,
    F32,
    I64,
    INTERVAL,
    DataType,
    ListType,
    VectorType,
    is_integer,
    is_open,
    type_text,
)
from omnigraph_sql.bind.bound import BoundFunctionTable, BoundSource
from omnigraph_sql.bind.sql_binder import SqlBinder
from omnigraph_sql.bind.sql_functions import ALL_NAMES
from omnigraph_sql.bind.sql_history_tables import HISTORY, bind_history
from omnigraph_sql.bind.sql_scope import RangeTable, Scope, ScopeColumn
from omnigraph_sql.bind.sql_search_tables import SEARCHES, bind_search
from omnigraph_sql.bind.sql_table_alias import Alias, alias_of, refuse_ordinality, renamed

ORDINALITY: Final = "ordinality"
_FILES: Final = (
    "read_csv",
    "read_parquet",
    "read_json",
    "read_ndjson",
    "read_text",
    "read_blob",
    "parquet_scan",
    "glob",
)
_NAMES: Final = ("unnest", "generate_series", "range", "gq", "graph_table", *SEARCHES, *HISTORY)


def bind_table_function(binder: SqlBinder, tree: exp.Expr, around: Scope) -> tuple[BoundSource, Scope]:
    """`tree` is an exp.Unnest, or an exp.Table or exp.Lateral with the call as `this`.

    Arguments may use the FROM items of `around`. Raises UnknownName for a function that gives no table.
    """
    call = tree if isinstance(tree, exp.Unnest) else tree.this
    if not isinstance(call, exp.Expr):
        binder.refuse_node(tree)
    _refuse_qualifier(binder, tree)
    if isinstance(call, exp.Unnest):
        return _unnest(binder, tree, call, around)
    if isinstance(call, exp.GenerateSeries):
        return _series(binder, tree, call, around)
    if not isinstance(call, exp.Func):
        binder.refuse_node(call)
    name = function_name(call)
    refuse_ordinality(binder, tree)
    if name in SEARCHES:
        return bind_search(binder, tree, call, name, around)
    _refuse_point(binder, tree, name)
    if name in HISTORY:
        return bind_history(binder, tree, call, name, around)
    raise _unknown(binder, call, name)


def function_name(call: exp.Func) -> str:
    """The name of a call in lower case, as near to what was written as the tree tells."""
    return (call.name if isinstance(call, exp.Anonymous) else call.sql_name()).lower()


def _refuse_qualifier(binder: SqlBinder, tree: exp.Expr) -> None:
    schema = tree.args.get("db")
    if isinstance(schema, exp.Expr):
        raise binder.unsupported("a table function belongs to no branch", schema, "leave the qualifier out")


def _refuse_point(binder: SqlBinder, tree: exp.Expr, name: str) -> None:
    point = tree.args.get("version")
    if isinstance(point, exp.Expr):
        hint = "read a table or a graph pattern at that point"
        raise binder.unsupported(f"{name} has no history of its own", point, hint)


def _unknown(binder: SqlBinder, call: exp.Func, name: str) -> Exception:
    if name.startswith(_FILES) or name in ("readcsv", "readparquet", "readjson"):
        hint = "load the file first: COPY table FROM 'file'"
        return binder.unsupported("files are not read in FROM", call, hint)
    hint = f"{name} gives a value, not a table" if name in ALL_NAMES else ""
    return binder.unknown("table function", name, call, _NAMES, hint)


# ---- lists ------------------------------------------------------------------------------------------------------


def _unnest(binder: SqlBinder, tree: exp.Expr, call: exp.Unnest, around: Scope) -> tuple[BoundSource, Scope]:
    """Several lists are unnested side by side; the shorter ones are filled with null."""
    _refuse_point(binder, tree, "unnest")
    arguments = [binder.bind_expr(node, around, "unnest") for node in call.expressions]
    fields = [
        Field(f"unnest_{n}" if n > 1 else "unnest", _item(binder, list_, node), True)
        for n, (list_, node) in enumerate(zip(arguments, call.expressions, strict=True), 1)
    ]
    offset = call.args.get("offset")
    return _rows(binder, tree, "unnest", arguments, fields, around, offset)


def _item(binder: SqlBinder, of: Expr, node: exp.Expr) -> DataType:
    match of.type:
        case ListType(item):
            return item
        case VectorType():
            return F32
        case other if is_open(other):
            return ANY
        case other:
            raise binder.mismatch(f"unnest takes a list, not a {type_text(other)}", node)


# ---- series -----------------------------------------------------------------------------------------------------


def _series(binder: SqlBinder, tree: exp.Expr, call: exp.GenerateSeries, around: Scope) -> tuple[BoundSource, Scope]:
    """`generate_series` includes its end, `range` does not."""
    name = "range" if call.args.get("is_end_exclusive") else "generate_series"
    _refuse_point(binder, tree, name)
    nodes = [node for key in ("start", "end", "step") if isinstance(node := call.args.get(key), exp.Expr)]
    values = [binder.bind_expr(node, around, name) for node in nodes]
    of = _series_type(binder, name, values, nodes)
    expected = [of, of, I64 if of == I64 else INTERVAL]
    values = [binder.infer(value, wanted) for value, wanted in zip(values, expected, strict=False)]
    offset = tree.args.get("ordinality")
    return _rows(binder, tree, name, values, [Field(name, of, False)], around, offset)


def _series_type(binder: SqlBinder, name: str, values: list[Expr], nodes: list[exp.Expr]) -> DataType:
    ends = [v.type for v in values[:2]]
    step = values[2] if len(values) > 2 else None
    for of, node in zip(ends, nodes, strict=False):
        if not (is_integer(of) or is_open(of) or of in (DATE, DATETIME)):
            hint = "convert the ends with CAST"
            raise binder.mismatch(f"{name} counts whole numbers, days or instants, not {type_text(of)}", node, hint)
    moments = [of for of in ends if of in (DATE, DATETIME)]
    if moments and any(is_integer(of) for of in ends):
        raise binder.mismatch(f"both ends of {name} are numbers, or both are points in time", nodes[1])
    if moments:
        if step is None or not (step.type == INTERVAL or is_open(step.type)):
            at = nodes[2] if step is not None else nodes[1]
            raise binder.mismatch(f"{name} over time needs a step", at, "write INTERVAL 1 DAY as the third argument")
        return DATE if all(of == DATE for of in moments) and len(moments) == len(ends) else DATETIME
    if step is not None:
        _check_number_step(binder, name, step, nodes[2])
    return I64


def _check_number_step(binder: SqlBinder, name: str, step: Expr, node: exp.Expr) -> None:
    if not (is_integer(step.type) or is_open(step.type)):
        raise binder.mismatch(f"the step of {name} is a whole number, not a {type_text(step.type)}", node)
    inner = step.operand if isinstance(step, Negate) else step
    if isinstance(inner, Literal) and inner.value == 0:
        raise binder.mismatch(f"a step of 0 never ends {name}", node)


# ---- rows -------------------------------------------------------------------------------------------------------


def _rows(
    binder: SqlBinder,
    tree: exp.Expr,
    function: str,
    arguments: list[Expr],
    fields: list[Field],
    around: Scope,
    offset: object,
) -> tuple[BoundSource, Scope]:
    """The rows of a function. Its single column goes by the name of the alias as well as by that of the function.

    With ordinality the function is called so, and numbers its rows from 1 in a last column.
    """
    alias = alias_of(tree)
    if isinstance(offset, exp.Identifier):
        # sqlglot takes the last column name of the alias for the ordinality.
        alias = Alias(alias.name, (*alias.columns, offset))
    scalar = fields[0].name if len(fields) == 1 and alias.name is not None and not alias.columns else None
    if offset:
        function = f"{function} with {ORDINALITY}"
        fields = [*fields, Field(ORDINALITY, I64, False)]
    defaults = tuple(alias.name or f.name if f.name == scalar else f.name for f in fields)
    names = renamed(binder, alias, defaults)
    made = tuple(Field(name, f.type, f.nullable) for name, f in zip(names, fields, strict=True))
    variable = binder.fresh(alias.name or function.partition(" ")[0])
    lateral = any(isinstance(part, Column) for a in arguments for part in walk(a))
    source = BoundFunctionTable(variable, function, tuple(arguments), made, lateral)
    table = RangeTable.of_fields(alias.name or function.partition(" ")[0], variable, made)
    if scalar is not None and scalar.casefold() != names[0].casefold():
        same = ScopeColumn(scalar, table.columns[0].expr, starred=False)
        table = RangeTable(table.name, variable, (*table.columns, same))
    return source, Scope(around.parent, [table])
