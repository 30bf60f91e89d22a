"""Rows on a screen: a box with the first and the last rows, or one value per line. Pure and by columns, for speed.

Cells come from Arrow columns. What makes a cell of a value is handed in: the command line has a way, and it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from wcwidth import wcswidth, wcwidth

if TYPE_CHECKING:
    import pyarrow as pa

Cell = Callable[[object], str]
"""A value that is not null as one line that cannot move the cursor."""

_DIM: Final = "\x1b[2m"
_BOLD: Final = "\x1b[1m"
_PLAIN: Final = "\x1b[0m"
_DOTS: Final = "·"
_ELLIPSIS: Final = "…"
_NARROWEST: Final = 4
_ROWS_MIN, _ROWS_MAX = 4, 40
_LINES_AROUND_ROWS: Final = 11
"""Four above, three of dots, two below, the prompt and the toolbar."""
_VERTICAL_RULE: Final = 8


@dataclass(frozen=True, slots=True)
class Look:
    """How rows are shown: the width of the screen, rows at most (0 for all), characters per cell, colours."""

    columns: int = 80
    rows: int = 40
    cell_characters: int = 200
    null: str = "NULL"
    colour: bool = False

    def __post_init__(self) -> None:
        if self.columns < 1 or self.rows < 0 or self.cell_characters < 1:
            raise ValueError("a look has a width, a number of rows and a width of cells")

    def dim(self, text: str) -> str:
        return f"{_DIM}{text}{_PLAIN}" if self.colour else text

    def bold(self, text: str) -> str:
        return f"{_BOLD}{text}{_PLAIN}" if self.colour else text


@dataclass(frozen=True, slots=True)
class Column:
    """A column as text: `cells` hold None for null; `width` is the widest of the shown texts."""

    name: str
    kind: str
    cells: list[str | None]
    right: bool
    width: int


def width(text: str) -> int:
    """Columns a text takes on a screen; nothing in it moves the cursor."""
    if text.isascii():
        return len(text)
    known: int = wcswidth(text)
    return known if known >= 0 else sum(max(wcwidth(c), 0) for c in text)


def cut(text: str, to: int) -> str:
    """The beginning of a text, `to` columns wide at most, with an ellipsis where something is missing."""
    if width(text) <= to:
        return text
    taken, used = [], 0
    for character in text:
        used += max(wcwidth(character), 0)
        if used > to - 1:
            break
        taken.append(character)
    return "".join(taken) + _ELLIPSIS


# ---- types ------------------------------------------------------------------------------------------------------

_KINDS: Final = {
    "string": "String",
    "large_string": "String",
    "string_view": "String",
    "bool": "Bool",
    "int8": "I8",
    "int16": "I16",
    "int32": "I32",
    "int64": "I64",
    "uint8": "U8",
    "uint16": "U16",
    "uint32": "U32",
    "uint64": "U64",
    "halffloat": "F16",
    "float": "F32",
    "double": "F64",
    "date32[day]": "Date",
    "binary": "Blob",
    "large_binary": "Blob",
    "null": "Null",
}


def kind_text(of: pa.DataType) -> str:
    """An Arrow type in the words of the schema language; in Arrow's own where that has none."""
    text = str(of)
    if text in _KINDS:
        return _KINDS[text]
    if text.startswith("timestamp"):
        return "DateTime"
    if text.startswith("fixed_size_list"):
        return f"Vector({of.list_size})"
    if text.startswith(("list<", "large_list<")):
        return f"[{kind_text(of.value_type)}]"
    if text.startswith("dictionary"):
        return kind_text(of.value_type)
    return text.partition("<")[0].capitalize()


_NUMBERS: Final = ("I8", "I16", "I32", "I64", "U8", "U16", "U32", "U64", "F16", "F32", "F64")


def columns_of(table: pa.Table, cell: Cell, look: Look) -> list[Column]:
    """Every column of the table as text, by Arrow's own types."""
    return [
        _column(field.name, kind_text(field.type), data.to_pylist(), cell, look)
        for field, data in zip(table.schema, table.columns, strict=True)
    ]


def _column(name: str, kind: str, values: list[Any], cell: Cell, look: Look) -> Column:
    right = kind in _NUMBERS or kind.startswith("Decimal")
    most = look.cell_characters
    if kind == "String":
        cells = [v if v is None or (v.isascii() and v.isprintable()) else cell(v) for v in values]
    elif right and kind[0] in "IU":
        cells = [None if v is None else str(v) for v in values]
    else:
        cells = [None if v is None else cell(v) for v in values]
    cells = [c if c is None or len(c) <= most else cut(c, most) for c in cells]
    shown_name = cell(name)
    null = width(look.null) if None in cells else 0
    widest = max((width(c) for c in cells if c is not None), default=0)
    return Column(shown_name, kind, cells, right, max(widest, null, width(shown_name), len(kind)))


# ---- the box ----------------------------------------------------------------------------------------------------


def box(table: pa.Table, cell: Cell, look: Look, total: int | None = None) -> list[str]:
    """Lines of a box with names, types, the first and the last rows. `total` is the number of rows there are.

    Columns that do not fit on the screen are narrowed; when that leaves too little, the middle ones are left out.
    """
    total = table.num_rows if total is None else total
    head, tail = _shown_rows(table.num_rows, look.rows)
    partly = head + tail < table.num_rows
    parts = _joined(table, head, tail) if partly else table
    columns = _fitted(columns_of(parts, cell, look), look)
    lines = [_rule(columns, "┌", "┬", "┐")]
    lines.append(_line([look.bold(_pad(c.name, c.width, c.right)) for c in columns]))
    lines.append(_line([look.dim(_pad(c.kind, c.width, c.right)) for c in columns]))
    lines.append(_rule(columns, "├", "┼", "┤"))
    body = _body(columns, look)
    if partly:
        dots = _line([look.dim(_pad(_DOTS, c.width, c.right)) for c in columns])
        body[head:head] = [dots, dots, dots]
    lines += body
    lines.append(_rule(columns, "└", "┴", "┘"))
    hidden = f", {_counted(table.num_columns - _named(columns), 'column')} not shown" if _gap(columns) else ""
    shown = f" ({head + tail} shown)" if partly else ""
    return [*lines, look.dim(f"{_counted(total, 'row')}{shown}{hidden}")]


def rows_that_fit(lines: int) -> int:
    """How many rows of a box are shown on a screen of so many lines, so that the prompt below it is seen as well."""
    return max(_ROWS_MIN, min(_ROWS_MAX, lines - _LINES_AROUND_ROWS))


def _shown_rows(rows: int, most: int) -> tuple[int, int]:
    """How many rows are shown from the front and from the end; three dotted lines must be worth it."""
    if not most or rows <= most + 3:
        return rows, 0
    return (most + 1) // 2, most // 2


def _joined(table: pa.Table, head: int, tail: int) -> pa.Table:
    import pyarrow as pa

    return pa.concat_tables([table.slice(0, head), table.slice(table.num_rows - tail)])


def _fitted(columns: list[Column], look: Look) -> list[Column]:
    """Columns narrowed, then left out from the middle, until the box fits."""
    room = look.columns - 1
    while len(columns) > 1 and _needed(columns, _least(columns)) > room:
        columns = _without_middle(columns)
    widths = [column.width for column in columns]
    while _needed(columns, widths) > room:
        widest = max(range(len(widths)), key=lambda place: (not columns[place].right, widths[place]))
        if widths[widest] <= _NARROWEST:
            widest = max(range(len(widths)), key=widths.__getitem__)
        if widths[widest] <= 1:
            break
        following = sorted((w for w in widths if w < widths[widest]), reverse=True)
        excess = _needed(columns, widths) - room
        goal = max(widths[widest] - excess, following[0] if following else 1, min(_NARROWEST, widths[widest] - 1))
        widths[widest] = min(goal, widths[widest] - 1)
    return [_narrowed(column, to) for column, to in zip(columns, widths, strict=True)]


def _needed(columns: Sequence[Column], widths: Sequence[int]) -> int:
    return sum(widths) + 3 * len(columns)


def _least(columns: Sequence[Column]) -> list[int]:
    """What columns can be narrowed to: numbers not at all, texts to a few characters and a part of their name."""
    return [c.width if c.right else min(c.width, max(_NARROWEST, min(len(c.name), 12))) for c in columns]


def _gap(columns: Sequence[Column]) -> bool:
    return any(column.kind == _ELLIPSIS for column in columns)


def _named(columns: Sequence[Column]) -> int:
    return sum(column.kind != _ELLIPSIS for column in columns)


def _without_middle(columns: list[Column]) -> list[Column]:
    kept = [column for column in columns if column.kind != _ELLIPSIS]
    if len(kept) < 2:
        return kept
    middle = len(kept) // 2
    gap = Column(_ELLIPSIS, _ELLIPSIS, [_ELLIPSIS] * len(kept[0].cells), False, 1)
    rest = kept[:middle] + kept[middle + 1 :]
    return [*rest[:middle], gap, *rest[middle:]]


def _narrowed(column: Column, to: int) -> Column:
    if column.width <= to:
        return column
    cells = [c if c is None or width(c) <= to else cut(c, to) for c in column.cells]
    return Column(cut(column.name, to), cut(column.kind, to), cells, column.right, to)


def _body(columns: list[Column], look: Look) -> list[str]:
    rendered = [_rendered(column, look) for column in columns]
    return ["│ " + " │ ".join(row) + " │" for row in zip(*rendered, strict=True)]


def _rendered(column: Column, look: Look) -> list[str]:
    null = look.dim(_pad(cut(look.null, column.width), column.width, column.right))
    to = column.width
    if column.right:
        return [null if c is None else c.rjust(to) for c in column.cells]
    return [null if c is None else c.ljust(to) if c.isascii() else _pad(c, to, False) for c in column.cells]


def _pad(text: str, to: int, right: bool) -> str:
    blanks = " " * (to - width(text))
    return blanks + text if right else text + blanks


def _line(cells: Iterable[str]) -> str:
    return "│ " + " │ ".join(cells) + " │"


def _rule(columns: Sequence[Column], left: str, between: str, right: str) -> str:
    return left + between.join("─" * (column.width + 2) for column in columns) + right


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}".replace(",", " ")


# ---- one value per line -----------------------------------------------------------------------------------------


def vertical(table: pa.Table, cell: Cell, look: Look, total: int | None = None) -> list[str]:
    """Lines with one value each, row by row; long results show their first and last rows."""
    total = table.num_rows if total is None else total
    head, tail = _shown_rows(table.num_rows, look.rows)
    partly = head + tail < table.num_rows
    columns = columns_of(_joined(table, head, tail) if partly else table, cell, look)
    indent = max((width(column.name) for column in columns), default=0)
    room = max(look.columns - indent - 4, _NARROWEST)
    lines: list[str] = []
    for row in range(head + tail):
        if partly and row == head:
            lines.append(look.dim(_DOTS * 3))
        number = row + 1 if row < head else table.num_rows - tail + (row - head) + 1
        lines.append(look.dim(f"{'─' * _VERTICAL_RULE} row {number}"))
        for column in columns:
            value = column.cells[row]
            shown = look.dim(look.null) if value is None else cut(value, room)
            lines.append(f"{look.bold(_pad(column.name, indent, False))} │ {shown}")
    shown_rows = f" ({head + tail} shown)" if partly else ""
    return [*lines, look.dim(f"{_counted(total, 'row')}{shown_rows}")]


def is_wide(table: pa.Table, cell: Cell, look: Look) -> bool:
    """Whether a box of the first rows would leave out columns, or leave texts too little room."""
    columns = columns_of(table.slice(0, look.rows or table.num_rows), cell, look)
    return len(columns) > 1 and _needed(columns, _least(columns)) > look.columns - 1
