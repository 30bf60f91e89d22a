"""Text cases of the schema language: a wrong text, the code and place of its error, and a part of the message.

--- name of the case
the text
=== error CODE LINE:COLUMN
part of the message
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "cases" / "pg"
_HEAD = re.compile(r"=== error (\S+) (\d+):(\d+)")


@dataclass(frozen=True, slots=True)
class WrongText:
    name: str
    text: str
    code: str
    line: int
    column: int
    message: str


def wrong_texts() -> Iterator[WrongText]:
    """Every case of every file."""
    for path in sorted(FOLDER.glob("*.case")):
        for block in re.split(r"^--- ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            name, _, rest = block.partition("\n")
            text, head, message = re.split(r"^(=== .*)\n", rest, maxsplit=1, flags=re.MULTILINE)
            found = _HEAD.fullmatch(head)
            assert found is not None, f"{path.name}: {name}: bad head {head!r}"
            code, line, column = found.groups()
            case = WrongText(
                f"{path.stem}: {name}", text.rstrip("\n"), code, int(line), int(column), message.strip("\n")
            )
            assert case.message, f"{path.name}: {name}: no message"
            yield case
