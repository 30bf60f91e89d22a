"""Text cases: `--- name`, then `[section]` blocks; and the schema most of them are asked against."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from omnigraph_sql.base.catalog import Catalog

CASES = Path(__file__).parent / "cases"

AIRPORTS = """
node Airport {
    code: String @key
    city: String
    elevation: I32?
    opened: Date?
    tags: [String]?
    blurb: String? @index
    pos: Vector(4)? @index
    photo: Blob?
}
node Carrier {
    iata: String @key
    name: String
    rating: F64?
    status: enum(active, dormant, defunct)
    updated: DateTime?
}
edge Route: Airport -> Airport { miles: I32  since: DateTime? }
edge Hub: Carrier -> Airport @card(0..3)
edge Owns: Carrier -> Carrier
"""


@cache
def airport_catalog() -> Catalog:
    """The airports, routes and carriers that tests ask about."""
    from omnigraph_sql.bind.schema import compile_schema

    return compile_schema(AIRPORTS).catalog


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    sections: tuple[tuple[str, str], ...]

    def only(self, section: str) -> str:
        """The one block of that name."""
        (text,) = (text for name, text in self.sections if name == section)
        return text


def read_cases(path: str) -> tuple[Case, ...]:
    """All cases of a file under tests/cases, in order."""
    cases: list[Case] = []
    for block in (CASES / path).read_text(encoding="utf-8").split("\n--- "):
        name, _, body = block.removeprefix("--- ").partition("\n")
        cases.append(Case(name.strip(), _sections(body)))
    return tuple(cases)


def _sections(body: str) -> tuple[tuple[str, str], ...]:
    sections: list[tuple[str, list[str]]] = []
    for line in body.splitlines():
        if line.startswith("[") and line.rstrip().endswith("]") and " " not in line.strip():
            sections.append((line.strip()[1:-1], []))
        elif sections:
            sections[-1][1].append(line)
    return tuple((name, "\n".join(lines).strip("\n")) for name, lines in sections)
