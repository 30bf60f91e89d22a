"""Lark grammars and their errors: load a grammar once, parse with it, and say what is wrong in words of people.

A `Language` names a grammar file and holds its vocabulary for errors: what each terminal is called, and labelled
wrong examples. An example is parsed once to find the place in the grammar where it fails; whoever fails at the same
place with the same token gets the text of that label instead of a bare list of expected tokens.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from omnigraph_sql.base.errors import ParseError
from omnigraph_sql.grammar.lexical import refuse_if_unreasonable, shallow
from omnigraph_sql.grammar.source import Source, Span

if TYPE_CHECKING:
    from lark import Lark, Token, Tree
    from lark.exceptions import UnexpectedInput

_END: Final = "$END"
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FOUND: Final = re.compile(r"[^\W\d]\w*")
_BOUNDED_WORD: Final = re.compile(r"([A-Za-z_]+)(?:\\b|\(\?!\[[^]]*\]\))")
_EXPECTED_IN_MESSAGE_MAX: Final = 3

LexerOf = Callable[[], type]
"""Makes a subclass of lark's lexer; a function, because lark is not loaded before a text is parsed."""

_Place = tuple[int, str]
"""A parser state, and the token type or the character it stumbled over."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """Wrong texts of one kind, and what to tell people who make it.

    `{found}` in the message stands for the token at fault. With `any_token`, whatever stands at the place matches.
    """

    message: str
    examples: tuple[str, ...]
    hint: str | None = None
    any_token: bool = False

    def __post_init__(self) -> None:
        if not self.message or not self.examples:
            raise ValueError("a mistake has a message and at least one example")


@dataclass(frozen=True, slots=True)
class Language:
    """A grammar together with the words its errors use.

    `terminals` maps a terminal to what people call it; an empty text keeps it out of the errors, a missing entry
    shows a keyword as it is written. `words` are what a terminal that is a pattern may spell, for near misses.
    `lexer` makes the class that cuts tokens, where lark's own will not do.
    """

    grammar: str
    terminals: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    mistakes: tuple[Mistake, ...] = ()
    start: str = "start"
    lexer: LexerOf | None = None

    # Compared by identity: a language is a module constant and the key of a cache.
    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def parse(self, source: Source) -> Tree[Token]:
        """The tree of `source`. Raises LanguageError and nothing else, whatever the text."""
        from lark.exceptions import UnexpectedInput

        refuse_if_unreasonable(source)
        with shallow(source):
            try:
                return load_grammar(self.grammar, self.start, self.lexer).parse(source.text)
            except UnexpectedInput as problem:
                error = explain(problem, source, self)
        raise error


@cache
def load_grammar(name: str, start: str = "start", lexer: LexerOf | None = None) -> Lark:
    """The parser of `<name>.lark` beside this module, built on first use and kept for the life of the process."""
    from importlib.resources import files

    from lark import Lark

    text = (files("omnigraph_sql.grammar") / f"{name}.lark").read_text(encoding="utf-8")
    cutter = lexer() if lexer is not None else "contextual"
    return Lark(text, start=start, parser="lalr", lexer=cutter, propagate_positions=True, maybe_placeholders=True)


def explain(problem: UnexpectedInput, source: Source, language: Language) -> ParseError:
    """What lark found, as an error with a place, a reason and a way out."""
    span, found = _found(problem, source)
    if (lexical := _lexical(source, span, found)) is not None:
        return lexical
    acceptable = sorted(_acceptable(problem.state))
    expected = tuple(sorted({name for t in acceptable if (name := _name(t, language))}))
    mistake = _known_mistake(problem, language)
    if mistake is not None:
        message = mistake.message.replace("{found}", found)
        return ParseError(message, at=source.locate(span), hint=mistake.hint)
    return ParseError(
        _message(found, expected),
        at=source.locate(span),
        expected=expected,
        suggestion=_near_miss(source.text[span.start : span.end], acceptable, language),
    )


def _message(found: str, expected: tuple[str, ...]) -> str:
    if 0 < len(expected) <= _EXPECTED_IN_MESSAGE_MAX:
        return f"expected {' or '.join(expected)}, found {found}"
    return f"unexpected {found}"


def _found(problem: UnexpectedInput, source: Source) -> tuple[Span, str]:
    """Where the trouble is, and what stands there."""
    from lark.exceptions import UnexpectedToken

    if isinstance(problem, UnexpectedToken) and problem.token.type != _END:
        start = problem.token.start_pos or 0
        return Span(start, start + len(problem.token)), _quoted(str(problem.token))
    if isinstance(problem, UnexpectedToken):
        end = len(source.text.rstrip())
        return Span(end, end), "the end of the text"
    start = int(getattr(problem, "pos_in_stream", None) or 0)
    word = _FOUND.match(source.text, start)
    end = word.end() if word else start + 1
    return Span(start, end), _quoted(source.text[start:end])


def _quoted(text: str) -> str:
    shown = text if len(text) <= 40 else f"{text[:37]}..."
    return f"'{shown}'" if shown.isprintable() else f"character {shown!a}"


def _lexical(source: Source, span: Span, found: str) -> ParseError | None:
    """Mistakes that look the same in every place of both languages."""
    rest = source.text[span.start : span.start + 2]
    at = source.locate(span)
    if found == "'\"'":
        return ParseError("this string is never closed", at=at, hint="end it with a double quote")
    if rest == "/*":
        return ParseError("this comment is never closed", at=at, hint="end it with */")
    if rest.startswith("#"):
        return ParseError("'#' does not start a comment", at=at, hint="comments are written // … or /* … */")
    if rest.startswith("'"):
        return ParseError("strings are written in double quotes", at=at, expected=('"…"',))
    if rest.startswith("`"):
        return ParseError("names are written without quotes", at=at)
    if rest[:1].isalpha() and not rest[:1].isascii():
        return ParseError(
            f"{found} cannot be part of a name", at=at, hint="names have the letters a to z, digits and _"
        )
    return None


def _name(terminal: str, language: Language) -> str:
    """What people call a terminal; empty for one they should not hear of."""
    if terminal in language.terminals:
        return language.terminals[terminal]
    if terminal == _END:
        return "the end of the text"
    spelling = _spelling(terminal, language)
    return f"'{spelling}'" if spelling is not None else terminal.lower().strip("_")


def _spelling(terminal: str, language: Language) -> str | None:
    """The text of a terminal that has only one: a string, or a word that may not run on into a longer one."""
    from lark.lexer import PatternStr

    grammar = load_grammar(language.grammar, language.start, language.lexer)
    try:
        pattern = grammar.get_terminal(terminal).pattern
    except KeyError:
        return None
    if isinstance(pattern, PatternStr):
        return str(pattern.value)
    bounded = _BOUNDED_WORD.fullmatch(pattern.value)
    return bounded.group(1) if bounded else None


def _near_miss(found: str, acceptable: list[str], language: Language) -> str | None:
    if not _WORD.fullmatch(found):
        return None
    words = {w for t in acceptable for w in language.words.get(t, ())}
    words |= {s for t in acceptable if (s := _spelling(t, language)) is not None and _WORD.fullmatch(s)}
    folded = {w.casefold(): w for w in sorted(words)}
    close = get_close_matches(found.casefold(), list(folded), n=1, cutoff=0.7)
    return folded[close[0]] if close else None


def _acceptable(state: Any) -> Iterator[str]:
    """Terminals that would really get the parser further.

    A table row also lists tokens that only lead to reductions and fail later, so each is tried on a copy of the
    stack of states.
    """
    table = state.parse_conf.states
    for terminal in table[state.position]:
        if terminal.isupper() and goes_on(terminal, state.state_stack, table, state.parse_conf.end_state):
            yield terminal


def goes_on(terminal: str, states: list[int], table: Any, end_state: int) -> bool:
    """Whether a parser in these states can take the terminal, after whatever reductions it asks for."""
    from lark.parsers.lalr_analysis import Shift

    stack = list(states)
    while True:
        if terminal not in table[stack[-1]]:
            return False
        action, argument = table[stack[-1]][terminal]
        if action is Shift:
            return True
        if size := len(argument.expansion):
            del stack[-size:]
        stack.append(table[stack[-1]][argument.origin.name][1])
        if terminal == _END and stack[-1] == end_state:
            return True


def _known_mistake(problem: UnexpectedInput, language: Language) -> Mistake | None:
    exact, places = _mistakes(language)
    place = _place(problem)
    return exact.get((place, _token_text(problem))) or places.get(place) or places.get((place[0], ""))


def _place(problem: UnexpectedInput) -> _Place:
    from lark.exceptions import UnexpectedToken

    state: Any = problem.state
    if isinstance(problem, UnexpectedToken):
        return state.position, problem.token.type
    return state.position, str(getattr(problem, "char", ""))


def _token_text(problem: UnexpectedInput) -> str:
    return str(getattr(problem, "token", ""))


@cache
def _mistakes(language: Language) -> tuple[dict[tuple[_Place, str], Mistake], dict[_Place, Mistake]]:
    """Where the examples fail: with their exact token, and with any token of that kind. Earlier mistakes win."""
    from lark.exceptions import UnexpectedInput

    parser = load_grammar(language.grammar, language.start, language.lexer)
    exact: dict[tuple[_Place, str], Mistake] = {}
    places: dict[_Place, Mistake] = {}
    for mistake in language.mistakes:
        for example in mistake.examples:
            try:
                parser.parse(example)
            except UnexpectedInput as problem:
                place = _place(problem)
                exact.setdefault((place, _token_text(problem)), mistake)
                places.setdefault((place[0], "") if mistake.any_token else place, mistake)
            else:
                raise ValueError(f"an example of a mistake is no mistake: {example!r}")
    return exact, places
