"""Whether a text is complete, so that Enter sends it. Pure."""

from __future__ import annotations

from omnigraph_sql.grammar.language import Language, language_of
from omnigraph_sql.repl.commands import command_of
from omnigraph_sql.repl.tokens import Kind, Token, depth, tokens


def is_complete(text: str, language: Language | None = None) -> bool:
    r"""Whether nothing is missing.

    SQL ends with a semicolon. A `.gq` query ends with its closing brace; a bare body ends with a semicolon, with an
    empty line, or, as long as it is a single line, where it could end. Commands, and texts without a word, are
    complete. An open quote, comment or bracket never is.
    """
    if not text.strip() or command_of(text) is not None:
        return True
    spoken = language or language_of(text)
    found = tokens(text, spoken)
    if any(token.open for token in found):
        return False
    rest = [token for token in found if token.kind is not Kind.COMMENT]
    if not rest:
        return True
    if depth(rest):
        return False
    if rest[-1].is_mark(";"):
        return True
    return spoken == "gq" and _gq_ends(text, rest)


def _gq_ends(text: str, rest: list[Token]) -> bool:
    if rest[0].is_word("QUERY"):
        return rest[-1].is_mark("}")
    lines = text.rstrip(" \t").split("\n")
    if len(lines) > 1:
        return not lines[-1].strip()
    return _could_end(rest)


def _could_end(rest: list[Token]) -> bool:
    words = [token.upper for token in rest]
    match words[0]:
        case "MATCH":
            limited = len(rest) > 1 and rest[-2].is_word("LIMIT")
            return "RETURN" in words and (words[-1] == "}" or limited)
        case "INSERT":
            return words[-1] == "}"
        case _:
            return "WHERE" in words and len(words) - words.index("WHERE") >= _TEST_TOKENS


_TEST_TOKENS = 4
"""`where`, a property, an operator and a value."""
