"""Following a page to the letter works: its files are saved, its commands run, and what it shows is what comes out.

A block is saved when the paragraph before it names a file of its language ("save this as `air.pg`"). A line of a `sh`
block that calls ogsql is run in the folder of these files; a `python` block is run there too, with the names that the
blocks before it made. A `text` or `json` block after either, with nothing run between the two, holds the output: stdout
and stderr as a terminal would mix them. `…` in it stands for any text within a line.
"""

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ON_SPARK = ROOT / "docs" / "user" / "spark.md"
"""Followed where there is a session, in tests/spark."""
PAGES = [ROOT / "README.md", *sorted(page for page in (ROOT / "docs" / "user").glob("*.md") if page != ON_SPARK)]
STEP = re.compile(
    r"^```(?P<language>\w+)[^\n]*\n(?P<text>.*?)^```$|^(?P<prose>(?!```)[^\n]+(?:\n(?!```)[^\n]+)*)$",
    re.MULTILINE | re.DOTALL,
)
FILE_NAME = re.compile(r"`(?P<name>[\w-]+\.(?:pg|gq|sql|jsonl|csv|toml|py))`")
COMMAND = re.compile(r"^(?:\.venv/bin/)?(?P<line>ogsql .*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Save:
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Run:
    """`shown` is the output the page promises, or None when it promises success alone."""

    line: str
    shown: str | None


@dataclass(frozen=True, slots=True)
class Do:
    """A piece of Python, and what the page promises it prints."""

    code: str
    shown: str | None


def steps(text: str) -> Iterator[Save | Run | Do]:
    """What a reader of the page does, in order."""
    named: str | None = None
    waiting: Run | Do | None = None
    for match in STEP.finditer(text):
        if match["prose"] is not None:
            names = FILE_NAME.findall(match["prose"])
            named = names[-1] if names else None
        elif match["language"] in ("text", "json") and waiting is not None:
            yield replace(waiting, shown=match["text"])
            waiting = None
        elif match["language"] in ("sh", "python"):
            for step in started(match["language"], match["text"]):
                if waiting is not None:
                    yield waiting
                waiting = step
        elif named is not None and named.endswith(f".{match['language']}"):
            yield Save(named, match["text"])
    if waiting is not None:
        yield waiting


def started(language: str, text: str) -> list[Run | Do]:
    return [Do(text, None)] if language == "python" else [Run(line, None) for line in COMMAND.findall(text)]


def matches(output: str, shown: str) -> bool:
    """Whether the output is the one shown; … stands for any text within a line."""
    return re.fullmatch(".*".join(map(re.escape, shown.split("…"))), output) is not None


def run(line: str, folder: Path) -> tuple[int, str]:
    """The exit code and the output of a command line, typed into a shell."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    done = subprocess.run(
        line,
        shell=True,
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.returncode, done.stdout.decode()


def follow(text: str, folder: Path) -> int:
    """Do what the page says; the number of commands that ran."""
    commands = 0
    names: dict[str, object] = {}
    for step in steps(text):
        if isinstance(step, Save):
            (folder / step.name).write_text(step.text, encoding="utf-8")
            continue
        commands += 1
        if isinstance(step, Do):
            do(step, names)
            continue
        code, output = run(step.line, folder)
        if step.shown is not None:
            assert matches(output, step.shown), f"{step.line}\n{output}"
        refused = step.shown is not None and ("error[" in step.shown or '"error":' in step.shown)
        assert code == (1 if refused else 0), f"{step.line}\n{output}"
    return commands


def do(step: Do, names: dict[str, object]) -> None:
    """Run a piece of Python with the names made so far."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(step.code, "<page>", "exec"), names)
    if step.shown is not None:
        assert matches(printed.getvalue(), step.shown), f"{step.code}\n{printed.getvalue()}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_can_be_followed_to_the_letter(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    follow(page.read_text(encoding="utf-8"), tmp_path)


def test_the_quickstart_and_the_command_line_show_commands_with_their_output() -> None:
    for name in ("quickstart", "command-line"):
        done = list(steps((ROOT / "docs" / "user" / f"{name}.md").read_text(encoding="utf-8")))
        assert any(isinstance(step, Save) for step in done)
        assert any(isinstance(step, Run) and step.shown is not None for step in done)


PAGE = """Save this as `a.pg`:

```pg
node A { k: String @key }
```

Then run it:

```sh
make demo
.venv/bin/ogsql --version
ogsql explain --schema a.pg "SELECT k FROM B"
```

It says

```text
something
```
"""


def test_the_steps_of_a_page_are_its_files_and_commands() -> None:
    assert list(steps(PAGE)) == [
        Save("a.pg", "node A { k: String @key }\n"),
        Run("ogsql --version", None),
        Run('ogsql explain --schema a.pg "SELECT k FROM B"', "something\n"),
    ]


def test_python_blocks_share_their_names_and_show_what_they_print(tmp_path: Path) -> None:
    page = "```python\nx = 1\n```\n\n```python\nprint('id', x)\n```\n\n```text\nid …\n```\n"
    assert follow(page, tmp_path) == 2
    with pytest.raises(AssertionError):
        follow(page.replace("id …", "no …"), tmp_path)


@pytest.mark.parametrize(
    ("output", "shown", "same"),
    [("a 1 b\n", "a … b\n", True), ("a\nb\n", "a…b\n", False), ("a.b\n", "a.b\n", True), ("axb\n", "a.b\n", False)],
)
def test_an_ellipsis_stands_for_text_within_a_line(output: str, shown: str, same: bool) -> None:
    assert matches(output, shown) is same


def test_a_page_that_shows_another_output_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        follow(PAGE, tmp_path)


def test_a_page_whose_command_fails_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        follow(PAGE.partition("It says")[0], tmp_path)
