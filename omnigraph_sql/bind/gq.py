"""`.gq` syntax trees and a catalog → bound statements: names resolved, types checked, order made total."""

from __future__ import annotations

from typing import Final

from omnigraph_sql.base.catalog import Catalog
from omnigraph_sql.base.expr import Param
from omnigraph_sql.base.types import (
    BLOB,
    BOOL,
    DATE,
    DATETIME,
    F32,
    F64,
    I32,
    I64,
    STRING,
    U32,
    U64,
    DataType,
    ListType,
    ScalarType,
    VectorType,
)
from omnigraph_sql.bind.bound import BoundProgram
from omnigraph_sql.bind.gq_read import bind_read
from omnigraph_sql.bind.gq_scope import GqOptions, Work, refuse_reserved
from omnigraph_sql.bind.gq_write import bind_write
from omnigraph_sql.grammar.ast import gq as ast

__all__ = ["GqOptions", "bind_query"]

_FORMAL_TYPES: Final[dict[str, ScalarType]] = {
    of.kind.value: of for of in (STRING, BOOL, I32, I64, U32, U64, F32, F64, DATE, DATETIME, BLOB)
}
_DEFAULTS: Final = GqOptions()
_BARE_UNIT: Final = "mutation"
_NO_SUCH_TYPE: Final = "nodes are passed by their key, and enum values as String"


def bind_query(query: ast.Query, catalog: Catalog, options: GqOptions = _DEFAULTS) -> BoundProgram:
    """Bind one query. Raises UnknownName or TypeMismatch with a T-code, or BoundaryViolation with D2.

    The schema of a bound read is what the result will have. A bare body has no declared parameters: every variable that
    `match` does not bind is one, in order of first use.
    """
    writes = isinstance(query.body, ast.WriteBody)
    work = Work(query.source, catalog, options, bare=query.name is None, writes=writes)
    for formal in query.formals:
        _declare(work, formal)
    name = query.name.text if query.name is not None else None
    if isinstance(query.body, ast.WriteBody):
        unit = bind_write(work, query.body, name or _BARE_UNIT)
        return BoundProgram(unit, work.parameters(), name)
    read = bind_read(work, query.body)
    return BoundProgram(read, work.parameters(), name)


def _declare(work: Work, formal: ast.Formal) -> None:
    var = formal.variable
    refuse_reserved(work, var)
    if var.name in work.params:
        raise work.wrong("T0", var.span, f"parameter ${var.name} is declared twice")
    work.params[var.name] = Param(var.name, _formal_type(work, formal.type), formal.type.nullable)


def _formal_type(work: Work, of: ast.FormalType) -> DataType:
    if of.dimensions is not None:
        try:
            return VectorType(of.dimensions)
        except ValueError as broken:
            raise work.wrong("T0", of.span, str(broken)) from None
    found = _FORMAL_TYPES.get(of.name.text)
    if found is None:
        word = of.name.text
        message, hint = f"there is no parameter type {word}", _NO_SUCH_TYPE
        raise work.unknown("T0", of.name.span, message, word, [*_FORMAL_TYPES, "Vector"], hint=hint)
    return ListType(found) if of.is_list else found
