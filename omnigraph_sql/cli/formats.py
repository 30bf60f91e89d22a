"""Rows as text: the forms of `--format`. Streaming forms hold one batch at a time, the others all rows."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from omnigraph_sql.base.spelling import as_text, plain

if TYPE_CHECKING:
    import pyarrow as pa

    from omnigraph_sql.result import Result

Row = tuple[Any, ...]
Writer = Callable[[tuple[str, ...], Iterator[list[Row]]], Iterator[str]]

_NULL: Final = "NULL"
_TSV_NULL: Final = "\\N"
_TSV_ESCAPES: Final = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def written(result: Result, form: str) -> Iterator[str]:
    """The text of a result in pieces, each without its last line break; nothing for a result without columns."""
    if result.columns:
        yield from FORMS[form](result.columns, _batches(result.batches()))


def _batches(reader: pa.RecordBatchReader) -> Iterator[list[Row]]:
    for batch in reader:
        if batch.num_rows:
            yield list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


# ---- values -----------------------------------------------------------------------------------------------------


def _json(row: dict[str, object]) -> str:
    return json.dumps(plain(row), ensure_ascii=False)


def cell(value: object) -> str:
    """A value on one line of a screen: nothing in it can move the cursor or colour the terminal."""
    if value is None:
        return _NULL
    return "".join(c if c.isprintable() else _escaped(c) for c in as_text(value))


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()


def width(shown: str) -> int:
    """Columns a text takes on a screen."""
    if shown.isascii():
        return len(shown)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in shown)
    return len(shown) + wide - sum(unicodedata.combining(c) != 0 for c in shown)


def _pad(shown: str, to: int, right: bool) -> str:
    blanks = " " * (to - width(shown))
    return blanks + shown if right else shown + blanks


# ---- forms ------------------------------------------------------------------------------------------------------


def _all(batches: Iterator[list[Row]]) -> list[Row]:
    return [row for batch in batches for row in batch]


def _numeric(column: Iterable[object]) -> bool:
    seen = [type(value) for value in column if value is not None]
    return bool(seen) and all(kind in (int, float, Decimal) for kind in seen)


def _grid(columns: Sequence[str], rows: list[Row]) -> tuple[list[list[str]], list[int], list[bool]]:
    """Cells with the header first, the width of each column, and whether it is set to the right."""
    cells = [[cell(name) for name in columns], *([cell(value) for value in row] for row in rows)]
    widths = [max(width(line[place]) for line in cells) for place in range(len(columns))]
    return cells, widths, [_numeric(row[place] for row in rows) for place in range(len(columns))]


def table(columns: tuple[str, ...], batches: Iterator[list[Row]]) -> Iterator[str]:
    cells, widths, right = _grid(columns, _all(batches))
    lines = ["  ".join(map(_pad, line, widths, right)).rstrip() for line in cells]
    lines.insert(1, "  ".join("-" * w for w in widths))
    yield "\n".join(lines)


def markdown(columns: tuple[str, ...], batches: Iterator[list[Row]]) -> Iterator[str]:
    rows = _all(batches)
    right = [_numeric(row[place] for row in rows) for place in range(len(columns))]
    lines = [[cell(value).replace("\\", "\\\\").replace("|", "\\|") for value in row] for row in (columns, *rows)]
    lines.insert(1, ["---:" if r else "---" for r in right])
    yield "\n".join(f"| {' | '.join(line)} |" for line in lines)


def vertical(columns: tuple[str, ...], batches: Iterator[list[Row]]) -> Iterator[str]:
    names = [cell(name) for name in columns]
    indent = max(map(width, names))
    number = 0
    for batch in batches:
        lines = []
        for row in batch:
            number += 1
            lines.append(f"-- row {number}")
            lines += [f"{_pad(n, indent, False)}  {cell(v)}".rstrip() for n, v in zip(names, row, strict=True)]
        yield "\n".join(lines)


def csv(columns: tuple[str, ...], batches: Iterator[list[Row]]) -> Iterator[str]:
    """RFC 4180 with plain line breaks. Null is an empty field, the empty text is `""`."""
    yield ",".join(map(_quoted, columns))
    for batch in batches:
        yield "\n".join(",".join(map(_quoted, row)) for row in batch)


def _quoted(value: object) -> str:
    if value is None:
        return ""
    shown = as_text(value)
    if not shown or any(c in ',"\r\n' for c in shown) or shown != shown.strip():
        doubled = shown.replace('"', '""')
        return f'"{doubled}"'
    return shown


def tsv(columns: tuple[str, ...], batches: Iterator[list[Row]]) -> Iterator[str]:
    r"""Null is `\N`; tabs, line breaks and backslashes inside values are escaped with a backslash."""
    yield "\t".join(name.translate(_TSV_ESCAPES) for name in columns)
    for batch in batches:
        yield "\n".join("\t".join(map(_tabbed, row)) for row in batch)


def _tabbed(value: object) -> str:
    return _TSV_NULL if value is None else as_text(value).translate(_TSV_ESCAPES)


def jsonl(columns: tuple[str, ...], batches: Iterator[list[Row]]) -> Iterator[str]:
    names = distinct(columns)
    for batch in batches:
        yield "\n".join(_json(dict(zip(names, row, strict=True))) for row in batch)


def json_list(columns: tuple[str, ...], batches: Iterator[list[Row]]) -> Iterator[str]:
    names = distinct(columns)
    held: str | None = None  # only the last piece has no comma behind it
    for batch in batches:
        yield "[" if held is None else f"{held},"
        held = ",\n".join(f"  {_json(dict(zip(names, row, strict=True)))}" for row in batch)
    if held is None:
        yield "[]"
    else:
        yield held
        yield "]"


def distinct(columns: Iterable[str]) -> list[str]:
    """Names an object can hold side by side: a repeated one gets a number."""
    seen: set[str] = set()
    names = []
    for name in columns:
        fresh, number = name, 1
        while fresh in seen:
            number += 1
            fresh = f"{name}_{number}"
        seen.add(fresh)
        names.append(fresh)
    return names


FORMS: Final[dict[str, Writer]] = {
    "table": table,
    "vertical": vertical,
    "csv": csv,
    "tsv": tsv,
    "json": json_list,
    "jsonl": jsonl,
    "markdown": markdown,
}
