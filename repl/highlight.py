"""Colours while typing: lexers for our SQL, for `.gq` and for the shell's own commands, chosen by the first words."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

from omnigraph_sql.grammar.language import Language, language_of
from omnigraph_sql.repl.commands import command_named
from omnigraph_sql.repl.vocabulary import GQ_AGGREGATES, GQ_FUNCTIONS, GQ_STATEMENTS, GQ_WORDS, SQL_WORDS, TYPES

if TYPE_CHECKING:
    from prompt_toolkit.document import Document
    from prompt_toolkit.formatted_text import StyleAndTextTuples

_IGNORE_CASE: Final = 2  # re.IGNORECASE, as pygments wants it


class OmniSqlLexer(RegexLexer):  # type: ignore[misc]  # pygments ships no types
    """SQL with graph patterns, time travel and branches."""

    name = "omnigraph SQL"
    flags = _IGNORE_CASE
    tokens = {  # noqa: RUF012 - pygments reads a plain class attribute
        "root": [
            (r"\s+", Text),
            (r"--[^\n]*", Comment.Single),
            (r"/\*", Comment.Multiline, "comment"),
            (r"\$([^\W\d]\w*)?\$", String.Heredoc, "dollar"),
            (r"[enx]?'(?:[^']|'')*'?", String.Single),
            (r'"(?:[^"]|"")*"?', String.Name),
            (r"\$\w+|:[^\W\d]\w*", Name.Variable),
            (r"\d[\d_]*(?:\.[\d_]*)?(?:e[+-]?\d+)?", Number),
            (words(tuple(TYPES), suffix=r"\b"), Keyword.Type),
            (words(tuple(sorted(SQL_WORDS)), suffix=r"\b"), Keyword),
            (r"([^\W\d]\w*)(\s*)(\()", bygroups(Name.Function, Text, Punctuation)),
            (r"[^\W\d][\w$]*", Name),
            (r"[-+*/%<>=!|^~&@?]+", Operator),
            (r"[()\[\]{},.;:]", Punctuation),
            (r".", Text),
        ],
        "comment": [
            (r"[^*/]+", Comment.Multiline),
            (r"/\*", Comment.Multiline, "#push"),
            (r"\*/", Comment.Multiline, "#pop"),
            (r"[*/]", Comment.Multiline),
        ],
        "dollar": [(r"\$([^\W\d]\w*)?\$", String.Heredoc, "#pop"), (r"[^$]+|\$", String.Heredoc)],
    }


class GqLexer(RegexLexer):  # type: ignore[misc]  # pygments ships no types
    """The pattern language."""

    name = "omnigraph gq"
    tokens = {  # noqa: RUF012 - pygments reads a plain class attribute
        "root": [
            (r"\s+", Text),
            (r"//[^\n]*", Comment.Single),
            (r"/\*(?:[^*]|\*(?!/))*(?:\*/)?", Comment.Multiline),
            (r'"(?:[^"\\]|\\.)*"?', String.Double),
            (r"\$\w*", Name.Variable),
            (r"@\w+", Name.Decorator),
            (r"\d+(?:\.\d+)?", Number),
            (words((*GQ_STATEMENTS, *GQ_WORDS), suffix=r"\b"), Keyword),
            (words((*GQ_AGGREGATES, *GQ_FUNCTIONS), suffix=r"(?=\s*\()"), Name.Function),
            (r"[A-Z]\w*", Name.Class),
            (r"[^\W\d]\w*", Name),
            (r"[<>=!]+", Operator),
            (r"[()\[\]{},.:?;-]", Punctuation),
            (r".", Text),
        ],
    }


LEXERS: Final[dict[Language, type[RegexLexer]]] = {"sql": OmniSqlLexer, "gq": GqLexer}


def coloured(text: str, language: Language | None = None) -> list[tuple[Any, str]]:
    """The pieces of a text with the token types that give them their colours; together they are the text."""
    stripped = text.lstrip()
    if stripped.startswith("\\"):
        return _coloured_command(text, language)
    lexer = LEXERS[language or language_of(text)](stripnl=False, ensurenl=False)
    return [(kind, piece) for _, kind, piece in lexer.get_tokens_unprocessed(text)]


def _coloured_command(text: str, language: Language | None) -> list[tuple[Any, str]]:
    end = len(text) - len(text.lstrip()) + 1
    while end < len(text) and not text[end].isspace():
        end += 1
    command = command_named(text[:end].strip()[1:])
    head = (Keyword if command is not None else Name, text[:end])
    if command is None or command.takes.name != "STATEMENT":
        return [head, (Text, text[end:])]
    return [head, *coloured_statement(text[end:], command.language or language)]


def coloured_statement(text: str, language: Language | None) -> list[tuple[Any, str]]:
    lexer = LEXERS[language or language_of(text)](stripnl=False, ensurenl=False)
    return [(kind, piece) for _, kind, piece in lexer.get_tokens_unprocessed(text)]


def lines(text: str, language: Language | None = None) -> list[StyleAndTextTuples]:
    """The coloured text, line by line, as the editor takes it."""
    from prompt_toolkit.styles.pygments import pygments_token_to_classname

    found: list[StyleAndTextTuples] = [[]]
    for kind, piece in coloured(text, language):
        style = f"class:{pygments_token_to_classname(kind)}"
        first, *rest = piece.split("\n")
        found[-1].append((style, first))
        for line in rest:
            found.append([(style, line)])
    return found


def lex_document(document: Document, language: Language | None) -> Callable[[int], StyleAndTextTuples]:
    shown = lines(document.text, language)
    return lambda number: shown[number] if number < len(shown) else []
