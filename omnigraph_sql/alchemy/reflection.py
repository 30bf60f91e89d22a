"""What a graph's catalog looks like to SQLAlchemy. Node and edge types are tables, a branch is a schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from omnigraph_sql.alchemy.types import reflected_type
from omnigraph_sql.base.catalog import DST, ID, SRC, Catalog, Check, EdgeType, Index, NodeType, Range, TableType, Unique
from omnigraph_sql.base.types import STRING

Facts = dict[str, Any]


def table_named(catalog: Catalog, name: str) -> TableType | None:
    """The table an unquoted or a quoted name means; SQLAlchemy quotes names that are not in lower case."""
    found = catalog.tables_like(name)
    exact = [of for of in found if of.name == name]
    if exact:
        return exact[0]
    return found[0] if found and name == name.lower() else None


def columns(of: TableType, catalog: Catalog) -> list[Facts]:
    """The columns of `SELECT *`, after the id where edges refer to that."""
    made = [_column(ID, STRING, False, None)] if refers_to_id(of, catalog) else []
    for field in of.schema.fields:
        if field.name != ID:
            own = of.property(field.name)
            made.append(_column(field.name, field.type, field.nullable, own.description if own is not None else None))
    return made


def _column(name: str, of: Any, nullable: bool, comment: str | None) -> Facts:
    return {
        "name": name,
        "type": reflected_type(of),
        "nullable": nullable,
        "default": None,
        "autoincrement": False,
        "comment": comment,
    }


def end_column(node: NodeType) -> str:
    """The column of a node type that an edge's end holds: a text key itself, of any other type the id."""
    key = node.column(node.key[0]) if len(node.key) == 1 else None
    return key.name if key is not None and key.type == STRING else ID


def refers_to_id(of: TableType, catalog: Catalog) -> bool:
    return isinstance(of, NodeType) and end_column(of) == ID and bool(catalog.incident_edges(of.name))


def primary_key(of: TableType) -> Facts:
    return {"constrained_columns": list(of.key), "name": f"{of.name}_key" if of.key else None}


def foreign_keys(of: TableType, catalog: Catalog) -> list[Facts]:
    """Both ends of an edge type."""
    if not isinstance(of, EdgeType):
        return []
    made = []
    for column, target in ((SRC, of.source), (DST, of.target)):
        node = catalog.node(target)
        made.append(
            {
                "name": f"{of.name}_{column}",
                "constrained_columns": [column],
                "referred_schema": None,
                "referred_table": target,
                "referred_columns": [end_column(node) if node is not None else ID],
                "options": {"ondelete": "CASCADE"},
            }
        )
    return made


def indexes(of: TableType) -> list[Facts]:
    rules = (rule for rule in of.constraints if isinstance(rule, Index))
    return [
        {
            "name": f"{of.name}_{'_'.join(rule.properties)}_idx",
            "column_names": list(rule.properties),
            "unique": False,
            "include_columns": [],
            "dialect_options": {},
        }
        for rule in rules
    ]


def unique_constraints(of: TableType) -> list[Facts]:
    rules = (rule for rule in of.constraints if isinstance(rule, Unique))
    return [
        {"name": f"{of.name}_unique_{number}", "column_names": list(rule.properties)}
        for number, rule in enumerate(rules, 1)
    ]


def check_constraints(of: TableType) -> list[Facts]:
    """Ranges and patterns, as conditions that our SQL understands."""
    return [{"name": f"{of.name}_check_{number}", "sqltext": text} for number, text in enumerate(_conditions(of), 1)]


def _conditions(of: TableType) -> Iterator[str]:
    for rule in of.constraints:
        match rule:
            case Range(name, low, high):
                bounds = [
                    f"{name} >= {low}" if low is not None else "",
                    f"{name} <= {high}" if high is not None else "",
                ]
                yield " AND ".join(filter(None, bounds))
            case Check(name, pattern):
                quoted = pattern.replace("'", "''")
                yield f"regexp_like({name}, '{quoted}')"
            case _:
                pass
