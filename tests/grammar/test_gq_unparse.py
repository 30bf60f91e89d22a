"""Canonical text of `.gq`: parsing it gives the tree back."""

from __future__ import annotations

from hypothesis import given, settings

from omnigraph_sql.grammar.gq import parse_any, parse_unit
from omnigraph_sql.grammar.unparse_gq import unparse_query, unparse_unit
from tests.gq_cases import gq_cases, tree_text
from tests.strategies_gq import units


def assert_round_trip(text: str) -> None:
    tree = parse_any(text)
    canonical = unparse_unit(tree)
    again = parse_any(canonical)
    assert [tree_text(query) for query in again.queries] == [tree_text(query) for query in tree.queries]
    assert unparse_unit(again) == canonical


@settings(max_examples=300, deadline=None)
@given(units())
def test_canonical_text_parses_to_the_same_tree(text: str) -> None:
    assert_round_trip(text)


def test_every_text_of_the_cases_comes_back() -> None:
    for _, case in [*gq_cases("tree"), *gq_cases("bound")]:
        assert_round_trip(case.only("gq"))


def test_the_layout_is_canonical() -> None:
    text = (
        'query q($p: String?,$v:Vector( 4 )) @instruction("i") @description("d\\n") {match{$a:A{x:$p,y:-1,} '
        "not{$a <e>{1,2} $b} $a $r:e $b search($a.t,$p)=true $a.z is not null}"
        "return{$a.x as n count($a)}order{n desc,$a.y asc}limit 3}\n"
        "query w() { update A set { x: null y: [1,2.50] } where z != now() }"
    )
    assert unparse_unit(parse_unit(text)) == (
        "query q($p: String?, $v: Vector(4))\n"
        '    @description("d\\n")\n'
        '    @instruction("i")\n'
        "{\n"
        "    match {\n"
        "        $a: A { x: $p, y: -1 }\n"
        "        not { $a <e>{1,2} $b }\n"
        "        $a $r:e $b\n"
        "        search($a.t, $p)\n"
        "        $a.z is not null\n"
        "    }\n"
        "    return { $a.x as n, count($a) }\n"
        "    order { n desc, $a.y }\n"
        "    limit 3\n"
        "}\n"
        "\n"
        "query w() {\n"
        "    update A set { x: null, y: [1, 2.50] } where z != now()\n"
        "}\n"
    )


def test_a_bare_body_stays_bare() -> None:
    query = parse_any("match { $a: A } return { $a } limit $n").queries[0]
    assert unparse_query(query) == "match {\n    $a: A\n}\nreturn { $a }\nlimit $n\n"
