"""Trees of SQL as one line of text, without places: what case files compare."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from sqlglot import exp

from omnigraph_sql.grammar.ast.sql import Ident, SqlStatement, TableName
from omnigraph_sql.grammar.source import Span


def outline_statement(statement: SqlStatement) -> str:
    """The tree, with what EXPLAIN says in front."""
    explain = statement.explain
    tree = outline(statement.tree)
    if explain is None:
        return tree
    return f"EXPLAIN {'analyze ' if explain.analyze else ''}{explain.format}: {tree}"


def outline(node: object) -> str:
    """Class names and arguments; what is absent, empty or false is left out."""
    match node:
        case Ident(text, quoted):
            return f'"{text}"' if quoted else text
        case exp.Identifier():
            return f'"{node.name}"' if node.quoted else node.name
        case TableName(catalog, schema, name):
            return ".".join(outline(part) for part in (catalog, schema, name) if part is not None)
        case exp.Literal():
            return f"'{node.name}'" if node.is_string else node.name
        case exp.Placeholder():
            return f"${node.name}"
        case exp.Var():
            return node.name
        case exp.DataType():
            return node.sql("duckdb")
        case exp.Null() | exp.Boolean():
            return node.sql().lower()
        case exp.Column() | exp.Table() if _is_plain(node):
            return ".".join(outline(part) for part in node.parts)
        case exp.Expr():
            # sqlglot fills arguments in any order
            return _node(type(node).__name__, ((key, node.args.get(key)) for key in node.arg_types))
        case list() | tuple():
            return f"[{', '.join(outline(item) for item in node)}]"
        case str():
            return node
        case _ if dataclasses.is_dataclass(node) and not isinstance(node, type):
            fields = ((field.name, getattr(node, field.name)) for field in dataclasses.fields(node))
            return _node(type(node).__name__, fields)
        case _:
            return repr(node)


def _is_plain(node: exp.Expr) -> bool:
    names = {"this", "table", "db", "catalog"}
    return all(key in names or not value for key, value in node.args.items()) and isinstance(node.this, exp.Identifier)


def _node(name: str, arguments: Iterable[tuple[str, object]]) -> str:
    shown: list[str] = []
    for key, value in arguments:
        if value is None or value is False or isinstance(value, Span):
            continue
        if value in ([], ()) and key != "properties":
            # no properties and all properties are two things
            continue
        if value is True:
            shown.append(key)
        else:
            shown.append(outline(value) if key == "this" else f"{key}={outline(value)}")
    return f"{name}({', '.join(shown)})" if shown else name
