"""How far a long piece of work is, on one line of a terminal."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Self

if TYPE_CHECKING:
    from omnigraph_sql.engine.load.report import Progress


class Line:
    """One line on a terminal, silence everywhere else. Leaves the line as it found it."""

    def __init__(self, stream: IO[str] | None, *, quiet: bool = False) -> None:
        self._stream = stream if stream is not None and stream.isatty() and not quiet else None
        self._shown = 0

    def show(self, text: str) -> None:
        if self._stream is None:
            return
        self._stream.write(f"\r{text.ljust(self._shown)}")
        self._stream.flush()
        self._shown = len(text)

    def clear(self) -> None:
        if self._stream is not None and self._shown:
            self._stream.write(f"\r{' ' * self._shown}\r")
            self._stream.flush()
            self._shown = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()


class Meter(Line):
    """How many rows were read."""

    def __call__(self, at: Progress) -> None:
        self.show(f"{at.phase.value}: {at.rows_read:,} rows".replace(",", " "))
