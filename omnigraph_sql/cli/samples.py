"""The texts that come with the package."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from omnigraph_sql.base.catalog import Catalog

_PART: Final = re.compile(r"^-- (\w+)$", re.MULTILINE)


@dataclass(frozen=True)
class Samples:
    """A schema, statements and queries asked against it, and the rows they are asked about."""

    schema: str
    sql: str
    gq: str
    rows: str

    @cached_property
    def catalog(self) -> Catalog:
        from omnigraph_sql.bind.schema import compile_schema

        return compile_schema(self.schema, name="air.pg").catalog

    @cached_property
    def parts(self) -> dict[str, str]:
        """The statements of air.sql by the names of the lines above them."""
        _, *rest = _PART.split(self.sql)
        return {name: text.strip() for name, text in zip(rest[::2], rest[1::2], strict=True)}

    @cached_property
    def queries(self) -> dict[str, str]:
        """The queries of air.gq by name."""
        from omnigraph_sql.grammar.gq import parse_unit

        found = parse_unit(self.gq, name="air.gq").queries
        return {q.name.text: self.gq[q.span.start : q.span.end] for q in found if q.name is not None}


def samples() -> Samples:
    folder = resources.files("omnigraph_sql") / "samples"
    endings = ("pg", "sql", "gq", "jsonl")
    return Samples(*((folder / f"air.{ending}").read_text(encoding="utf-8") for ending in endings))
