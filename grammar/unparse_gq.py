"""Syntax tree of `.gq` → canonical text. Parsing the text gives the tree back, but for the places in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, assert_never

from omnigraph_sql.grammar.ast import gq as ast
from omnigraph_sql.grammar.lexical import encode_string

_INDENT: Final = "    "


def unparse_unit(unit: ast.Unit) -> str:
    """Queries in file order, a blank line between."""
    return "\n".join(unparse_query(query) for query in unit.queries)


def unparse_query(query: ast.Query) -> str:
    """A query, or a bare body when it has no name; ends with a line feed."""
    if query.name is None:
        return _lines(_body(query.body), 0)
    formals = ", ".join(f"${formal.variable.name}: {_formal_type(formal.type)}" for formal in query.formals)
    head = [f"query {query.name.text}({formals})"]
    for word, text in (("@description", query.description), ("@instruction", query.instruction)):
        if text is not None:
            head.append(f"{_INDENT}{word}({encode_string(text)})")
    # The brace stands on the line of the head, or on its own below notes.
    opening = [f"{head[0]} {{"] if len(head) == 1 else [*head, "{"]
    return _lines(opening, 0) + _lines(_body(query.body), 1) + "}\n"


def unparse_clause(clause: ast.Clause) -> str:
    """One clause on one line."""
    match clause:
        case ast.NodeClause():
            tests = ", ".join(f"{test.property.text}: {unparse_value(test.value)}" for test in clause.tests)
            return f"${clause.variable.name}: {clause.type.text}" + (f" {{ {tests} }}" if tests else "")
        case ast.EdgeClause():
            return _edge(clause)
        case ast.Test(left=ast.TextTest(), relation=ast.Relation.EQ, right=ast.BoolLit(value=True)):
            return unparse_value(clause.left)
        case ast.Test():
            return f"{unparse_value(clause.left)} {clause.relation} {unparse_value(clause.right)}"
        case ast.NullTest():
            return f"{unparse_value(clause.value)} {_is_null(clause.negated)}"
        case ast.Absence():
            return f"not {{ {'  '.join(unparse_clause(inner) for inner in clause.clauses)} }}"
        case _:
            assert_never(clause)


def unparse_value(value: ast.Value) -> str:
    """A value as it is written."""
    match value:
        case ast.StringLit():
            return encode_string(value.value)
        case ast.IntLit():
            return str(value.value)
        case ast.FloatLit():
            return value.text
        case ast.BoolLit():
            return "true" if value.value else "false"
        case ast.NullLit():
            return "null"
        case ast.DateLit():
            return _call("date", encode_string(value.text))
        case ast.DateTimeLit():
            return _call("datetime", encode_string(value.text))
        case ast.ListLit():
            return f"[{', '.join(unparse_value(item) for item in value.items)}]"
        case ast.Var():
            return f"${value.name}"
        case ast.PropertyOf():
            return f"${value.variable.name}.{value.property.text}"
        case ast.AliasRef():
            return value.name
        case _:
            return _computed(value)


_Computed = ast.Now | ast.Nearest | ast.Bm25 | ast.Fuse | ast.TextTest | ast.Aggregate


def _computed(value: _Computed) -> str:
    match value:
        case ast.Now():
            return _call("now")
        case ast.Nearest():
            return _call("nearest", value.field, value.query)
        case ast.Bm25():
            return _call("bm25", value.field, value.query)
        case ast.Fuse():
            return _call("rrf", *value.rankers, value.k)
        case ast.TextTest():
            return _call(value.kind, value.field, value.query, value.max_edits)
        case ast.Aggregate():
            return _call(value.function, value.argument)
        case _:
            assert_never(value)


def _call(function: str, *arguments: ast.Value | str | None) -> str:
    written = (a if isinstance(a, str) else unparse_value(a) for a in arguments if a is not None)
    return f"{function}({', '.join(written)})"


def _edge(clause: ast.EdgeClause) -> str:
    variable = f"${clause.edge_variable.name}:" if clause.edge_variable is not None else ""
    word = f"<{clause.word.text}>" if clause.undirected else clause.word.text
    hops = ""
    if clause.hops is not None:
        maximum = "" if clause.hops.maximum is None else str(clause.hops.maximum)
        hops = f"{{{clause.hops.minimum},{maximum}}}"
    return f"${clause.left.name} {variable}{word}{hops} ${clause.right.name}"


def _formal_type(formal: ast.FormalType) -> str:
    name = formal.name.text
    if formal.is_list:
        name = f"[{name}]"
    elif formal.dimensions is not None:
        name = f"{name}({formal.dimensions})"
    return f"{name}?" if formal.nullable else name


def _body(body: ast.ReadBody | ast.WriteBody) -> list[str]:
    match body:
        case ast.ReadBody():
            return _read(body)
        case ast.WriteBody():
            return [_statement(statement) for statement in body.statements]
        case _:
            assert_never(body)


def _read(body: ast.ReadBody) -> list[str]:
    columns = (
        unparse_value(column.value) + (f" as {column.alias.text}" if column.alias is not None else "")
        for column in body.columns
    )
    lines = [
        "match {",
        *(_INDENT + unparse_clause(clause) for clause in body.clauses),
        "}",
        f"return {{ {', '.join(columns)} }}",
    ]
    if body.order:
        terms = (unparse_value(term.value) + (" desc" if term.descending else "") for term in body.order)
        lines.append(f"order {{ {', '.join(terms)} }}")
    if body.limit is not None:
        lines.append(f"limit {unparse_value(body.limit)}")
    return lines


def _statement(statement: ast.WriteStatement) -> str:
    match statement:
        case ast.Insert():
            return f"insert {statement.type.text} {_assignments(statement.assignments)}"
        case ast.Update():
            assignments, where = _assignments(statement.assignments), _row_test(statement.where)
            return f"update {statement.type.text} set {assignments} where {where}"
        case ast.Delete():
            return f"delete {statement.type.text} where {_row_test(statement.where)}"
        case _:
            assert_never(statement)


def _assignments(assignments: Iterable[ast.Assignment]) -> str:
    return f"{{ {', '.join(f'{a.property.text}: {unparse_value(a.value)}' for a in assignments)} }}"


def _row_test(test: ast.RowTest | ast.NullRowTest) -> str:
    match test:
        case ast.RowTest():
            return f"{test.property.text} {test.relation} {unparse_value(test.value)}"
        case ast.NullRowTest():
            return f"{test.property.text} {_is_null(test.negated)}"
        case _:
            assert_never(test)


def _is_null(negated: bool) -> str:
    return "is not null" if negated else "is null"


def _lines(lines: Iterable[str], level: int) -> str:
    return "".join(f"{_INDENT * level}{line}\n" for line in lines)
