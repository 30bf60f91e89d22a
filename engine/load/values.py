"""What a load is given, and rows on their way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from omnigraph_sql.base.catalog import TableType
from omnigraph_sql.engine.load.forms import Form
from omnigraph_sql.engine.load.report import LoadMode as LoadMode
from omnigraph_sql.engine.load.report import LoadReport as LoadReport
from omnigraph_sql.engine.load.report import Phase as Phase
from omnigraph_sql.engine.load.report import Progress as Progress
from omnigraph_sql.engine.load.report import TableCount as TableCount
from omnigraph_sql.engine.load.report import Watch as Watch
from omnigraph_sql.engine.values import table_key


class ArrowStream(Protocol):
    """Anything that hands its rows over in Arrow's own way."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


@dataclass(frozen=True, slots=True)
class Source:
    """A file (`.jsonl`, `.csv`, `.parquet`) or an Arrow stream.

    `type` names the node or edge type of the rows (`node:X` or `edge:X` where a name is both); a `.jsonl` file says it
    in every line, and nobody looks here. `name` is what refusals call a stream. `form` says how a file is to be read,
    None that its name does.
    """

    data: str | Path | ArrowStream
    type: str | None = None
    name: str | None = None
    form: Form | None = None


class Spelling(StrEnum):
    """How values of a chunk are written down, which decides what counts as a value of a type."""

    TYPED = "typed"
    """Arrow types of the same family."""
    JSON = "json"
    """JSON types; days, instants and blobs are texts."""
    TEXT = "text"
    """Everything is text."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows as they were read. `columns` are called by the names of the table, which need not all be there.

    `place` tells where a row came from, for a person; rows count from 0.
    """

    type: TableType
    columns: pa.Table
    rows: int
    spelling: Spelling
    place: Callable[[int], str]
    bytes: int

    @property
    def key(self) -> str:
        return table_key(self.type)
