"""How a file is to be read when its name alone does not say it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from omnigraph_sql.base.errors import DataError

_BY_SUFFIX: Final = {
    ".jsonl": "graph",
    ".ndjson": "graph",
    ".csv": "csv",
    ".parquet": "parquet",
}
_PACKED: Final = {".gz": "gzip", ".zst": "zstd"}


@dataclass(frozen=True, slots=True)
class Form:
    """The form of a file: `graph` (lines that say their type), `jsonl` (one object of columns a line), `csv`,
    `parquet` or `arrow`.

    `columns` names those of a file without a header, or renames those of one with it. `null` is how a file writes
    nothing where a value could stand.
    """

    kind: str
    columns: tuple[str, ...] = ()
    header: bool = True
    delimiter: str = ","
    quote: str = '"'
    escape: str | None = None
    null: str = ""
    skip: int = 0
    compression: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in ("graph", "jsonl", "csv", "parquet", "arrow"):
            raise ValueError(f"{self.kind!r} is no form of a file")


USUAL_CSV: Final = Form("csv")
"""What `.csv` alone stands for."""


def form_of(path: Path) -> Form | None:
    """The form that the name of a file tells; texts may be packed, as in `.csv.gz`."""
    packed = packing_of(path) is not None
    kind = _BY_SUFFIX.get((path.with_suffix("") if packed else path).suffix.casefold())
    return None if kind is None or (packed and kind == "parquet") else Form(kind)


def packing_of(path: Path) -> str | None:
    """How the name of a file says that it is packed."""
    return _PACKED.get(path.suffix.casefold())


def opened(path: Path, form: Form) -> pa.NativeFile:
    """The bytes of a file, unpacked; a context manager."""
    packing = form.compression or packing_of(path) or "none"
    try:
        return pa.input_stream(str(path), compression=None if packing == "none" else packing)
    except OSError as error:
        raise DataError(f"{path} cannot be opened: {error}") from error
