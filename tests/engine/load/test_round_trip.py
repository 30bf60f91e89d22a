"""The same graph, whatever form it is loaded from, and the same as inserting its rows one statement at a time."""

from __future__ import annotations

import base64
import csv
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph_sql.base.catalog import EdgeType, TableType
from omnigraph_sql.base.identity import derive_id, key_members
from omnigraph_sql.engine.load.values import Source
from omnigraph_sql.engine.store.tables import table_schema
from omnigraph_sql.engine.write.staging import MutationStaging
from omnigraph_sql.engine.write.txn import Author, WriteTxn, write
from tests.engine.load.loading import SCHEMA, everything, graph, put, stored, type_named
from tests.engine.worlds import contract

Row = dict[str, Any]
FORMS = ["jsonl", "csv", "parquet", "arrow"]

# ---- rows in every form -----------------------------------------------------------------------------------------


def as_json(value: object) -> object:
    match value:
        case bytes():
            return "base64:" + base64.b64encode(value).decode()
        case datetime() | date():
            return value.isoformat()
        case _:
            return value


def as_text(value: object) -> object:
    match as_json(value):
        case list() as items:
            return json.dumps(items)
        case bool() as truth:
            return "true" if truth else "false"
        case other:
            return other


def write_jsonl(folder: Path, content: Mapping[str, Sequence[Row]]) -> list[Source]:
    lines: list[str] = []
    for name, rows in content.items():
        edge = isinstance(type_named(name), EdgeType)
        for row in rows:
            head: Row = {"edge": name, "from": row["src"], "to": row["dst"]} if edge else {"type": name}
            if not type_named(name).key:
                head["id"] = row["id"]
            data = {k: as_json(v) for k, v in row.items() if k not in ("id", "src", "dst") and v is not None}
            lines.append(json.dumps({**head, "data": data}, ensure_ascii=len(lines) % 2 == 0))
    path = folder / "all.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return [Source(path)]


def write_csv(folder: Path, content: Mapping[str, Sequence[Row]]) -> list[Source]:
    sources = []
    for name, rows in content.items():
        path = folder / f"{name}.csv"
        names = [f.name for f in type_named(name).schema.fields]
        with open(path, "w", newline="", encoding="utf-8") as file:
            # Only quoting everything that is not null tells the empty text from null.
            writer = csv.writer(file, quoting=csv.QUOTE_NOTNULL) if hasattr(csv, "QUOTE_NOTNULL") else None
            for row in [dict(zip(names, names, strict=True)), *rows]:
                values = [as_text(row.get(column)) for column in names]
                if writer is not None:
                    writer.writerow(values)
                else:
                    file.write(",".join("" if v is None else quoted(str(v)) for v in values) + "\r\n")
        sources.append(Source(path, name))
    return sources


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def arrow(name: str, rows: Sequence[Row]) -> pa.Table:
    return pa.Table.from_pylist(
        list(rows), schema=pa.schema([f.remove_metadata() for f in table_schema(type_named(name))])
    )


def write_parquet(folder: Path, content: Mapping[str, Sequence[Row]]) -> list[Source]:
    sources = []
    for name, rows in content.items():
        pq.write_table(arrow(name, rows), folder / f"{name}.parquet", row_group_size=2)
        sources.append(Source(folder / f"{name}.parquet", name))
    return sources


def sources_of(form: str, folder: Path, content: Mapping[str, Sequence[Row]]) -> list[Source]:
    match form:
        case "jsonl":
            return write_jsonl(folder, content)
        case "csv":
            return write_csv(folder, content)
        case "parquet":
            return write_parquet(folder, content)
        case _:
            return [Source(arrow(name, rows), name) for name, rows in content.items()]


# ---- every type -------------------------------------------------------------------------------------------------

KINDS: list[Row] = [
    {
        "id": "all",
        "name": "all",
        "truth": True,
        "small": -(2**31),
        "large": 2**63 - 1,
        "natural": 2**32 - 1,
        "huge": 2**64 - 1,
        "narrow": 1.5,
        "wide": -1.7976931348623157e308,
        "day": date(2026, 11, 18),
        "at": datetime(2026, 11, 18, 1, 2, 3, 456789, tzinfo=UTC),
        "words": ["", 'é,"x"\n', "null"],
        "numbers": [-(2**63), 0, 2**63 - 1],
        "pos": [0.5, -0.0, 1e-30],
        "body": bytes(range(256)) * 300,
    },
    {"id": "none", "name": "none"},
    {"id": "empty", "name": "empty", "words": [], "numbers": [], "body": b""},
    {"id": "old", "name": "old", "day": date(1, 1, 1), "at": datetime(1, 1, 1, tzinfo=UTC), "words": ["x", None]},
    {"id": "far", "name": "far", "day": date(9999, 12, 31), "at": datetime(9999, 12, 31, 23, 59, 59, 999999, UTC)},
]


def complete(name: str, rows: Sequence[Row]) -> list[Row]:
    names = [f.name for f in type_named(name).schema.fields]
    return [{column: row.get(column) for column in names} for row in rows]


def comparable(rows: Sequence[Row]) -> list[Row]:
    """32-bit floats as they are stored, and zones by what they mean."""
    kept = pa.float32()
    out = []
    for row in rows:
        one = dict(row)
        if one.get("pos") is not None:
            one["pos"] = pa.array(one["pos"], kept).to_pylist()
        if one.get("at") is not None:
            one["at"] = one["at"].astimezone(UTC).isoformat()
        out.append(one)
    return sorted(out, key=lambda r: str(r["id"]))


@pytest.mark.parametrize("form", FORMS)
def test_values_of_every_type_survive(tmp_path: Path, form: str) -> None:
    world = graph(tmp_path)
    put(world, *sources_of(form, tmp_path, {"Kinds": KINDS}))
    assert comparable(stored(world, "Kinds")) == comparable(complete("Kinds", KINDS))


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["a"], pa.large_utf8()),
        pa.array(["a"], pa.string_view()),
        pa.array(["a"]).dictionary_encode(),
    ],
)
def test_texts_come_in_every_arrow_form(tmp_path: Path, values: pa.Array) -> None:
    world = graph(tmp_path)
    put(world, Source(pa.table({"code": values, "name": values}), "Town"))
    assert stored(world, "Town")[0]["name"] == "a"


def test_narrower_and_wider_arrow_types_fit_when_their_values_do(tmp_path: Path) -> None:
    columns = {
        "name": pa.array(["a", "b"]),
        "large": pa.array([1, None], pa.uint8()),
        "huge": pa.array([1, 2], pa.int64()),
        "wide": pa.array([1, 2], pa.int32()),
        "narrow": pa.array([0.1, None], pa.float64()),
        "day": pa.array([date(2026, 1, 2), None], pa.date64()),
        "at": pa.array([1_000_000_000, None], pa.timestamp("ns")),
        "words": pa.array([["x"], None], pa.large_list(pa.large_utf8())),
        "pos": pa.array([[1.0, 2.0, 3.0], None], pa.list_(pa.float64())),
        "body": pa.array([b"x", None], pa.binary()),
        "truth": pa.nulls(2),
    }
    world = graph(tmp_path)
    put(world, Source(pa.table(columns), "Kinds"))
    a, b = stored(world, "Kinds")
    assert (a["large"], a["huge"], a["wide"], a["day"]) == (1, 1, 1.0, date(2026, 1, 2))
    assert (a["at"].timestamp(), a["words"], a["pos"], a["body"]) == (1.0, ["x"], [1.0, 2.0, 3.0], b"x")
    assert a["narrow"] == pytest.approx(0.1)
    assert all(b[name] is None for name in ("large", "narrow", "day", "at", "words", "pos", "body", "truth"))


# ---- random graphs against plain inserts ------------------------------------------------------------------------

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00\r"), max_size=6)
keys = texts.filter(bool)


def optional(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


def with_id(of: TableType, row: Row) -> Row:
    members = key_members(of)
    return {"id": derive_id([(p, row[p.name]) for p in members]), **row} if members else row


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, list[Row]]:
    towns = [
        {"code": code, "name": draw(texts), "height": draw(optional(st.integers(-500, 9000))), "mail": None}
        for code in draw(st.lists(keys, unique=True, max_size=6))
    ]
    cells = [
        {"row": row, "column": column}
        for row, column in draw(st.lists(st.tuples(st.integers(-9, 9), texts), unique=True, max_size=5))
    ]
    notes = [
        {"id": name, "text": draw(texts), "kind": draw(optional(st.sampled_from(["long", "short"])))}
        for name in draw(st.lists(keys, unique=True, max_size=4))
    ]
    kinds = [
        {
            "name": name,
            "truth": draw(optional(st.booleans())),
            "large": draw(optional(st.integers(-(2**63), 2**63 - 1))),
            "wide": draw(optional(st.floats(allow_nan=False, allow_infinity=False))),
            "narrow": draw(optional(st.floats(width=32, allow_nan=False, allow_infinity=False))),
            "day": draw(optional(st.dates())),
            "at": draw(optional(st.datetimes(timezones=st.just(UTC)))),
            "words": draw(optional(st.lists(texts, max_size=3))),
            "pos": draw(optional(st.lists(st.floats(-9, 9, width=32), min_size=3, max_size=3))),
            "body": draw(optional(st.binary(max_size=9))),
        }
        for name in draw(st.lists(keys, unique=True, max_size=4))
    ]
    content = {"Town": towns, "Cell": cells, "Note": notes, "Kinds": kinds}
    made = {name: [with_id(type_named(name), row) for row in rows] for name, rows in content.items()}
    made["Road"] = [
        {"id": name, "src": draw(end), "dst": draw(end), "miles": draw(st.integers(0, 9))}
        for name in (draw(st.lists(keys, unique=True, max_size=5)) if towns else [])
        for end in [st.sampled_from([row["id"] for row in made["Town"]])]
    ]
    pairs = st.tuples(*(2 * [st.sampled_from([row["id"] for row in made["Cell"]] or [""])]))
    made["Near"] = [
        {"id": f"near{n}", "src": s, "dst": d}
        for n, (s, d) in enumerate(draw(st.lists(pairs, unique=True, max_size=4)) if cells else [])
    ]
    return made


def inserted(folder: Path, content: Mapping[str, Sequence[Row]]) -> dict[str, list[Row]]:
    """The graph after plain inserts of the rows."""
    world = graph(folder)

    def fill(_: WriteTxn, staging: MutationStaging) -> None:
        for name, rows in content.items():
            table = pa.Table.from_pylist(complete(name, rows), schema=table_schema(type_named(name)))
            staging.insert(type_named(name), table)

    write(world, lambda: contract(SCHEMA), "main", Author(), fill)
    return everything(world)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(content=graphs(), mode=st.sampled_from(["append", "merge", "overwrite"]))
def test_every_form_and_mode_loads_the_graph_that_inserts_make(content: dict[str, list[Row]], mode: str) -> None:
    with TemporaryDirectory() as folder:
        wanted = inserted(Path(folder, "model"), content)
        for form in FORMS:
            here = Path(folder, form)
            here.mkdir()
            world = graph(here)
            put(world, *sources_of(form, here, content), mode=mode)
            assert everything(world) == wanted, form
