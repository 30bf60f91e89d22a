"""What a load is fed with, as it travels to tasks; and where each row came from, in one number.

A row's number is `file << FILE_BITS | position`. The position of a row of a splittable text file is the offset of its
block plus its place among the lines of the block: a line has at least one byte, so numbers grow along the file and no
two are the same, although no task knows how many lines come before its block. Once all blocks were read, the line
follows from the counts of the blocks before.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from omnigraph_sql.engine.load.values import Spelling
from omnigraph_sql.spark.place import GraphPlace
from omnigraph_sql.spark.shares import ParquetShares

FILE_BITS: Final = 44
POSITION: Final = (1 << FILE_BITS) - 1


class Kind(StrEnum):
    TYPED = "typed"
    """Columns with types, of files or of a DataFrame, as Spark reads them."""
    PARQUET = "parquet"
    """Files that tasks read themselves; a row is the number of a share."""
    LINES = "lines"
    """Lines of `.jsonl`, each of which says what it is."""
    CSV = "csv"
    """Lines of `.csv` files in which no value spans lines."""
    CSV_WHOLE = "csv whole"
    """Whole `.csv` files."""


class Places(StrEnum):
    """What rows of a feed are called in refusals."""

    NONE = "none"
    ROWS = "rows"
    LINES = "lines"


@dataclass(frozen=True, slots=True)
class Feed:
    """One source of rows. `type` is the key of its table; lines say theirs themselves.

    `names` are the table's names of the columns; of `.csv` and of `shares`, one list per file. `files` are numbered by
    the hashes of their paths. With a `load_id` the numbers of the rows are kept while that load lasts.
    """

    place: GraphPlace
    load_id: str | None
    number: int
    kind: Kind
    type: str | None = None
    names: tuple[tuple[str, ...], ...] = ()
    files: tuple[int, ...] = ()
    spelling: Spelling = Spelling.TYPED
    shares: ParquetShares | None = None

    def file_numbers(self) -> dict[int, int]:
        return {found: number for number, found in enumerate(self.files)}


@dataclass(frozen=True, slots=True)
class Block:
    """Neighbouring rows of one file: the number of the first, how many, and how many of the file come before."""

    first: int
    rows: int
    file: str
    before: int


@dataclass(slots=True)
class Origins:
    """Where the rows of one feed came from, as far as it is known on the driver."""

    shown: str
    names: tuple[str, ...] = ()
    places: Places = Places.NONE
    lines: dict[int, dict[int, int]] = field(default_factory=dict)
    """Per file the lines of each block, by the offset of the block."""
    blocks: Callable[[], list[Block]] | None = None
    """Looks the files of rows up that are numbered across files; costs a pass over the source."""
    _found: list[Block] | None = None

    def see(self, file: int, block: int, lines: int) -> None:
        self.lines.setdefault(file, {})[block] = lines

    def of(self, number: int) -> tuple[str | None, int | None]:
        """The file, and the line or row in it, counted from 1."""
        if self.blocks is not None:
            return self._looked_up(number)
        if self.places is Places.NONE or not self.names:
            return None, None
        file, position = number >> FILE_BITS, number & POSITION
        name = self.names[file]
        if self.places is Places.ROWS:
            return name, position + 1
        blocks = self.lines.get(file, {})
        starts = sorted(blocks)
        at = bisect_right(starts, position) - 1
        before = sum(blocks[start] for start in starts[:at])
        return name, before + position - starts[at] + 1

    def _looked_up(self, number: int) -> tuple[str | None, int | None]:
        if self._found is None:
            assert self.blocks is not None
            self._found = self.blocks()
        at = bisect_right([block.first for block in self._found], number) - 1
        if at < 0:
            return None, None
        block = self._found[at]
        return block.file, block.before + number - block.first + 1

    def text(self, number: int) -> str:
        """The place in words, as the local loader has it."""
        file, row = self.of(number)
        if file is None:
            return self.shown
        return f"{file}, {'line' if self.places is Places.LINES else 'row'} {row}"
