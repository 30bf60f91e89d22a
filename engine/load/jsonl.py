"""`.jsonl`: one graph row per line.

A node is `{"type": T, "data": {…}}`, an edge `{"edge": E, "from": id, "to": id, "data": {…}}`; `id` may stand beside
`data` or in it. What is accepted is decided line by line in `jsonl_line.py`. Here, blocks of ordinary lines are handed
to Arrow's parser instead, with the exact types of one table, wherever it accepts no more than that; a block that Arrow
refuses is read again line by line, which finds the line and the reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import DST, ID, SRC, Catalog, EdgeType, TableType
from omnigraph_sql.base.errors import DataError, ResourceLimitExceeded
from omnigraph_sql.base.identity import key_members
from omnigraph_sql.base.types import BOOL, is_integer
from omnigraph_sql.engine.load.forms import Form, opened, packing_of
from omnigraph_sql.engine.load.jsonl_line import Line, chunks_of, read_line
from omnigraph_sql.engine.load.shapes import raw_type
from omnigraph_sql.engine.load.values import Chunk, Spelling

BLOCK_BYTES: Final = 8 * 1024 * 1024
_PIECE_BYTES: Final = 1024 * 1024
_HEADER: Final = re.compile(rb'\{[ \t]*"(type|edge)"[ \t]*:[ \t]*"([^"\\]*)"')
_PREFIXES_MAX: Final = 64
_BOM: Final = b"\xef\xbb\xbf"
_BLANK: Final = b" \t\r"

_Numbers: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.int64]]"


def read_jsonl(path: Path, catalog: Catalog) -> Iterator[Chunk]:
    """The rows of a file, block after block. Raises DataError with the file and the line."""
    reader = JsonLines(str(path), catalog)
    for block, first in _blocks(path):
        yield from reader.chunks(block, first)


def _blocks(path: Path) -> Iterator[tuple[bytes, int]]:
    """Whole lines, about BLOCK_BYTES of them at once, with the number of the first."""
    number, held = 1, bytearray()
    begun = False
    for part in _parts(path):
        if not begun:
            part, begun = part.removeprefix(_BOM), True
        cut = part.rfind(b"\n") + 1
        if cut:
            held += part[:cut]
            block = bytes(held)
            yield block, number
            number += block.count(b"\n")
            held = bytearray(part[cut:])
        else:
            held += part
        if len(held) > limits.LOAD_LINE_BYTES_MAX:
            raise _too_long(str(path), number, len(held))
    if held:
        yield bytes(held), number


def _parts(path: Path) -> Iterator[bytes]:
    """The bytes of a file, unpacked. Raises DataError when they cannot be."""
    if packing_of(path) is None:
        with open(path, "rb", buffering=0) as file:
            while part := file.read(BLOCK_BYTES):
                yield part
        return
    with opened(path, Form("graph")) as packed:
        while True:
            try:
                part = packed.read(BLOCK_BYTES)
            except (OSError, EOFError) as error:
                raise DataError(f"{path} cannot be unpacked: {error}") from error
            if not part:
                return
            yield part


def _too_long(path: str, number: int, size: int) -> ResourceLimitExceeded:
    return ResourceLimitExceeded(
        f"{path}, line {number}: the line is longer than {limits.LOAD_LINE_BYTES_MAX} bytes",
        resource="load_line_bytes",
        limit=limits.LOAD_LINE_BYTES_MAX,
        actual=size,
        hint="put every row on a line of its own",
    )


@dataclass(slots=True)
class JsonLines:
    """Blocks of whole lines → chunks. Refusals name `path` and the line, counted from the number of the first one."""

    path: str
    catalog: Catalog
    ends: dict[str, tuple[pa.DataType, pa.DataType]] = field(default_factory=dict)
    """Of what types the ends of each edge type were the last time."""

    def chunks(self, block: bytes, first: int) -> Iterator[Chunk]:
        self._refuse_bad_text(block, first)
        starts, ends = _lines(block)
        self._refuse_long(starts, ends, first)
        size = len(block)
        groups = self._groups(block, starts, ends)
        if groups is None:
            yield from self._slowly(block, starts, ends, np.arange(len(starts)), first, size)
            return
        for of, lines, places in groups:
            fast = self._fast(of, lines)
            if fast is None:
                yield from self._slowly(block, starts, ends, places, first, size)
            else:
                yield Chunk(of, fast, len(places), Spelling.JSON, self._place(places + first), size)
            size = 0

    def _place(self, numbers: _Numbers) -> Callable[[int], str]:
        path = self.path
        return lambda row: f"{path}, line {int(numbers[row])}"

    def _refuse_bad_text(self, block: bytes, first: int) -> None:
        if block.isascii():
            return
        try:
            block.decode()
        except UnicodeDecodeError as error:
            number = first + block.count(b"\n", 0, error.start)
            raise DataError(f"{self.path}, line {number}: the text is not UTF-8") from None

    def _refuse_long(self, starts: _Numbers, ends: _Numbers, first: int) -> None:
        sizes = ends - starts
        if len(sizes) and int(sizes.max()) > limits.LOAD_LINE_BYTES_MAX:
            place = int(np.argmax(sizes > limits.LOAD_LINE_BYTES_MAX))
            raise _too_long(self.path, first + place, int(sizes[place]))

    # ---- ordinary lines, all at once ----------------------------------------------------------------------------

    def _groups(
        self, block: bytes, starts: _Numbers, ends: _Numbers
    ) -> list[tuple[TableType, pa.Array, _Numbers]] | None:
        """The lines of a block by table, in order; None when one of them is out of the ordinary.

        Each line begins with `{` and ends with `}`: then no object can go on in the next line, and as many objects as
        lines means one in each.
        """
        octets = np.frombuffer(block, np.uint8)
        last = np.where((ends > starts) & (octets[np.maximum(ends - 1, 0)] == ord("\r")), ends - 1, ends)
        filled = last > starts
        if not filled.any():
            return []
        starts, last, ends = starts[filled], last[filled], ends[filled]
        plain = (octets[starts] == ord("{")) & (octets[last - 1] == ord("}"))
        if not plain.all() or int((last - starts).max()) > limits.LOAD_LINE_ELEMENTS_MAX:
            return None
        return self._by_type(block, starts, ends, np.flatnonzero(filled))

    def _by_type(
        self, block: bytes, starts: _Numbers, ends: _Numbers, places: _Numbers
    ) -> list[tuple[TableType, pa.Array, _Numbers]] | None:
        lines = _line_array(block, starts, ends)
        found: list[tuple[TableType, pa.Array, _Numbers]] = []
        while len(lines):
            header = _HEADER.match(lines[0].as_py())
            of = self._type(header)
            if header is None or of is None or len(found) == _PREFIXES_MAX or any(of is known for known, _, _ in found):
                return None
            same = pc.starts_with(lines, header.group(0))
            if pc.all(same).as_py():
                return [*found, (of, lines, places)]
            mask = same.to_numpy(zero_copy_only=False)
            found.append((of, lines.filter(same), places[mask]))
            lines, places = lines.filter(pc.invert(same)), places[~mask]
        return found

    def _type(self, header: re.Match[bytes] | None) -> TableType | None:
        if header is None:
            return None
        name = header.group(2).decode()
        return self.catalog.node(name) if header.group(1) == b"type" else self.catalog.edge(name)

    def _fast(self, of: TableType, lines: pa.Array) -> pa.Table | None:
        """The columns of lines of one type; None when Arrow refuses them, or might have accepted too much."""
        body = _bytes_of(lines)
        ways = _end_types(of, self.catalog) if isinstance(of, EdgeType) else [(pa.utf8(), pa.utf8())]
        ways.sort(key=lambda way: way != self.ends.get(of.name))
        for ends in ways:
            found = _parsed(of, body, ends)
            if found is not None:
                self.ends[of.name] = ends
                return _columns(of, found, len(lines), body)
        return None

    # ---- line by line -------------------------------------------------------------------------------------------

    def _slowly(
        self, block: bytes, starts: _Numbers, ends: _Numbers, places: _Numbers, first: int, size: int
    ) -> Iterator[Chunk]:
        lines: list[Line] = []
        for place in places.tolist():
            text = block[starts[place] : ends[place]].strip(_BLANK)
            if text:
                lines.append(read_line(text.decode(), f"{self.path}, line {first + place}", self.catalog))
        yield from chunks_of(lines, size)


def _lines(block: bytes) -> tuple[_Numbers, _Numbers]:
    """Where lines begin and end, without their line feeds."""
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n")).astype(np.int64)
    starts = np.concatenate((np.zeros(1, np.int64), ends + 1))
    if block.endswith(b"\n"):
        return starts[:-1], ends
    return starts, np.append(ends, len(block))


def _line_array(block: bytes, starts: _Numbers, ends: _Numbers) -> pa.Array:
    """The lines with what lies between them, without copying when they follow each other."""
    stops = np.append(starts[1:], ends[-1])
    if int((stops - ends).max()) <= 1:
        offsets = np.append(starts, ends[-1]).astype(np.int32)
        return pa.Array.from_buffers(pa.binary(), len(starts), [None, pa.py_buffer(offsets), pa.py_buffer(block)])
    return pa.array([block[a:b] + b"\n" for a, b in zip(starts.tolist(), ends.tolist(), strict=True)], pa.binary())


def _bytes_of(lines: pa.Array) -> pa.Buffer:
    _, offsets, data = lines.buffers()
    if offsets is None or data is None:
        return pa.py_buffer(b"")
    bounds = np.frombuffer(offsets, np.int32)
    first, last = int(bounds[lines.offset]), int(bounds[lines.offset + len(lines)])
    return data.slice(first, last - first)


def _end_types(of: EdgeType, catalog: Catalog) -> list[tuple[pa.DataType, pa.DataType]]:
    """What the ends of an edge may be: texts, or values of a single key that JSON spells without quotes."""
    sides = []
    for name in (of.source, of.target):
        node = catalog.node(name)
        members = key_members(node) if node is not None else ()
        bare = len(members) == 1 and (is_integer(members[0].type) or members[0].type == BOOL)
        sides.append([pa.utf8(), raw_type(members[0].type)] if bare else [pa.utf8()])
    return [(source, target) for source in sides[0] for target in sides[1]]


def _parsed(of: TableType, body: pa.Buffer, types: tuple[pa.DataType, pa.DataType]) -> pa.Table | None:
    edge = isinstance(of, EdgeType)
    head = [("edge" if edge else "type", pa.utf8()), (ID, pa.utf8())]
    ends = [("from", types[0]), ("to", types[1])] if edge else []
    inside = pa.struct([(ID, pa.utf8()), *((p.name, raw_type(p.type)) for p in of.properties)])
    options = pj.ParseOptions(
        explicit_schema=pa.schema([*head, *ends, ("data", inside)]), unexpected_field_behavior="error"
    )
    try:
        return pj.read_json(pa.BufferReader(body), pj.ReadOptions(block_size=_PIECE_BYTES), options)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, UnicodeDecodeError):
        return None


def _columns(of: TableType, found: pa.Table, lines: int, body: pa.Buffer) -> pa.Table | None:
    """The columns by their names in the table; None when Arrow was more generous than a reader of lines is."""
    if found.num_rows != lines:
        return None
    data = found["data"]
    if data.null_count and _mentions_null(body):
        return None
    inside = pa.Table.from_batches([_flat(chunk) for chunk in data.chunks])
    given = inside[ID] if inside[ID].null_count < lines else found[ID]
    if inside[ID].null_count < lines and found[ID].null_count < lines:
        return None
    columns: dict[str, pa.ChunkedArray] = {ID: given}
    if isinstance(of, EdgeType):
        if found["from"].null_count or found["to"].null_count:
            return None
        columns |= {SRC: found["from"], DST: found["to"]}
    columns |= {p.name: inside[p.name] for p in of.properties}
    return pa.table(columns) if _all_finite(of, columns) else None


def _flat(data: pa.StructArray) -> pa.RecordBatch:
    names = [data.type.field(place).name for place in range(data.type.num_fields)]
    return pa.RecordBatch.from_arrays(data.flatten(), names=names)


def _mentions_null(body: pa.Buffer) -> bool:
    return b"null" in body.to_pybytes()


def _all_finite(of: TableType, columns: Mapping[str, pa.ChunkedArray]) -> bool:
    """Arrow reads NaN and Infinity, which are not JSON."""
    for p in of.properties:
        values = columns[p.name]
        if pa.types.is_list(values.type):
            values = pc.list_flatten(values)
        if pa.types.is_floating(values.type) and pc.all(pc.is_finite(values)).as_py() is False:
            return False
    return True
