"""Parameters of a SQL statement: how they may be written, and the order a caller sees them in."""

from __future__ import annotations

from collections.abc import Mapping

from omnigraph_sql.base.errors import TypeMismatch
from omnigraph_sql.base.expr import Param
from omnigraph_sql.grammar.ast.sql import Placeholder, SqlStatement
from omnigraph_sql.grammar.source import Span


def refuse_odd_placeholders(statement: SqlStatement) -> None:
    """One statement has one style: `?`, or numbers without a gap, or names."""
    styles: dict[str, Placeholder] = {}
    for placeholder in statement.placeholders:
        styles.setdefault(_style(statement, placeholder), placeholder)
    if len(styles) > 1:
        first, second = list(styles.values())[:2]
        words = f"{_written(statement, first)} and {_written(statement, second)}"
        hint = "use ? alone, or $1, $2 … alone, or $name alone"
        raise _refused(statement, second.span, f"{words} cannot be mixed in one statement", hint)
    _refuse_gaps(statement)


def _refuse_gaps(statement: SqlStatement) -> None:
    numbered: dict[int, Placeholder] = {}
    for placeholder in statement.placeholders:
        if not placeholder.positional:
            continue
        if not placeholder.name.isdecimal() or placeholder.name.startswith("0"):
            text = f"{_written(statement, placeholder)} is no parameter; they are numbered from 1"
            raise _refused(statement, placeholder.span, text, "write $1 for the first one")
        numbered.setdefault(int(placeholder.name), placeholder)
    for number, wanted in zip(sorted(numbered), range(1, len(numbered) + 1), strict=True):
        if number != wanted:
            text = f"{_written(statement, numbered[number])} is used, ${wanted} is not"
            raise _refused(statement, numbered[number].span, text, "number the parameters without a gap")


def _style(statement: SqlStatement, placeholder: Placeholder) -> str:
    if not placeholder.positional:
        return "name"
    return "mark" if _written(statement, placeholder) == "?" else "number"


def _written(statement: SqlStatement, placeholder: Placeholder) -> str:
    return statement.source.text[placeholder.span.start : placeholder.span.end]


def _refused(statement: SqlStatement, span: Span, message: str, hint: str) -> TypeMismatch:
    return TypeMismatch(message, at=statement.source.locate(span), hint=hint, code="parameters")


def ordered_parameters(statement: SqlStatement, bound: Mapping[str, Param]) -> tuple[Param, ...]:
    """Positional ones by their number, named ones in order of first appearance; then those only the binder met."""
    written = list(dict.fromkeys(p.name for p in statement.placeholders))
    if any(p.positional for p in statement.placeholders):
        written.sort(key=int)
    names = dict.fromkeys([*written, *bound])
    return tuple(bound.get(name) or Param(name) for name in names)
