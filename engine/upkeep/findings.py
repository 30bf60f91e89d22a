"""What a check finds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import ConstraintViolation


class About(StrEnum):
    """Which promise is broken."""

    MANIFEST = "manifest"
    """The manifest can be read, and this version understands it."""
    HISTORY = "history"
    """Every commit but the first follows another one, up to the head."""
    SCHEMA = "schema"
    """The schema is there, and says what the manifest says."""
    INTENT = "intent"
    """No operation is unfinished."""
    LOG = "log"
    """The log of recoveries can be read."""
    TABLE = "table"
    """A table can be read at the version that is shown, with the rows that were counted and the columns of its type."""
    DRIFT = "drift"
    """The newest version of a table is the one that is shown."""
    ID = "id"
    """Ids are there, once each, and follow from keys."""
    END = "endpoint"
    """Every edge has both ends."""
    RULE = "rule"
    """Rows keep the rules of the schema."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: where, what, and what to do about it. `table` is `node:X` or `edge:X`."""

    about: About
    message: str
    hint: str
    branch: str | None = None
    table: str | None = None


RESTORE: Final = "restore the graph's folder from a backup"
MEND: Final = "it was not written through the product: mend the row, or restore the table from a backup"


def of_rows(branch: str, table: str, violations: Iterable[ConstraintViolation]) -> Iterator[Finding]:
    """The first rows that break each rule, and how many more there are."""
    seen: dict[str, int] = {}
    for violation in violations:
        rule = f"{violation.rule.replace('_', ' ')} of {', '.join(violation.properties) or 'the id'}"
        seen[rule] = seen.get(rule, 0) + 1
        if seen[rule] <= limits.CHECK_FINDINGS_MAX:
            yield Finding(about(violation), violation.message, MEND, branch, table)
    for rule, count in seen.items():
        if count > limits.CHECK_FINDINGS_MAX:
            more = count - limits.CHECK_FINDINGS_MAX
            text = f"at least {more} more {'row breaks' if more == 1 else 'rows break'} it: {rule}"
            yield Finding(About.RULE, text, MEND, branch, table)


def about(violation: ConstraintViolation) -> About:
    match violation.rule:
        case "endpoint":
            return About.END
        case "id" | "key":
            return About.ID
        case _:
            return About.ID if violation.properties == ("id",) else About.RULE
