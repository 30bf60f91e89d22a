"""How far a load is, and what it came to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class LoadMode(StrEnum):
    APPEND = "append"
    """Ids must be new."""
    MERGE = "merge"
    """Rows with known ids are replaced whole, the others are added; of several rows with one id the last one stays."""
    OVERWRITE = "overwrite"
    """Every table that occurs becomes exactly what was loaded."""


class Phase(StrEnum):
    READING = "reading"
    CHECKING = "checking"
    PUBLISHING = "publishing"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a load is. `tables` holds for each table the rows handed to storage so far."""

    phase: Phase
    rows_read: int
    bytes_read: int
    tables: tuple[tuple[str, int], ...]


Watch: TypeAlias = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class TableCount:
    """One table of a load: rows written, rows of before that went for them, and how many there are now."""

    table: str
    rows: int
    replaced: int
    total: int


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What a load came to; `tables` are in the order of their names."""

    branch: str
    commit_id: str
    mode: LoadMode
    actor: str | None
    tables: tuple[TableCount, ...]
    rows_read: int
    seconds: float

    def __str__(self) -> str:
        """The report for a person: one line per table."""
        lines = [f"{self.rows_read} rows in {self.seconds:.2f} s, mode {self.mode}, commit {self.commit_id}"]
        for count in self.tables:
            gone = f", {count.replaced} replaced" if count.replaced else ""
            lines.append(f"  {count.table}: {count.rows} rows{gone}, {count.total} in all")
        return "\n".join(lines)
