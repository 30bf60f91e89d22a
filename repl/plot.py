"""Pictures of rows, drawn with characters. Lines and histograms need the optional package plotext."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from omnigraph_sql.base.errors import DataError
from omnigraph_sql.repl.render import cut, kind_text, width

if TYPE_CHECKING:
    import pyarrow as pa

KINDS: Final = ("bar", "line", "hist")
_POINTS_MAX: Final = {"bar": 60, "line": 100_000, "hist": 1_000_000}
_HEIGHT_MAX: Final = 24
_EIGHTHS: Final = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")


def drawn(table: pa.Table, kind: str, names: Sequence[str], columns: int, lines: int) -> str:
    """The picture. Without names the first column of texts or days is X and the last of numbers is Y."""
    if kind not in KINDS:
        raise DataError(f"there is no picture {kind!r}", hint=f"choose one of {', '.join(KINDS)}")
    across, up = _chosen(table, kind, names)
    values = _numbers(table, up)
    labels = None if across is None else [str(v) for v in table.column(across).to_pylist()]
    kept = [n for n, value in enumerate(values) if value is not None][: _POINTS_MAX[kind]]
    if not kept:
        raise DataError(f"{up} holds no numbers to draw")
    heights = [values[n] for n in kept]
    shown = [labels[n] if labels is not None else str(n + 1) for n in kept]
    title = up if across is None else f"{up} by {across}"
    if kind == "bar":
        left_out = sum(value is not None for value in values) - len(kept)
        more = [f"… {left_out} more"] if left_out > 0 else []
        return "\n".join([title, *bars(shown, heights, columns), *more])
    return _picture(kind, shown, heights, title, (columns, max(8, min(lines - 2, _HEIGHT_MAX))))


def bars(labels: Sequence[str], heights: Sequence[float], columns: int) -> list[str]:
    """Bars that lie on their side, each with its label and its number. Negative ones are as long and lighter."""
    indent = min(max(map(width, labels)), columns // 3)
    numbers = [f"{height:g}" if height % 1 else str(int(height)) for height in heights]
    room = max(columns - indent - max(map(len, numbers)) - 5, 5)
    longest = max(abs(height) for height in heights) or 1
    lines = []
    for label, height, number in zip(labels, heights, numbers, strict=True):
        eighths = round(abs(height) / longest * room * 8)
        bar = ("█" if height >= 0 else "░") * (eighths // 8) + (_EIGHTHS[eighths % 8] if height >= 0 else "")
        name = cut(label, indent)
        lines.append(f"{' ' * (indent - width(name))}{name} │{bar} {number}")
    return lines


def _chosen(table: pa.Table, kind: str, names: Sequence[str]) -> tuple[str | None, str]:
    """The columns to draw: X, if any, and Y."""
    known = table.schema.names
    for name in names:
        if name not in known:
            raise DataError(
                f"there is no column {name!r}",
                hint=f"the last rows are drawn, and their columns are {', '.join(known)}",
            )
    if len(names) > 1:
        return names[0], names[1]
    numeric = [f.name for f in table.schema if kind_text(f.type)[0] in "IUF" and kind_text(f.type)[1:].isdigit()]
    if names and (kind == "hist" or names[0] in numeric):
        return None if kind == "hist" else _other(known, names[0]), names[0]
    ups = [name for name in numeric if name not in names]
    if not ups:
        raise DataError("there is no column of numbers to draw", hint="\\plot bar X Y names the columns")
    if kind == "hist":
        return None, ups[0]
    up = ups[-1] if names or len(numeric) > 1 else ups[0]
    return (names[0] if names else _other(known, up)), up


def _other(known: Sequence[str], up: str) -> str | None:
    return next((name for name in known if name != up), None)


def _numbers(table: pa.Table, name: str) -> list[Any]:
    values: list[Any] = table.column(name).to_pylist()
    if any(isinstance(v, bool) or not (v is None or isinstance(v, int | float)) for v in values):
        raise DataError(f"{name} does not hold numbers", hint="\\plot bar X Y: Y is a column of numbers")
    return values


def _picture(kind: str, labels: list[str], heights: list[Any], title: str, size: tuple[int, int]) -> str:
    try:
        plotext = import_module("plotext")
    except ImportError:
        hint = "install it with pip install 'omnigraph-sql[plot]'"
        raise DataError(f"\\plot {kind} needs the package plotext, which is not installed", hint=hint) from None
    figure = plotext.figure
    figure.clear()
    figure.plot_size(*size)
    if kind == "hist":
        figure.draw(figure.hist(heights, bins=min(20, max(2, len(set(heights))))))
    else:
        places = list(range(1, len(heights) + 1))
        figure.draw(figure.signal(places, heights).lines())
        step = max(1, len(labels) // 8)
        figure.ruler("x").ticks(places[::step], labels[::step])
    figure.title(title)
    return "\n".join(line.rstrip() for line in plotext.uncolorize(str(figure.build())).splitlines())
