"""Seed texts for the fuzz targets, and the ways they are bent."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

from hypothesis import strategies as st

from tests.cases_pg import wrong_texts
from tests.schemas import EXAMPLES

_TOKEN = re.compile(r"\$\$|[A-Za-z_$@][A-Za-z_0-9]*|[0-9.]+|\"[^\"\n]*\"|'[^'\n]*'|\s+|.", re.DOTALL)
_ODD = [
    *("", "$", "$$", "'", '"', "/*", "--", "//", "(", ")", "{", "}", "[", "]", ";", ",", "::", "->", "<-", "=", "."),
    *("*", "?", ":", "@", "-", "0", "1e999", "NULL", "NOT", "AND", "SELECT", "FROM", "AS", "\x00", "\ufeff", "é", "𝄞"),
]
_HEAD = re.compile(r"\[\w+\]\s*")
_SECTIONS = {"gq": {"gq"}, "sql": {"sql", "graph_table"}}
SAMPLES = Path(__file__).parents[2] / "omnigraph_sql" / "samples"


def corpus_texts(language: str, cases: Path) -> list[str]:
    """Every text of that language in the case files and the samples, right ones and wrong ones."""
    sample = (SAMPLES / f"air.{language}").read_text(encoding="utf-8")
    if language == "pg":
        return [sample, *EXAMPLES.values(), *(wrong.text for wrong in wrong_texts())]
    texts = [sample, *sample.split(";\n")] if language == "sql" else [sample]
    for path in sorted(cases.rglob("*.case")):
        texts += _sections(path.read_text(encoding="utf-8"), _SECTIONS[language])
    if language == "sql":
        lines = [line for path in sorted(cases.glob("sql_expr/*.txt")) for line in path.read_text("utf-8").splitlines()]
        texts += [f"SELECT {line} FROM Airport a, Carrier c" for line in lines if line and line[0] not in " #"]
    return texts


def _sections(text: str, wanted: set[str]) -> list[str]:
    found: list[str] = []
    name: str | None = None
    lines: list[str] = []
    for line in [*text.splitlines(), "--- end"]:
        if line.startswith("--- ") or _HEAD.fullmatch(line):
            if name in wanted and lines:
                found.append("\n".join(lines))
            name, lines = line.strip("[] "), []
        else:
            lines.append(line)
    return found


def bent(chance: Random, text: str, donor: str) -> str:
    """A text with tokens dropped, doubled, swapped, or replaced by tokens of another text."""
    tokens, others = _TOKEN.findall(text), _TOKEN.findall(donor) or [""]
    for _ in range(chance.randrange(7)):
        if not tokens:
            break
        at = chance.randrange(len(tokens))
        match chance.randrange(6):
            case 0:
                del tokens[at]
            case 1:
                tokens.insert(at, tokens[at])
            case 2:
                tokens[at] = chance.choice(others)
            case 3:
                tokens.insert(at, chance.choice(_ODD))
            case 4:
                other = chance.randrange(len(tokens))
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case _:
                first = chance.randrange(len(others))
                tokens[at:at] = others[first : first + chance.randint(1, 12)]
    return "".join(tokens)


def bent_texts(texts: st.SearchStrategy[str], count: int) -> st.SearchStrategy[list[str]]:
    """`count` bent forms of one text: growing a text takes far longer than bending it."""

    def bend(text: str, donor: str, start: int) -> list[str]:
        chance = Random(start)
        return [bent(chance, text, donor) for _ in range(count)]

    return st.builds(bend, texts, texts, st.integers(0, 2**32 - 1))
