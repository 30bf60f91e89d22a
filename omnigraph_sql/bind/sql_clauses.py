"""Clauses that sqlglot parses and this language does not have: refused by name, never passed over.

Every part of the binder says which arguments of a node it takes care of; any other argument that is set is refused.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from omnigraph_sql.bind.sql_binder import SqlBinder

_REFUSED: Final[dict[str, tuple[str, str]]] = {
    "alias": ("an alias cannot stand here", "take it away"),
    "changes": ("CHANGES is not supported", "use table_changes('table', from, to)"),
    "cluster": ("CLUSTER BY is not supported", "use ORDER BY"),
    "connect": ("CONNECT BY is not supported", "use WITH RECURSIVE, or a pattern in GRAPH_TABLE"),
    "cycle": ("CYCLE is not supported", "keep the path in a list column and test it with list_contains"),
    "distribute": ("DISTRIBUTE BY is not supported", "use ORDER BY"),
    "exclude": ("EXCLUDE stands directly behind the star", "write SELECT * EXCLUDE (column) FROM …"),
    "for_": ("FOR XML and FOR JSON are not supported", "take the rows and format them yourself"),
    "format": ("FORMAT is not supported", "take it away"),
    "global_": ("GLOBAL joins are not supported", "write a plain JOIN"),
    "having": ("HAVING belongs to a SELECT", "put the query into FROM and filter it there"),
    "group": ("GROUP BY belongs to a SELECT", "put the query into FROM and group it there"),
    "hint": ("hints are not supported", "take the hint away; EXPLAIN shows the plan"),
    "hints": ("hints are not supported", "take the hint away; EXPLAIN shows the plan"),
    "ilike": ("* ILIKE is not supported", "name the columns, or use * EXCLUDE (…)"),
    "indexed": ("INDEXED BY is not supported", "take it away; indexes are used without being named"),
    "into": ("SELECT INTO is not supported", "write CREATE TABLE name AS SELECT …"),
    "joins": ("a join cannot stand here", "put the query into FROM"),
    "key_expressions": ("USING KEY is not supported", "keep the best row per key with QUALIFY row_number() = 1"),
    "kind": ("this form of SELECT is not supported", "select the columns, or build a struct with struct(…)"),
    "laterals": ("LATERAL VIEW is not supported", "write FROM t, unnest(t.list) AS u(item)"),
    "locks": ("FOR UPDATE and FOR SHARE are not supported", "take it away; a statement reads one snapshot"),
    "match": ("MATCH_RECOGNIZE is not supported", "use window functions such as lag and lead"),
    "match_condition": ("MATCH_CONDITION is not supported", "join with ON, then keep one row with QUALIFY"),
    "nearest": ("nearest joins are not supported", "use nearest(…) in ORDER BY with LIMIT"),
    "on": ("ON cannot stand here", "take it away"),
    "only": ("ONLY is not supported", "take it away; types do not inherit rows"),
    "options": ("query options are not supported", "take them away"),
    "ordinality": ("WITH ORDINALITY stands behind a table function only", "number the rows with row_number() OVER ()"),
    "pattern": ("file patterns are not supported", "load the files first"),
    "partition": ("PARTITION is not supported", "filter with WHERE"),
    "pivots": ("PIVOT and UNPIVOT are not supported", "use GROUP BY with FILTER: sum(x) FILTER (WHERE kind = 'a')"),
    "prewhere": ("PREWHERE is not supported", "use WHERE"),
    "qualify": ("QUALIFY belongs to a SELECT", "put the query into FROM and filter it there"),
    "rows_from": ("ROWS FROM is not supported", "list the functions in FROM one by one"),
    "sample": ("TABLESAMPLE is not supported", "use ORDER BY random() LIMIT n"),
    "search": ("SEARCH is not supported", "keep a depth column and order by it"),
    "settings": ("SETTINGS is not supported", "use SET name = value"),
    "siblings": ("ORDER SIBLINGS BY is not supported", "use ORDER BY"),
    "side": ("this form of set operation is not supported", "name the columns on both sides"),
    "sort": ("SORT BY is not supported", "use ORDER BY"),
    "totals": ("WITH TOTALS is not supported", "use GROUP BY ROLLUP (…)"),
    "udfs": ("functions in WITH are not supported", "write the expression where it is used"),
    "where": ("WHERE belongs to a SELECT", "put the query into FROM and filter it there"),
    "windows": ("WINDOW belongs to a SELECT", "put the query into FROM"),
    "with_": ("WITH cannot stand here", "move it to the front of the statement"),
    "with_fill": ("WITH FILL is not supported", "join with generate_series(…)"),
}


def refuse_clauses(binder: SqlBinder, node: exp.Expr, known: frozenset[str]) -> None:
    """Refuse what the text says beyond `known`, the arguments of the node that its reader takes care of."""
    for key, value in node.args.items():
        if key in known or value is None or value is False or value == []:
            continue
        raise _refusal(binder, node, key, value)


def _refusal(binder: SqlBinder, node: exp.Expr, key: str, value: object) -> Exception:
    message, hint = _REFUSED.get(key, ("", ""))
    if not message:
        message = f"'{key.strip('_').replace('_', ' ')}' is not supported here"
        hint = "rewrite the statement without it"
    part = value[0] if isinstance(value, list) else value
    at = part if isinstance(part, exp.Expr) and binder.span_of(part) != binder.span else node
    return binder.unsupported(message, at, hint)
