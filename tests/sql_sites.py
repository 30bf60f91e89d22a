"""Single SQL expressions bound against the airports: `a` and `b` are airports, `c` a carrier, `r` a route."""

from __future__ import annotations

from sqlglot import exp

from omnigraph_sql.base.catalog import TableType
from omnigraph_sql.base.errors import LanguageError
from omnigraph_sql.base.expr import Expr
from omnigraph_sql.base.expr_text import text
from omnigraph_sql.base.types import DataType, type_text
from omnigraph_sql.bind.sql_binder import SqlBinder
from omnigraph_sql.bind.sql_expr import Clause, Site
from omnigraph_sql.bind.sql_scope import RangeTable, Scope
from omnigraph_sql.grammar.sql.parse import parse_one
from tests.case_files import airport_catalog

SELECT = Clause("SELECT", aggregates=True, windows=True)
WHERE = Clause("WHERE")


def _table(name: str) -> TableType:
    found = airport_catalog().node(name) or airport_catalog().edge(name)
    assert found is not None
    return found


def airport_scope() -> Scope:
    tables = [("a", "Airport"), ("b", "Airport"), ("c", "Carrier"), ("r", "Route")]
    return Scope(None, [RangeTable.of_table(variable, variable, _table(name)) for variable, name in tables])


def bound(expression: str, clause: Clause = SELECT, scope: Scope | None = None) -> Expr:
    """The bound expression; parameters that were typed late are typed everywhere, as in a statement."""
    statement = parse_one(f"SELECT {expression}")
    tree = statement.tree
    assert isinstance(tree, exp.Select)
    windows = {w.name.casefold(): w for w in tree.args.get("windows") or ()}
    if windows:
        clause = Clause(clause.name, clause.aggregates, clause.windows, named_windows=windows)
    known: dict[str, DataType] = {}
    while True:
        binder = SqlBinder(
            airport_catalog(), statement.source, statement.span, placeholders=statement.placeholders, known=known
        )
        made = Site(binder, scope or airport_scope(), clause).bind(tree.selects[0])
        late = binder.stale_parameters()
        if not late or late == known:
            return made
        known = late


def shown(expression: str, clause: Clause = SELECT) -> str:
    """`text : type` of the bound expression."""
    made = bound(expression, clause)
    return f"{text(made)} : {type_text(made.type)}"


def refusal(expression: str, clause: Clause = SELECT) -> tuple[LanguageError, str]:
    """The error, and the part of the text it points at."""
    try:
        made = bound(expression, clause)
    except LanguageError as error:
        source = f"SELECT {expression}"
        return error, source[error.at.start : error.at.end]
    raise AssertionError(f"nothing was refused: {text(made)}")
