"""What files may say: a table of good and bad inputs, with the message and place of every refusal."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnigraph_sql.base.errors import ConstraintViolation, DataError, KeyConflict, OmniError, ResourceLimitExceeded
from omnigraph_sql.base.types import VectorType
from omnigraph_sql.engine.load.columns import converted
from omnigraph_sql.engine.load.readers import CHUNK_ROWS
from omnigraph_sql.engine.load.values import Source, Spelling
from tests.engine.load.loading import Lines, data_files, graph, ids, jsonl, put, road, stored, town

GOOD = '{"type":"Town","data":{"code":"a","name":"A"}}'


def refusal(folder: Path, *sources: Source | Path, mode: str = "append") -> OmniError:
    """The error of a load into a graph with two towns, which stays as it was."""
    world = graph(folder)
    put(world, jsonl(folder, [town("old", mail="o@x"), town("new")], "before.jsonl"))
    before, files = world.manifest.current("main").snapshot, data_files(world)
    with pytest.raises(OmniError) as caught:
        put(world, *sources, mode=mode)
    assert world.manifest.current("main").snapshot == before
    assert data_files(world) == files
    assert put(world, jsonl(folder, [town("next")], "next.jsonl")).rows_read == 1
    assert ids(world, "Town") == ["new", "next", "old"]
    return caught.value


BAD_LINES = {
    "not json": ("{nope}", "line 2: this is not one JSON object: Expecting property name"),
    "two objects": (GOOD + GOOD, "line 2: this is not one JSON object: more than one value on a line"),
    "two objects with a space": (GOOD + " " + GOOD, "line 2: this is not one JSON object: more than one value"),
    "an object over two lines": (GOOD.replace(",", ",\n"), "line 2: this is not one JSON object"),
    "an array": ("[]", "line 2: a line holds one JSON object"),
    "a number": ("7", "line 2: a line holds one JSON object"),
    "a comma after": (GOOD + ",", "line 2: this is not one JSON object"),
    "neither type nor edge": ("{}", "line 2: the line has neither type nor edge"),
    "both type and edge": ('{"type":"Town","edge":"Road"}', "line 2: the line has both type and edge"),
    "type twice": ('{"type":"Town","type":"Town"}', "line 2: member 'type' occurs twice"),
    "property twice": ('{"type":"Town","data":{"code":"a","code":"b"}}', "line 2: member 'code' occurs twice"),
    "unknown member": ('{"type":"Town","date":{}}', "line 2: member 'date' is not known here"),
    "an end of a node": ('{"type":"Town","from":"a"}', "line 2: member 'from' is not known here"),
    "unknown node type": ('{"type":"Tow","data":{}}', "line 2: there is no node type 'Tow'"),
    "an edge as a type": ('{"type":"Road","data":{}}', "line 2: there is no node type 'Road'"),
    "unknown edge type": ('{"edge":"Rod"}', "line 2: there is no edge type 'Rod'"),
    "type is a number": ('{"type":1}', "line 2: type is the name of a type, a text"),
    "unknown property": ('{"type":"Town","data":{"cod":"a"}}', "line 2: Town has no property 'cod'"),
    "physical name": ('{"edge":"Road","data":{"src":"a"}}', "line 2: Road has no property 'src'"),
    "data is null": ('{"type":"Town","data":null}', "line 2: data is an object of properties"),
    "data is a list": ('{"type":"Town","data":[]}', "line 2: data is an object of properties"),
    "key is missing": (
        '{"type":"Town","data":{"name":"A"}}',
        "line 2: Town.code belongs to the key and cannot be null",
    ),
    "required is missing": ('{"type":"Town","data":{"code":"a"}}', "line 2: Town.name"),
    "text for a number": (
        '{"type":"Town","data":{"code":"a","name":"A","height":"1"}}',
        "line 2: Town.height: '1' is a text, not I32",
    ),
    "number for a text": ('{"type":"Town","data":{"code":1,"name":"A"}}', "line 2: Town.code: 1 is a number"),
    "truth for a number": (
        '{"type":"Town","data":{"code":"a","name":"A","height":true}}',
        "line 2: Town.height: True is a truth value, not I32",
    ),
    "point in an integer": (
        '{"type":"Town","data":{"code":"a","name":"A","height":1.0}}',
        "line 2: Town.height: 1.0 is a number, not I32",
    ),
    "out of range": (
        '{"type":"Town","data":{"code":"a","name":"A","height":2147483648}}',
        "line 2: Town.height: 2147483648 is outside I32, which goes from -2147483648 to 2147483647",
    ),
    "out of @range": ('{"type":"Town","data":{"code":"a","name":"A","height":9001}}', "line 2: Town.height"),
    "enum label": ('{"type":"Note","data":{"text":"a","kind":"tiny"}}', "line 2: Note.kind"),
    "NaN": ('{"type":"Kinds","data":{"name":"a","wide":NaN}}', "line 2: NaN is not JSON"),
    "infinity": ('{"type":"Kinds","data":{"name":"a","wide":-Infinity}}', "line 2: -Infinity is not JSON"),
    "too large": ('{"type":"Kinds","data":{"name":"a","wide":1e400}}', "line 2: Kinds.wide: inf is too large for F64"),
    "too large for F32": (
        '{"type":"Kinds","data":{"name":"a","narrow":1e39}}',
        "line 2: Kinds.narrow: 1e+39 is too large for F32",
    ),
    "below zero": ('{"type":"Kinds","data":{"name":"a","natural":-1}}', "line 2: Kinds.natural: -1 is outside U32"),
    "digits": (
        '{"type":"Kinds","data":{"name":"a","large":' + "9" * 5000 + "}}",
        "line 2: this is not one JSON object",
    ),
    "no day": ('{"type":"Day","data":{"on":"2026-02-30"}}', "line 2: Day.on: '2026-02-30' is not a day"),
    "sloppy day": ('{"type":"Day","data":{"on":"2026-2-3"}}', "line 2: Day.on: '2026-2-3' is not a day; write"),
    "instant without a zone": (
        '{"type":"Kinds","data":{"name":"a","at":"2026-01-01T00:00:00"}}',
        "line 2: Kinds.at: '2026-01-01T00:00:00' is not an instant",
    ),
    "short vector": (
        '{"type":"Kinds","data":{"name":"a","pos":[1,2]}}',
        "line 2: Kinds.pos: the vector has 2 numbers; Vector(3) needs 3",
    ),
    "text in a vector": ('{"type":"Kinds","data":{"name":"a","pos":[1,2,"3"]}}', "line 2: Kinds.pos: '3' is a text"),
    "null in a vector": ('{"type":"Kinds","data":{"name":"a","pos":[1,2,null]}}', "line 2: Kinds.pos"),
    "text for a list": ('{"type":"Kinds","data":{"name":"a","words":"x"}}', "line 2: Kinds.words: 'x' is a text"),
    "mixed list": ('{"type":"Kinds","data":{"name":"a","words":["x",1]}}', "line 2: Kinds.words: 1 is a number"),
    "plain blob": ('{"type":"Kinds","data":{"name":"a","body":"AAA="}}', "line 2: Kinds.body: a blob is written as"),
    "blob elsewhere": (
        '{"type":"Kinds","data":{"name":"a","body":"file:///etc/passwd"}}',
        "line 2: Kinds.body: a blob is written as",
    ),
    "bad base64": ('{"type":"Kinds","data":{"name":"a","body":"base64:?"}}', "line 2: Kinds.body: the text after"),
    "half a character": (
        r'{"type":"Town","data":{"code":"\ud800","name":"A"}}',
        "line 2: Town.code: the text holds half",
    ),
    "another id": ('{"type":"Town","id":"b","data":{"code":"a","name":"A"}}', "line 2: the id is 'b', but the key"),
    "another id inside": ('{"type":"Town","data":{"id":"b","code":"a","name":"A"}}', "line 2: the id is 'b', but"),
    "two ids": (
        '{"type":"Note","id":"b","data":{"id":"b","text":"t"}}',
        "line 2: the id stands both beside data and in it",
    ),
    "id is a number": ('{"type":"Note","id":1,"data":{"text":"t"}}', "line 2: an id is a text"),
    "empty id": ('{"type":"Note","id":"","data":{"text":"t"}}', "line 2: an id of Note is empty"),
    "no from": ('{"edge":"Road","to":"a"}', "line 2: the edge has no 'from'"),
    "to is null": ('{"edge":"Road","from":"a","to":null}', "line 2: the edge has no 'to'"),
    "a number for a text key": ('{"edge":"Road","from":1,"to":"a"}', "line 2: 'from' is a key of Town: 1 is a number"),
    "an object as an end": ('{"edge":"Road","from":{},"to":"a"}', "line 2: 'from' is the id of a Town, a text"),
    "deep": ("[" * 100_000, "line 2: "),
}


@pytest.mark.parametrize("alone", [False, True], ids=["among good lines", "in a block of its own"])
@pytest.mark.parametrize("name", BAD_LINES)
def test_a_bad_line_is_refused_with_its_file_line_and_reason(tmp_path: Path, name: str, alone: bool) -> None:
    text, said = BAD_LINES[name]
    around = [] if alone else [town(f"t{n}") for n in range(20)]
    path = jsonl(tmp_path, ["" if alone else town("first"), text, *around])
    error = refusal(tmp_path, path)
    assert isinstance(error, DataError)
    assert str(error).startswith(f"{path}, {said}"), error


def test_text_that_is_not_utf_8_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(GOOD.encode() + b'\n{"type":"Town","data":{"code":"\xff","name":"A"}}\n')
    assert str(refusal(tmp_path, path)) == f"{path}, line 2: the text is not UTF-8"


def test_lines_beyond_the_limits_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omnigraph_sql.base.limits.LOAD_LINE_BYTES_MAX", 200)
    monkeypatch.setattr("omnigraph_sql.base.limits.LOAD_LINE_ELEMENTS_MAX", 20)
    words = '{"type":"Kinds","data":{"name":"a","words":[' + ",".join('"x"' for _ in range(30)) + "]}}"
    world = graph(tmp_path)
    for line, said in (
        ('{"type":"Town","data":{"code":"a","name":"' + "x" * 200 + '"}}', "line 2: the line is longer than 200"),
        (words, "line 2: the line has 41 structural elements, at most 20 are read"),
    ):
        with pytest.raises(ResourceLimitExceeded, match=said):
            put(world, jsonl(tmp_path, [town("a"), line]))
    put(world, jsonl(tmp_path, ['{"type":"Kinds","data":{"name":",,,,,,,,,,,,,,,,,,,,,,,,","words":["x"]}}']))


def test_a_line_without_an_end_is_given_up_before_it_fills_memory(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"type":"Town","data":{"code":"a","name":"' + b"x" * (41 * 1024 * 1024))
    with pytest.raises(ResourceLimitExceeded, match="line 1: the line is longer"):
        put(graph(tmp_path), path)


GOOD_FILES = {
    "nothing": "",
    "blank lines": "\n\n \t\n" + GOOD + "\n\n",
    "crlf": GOOD + "\r\n" + GOOD.replace('"a"', '"b"') + "\r\n",
    "no line feed at the end": GOOD,
    "spaces around": "  " + GOOD + "  \n",
    "spaces inside": '{ "type" : "Town" , "data" : { "code" : "a" , "name" : "A" } }\n',
    "data first": '{"data":{"code":"a","name":"A"},"type":"Town"}\n',
    "byte order mark": "\ufeff" + GOOD + "\n",
    "same id": '{"type":"Town","id":"a","data":{"code":"a","name":"A"}}\n',
    "escaped": r'{"type":"\u0054own","data":{"c\u006fde":"a","name":"A"}}' + "\n",
}


@pytest.mark.parametrize("name", GOOD_FILES)
def test_framing_that_is_allowed(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(GOOD_FILES[name].encode())
    world = graph(tmp_path)
    put(world, path)
    wanted = {"nothing": [], "crlf": ["a", "b"]}.get(name, ["a"])
    assert ids(world, "Town") == wanted


BAD_CSV = {
    "no header": ("", "x.csv has no header"),
    "unknown column": ("code,nam\na,A\n", "x.csv: Town has no column 'nam'"),
    "column twice": ("code,name,code\na,A,a\n", "x.csv: column 'code' occurs twice"),
    "required column": ("code\na\n", "x.csv: column 'name' is missing, and Town.name cannot be null"),
    "required value": ("code,name\na,A\nb,\n", "x.csv, line 3: Town.name"),
    "key": ("code,name\na,A\n,B\n", "x.csv, line 3: Town.code belongs to the key and cannot be null"),
    "number": ("code,name,height\na,A,1\n\nb,B,x\n", "x.csv, line 4: Town.height: 'x' is no I32"),
    "hexadecimal": ("code,name,height\na,A,0x10\n", "x.csv, line 2: Town.height: '0x10' is no I32"),
    "range": ("code,name,height\na,A,99999999999\n", "x.csv, line 2: Town.height: '99999999999' is outside I32"),
    "after lines in a value": ('code,name,height\na,"A\n\nB",1\nb,B,x\n', "x.csv, line 5: Town.height: 'x' is no I32"),
    "too many values": ("code,name\na,A\nb,B,1\n", "x.csv, line 3: 3 values where the header names 2 columns"),
    "twice": ("code,name\na,A\nb,B\na,C\n", "x.csv, line 4: Town 'a' is in this load already, at "),
}


@pytest.mark.parametrize("name", BAD_CSV)
def test_a_bad_csv_file_is_refused_with_its_line_and_reason(tmp_path: Path, name: str) -> None:
    text, said = BAD_CSV[name]
    path = tmp_path / "x.csv"
    path.write_text(text, encoding="utf-8", newline="")
    error = refusal(tmp_path, Source(path, "Town"))
    assert isinstance(error, DataError)
    assert str(error).startswith(f"{tmp_path}/{said}"), error


def test_nothing_between_commas_is_null_and_empty_quotes_are_the_empty_text(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('name,code,mail\n"",a,\n"x, ""y""",b,""\n', encoding="utf-8")
    world = graph(tmp_path)
    put(world, Source(path, "Town"))
    assert [(r["id"], r["name"], r["mail"]) for r in stored(world, "Town")] == [("a", "", None), ("b", 'x, "y"', "")]


@pytest.mark.parametrize("text", ["code,name", "code,name\n", "code,name\r\n", '"code","name"', "\ufeffcode,name"])
def test_a_header_alone_is_a_file_without_rows(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text, encoding="utf-8", newline="")
    world = graph(tmp_path)
    put(world, Source(path, "Town"))
    assert stored(world, "Town") == []


def packed(path: Path, packing: str) -> Path:
    made = path.with_name(f"{path.name}{packing}")
    with pa.output_stream(str(made), compression={".gz": "gzip", ".zst": "zstd"}[packing]) as out:
        out.write(path.read_bytes())
    return made


@pytest.mark.parametrize("packing", [".gz", ".zst"])
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_packed_file_is_refused_as_the_plain_one_is(tmp_path: Path, kind: str, packing: str) -> None:
    texts = (
        {name: text for name, (text, _) in BAD_CSV.items()}
        if kind == "csv"
        else {name: f"{GOOD}\n{line}\n" for name, (line, _) in BAD_LINES.items()}
    )
    world = graph(tmp_path)
    for name, text in texts.items():
        path = tmp_path / f"x.{kind}"
        path.write_text(text, encoding="utf-8", newline="")
        told = []
        for file in (path, packed(path, packing)):
            with pytest.raises(OmniError) as caught:
                put(world, Source(file, "Town" if kind == "csv" else None))
            message = re.sub("'[0-9A-Z]{26}'", "'a fresh id'", str(caught.value).replace(str(file), "FILE"))
            told.append((type(caught.value), message))
        assert told[0] == told[1], name


@pytest.mark.parametrize("packing", [".gz", ".zst"])
def test_a_packed_file_holds_what_the_plain_one_does(tmp_path: Path, packing: str) -> None:
    lines, rows = tmp_path / "x.jsonl", tmp_path / "x.csv"
    rows.write_text('name,code,mail\n"",a,\n"x, ""y""",b,""\n\n"two\nlines",c,m\n', encoding="utf-8")
    for name, text in GOOD_FILES.items():
        lines.write_bytes(text.encode())
        seen = []
        for number, sources in enumerate(((lines, rows), (packed(lines, packing), packed(rows, packing)))):
            world = graph(tmp_path / f"{name} {number}")
            put(world, sources[0], mode="merge")
            put(world, Source(sources[1], "Town"), mode="merge")
            seen.append(sorted((r["id"], r["name"], r["mail"]) for r in stored(world, "Town")))
        assert seen[0] == seen[1], name
        assert ("c", "two\nlines", "m") in seen[0]


def test_what_cannot_be_unpacked_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plain.jsonl.gz").write_text(GOOD)
    whole = tmp_path / "x.jsonl"
    whole.write_text("".join(GOOD.replace('"a"', f'"a{n}"') + "\n" for n in range(2000)))
    cut = packed(whole, ".gz")
    cut.write_bytes(cut.read_bytes()[:-200])
    rows = tmp_path / "x.csv"
    rows.write_text("code,name\n" + "".join(f"a{n},A\n" for n in range(2000)))
    cut_rows = packed(rows, ".gz")
    cut_rows.write_bytes(cut_rows.read_bytes()[:-200])
    world = graph(tmp_path)
    for source in (Source(tmp_path / "plain.jsonl.gz"), Source(cut), Source(cut_rows, "Town")):
        with pytest.raises(DataError, match=re.escape(str(source.data))):
            put(world, source)
    assert ids(world, "Town") == []


BAD_TABLES = {
    "text for a number": (
        {"code": ["a"], "name": ["A"], "height": ["1"]},
        "row 1: Town.height: '1' (string) is no I32",
    ),
    "number for a text": ({"code": [1], "name": ["A"]}, "row 1: Town.code: 1 (int64) is no String"),
    "too large": (
        {"code": ["a", "b"], "name": ["A", "B"], "height": [1, 2**31]},
        "row 2: Town.height: 2147483648 does not fit I32",
    ),
    "point": ({"code": ["a"], "name": ["A"], "height": [1.5]}, "row 1: Town.height: 1.5 (double) is no I32"),
    "too large for both": (
        {"code": ["a", "b"], "name": ["A", "B"], "height": pa.array([1, 2**32 - 1], pa.uint32())},
        "row 2: Town.height: 4294967295 does not fit I32: integer value 4294967295 not in range: -2147483648 to",
    ),
    "decimals": (
        {"code": ["a", "b"], "name": ["A", "B"], "height": pa.array([Decimal(1), Decimal(2**64 - 1)])},
        "row 2: Town.height: 18446744073709551615 does not fit I32",
    ),
    "other width": (
        {"code": pa.array([b"a"], pa.large_binary()), "name": ["A"]},
        "row 1: Town.code: b'a' (binary) is no String",
    ),
    "null": ({"code": ["a", "b", "c"], "name": ["A", "B", None]}, "row 3: Town.name"),
    "rule": ({"code": ["a", "b"], "name": ["A", "B"], "height": [1, -501]}, "row 2: Town.height"),
    "other id": ({"id": ["a", "x"], "code": ["a", "b"], "name": ["A", "B"]}, "row 2: the id is 'x', but the key"),
}


@pytest.mark.parametrize("form", ["parquet", "arrow"])
@pytest.mark.parametrize("name", BAD_TABLES)
def test_a_bad_typed_table_is_refused_with_its_row_and_reason(tmp_path: Path, name: str, form: str) -> None:
    columns, said = BAD_TABLES[name]
    table = pa.table(columns)
    path = tmp_path / "x.parquet"
    pq.write_table(table, path)
    source = Source(path, "Town") if form == "parquet" else Source(table, "Town", "my table")
    error = refusal(tmp_path, source)
    assert isinstance(error, DataError)
    assert str(error).startswith(f"{path if form == 'parquet' else 'my table'}, {said}"), error


def test_instants_of_any_century_in_the_form_of_old_writers_are_kept(tmp_path: Path) -> None:
    world, path = graph(tmp_path), tmp_path / "x.parquet"
    days = [
        datetime(1500, 1, 1, tzinfo=UTC),
        datetime(2020, 2, 3, 4, 5, 6, 789, UTC),
        datetime(9999, 12, 31, tzinfo=UTC),
    ]
    rows = pa.table({"name": list("abc"), "at": pa.array(days, pa.timestamp("us", "UTC"))})
    pq.write_table(rows, path, use_deprecated_int96_timestamps=True)
    put(world, Source(path, "Kinds"))
    assert [row["at"] for row in stored(world, "Kinds")] == days


def test_decimals_without_a_fraction_are_whole_numbers(tmp_path: Path) -> None:
    world = graph(tmp_path)
    heights = pa.array([Decimal(-500), None, Decimal(8000)], pa.decimal128(38, 0))
    put(world, Source(pa.table({"code": list("abc"), "name": list("ABC"), "height": heights}), "Town"))
    assert [row["height"] for row in stored(world, "Town")] == [-500, None, 8000]


def test_lists_that_are_all_null_and_bring_no_numbers_at_all_are_vectors() -> None:
    """As they come over the pipe from another process."""
    nothing = pa.Array.from_buffers(pa.float32(), 0, [None, None])
    lists = pa.ListArray.from_arrays(pa.array([0, 0, 0], pa.int32()), nothing, mask=pa.array([True, True]))
    assert converted(lists, VectorType(3), Spelling.TYPED).to_pylist() == [None, None]


def test_lists_that_are_all_empty_can_follow_others(tmp_path: Path) -> None:
    """In chunks of their own, where the texts of the others still lie before their place."""
    world = graph(tmp_path)
    count = CHUNK_ROWS + 2
    words = pa.array([["aa"]] * CHUNK_ROWS + [[], None], pa.large_list(pa.utf8()))
    names = pa.array([f"n{number:06}" for number in range(count)])
    put(world, Source(pa.table({"name": names, "words": words}), "Kinds"))
    assert [row["words"] for row in stored(world, "Kinds")][CHUNK_ROWS - 1 :] == [["aa"], [], None]


def test_what_is_no_source_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("x")
    (tmp_path / "x.parquet").write_text("x")
    world = graph(tmp_path)
    for source, said in (
        (Source(tmp_path / "none.jsonl"), "there is no file"),
        (Source(tmp_path / "x.txt"), "is none of .jsonl, .csv, .parquet"),
        (Source(tmp_path / "x.parquet", "Town"), "cannot be read as Parquet"),
        (Source(tmp_path / "x.parquet"), "the rows need a type"),
        (Source(tmp_path / "x.parquet", "Twn"), "there is no type 'Twn'"),
        (Source(tmp_path / "x.parquet", "edge:Town"), "there is no type 'edge:Town'"),
        (Source(7, "Town"), "neither a file nor an Arrow stream"),  # type: ignore[arg-type]
    ):
        with pytest.raises(DataError, match=said):
            put(world, source)


CROSS: dict[str, tuple[Lines, int, str]] = {
    "no such source": ([road("gone", "old")], 1, "comes from Town 'gone', which does not exist"),
    "no such target": ([road("new", "old"), road("old", "gone")], 2, "goes to Town 'gone', which does not exist"),
    "key exists": ([town("a"), town("old"), town("b")], 2, "Town 'old': it exists already"),
    "id twice": ([town("a"), town("b"), town("a")], 3, "Town 'a' is in this load already, at "),
    "edge id twice": (
        [road("old", "new", id="r"), road("new", "old", id="r")],
        2,
        "Road 'r' is in this load already, at ",
    ),
    "unique in the load": (
        [town("a", mail="m"), town("b", mail="m"), town("c")],
        2,
        "Town.mail is 'm' in both 'a' and 'b'",
    ),
    "unique among three": (
        [town("a", mail="m"), town("b", mail="m"), town("c", mail="m")],
        2,
        "Town.mail is 'm' in both 'a' and 'b'",
    ),
    "unique in the graph": ([town("b"), town("a", mail="o@x")], 2, "Town.mail is 'o@x' in both 'a' and 'old'"),
    "too many edges": (
        [
            *({"type": "Year", "data": {"number": n}} for n in (1, 2)),
            *({"edge": "Founded", "from": "old", "to": n} for n in (1, 2)),
        ],
        4,
        "Town 'old' would have 2 Founded edges",
    ),
}


@pytest.mark.parametrize("name", CROSS)
def test_rules_about_several_rows_hold_for_loads(tmp_path: Path, name: str) -> None:
    lines, line, said = CROSS[name]
    file = jsonl(tmp_path, lines)
    error = refusal(tmp_path, file)
    assert isinstance(error, ConstraintViolation | KeyConflict)
    assert said in str(error)
    assert str(error).startswith(f"{file}, line {line}: ")
