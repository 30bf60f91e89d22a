"""`CREATE PROPERTY GRAPH`, as PostgreSQL 19 writes it."""

from __future__ import annotations

from sqlglot.tokenizer_core import TokenType

from omnigraph_sql.grammar.ast import sql as ast
from omnigraph_sql.grammar.sql.common import (
    expect_word,
    expression,
    if_not_exists,
    in_brackets,
    names_in_brackets,
    table_name,
    unexpected,
)
from omnigraph_sql.grammar.sql.dialect import OmniParser

T = TokenType


def create_property_graph(parser: OmniParser, start: int, replace: bool) -> ast.CreatePropertyGraph:
    """Behind CREATE [OR REPLACE] PROPERTY GRAPH."""
    exists = if_not_exists(parser)
    name = table_name(parser, "a property graph")
    if not parser._match_texts(("VERTEX", "NODE")):
        raise unexpected(parser, "VERTEX TABLES", "NODE TABLES")
    expect_word(parser, "TABLES")
    vertices = in_brackets(parser, lambda: _element(parser, edge=False))
    edges: tuple[ast.GraphElement, ...] = ()
    if parser._match_texts(("EDGE", "RELATIONSHIP")):
        expect_word(parser, "TABLES")
        edges = in_brackets(parser, lambda: _element(parser, edge=True))
    return ast.CreatePropertyGraph(name, replace, exists, vertices, edges, parser.since(start))


def _element(parser: OmniParser, edge: bool) -> ast.GraphElement:
    start = parser.here().start
    table = table_name(parser)
    alias = parser.ident("an alias") if parser._match_text_seq("AS") else None
    key = names_in_brackets(parser) if parser._match_text_seq("KEY") else ()
    source = destination = None
    if parser._match_text_seq("SOURCE"):
        source = _end(parser)
        expect_word(parser, "DESTINATION")
        destination = _end(parser)
    if not edge and source is not None:
        raise parser.mistake("a vertex table has no ends", source.span, hint="put it under EDGE TABLES")
    labels = _labels(parser)
    return ast.GraphElement(table, alias, key, source, destination, labels, parser.since(start))


def _end(parser: OmniParser) -> ast.GraphEnd:
    start = parser._prev.start
    columns: tuple[ast.Ident, ...] = ()
    if parser._match_text_seq("KEY"):
        columns = names_in_brackets(parser)
        expect_word(parser, "REFERENCES")
    table = parser.ident("a vertex table")
    referenced = names_in_brackets(parser) if parser.at(T.L_PAREN) else ()
    return ast.GraphEnd(columns, table, referenced, parser.since(start))


def _labels(parser: OmniParser) -> tuple[ast.GraphLabel, ...]:
    labels: list[ast.GraphLabel] = []
    if parser._match_texts(("PROPERTIES", "NO"), advance=False):
        start = parser.here().start
        properties = _properties(parser)
        return (ast.GraphLabel(None, properties, parser.since(start)),)
    while True:
        start = parser.here().start
        if parser._match_text_seq("DEFAULT", "LABEL"):
            name = None
        elif parser._match_text_seq("LABEL"):
            name = parser.ident("a label")
        else:
            return tuple(labels)
        labels.append(ast.GraphLabel(name, _properties(parser), parser.since(start)))


def _properties(parser: OmniParser) -> tuple[ast.GraphProperty, ...] | None:
    """None when all columns are properties."""
    if parser._match_text_seq("NO", "PROPERTIES"):
        return ()
    if not parser._match_text_seq("PROPERTIES"):
        return None
    if parser._match_text_seq("ALL", "COLUMNS"):
        return None
    if parser._match_text_seq("ARE", "ALL", "COLUMNS"):
        return None
    return in_brackets(parser, lambda: _property(parser))


def _property(parser: OmniParser) -> ast.GraphProperty:
    start = parser.here().start
    node = expression(parser)
    name = parser.ident("a name") if parser._match_text_seq("AS") else None
    return ast.GraphProperty(node, name, parser.since(start))
