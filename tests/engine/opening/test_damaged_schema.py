"""Stored schemas that somebody changed: refused as damage, or the very same schema."""

from __future__ import annotations

from dataclasses import replace

import pytest

from omnigraph_sql.base.errors import FormatError
from omnigraph_sql.bind.schema import compile_schema
from omnigraph_sql.run.contract import contract_files, decode_contract
from tests.engine.damage import BODIES, damaged

SCHEMA = """
node P { name: String @key  n: I32?  kind: enum(left, right)?  at: [Date]?  u: String? @unique  @range(n, 0..9) }
edge K: P -> P @card(0..3) { since: Date? }
"""
STORED = contract_files(compile_schema(SCHEMA, identity_domain="0" * 26))


@pytest.mark.parametrize("file", ["ir", "state"])
def test_a_schema_with_one_member_changed_is_damage_or_the_same_schema(file: str) -> None:
    tried = 0
    for what, body in damaged(getattr(STORED, file)):
        files = replace(STORED, **{file: body})
        try:
            assert decode_contract(files) == decode_contract(STORED), what
        except FormatError:
            tried += 1
    assert tried > 50


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
@pytest.mark.parametrize("file", ["ir", "state"])
def test_a_body_that_is_no_schema_is_damage(file: str, body: bytes) -> None:
    with pytest.raises(FormatError):
        decode_contract(replace(STORED, **{file: body}))
