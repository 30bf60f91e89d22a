"""The documentation is true: every statement it shows compiles or fails as announced, every link leads somewhere.

A fenced block says what it holds in its first word. `pg`, `gq` and `sql` blocks are compiled; the second
word `error=CODE` announces that the block is refused with that code. The first accepted `pg` block of a page is
the schema the `gq` and `sql` blocks of that page are compiled against.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from omnigraph_sql.base import errors, limits
from omnigraph_sql.base.catalog import Catalog
from omnigraph_sql.base.errors import LanguageError, OmniError
from omnigraph_sql.bind.schema import compile_schema
from omnigraph_sql.plan.compile import compile_gq, compile_sql

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "user").glob("*.md"))]
EVERY_PAGE = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]

LANGUAGES = {"pg", "gq", "sql"}
OTHER_FENCES = {"sh", "text", "python", "json", "jsonl", "csv", "ebnf", "toml", "py"}
FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]+\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#+ +(?P<title>.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: where it starts, its language, the code it must fail with (if any), its text."""

    page: Path
    line: int
    language: str
    error: str | None
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT).as_posix()}:{self.line}"


def blocks_in(page: Path, text: str) -> Iterator[Block]:
    for match in FENCE.finditer(text):
        language, _, rest = match["info"].strip().partition(" ")
        error = rest.removeprefix("error=") if rest.startswith("error=") else None
        yield Block(page, text.count("\n", 0, match.start()) + 1, language, error, match["text"])


def blocks(page: Path) -> list[Block]:
    return list(blocks_in(page, page.read_text(encoding="utf-8")))


def catalog_of(page: Path) -> Catalog:
    """What the page's first accepted schema declares; nothing when it shows none."""
    for block in blocks(page):
        if block.language == "pg" and block.error is None:
            return compile_schema(block.text).catalog
    return compile_schema("").catalog


def compile_block(block: Block) -> None:
    match block.language:
        case "pg":
            compile_schema(block.text)
        case "gq":
            compile_gq(block.text, catalog_of(block.page))
        case "sql":
            compile_sql(block.text, catalog_of(block.page))
        case _:
            raise AssertionError(f"{block}: not a statement")


def anchors(page: Path) -> set[str]:
    """The fragment names a renderer gives to the headings of `page`."""
    titles = [match["title"] for match in HEADING.finditer(FENCE.sub("", page.read_text(encoding="utf-8")))]
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


SHOWN = [block for page in PAGES for block in blocks(page) if block.language in LANGUAGES]


@pytest.mark.parametrize("block", [b for b in SHOWN if b.error is None], ids=str)
def test_a_statement_shown_as_correct_compiles(block: Block) -> None:
    try:
        compile_block(block)
    except OmniError as error:
        pytest.fail(f"{block}\n{error.report()}")


@pytest.mark.parametrize("block", [b for b in SHOWN if b.error is not None], ids=str)
def test_a_statement_shown_as_wrong_is_refused_with_the_code_given(block: Block) -> None:
    with pytest.raises(LanguageError) as caught:
        compile_block(block)
    assert caught.value.code == block.error, caught.value.report()


def test_the_guides_show_statements_of_every_language() -> None:
    assert {block.language for block in SHOWN} == LANGUAGES


def test_a_fence_is_read_with_its_language_its_code_and_its_line() -> None:
    text = "one\n```gq error=T1\nquery q() {}\n```\n\n```text\nx\n```\n"
    first, second = blocks_in(ROOT / "page.md", text)
    assert (first.line, first.language, first.error, first.text) == (2, "gq", "T1", "query q() {}\n")
    assert (second.line, second.language, second.error) == (6, "text", None)


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_fence_of_a_page_says_what_it_holds(page: Path) -> None:
    assert [str(block) for block in blocks(page) if block.language not in LANGUAGES | OTHER_FENCES] == []
    assert page.read_text(encoding="utf-8").count("\n```") == 2 * len(blocks(page))


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    dead = []
    for match in LINK.finditer(FENCE.sub("", page.read_text(encoding="utf-8"))):
        target, _, fragment = match["target"].partition("#")
        if "://" in target:
            continue
        goal = (page.parent / target).resolve() if target else page
        if not goal.exists() or (fragment and fragment not in anchors(goal)):
            dead.append(match["target"])
    assert dead == []


def test_every_page_of_the_documentation_can_be_reached_from_its_index() -> None:
    seen: set[Path] = set()
    pending = [ROOT / "docs" / "README.md"]
    while pending:
        page = pending.pop()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        for match in LINK.finditer(page.read_text(encoding="utf-8")):
            goal = (page.parent / match["target"].partition("#")[0]).resolve()
            if goal.is_file():
                pending.append(goal)
    assert [p.relative_to(ROOT).as_posix() for p in EVERY_PAGE if p not in seen and "docs" in p.parts] == []


def test_the_page_of_limits_states_the_limits_of_the_code() -> None:
    page = (ROOT / "docs" / "user" / "limits.md").read_text(encoding="utf-8")
    stated = {
        name: int(number.replace(" ", ""))
        for name, number in re.findall(r"`([A-Z_]+_M(?:AX|IN))` \| ([\d ]+) \|", page)
    }
    declared = {name: value for name, value in vars(limits).items() if name.endswith(("_MAX", "_MIN"))}
    assert stated == declared


def test_every_make_target_shown_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for page in EVERY_PAGE:
        for block in blocks(page):
            if block.language == "sh":
                assert set(re.findall(r"^make ([a-z]+)", block.text, re.MULTILINE)) <= targets, block


def test_the_page_of_errors_names_every_class_and_its_move() -> None:
    page = (ROOT / "docs" / "user" / "errors.md").read_text(encoding="utf-8")
    tree = {c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, OmniError)}
    assert {c.__name__ for c in tree} - set(re.findall(r"\w+", page)) == set()
    moves = page.partition("## The tree")[0]
    heads = {c.__name__ for c in tree if c.__bases__[0] is OmniError}
    assert heads == set(re.findall(r"^\| `(\w+)` \|", moves, re.MULTILINE))
