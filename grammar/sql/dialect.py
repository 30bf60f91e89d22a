"""The house dialect: DuckDB's, as sqlglot reads it, with graph tables, time travel and parameters of our own.

What sqlglot makes of a text while parsing, for those who read the trees:
- indexes count from 1, in the text and in `exp.Bracket`;
- `x -> y` is `exp.Lambda` in argument lists and `exp.JSONExtract` elsewhere; `->>` is `exp.JSONExtractScalar`;
- `FROM t` without SELECT becomes `SELECT * FROM t`; `x: 1` becomes `1 AS x`; `!=` and `<>` are both `exp.NEQ`;
- calls are `exp.Anonymous`, name and arguments as written, but for those with words between their arguments (CAST,
  EXTRACT, TRIM, …), for names without brackets (CURRENT_DATE, …), IF, and series (`exp.GenerateSeries`);
- `x::T` and CAST are both `exp.Cast`; TRY_CAST is `exp.TryCast`; `NOT x LIKE y` and `x NOT LIKE y` are the same tree;
- `a AND b AND c` and all other chains lean left: walk them with a loop;
- DECIMAL without arguments becomes DECIMAL(18, 3), TEXT(n) becomes TEXT;
- E'…', N'…' and $$…$$ are plain string literals.
Named arguments, `name => value` and `name := value`, are always `exp.Kwarg` with an `exp.Var` as `this`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.tokenizer_core import Token, TokenType

from omnigraph_sql.grammar.ast.sql import GqTable, Ident, Placeholder, Travel
from omnigraph_sql.grammar.source import Span
from omnigraph_sql.grammar.sql.placed import Refusal
from omnigraph_sql.grammar.sql.spans import span_of, span_of_token
from omnigraph_sql.grammar.sql.strict import StrictParser

_Parsers = dict[Any, Callable[..., Any]]

QUERY_STARTS = frozenset(
    {TokenType.SELECT, TokenType.WITH, TokenType.FROM, TokenType.VALUES, TokenType.PIVOT, TokenType.UNPIVOT}
)
DML_STARTS = frozenset({TokenType.INSERT, TokenType.UPDATE, TokenType.DELETE, TokenType.MERGE})
_SLICED = frozenset(
    {TokenType.VAR, TokenType.IDENTIFIER, TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.STRING}
)
_TRAVELS = {
    ("VERSION", "AS", "OF"): "version",
    ("TIMESTAMP", "AS", "OF"): "timestamp",
    ("SYSTEM_TIME", "AS", "OF"): "timestamp",
    ("SYSTEM_VERSION", "AS", "OF"): "version",
}
_TRAVEL_WORDS = {"FOR", "VERSION", "TIMESTAMP", "AT"}
_FOR_WORDS = {"VERSION", "TIMESTAMP", "SYSTEM_TIME", "SYSTEM_VERSION"}
# Calls with words between their arguments: CAST(x AS t), TRIM(BOTH x FROM y), STRING_AGG(x, y ORDER BY z) …
_KEYWORD_CALLS = (
    *("CAST", "TRY_CAST", "EXTRACT", "OVERLAY", "POSITION", "SUBSTRING", "TRIM"),
    *("STRING_AGG", "GROUP_CONCAT", "LISTAGG"),
)
_SERIES = ("GENERATE_SERIES", "RANGE")


def _graph_table(parser: Any) -> exp.Expr:
    from omnigraph_sql.grammar.sql.graph_table import parse_graph_table

    return parse_graph_table(parser)


class OmniParser(StrictParser):
    """The parser of one statement; raises Refusal or LanguageError."""

    FUNCTION_PARSERS: ClassVar[_Parsers] = {
        **{name: DuckDBParser.FUNCTION_PARSERS[name] for name in _KEYWORD_CALLS},
        "GRAPH_TABLE": _graph_table,
        "GQ": lambda self: self.parse_gq_table(),
    }
    # A call keeps its name and its arguments as written: sqlglot's own nodes drop, swap and invent arguments.
    FUNCTIONS: ClassVar[_Parsers] = {name: DuckDBParser.FUNCTIONS[name] for name in _SERIES}
    PRIMARY_PARSERS: ClassVar[_Parsers] = {
        **DuckDBParser.PRIMARY_PARSERS,
        TokenType.NULL: lambda self, token: self.expression(exp.Null(), token),
        TokenType.TRUE: lambda self, token: self.expression(exp.Boolean(this=True), token),
        TokenType.FALSE: lambda self, token: self.expression(exp.Boolean(this=False), token),
        TokenType.STAR: lambda self, token: self._parse_star_ops().update_positions(token),
    }
    PLACEHOLDER_PARSERS: ClassVar[_Parsers] = {
        TokenType.PLACEHOLDER: lambda self: self.known_placeholder(self._prev),
        TokenType.PARAMETER: lambda self: self.known_placeholder(self._prev),
        TokenType.COLON: lambda self: self.colon_placeholder(self._prev),
    }

    # ---- what is no query ---------------------------------------------------------------------------------------

    def _parse_as_command(self, start: Token) -> Any:
        raise Refusal("Invalid expression / Unexpected token", self._curr or start or None)

    def _parse_command(self) -> Any:
        raise Refusal("Invalid expression / Unexpected token", self._prev or None)

    def _warn_unsupported(self) -> None:
        raise Refusal("Invalid expression / Unexpected token", self._curr or None)

    def _parse_statement(self) -> Any:
        # also called for the inside of a CTE
        kind = self._curr.token_type
        if kind in self.STATEMENT_PARSERS and kind not in QUERY_STARTS and kind not in DML_STARTS:
            raise Refusal("Invalid expression / Unexpected token", self._curr)
        return super()._parse_statement()

    def _parse_user_defined_type(self, identifier: exp.Identifier) -> Any:
        # sqlglot would print the name and parse it anew, with positions of its own
        if self.at(TokenType.DOT):
            raise self.mistake("the name of a type has one part")
        return exp.DataType(this=exp.DType.USERDEFINED, kind=identifier.name)

    # ---- parameters ---------------------------------------------------------------------------------------------

    def known_placeholder(self, token: Token) -> exp.Expr | None:
        """`?`, `$1` or `$name`, which the scanner has found; the mark is read already."""
        found = self.placeholders.get(token.start)
        if found is None:
            return None
        if token.token_type is TokenType.PARAMETER:
            self._advance()
        return _placeholder_node(found)

    def colon_placeholder(self, colon: Token) -> exp.Expr | None:
        """`:name`, where an operand may stand."""
        name = self._curr
        if name.start != colon.end + 1 or not (name.token_type is TokenType.NUMBER or name.text.isidentifier()):
            return None
        if name.token_type in (TokenType.STRING, TokenType.IDENTIFIER) or self._opens_slice():
            return None
        self._advance()
        found = Placeholder(name.text, name.token_type is TokenType.NUMBER, Span(colon.start, name.end + 1))
        self.placeholders[colon.start] = found
        self._colons.append(colon.start)
        return _placeholder_node(found)

    def _opens_slice(self) -> bool:
        """Whether the colon just read is that of `list[:end]`."""
        at = self._index - 1
        if at < 2 or self._tokens[at - 1].token_type is not TokenType.L_BRACKET:
            return False
        return self._tokens[at - 2].token_type in _SLICED

    def _retreat(self, index: int) -> None:
        super()._retreat(index)
        while self._colons and self._curr and self._colons[-1] >= self._curr.start:
            # read as a parameter, given up, and perhaps read as something else now
            del self.placeholders[self._colons.pop()]

    # ---- tables -------------------------------------------------------------------------------------------------

    def _parse_version(self) -> Any:
        if self._curr.text.upper() not in _TRAVEL_WORDS or self._curr.token_type is TokenType.IDENTIFIER:
            return None
        index = self._index
        with_for = self._match_text_seq("FOR")
        for phrase, kind in _TRAVELS.items():
            if (with_for or not phrase[0].startswith("SYSTEM")) and self._match_text_seq(*phrase):
                return self.travel(kind)
        self._retreat(index)
        if self._curr.text.upper() == "AT" and self._next.token_type is TokenType.L_PAREN:
            return self._at_point()
        if with_for and self._next.text.upper() in _FOR_WORDS:
            self._advance(2)
            raise self.mistake("a point in history is written FOR VERSION AS OF …", expected=("AS OF",))
        return None

    def travel(self, kind: str) -> Travel:
        """The value behind VERSION AS OF and its kin."""
        value = self._parse_bitwise()
        if value is None:
            what = {"version": "a version", "timestamp": "a point in time"}.get(kind, "a branch")
            raise self.mistake(f"{what} is missing", expected=(what,))
        return Travel(kind=kind, value=value)

    def _at_point(self) -> Travel:
        self._advance(2)
        kind = self._curr.text.upper()
        if kind not in ("VERSION", "TIMESTAMP", "BRANCH"):
            raise self.mistake("AT takes VERSION, TIMESTAMP or BRANCH", hint="write AT (VERSION => 3)")
        self._advance()
        if not (self._match(TokenType.FARROW) or self._match(TokenType.COLON_EQ)):
            raise self.mistake("'=>' is missing", expected=("'=>'",), hint=f"write AT ({kind} => …)")
        node = self.travel(kind.lower())
        self._match_r_paren()
        return node

    def _parse_historical_data(self) -> Any:
        # sqlglot asks here for AT (…) behind a name and behind its alias.
        return self._parse_version()

    def _parse_changes(self) -> Any:
        return None

    def _parse_table(self, *args: Any, **kwargs: Any) -> Any:
        table = super()._parse_table(*args, **kwargs)
        if isinstance(table, exp.Table):
            point = table.args.pop("when", None)
            if point is not None:
                table.set("version", point)
        elif isinstance(table, exp.AtIndex):
            raise self.mistake("AT is followed by a bracket", hint="write AT (VERSION => 3)")
        return table

    def _parse_table_alias(self, alias_tokens: Collection[TokenType] | None = None) -> Any:
        word = self._curr.text.upper()
        if word in _TRAVEL_WORDS and self._curr.token_type is not TokenType.IDENTIFIER and self._starts_travel(word):
            return None
        return super()._parse_table_alias(alias_tokens=alias_tokens)

    def _starts_travel(self, word: str) -> bool:
        if word == "AT":
            return bool(self._next.token_type is TokenType.L_PAREN)
        if word == "FOR":
            return self._next.text.upper() in _FOR_WORDS
        after = self._index + 2
        if self._next.token_type is not TokenType.ALIAS or after >= self._tokens_size:
            return False
        return bool(self._tokens[after].text.upper() == "OF")

    def parse_gq_table(self) -> GqTable:
        """Behind `gq(`: a literal with the text, then named arguments."""
        name, text = self._tokens[self._index - 2], self._curr
        if text.token_type is not TokenType.STRING:
            raise self.mistake("gq takes the text of a query first", expected=("$$ … $$",))
        self._advance()
        found = self._parse_function_args() if self._match(TokenType.COMMA) else []
        arguments = [named(argument) for argument in found]
        if not all(isinstance(argument, exp.Kwarg) for argument in arguments):
            raise self.mistake("the arguments of gq have names", self.since(text.end + 1), "write name => value")
        if self._curr.token_type is not TokenType.R_PAREN:
            raise self.mistake("gq takes a text and named arguments", expected=("','", "')'"))
        literal = exp.Literal.string(text.text).update_positions(text)
        return GqTable(text=literal, body=self._inside(text), arguments=arguments).update_positions(name)

    def _inside(self, text: Token) -> Span:
        """Where the text between the quotes of a string stands."""
        if self.sql[text.start] != "$":
            return Span(self.sql.index("'", text.start) + 1, text.end)
        tag = self.sql.index("$", text.start + 1) + 1 - text.start
        return Span(text.start + tag, text.end + 1 - tag)

    # ---- functions ----------------------------------------------------------------------------------------------

    def _parse_function_call(self, *args: Any, **kwargs: Any) -> Any:
        found = super()._parse_function_call(*args, **kwargs)
        if isinstance(found, exp.Anonymous):
            arguments = found.args.get("expressions")
            if arguments and any(isinstance(argument, exp.PropertyEQ) for argument in arguments):
                found.set("expressions", [named(argument) for argument in arguments])
        return found

    # ---- names --------------------------------------------------------------------------------------------------

    def ident(self, what: str = "a name") -> Ident:
        """The next token as a name; keywords that sqlglot does not reserve are names too."""
        token = self._curr
        if token.token_type is TokenType.IDENTIFIER:
            self._advance()
            return Ident(token.text, True, span_of_token(token))
        if token and token.token_type in self.ID_VAR_TOKENS | {TokenType.VAR}:
            self._advance()
            return Ident(token.text, False, span_of_token(token))
        if token and token.token_type is TokenType.STRING:
            raise self.mistake(f"{what} is expected, not a string", hint="names are quoted with double quotes")
        raise self.mistake(f"expected {what}, found {self.shown()}", expected=(what,))


class OmniSql(DuckDB):
    """The house dialect; its texts are scanned by `tokens.scan`, not by sqlglot's tokenizer."""

    # Indexes stay as written, counted from 1: sqlglot would otherwise rewrite them to count from 0.
    INDEX_OFFSET = 0
    # Without NULLS FIRST or LAST, ascending keys put nulls last and descending ones first.
    NULL_ORDERING = "nulls_are_large"
    Parser = OmniParser

    class Tokenizer(DuckDB.Tokenizer):
        COMMANDS: ClassVar[set[TokenType]] = set()


def _placeholder_node(found: Placeholder) -> exp.Expr:
    node = exp.Placeholder(this=found.name)
    node.meta.update(start=found.span.start, end=found.span.end - 1)
    return node


def named(argument: exp.Expr) -> exp.Expr:
    """`k := 10` as `k => 10`."""
    if not isinstance(argument, exp.PropertyEQ):
        return argument
    name = argument.this
    where = span_of(name, Span(0, 0))
    var = exp.Var(this=name.name)
    if where.end:
        var.meta.update(start=where.start, end=where.end - 1)
    return exp.Kwarg(this=var, expression=argument.expression)


def _kwarg(parser: Any, names: list[Any]) -> exp.Expr:
    value = parser._parse_disjunction() or parser._parse_select()
    if value is None:
        raise parser.mistake("a value is missing after '=>'")
    var = exp.Var(this=names[0].name).update_positions(names[0])
    return exp.Kwarg(this=var, expression=value)


OmniParser.LAMBDAS = {**DuckDBParser.LAMBDAS, TokenType.FARROW: _kwarg}
