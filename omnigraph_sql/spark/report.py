"""What a load on Spark came to: rows read, refused and written, per table and per rule."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from omnigraph_sql.base.errors import DataError, OmniError, StorageError
from omnigraph_sql.engine.load.report import TableCount

_SHOWN: Final = 10
_MEGABYTE: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Refusal:
    """A row that was not taken: where it stood, which rule it broke, and why, in the words of the local loader.

    `reason` names the place where it is known. `file` and `row` are None for rows of a DataFrame.
    """

    table: str | None
    file: str | None
    row: int | None
    rule: str
    reason: str
    data: str = ""
    code: str = "data"
    hint: str | None = None
    order: tuple[int, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class TableReport:
    """One table: rows read for it, refused and written, rows of before that went for them, and how many there are."""

    table: str
    read: int
    refused: int
    written: int
    replaced: int
    total: int
    seconds: float
    bytes: int
    unchanged: int = 0
    """Rows of a merge that were there already, value by value."""

    @property
    def megabytes_per_second(self) -> float:
        return self.bytes / _MEGABYTE / self.seconds if self.seconds > 0 else 0.0


@dataclass(frozen=True, slots=True)
class SparkReport:
    """A whole load. `commit_id` is None when nothing was published."""

    branch: str
    mode: str
    load_id: str
    commit_id: str | None
    tables: tuple[TableReport, ...]
    rules: tuple[tuple[str, int], ...]
    refusals: tuple[Refusal, ...] = field(repr=False)
    seconds: float = 0.0
    quarantine: str | None = None
    already: bool = False
    """The same load was published before, and nothing was done."""

    @property
    def rows_read(self) -> int:
        return sum(table.read for table in self.tables)

    @property
    def rows_refused(self) -> int:
        return sum(count for _, count in self.rules)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON has it; of the refusals the first few."""
        tables = [
            {
                "table": t.table,
                "read": t.read,
                "refused": t.refused,
                "written": t.written,
                "replaced": t.replaced,
                "unchanged": t.unchanged,
                "total": t.total,
                "seconds": round(t.seconds, 3),
                "mb_per_second": round(t.megabytes_per_second, 3),
            }
            for t in self.tables
        ]
        shown = [
            {"table": r.table, "file": r.file, "row": r.row, "rule": r.rule, "reason": r.reason}
            for r in self.refusals[:_SHOWN]
        ]
        return {
            "branch": self.branch,
            "mode": self.mode,
            "load_id": self.load_id,
            "commit_id": self.commit_id,
            "already": self.already,
            "seconds": round(self.seconds, 3),
            "rows_read": self.rows_read,
            "rows_refused": self.rows_refused,
            "tables": tables,
            "rules": dict(self.rules),
            "refusals": shown,
            "quarantine": self.quarantine,
        }

    def json(self) -> str:
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False)

    def __str__(self) -> str:
        """The report for a person."""
        what = f"commit {self.commit_id}" if self.commit_id else "nothing was published"
        if self.already:
            what = f"load {self.load_id} was published before, nothing was done"
        lines = [f"{self.rows_read} rows in {self.seconds:.2f} s, mode {self.mode}, {what}"]
        for t in self.tables:
            gone = f", {t.replaced} replaced" if t.replaced else ""
            bad = f", {t.refused} refused" if t.refused else ""
            same = f", {t.unchanged} unchanged" if t.unchanged else ""
            speed = f", {t.megabytes_per_second:.1f} MB/s" if t.bytes else ""
            lines.append(f"  {t.table}: {t.read} read{bad}{same}, {t.written} written{gone}, {t.total} in all{speed}")
        if self.rules:
            lines.append("refused: " + ", ".join(f"{count} by {rule}" for rule, count in self.rules))
            lines += [f"  {r.reason}" for r in self.refusals[:_SHOWN]]
            more = self.rows_refused - _SHOWN
            if more > 0:
                lines.append(
                    f"  … and {more} more" + (f", all of them in {self.quarantine}" if self.quarantine else "")
                )
        return "\n".join(lines)


def table_reports(
    read: Mapping[str, int],
    size: Mapping[str, int],
    refused: Sequence[Refusal],
    unchanged: Mapping[str, int],
    counts: Sequence[TableCount],
    seconds: float,
) -> tuple[TableReport, ...]:
    """One per table that occurred."""
    bad = Counter(one.table for one in refused if one.table is not None)
    done = {count.table: count for count in counts}
    made = []
    for key in sorted({*read, *done, *bad}):
        count = done.get(key, TableCount(key, 0, 0, 0))
        rows = (read.get(key, 0), bad[key], count.rows, count.replaced, count.total)
        made.append(TableReport(key, *rows, seconds, size.get(key, 0), unchanged.get(key, 0)))
    return tuple(made)


class RowsRefused(DataError):
    """A load that was told to fail did so: its message is that of the first refused row, `load` has them all."""

    def __init__(self, first: Refusal, report: SparkReport) -> None:
        super().__init__(first.reason, hint=first.hint, code=first.code)
        self.load = report

    def fields(self) -> Mapping[str, object]:
        return {"refused": self.load.rows_refused, "rules": dict(self.load.rules)}

    def __reduce__(self) -> tuple[Any, ...]:
        return RowsRefused, (self.load.refusals[0], self.load)


class RowsNotKept(StorageError):
    """The refused rows of a load could not be written. `load` has them, and the commit if there is one."""

    def __init__(self, error: OmniError, report: SparkReport) -> None:
        done = f"published as commit {report.commit_id}" if report.commit_id else "not published"
        hint = f"the load is {done}; the refused rows are in the report of this error, as `.load`"
        super().__init__(error.message, kind="permanent", hint=hint)
        self.cause, self.load = error, report

    def __reduce__(self) -> tuple[Any, ...]:
        return RowsNotKept, (self.cause, self.load)
