"""The point in history a table is read at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from omnigraph_sql.base.expr import Expr
from omnigraph_sql.base.names import BranchName, PointKind


@dataclass(frozen=True, slots=True)
class ReadPoint:
    """The session's snapshot, or a version, an instant or a branch named in the statement."""

    kind: PointKind = PointKind.HEAD
    value: Expr | None = None
    branch: BranchName | None = None

    def __post_init__(self) -> None:
        has_value = self.kind in (PointKind.VERSION, PointKind.TIMESTAMP)
        if has_value != (self.value is not None) or (self.kind is PointKind.BRANCH) != (self.branch is not None):
            raise ValueError("a version or instant has a value, a branch has a name, the head has neither")


HEAD: Final = ReadPoint()
