"""Inputs with mistakes of every kind, and the local loader as the judge of what has to be refused, row by row."""

from __future__ import annotations

import csv
import json
import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import omnigraph_sql as og
from omnigraph_sql.base.errors import ConstraintViolation, DataError, KeyConflict
from omnigraph_sql.spark.report import Refusal

SCHEMA = """
node Town {
    code: String @key
    name: String
    people: U32?
    height: F64?
    kind: enum(big, small)?
    since: Date?
    @unique(name)
    @range(height, 0.0..9000.0)
    @check(code, "^[a-z]+$")
}
node Tag { label: String }
edge Road: Town -> Town @card(0..3) { name: String  miles: I32?  @key(src, dst, name) }
edge Marks: Tag -> Town
"""
BASE = [
    {"type": "Town", "data": {"code": "old", "name": "Old"}},
    {"type": "Town", "data": {"code": "older", "name": "Older", "people": 5}},
    {"type": "Tag", "data": {"id": "t0", "label": "first"}},
    {"edge": "Road", "from": "old", "to": "older", "data": {"name": "r0"}},
    {"edge": "Road", "from": "old", "to": "old", "data": {"name": "r1"}},
]
_FREE = re.compile(r"'[0-9A-Z]{26}'")
"""Ids that are made on the way differ from load to load."""


@dataclass(frozen=True, slots=True)
class Told:
    """A refusal without what differs by chance: the line, and what is said behind it."""

    line: int | None
    reason: str
    code: str
    hint: str | None

    @classmethod
    def of(cls, path: Path, line: int | None, reason: str, code: str, hint: str | None) -> Told:
        return cls(line, _FREE.sub("'…'", reason.replace(str(path), "FILE")), code, hint)

    @classmethod
    def by_spark(cls, path: Path, refusal: Refusal) -> Told:
        place = f"{path}, line {refusal.row}: "
        assert refusal.reason.startswith(place), refusal.reason
        return cls.of(path, refusal.row, refusal.reason.removeprefix(place), refusal.code, refusal.hint)


def graph(folder: Path, name: str) -> og.Graph:
    made = og.init(folder / f"{name}.omni", schema=SCHEMA)
    start = folder / f"{name}-base.jsonl"
    start.write_text("".join(json.dumps(line) + "\n" for line in BASE))
    made.load(start, mode="append")
    return made


def lines(chance: random.Random, count: int) -> list[str]:
    """Lines of which about one in three is wrong in some way."""
    towns = [chr(97 + n) for n in range(12)]
    made = []
    for _ in range(count):
        pick = chance.random()
        if pick < 0.5:
            made.append(_town(chance, towns))
        elif pick < 0.85:
            made.append(_road(chance, towns))
        elif pick < 0.95:
            made.append(json.dumps({"edge": "Marks", "from": chance.choice(["t0", "t9"]), "to": chance.choice(towns)}))
        else:
            made.append(chance.choice(_BROKEN))
    return made


_BROKEN = [
    "",
    "{",
    "[1]",
    '{"type": "City", "data": {}}',
    '{"type": "Town", "edge": "Road"}',
    '{"type": "Town", "data": {"code": "x", "code": "y", "name": "z"}}',
    '{"type": "Town", "data": {"code": "x"}} {}',
    '{"edge": "Road", "to": "a"}',
    '{"type": "Town", "data": {"code": "lone\\ud800", "name": "n"}}',
]


def _town(chance: random.Random, towns: list[str]) -> str:
    data: dict[str, object] = {"code": chance.choice([*towns, "old", "Bad", "b4d"]), "name": f"N{chance.randrange(30)}"}
    if chance.random() < 0.1:
        data["name"] = chance.choice(["Old", "Older", None, 7])
    if chance.random() < 0.3:
        data["people"] = chance.choice([1, 4294967295, 4294967296, -1, 1.5, "3", True])
    if chance.random() < 0.3:
        data["height"] = chance.choice([0, 9000, 9000.5, -0.1, 3])
    if chance.random() < 0.2:
        data["kind"] = chance.choice(["big", "small", "huge"])
    if chance.random() < 0.2:
        data["since"] = chance.choice(["2001-02-03", "2001-02-30", "soon", "1500-01-01"])
    if chance.random() < 0.05:
        data["mayor"] = "who"
    return json.dumps({"type": "Town", "data": data})


def _road(chance: random.Random, towns: list[str]) -> str:
    data: dict[str, object] = {"name": f"r{chance.randrange(40)}"}
    if chance.random() < 0.2:
        data["miles"] = chance.choice([1, 2**31, "far", None])
    ends = [*towns, "old", "nowhere"]
    return json.dumps({"edge": "Road", "from": chance.choice(ends), "to": chance.choice(ends), "data": data})


HEADER = "code,name,people,height,kind,since"


_CODES = ["old", "Bad", '"b4d"', ""]


def _mostly(chance: random.Random, good: list[str], bad: list[str]) -> str:
    return chance.choice(bad if chance.random() < 0.06 else good)


def csv_lines(chance: random.Random, count: int) -> list[str]:
    """Towns as lines of `.csv` after their header, about one in three of them wrong in some way."""
    made = [HEADER]
    for _ in range(count):
        pick = chance.random()
        if pick < 0.05:
            made.append(chance.choice(["", "x", "x,y,1,2", "x,y,1,2,big,2001-02-03,more", '"x","q""uote",,,,']))
            continue
        town = [_mostly(chance, [chr(97 + n) + chr(97 + m) for n in range(6) for m in range(6)], _CODES)]
        town.append(_mostly(chance, [f"N{n}" for n in range(300)], ["Old", "", '""', '"O, ld"', " Old", "N1"]))
        town.append(_mostly(chance, ["", "1", "4294967295"], ["4294967296", "-1", "1.5", "x"]))
        town.append(_mostly(chance, ["", "0", "9000", "1e3"], ["9000.5", "-0.1", "nan"]))
        town.append(_mostly(chance, ["", "big", "small"], ["huge"]))
        town.append(_mostly(chance, ["", "2001-02-03"], ["2001-02-30", "soon"]))
        made.append(",".join(town))
    return made


def _town_of(line: str) -> dict[str, object]:
    (values,) = csv.reader([line])
    return {"type": "Town", "data": dict(zip(HEADER.split(","), values, strict=False))}


def judged(folder: Path, made: og.Graph, rows: list[str], mode: str, *, type: str | None = None) -> list[Told]:
    """Load with the local loader, taking the refused row out each time, until nothing is refused.

    Which row to take out follows from the refusal: the line it names, or the row with the id it names. Of rows that
    share a unique value the first one stays; of a source with too many edges, all of this load go. With a type, the
    rows are lines of `.csv`.
    """
    path = folder / ("local.jsonl" if type is None else "local.csv")
    left = list(rows)
    told: list[Told] = []
    for _ in range(4 * len(rows) + 1):
        path.write_text("".join(line + "\n" for line in left))
        try:
            made.load(path, mode=mode, type=type)
            return told
        except DataError as error:
            told += _taken_out(error, left, path, merges=mode == "merge")
    raise AssertionError("the local loader never came to an end")


def _taken_out(error: DataError, left: list[str], path: Path, *, merges: bool) -> list[Told]:
    named = re.match(rf"{re.escape(str(path))}, line (\d+): ", error.message)
    assert named is not None, error.message
    if not _is_about_several(error):
        at = int(named[1])
        left[at - 1] = ""
        return [Told.of(path, at, error.message[named.end() :], error.code, error.hint)]
    if path.suffix == ".csv":
        rows = [(place, _town_of(line)) for place, line in enumerate(left) if line and line != HEADER]
    else:
        rows = [(place, json.loads(line)) for place, line in enumerate(left) if line]
    found = []
    ids = {place: own(row) for place, row in rows}
    for place in _places(error, rows):
        if not left[place]:
            continue
        # Of rows with one id a merge keeps the last: that one is refused, and those before it have gone already.
        same = [p for p, one in ids.items() if one == ids[place] is not None] if merges else [place]
        for one in same or [place]:
            left[one] = ""
        at = max(same or [place]) + 1
        found.append(Told.of(path, at, error.message[named.end() :], error.code, error.hint))
    assert int(named[1]) in [told.line for told in found], error.message
    return found


def _is_about_several(error: DataError) -> bool:
    """Whether the row was refused because of others, of which the refusal need not name the line."""
    if isinstance(error, KeyConflict):
        return error.message.endswith("it exists already")
    return isinstance(error, ConstraintViolation) and error.rule in ("card", "unique", "endpoint")


def _places(error: DataError, rows: list[tuple[int, dict[str, Any]]]) -> list[int]:
    """Lines a refusal because of other rows is about."""
    match error:
        case KeyConflict():
            return [place for place, row in rows if own(row) == error.id][:1]
        case ConstraintViolation(rule="card"):
            source = error.ids[0]
            return [place for place, row in rows if row.get("edge") == "Road" and row["from"] == source]
        case ConstraintViolation(rule="unique"):
            # The first of the two stays, unless the other one is in the graph already.
            second = [place for place, row in rows if own(row) == error.ids[1]]
            return (second or [place for place, row in rows if own(row) == error.ids[0]])[:1]
        case ConstraintViolation(rule="endpoint"):
            side = "from" if "comes from" in error.message else "to"
            same = [(p, r) for p, r in rows if "edge" in r and r[side] == error.value and r["edge"] == error.type]
            return [p for p, r in same if own(r) in (error.ids[0], None)][:1]
        case _:
            return []


def own(row: dict[str, Any]) -> str | None:
    """The id of a row, where it follows from what it holds."""
    data = row.get("data", {})
    assert isinstance(data, dict)
    if row.get("type") == "Town":
        return str(data["code"])
    if row.get("edge") == "Road":
        return json.dumps([row["from"], row["to"], data["name"]], separators=(",", ":"), ensure_ascii=False)
    return None
