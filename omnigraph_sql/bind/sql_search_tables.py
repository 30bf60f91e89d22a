"""Searches in FROM: `nearest`, `bm25` and `hybrid` give the best rows of one table with their score.

`nearest(T, 'emb', $q, k => 10)` is short for SELECT T.*, nearest(T.emb, $q) AS _distance FROM T ORDER BY _distance, id
LIMIT 10, and has its plan; the `id` is there too, but not part of `*`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from omnigraph_sql.base.catalog import ID, NodeType, TableType
from omnigraph_sql.base.expr import Expr, Literal, Nearest, Param, SortKey
from omnigraph_sql.base.schema import Field
from omnigraph_sql.base.travel import ReadPoint
from omnigraph_sql.base.types import I64, VectorType, is_integer, is_open, is_text, type_text
from omnigraph_sql.bind.bound import BoundItem, BoundQuery, BoundSelect, BoundSource, BoundTable
from omnigraph_sql.bind.gq_search import FUSION_K
from omnigraph_sql.bind.sql_binder import SqlBinder, name_of
from omnigraph_sql.bind.sql_scope import Name, RangeTable, Scope
from omnigraph_sql.bind.sql_table_alias import derived

K_DEFAULT: Final = 10
"""How many rows a search gives when the text does not say."""


@dataclass(frozen=True, slots=True)
class _Search:
    """How a search is called, what its score is called, and its rankers: each with the place of its column."""

    usage: str
    score: str
    rankers: tuple[tuple[str, int], ...]
    named: tuple[str, ...] = ("k",)

    @property
    def arguments(self) -> int:
        return 1 + 2 * len(self.rankers)


SEARCHES: Final = {
    "nearest": _Search("nearest(Table, 'vector column', query, k => 10)", "_distance", (("nearest", 1),)),
    "bm25": _Search("bm25(Table, 'text column', query, k => 10)", "_score", (("bm25", 1),)),
    "hybrid": _Search(
        "hybrid(Table, 'vector column', vector, 'text column', words, k => 10, rrf_k => 60)",
        "_hybrid_score",
        (("nearest", 1), ("bm25", 3)),
        ("k", "rrf_k"),
    ),
}


def bind_search(
    binder: SqlBinder, tree: exp.Expr, call: exp.Expr, name: str, around: Scope
) -> tuple[BoundSource, Scope]:
    """The search `name` as a derived table: its best `k` rows, best first."""
    search = SEARCHES[name]
    plain, named = _sorted_out(binder, call, name)
    of, at = _table(binder, tree, plain[0], name)
    variable = binder.fresh(of.name)
    table = RangeTable.of_table(variable, variable, of)
    score = _score(binder, Scope(around, [table]), of, name, plain, named)
    limit = _count(binder, named.get("k"), "k", K_DEFAULT)
    shown = [c for c in table.columns if c.starred or c.name == ID]
    items = [BoundItem(c.name, c.expr) for c in shown if c.name != search.score]
    select = BoundSelect((*items, BoundItem(search.score, score)), BoundTable(variable, of, at))
    identity = table.find(Name(ID, True))[0].expr
    order = (SortKey(score, not isinstance(score, Nearest)), SortKey(identity, nulls_first=True))
    return derived(binder, tree, around, BoundQuery(select, order, limit), name, hidden=(ID,))


# ---- arguments --------------------------------------------------------------------------------------------------


def _sorted_out(binder: SqlBinder, call: exp.Expr, name: str) -> tuple[list[exp.Expr], dict[str, exp.Expr]]:
    """Arguments by place and arguments by name."""
    search = SEARCHES[name]
    plain: list[exp.Expr] = []
    named: dict[str, exp.Expr] = {}
    for argument in call.expressions:
        if not isinstance(argument, exp.Kwarg):
            plain.append(argument)
            continue
        word = argument.this.name.lower()
        if word not in search.named:
            raise binder.unknown("argument", argument.this.name, argument.this, search.named, search.usage)
        if word in named:
            raise binder.mismatch(f"{word} is given twice", argument.this)
        named[word] = argument.expression
    if len(plain) != search.arguments:
        message = f"{name} takes {search.arguments} arguments and then names, not {len(plain)}"
        raise binder.mismatch(message, call, f"write {search.usage}")
    return plain, named


def _table(binder: SqlBinder, tree: exp.Expr, node: exp.Expr, name: str) -> tuple[TableType, ReadPoint]:
    """The table to search, named as itself (`branch.T` too) or in a string, and where in history."""
    parts: list[exp.Expr] = []
    if isinstance(node, exp.Literal) and node.is_string:
        parts = [_text_name(node)]
    elif isinstance(node, exp.Column) and len(node.parts) <= 3:
        parts = list(node.parts)
    if not parts or any(not isinstance(part, exp.Identifier) for part in parts):
        raise binder.mismatch(f"{name} begins with the name of a table", node, f"write {SEARCHES[name].usage}")
    qualifiers = dict(zip(("db", "catalog"), (part.copy() for part in reversed(parts[:-1])), strict=False))
    table = exp.Table(this=parts[-1].copy(), **qualifiers)
    if tree.args.get("version") is not None:
        table.set("version", tree.args["version"].copy())
    of, at = binder.resolve_table(table)
    if not isinstance(of, NodeType):
        raise binder.mismatch(f"{name} searches nodes; {of.name} is an edge type", node)
    return of, at


def _text_name(node: exp.Expr) -> exp.Identifier:
    """A string as a name, in its place."""
    made = exp.Identifier(this=node.name, quoted=False)
    made.meta.update(node.meta)
    return made


def _column(binder: SqlBinder, of: TableType, node: exp.Expr, ranker: str) -> Field:
    if isinstance(node, exp.Literal) and node.is_string:
        name = Name(node.name)
    elif isinstance(node, exp.Column) and len(node.parts) == 1 and isinstance(node.this, exp.Identifier):
        name = name_of(node.this)
    else:
        raise binder.mismatch(f"{ranker} takes the name of a column here", node, "write it in quotes")
    fields = of.columns_like(name.text)
    found = [f for f in fields if f.name == name.text] or [f for f in fields if name.matches(f.name)]
    if not found:
        known = (f.name for f in of.schema.fields)
        raise binder.unknown("column", name.text, node, known, f"{of.name} has no such column")
    column = found[0]
    fits = isinstance(column.type, VectorType) if ranker == "nearest" else is_text(column.type)
    if not fits:
        what = "vectors" if ranker == "nearest" else "texts"
        raise binder.mismatch(f"{ranker} searches {what}; {of.name}.{column.name} is a {type_text(column.type)}", node)
    return column


# ---- scores -----------------------------------------------------------------------------------------------------


def _score(
    binder: SqlBinder,
    scope: Scope,
    of: TableType,
    name: str,
    plain: list[exp.Expr],
    named: dict[str, exp.Expr],
) -> Expr:
    """The score as the same call in a select list would have it: only its column is named by a string here."""
    calls = []
    for ranker, place in SEARCHES[name].rankers:
        column = _column(binder, of, plain[place], ranker)
        field = _qualified(scope.tables[0].name, column.name, plain[place])
        calls.append(_call(ranker, field, plain[place + 1].copy()))
    node = calls[0]
    if name == "hybrid":
        k = named.get("rrf_k")
        _count(binder, k, "rrf_k", FUSION_K)
        node = _call("rrf", *calls, exp.Literal.number(FUSION_K) if k is None else k.copy())
    return binder.bind_expr(node, scope, name)


def _call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _qualified(table: str, column: str, written: exp.Expr) -> exp.Column:
    made = exp.Column(this=exp.to_identifier(column, quoted=True), table=exp.to_identifier(table, quoted=True))
    for part in made.parts:
        part.meta.update({key: written.meta[key] for key in ("start", "end") if key in written.meta})
    return made


def _count(binder: SqlBinder, node: exp.Expr | None, name: str, default: int) -> Expr:
    """A whole number above 0, or a parameter."""
    if node is None:
        return Literal(default, I64)
    value = binder.infer(binder.bind_expr(node, Scope(), name), I64)
    positive = isinstance(value, Literal) and isinstance(value.value, int) and value.value > 0
    fits = (positive or isinstance(value, Param)) and (is_integer(value.type) or is_open(value.type))
    if not fits:
        raise binder.mismatch(f"{name} is a whole number above 0, or a parameter", node)
    return value
