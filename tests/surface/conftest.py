"""What the guards look at: the checkout itself."""

import ast
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("omnigraph_sql", "engine", "grammar", "repl")
MADE = {".git", ".venv", "build", "dist", "__pycache__", "htmlcov"}


@dataclass(frozen=True, slots=True)
class Tree:
    """A checkout: its root, every text file in it once, and its product modules."""

    root: Path

    def files(self) -> Iterator[Path]:
        """Every file someone wrote. Links are not followed, so a linked layer comes once, under its own name."""
        for folder, names, files in os.walk(self.root):
            names[:] = [name for name in names if name not in MADE and not name.endswith(("_cache", ".egg-info"))]
            names[:] = [name for name in names if name != ".hypothesis"]
            yield from (Path(folder, name) for name in files if not name.startswith(".coverage"))

    def modules(self) -> Iterator[Path]:
        """Every Python module of the product."""
        for folder in PRODUCT:
            for path in sorted((self.root / folder).rglob("*.py")):
                if not any(parent.is_symlink() for parent in path.parents):
                    yield path

    def parsed(self) -> Iterator[tuple[Path, ast.Module]]:
        """Every product module as a syntax tree."""
        for path in self.modules():
            yield path, ast.parse(path.read_text(encoding="utf-8"), str(path))

    def name(self, path: Path) -> str:
        """`path` as written in messages."""
        return path.relative_to(self.root).as_posix()


@pytest.fixture(scope="session")
def tree() -> Tree:
    return Tree(ROOT)
