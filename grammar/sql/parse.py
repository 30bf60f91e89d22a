"""SQL text to statements. Whatever the text, the answer is statements or a LanguageError."""

from __future__ import annotations

from typing import Final

from sqlglot import exp
from sqlglot.errors import SqlglotError

from omnigraph_sql.base import limits
from omnigraph_sql.base.deep import deep_limit
from omnigraph_sql.base.errors import LanguageError, ParseError
from omnigraph_sql.grammar.ast.sql import HouseStatement, SqlStatement
from omnigraph_sql.grammar.source import Source, Span
from omnigraph_sql.grammar.sql.ceilings import too_deep
from omnigraph_sql.grammar.sql.dialect import OmniParser, OmniSql
from omnigraph_sql.grammar.sql.neighbours import refuse_bad_neighbours
from omnigraph_sql.grammar.sql.placed import Refusal
from omnigraph_sql.grammar.sql.statements import parse_explain, parse_statement
from omnigraph_sql.grammar.sql.tokens import Chunk, scan

_DIALECT: Final = OmniSql()

# sqlglot spends some 40 Python frames on one level of nesting at worst; 48 levels do not fit into the default 1000.
_FRAMES_PER_LEVEL: Final = 60
_FRAMES: Final = 2000 + _FRAMES_PER_LEVEL * limits.NESTING_LEVELS_MAX


def parse_script(text: str, *, name: str = "<sql>") -> tuple[SqlStatement, ...]:
    """All statements of a text, separated by semicolons; empty ones are skipped."""
    source = Source(text, name)
    chunks = scan(source)
    if not chunks:
        return ()
    with deep_limit(_FRAMES):
        parser = OmniParser(dialect=_DIALECT)
        return tuple(_statement(parser, source, chunk) for chunk in chunks)


def parse_one(text: str, *, name: str = "<sql>") -> SqlStatement:
    """The only statement of a text."""
    found = parse_script(text, name=name)
    if len(found) == 1:
        return found[0]
    source = Source(text, name)
    if not found:
        raise ParseError("there is no statement in this text", at=source.locate(Span(0, len(text))))
    raise ParseError(
        f"one statement is expected, the text has {len(found)}",
        at=source.locate(found[1].span),
        hint="run several statements as a script",
    )


def _statement(parser: OmniParser, source: Source, chunk: Chunk) -> SqlStatement:
    refuse_bad_neighbours(source, chunk.tokens)
    parser.begin(source, chunk.tokens, chunk.placeholders)
    problem: LanguageError
    cause: Exception | None = None
    try:
        explain = parse_explain(parser)
        tree = parse_statement(parser)
        if parser._curr:
            raise Refusal("Invalid expression / Unexpected token", parser._curr)
        _refuse_odd_roots(parser, tree)
        placeholders = tuple(found for _, found in sorted(parser.placeholders.items()))
        return SqlStatement(source, chunk.span, tree, placeholders, explain)
    except LanguageError:
        raise
    except Refusal as refusal:
        problem = parser.explained(refusal.description, refusal.token)
    except RecursionError:
        problem = too_deep(source, parser.here().start, limits.NESTING_LEVELS_MAX + 1)
    except SqlglotError as error:
        problem = parser.explained(str(error), parser._curr or None)
    except Exception as fault:  # noqa: BLE001 - sqlglot trips over odd texts in many ways; all mean the text is wrong
        problem = parser.explained("", parser._curr or None)
        # kept for those who look for faults of our own
        cause = fault
    raise problem from cause


def _refuse_odd_roots(parser: OmniParser, tree: exp.Expr | HouseStatement) -> None:
    if not isinstance(tree, exp.Expr):
        return
    if not isinstance(tree, (exp.Query, exp.Values, exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Pivot)):
        raise Refusal("Invalid expression / Unexpected token", parser._tokens[0])
