"""Calls of `.gq`: which functions there are, how many arguments they take, and what nodes they become."""

from __future__ import annotations

from typing import Final

from omnigraph_sql.grammar.ast import gq as ast
from omnigraph_sql.grammar.gq_lexer import Tok
from omnigraph_sql.grammar.gq_refused import Refused, near
from omnigraph_sql.grammar.source import Span

AGGREGATES: Final = ("count", "sum", "avg", "min", "max")
TEXT_TESTS: Final = ("search", "fuzzy", "match_text")

# How many arguments a function takes, and how a call of it is written.
_SHAPES: Final[dict[str, tuple[tuple[int, ...], str]]] = {
    "now": ((0,), "now()"),
    "nearest": ((2,), "nearest($x.vector, $query)"),
    "search": ((2,), "search($x.text, $words)"),
    "fuzzy": ((2, 3), "fuzzy($x.text, $words, 1)"),
    "match_text": ((2,), "match_text($x.text, $phrase)"),
    "bm25": ((2,), "bm25($x.text, $words)"),
    "rrf": ((2, 3), "rrf(nearest($x.vector, $query), bm25($x.text, $words), 60)"),
    "date": ((1,), 'date("2031-02-03")'),
    "datetime": ((1,), 'datetime("2031-02-03T04:05:06Z")'),
    **{name: ((1,), f"{name}($x.property)") for name in AGGREGATES},
}
_COUNTS: Final = {0: "no arguments", 1: "one argument", 2: "two arguments", 3: "three arguments"}


def build_call(word: Tok, arguments: list[ast.Value], span: Span) -> ast.Value:
    """The node a call stands for; whatever is wrong with the call is Refused."""
    name = word.text
    if name not in _SHAPES:
        raise Refused(
            f"there is no function '{name}'",
            Span(word.start, word.end),
            suggestion=near(name, _SHAPES),
            hint=f"the functions are {', '.join(sorted(_SHAPES))}",
        )
    counts, shape = _SHAPES[name]
    if len(arguments) not in counts:
        takes = " or ".join(_COUNTS[count] for count in counts)
        raise Refused(f"'{name}' takes {takes}, found {len(arguments)}", span, hint=f"write  {shape}")
    if name in AGGREGATES:
        return ast.Aggregate(name, arguments[0], span)
    if name in TEXT_TESTS:
        edits = arguments[2] if len(arguments) > 2 else None
        return ast.TextTest(name, arguments[0], arguments[1], edits, span)
    match name:
        case "now":
            return ast.Now(span)
        case "bm25":
            return ast.Bm25(arguments[0], arguments[1], span)
        case "nearest":
            return _nearest(arguments, span)
        case "rrf":
            return _fuse(arguments, span)
        case _:
            return _moment(name, arguments[0], span)


def _nearest(arguments: list[ast.Value], span: Span) -> ast.Nearest:
    field, query = arguments
    if not isinstance(field, ast.PropertyOf):
        raise Refused("the first argument of 'nearest' is a property, as in $x.vector", field.span)
    return ast.Nearest(field, query, span)


def _fuse(arguments: list[ast.Value], span: Span) -> ast.Fuse:
    rankers: list[ast.Nearest | ast.Bm25] = []
    for argument in arguments[:2]:
        if not isinstance(argument, ast.Nearest | ast.Bm25):
            raise Refused(
                "'rrf' fuses two rankings, each a call of nearest or bm25",
                argument.span,
                expected=("nearest(…)", "bm25(…)"),
            )
        rankers.append(argument)
    return ast.Fuse(tuple(rankers), arguments[2] if len(arguments) > 2 else None, span)


def _moment(name: str, argument: ast.Value, span: Span) -> ast.DateLit | ast.DateTimeLit:
    if not isinstance(argument, ast.StringLit):
        _, shape = _SHAPES[name]
        raise Refused(f"'{name}' takes a string", argument.span, hint=f"write  {shape}, or pass a parameter")
    return (ast.DateLit if name == "date" else ast.DateTimeLit)(argument.value, span)
