"""Pieces that many house statements share: names, options, conditions, queries."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import TypeVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from omnigraph_sql.base.errors import ParseError
from omnigraph_sql.grammar.ast.sql import Ident, Options, TableName
from omnigraph_sql.grammar.sql.dialect import QUERY_STARTS, OmniParser

T = TokenType
_Item = TypeVar("_Item")
_BRANCH_MARKS = frozenset({T.SLASH, T.DIV, T.DASH, T.DOT})


def table_name(parser: OmniParser, what: str = "a table") -> TableName:
    """`[[catalog.]schema.]name`."""
    parts = [parser.ident(what)]
    while parser._match(T.DOT):
        parts.append(parser.ident(what))
        if len(parts) > 3:
            raise parser.mistake("a table name has at most three parts", parts[0].span.to(parts[-1].span))
    schema = parts[-2] if len(parts) > 1 else None
    catalog = parts[0] if len(parts) > 2 else None
    return TableName(catalog, schema, parts[-1], parts[0].span.to(parts[-1].span))


def branch_name(parser: OmniParser) -> Ident:
    """A branch; names with a slash, a dash or a dot have to be quoted."""
    if parser.at(T.STRING):
        token = parser._curr
        raise parser.mistake("a branch name is not a string", hint=f'write "{token.text}"')
    name = parser.ident("a branch")
    if name.quoted or parser._curr.token_type not in _BRANCH_MARKS or parser._curr.start != name.span.end:
        return name
    while parser._curr and parser._curr.start == parser._prev.end + 1:
        parser._advance()
    span = parser.since(name.span.start)
    written = parser.sql[span.start : span.end]
    raise parser.mistake("a branch name with other signs than letters is quoted", span, hint=f'write "{written}"')


def names_in_brackets(parser: OmniParser, what: str = "a column") -> tuple[Ident, ...]:
    """`(a, b, …)`, at least one."""
    return in_brackets(parser, lambda: parser.ident(what))


def in_brackets(parser: OmniParser, item: Callable[[], _Item]) -> tuple[_Item, ...]:
    """`(item, …)`, at least one; a trailing comma is allowed, as in queries."""
    expect(parser, T.L_PAREN, "'('")
    items = [item()]
    while parser._match(T.COMMA) and not parser.at(T.R_PAREN):
        items.append(item())
    expect(parser, T.R_PAREN, "','", "')'")
    return tuple(items)


def expect(parser: OmniParser, kind: TokenType, *expected: str) -> None:
    if not parser._match(kind):
        raise unexpected(parser, *expected)


def expect_word(parser: OmniParser, *words: str) -> None:
    """These words in a row."""
    for word in words:
        if not parser._match_text_seq(word):
            raise unexpected(parser, word)


def unexpected(parser: OmniParser, *expected: str) -> ParseError:
    """Says what may stand here, with the nearest of the expected words for a misspelt one."""
    found = parser._curr.text.upper() if parser._curr else ""
    near = get_close_matches(found, expected, n=1, cutoff=0.6) if found.isidentifier() else []
    if len(expected) < 4:
        message = f"expected {' or '.join(expected)}, found {parser.shown()}"
    else:
        message = f"unexpected {parser.shown()}" if parser._curr else "the statement ends too early"
    return parser.mistake(message, expected=expected, suggestion=near[0] if near else None)


def if_exists(parser: OmniParser) -> bool:
    return bool(parser._match_text_seq("IF", "EXISTS"))


def if_not_exists(parser: OmniParser) -> bool:
    return bool(parser._match_text_seq("IF", "NOT", "EXISTS"))


def expression(parser: OmniParser, what: str = "an expression") -> exp.Expr:
    node: exp.Expr | None = parser._parse_disjunction()
    if node is None:
        raise unexpected(parser, what)
    return node


def literal(parser: OmniParser, what: str = "a path in single quotes") -> exp.Expr:
    """A string or a parameter."""
    node: exp.Expr | None = parser._parse_string()
    if node is None:
        raise unexpected(parser, what)
    return node


def starts_query(parser: OmniParser) -> bool:
    kind = parser._curr.token_type
    return kind in QUERY_STARTS or kind is T.L_PAREN


def query(parser: OmniParser) -> exp.Expr:
    """A whole SELECT, VALUES, set operation or WITH."""
    if not starts_query(parser):
        raise unexpected(parser, "a query")
    node = parser._parse_statement()
    if not isinstance(node, (exp.Query, exp.Values)):
        raise parser.mistake("a query is expected here", parser.since(parser._tokens[0].start))
    return node


def options(parser: OmniParser) -> Options:
    """`[WITH] (name value, name = value, name)`, or nothing."""
    if parser._match_text_seq("WITH") or parser.at(T.L_PAREN):
        return in_brackets(parser, lambda: _option(parser))
    return ()


def _option(parser: OmniParser) -> tuple[str, exp.Expr]:
    token = parser._curr
    if not (token and token.text.isidentifier()):
        raise unexpected(parser, "an option")
    parser._advance()
    name = token.text.lower()
    parser._match(T.EQ)
    if parser._curr.token_type in (T.COMMA, T.R_PAREN):
        return name, exp.true().update_positions(token)
    return name, word_or_expression(parser)


def word_or_expression(parser: OmniParser) -> exp.Expr:
    """The value of an option or setting: a bare word is an exp.Var, `true` and the like are what they are."""
    token, after = parser._curr, parser._next
    bare = token.text.isidentifier() and token.token_type not in (T.TRUE, T.FALSE, T.NULL, T.STRING)
    if bare and (not after or after.token_type in (T.COMMA, T.R_PAREN)):
        parser._advance()
        return exp.Var(this=token.text).update_positions(token)
    return expression(parser, "a value")
