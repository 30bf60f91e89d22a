"""Where sqlglot reads on although something is missing or in the wrong place, this parser says so.

sqlglot's purpose is translation, so it takes clauses in any order, WHEN without THEN and lists with holes; a database
that did would carry out something else than was meant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final

from sqlglot import exp
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.tokenizer_core import Token, TokenType

from omnigraph_sql.grammar.source import Span
from omnigraph_sql.grammar.sql.plain import PlainParser
from omnigraph_sql.grammar.sql.spans import span_of, span_of_token

T = TokenType
_ORDER: Final = {
    T.WHERE: 1,
    T.GROUP_BY: 2,
    T.HAVING: 3,
    T.WINDOW: 4,
    T.QUALIFY: 4,
    T.ORDER_BY: 5,
    T.LIMIT: 6,
    T.OFFSET: 6,
    T.FETCH: 6,
}
_ORDER_HINT: Final = "the order is FROM, WHERE, GROUP BY, HAVING, QUALIFY, ORDER BY, LIMIT"
_OPENERS: Final = frozenset({T.L_PAREN, T.L_BRACKET, T.L_BRACE, T.CASE})
_CLOSERS: Final = frozenset({T.R_PAREN, T.R_BRACKET, T.R_BRACE, T.END})
_QUERY_STARTS: Final = frozenset({T.SELECT, T.WITH, T.FROM, T.VALUES, T.L_PAREN, T.PIVOT, T.UNPIVOT})
_CONFLICT_SHAPE: Final = "write ON CONFLICT (key) DO NOTHING or ON CONFLICT (key) DO UPDATE SET a = excluded.a"
_UPDATE_SHAPE: Final = "write UPDATE table SET column = value WHERE …"

_NAME_PARTS: Final[dict[type, tuple[str, ...]]] = {
    exp.Alias: ("alias",),
    exp.Column: ("this", "table", "db", "catalog"),
    exp.Table: ("this", "db", "catalog"),
    exp.TableAlias: ("this",),
    exp.Dot: ("expression",),
}
_NAMING: Final = frozenset(_NAME_PARTS)

_Parsers = dict[Any, Callable[..., Any]]


def _in_order(kind: TokenType, parse: Callable[..., Any]) -> Callable[..., Any]:
    def parse_in_order(parser: StrictParser) -> Any:
        parser.clause_in_order(kind)
        return parse(parser)

    return parse_in_order


class StrictParser(PlainParser):
    """The DuckDB parser without its leniencies."""

    QUERY_MODIFIER_PARSERS: ClassVar[_Parsers] = {
        kind: _in_order(kind, parse) if kind in _ORDER else parse
        for kind, parse in DuckDBParser.QUERY_MODIFIER_PARSERS.items()
    }
    # `a ? b` is an operator of another dialect; here `?` is a parameter and nothing else.
    COLUMN_OPERATORS: ClassVar[dict[TokenType, Callable[[Any, Any, Any], Any] | None]] = {
        kind: build for kind, build in DuckDBParser.COLUMN_OPERATORS.items() if kind is not T.PLACEHOLDER
    }
    _last_clause: Token | None = None

    def validate_expression(self, expression: Any, args: list[Any] | None = None) -> Any:
        if type(expression) in _NAMING:
            for part in _NAME_PARTS[type(expression)]:
                name = expression.args.get(part)
                if isinstance(name, exp.Placeholder):
                    where = span_of(name, self.since(self._prev.start))
                    raise self.mistake("a parameter stands for a value, not for a name", where)
        return super().validate_expression(expression, args)

    # ---- queries ------------------------------------------------------------------------------------------------

    def _parse_query_modifiers(self, this: Any) -> Any:
        around, self._last_clause = self._last_clause, None
        try:
            return super()._parse_query_modifiers(this)
        finally:
            self._last_clause = around

    def clause_in_order(self, kind: TokenType) -> None:
        """A clause of this kind starts here; refuse it behind one that comes later."""
        last = self._last_clause
        if last is not None and _ORDER[kind] < _ORDER[last.token_type]:
            message = f"{self._curr.text.upper()} stands in front of {last.text.upper()}"
            raise self.mistake(message, hint=_ORDER_HINT)
        self._last_clause = self._curr

    def _parse_cte(self) -> Any:
        index = self._index
        alias = self._parse_table_alias(self.ID_VAR_TOKENS)
        if alias is None or alias.this is None:
            raise self.missing("a name for the query", hint="write WITH name AS (SELECT …) SELECT … FROM name")
        if not self.at(T.ALIAS) and not self._match_text_seq("USING", "KEY", advance=False):
            raise self.missing("AS")
        self._retreat(index)
        return super()._parse_cte()

    def _parse_join(self, *args: Any, **kwargs: Any) -> Any:
        start = self._curr
        join = super()._parse_join(*args, **kwargs)
        if isinstance(join, exp.Join):
            if self._prev.token_type is T.ON:
                raise self.mistake("a condition is missing after ON", expected=("a condition",))
            if join.args.get("kind") == "OUTER" and not join.args.get("side"):
                raise self.mistake(
                    "OUTER JOIN does not say which side stays whole",
                    span_of_token(start),
                    "write LEFT JOIN, RIGHT JOIN or FULL JOIN",
                )
        return join

    def _parse_limit(self, *args: Any, **kwargs: Any) -> Any:
        limit = super()._parse_limit(*args, **kwargs)
        if isinstance(limit, exp.Limit) and limit.args.get("offset") is not None:
            where = span_of(limit, self.since(self._prev.start))
            raise self.mistake("LIMIT takes one number", where, "write LIMIT count OFFSET start")
        return limit

    def _parse_value(self, values: bool = True) -> Any:
        if values and not self.at(T.L_PAREN):
            raise self.missing("'('", hint="each row stands in brackets: VALUES (1, 'a'), (2, 'b')")
        if self.at(T.L_PAREN) and self._next.token_type is T.R_PAREN:
            raise self.mistake("this row is empty", expected=("a value",))
        return super()._parse_value(values)

    def _parse_table(self, *args: Any, **kwargs: Any) -> Any:
        if self._has_no_prefix_alias():
            return super(DuckDBParser, self)._parse_table(*args, **kwargs)
        return super()._parse_table(*args, **kwargs)

    # ---- expressions --------------------------------------------------------------------------------------------

    def _parse_expression(self) -> Any:
        if self._has_no_prefix_alias():
            return super(DuckDBParser, self)._parse_expression()
        return super()._parse_expression()

    def _parse_type(self, *args: Any, **kwargs: Any) -> Any:
        index = self._index
        found = super()._parse_type(*args, **kwargs)
        if isinstance(found, exp.DataType):
            # `date[1]` is an item of a column, not a type: no expression is a type
            self._retreat(index)
            return self._parse_column()
        return found

    def _has_no_prefix_alias(self) -> bool:
        """Whether a colon comes next that does not make an alias: `[:x]`, `-:x`."""
        return self._next.token_type is T.COLON and self._curr.token_type not in self.ALIAS_TOKENS | {T.IDENTIFIER}

    def _parse_case(self) -> Any:
        start = self._prev
        if self.at(T.DOT):
            return super()._parse_case()
        operand = None if self.at(T.WHEN, T.END) else self._operand("a value", "after CASE")
        branches: list[exp.Expr] = []
        while self._match(T.WHEN):
            condition = self._operand("a condition", "after WHEN")
            if not self._match(T.THEN):
                raise self.missing("THEN")
            branches.append(self.expression(exp.If(this=condition, true=self._operand("a value", "after THEN"))))
        if not branches:
            raise self.missing("WHEN", hint="write CASE WHEN condition THEN value ELSE value END")
        default = self._operand("a value", "after ELSE") if self._match(T.ELSE) else None
        if not self._match(T.END):
            expected = ("END",) if default is not None else ("WHEN", "ELSE", "END")
            raise self.missing(*expected)
        return self.expression(exp.Case(this=operand, ifs=branches, default=default), start)

    def _operand(self, what: str, place: str) -> exp.Expr:
        found: exp.Expr | None = None if self.at(T.END, T.WHEN, T.THEN, T.ELSE) else self._parse_disjunction()
        if found is None:
            raise self.mistake(f"{what} is missing {place}", expected=(what,))
        return found

    def _parse_in(self, this: Any, alias: bool = False) -> Any:
        start = self.here()
        found = super()._parse_in(this, alias)
        if isinstance(found, exp.In):
            if isinstance(found.args.get("field"), exp.Literal):
                raise self.mistake("IN is followed by a list in brackets", start, "write IN ('a', 'b')")
            if not any(found.args.get(part) for part in ("expressions", "query", "unnest", "field")):
                raise self.mistake("the list behind IN is empty", self.since(start.start), expected=("a value",))
        return found

    def _parse_between(self, this: Any) -> Any:
        start = self._prev.start
        found = super()._parse_between(this)
        if found.args.get("high") is None:
            raise self.missing("AND", hint="write x BETWEEN low AND high")
        if not self._word_between(start, self._index, T.AND):
            raise self.mistake("AND is missing", self.since(start), "write x BETWEEN low AND high")
        return found

    def _word_between(self, start: int, end: int, kind: TokenType) -> bool:
        """Whether a token of this kind stands, outside brackets, between an offset and a token index."""
        depth, at = 0, end - 1
        while at >= 0 and self._tokens[at].start > start:
            token = self._tokens[at].token_type
            if token in _CLOSERS:
                depth += 1
            elif token in _OPENERS:
                depth -= 1
            elif token is kind and not depth:
                return True
            at -= 1
        return False

    # ---- writes -------------------------------------------------------------------------------------------------

    def _parse_insert(self) -> Any:
        ahead = self._index + (2 if self.at(T.OR) else 0)
        if ahead >= self._tokens_size or self._tokens[ahead].token_type is not T.INTO:
            self._advance(ahead - self._index)
            raise self.missing("INTO", hint="write INSERT INTO table (columns) VALUES (values)")
        insert = super()._parse_insert()
        if isinstance(insert, exp.Insert) and not insert.args.get("expression") and not insert.args.get("default"):
            raise self.missing("VALUES", "SELECT")
        return insert

    def _parse_insert_table(self) -> Any:
        start = self.here()
        table = super()._parse_insert_table()
        target = table.this if isinstance(table, exp.Schema) else table
        if not isinstance(target, exp.Table):
            raise self.mistake(f"a table is missing after INTO, found '{self.sql[start.start : start.end]}'", start)
        if target.args.get("partition"):
            raise self.unsupported("tables have no partitions", span_of(target, start))
        for column in table.expressions if isinstance(table, exp.Schema) else ():
            if not isinstance(column, exp.Identifier):
                raise self._bad_column(column, start)
        if self.at(T.SET):
            raise self.unsupported("INSERT has no SET", hint="write INSERT INTO table (a, b) VALUES (1, 2)")
        if self.at(T.L_PAREN) and self._next.token_type not in _QUERY_STARTS:
            raise self.missing("VALUES")
        return table

    def _bad_column(self, column: exp.Expr, start: Span) -> Exception:
        where = span_of(column, start)
        if isinstance(column, exp.ColumnDef):
            behind = Span(where.end, where.end)
            return self.mistake(f"a comma is missing behind '{column.name}'", behind, expected=("','", "')'"))
        return self.mistake("a column is named here", where, expected=("a column",))

    def _parse_on_conflict(self) -> Any:
        if self._match_text_seq("ON", "DUPLICATE", advance=False):
            raise self.unsupported("INSERT has no ON DUPLICATE KEY", hint=_CONFLICT_SHAPE)
        found = super()._parse_on_conflict()
        if not isinstance(found, exp.OnConflict):
            return found
        action = found.args.get("action")
        if action is None or action.name not in ("DO NOTHING", "DO UPDATE"):
            raise self.missing("DO NOTHING", "DO UPDATE SET", hint=_CONFLICT_SHAPE)
        if action.name == "DO UPDATE" and not found.expressions:
            raise self.missing("SET", hint=_CONFLICT_SHAPE)
        return found

    def _parse_update(self) -> Any:
        table = self._parse_table(joins=True, alias_tokens=self.UPDATE_ALIAS_TOKENS)
        if not self._match(T.SET):
            raise self.missing("SET", hint=_UPDATE_SHAPE)
        assignments = self._parse_csv(self._parse_update_assignment)
        if not assignments:
            raise self.missing("a column", hint=_UPDATE_SHAPE)
        for star in assignments:
            if isinstance(star, exp.Star):
                raise self.mistake("SET * belongs to MERGE", span_of(star, self.here()), _UPDATE_SHAPE)
        source = self._parse_from(joins=True) if self.at(T.FROM) else None
        where = self._parse_where()
        update = exp.Update(
            this=table,
            expressions=assignments,
            from_=source,
            where=where,
            order=self._parse_order(),
            limit=self._parse_limit(),
            returning=self._parse_returning(),
        )
        return self.expression(update)

    def _parse_update_assignment(self) -> Any:
        found = super()._parse_update_assignment()
        if found is not None and not isinstance(found, (exp.EQ, exp.Star)):
            raise self.missing("'='", hint=_UPDATE_SHAPE)
        return found

    def _parse_delete(self) -> Any:
        if not self.at(T.FROM):
            raise self.missing("FROM", hint="write DELETE FROM table WHERE …")
        return super()._parse_delete()

    def _parse_merge(self) -> Any:
        if not self.at(T.INTO):
            raise self.missing("INTO", hint="write MERGE INTO table USING … ON … WHEN MATCHED THEN …")
        merge = super()._parse_merge()
        if not merge.args.get("on") and not merge.args.get("using_cond"):
            where = span_of(merge.args["using"], self.here())
            hint = "write MERGE INTO table USING source ON table.key = source.key WHEN …"
            raise self.mistake("MERGE does not say which rows match", where, hint, expected=("ON",))
        if not merge.args["whens"].expressions:
            raise self.missing("WHEN MATCHED", "WHEN NOT MATCHED")
        return merge

    def _parse_when_matched(self) -> Any:
        self._refuse_incomplete_whens()
        return super()._parse_when_matched()

    def _refuse_incomplete_whens(self) -> None:
        """Every WHEN of a MERGE is followed by [NOT] MATCHED, a THEN and what to do."""
        depth, start = 0, self._index
        open_when: Token | None = None
        for at in range(self._index, self._tokens_size):
            kind = self._tokens[at].token_type
            depth += (kind in _OPENERS) - (kind in _CLOSERS)
            if depth < 0:
                break
            if depth or kind not in (T.WHEN, T.THEN):
                continue
            if kind is T.THEN:
                open_when = None
                continue
            if open_when is not None:
                self._advance(at - self._index)
                raise self.missing("THEN")
            open_when = self._tokens[at]
            self._advance(at + 1 - self._index)
            self._match(T.NOT)
            if not self._match_text_seq("MATCHED"):
                raise self.missing("MATCHED")
        if open_when is not None:
            raise self.mistake("this WHEN has no THEN", span_of_token(open_when), expected=("THEN",))
        self._retreat(start)

    def _parse_multitable_inserts(self, *_args: Any, **_kwargs: Any) -> Any:
        raise self.unsupported("one INSERT fills one table", hint="write a statement for each")
