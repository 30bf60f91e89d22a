"""Rows as bytes: the forms of `--format` that no screen shows."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, BinaryIO, Final

import click

from omnigraph_sql.cli.texts import STDIN

if TYPE_CHECKING:
    from omnigraph_sql.result import Result

BINARY: Final = ("arrow", "parquet")


def check_goal(form: str | None, goal: str | None) -> None:
    """Raises UsageError for bytes that would go to a terminal."""
    if form in BINARY and goal in (None, STDIN) and sys.stdout is not None and sys.stdout.isatty():
        raise click.UsageError(f"{form} is no text; name a file with --output, or send it into a pipe")


def write_bytes(result: Result, form: str, goal: str | None) -> None:
    """Write a result with columns to a file, which appears when it is complete, or to standard output."""
    from omnigraph_sql.run.files import FileForm, write_rows

    if goal not in (None, STDIN):
        write_rows(Path(goal), FileForm(form), result.batches())
        return
    with TemporaryDirectory(prefix="ogsql-") as folder:
        part = Path(folder) / f"rows.{form}"
        write_rows(part, FileForm(form), result.batches())
        _copied(part, sys.stdout.buffer)


def _copied(part: Path, out: BinaryIO) -> None:
    with part.open("rb") as file:
        while piece := file.read(1 << 20):
            out.write(piece)
    out.flush()
