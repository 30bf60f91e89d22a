"""CREATE and ALTER of tables, indexes and views."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from omnigraph_sql.grammar.ast import sql as ast
from omnigraph_sql.grammar.sql.common import (
    expect,
    expect_word,
    expression,
    if_exists,
    if_not_exists,
    names_in_brackets,
    options,
    query,
    table_name,
    unexpected,
)
from omnigraph_sql.grammar.sql.dialect import OmniParser

T = TokenType
_CONSTRAINTS = ("CONSTRAINT", "PRIMARY KEY", "UNIQUE", "CHECK", "FOREIGN KEY")
_EDGE_SHAPE = "write CREATE EDGE TABLE Knows (FROM Person TO Person, since DATE)"


@dataclass(slots=True)
class _Body:
    columns: list[ast.ColumnDef]
    constraints: list[ast.TableConstraint]
    source: ast.Ident | None = None
    target: ast.Ident | None = None
    cardinality: tuple[int, int | None] | None = None


# ---- tables -----------------------------------------------------------------------------------------------------


def create_table(parser: OmniParser, start: int, kind: Literal["node", "edge"]) -> ast.CreateTable:
    """Behind CREATE [NODE|EDGE] TABLE."""
    exists = if_not_exists(parser)
    name = table_name(parser)
    body = _Body([], [])
    if parser.at(T.L_PAREN):
        _table_body(parser, kind, body)
    elif not parser._match_text_seq("AS", advance=False):
        raise unexpected(parser, "'('", "AS")
    if kind == "edge" and body.source is None:
        raise parser.mistake("an edge table says which nodes it joins", name.span, hint=_EDGE_SHAPE)
    as_query = query(parser) if parser._match_text_seq("AS") else None
    return ast.CreateTable(
        kind,
        name,
        exists,
        tuple(body.columns),
        tuple(body.constraints),
        body.source,
        body.target,
        body.cardinality,
        as_query,
        parser.since(start),
    )


def _table_body(parser: OmniParser, kind: str, body: _Body) -> None:
    parser._advance()
    while not parser.at(T.R_PAREN):
        if parser._match_text_seq("FROM", advance=False):
            _ends(parser, kind, body)
        elif kind == "edge" and parser._match_text_seq("CARDINALITY", advance=False) and parser._next.text.isdecimal():
            body.cardinality = _cardinality(parser)
        elif parser._match_texts(_CONSTRAINTS, advance=False):
            body.constraints.append(_table_constraint(parser))
        else:
            body.columns.append(column_def(parser))
        if not parser._match(T.COMMA) and not parser.at(T.R_PAREN):
            raise unexpected(parser, "','", "')'")
    parser._advance()


def _ends(parser: OmniParser, kind: str, body: _Body) -> None:
    if kind != "edge":
        raise parser.mistake("only edge tables join nodes", hint="write CREATE EDGE TABLE")
    if body.source is not None:
        raise parser.mistake("an edge table joins one pair of node tables")
    parser._advance()
    body.source = parser.ident("a node table")
    expect_word(parser, "TO")
    body.target = parser.ident("a node table")


def _cardinality(parser: OmniParser) -> tuple[int, int | None]:
    parser._advance()
    start = parser.here().start
    low = _bound(parser)
    if low is None or not (parser._match(T.DOT) and parser._match(T.DOT)):
        raise parser.mistake("a cardinality is written 0..1, 1..1 or 0..*", parser.since(start).to(parser.here()))
    high = None if parser._match(T.STAR) else _bound(parser)
    if high is not None and high < low:
        raise parser.mistake("the upper bound is below the lower bound", parser.since(start))
    return low, high


def _bound(parser: OmniParser) -> int | None:
    if not parser._match(T.NUMBER):
        return None
    text = parser._prev.text
    if not text.isdecimal() or len(text) > 9:
        raise parser.mistake(
            "a cardinality counts with whole numbers below a billion", parser.since(parser._prev.start)
        )
    return int(text)


# ---- columns ----------------------------------------------------------------------------------------------------


def column_def(parser: OmniParser) -> ast.ColumnDef:
    """`name type [constraint …]`."""
    start = parser.here().start
    name = parser.ident("a column")
    kind = data_type(parser)
    nullable, primary_key, unique = True, False, False
    check: exp.Expr | None = None
    default: exp.Expr | None = None
    references: ast.Reference | None = None
    while parser._curr and parser._curr.token_type not in (T.COMMA, T.R_PAREN):
        if parser._match_text_seq("CONSTRAINT"):
            parser.ident("a constraint name")
        elif parser._match_text_seq("NOT", "NULL"):
            nullable = False
        elif parser._match_text_seq("NULL"):
            nullable = True
        elif parser._match_text_seq("PRIMARY KEY"):
            primary_key = True
        elif parser._match_text_seq("UNIQUE"):
            unique = True
        elif parser._match_text_seq("CHECK"):
            found = _check(parser)
            check = found if check is None else exp.And(this=check, expression=found)
        elif parser._match_text_seq("DEFAULT"):
            default = _default(parser)
        elif parser._match_text_seq("REFERENCES"):
            references = _reference(parser)
        else:
            _refuse_constraint(parser)
    span = parser.since(start)
    return ast.ColumnDef(name, kind, nullable, primary_key, unique, check, default, references, span)


def _refuse_constraint(parser: OmniParser) -> None:
    word = parser._curr.text.upper()
    if word in ("GENERATED", "AS", "AUTOINCREMENT", "AUTO_INCREMENT", "IDENTITY"):
        raise parser.unsupported("columns are not generated", hint="a table without PRIMARY KEY gets a generated id")
    if word == "COLLATE":
        raise parser.unsupported("texts are compared by their code points; there are no collations")
    raise unexpected(parser, "NOT NULL", "PRIMARY KEY", "UNIQUE", "CHECK", "DEFAULT", "REFERENCES", "','", "')'")


def data_type(parser: OmniParser) -> exp.DataType:
    """A type; what types exist is not decided here."""
    start = parser.here()
    if not parser._curr or parser._curr.token_type in (T.COMMA, T.R_PAREN):
        raise unexpected(parser, "a type")
    kind = parser._parse_types(check_func=False, schema=True)
    if not isinstance(kind, exp.DataType):
        raise parser.mistake("this is not a type", start, expected=("a type",))
    kind.meta.update(start=start.start, end=parser._prev.end)
    return kind


def _check(parser: OmniParser) -> exp.Expr:
    expect(parser, T.L_PAREN, "'('")
    condition = expression(parser, "a condition")
    expect(parser, T.R_PAREN, "')'")
    return condition


def _default(parser: OmniParser) -> exp.Expr:
    value: exp.Expr | None = parser._parse_bitwise()
    if value is None:
        raise unexpected(parser, "a value")
    return value


def _reference(parser: OmniParser) -> ast.Reference:
    start = parser._prev.start
    table = table_name(parser)
    columns = names_in_brackets(parser) if parser.at(T.L_PAREN) else ()
    span = parser.since(start)
    if parser._match_text_seq("ON", advance=False):
        raise parser.unsupported("a reference has no ON DELETE or ON UPDATE", hint="deleting a node deletes its edges")
    return ast.Reference(table, columns, span)


def _table_constraint(parser: OmniParser) -> ast.TableConstraint:
    start = parser.here().start
    name = parser.ident("a constraint name") if parser._match_text_seq("CONSTRAINT") else None
    if parser._match_text_seq("PRIMARY KEY"):
        columns = names_in_brackets(parser)
        return ast.TableConstraint("primary_key", name, columns, None, None, parser.since(start))
    if parser._match_text_seq("UNIQUE"):
        columns = names_in_brackets(parser)
        return ast.TableConstraint("unique", name, columns, None, None, parser.since(start))
    if parser._match_text_seq("CHECK"):
        check = _check(parser)
        return ast.TableConstraint("check", name, (), check, None, parser.since(start))
    if parser._match_text_seq("FOREIGN KEY"):
        columns = names_in_brackets(parser)
        expect_word(parser, "REFERENCES")
        references = _reference(parser)
        return ast.TableConstraint("foreign_key", name, columns, None, references, parser.since(start))
    raise unexpected(parser, *_CONSTRAINTS[1:])


# ---- ALTER TABLE ------------------------------------------------------------------------------------------------


def alter_table(parser: OmniParser, start: int) -> ast.AlterTable:
    """Behind ALTER."""
    parser._match_texts(("NODE", "EDGE"))
    expect_word(parser, "TABLE")
    exists = if_exists(parser)
    name = table_name(parser)
    actions = [_action(parser)]
    while parser._match(T.COMMA):
        actions.append(_action(parser))
    return ast.AlterTable(name, exists, tuple(actions), parser.since(start))


def _action(parser: OmniParser) -> ast.AlterAction:
    start = parser.here().start
    if parser._match_text_seq("ADD"):
        if parser._match_texts(_CONSTRAINTS, advance=False):
            constraint = _table_constraint(parser)
            return ast.AddConstraint(constraint, parser.since(start))
        parser._match_text_seq("COLUMN")
        exists = if_not_exists(parser)
        column = column_def(parser)
        return ast.AddColumn(column, exists, parser.since(start))
    if parser._match_text_seq("DROP"):
        return _drop_action(parser, start)
    if parser._match_text_seq("RENAME"):
        return _rename_action(parser, start)
    if parser._match_text_seq("ALTER"):
        return _alter_column(parser, start)
    if parser._match_texts(("MODIFY", "CHANGE"), advance=False):
        raise parser.missing("ALTER COLUMN", hint="write ALTER COLUMN name TYPE type, or RENAME COLUMN a TO b")
    raise unexpected(parser, "ADD", "DROP", "RENAME", "ALTER")


def _drop_action(parser: OmniParser, start: int) -> ast.DropColumn | ast.DropConstraint:
    if parser._match_text_seq("CONSTRAINT"):
        exists = if_exists(parser)
        return ast.DropConstraint(parser.ident("a constraint name"), exists, parser.since(start))
    parser._match_text_seq("COLUMN")
    exists = if_exists(parser)
    return ast.DropColumn(parser.ident("a column"), exists, parser.since(start))


def _rename_action(parser: OmniParser, start: int) -> ast.RenameColumn | ast.RenameTable:
    if parser._match_text_seq("TO"):
        return ast.RenameTable(parser.ident("a table"), parser.since(start))
    parser._match_text_seq("COLUMN")
    name = parser.ident("a column")
    expect_word(parser, "TO")
    return ast.RenameColumn(name, parser.ident("a column"), parser.since(start))


def _alter_column(parser: OmniParser, start: int) -> ast.AlterColumn:
    parser._match_text_seq("COLUMN")
    name = parser.ident("a column")
    if parser._match_text_seq("SET", "NOT", "NULL"):
        return ast.AlterColumn(name, "set_not_null", None, None, parser.since(start))
    if parser._match_text_seq("DROP", "NOT", "NULL"):
        return ast.AlterColumn(name, "drop_not_null", None, None, parser.since(start))
    if parser._match_text_seq("SET", "DEFAULT"):
        default = _default(parser)
        return ast.AlterColumn(name, "set_default", None, default, parser.since(start))
    if parser._match_text_seq("DROP", "DEFAULT"):
        return ast.AlterColumn(name, "drop_default", None, None, parser.since(start))
    if parser._match_text_seq("TYPE") or parser._match_text_seq("SET", "DATA", "TYPE"):
        kind = data_type(parser)
        return ast.AlterColumn(name, "set_type", kind, None, parser.since(start))
    raise unexpected(parser, "SET NOT NULL", "DROP NOT NULL", "SET DEFAULT", "DROP DEFAULT", "TYPE")


# ---- indexes and views ------------------------------------------------------------------------------------------


def create_index(parser: OmniParser, start: int, unique: bool) -> ast.CreateIndex:
    """Behind CREATE [UNIQUE] INDEX."""
    exists = if_not_exists(parser)
    name = None if parser._match_text_seq("ON", advance=False) else parser.ident("an index name or ON")
    expect_word(parser, "ON")
    table = table_name(parser)
    using = _using(parser)
    columns = names_in_brackets(parser)
    using = using or _using(parser)
    found = options(parser)
    return ast.CreateIndex(name, unique, table, columns, using, found, exists, parser.since(start))


def _using(parser: OmniParser) -> str | None:
    return parser.ident("a kind of index").text.lower() if parser._match_text_seq("USING") else None


def create_view(parser: OmniParser, start: int, replace: bool) -> ast.CreateView:
    """Behind CREATE [OR REPLACE] VIEW."""
    exists = if_not_exists(parser)
    name = table_name(parser, "a view")
    columns = names_in_brackets(parser) if parser.at(T.L_PAREN) else ()
    expect_word(parser, "AS")
    node = query(parser)
    return ast.CreateView(name, replace, exists, node, columns, parser.since(start))
