"""The page about the shell tells the truth: its tables are those of the code, its conversations go as shown."""

import re
from pathlib import Path

import pytest

from omnigraph_sql.repl.commands import GROUPS
from omnigraph_sql.repl.handle_general import KEYS
from omnigraph_sql.repl.settings import FIELDS
from tests.repl.conftest import SCHEMA, Talk

PAGE = Path(__file__).resolve().parents[2] / "docs" / "user" / "shell.md"
PROMPT = "omni:air@main> "
CONVERSATIONS = [
    block
    for block in re.findall(r"^```text\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    if PROMPT in block
]


def section(name: str) -> str:
    found = re.search(rf"<!-- {name} -->\n(.*?)<!-- end -->", PAGE.read_text(encoding="utf-8"), re.S)
    assert found is not None
    return found[1]


def commands_table() -> str:
    lines = ["| command | what it does |", "|---|---|"]
    for _, commands in GROUPS:
        lines += [f"| `{c.usage.replace('|', chr(92) + '|')}` | {c.help} |" for c in commands]
    return "\n".join(lines) + "\n"


def settings_table() -> str:
    lines = ["| setting | default | meaning |", "|---|---|---|"]
    for name, one in FIELDS.items():
        choices = one.metadata.get("choices")
        meaning = one.metadata["help"] + (f": {', '.join(choices)}" if choices else "")
        default = str(one.default).lower() if isinstance(one.default, bool) else one.default
        lines.append(f"| `{name}` | {f'`{default}`' if str(default).strip() else '–'} | {meaning} |")
    return "\n".join(lines) + "\n"


def test_the_table_of_commands_is_that_of_the_code() -> None:
    assert section("commands") == commands_table()


def test_the_table_of_settings_is_that_of_the_code() -> None:
    assert section("settings") == settings_table()


def test_the_keys_that_help_shows_are_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [key for key, _ in KEYS if key != "Enter" and f"| {key} |" not in page] == []


def test_the_schema_on_the_page_is_the_one_it_was_tried_with() -> None:
    assert SCHEMA.strip() in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("block", CONVERSATIONS, ids=range(len(CONVERSATIONS)))
def test_a_conversation_goes_as_it_is_shown(block: str, talk: Talk) -> None:
    turns = block.split(PROMPT)[1:]
    typed = [turn.partition("\n")[0] for turn in turns]
    # Whoever is asked whether to go on says no.
    keys = [line for text in typed for line in ([text, "n"] if text.startswith("DELETE FROM Route;") else [text])]
    said = talk(*keys)
    shown = "".join(turn.partition("\n")[2] for turn in turns)
    pattern = "".join(
        ".*" if line == "…\n" else ".*?".join(map(re.escape, line.split("…")))
        for line in shown.splitlines(keepends=True)
    )
    assert re.fullmatch(pattern, said.text, re.S), said.text
