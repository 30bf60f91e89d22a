"""Wrong queries people write, and what to tell them; and what the terminals of the grammar are called."""

from __future__ import annotations

import re
from typing import Final

from omnigraph_sql.base.errors import ParseError
from omnigraph_sql.grammar.gq_lexer import lexer
from omnigraph_sql.grammar.lark_errors import Language, Mistake
from omnigraph_sql.grammar.source import Source, Span

_TERMINALS: Final = {
    "VAR": "a variable like $x",
    "NAME": "a name",
    "TYPE": "a type name",
    "STRING": 'a string like "…"',
    "INT": "a number",
    "FLOAT": "",
    "MINUS": "",
    "WRONG_NUMBER": "",
    "WRONG_RELATION": "",
    "DOC": "a note like @description(…)",
}

_READ: Final = "match { $a: A } return { $a.x }"

# Each example is a bare body; inside a query it fails at the same place.
_BODY_MISTAKES: Final = (
    Mistake(
        "a field test is written  property: value",
        ('match { $a: A { x = "1" } }', "match { $a: A { x: 1, y = 2 } }", "match { $a: A { x > 2 } }"),
        hint="other comparisons are clauses of their own, as in  $x.p > 3",
    ),
    Mistake("an assignment is written  property: value", ("insert A { x = 1 }", "insert A { x: 1 y = 1 }")),
    Mistake(
        "a bare word is no value here",
        ("match { $a: A { x: y } }", "match { $a: A { x: y, z: 1 } }", "insert A { x: y }", "delete A where x = y"),
        hint='strings stand in double quotes, parameters have a $, as in  "word"  and  $word',
        any_token=True,
    ),
    Mistake(
        "a property belongs to a variable, as in  $x.p",
        ("match { a.x = 1 }", "match { $a: A } return { a.x }", "match { $a: A } return { $a.x } order { a.x }"),
        hint="variables start with a $",
    ),
    Mistake(
        "a variable followed by a word is an edge, so an edge ends with a variable and not with a property",
        ("match { $a contains $b.x }", "match { $a knows $b.x }", "match { $a $r:knows $b.x }"),
        hint="the operators contains and starts_with need a property on their left, as in  $x.p contains …",
    ),
    Mistake(
        "only a literal, a parameter or now() can stand here",
        ("match { $a: A { x: $b.y } }", "insert A { x: $b.y }", "delete A where x = $b.y"),
        hint="compare two variables in a clause of their own, as in  $x.p = $y.q",
    ),
    Mistake("variables start with a $", ("match { a: A }", "match { $a knows b }", "match { $a $r:knows b }")),
    Mistake("type names start with an upper-case letter", ("match { $a: person }", "match { $a: person { x: 1 } }")),
    Mistake(
        "type names start with an upper-case letter, {found} does not",
        ("insert person {", "update person set", "delete person where"),
    ),
    Mistake(
        "clauses are separated by blanks, remove the comma",
        (
            "match { $a: A, $b: B }",
            "match { $a: A { x: 1 }, $b: B }",
            "match { $a knows $b, $b: B }",
            "match { $a.x = 1, $b: B }",
            "match { $a.x = $b, $b: B }",
            "match { $a.x = $b.y, $b: B }",
            'match { $a.x = "s", $b: B }',
            "match { $a.x = f, $b: B }",
            "match { search($a.x, $q), $b: B }",
            "match { not { $a: A }, $b: B }",
            "match { $a.x is null, $b: B }",
            "match { $a.x = 1.5, $b: B }",
            "match { $a.x = true, $b: B }",
            "match { $a.x = [1], $b: B }",
        ),
    ),
    Mistake(
        "a read ends with  return { … }",
        ("match { $a: A }", "match { $a: A } order { $a.x }", "match { $a: A } limit 3"),
        any_token=True,
    ),
    Mistake("a match has at least one clause", ("match { }", "match { $a: A not { } }"), hint="as in  $x: Type"),
    Mistake("at least one column is returned", ("match { $a: A } return { }",)),
    Mistake("a node clause without tests has no braces", ("match { $a: A { } }",)),
    Mistake("at least one property is assigned", ("insert A { }", "update A set { } where x = 1")),
    Mistake("a count of hops is written  {1,3}", ("match { $a knows{3} $b }", "match { $a <knows>{3} $b }")),
    Mistake("hops have a lower bound, as in  {1,3}", ("match { $a knows{,3} $b }",)),
    Mistake(
        "a row test is a plain comparison: =, !=, <, <=, > or >=",
        ("delete A where x contains", "delete A where x starts_with"),
        hint="find the rows with a read first, then write them by key",
    ),
    Mistake("a write needs  where  and one test", ("delete A", "update A set { x: 1 }")),
    Mistake("rows are tested by the bare property, without a variable", ("delete A where $a.x", "delete A where A.x")),
    Mistake(
        "a limit is a number of rows, or a parameter", (f"{_READ} limit -", f'{_READ} limit "3"', f"{_READ} limit x")
    ),
    Mistake("order and limit come once, in this order", (f"{_READ} limit 3 order", f"{_READ} limit 3 limit")),
    Mistake(
        "sort keys are separated by commas", (f"{_READ} order {{ $a.x $a.y }}", f"{_READ} order {{ $a.x desc y }}")
    ),
    Mistake("order keys stand in braces, as in  order { $x.p desc }", (f"{_READ} order $a", f"{_READ} order by")),
    Mistake("returned columns stand in braces, as in  return { $x.p }", ("match { $a: A } return $a",)),
    Mistake("functions are written in lower case", ("match { $a: A } return { COUNT($a) }", f"{_READ} order {{ Sum(")),
    Mistake("rows are counted by a variable, as in  count($x)", ("match { $a: A } return { count(*) }",)),
    Mistake("values are not computed with", ("match { $a.x + 1 > 2 }", "match { $a.x - 1 > 2 }", "match { $a.x * 2 }")),
    Mistake("a body either reads or writes", (f"{_READ} insert", f"{_READ} limit 3 delete", "insert A { x: 1 } match")),
)

_QUERY_MISTAKES: Final = (
    Mistake("a query has a name: lower-case letter or '_' first", ("query (", "query Q(", "query {")),
    Mistake("a query has a parameter list, () when it is empty", ("query q {", "query q @description")),
    Mistake("parameters start with a $, as in  $x: String", ("query q(x: String)", "query q($x: String, y")),
    Mistake("a parameter has a type, as in  $x: String", ("query q($x)", "query q($x, $y)", "query q($x String")),
    Mistake("parameter types start with an upper-case letter", ("query q($x: string)", "query q($x: [string]")),
    Mistake('notes stand before the body, and say a string, as in  @description("…")', ("query q() @description {",)),
    Mistake("a query has a body: a match with a return, or writes", ("query q() { }", "query q() { return")),
    Mistake(
        "queries in a file have a name, as in  query q() { … }",
        ("match {", "insert A", "update A", "delete A", "query q() { delete A where x = 1 } match"),
    ),
)

UNIT: Final = Language(
    "gq",
    start="unit",
    terminals=_TERMINALS,
    lexer=lexer,
    mistakes=(
        *_QUERY_MISTAKES,
        *(
            Mistake(m.message, tuple(f"query q() {{ {e} }}" for e in m.examples), m.hint, m.any_token)
            for m in _BODY_MISTAKES
        ),
    ),
)
BODY: Final = Language("gq", start="body", terminals=_TERMINALS, mistakes=_BODY_MISTAKES, lexer=lexer)

# What people bring along from elsewhere, whatever the place: message and hint.
_ELSEWHERE: Final[dict[str, tuple[str, str | None]]] = {
    ";": ("nothing is ended by a semicolon, remove it", None),
    "&": ("conditions that all hold are just written one after the other", "each clause of a match has to hold"),
    "and": ("conditions that all hold are just written one after the other", "each clause of a match has to hold"),
    "|": ("there is no 'or' between conditions", "ask twice, or use a list with contains"),
    "or": ("there is no 'or' between conditions", "ask twice, or use a list with contains"),
    "!": ("absence is written  not { … }  and inequality  !=", None),
    "select": ("columns come last, in  return { … }", "this language has no select"),
    "where": ("conditions stand inside  match { … }", "where belongs to update and delete"),
    "from": ("where rows come from is said in  match { $x: Type }", None),
    "into": ("a row is written  insert Type { property: value }", None),
    "like": ("texts are compared with  contains  and  starts_with", None),
    "in": ("membership is written  $x.list contains value", None),
    "by": ("order has no 'by': it is written  order { $x.p desc }", None),
    "group": ("columns that are not aggregated are the groups, there is no 'group by'", None),
    "having": ("groups are not filtered; filter rows in match", None),
    "distinct": ("there is no 'distinct'", "a column next to an aggregate makes groups"),
    "offset": ("there is no 'offset'", "go on after the last key you saw, as in  $x.p > $last"),
    "values": ("a row is written  insert Type { property: value }", None),
    "-": ("values are not computed with", None),
    "+": ("values are not computed with", None),
    "*": ("values are not computed with, and columns are named one by one", None),
    "$": ("a variable is '$' and a lower-case letter or '_'", None),
    "@": ("a note is '@' and a word, as in  @description(\"…\")", None),
    "->": ("an edge is written by its word, as in  $x knows $y", None),
    "<-": ("an edge is written by its word, as in  $x knows $y", None),
}
_BETWEEN_CONDITIONS: Final = ("&", "and", "|", "or")
_KEYWORD: Final = re.compile(
    r"(query|match|return|order|limit|not|as|asc|desc|insert|update|delete|set|where|is|null|true|false|contains|"
    r"starts_with)"
)
_RUN_ON: Final = re.compile(r"(limit|order|return|match|query)([0-9]\w*)")


_OF_CYPHER: Final = re.compile(r"match[ \t\r\n]*\(", re.IGNORECASE)
_AS_HERE: Final = (
    "as in  match { $a: Type  $a edge $b } return { $b.x }  or, in SQL,"
    "  SELECT * FROM GRAPH_TABLE (MATCH (a:Type)-[:Edge]->(b:Type) COLUMNS (b.x))"
)
_WORD_BEFORE: Final = re.compile(r"(?<![A-Za-z0-9_$.])([a-z]+)[ \t\r\n]*\Z")
_LOOK_BACK_CHARACTERS: Final = 80


def friendlier(error: ParseError, source: Source) -> ParseError:
    """`error`, unless what stands at its place, or right before, is known to come from another language."""
    if not error.expected:
        return error  # it has words of its own already
    at, found = error.at, source.text[error.at.start : error.at.end]
    for piece in (source.text[at.start : at.start + 2], found.casefold()):
        if piece in _ELSEWHERE:
            return _from_elsewhere(piece, Span(at.start, max(at.end, at.start + 1)), error, source)
    # A word where a value can stand is taken for the alias of a column, so the trouble only shows after it.
    first = max(0, at.start - _LOOK_BACK_CHARACTERS)
    before = _WORD_BEFORE.search(source.text[first : at.start])
    if before is not None and before[1] in _ELSEWHERE:
        return _from_elsewhere(before[1], Span(first + before.start(1), first + before.end(1)), error, source)
    word = at.start if before is None else first + before.start(1)
    if _OF_CYPHER.match(source.text, at.start) or _OF_CYPHER.match(source.text, word):
        return ParseError("a match stands in braces, and a pattern has no parentheses", at=at, hint=_AS_HERE)
    if found != found.lower() and _KEYWORD.fullmatch(found.lower()):
        message = f"words of the language are written in lower case, '{found}' is not"
        return ParseError(message, at=at, expected=error.expected, suggestion=found.lower())
    if (run_on := _RUN_ON.fullmatch(found)) is not None:
        return ParseError(error.message, at=at, expected=error.expected, suggestion=f"{run_on[1]} {run_on[2]}")
    return error


def _from_elsewhere(piece: str, span: Span, error: ParseError, source: Source) -> ParseError:
    message, hint = _ELSEWHERE[piece]
    if piece in _BETWEEN_CONDITIONS and source.text.rfind("where", 0, span.start) > source.text.rfind(
        "match", 0, span.start
    ):
        message, hint = "a write has one test and no more", "find the rows with a read first, then write them by key"
    return ParseError(message, at=source.locate(span), hint=hint, expected=error.expected)
