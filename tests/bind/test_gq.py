"""Binding `.gq` beside its text cases: literals in the type of their column, order of clauses, and random queries."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import Catalog
from omnigraph_sql.base.errors import BoundaryViolation, LanguageError, TextLimitExceeded, TypeMismatch, UnknownName
from omnigraph_sql.base.expr import NOW, Aggregate, Call, Column, Compare, Expr, Literal, Param, TextMatch
from omnigraph_sql.base.types import DATETIME, F32, F64, I32, I64, STRING, U32, U64, DataType, ListType, VectorType
from omnigraph_sql.bind.bound import BoundPattern, BoundProgram, BoundQuery, BoundSelect, BoundUnit, BoundUpdate
from omnigraph_sql.bind.gq import GqOptions, bind_query
from omnigraph_sql.bind.parameters import bind_parameters
from omnigraph_sql.grammar.ast import gq as ast
from omnigraph_sql.grammar.gq import parse_any, parse_unit
from omnigraph_sql.grammar.source import Span
from tests.case_files import airport_catalog
from tests.gq_cases import bound_text, catalog_of, expected_error, gq_cases
from tests.strategies_gq import careful_queries, queries

NUMBERS = "node N { a: I32 b: I64 c: U32 d: U64 e: F32 f: F64 l: [F32]? s: String }"


def bound(text: str, catalog: Catalog | None = None, options: GqOptions | None = None) -> BoundProgram:
    (query,) = parse_any(text).queries
    return bind_query(query, catalog or airport_catalog(), options or GqOptions())


def pattern_of(program: BoundProgram) -> BoundPattern:
    assert isinstance(program.statement, BoundQuery)
    assert isinstance(program.statement.body, BoundSelect)
    assert isinstance(program.statement.body.source, BoundPattern)
    return program.statement.body.source


def predicate(clause: str, schema: str = NUMBERS) -> Expr:
    (found,) = pattern_of(bound(f"match {{ $n: N  {clause} }} return {{ $n }}", catalog_of(schema))).predicates
    return found


# ---- the catalogue of errors ------------------------------------------------------------------------------------


def test_every_code_of_the_catalogue_has_a_case() -> None:
    found = {expected_error(case.only("error")).code for _, case in gq_cases("error")}
    assert found >= {f"T{number}" for number in range(26)} | {"D2", "parse"}
    assert "T26" not in found


def test_the_class_of_an_error_tells_unknown_from_unfit() -> None:
    with pytest.raises(UnknownName):
        bound("match { $a: Plane } return { $a }")
    with pytest.raises(TypeMismatch):
        bound("match { $a: Airport { city: 3 } } return { $a }")
    with pytest.raises(BoundaryViolation):
        bound('insert Plane { a: 1 } delete Plane where a = "x"')


def test_a_statement_that_assigns_nothing_is_refused_by_the_binder_too() -> None:
    (query,) = parse_unit("query q() { insert Hub { from: 1 } }").queries
    assert isinstance(query.body, ast.WriteBody)
    (insert,) = query.body.statements
    assert isinstance(insert, ast.Insert)
    empty = replace(query, body=replace(query.body, statements=(replace(insert, assignments=()),)))
    with pytest.raises(TypeMismatch) as caught:
        bind_query(empty, airport_catalog())
    assert caught.value.code == "T10"


def test_a_fusion_of_other_things_is_refused_by_the_binder_too() -> None:
    fused = 'order { rrf(bm25($a.blurb, "x"), bm25($a.city, "x")) } limit 1'
    (query,) = parse_unit(f"query q() {{ match {{ $a: Airport }} return {{ $a }} {fused} }}").queries
    assert isinstance(query.body, ast.ReadBody)
    (term,) = query.body.order
    assert isinstance(term.value, ast.Fuse)
    first, _ = term.value.rankers
    word = ast.StringLit("x", Span(0, 1))
    for rankers in ((first,), (first, word)):
        other = replace(term.value, rankers=rankers)  # type: ignore[arg-type]
        order = (replace(term, value=other),)
        with pytest.raises(TypeMismatch) as caught:
            bind_query(replace(query, body=replace(query.body, order=order)), airport_catalog())
        assert caught.value.code == "T21"


def test_extensions_in_a_tree_are_refused_by_the_binder_too() -> None:
    strict = GqOptions(extensions=False)
    for text in (
        "match { $a: Airport { elevation: -1 } } return { $a }",
        "match { $a: Airport  $a.elevation > -0.5 } return { $a }",
        "match { $a: Airport  $a.opened is null } return { $a }",
        "match { $a: Airport } return { $a } limit $n",
        'update Airport set { blurb: null } where code = "x"',
        "delete Airport where opened is null",
    ):
        bound(text)
        with pytest.raises(TypeMismatch, match="an extension of the language") as caught:
            bound(text, options=strict)
        assert caught.value.code == "T0"


# ---- literals meet columns --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "written", "value", "of"),
    [
        ("a", "5", 5, I32),
        ("a", "5.0", 5, I32),
        ("a", "5.5", 5.5, F64),
        ("a", "2147483647", 2**31 - 1, I32),
        ("a", "2147483648", 2**31, I64),
        ("a", "-2147483648", -(2**31), I32),
        ("a", "-2147483649", -(2**31) - 1, I64),
        ("a", "3000000000.0", 3e9, F64),
        ("b", "5.0", 5, I64),
        ("b", "9223372036854775807", 2**63 - 1, I64),
        ("c", "4294967295", 2**32 - 1, U32),
        ("c", "4294967296", 2**32, I64),
        ("c", "-1", -1, I64),
        ("d", "7", 7, U64),
        ("d", "-1", -1, I64),
        ("e", "0.5", 0.5, F32),
        ("e", "0.1", 0.10000000149011612, F32),
        ("e", "3", 3.0, F32),
        ("e", "16777217", 16777217.0, F64),
        ("e", "400000000000000000000000000000000000000.0", 4e38, F64),
        ("f", "0.1", 0.1, F64),
        ("f", "3", 3.0, F64),
        ("f", "9007199254740993", 9007199254740993, I64),
    ],
)
def test_a_literal_takes_the_type_of_its_column_when_nothing_is_lost(
    column: str, written: str, value: object, of: DataType
) -> None:
    for clause, side in (
        (f"$n.{column} = {written}", "right"),
        (f"{written} <= $n.{column}", "left"),
        (f"$n: N {{ {column}: {written} }}", "right"),
    ):
        made = predicate(clause)
        assert isinstance(made, Compare)
        assert getattr(made, side) == Literal(value, of)  # type: ignore[arg-type]
        assert type(getattr(made, side).value) is type(value)


def test_an_element_takes_the_type_of_the_list() -> None:
    for clause in ("$n.l contains 0.1", "$n: N { l: 0.1 }"):
        made = predicate(clause)
        assert isinstance(made, Call)
        assert made.arguments[1] == Literal(0.10000000149011612, F32)


@pytest.mark.parametrize(
    ("written", "value", "of"),
    [
        ("[]", (), ListType(STRING)),
        ("[1, 2]", (1, 2), ListType(I64)),
        ("[1, 2.5]", (1.0, 2.5), ListType(F64)),
        ('["a"]', ("a",), ListType(STRING)),
    ],
)
def test_a_list_literal_has_the_common_type_of_its_elements(written: str, value: object, of: DataType) -> None:
    made = predicate(f"{written} contains $n.{'s' if of == ListType(STRING) else 'a'}")
    assert isinstance(made, Call)
    assert made.arguments[0] == Literal(value, of)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("column", "written", "value"),
    [
        ("a", "5.0", 5),
        ("b", "5", 5),
        ("c", "4294967295", 2**32 - 1),
        ("d", "9223372036854775807", 2**63 - 1),
        ("e", "0.1", 0.10000000149011612),
        ("e", "16777217", 16777216.0),
        ("f", "3", 3.0),
        ("l", "[1, 0.5]", (1.0, 0.5)),
        ("l", "[]", ()),
        ("l", "null", None),
    ],
)
def test_an_assigned_literal_has_exactly_the_type_of_its_column(column: str, written: str, value: object) -> None:
    catalog = catalog_of(NUMBERS)
    program = bound(f'update N set {{ {column}: {written} }} where s = "x"', catalog)
    assert isinstance(program.statement, BoundUnit)
    (update,) = program.statement.mutations
    node = catalog.node("N")
    assert node is not None
    declared = node.property(column)
    assert declared is not None
    assert isinstance(update, BoundUpdate)
    assert update.assignments[0].value == Literal(value, declared.type)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("column", "written"),
    [("a", "2147483648"), ("c", "-1"), ("d", "-1"), ("a", "0.5"), ("e", f"4{'0' * 38}.0"), ("l", '["x"]'), ("s", "1")],
)
def test_a_literal_that_its_column_cannot_hold_is_refused(column: str, written: str) -> None:
    with pytest.raises(TypeMismatch) as caught:
        bound(f'update N set {{ {column}: {written} }} where s = "x"', catalog_of(NUMBERS))
    assert caught.value.code == "T3"
    assert f"N.{column}" in caught.value.message


# ---- single facts -----------------------------------------------------------------------------------------------


def test_now_is_one_reserved_parameter_that_nobody_hands_over() -> None:
    program = bound("query q() { match { $c: Carrier  $c.updated < now() } return { now() } }")
    assert program.parameters == ()
    (test,) = pattern_of(program).predicates
    assert isinstance(test, Compare)
    assert test.right is NOW
    assert NOW.type == DATETIME


def test_a_text_predicate_alone_is_the_predicate_itself() -> None:
    texts = ['search($a.blurb, "x")', 'search($a.blurb, "x") = true']
    made = [pattern_of(bound(f"match {{ $a: Airport  {text} }} return {{ $a }}")).predicates for text in texts]
    assert made[0] == made[1]
    assert isinstance(made[0][0], TextMatch)


def test_a_field_test_and_a_filter_are_the_same_predicate() -> None:
    pairs = [
        ('{ city: "Lima" }', '$a.city = "Lima"'),
        ("{ elevation: 3.0 }", "$a.elevation = 3.0"),
        ('{ tags: "x" }', '$a.tags contains "x"'),
        ("{ code: $p }", "$a.code = $p"),
    ]
    for test, clause in pairs:
        one = pattern_of(bound(f"match {{ $a: Airport {test} }} return {{ $a }}"))
        other = pattern_of(bound(f"match {{ $a: Airport  {clause} }} return {{ $a }}"))
        assert one == other


def test_declared_parameters_keep_their_order_and_their_types() -> None:
    program = bound("query q($b: [I64]?, $a: Vector(3), $c: U32) { match { $x: Airport } return { $x } }")
    assert program.parameters == (
        Param("b", ListType(I64), True),
        Param("a", VectorType(3), False),
        Param("c", U32, False),
    )
    assert program.name == "q"


def test_the_schema_of_the_result_is_that_of_the_items() -> None:
    program = bound('query q() { match { $a: Airport } return { $a.elevation, $a.pos, $a.tags as t, "x" } }')
    assert isinstance(program.statement, BoundQuery)
    fields = [(f.name, f.type, f.nullable) for f in program.statement.schema.fields]
    assert fields == [
        ("a.elevation", I32, True),
        ("a.pos", VectorType(4), True),
        ("t", ListType(STRING), True),
        ("literal", STRING, False),
    ]


def test_undeclared_values_are_inferred_when_the_switch_is_off() -> None:
    assert GqOptions().strict_params
    options = GqOptions(strict_params=False)
    program = bound("query q($c: String) { match { $a: Airport { code: $c } } return { $a } }", options=options)
    given_values = {"c": "LIM", "more": 3}
    found = bind_parameters(program.parameters, given_values, lenient=not options.strict_params)
    assert found == given_values
    with pytest.raises(LanguageError, match="neither bound in match nor a declared parameter"):
        bound("query q() { match { $a: Airport { code: $c } } return { $a } }", options=options)


def test_blocks_at_the_ceiling_of_nesting_are_bound() -> None:
    blocks = limits.NESTING_LEVELS_MAX - 2
    opened = "".join(f"not {{ $n{i} route $n{i + 1} " for i in range(blocks))
    program = bound(f"query q() {{ match {{ $n0: Airport {opened}{'}' * blocks} }} return {{ $n0 }} }}")
    pattern, depth = pattern_of(program), 0
    while pattern.absences:
        (pattern,), depth = pattern.absences, depth + 1
    assert depth == blocks


def test_a_chain_of_as_many_steps_as_are_allowed_is_bound() -> None:
    most = limits.JOINS_MAX
    steps = " ".join(f"$n{i} hub $n{i + 1}" for i in range(most))
    assert len(pattern_of(bound(f"match {{ {steps} }} return {{ $n0 }}")).edges) == most
    with pytest.raises(TextLimitExceeded):
        bound(f"match {{ {steps} $n{most} hub $n{most + 1} }} return {{ $n0 }}")


# ---- random queries ---------------------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(careful_queries())
def test_a_careful_query_is_bound(text: str) -> None:
    program = bound(text)
    assert bound_text(program)
    if isinstance(program.statement, BoundQuery):
        names = [field.name for field in program.statement.schema.fields]
        assert len(set(names)) == len(names)
        _assert_order_is_total(program.statement)


def _assert_order_is_total(query: BoundQuery) -> None:
    assert isinstance(query.body, BoundSelect)
    assert isinstance(query.body.source, BoundPattern)
    sorted_by = [key.expr for key in query.order]
    assert bool(sorted_by) or query.limit is None or not _ties(query.body)
    if sorted_by:
        assert set(_ties(query.body)) <= {expr.name for expr in sorted_by if isinstance(expr, Column)}


def _ties(select: BoundSelect) -> list[str]:
    """Columns that tell two rows of the result apart."""
    if select.group is not None:
        return [key.name for key in select.group.keys if isinstance(key, Column)]
    if any(isinstance(item.expr, Aggregate) for item in select.items):
        return []
    pattern = select.source
    assert isinstance(pattern, BoundPattern)
    edges = [edge.variable for edge in pattern.edges if edge.variable is not None]
    return [f"{variable}.id" for variable in [*(node.variable for node in pattern.nodes), *edges]]


@settings(max_examples=500, deadline=None)
@given(queries())
def test_any_query_is_bound_or_refused_with_a_code_and_a_place(text: str) -> None:
    error: LanguageError | None = None
    try:
        bound(text)
    except LanguageError as caught:
        error = caught
    if error is not None:
        assert re.fullmatch(r"T([0-9]|1[0-9]|2[0-5])|D2|parse", error.code), error.code
        assert 0 <= error.at.start <= error.at.end <= len(text)


def unordered(pattern: BoundPattern) -> object:
    """A pattern without the order its clauses were written in."""
    return (
        frozenset((node.variable, node.type.name) for node in pattern.nodes),
        frozenset((e.type.name, e.source, e.target, e.walk, e.hops, e.undirected, e.variable) for e in pattern.edges),
        frozenset(repr(test) for test in pattern.predicates),
        frozenset(unordered(absence) for absence in pattern.absences),
        frozenset(node.variable for node in pattern.outer),
    )


@settings(max_examples=150, deadline=None)
@given(careful_queries(), st.randoms(use_true_random=False))
def test_the_order_of_clauses_leaves_no_trace(text: str, random: Random) -> None:
    (query,) = parse_unit(text).queries
    if not isinstance(query.body, ast.ReadBody) or "$_" in text:
        return
    clauses = list(query.body.clauses)
    random.shuffle(clauses)
    shuffled = replace(query, body=replace(query.body, clauses=tuple(clauses)))
    one, other = (bind_query(q, airport_catalog()) for q in (query, shuffled))
    assert unordered(pattern_of(one)) == unordered(pattern_of(other))
    assert isinstance(one.statement, BoundQuery)
    assert isinstance(other.statement, BoundQuery)
    assert one.statement.order == other.statement.order
    assert one.statement.schema == other.statement.schema
