"""The evaluator against the naive one, on random schemas, graphs and changes."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st

from omnigraph_sql.base.catalog import Catalog, EdgeType, TableType
from omnigraph_sql.base.errors import ConstraintViolation
from omnigraph_sql.base.types import EnumType, Kind, ListType, ScalarType, VectorType
from omnigraph_sql.bind.schema import compile_schema
from omnigraph_sql.engine.write.staging import Mode, TableChanges
from omnigraph_sql.engine.write.validate import validate, violations
from tests.engine.validate.graphs import Row, build, changed
from tests.engine.validate.oracle import Broken, Change, Oracle, text

NODE_IDS = [f"n{i}" for i in range(5)]
EDGE_IDS = [f"e{i}" for i in range(5)]
TYPES = ("String", "I32", "I64", "U32", "U64", "F32", "F64", "Bool", "Date", "DateTime", "enum(on, off)")
LISTS = ("[F64]", "[String]", "Vector(2)")
VALUES: Mapping[Kind, Sequence[object]] = {
    Kind.STRING: ("", "a'b", "Ab\n", "é", "'; --"),
    Kind.BOOL: (True, False),
    Kind.I32: (-(2**31), -1, 0, 2, 2**31 - 1),
    Kind.I64: (-(2**63), -1, 0, 2, 2**63 - 1),
    Kind.U32: (0, 2, 2**32 - 1),
    Kind.U64: (0, 2, 2**63, 2**64 - 1),
    Kind.F32: (-0.0, 0.0, 0.5, -1.5, float(np.finfo(np.float32).max)),
    Kind.F64: (-0.0, 0.0, 0.1, -1.5, 5e-324, 1.7976931348623157e308),
    Kind.DATE: (date(1, 1, 1), date(1969, 12, 31), date(9999, 12, 31)),
    Kind.DATETIME: (datetime(1, 1, 1, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)),
}
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
"""Every example builds a graph, so making a failing one smaller would outlast the time limit of a test."""
PATTERNS = ("^[A-Z]", "b$", "\\w", "^$|.")


@st.composite
def bodies(draw: st.DrawFn, ends: tuple[str, ...]) -> str:
    """Properties p0… and rules about them."""
    types = draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=3))
    lines = [f"p{i}: {of}{draw(st.sampled_from(['?', '?', '']))}" for i, of in enumerate(types)]
    lines += [f"q: {draw(st.sampled_from(LISTS))}?"] if draw(st.booleans()) else []
    members = [*ends, *(f"p{i}" for i in range(len(types)))]
    for group in draw(st.lists(st.lists(st.sampled_from(members), min_size=1, max_size=3, unique=True), max_size=2)):
        lines.append(f"@unique({', '.join(group)})")
    for i, of in enumerate(types):
        if of[0] in "IUF" and draw(st.booleans()):
            lines.append(f"@range(p{i}, {draw(st.sampled_from(['0..2', '..2', '0..', '1..1']))})")
        elif of == "String" and draw(st.booleans()):
            lines.append(f"@check(p{i}, {_quoted(draw(st.sampled_from(PATTERNS)))})")
    return "\n    ".join(dict.fromkeys(lines))


def _quoted(pattern: str) -> str:
    return '"' + pattern.replace("\\", "\\\\") + '"'


@st.composite
def catalogs(draw: st.DrawFn) -> Catalog:
    card = st.sampled_from(["", "@card(0..1)", "@card(1..2)", "@card(1..)"])
    return compile_schema(
        f"node A {{\n    k: String @key\n    {draw(bodies(()))}\n}}\n"
        f"node B {{\n    k: String @key\n}}\n"
        f"edge E: A -> {draw(st.sampled_from('AB'))} {draw(card)} {{\n    {draw(bodies(('src', 'dst')))}\n}}\n"
        f"edge F: B -> A {draw(card)}\n"
    ).catalog


def values(of: object, nullable: bool, care: int | None) -> st.SearchStrategy[object]:
    """Mostly good values; a bad one once in `care` draws, or never."""
    bad: list[object] = [] if nullable else [None]
    match of:
        case EnumType(labels):
            good: st.SearchStrategy[object] = st.sampled_from(labels)
            bad.append("neither")
        case ScalarType(kind):
            good = st.sampled_from(VALUES[kind])
            bad += [math.nan, math.inf] if kind in (Kind.F32, Kind.F64) else []
        case ListType(ScalarType(kind)):
            good = st.lists(st.sampled_from([*VALUES[kind], None]), max_size=3)
            bad += [[1.5, math.nan], [math.inf, math.nan]] if kind is Kind.F64 else []
        case VectorType():
            good = st.just([0.5, -0.5])
            bad += [[None, 1.0], [1.0, math.inf]]
        case _:
            raise AssertionError(of)
    good = st.one_of(good, st.none()) if nullable else good
    if care is None or not bad:
        return good
    return st.integers(1, care).flatmap(lambda n: st.sampled_from(bad) if n == care else good)


@st.composite
def table_rows(draw: st.DrawFn, table: TableType, ids: Sequence[str], nodes: Sequence[str], care: int | None) -> Row:
    row: dict[str, object] = {"id": draw(st.sampled_from(ids))}
    for column in table.schema.fields[1:]:
        if column.name in ("src", "dst"):
            row[column.name] = draw(st.sampled_from(nodes))
        elif column.name == "k":
            row["k"] = row["id"]
        else:
            row[column.name] = draw(values(column.type, column.nullable, care))
    return row


@st.composite
def graphs(draw: st.DrawFn, catalog: Catalog) -> dict[str, list[Row]]:
    """Rows that may break rules about tuples and numbers of edges, but no others."""
    content: dict[str, list[Row]] = {}
    for table in catalog.tables():
        own = EDGE_IDS[:4] if isinstance(table, EdgeType) else NODE_IDS[:4]
        present = [str(r["id"]) for r in content.get("A", ())], [str(r["id"]) for r in content.get("B", ())]
        if isinstance(table, EdgeType) and not all(present):
            continue
        ends = {"A": present[0], "B": present[1]}
        rows: list[Row] = []
        for id in draw(st.lists(st.sampled_from(own), unique=True, min_size=1, max_size=4)):
            row = dict(draw(table_rows(table, [id], ["-"], None)))
            if isinstance(table, EdgeType):
                row["src"], row["dst"] = (
                    draw(st.sampled_from(ends[table.source])),
                    draw(st.sampled_from(ends[table.target])),
                )
            rows.append(row)
        content[table.name] = rows
    return content


@st.composite
def change_sets(draw: st.DrawFn, catalog: Catalog) -> dict[str, Change]:
    found: dict[str, Change] = {}
    for table in catalog.tables():
        kind = draw(st.sampled_from(["none", "none", "insert", "upsert", "upsert", "delete", "overwrite", "merge"]))
        if kind == "none":
            continue
        ids = EDGE_IDS if isinstance(table, EdgeType) else NODE_IDS
        batch = st.lists(table_rows(table, ids, NODE_IDS, 12), min_size=1, max_size=3).map(tuple)
        gone = st.frozensets(st.sampled_from(ids), min_size=1, max_size=2)
        match kind:
            case "insert":
                rows = draw(st.lists(batch.map(_distinct), min_size=1, max_size=2).map(tuple))
                found[table.name] = Change(Mode.INSERT, rows)
            case "upsert":
                found[table.name] = Change(Mode.UPSERT, draw(st.lists(batch, min_size=1, max_size=3).map(tuple)))
            case "delete":
                found[table.name] = Change(Mode.DELETE, (), draw(gone))
            case "overwrite":
                image: tuple[Row, ...] = draw(st.one_of(batch, st.just(())))
                found[table.name] = Change(Mode.OVERWRITE, (image,))
            case _:
                found[table.name] = Change(Mode.UPSERT, (draw(batch),), draw(gone))
    return found


def _distinct(rows: Sequence[Row]) -> tuple[Row, ...]:
    return tuple({r["id"]: r for r in rows}.values())


def _told(violation: ConstraintViolation) -> Broken:
    value, ids = violation.value, violation.ids
    if violation.rule == "unique":
        members = value if isinstance(value, tuple) else (value,)
        value = tuple(m + 0.0 if isinstance(m, float) else m for m in members)
    return violation.rule, violation.type, violation.properties, text(value), ids


def _comparable(found: set[Broken]) -> set[Broken]:
    """Holders of a tuple as a set: which of them comes first is not part of the rule."""
    return {(*b[:4], tuple(sorted(b[4]))) for b in found}


@pytest.mark.parametrize("list_values_max", [1024, 1], ids=["by filters", "by reading"])
def test_it_agrees_with_the_naive_evaluator(list_values_max: int) -> None:
    @settings(phases=PHASES, max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def agrees(data: st.DataObject) -> None:
        catalog = data.draw(catalogs())
        base = data.draw(graphs(catalog))
        with tempfile.TemporaryDirectory() as folder:
            world, snapshot = build(Path(folder), catalog, base)
            for given_ in data.draw(st.lists(change_sets(catalog), min_size=4, max_size=8)):
                changes = [_changes(catalog, name, c) for name, c in given_.items()]
                wanted = Oracle(catalog, base, given_).broken()
                found = {_told(v) for v in violations(world, snapshot, catalog, changes)}
                assert _comparable(found) == _comparable(wanted)
                event("refused" if wanted else "accepted")
                if wanted:
                    with pytest.raises(ConstraintViolation):
                        validate(world, snapshot, catalog, changes)
                else:
                    validate(world, snapshot, catalog, changes)

    with (
        patch("omnigraph_sql.engine.store.lookup.LIST_VALUES_MAX", list_values_max),
        patch("omnigraph_sql.engine.write.validate_unique.LIST_VALUES_MAX", list_values_max),
        patch("omnigraph_sql.engine.store.lookup._PIECE_ROWS", 2 if list_values_max == 1 else 524_288),
    ):
        agrees()


def _changes(catalog: Catalog, name: str, change: Change) -> TableChanges:
    table = catalog.node(name) or catalog.edge(name)
    assert table is not None
    return changed(table, change.mode, *change.batches, deleted=sorted(change.deleted))
