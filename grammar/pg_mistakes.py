"""Wrong schema texts people write, and what to tell them; and what the terminals of the grammar are called."""

from __future__ import annotations

from typing import Final

from omnigraph_sql.grammar.lark_errors import Language, Mistake

_TERMINALS: Final = {
    "TYPE": "a type name",
    "NAME": "a name",
    "QUOTED": "",
    "LABEL": "a label",
    "STRING": 'a string like "…"',
    "FLOAT": "",
    "INT": "a number",
    "MINUS": "",
    "NOTE": "a note like @description(…)",
    "KEY": "@key(…)",
    "UNIQUE": "@unique(…)",
    "INDEX": "@index(…)",
    "RANGE": "@range(…)",
    "CHECK": "@check(…)",
    "CARD": "@card(…)",
    "__ANON_0": "'->'",
    "__ANON_1": "'..'",
}

_IN_BODY: Final = "node A { x: I32"

_SEPARATORS: Final = (
    Mistake(
        "declarations are separated by blanks, remove the comma",
        (
            f"{_IN_BODY}, y: I32 }}",
            "node A { x: I32?, y: I32 }",
            "node A { x: [I32], y: I32 }",
            "node A { x: enum(a), y: I32 }",
            "node A { x: Vector(2), y: I32 }",
            "node A { x: I32 @key, y: I32 }",
            'node A { x: I32 @n("x"), y: I32 }',
            "node A { @key(x), y: I32 }",
            "node A { @range(x, 1..), y: I32 }",
            'node A { @check(x, "a"), y: I32 }',
            "node A {}, node B {}",
            "interface A { x: I32, y: I32 }",
            "edge A: B -> C,",
            "edge A: B -> C @card(0..1),",
        ),
    ),
    Mistake(
        "declarations are separated by blanks, remove the semicolon",
        (
            f"{_IN_BODY}; y: I32 }}",
            "node A { x: I32?; y: I32 }",
            "node A { x: [I32]; y: I32 }",
            "node A { x: enum(a); y: I32 }",
            "node A { x: Vector(2); y: I32 }",
            "node A { x: I32 @key; y: I32 }",
            'node A { x: I32 @n("x"); y: I32 }',
            "node A { @key(x); y: I32 }",
            "node A {};",
            "edge A: B -> C;",
            "edge A: B -> C @card(0..1);",
            "node A {;",
        ),
    ),
)

_DECLARATIONS: Final = (
    Mistake(
        "there is no enum declaration: an enum is written in place, as in  kind: enum(a, b)",
        ("enum Kind { a, b }", "enum kind", "node A {} enum Kind", "edge A: B -> C enum Kind"),
    ),
    Mistake(
        "type names start with an upper-case letter, {found} does not",
        ("node person {", "edge knows: A -> B", "interface named {", "edge A: b -> C", "edge A: B -> c"),
    ),
    Mistake(
        "type names start with an upper-case letter", ("node A implements named {", "node A implements B, named {")
    ),
    Mistake(
        "property names start with a lower-case letter or '_', {found} does not",
        ("node A { Name: String }", "interface A { Name: String }", "node A { x: I32 @key Name: I32 }"),
        hint="a closing '}' may be missing if a new declaration was meant",
    ),
    Mistake(
        "a property is written  name: Type",
        ("node A { name String }", "node A { node B {", "node A { name }", "interface A { x I32 }", "node A { x = 1 }"),
        hint="a closing '}' may be missing if a new declaration was meant",
    ),
    Mistake(
        "an edge says which nodes it joins:  edge Name: Source -> Target",
        ("edge A {", "edge A { x: I32 }", "edge A B", "edge A -> B", "edge A: B {", "edge A: B, C", "edge A: B - C"),
    ),
    Mistake(
        "a node has a body, {} when it is empty",
        (
            "node A",
            "node A node B {}",
            "node A edge B",
            "node A interface B",
            "node A @n node B {}",
            "node A implements B",
        ),
    ),
    Mistake("a node type has no ends, only edges do", ("node A: B",)),
    Mistake(
        "an interface takes no notes, put them on the types that implement it",
        ('interface A @description("x") {',),
    ),
    Mistake(
        "an interface holds properties only, put rules on the types that implement it",
        (
            "interface A { @key(x) }",
            "interface A { @unique(x) }",
            "interface A { @index(x) }",
            "interface A { @range(x, 1..) }",
            'interface A { @check(x, "a") }',
            "interface A { x: I32 @key(x) }",
            "interface A { x: I32 @unique(x) }",
            "interface A { x: I32 @index(x) }",
            "interface A { x: I32 @range(x, 1..) }",
            'interface A { x: I32 @check(x, "a") }',
        ),
    ),
    Mistake("an interface extends no other interface", ("interface A implements B {",)),
    Mistake("notes come before 'implements'", ("node A implements B @n {",)),
    Mistake(
        "a note stands behind a property or a header, not alone in a body",
        (
            "node A { @n }",
            "interface A { @n }",
            "node A { @key(x) @n }",
            "node A { @range(x, 1..) @n }",
            'node A { @check(x, "a") @n }',
        ),
    ),
)

_TYPES: Final = (
    Mistake(
        "types are written with an upper-case letter, as in  name: String",
        ("node A { x: string }", "node A { x: [string] }", "interface A { x: string }"),
        hint="String Bool I32 I64 U32 U64 F32 F64 Date DateTime Blob, [T], Vector(n), enum(a, b)",
    ),
    Mistake("enum labels are written without quotes", ('node A { x: enum("a") }', 'node A { x: enum(a, "b") }')),
    Mistake("an enum has at least one label", ("node A { x: enum() }",)),
    Mistake(
        "an enum writes its labels in parentheses, as in  enum(a, b)",
        ("node A { x: enum { a } }", "node A { x: enum }"),
    ),
    Mistake(
        "a list cannot hold enums, vectors or lists",
        ("node A { x: [enum(a)] }", "node A { x: [[I32]] }", "node A { x: [Vector(2)] }"),
    ),
    Mistake("list items may always be null; write [T] or, for a nullable list, [T]?", ("node A { x: [I32?] }",)),
    Mistake(
        "a property has no default value in its declaration; write @default(…)",
        ("node A { x: I32 = 1 }", "node A { x: I32? = 1 }"),
    ),
    Mistake("a list is written [T]", ("node A { x: List<String> }", "node A { x: String[] }")),
    Mistake(
        "a dimension is a whole number, as in  Vector(8)",
        ("node A { x: Vector(a) }", "node A { x: Vector(-1) }", "node A { x: Vector() }"),
    ),
)

_RULES: Final = (
    Mistake(
        "a rule stands in the body of its type, not in the header",
        (
            "node A @key(x) {",
            "node A @unique(x) {",
            "node A @index(x) {",
            "node A @range(x, 1..) {",
            'node A @check(x, "a") {',
            "node A @n @key(x) {",
            "edge A: B -> C @unique(x) {",
            "edge A: B -> C @key(x) {",
            "edge A: B -> C @index(x) {",
        ),
    ),
    Mistake(
        "rules list property names without quotes; behind a property, @key, @unique and @index take no argument",
        ('node A { x: I32 @unique("x") }', "node A { x: I32 @key() }", "node A { @key(1) }", 'node A { @key(a, "b") }'),
    ),
    Mistake(
        "a property name is expected",
        (
            'node A { @range("x", 1..2) }',
            'node A { @check("x", "y") }',
            "node A { @range(1..2) }",
            "node A { x: I32 @range(1..2) }",
            "node A { x: I32 @range(-1, 2) }",
        ),
        hint='write @range(property, low..high) or @check(property, "regular expression"), as a line of the body',
    ),
    Mistake("a rule names properties, which start with a lower-case letter or '_'", ("node A { @key(X) }",)),
    Mistake(
        "a range is written low..high, with one end left out when it is open",
        (
            "node A { @range(x, 1, 2) }",
            "node A { @range(x, 1) }",
            "node A { @range(x, ..) }",
            "node A { @range(x) }",
            'node A { @range(x, "a") }',
        ),
    ),
    Mistake(
        "a check takes a property and a regular expression in quotes",
        ("node A { @check(x) }", "node A { @check(x, y) }", "node A { @check(x, 1) }"),
    ),
    Mistake(
        "a cardinality is written @card(min..max) or @card(min..)",
        (
            "edge A: B -> C @card(1)",
            "edge A: B -> C @card(..1)",
            "edge A: B -> C @card(-1..2)",
            "edge A: B -> C @card()",
            "edge A: B -> C @card(1..x)",
            "edge A: B -> C @card(1,2)",
            "edge A: B -> C @card(0.5..1)",
        ),
    ),
    Mistake(
        "a cardinality stands in the header of an edge, right behind its ends",
        (
            "edge A: B -> C @n @card(0..1)",
            "edge A: B -> C { @card(0..1) }",
            "edge A: B -> C { x: I32 @card(0..1) }",
            "node A @card(0..1) {",
            "node A { x: I32 @card(0..1) }",
            "node A { x: I32 @n(1) @card(0..1) }",
            "edge A: B -> C @card(0..1) @card(0..1)",
        ),
    ),
)

_NOTES: Final = (
    Mistake("the first argument of a note has no name", ('node A @n(x="y") {', "node A { x: I32 @n(x=1) }")),
    Mistake(
        'further arguments of a note are named, as in  model="m"',
        ('node A @n("x", "y") {', "node A @n(1, 2) {", "node A @n(x, y) {"),
    ),
    Mistake("a note without arguments has no parentheses", ("node A @n() {", "node A { x: I32 @n() }")),
    Mistake(
        "note names start with a lower-case letter or '_'",
        ("node A @Note {", "node A { x: I32 @Note }", "edge A: B -> C @Note"),
    ),
)

PG: Final = Language(
    grammar="pg",
    terminals=_TERMINALS,
    mistakes=(*_SEPARATORS, *_DECLARATIONS, *_TYPES, *_RULES, *_NOTES),
)
