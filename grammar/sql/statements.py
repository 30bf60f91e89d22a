"""Statements sqlglot does not know: branches, session, maintenance, files; tables and graphs have their own modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from omnigraph_sql.grammar.ast import sql as ast
from omnigraph_sql.grammar.sql import ddl, property_graph
from omnigraph_sql.grammar.sql.common import (
    branch_name,
    expect,
    expect_word,
    expression,
    if_exists,
    if_not_exists,
    literal,
    names_in_brackets,
    options,
    query,
    starts_query,
    table_name,
    unexpected,
    word_or_expression,
)
from omnigraph_sql.grammar.sql.dialect import DML_STARTS, OmniParser, named
from omnigraph_sql.grammar.sql.mistakes import unknown_statement

T = TokenType
_SHOWN: Final = ("TABLES", "NODES", "EDGES", "BRANCHES", "COMMITS", "CONFLICTS", "INDEXES", "SETTINGS", "VIEWS")
_SHOWN_ELSEWHERE: Final = {
    "ALL": "SHOW SETTINGS lists what SET can change",
    "COLUMNS": "DESCRIBE table lists the columns of a table",
    "CREATE": "DESCRIBE table lists the columns of a table; ogsql schema show prints the whole schema",
    "DATABASES": "every graph is a database of its own; SHOW BRANCHES lists its branches",
    "SCHEMAS": "every graph is a database of its own; SHOW BRANCHES lists its branches",
}
_CREATED: Final = ("TABLE", "NODE", "EDGE", "BRANCH", "INDEX", "UNIQUE", "VIEW", "PROPERTY")
_DROPPED: Final = ("TABLE", "NODE", "EDGE", "BRANCH", "INDEX", "VIEW", "PROPERTY")
_ABSENT: Final = {
    "TEMP": "temporary tables",
    "TEMPORARY": "temporary tables",
    "SEQUENCE": "sequences",
    "TRIGGER": "triggers",
    "FUNCTION": "stored functions",
    "MACRO": "macros",
    "PROCEDURE": "stored procedures",
    "SCHEMA": "schemas of your own; a branch plays that part",
    "DATABASE": "databases inside a graph",
    "MATERIALIZED": "materialized views",
    "TYPE": "types of your own",
    "ROLE": "roles",
    "USER": "users",
}


def parse_statement(parser: OmniParser) -> exp.Expr | ast.HouseStatement:
    """One whole statement; the parser stands in front of its first token."""
    token = parser._curr
    house = _HEADS.get(token.text.upper()) if token.token_type not in (T.IDENTIFIER, T.STRING) else None
    if house is not None and not (house is _merge and parser._next.text.upper() != "BRANCH"):
        parser._advance()
        return house(parser, token.start)
    if not starts_query(parser) and token.token_type not in DML_STARTS:
        raise unknown_statement(parser.source, parser.here())
    tree: exp.Expr | None = parser._parse_statement()
    if tree is None:
        raise unexpected(parser, "a statement")
    return tree


def parse_explain(parser: OmniParser) -> ast.ExplainOptions | None:
    """`EXPLAIN [ANALYZE] [FORMAT text|json]` or `EXPLAIN (ANALYZE, FORMAT json)` in front of a statement."""
    start = parser._curr.start
    if parser.at(T.IDENTIFIER) or not parser._match_text_seq("EXPLAIN"):
        return None
    analyze, form = False, "text"
    bracket = _next_is_option(parser) and parser._match(T.L_PAREN)
    while True:
        if parser._match_text_seq("ANALYZE"):
            analyze = not (bracket and parser._match_texts(("FALSE", "OFF")))
            if bracket:
                parser._match_texts(("TRUE", "ON"))
        elif parser._match_text_seq("FORMAT"):
            if not parser._match_texts(("TEXT", "JSON", "TREE")):
                raise unexpected(parser, "TEXT", "JSON")
            form = "json" if parser._prev.text.upper() == "JSON" else "text"
        elif not (bracket and parser._match(T.COMMA)):
            break
    if bracket:
        expect(parser, T.R_PAREN, "ANALYZE", "FORMAT", "')'")
    span = parser.since(start)
    if not parser._curr:
        raise unexpected(parser, "a statement")
    return ast.ExplainOptions(analyze, form, span)


def _next_is_option(parser: OmniParser) -> bool:
    return parser.at(T.L_PAREN) and parser._next.text.upper() in ("ANALYZE", "FORMAT")


# ---- branches ---------------------------------------------------------------------------------------------------


def _create(parser: OmniParser, start: int) -> ast.HouseStatement:
    replace = bool(parser._match_text_seq("OR", "REPLACE"))
    if parser._match_text_seq("BRANCH"):
        _no_replace(parser, replace, start)
        return _create_branch(parser, start)
    if parser._match_text_seq("VIEW"):
        return ddl.create_view(parser, start, replace)
    if parser._match_text_seq("PROPERTY", "GRAPH"):
        return property_graph.create_property_graph(parser, start, replace)
    _no_replace(parser, replace, start)
    unique = bool(parser._match_text_seq("UNIQUE"))
    if parser._match_text_seq("INDEX"):
        return ddl.create_index(parser, start, unique)
    if unique:
        raise unexpected(parser, "INDEX")
    kind: Literal["node", "edge"] = "edge" if parser._match_text_seq("EDGE", advance=False) else "node"
    if parser._match_texts(("NODE", "EDGE")):
        expect_word(parser, "TABLE")
        return ddl.create_table(parser, start, kind)
    if parser._match_text_seq("TABLE"):
        return ddl.create_table(parser, start, kind)
    _refuse_absent(parser)
    if parser.at(T.L_PAREN):
        hint = "rows are added by INSERT INTO table (columns) VALUES (…), or in .gq by  insert Type { property: value }"
        raise parser.mistake("CREATE makes tables, not rows", hint=hint)
    raise unexpected(parser, *_CREATED)


def _no_replace(parser: OmniParser, replace: bool, start: int) -> None:
    if replace:
        raise parser.unsupported("only views and property graphs can be replaced", parser.since(start), "drop it first")


def _refuse_absent(parser: OmniParser) -> None:
    word = parser._curr.text.upper() if parser._curr else ""
    if word in _ABSENT:
        raise parser.unsupported(f"there are no {_ABSENT[word]}")


def _create_branch(parser: OmniParser, start: int) -> ast.CreateBranch:
    exists = if_not_exists(parser)
    name = branch_name(parser)
    origin = branch_name(parser) if parser._match_text_seq("FROM") else None
    point: exp.Expr | None = None
    if parser._match_text_seq("AS", "OF"):
        if not parser._match_texts(("VERSION", "TIMESTAMP")):
            raise unexpected(parser, "VERSION", "TIMESTAMP")
        point = parser.travel(parser._prev.text.lower())
    return ast.CreateBranch(name, exists, origin, point, parser.since(start))


def _drop(parser: OmniParser, start: int) -> ast.HouseStatement:
    if parser._match_text_seq("BRANCH"):
        exists = if_exists(parser)
        return ast.DropBranch(branch_name(parser), exists, parser.since(start))
    if parser._match_text_seq("VIEW"):
        exists = if_exists(parser)
        return ast.DropView(table_name(parser, "a view"), exists, parser.since(start))
    if parser._match_text_seq("INDEX"):
        exists = if_exists(parser)
        name = parser.ident("an index")
        table = table_name(parser) if parser._match_text_seq("ON") else None
        return ast.DropIndex(name, table, exists, parser.since(start))
    if parser._match_text_seq("PROPERTY", "GRAPH"):
        exists = if_exists(parser)
        return ast.DropPropertyGraph(table_name(parser, "a property graph"), exists, parser.since(start))
    parser._match_texts(("NODE", "EDGE"))
    if not parser._match_text_seq("TABLE"):
        _refuse_absent(parser)
        raise unexpected(parser, *_DROPPED)
    exists = if_exists(parser)
    dropped = table_name(parser)
    if parser._match_texts(("CASCADE", "RESTRICT"), advance=False):
        raise parser.unsupported(
            "DROP TABLE takes neither CASCADE nor RESTRICT", hint="drop the edge tables that use it first"
        )
    if parser.at(T.COMMA):
        raise parser.unsupported("one DROP TABLE drops one table", hint="write a statement for each")
    return ast.DropTable(dropped, exists, parser.since(start))


def _merge(parser: OmniParser, start: int) -> ast.MergeBranch:
    parser._advance()
    source = branch_name(parser)
    into = branch_name(parser) if parser._match_text_seq("INTO") else None
    delete = bool(parser._match_text_seq("DELETE", "SOURCE"))
    return ast.MergeBranch(source, into, delete, parser.since(start))


def _use(parser: OmniParser, start: int) -> ast.UseBranch:
    if parser._next:
        parser._match_texts(("BRANCH", "SCHEMA"))
    return ast.UseBranch(branch_name(parser), parser.since(start))


# ---- session ----------------------------------------------------------------------------------------------------


def _show(parser: OmniParser, start: int) -> ast.Show:
    if not parser._match_texts(_SHOWN):
        asked = parser._curr.text.upper() if parser._curr else ""
        if asked in _SHOWN_ELSEWHERE:
            raise parser.unsupported(f"there is no SHOW {asked}", hint=_SHOWN_ELSEWHERE[asked])
        raise unexpected(parser, *_SHOWN)
    what = parser._prev.text.upper()
    target = None
    if what == "COMMITS" and parser._match_text_seq("FOR"):
        parser._match_text_seq("BRANCH")
        target = branch_name(parser)
    elif what == "INDEXES" and parser._match_texts(("ON", "FROM")):
        target = parser.ident("a table")
    return ast.Show(what, target, parser.since(start))


def _describe(parser: OmniParser, start: int) -> ast.Describe:
    table, node = _table_or_query(parser)
    return ast.Describe(table, node, parser.since(start))


def _summarize(parser: OmniParser, start: int) -> ast.Summarize:
    table, node = _table_or_query(parser)
    return ast.Summarize(table, node, parser.since(start))


def _table_or_query(parser: OmniParser) -> tuple[ast.TableName | None, exp.Expr | None]:
    if starts_query(parser):
        return None, query(parser)
    if parser._next:
        parser._match_text_seq("TABLE")
    return table_name(parser, "a table or a query"), None


def _set(parser: OmniParser, start: int) -> ast.SetOption:
    if parser._next.token_type is not T.EQ:
        parser._match_text_seq("SESSION")
    name = _setting(parser)
    if not (parser._match(T.EQ) or parser._match_text_seq("TO")):
        raise unexpected(parser, "'='", "TO")
    return ast.SetOption(name, word_or_expression(parser), parser.since(start))


def _reset(parser: OmniParser, start: int) -> ast.SetOption:
    return ast.SetOption(_setting(parser), None, parser.since(start))


def _setting(parser: OmniParser) -> ast.Ident:
    name = parser.ident("a setting")
    while parser._match(T.DOT):
        part = parser.ident("a setting")
        name = ast.Ident(f"{name.text}.{part.text}", name.quoted or part.quoted, name.span.to(part.span))
    return name


def _begin(parser: OmniParser, start: int) -> ast.Transaction:
    if parser._prev.text.upper() == "START":
        expect_word(parser, "TRANSACTION")
    else:
        parser._match_texts(("TRANSACTION", "WORK"))
    return ast.Transaction("begin", parser.since(start))


def _commit(parser: OmniParser, start: int) -> ast.Transaction:
    parser._match_texts(("TRANSACTION", "WORK"))
    return ast.Transaction("commit", parser.since(start))


def _rollback(parser: OmniParser, start: int) -> ast.Transaction:
    parser._match_texts(("TRANSACTION", "WORK"))
    if parser._match_text_seq("TO", advance=False):
        raise parser.unsupported("there are no savepoints", hint="ROLLBACK undoes the whole transaction")
    return ast.Transaction("rollback", parser.since(start))


def _savepoint(parser: OmniParser, start: int) -> ast.HouseStatement:
    raise parser.unsupported("there are no savepoints", parser.since(start), "ROLLBACK undoes the whole transaction")


def _call(parser: OmniParser, start: int) -> ast.Call:
    name = parser.ident("a function")
    expect(parser, T.L_PAREN, "'('")
    args = tuple(named(argument) for argument in parser._parse_function_args())
    expect(parser, T.R_PAREN, "','", "')'")
    return ast.Call(name, args, parser.since(start))


# ---- maintenance and files --------------------------------------------------------------------------------------


def _truncate(parser: OmniParser, start: int) -> ast.Truncate:
    if parser._next:
        parser._match_text_seq("TABLE")
    table = table_name(parser)
    return ast.Truncate(table, parser._parse_returning(), parser.since(start))


def _optimize(parser: OmniParser, start: int) -> ast.Optimize:
    if parser._next:
        parser._match_text_seq("TABLE")
    return ast.Optimize(table_name(parser) if parser._curr else None, parser.since(start))


def _vacuum(parser: OmniParser, start: int) -> ast.Vacuum:
    retain_first = parser._match_text_seq("RETAIN", advance=False) and bool(parser._next)
    table = table_name(parser) if parser._curr and not retain_first else None
    retain = expression(parser, "a number of versions or an interval") if parser._match_text_seq("RETAIN") else None
    return ast.Vacuum(table, retain, parser.since(start))


def _copy(parser: OmniParser, start: int) -> ast.CopyTo | ast.CopyFrom:
    if parser.at(T.L_PAREN):
        parser._advance()
        node = query(parser)
        expect(parser, T.R_PAREN, "')'")
        expect_word(parser, "TO")
        return ast.CopyTo(None, node, literal(parser), options(parser), parser.since(start))
    table = table_name(parser, "a table or a query in brackets")
    columns = names_in_brackets(parser) if parser.at(T.L_PAREN) else ()
    if parser._match_text_seq("FROM"):
        return ast.CopyFrom(table, columns, literal(parser), options(parser), parser.since(start))
    if not parser._match_text_seq("TO"):
        raise unexpected(parser, "TO", "FROM")
    if columns:
        raise parser.unsupported(
            "COPY … TO writes all columns", columns[0].span, "write COPY (SELECT a, b FROM t) TO '…'"
        )
    return ast.CopyTo(table, None, literal(parser), options(parser), parser.since(start))


def _export(parser: OmniParser, start: int) -> ast.ExportGraph:
    expect_word(parser, "GRAPH")
    parser._match_text_seq("TO")
    return ast.ExportGraph(literal(parser), options(parser), parser.since(start))


def _import(parser: OmniParser, start: int) -> ast.ImportGraph:
    expect_word(parser, "GRAPH")
    parser._match_text_seq("FROM")
    return ast.ImportGraph(literal(parser), options(parser), parser.since(start))


def _alter(parser: OmniParser, start: int) -> ast.AlterTable:
    return ddl.alter_table(parser, start)


_HEADS: Final[dict[str, Callable[[OmniParser, int], ast.HouseStatement]]] = {
    "ALTER": _alter,
    "BEGIN": _begin,
    "CALL": _call,
    "COMMIT": _commit,
    "COPY": _copy,
    "CREATE": _create,
    "DESC": _describe,
    "DESCRIBE": _describe,
    "DROP": _drop,
    "END": _commit,
    "EXPORT": _export,
    "IMPORT": _import,
    "MERGE": _merge,
    "OPTIMIZE": _optimize,
    "RELEASE": _savepoint,
    "RESET": _reset,
    "ROLLBACK": _rollback,
    "SAVEPOINT": _savepoint,
    "SET": _set,
    "SHOW": _show,
    "START": _begin,
    "SUMMARIZE": _summarize,
    "TRUNCATE": _truncate,
    "USE": _use,
    "VACUUM": _vacuum,
}
