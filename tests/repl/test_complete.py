"""Suggestions, as a function of text, cursor and schema. In the texts `|` is the cursor."""

from dataclasses import replace
from time import perf_counter

import pytest

from omnigraph_sql.repl.commands import COMMANDS
from omnigraph_sql.repl.complete import Suggestion, asks_for_help, complete
from omnigraph_sql.repl.knowledge import Knowledge
from tests.repl.worlds import COMMIT, knowledge, many_types


def asked(text: str, of: Knowledge | None = None) -> list[Suggestion]:
    before, _, after = text.partition("|")
    return complete(before + after, len(before), of or knowledge(), files=lambda typed: [f"{typed}x.csv"])


def texts(text: str) -> list[str]:
    return [suggestion.text for suggestion in asked(text)]


def applied(text: str, suggestion: Suggestion) -> str:
    before, _, after = text.partition("|")
    return before[: suggestion.start] + suggestion.text + after


FIRST = [
    # tables
    ("SELECT * FROM |", ["Airport", "Carrier", '"Order"', "Route", "Hub", "_", "omni.commits"]),
    ("SELECT * FROM Air|", ["Airport"]),
    ("select * from air|", ["Airport"]),
    ("INSERT INTO ro|", ["Route"]),
    ("DELETE FROM H|", ["Hub"]),
    ("UPDATE c|", ["Carrier"]),
    ("DESCRIBE ca|", ["Carrier"]),
    ("SELECT * FROM Airport a, C|", ["Carrier"]),
    ("WITH far AS (SELECT code, miles AS m FROM Route) SELECT * FROM f|", ["far"]),
    ("SELECT 1; SELECT * FROM Car|", ["Carrier"]),
    ("SELECT * FROM omni.|", ["commits"]),
    # tables that an edge connects come first
    ("SELECT * FROM Carrier c JOIN |", ["Hub", "Airport"]),
    ("SELECT * FROM Carrier c JOIN Hub h ON h.src = c.id JOIN |", ["Airport", "Carrier"]),
    # columns
    ("SELECT a.| FROM Airport a", ["id", "code", "city", "elevation"]),
    ("SELECT a.c| FROM Airport a", ["code", "city"]),
    ("SELECT Airport.el| FROM Airport", ["elevation"]),
    ("SELECT x.| FROM (SELECT code, count(*) AS n FROM Airport) x", ["code", "n"]),
    ("WITH f AS (SELECT code, miles AS m FROM Route) SELECT f.| FROM f", ["code", "m"]),
    ("SELECT g.| FROM GRAPH_TABLE (MATCH (a:Airport) COLUMNS (a.code, a.city AS town)) g", ["code", "town"]),
    ("SELECT c.| FROM omni.commits c", ["id", "actor"]),
    ('SELECT * FROM "review/x".Airport a WHERE a.ci|', ["city"]),
    ("SELECT _.| FROM _", ["n"]),
    ("SELECT * FROM Airport WHERE el|", ["elevation"]),
    ("SELECT * FROM Airport a WHERE a.code IN (SELECT r.| FROM Route r)", ["id", "src", "dst", "miles"]),
    ("INSERT INTO Airport (code, |", ["city", "elevation"]),
    ("INSERT INTO Route (|", ["src", "dst", "miles"]),
    ("UPDATE Airport SET |", ["code =", "city =", "elevation ="]),
    # joins along edges
    ("SELECT * FROM Airport p JOIN Route k ON |", ["k.src = p.id", "k.dst = p.id"]),
    ("SELECT * FROM Airport a JOIN Route r ON r.src = a.id JOIN Airport b ON |", ["r.dst = b.id", "r.src = b.id"]),
    ("SELECT * FROM Carrier c JOIN Hub h ON |", ["h.src = c.id"]),
    ("SELECT * FROM Carrier c JOIN Hub h ON h.|", ["src = c.id"]),
    ("SELECT * FROM Hub h JOIN Carrier c ON c.|", ["id = h.src"]),
    ("SELECT * FROM Hub h JOIN Route r ON |", ["r.src = h.dst", "r.dst = h.dst"]),
    # graph patterns
    ("SELECT * FROM GRAPH_TABLE (MATCH (|", ["a:Airport", "c:Carrier"]),
    ("SELECT * FROM GRAPH_TABLE (MATCH (x:|", ["Airport", "Carrier", '"Order"']),
    ("SELECT * FROM GRAPH_TABLE (MATCH (x IS c|", ["Carrier"]),
    ("SELECT * FROM GRAPH_TABLE (MATCH (a:Airport)-[|", ["r:Route"]),
    ("SELECT * FROM GRAPH_TABLE (MATCH (c:Carrier)-[h:|", ["Hub"]),
    ("SELECT * FROM GRAPH_TABLE (MATCH (a:Airport)<-[|", ["r:Route", "h:Hub"]),
    ("SELECT * FROM GRAPH_TABLE (MATCH (c:Carrier)-[h:Hub]->(|", ["a:Airport"]),
    ("SELECT * FROM GRAPH_TABLE (MATCH (a:Airport)-[r:Route]->(b:Airport) COLUMNS (r.|", ["id", "src", "dst", "miles"]),
    ("SELECT * FROM GRAPH_TABLE (MATCH (a:Airport) WHERE |", ["a"]),
    # history
    ("SELECT * FROM Airport VERSION AS OF |", ["'main'", "'review/x'", f"'{COMMIT}'"]),
    ("SELECT * FROM Airport VERSION AS OF 're|", ["'review/x'"]),
    ("SELECT * FROM Airport AT (BRANCH => |", ["'main'", "'review/x'"]),
    ("USE BRANCH |", ["main", '"review/x"']),
    # the rest of SQL
    ("SEL|", ["SELECT"]),
    ("CREATE N|", ["NODE TABLE"]),
    ("SHOW B|", ["BRANCHES"]),
    ("SELECT coal|", ["coalesce("]),
    ("SELECT * FROM Airport WHERE code = $|", ["$code", "$since"]),
    ("COPY Airport TO 'out/|", ["out/x.csv"]),
    # .gq
    ("ma|", []),
    ("match { $a: |", ["Airport", "Carrier", "Order"]),
    ("match { $c: Carrier  $c |", ["hub"]),
    ("match { $a: Airport  $a |", ["route", "hub"]),
    ("match { $a: Airport { |", ["code: ", "city: ", "elevation: "]),
    ("match { $a: Airport  $a route $b } return { $b.|", ["code", "city", "elevation"]),
    ("match { $a: Airport  $c hub $a } return { $c.|", ["iata", "name"]),
    ("match { $a: Airport  $a route{1,3} $b } return { $b.ci|", ["city"]),
    ("match { $c: Carrier  $c $h:hub $a } return { $h.|", ["since"]),
    ("match { $a: Airport } |", ["return"]),
    ("match { $a: Airport } return { $|", ["$a", "$code", "$since"]),
    ("query q($x: |", ["String", "Bool"]),
    ("query q($x: String) { |", ["match", "insert", "update", "delete", "$x"]),
    ("insert |", []),
    ("insert Hub { |", ["from: ", "to: ", "since: "]),
    ("delete Route where |", ["miles"]),
    ("update Airport set { ci|", ["city: "]),
    # commands
    ("\\di|", ["di"]),
    ("\\d Ca|", ["Carrier"]),
    ("\\checkout |", ["main", "review/x", f"@{COMMIT}"]),
    ("\\T c|", ["csv"]),
    ("\\x |", ["on", "off", "auto"]),
    ("\\i fol|", ["folx.csv"]),
    ("\\n |", ["reach"]),
    ("\\config t|", ["timing", "theme"]),
    ("\\set c|", ["code"]),
    ("\\explain SELECT * FROM Ca|", ["Carrier"]),
    ("\\gq match { $a: C|", ["Carrier"]),
    ("\\sql SELECT a.e| FROM Airport a", ["elevation"]),
]
"""A text, and the suggestions it begins with."""


@pytest.mark.parametrize(("text", "expected"), FIRST)
def test_the_first_suggestions_are_these(text: str, expected: list[str]) -> None:
    assert texts(text)[: len(expected)] == expected


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 'Air|",
        "SELECT 1 -- Air|",
        "SELECT /* Air|",
        'match { $a: Airport { code: "Air|',
        "SELECT 12|",
        "\\nix |",
    ],
)
def test_nothing_is_suggested_where_nothing_can_be_known(text: str) -> None:
    assert texts(text) == []


def test_an_edge_is_offered_only_where_its_end_fits() -> None:
    assert texts("SELECT * FROM GRAPH_TABLE (MATCH (c:Carrier)-[") == ["h:Hub"]
    assert texts("match { $o: Order  $o |") == []


def test_types_are_told_beside_columns() -> None:
    assert {s.text: s.meta for s in asked("SELECT a.| FROM Airport a")} == {
        "id": "String",
        "code": "String",
        "city": "String",
        "elevation": "I32?",
    }


def test_a_suggestion_replaces_what_was_typed_of_the_word() -> None:
    for text, expected in [
        ("SELECT * FROM air| a", "SELECT * FROM Airport a"),
        (
            "SELECT * FROM Airport p JOIN Route k ON k| WHERE 1=1",
            "SELECT * FROM Airport p JOIN Route k ON k.src = p.id WHERE 1=1",
        ),
        ("SELECT * FROM Airport VERSION AS OF 'mai|", "SELECT * FROM Airport VERSION AS OF 'main'"),
        ("\\ti| on", "\\timing on"),
    ]:
        assert applied(text, asked(text)[0]) == expected


def test_a_part_of_a_name_is_enough_when_nothing_begins_with_it() -> None:
    assert texts("SELECT a.vat| FROM Airport a") == ["elevation"]


def test_every_command_and_every_other_name_of_one_is_suggested() -> None:
    assert set(texts("\\|")) == {name for command in COMMANDS for name in command.names}


@pytest.mark.parametrize("text", [text for text, _ in FIRST])
def test_no_prefix_of_a_text_and_no_cursor_breaks_completion(text: str) -> None:
    whole, known = text.replace("|", ""), knowledge()
    for cursor in range(len(whole) + 1):
        for suggestion in complete(whole[:cursor], cursor, known) + complete(whole, cursor, known):
            assert 0 <= suggestion.start <= cursor


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("SELECT * FROM |", True),
        ("SELECT * FROM A JOIN B b ON |", True),
        ("SEL|", True),
        ("SELECT a.|", True),
        ("match { $a: |", True),
        ("match { $a: A  $a |", True),
        ("\\|", True),
        ("\\d |", True),
        ("|", False),
        ("SELECT |", False),
        ("SELECT a,|", False),
        ("SELECT 1;|", False),
        ("SELECT 1\n|", False),
    ],
)
def test_suggestions_come_unasked_only_where_they_help(text: str, shown: bool) -> None:
    before = text.partition("|")[0]
    assert asks_for_help(before, len(before)) is shown


SPEED_SECONDS = 0.15
"""Five times the ceiling: test machines are busy. bench/shell.py measures against the ceiling itself."""


def test_completion_is_quick_with_two_hundred_types() -> None:
    known = replace(knowledge(), catalog=many_types(200))
    for text in ("SELECT * FROM |", "SELECT * FROM Type7 t JOIN Link7 k ON |", "SELECT | FROM Type3", "match { $a: |"):
        asked(text, known)
        before = perf_counter()
        assert asked(text, known)
        assert perf_counter() - before < SPEED_SECONDS
