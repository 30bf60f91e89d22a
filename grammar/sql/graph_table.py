"""`GRAPH_TABLE ([graph] MATCH pattern, … [WHERE condition] COLUMNS (…))`, as SQL:2023 and PostgreSQL 19 write it."""

from __future__ import annotations

from typing import Final, Literal

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from omnigraph_sql.base import limits
from omnigraph_sql.grammar.ast.sql import EdgePattern, GraphTable, Ident, NodePattern, PathPattern, Quantifier
from omnigraph_sql.grammar.lexical import too_many_joins
from omnigraph_sql.grammar.source import Span
from omnigraph_sql.grammar.sql.dialect import OmniParser
from omnigraph_sql.grammar.sql.spans import span_of_token

T = TokenType
_MODES: Final = frozenset({"TRAIL", "ACYCLIC", "SIMPLE", "WALK"})
_SHAPE: Final = "GRAPH_TABLE (MATCH (a IS Person)-[e IS Knows]->(b IS Person) COLUMNS (a.name, b.name AS friend))"
_EDGE_STARTS: Final = frozenset({T.DASH, T.ARROW, T.LT, T.LR_ARROW})

Direction = Literal["out", "in", "any"]


def parse_graph_table(parser: OmniParser) -> GraphTable:
    """The parser stands behind the opening bracket and ends in front of the closing one."""
    name = parser._tokens[parser._index - 2]
    graph = None
    if not parser._match_text_seq("MATCH", advance=False):
        ident = parser.ident("MATCH or the name of a graph")
        graph = exp.Identifier(this=ident.text, quoted=ident.quoted)
        graph.meta.update(start=ident.span.start, end=ident.span.end - 1)
    if not parser._match_text_seq("MATCH"):
        raise parser.mistake(f"expected MATCH, found {parser.shown()}", expected=("MATCH",), hint=_SHAPE)
    paths = [_path(parser)]
    while parser._match(T.COMMA):
        paths.append(_path(parser))
    _refuse_many(parser, paths)
    where = _condition(parser) if parser._match(T.WHERE) else None
    columns = _columns(parser)
    node = GraphTable(graph=graph, paths=tuple(paths), where=where, columns=columns)
    return node.update_positions(name)


def _refuse_many(parser: OmniParser, paths: list[PathPattern]) -> None:
    for kind in (NodePattern, EdgePattern):
        found = [element for path in paths for element in path.elements if isinstance(element, kind)]
        names = {element.variable.text for element in found if element.variable is not None}
        count = len(names) + sum(element.variable is None for element in found)
        if count > limits.JOINS_MAX:
            raise too_many_joins(parser.source, found[-1].span, count)


def _columns(parser: OmniParser) -> list[exp.Expr]:
    if not parser._match_text_seq("COLUMNS"):
        if parser.at(T.R_PAREN):
            raise parser.mistake("GRAPH_TABLE needs COLUMNS", expected=("COLUMNS (…)",), hint=_SHAPE)
        if parser._match_text_seq("RETURN", advance=False):
            raise parser.mistake("GRAPH_TABLE gives its results in COLUMNS", expected=("COLUMNS (…)",), hint=_SHAPE)
        raise parser.mistake(f"expected COLUMNS, found {parser.shown()}", expected=("COLUMNS (…)",), hint=_SHAPE)
    if not parser._match(T.L_PAREN):
        raise parser.mistake("the columns stand in brackets", expected=("'('",), hint=_SHAPE)
    columns = parser._parse_expressions()
    if not columns:
        raise parser.mistake(
            "COLUMNS is empty", expected=("an expression",), hint="write COLUMNS (a.name) or COLUMNS (a.*)"
        )
    if not parser._match(T.R_PAREN):
        raise parser.mistake(f"unexpected {parser.shown()}", expected=("','", "')'"))
    if not parser.at(T.R_PAREN):
        raise parser.mistake(f"nothing follows COLUMNS, found {parser.shown()}", expected=("')'",))
    return list(columns)


def _condition(parser: OmniParser) -> exp.Expr:
    condition: exp.Expr | None = parser._parse_disjunction()
    if condition is None:
        raise parser.mistake("a condition is missing after WHERE", expected=("a condition",))
    return condition


def _path(parser: OmniParser) -> PathPattern:
    start = parser.here().start
    variable = None
    if not parser.at(T.L_PAREN) and parser._next.token_type is T.EQ:
        variable = parser.ident("a path variable")
        parser._advance()
    shortest = _selector(parser)
    elements: list[NodePattern | EdgePattern] = [_node(parser)]
    while parser._curr.token_type in _EDGE_STARTS:
        elements += (_edge(parser), _node(parser))
    return PathPattern(variable, shortest, tuple(elements), parser.since(start))


def _selector(parser: OmniParser) -> bool:
    span = parser.here()
    word = parser._curr.text.upper()
    if word == "ALL" or (word == "SHORTEST" and parser._next.token_type is T.NUMBER):
        raise parser.unsupported(
            "only ANY SHORTEST is carried out", span, "write ANY SHORTEST, or a quantifier such as ->{1,3}"
        )
    if word in _MODES:
        raise parser.unsupported(
            f"the path mode {word} is not carried out", span, "paths are walks; compare ids in WHERE instead"
        )
    if word != "ANY":
        return False
    parser._advance()
    if not parser._match_text_seq("SHORTEST"):
        raise parser.unsupported("only ANY SHORTEST is carried out", span.to(parser.here()), "write ANY SHORTEST")
    parser._match_texts(("PATH", "PATHS", "WALK"))
    return True


def _node(parser: OmniParser) -> NodePattern:
    start = parser.here().start
    if not parser._match(T.L_PAREN):
        raise parser.mistake(
            f"expected a node pattern, found {parser.shown()}", expected=("'('",), hint="write (a IS Person)"
        )
    variable, labels, where = _filler(parser, T.R_PAREN)
    if not parser._match(T.R_PAREN):
        raise parser.mistake(
            f"unexpected {parser.shown()} in a node pattern",
            expected=("IS", "':'", "WHERE", "')'"),
            hint="write (a IS Person WHERE a.name = 'Ana')",
        )
    return NodePattern(variable, labels, where, parser.since(start))


def _edge(parser: OmniParser) -> EdgePattern:
    start = parser.here().start
    variable: Ident | None = None
    labels: tuple[Ident, ...] = ()
    where: exp.Expr | None = None
    leftwards = parser._match(T.LT)
    if parser._match(T.ARROW) or parser._match(T.LR_ARROW):
        direction: Direction = "out" if parser._prev.token_type is T.ARROW else "any"
        if leftwards:
            raise parser.mistake("an edge pattern is written -[…]->, <-[…]- or -[…]-", parser.since(start))
    elif not parser._match(T.DASH):
        raise parser.mistake("an edge pattern is written -[…]->, <-[…]- or -[…]-", parser.since(start))
    elif parser._match(T.L_BRACKET):
        variable, labels, where = _filler(parser, T.R_BRACKET)
        if not parser._match(T.R_BRACKET):
            raise parser.mistake(
                f"unexpected {parser.shown()} in an edge pattern",
                expected=("IS", "':'", "WHERE", "']'"),
                hint="write -[e IS Knows]->{1,3}" if parser.at(T.STAR) else "write -[e IS Knows]->",
            )
        direction = _tail(parser, start, leftwards)
    else:
        direction = "in" if leftwards else "any"
    span = parser.since(start)
    return EdgePattern(variable, labels, where, direction, _quantifier(parser), span)


def _tail(parser: OmniParser, start: int, leftwards: bool) -> Direction:
    if parser._match(T.ARROW):
        return "any" if leftwards else "out"
    if parser._match(T.DASH):
        return "in" if leftwards else "any"
    raise parser.mistake("an edge pattern ends with -> or -", parser.since(start), expected=("'->'", "'-'"))


def _filler(parser: OmniParser, closer: TokenType) -> tuple[Ident | None, tuple[Ident, ...], exp.Expr | None]:
    """`[variable] [IS label|label] [WHERE condition]`, the inside of a node or edge pattern."""
    variable = None
    labels: list[Ident] = []
    if parser._curr.token_type not in (T.IS, T.COLON, T.WHERE, closer):
        variable = parser.ident("a variable")
    if parser._match(T.IS) or parser._match(T.COLON):
        labels.append(parser.ident("a label"))
        while parser._match(T.PIPE):
            labels.append(parser.ident("a label"))
        if parser._curr.token_type in (T.AMP, T.COLON):
            raise parser.unsupported("an element has one of several labels, not all of them", hint="write IS a|b")
    where = _condition(parser) if parser._match(T.WHERE) else None
    return variable, tuple(labels), where


def _quantifier(parser: OmniParser) -> Quantifier | None:
    token = parser._curr
    simple = {T.STAR: (0, None), T.PLUS: (1, None), T.PLACEHOLDER: (0, 1)}.get(token.token_type)
    if simple is not None:
        parser._advance()
        return Quantifier(simple[0], simple[1], span_of_token(token))
    if not parser._match(T.L_BRACE):
        return None
    minimum = _count(parser)
    maximum = minimum
    comma = parser._match(T.COMMA)
    if comma:
        maximum = _count(parser)
    span = Span(token.start, parser.here().end)
    if not parser._match(T.R_BRACE) or (minimum is None and maximum is None):
        raise parser.mistake("a quantifier is written {n}, {n,m}, {n,}, {,m}, * + or ?", span)
    if maximum is not None and (minimum or 0) > maximum:
        raise parser.mistake("the quantifier's upper bound is below its lower bound", span)
    return Quantifier(minimum or 0, maximum, span)


def _count(parser: OmniParser) -> int | None:
    if not parser._match(T.NUMBER):
        return None
    text = parser._prev.text
    if not text.isdecimal() or len(text) > 9:
        raise parser.mistake("a quantifier counts with whole numbers below a billion", span_of_token(parser._prev))
    return int(text)
