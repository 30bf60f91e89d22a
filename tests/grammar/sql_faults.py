"""What the parser says of a wrong SQL text, as lines that case files compare."""

from __future__ import annotations

from omnigraph_sql.base.errors import LanguageError
from omnigraph_sql.grammar.sql.parse import parse_script


def fault(text: str) -> str | None:
    """Code and message, the text under the carets, and whatever helps; None for a text without fault."""
    try:
        parse_script(text)
    except LanguageError as error:
        lines = [f"{error.code}: {error.message}", f"at: {text[error.at.start : error.at.end] or '(the end)'}"]
        if error.expected:
            lines.append(f"expected: {', '.join(error.expected)}")
        if error.suggestion is not None:
            lines.append(f"did you mean: {error.suggestion}")
        if error.hint is not None:
            lines.append(f"hint: {error.hint}")
        return "\n".join(lines)
    return None
