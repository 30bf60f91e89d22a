"""Small parts of a syntax tree out of tokens, and the lists they are gathered in while a text is parsed."""

from __future__ import annotations

from typing import Any, Final

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import ParseError
from omnigraph_sql.grammar.ast import gq as ast
from omnigraph_sql.grammar.gq_lexer import Tok
from omnigraph_sql.grammar.gq_refused import Refused, TooLong, TooMany
from omnigraph_sql.grammar.lexical import decode_string
from omnigraph_sql.grammar.source import Source, Span

Parts = list[Any]
"""What a rule is made of, in the order of the text: tokens, and what was made of inner rules."""

DIGITS_MAX: Final = 400
"""Room for the largest float written out; longer digits only cost time."""

_INT_MAX: Final = 2**63 - 1


def at(part: Any) -> Span:
    """Where a token or a node stands."""
    return Span(part.start, part.end) if isinstance(part, Tok) else part.span


def across(parts: Parts) -> Span:
    """From the start of the first part to the end of the last."""
    first, last = parts[0], parts[-1]
    start = first.start if isinstance(first, Tok) else first.span.start
    end = last.end if isinstance(last, Tok) else last.span.end
    return Span(start, end)


def to_name(token: Tok) -> ast.Name:
    """A word as a name."""
    return ast.Name(short(token.text, token), Span(token.start, token.end))


def to_var(token: Tok) -> ast.Var:
    """`$word` as a variable."""
    return ast.Var(short(token.text[1:], token), Span(token.start, token.end))


def short(text: str, token: Tok) -> str:
    """`text`, unless it is too long for a name."""
    if len(text) > limits.IDENTIFIER_CHARACTERS_MAX:
        raise TooLong(at(token))
    return text


def to_integer(token: Tok, span: Span, *, negative: bool = False) -> int:
    """The value of digits, unless it needs more than 64 bits."""
    if len(token.text) <= DIGITS_MAX:
        value = -int(token.text) if negative else int(token.text)
        if -_INT_MAX - 1 <= value <= _INT_MAX:
            return value
    raise Refused("this integer does not fit into 64 bits", span, hint=f"the largest integer is {_INT_MAX}")


def to_string(token: Tok) -> str:
    """The value of a quoted literal."""
    try:
        return decode_string(token.text, Span(0, len(token.text)), Source(token.text))
    except ParseError as problem:
        escape = Span(token.start + problem.at.start, token.start + problem.at.end)
        raise Refused(problem.message, escape, hint=problem.hint, expected=problem.expected) from None


def several(parts: Parts, what: str) -> Parts:
    """Left-recursive lists without commas: the first item starts a list, each further one is put to its end."""
    if len(parts) == 1:
        return [parts[0]]
    items: Parts = parts[0]
    items.append(parts[-1])
    if len(items) > limits.LIST_ITEMS_MAX:
        raise TooMany(what, len(items), at(parts[-1]))
    return items


def separated(parts: Parts) -> Parts:
    """The same with commas between."""
    if len(parts) == 1:
        return [parts[0]]
    items: Parts = parts[0]
    items.append(parts[-1])
    return items


def to_input(part: Any) -> ast.Value:
    """A value where only what is known before the query runs may stand."""
    if isinstance(part, Tok):
        return to_var(part)
    value: ast.Value = part
    if isinstance(value, ast.Nearest | ast.Bm25 | ast.Fuse | ast.TextTest | ast.Aggregate):
        raise Refused(
            "only a literal, a parameter or now() can stand here",
            value.span,
            hint="compare computed values in a clause of its own, as in  $x.p = …",
        )
    return value


def to_edge_word(token: Tok) -> ast.Name:
    """A word as the name of an edge; one word cannot be."""
    if token.text == "not":
        raise Refused("an edge cannot be called 'not'", at(token), hint="absence is written  not { … }")
    return to_name(token)


class Columns:
    """Returned columns so far, and whether the last had a comma after it."""

    __slots__ = ("comma", "items")

    def __init__(self) -> None:
        self.items: list[ast.Returned] = []
        self.comma = True

    def add(self, column: ast.Returned, comma: bool) -> None:
        value = column.value
        # Without this, `$a.x -1` would quietly be two columns.
        signed = (
            value.text[0] == "-"
            if isinstance(value, ast.FloatLit)
            else isinstance(value, ast.IntLit) and value.value < 0
        )
        if signed and not self.comma:
            raise Refused("values are not computed with", column.span, hint="put a comma before a negative number")
        self.items.append(column)
        self.comma = comma
        if len(self.items) > limits.LIST_ITEMS_MAX:
            raise TooMany("columns", len(self.items), column.span)
