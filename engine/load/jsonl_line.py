"""One line of a `.jsonl` file, read strictly."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

import pyarrow as pa

from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import DST, ID, SRC, Catalog, EdgeType, NodeType, TableType
from omnigraph_sql.base.errors import DataError, ResourceLimitExceeded, ValueOutOfRange
from omnigraph_sql.base.identity import canonical_text, key_members
from omnigraph_sql.base.types import STRING
from omnigraph_sql.engine.load.places import placed
from omnigraph_sql.engine.load.shapes import raw_type, shaped
from omnigraph_sql.engine.load.values import Chunk, Spelling

_ELEMENTS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]')
_PLAIN: Final = "COPY TYPE FROM 'file.jsonl' takes lines that are rows of one type"
_SAYS: Final = 'write {"type": …, "data": {…}} or {"edge": …, "from": …, "to": …, "data": {…}}'


@dataclass(frozen=True, slots=True)
class Line:
    """A row and where it stands. `values` are those of the table's columns, null where the line says nothing."""

    type: TableType
    place: str
    values: tuple[object, ...]


def read_line(text: str, place: str, catalog: Catalog) -> Line:
    """Raises DataError with the place in front."""
    try:
        return _row(_object(text, place), place, catalog)
    except DataError as error:
        raise placed(error, place) from None


def read_columns(text: str, place: str, of: TableType, catalog: Catalog) -> Line:
    """A line that is an object of the columns of one table. Raises DataError with the place in front."""
    try:
        found = _object(text, place)
        ends = {"from": SRC, "to": DST} if isinstance(of, EdgeType) else {}
        for name, column in ends.items():
            if column in found and name in found:
                raise DataError(f"the line has both {name!r} and {column!r}")
        outside = {name: found[c] for name, column in ends.items() for c in (name, column) if c in found}
        inside = {name: value for name, value in found.items() if name not in {*ends, *ends.values()}}
        kind = "edge" if isinstance(of, EdgeType) else "type"
        return _row({kind: of.name, **outside, "data": inside}, place, catalog)
    except DataError as error:
        raise placed(error, place) from None


class _Twice(DataError):
    """A member that an object has twice."""


def _object(text: str, place: str) -> dict[str, object]:
    if len(text) > limits.LOAD_LINE_ELEMENTS_MAX:
        _refuse_elements(text, place)
    try:
        found = json.loads(text, object_pairs_hook=_members, parse_constant=_no_number)
    except _Twice:
        raise
    except json.JSONDecodeError as error:
        extra = error.msg == "Extra data"
        why = "more than one value on a line" if extra else f"{error.msg} at column {error.colno}"
        raise DataError(f"this is not one JSON object: {why}", hint="put every object on one line of its own") from None
    except RecursionError:
        raise DataError("values are nested too deeply") from None
    except ValueError as error:
        raise DataError(f"this is not one JSON object: {error}") from None
    if not isinstance(found, dict):
        raise DataError("a line holds one JSON object", hint=_SAYS)
    return found


def _refuse_elements(text: str, place: str) -> None:
    """Brackets, commas and colons outside of texts are counted before anything is built from them."""
    count = sum(1 for found in _ELEMENTS.finditer(text) if found.group()[0] != '"')
    if count > limits.LOAD_LINE_ELEMENTS_MAX:
        raise ResourceLimitExceeded(
            f"{place}: the line has {count} structural elements, at most {limits.LOAD_LINE_ELEMENTS_MAX} are read",
            resource="load_line_elements",
            limit=limits.LOAD_LINE_ELEMENTS_MAX,
            actual=count,
        )


def _members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _Twice(f"member {twice!r} occurs twice")
    return found


def _no_number(word: str) -> NoReturn:
    raise DataError(f"{word} is not JSON")


def _row(found: dict[str, object], place: str, catalog: Catalog) -> Line:
    of = _type(found, catalog)
    allowed = {"edge", "from", "to", "data", ID} if isinstance(of, EdgeType) else {"type", "data", ID}
    for name in found:
        if name not in allowed:
            raise DataError(f"member {name!r} is not known here", hint=_SAYS)
    data = found.get("data", {})
    if not isinstance(data, dict):
        raise DataError("data is an object of properties")
    for name in data:
        if name != ID and of.property(name) is None:
            raise DataError(f"{of.name} has no property {name!r}", hint=f"it has {_properties(of)}")
    own = _own_id(found, data)
    values: list[object] = [own]
    if isinstance(of, EdgeType):
        values += [_end(found, "from", of.source, catalog), _end(found, "to", of.target, catalog)]
    for p in of.properties:
        try:
            values.append(shaped(data.get(p.name), p.type))
        except DataError as error:
            raise placed(error, f"{of.name}.{p.name}") from None
    return Line(of, place, tuple(values))


def _properties(of: TableType) -> str:
    return ", ".join(p.name for p in of.properties) or "no properties"


def _type(found: dict[str, object], catalog: Catalog) -> TableType:
    if ("type" in found) == ("edge" in found):
        both = "both type and edge" if "type" in found else "neither type nor edge"
        raise DataError(f"the line has {both}", hint=_SAYS if "type" in found else f"{_SAYS}; {_PLAIN}")
    kind = "type" if "type" in found else "edge"
    name = found[kind]
    if not isinstance(name, str):
        raise DataError(f"{kind} is the name of a type, a text")
    of = catalog.node(name) if kind == "type" else catalog.edge(name)
    if of is None:
        known = ", ".join(t.name for t in (catalog.nodes if kind == "type" else catalog.edges))
        raise DataError(
            f"there is no {'node' if kind == 'type' else 'edge'} type {name!r}",
            hint=f"the schema has {known or 'none'}",
        )
    return of


def _own_id(found: dict[str, object], data: dict[str, object]) -> object:
    given = [value for value in (found.get(ID), data.get(ID)) if value is not None]
    if len(given) == 2:
        raise DataError("the id stands both beside data and in it")
    if not given:
        return None
    if not isinstance(given[0], str):
        raise DataError("an id is a text")
    return shaped(given[0], STRING)


def _end(found: dict[str, object], name: str, node: str, catalog: Catalog) -> object:
    """An id, or the value of the node's only key as the text that is its id."""
    value = found.get(name)
    if value is None:
        raise DataError(f"the edge has no {name!r}", hint=_SAYS)
    if isinstance(value, str):
        return shaped(value, STRING)
    of = catalog.node(node)
    members = key_members(of) if isinstance(of, NodeType) else ()
    if len(members) != 1 or not isinstance(value, bool | int | float):
        raise DataError(f"{name!r} is the id of a {node}, a text")
    try:
        return canonical_text(shaped(value, members[0].type), members[0].type)
    except (DataError, ValueOutOfRange) as error:
        raise placed(error, f"{name!r} is a key of {node}") from None


def chunks_of(lines: Sequence[Line], size: int) -> Iterator[Chunk]:
    """The lines by table, each table's in order."""
    by_type: dict[int, list[Line]] = {}
    for line in lines:
        by_type.setdefault(id(line.type), []).append(line)
    for group in by_type.values():
        of = group[0].type
        names = [f.name for f in of.schema.fields]
        types = [pa.utf8() if f.name in (ID, SRC, DST) else raw_type(f.type) for f in of.schema.fields]
        columns = zip(*(line.values for line in group), strict=True)
        arrays = [pa.array(values, kind) for values, kind in zip(columns, types, strict=True)]
        places = [line.place for line in group]
        yield Chunk(of, pa.Table.from_arrays(arrays, names=names), len(group), Spelling.JSON, places.__getitem__, size)
        size = 0
