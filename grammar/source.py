"""Texts and places in them: offsets become lines, columns and drawings."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import Location, TextLimitExceeded


@dataclass(frozen=True, slots=True)
class Span:
    """Half-open range of character offsets; zero width is allowed."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise ValueError(f"bad span {self.start}..{self.end}")

    def to(self, other: Span) -> Span:
        """The smallest span that covers both."""
        return Span(min(self.start, other.start), max(self.end, other.end))


@dataclass(frozen=True)
class Source:
    """A text with the name errors show for it."""

    text: str
    name: str = "<text>"

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        at = self.text.find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = self.text.find("\n", at + 1)
        return starts

    def locate(self, span: Span) -> Location:
        """The place of `span`, clamped to the text."""
        start = min(span.start, len(self.text))
        end = min(max(span.end, start), len(self.text))
        line = bisect_right(self._line_starts, start)
        first = self._line_starts[line - 1]
        last = self.text.find("\n", first)
        excerpt = self.text[first : last if last >= 0 else len(self.text)].rstrip("\r")
        byte_start = len(self.text[:start].encode("utf-8", "surrogatepass"))
        byte_end = byte_start + len(self.text[start:end].encode("utf-8", "surrogatepass"))
        return Location(self.name, line, start - first + 1, start, end, byte_start, byte_end, excerpt)

    def refuse_if_too_long(self) -> None:
        """Every parser calls this first, so that no text costs more than it may."""
        size = len(self.text.encode("utf-8", "surrogatepass"))
        if size > limits.STATEMENT_TEXT_BYTES_MAX:
            raise TextLimitExceeded(
                f"the text has {size} bytes, at most {limits.STATEMENT_TEXT_BYTES_MAX} are compiled in one piece",
                at=self.locate(Span(0, 0)),
                resource="statement_text_bytes",
                limit=limits.STATEMENT_TEXT_BYTES_MAX,
                actual=size,
                hint="send the statements one by one, pass values as parameters, or load data with a load",
            )
