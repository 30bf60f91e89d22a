"""Rendering a schema and compiling the text leads back to the same schema."""

from pathlib import Path

import pytest
from hypothesis import given

from omnigraph_sql.bind.schema import compile_schema
from omnigraph_sql.grammar.unparse_pg import render_schema
from tests.schemas import EXAMPLES
from tests.strategies_pg import schemas


@given(schemas())
def test_pg_02_a_rendered_schema_compiles_to_the_same_schema(text: str) -> None:
    compiled = compile_schema(text)
    rendered = render_schema(compiled)
    assert compile_schema(rendered) == compiled
    assert render_schema(compile_schema(rendered)) == rendered


@pytest.mark.parametrize("text", EXAMPLES.values(), ids=EXAMPLES.keys())
def test_pg_02_holds_for_the_examples(text: str) -> None:
    compiled = compile_schema(text)
    again = compile_schema(render_schema(compiled))
    assert again == compiled
    assert again.shape_hash == compiled.shape_hash


def test_a_rendered_schema_reads_well() -> None:
    expected = (Path(__file__).parent.parent / "cases" / "pg" / "kitchen.rendered.pg").read_text(encoding="utf-8")
    assert render_schema(compile_schema(EXAMPLES["kitchen"])) == expected


def test_an_empty_schema_renders_to_nothing() -> None:
    assert render_schema(compile_schema("// nothing yet")) == ""


def test_a_catalog_renders_as_its_compiled_schema_does() -> None:
    compiled = compile_schema(EXAMPLES["kitchen"])
    assert render_schema(compiled.catalog) == render_schema(compiled)


@pytest.mark.parametrize(
    "body",
    [
        "x: [String] @index(x)",
        'x: String @check(x, "a\\\\d\\"\\n\\t\\r")',
        "x: F64 @range(x, -0.000001..)",
        "x: F64 @range(x, ..179769313486231570000000000000000000000000.125)",
        "x: F64 @n(0.0000001) y: I32 @m(-5, a=true, b=1.50)",
        "x: String @unique @index @key",
        "x: enum(b, a, C-1, 0)",
        "v: Vector(3) @embed(s) @index s: String?",
    ],
)
def test_odd_spellings_survive_rendering(body: str) -> None:
    compiled = compile_schema(f"node A {{ {body} }}")
    assert compile_schema(render_schema(compiled)) == compiled
