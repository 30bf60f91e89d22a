"""The `ogsql` command. Data goes to stdout, talk to stderr, the verdict into the exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command with `args`, or with those of the process, and leave with its exit code."""
    try:
        from omnigraph_sql.cli.interrupts import listen

        listen()
        from omnigraph_sql.cli.command import run

        code = run(sys.argv[1:] if args is None else args)
    except KeyboardInterrupt:  # while loading, before the command could see it
        code = 130
    sys.exit(code)
