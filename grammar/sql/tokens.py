"""Text to tokens, in one pass that also holds the text against every ceiling.

The tokens are sqlglot's, the scanner is ours: it knows where a string, a comment or a bracket was opened, stops at the
first excess instead of after the whole text, reads `f($a,$b)` as two parameters and not as a dollar quote, and is
faster. Comments are dropped. Lines and columns of tokens are not filled in: places are offsets.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from sqlglot.dialects.duckdb import DuckDB
from sqlglot.tokenizer_core import Token, TokenType

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import LanguageError, ParseError
from omnigraph_sql.grammar.ast.sql import Placeholder
from omnigraph_sql.grammar.lexical import too_long_name
from omnigraph_sql.grammar.source import Source, Span
from omnigraph_sql.grammar.sql.ceilings import Ceilings
from omnigraph_sql.grammar.sql.mistakes import explain_character, unclosed

_TOKEN: Final = re.compile(
    r"""
    (?P<space>[\s\ufeff]+)
  | (?P<comment>--[^\r\n]*)
  | (?P<block>/\*)
  | (?P<string>(?:[nN](?='))?'[^']*(?:''[^']*)*'(?!'))
  | (?P<escaped>[eE]'[^'\\]*(?:(?:\\.|'')[^'\\]*)*')
  | (?P<hex>[xX]'[0-9a-fA-F]*')
  | (?P<open>[eEnNxX]?')
  | (?P<word>[^\W\d][\w$]*)
  | (?P<number>(?:\d+(?:_\d+)*(?:\.(?!\.)(?:\d+(?:_\d+)*)?)?|(?<![\w.)\]"])\.\d+(?:_\d+)*)(?:[eE][+-]?\d+)?)
  | (?P<name>"[^"]*(?:""[^"]*)*"(?!"))
  | (?P<dollar>\$(?:[^\W\d]\w*)?\$)
  | (?P<parameter>\$(?=\w))
  | (?P<operator><->|->>|<=>|~~~|~~\*|->|=>|<=|>=|<>|!=|==|::|:=|\|\||\*\*|//|\^@|@>|<@|&&|~~|~\*
      |[-+*/%^=<>&|~!?@:.,;()\[\]{}])
    """,
    re.VERBOSE | re.DOTALL,
)
_BLOCK_MARK: Final = re.compile(r"/\*|\*/")
_DIGITS: Final = re.compile(r"\d+")
_PLAIN_WORD: Final = re.compile(r"\w+")
_ESCAPE: Final = re.compile(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)|''", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}

_KEYWORDS: Final = {word: kind for word, kind in DuckDB.Tokenizer.KEYWORDS.items() if word.isidentifier()}
_OPERATORS: Final = {
    **{text: kind for text, kind in DuckDB.Tokenizer.KEYWORDS.items() if not text[0].isalnum()},
    **DuckDB.Tokenizer.SINGLE_TOKENS,
}
# sqlglot's parser wants these pairs as one token each.
_PAIRS: Final = {
    tuple(words.split(" ")): kind for words, kind in DuckDB.Tokenizer.KEYWORDS.items() if words.count(" ") == 1
}
_PAIR_HEADS: Final = frozenset(first for first, _ in _PAIRS)
_SECOND_WORD: Final = re.compile(r"\s+([^\W\d][\w$]*)")
# A text that runs away is stopped after so many more characters.
_UNCOUNTED_CHARACTERS: Final = 4096


@dataclass(frozen=True, slots=True)
class Chunk:
    """The tokens of one statement, never empty, and the parameters that tokens alone reveal, by offset.

    `:name` is not among them: whether a colon starts a parameter only the parser can tell.
    """

    tokens: list[Token]
    placeholders: dict[int, Placeholder]

    @property
    def span(self) -> Span:
        return Span(self.tokens[0].start, self.tokens[-1].end + 1)


def scan(source: Source) -> list[Chunk]:
    """The statements of a text as tokens. Raises LanguageError: an open quote or bracket, a ceiling passed."""
    source.refuse_if_too_long()
    return _Scanner(source).run()


class _Scanner:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._text = source.text
        self._tokens: list[Token] = []
        self._placeholders: dict[int, Placeholder] = {}
        self._questions = 0
        self._chunks: list[Chunk] = []
        self._counted = 0
        self._ceilings = Ceilings(source)

    def run(self) -> list[Chunk]:
        try:
            self._scan()
            return self._chunks
        except LanguageError as problem:
            mistake = problem
        # A ceiling that was passed in front of it is the first mistake.
        self._count()
        raise mistake

    def _scan(self) -> None:
        text, at, end = self._text, 0, len(self._text)
        match, uncounted = _TOKEN.match, _UNCOUNTED_CHARACTERS
        while at < end:
            if at > uncounted:
                uncounted = at + _UNCOUNTED_CHARACTERS
                self._count()
            found = match(text, at)
            if found is None:
                raise explain_character(self._source, at)
            kind = found.lastgroup
            if kind == "word":
                at = self._word(found.group(), at)
            elif kind == "operator":
                self._operator(found.group(), at)
                at = found.end()
            elif kind == "space":
                at = found.end()
            elif kind == "comment":
                self._ceilings.comment(at)
                at = found.end()
            else:
                at = self._other(kind or "", found.group(), at)
        self._finish()

    def _add(self, kind: TokenType, text: str, start: int, end: int) -> None:
        self._tokens.append(Token(kind, text, 1, 1, start, end - 1))

    def _count(self) -> None:
        """Hold what was scanned since the last time against the ceilings."""
        tokens, self._counted = self._tokens[self._counted :], len(self._tokens)
        self._ceilings.count(tokens)

    def _word(self, word: str, at: int) -> int:
        end = at + len(word)
        upper = word.upper()
        if len(word) > limits.IDENTIFIER_CHARACTERS_MAX:
            raise too_long_name(self._source, Span(at, end))
        if upper in _PAIR_HEADS and (second := _SECOND_WORD.match(self._text, end)) is not None:
            pair = (upper, second.group(1).upper())
            if pair in _PAIRS:
                self._add(_PAIRS[pair], " ".join(pair), at, second.end())
                return second.end()
        self._tokens.append(Token(_KEYWORDS.get(upper, TokenType.VAR), word, 1, 1, at, end - 1))
        return end

    def _operator(self, text: str, at: int) -> None:
        if text == ";":
            self._finish()
            return
        if text == "==":
            where = self._source.locate(Span(at, at + 2))
            raise ParseError("'==' is not an operator", at=where, hint="compare with a single =")
        if text == "?" and not self._text.startswith("(", at + 1):
            # `?` in front of a bracket is the quantifier of a path pattern
            self._questions += 1
            self._placeholders[at] = Placeholder(str(self._questions), True, Span(at, at + 1))
        self._tokens.append(Token(_OPERATORS[text], text, 1, 1, at, at + len(text) - 1))

    def _other(self, kind: str, text: str, at: int) -> int:
        end = at + len(text)
        if kind == "string":
            body = text[1:-1] if text[0] == "'" else text[2:-1]
            self._add(TokenType.STRING, body.replace("''", "'") if "'" in body else body, at, end)
        elif kind == "escaped":
            self._add(TokenType.STRING, _ESCAPE.sub(_unescape, text[2:-1]), at, end)
        elif kind == "hex":
            self._add(TokenType.HEX_STRING, text[2:-1], at, end)
        elif kind == "number":
            self._number(text, at, end)
        elif kind == "name":
            self._name(text, at, end)
        elif kind == "dollar":
            return self._dollar_quote(text, at)
        elif kind == "parameter":
            return self._parameter(at)
        elif kind == "block":
            return self._block_comment(at)
        elif text[0] in "xX" and (close := self._text.find("'", at + 2)) > 0:
            raise ParseError("x'…' takes hexadecimal digits", at=self._source.locate(Span(at, close + 1)))
        else:
            raise unclosed(self._source, at, "string")
        return end

    def _number(self, text: str, at: int, end: int) -> None:
        if len(text) > limits.IDENTIFIER_CHARACTERS_MAX:
            raise too_long_name(self._source, Span(at, end), "a number")
        if (junk := _PLAIN_WORD.match(self._text, end)) is not None:
            raise ParseError(
                f"'{text}{junk.group()[:40]}' is neither a number nor a name",
                at=self._source.locate(Span(at, junk.end())),
                hint="names start with a letter or '_'; put others in double quotes",
            )
        self._add(TokenType.NUMBER, text.replace("_", ""), at, end)

    def _name(self, text: str, at: int, end: int) -> None:
        body = text[1:-1].replace('""', '"')
        if not body:
            raise ParseError("a quoted name is empty", at=self._source.locate(Span(at, end)))
        if len(body) > limits.IDENTIFIER_CHARACTERS_MAX:
            raise too_long_name(self._source, Span(at, end))
        self._add(TokenType.IDENTIFIER, body, at, end)

    def _dollar_quote(self, tag: str, at: int) -> int:
        body = at + len(tag)
        close = self._text.find(tag, body)
        if close < 0:
            raise unclosed(self._source, at, "dollar-quoted text", closer=tag)
        # A raw string stays a string literal in the tree; dollar quotes have no escapes.
        self._add(TokenType.STRING, self._text[body:close], at, close + len(tag))
        return close + len(tag)

    def _parameter(self, at: int) -> int:
        found = _DIGITS.match(self._text, at + 1)
        kind = TokenType.NUMBER
        if found is None or _PLAIN_WORD.match(self._text, found.end()) is not None:
            found, kind = _PLAIN_WORD.match(self._text, at + 1), TokenType.VAR
        if found is None:
            raise explain_character(self._source, at)
        span = Span(at, found.end())
        if len(found.group()) > limits.IDENTIFIER_CHARACTERS_MAX:
            raise too_long_name(self._source, span)
        self._placeholders[at] = Placeholder(found.group(), kind is TokenType.NUMBER, span)
        self._add(TokenType.PARAMETER, "$", at, at + 1)
        self._add(kind, found.group(), at + 1, found.end())
        return found.end()

    def _block_comment(self, at: int) -> int:
        depth, here = 0, at
        while (mark := _BLOCK_MARK.search(self._text, here)) is not None:
            depth += 1 if mark.group() == "/*" else -1
            here = mark.end()
            if not depth:
                return here
        raise unclosed(self._source, at, "comment", closer="*/")

    def _finish(self) -> None:
        self._count()
        self._ceilings.end_of_statement(len(self._chunks) + 1 if self._tokens else 0)
        if self._tokens:
            self._chunks.append(Chunk(self._tokens, self._placeholders))
        self._tokens, self._placeholders, self._questions, self._counted = [], {}, 0, 0


def _unescape(found: re.Match[str]) -> str:
    code = found.group(1)
    if code is None:
        return "'"
    if len(code) > 1:
        value = int(code[1:], 16)
        return chr(value) if value <= 0x10FFFF else code
    return _ESCAPES.get(code, code)
