"""Text of queries → syntax tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal

from omnigraph_sql.base.errors import InternalError, LanguageError, ParseError
from omnigraph_sql.grammar.ast import gq as ast
from omnigraph_sql.grammar.gq_build import Builder, QueryParts
from omnigraph_sql.grammar.gq_lexer import first_tokens, lexer
from omnigraph_sql.grammar.gq_mistakes import BODY, UNIT, friendlier
from omnigraph_sql.grammar.gq_refused import Refused
from omnigraph_sql.grammar.lexical import refuse_if_unreasonable, shallow
from omnigraph_sql.grammar.source import Source, Span

if TYPE_CHECKING:
    from lark import Lark

_Start = Literal["unit", "body"]
_WRITES: Final = ("insert", "update", "delete")


def parse_unit(text: str, *, name: str = "<gq>", extensions: bool = True) -> ast.Unit:
    """A text of zero or more `query …` definitions. Raises LanguageError and nothing else, whatever the text."""
    source = Source(text, name)
    queries: list[QueryParts] = _parsed(source, "unit")
    unit = ast.Unit(source, tuple(query.of(source) for query in queries))
    if not extensions:
        _refuse_extensions(unit.queries, source)
    return unit


def parse_body(text: str, *, name: str = "<gq>", extensions: bool = True) -> ast.Query:
    """A bare `match { … } return { … }`, or bare writes, as a query without a name."""
    source = Source(text, name)
    body: QueryParts = _parsed(source, "body")
    query = body.of(source)
    if not extensions:
        _refuse_extensions((query,), source)
    return query


def parse_any(text: str, *, name: str = "<gq>", extensions: bool = True) -> ast.Unit:
    """Query definitions, or one bare body."""
    first = first_tokens(text, 1)
    if first and first[0].text.casefold() in ("match", *_WRITES):
        query = parse_body(text, name=name, extensions=extensions)
        return ast.Unit(query.source, (query,))
    return parse_unit(text, name=name, extensions=extensions)


def looks_like_gq(text: str) -> bool:
    """Whether a text is meant as `.gq` and not as SQL, told by its first words; it may still be wrong."""
    words = [token.text for token in first_tokens(text, 4)]
    match words:
        case [query, _, "(", *_] if query.casefold() == "query":
            return words[1] != "("
        case [match_, "{", *_] if match_.casefold() == "match":
            return True
        case ["insert", type_, "{", *_] | ["update", type_, "set", "{"] | ["delete", type_, "where", *_]:
            return type_[0].isupper()
        case _:
            return False


@cache
def _parser() -> Lark:
    """Built on first use and kept for the life of the process."""
    from importlib.resources import files

    from lark import Lark

    grammar = (files("omnigraph_sql.grammar") / "gq.lark").read_text(encoding="utf-8")
    return Lark(
        grammar,
        start=["unit", "body"],
        parser="lalr",
        lexer=lexer(),
        transformer=Builder(),
        keep_all_tokens=True,
        maybe_placeholders=False,
    )


def _parsed(source: Source, start: _Start) -> Any:
    from lark.exceptions import UnexpectedInput

    refuse_if_unreasonable(source)
    with shallow(source):
        try:
            return _parser().parse(source.text, start=start)
        except Refused as refused:
            error = refused.error(source)
        except UnexpectedInput:
            error = _explained(source, start)
    raise error


def _explained(source: Source, start: _Start) -> LanguageError:
    """What is wrong with a text that did not parse: parsed again, slowly, by a parser that can tell."""
    try:
        (UNIT if start == "unit" else BODY).parse(source)
    except ParseError as error:
        return friendlier(error, source)
    raise InternalError("two parsers of one grammar disagree")


# ---- the strict dialect -----------------------------------------------------------------------------------------


def _refuse_extensions(queries: tuple[ast.Query, ...], source: Source) -> None:
    """Without extensions the grammar is smaller; a text that needs the larger one is told how to get it."""
    found = [problem for query in queries for node in nodes_below(query.body) if (problem := _extension(node, source))]
    if found:
        span, what, instead = min(found, key=lambda problem: problem[0].start)
        raise ParseError(
            f"{what} an extension of the language, and extensions are switched off",
            at=source.locate(span),
            hint=f"switch gq.extensions on{instead}",
        )


def _extension(node: object, source: Source) -> tuple[Span, str, str] | None:
    """Where an extension stands, what it is, and what to do without it."""
    by_parameter = ", or pass the value as a parameter"
    match node:
        case ast.NullLit(span=span):
            return span, "the literal null is", by_parameter
        case ast.NullTest(span=span) | ast.NullRowTest(span=span):
            return span, "the tests 'is null' and 'is not null' are", ""
        case ast.IntLit(span=span) | ast.FloatLit(span=span) if source.text[span.start] == "-":
            return span, "a negative number is", by_parameter
        case ast.ReadBody(limit=ast.Var(span=span)):
            return span, "a parameter as limit is", ", or write the number"
        case _:
            return None


def nodes_below(node: object) -> Iterator[object]:
    """Every node below and at `node`."""
    if isinstance(node, tuple):
        for item in node:
            yield from nodes_below(item)
    elif is_dataclass(node) and not isinstance(node, Span):
        yield node
        for field in fields(node):
            yield from nodes_below(getattr(node, field.name))
