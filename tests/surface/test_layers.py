"""Who may import whom: the contracts hold, and each of them notices when it is broken."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Protocol

import pytest

DOWN = "imports go down only"
ENGINE = "the engine stands on base and under run"

AGAINST_THE_RULES = [
    ("omnigraph_sql.base", "omnigraph_sql.grammar", DOWN),
    ("omnigraph_sql.grammar", "omnigraph_sql.bind", DOWN),
    ("omnigraph_sql.bind", "omnigraph_sql.plan", DOWN),
    ("omnigraph_sql.plan", "omnigraph_sql.cli", DOWN),
    ("omnigraph_sql.repl", "omnigraph_sql.cli", DOWN),
    ("omnigraph_sql.engine", "omnigraph_sql.cli", ENGINE),
    ("omnigraph_sql.base", "omnigraph_sql.engine", ENGINE),
    ("omnigraph_sql.engine", "omnigraph_sql.grammar", "the engine never meets text, names or plans"),
    ("omnigraph_sql.engine", "omnigraph_sql.bind", "the engine never meets text, names or plans"),
    ("omnigraph_sql.engine", "omnigraph_sql.plan", "the engine never meets text, names or plans"),
    ("omnigraph_sql.plan", "omnigraph_sql.engine", "text, names and plans never meet the engine"),
    ("omnigraph_sql.engine", "lance", "lance lives in engine.store"),
    ("omnigraph_sql.plan", "datafusion", "datafusion lives in run and engine.store"),
    ("omnigraph_sql.base", "pyspark", "pyspark lives in spark"),
    ("omnigraph_sql", "prompt_toolkit", "prompt_toolkit lives in repl"),
    ("omnigraph_sql.bind", "lark", "lark lives in grammar"),
    ("omnigraph_sql.plan", "sqlglot", "sqlglot lives in grammar and bind"),
]
AT_HOME = [
    ("omnigraph_sql.engine.store", "lance"),
    ("omnigraph_sql.engine.store", "datafusion"),
    ("omnigraph_sql.run", "datafusion"),
    ("omnigraph_sql.spark", "pyspark"),
    ("omnigraph_sql.repl", "prompt_toolkit"),
    ("omnigraph_sql.grammar", "lark"),
    ("omnigraph_sql.bind", "sqlglot"),
    ("omnigraph_sql.engine", "omnigraph_sql.base"),
    ("omnigraph_sql.run", "omnigraph_sql.engine"),
    ("omnigraph_sql.run", "omnigraph_sql.plan"),
]


class HasRoot(Protocol):
    @property
    def root(self) -> Path: ...


def lint_imports(at: Path) -> subprocess.CompletedProcess[str]:
    """Check the contracts of the tree at `at`, and of no other copy of the package."""
    program = "from importlinter.cli import lint_imports; import sys; sys.exit(lint_imports(no_cache=True))"
    env = {"PYTHONPATH": str(at), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([sys.executable, "-c", program], cwd=at, env=env, capture_output=True, text=True, check=False)


def copy_of(tree: HasRoot, target: Path) -> Path:
    shutil.copy(tree.root / "pyproject.toml", target)
    for name in ("omnigraph_sql", "engine", "grammar", "repl"):
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(tree.root / name, target / name, symlinks=True, ignore=ignore)
    return target


def write_module(root: Path, package: str, name: str, imported: str) -> None:
    """Add a module to `package` that does nothing but import `imported`."""
    folder = root / package.replace(".", "/")
    folder.mkdir(exist_ok=True)
    (folder / "__init__.py").touch()
    (folder / f"{name}.py").write_text(f"import {imported}\n")


def rogue(package: str, imported: str) -> str:
    return f"rogue_{package}_{imported}".replace(".", "_")


@pytest.fixture(scope="session")
def broken_report(tree: HasRoot, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the checker says about a tree in which every rule is broken."""
    copy = copy_of(tree, tmp_path_factory.mktemp("broken"))
    for package, imported, _ in AGAINST_THE_RULES:
        write_module(copy, package, rogue(package, imported), imported)
    done = lint_imports(copy)
    assert done.returncode == 1, done.stdout + done.stderr
    return re.sub(r"\s+", " ", done.stdout)  # the report is wrapped to the width of a terminal


def test_the_tree_keeps_every_contract(tree: HasRoot) -> None:
    done = lint_imports(tree.root)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("package", "imported", "contract"), AGAINST_THE_RULES)
def test_an_import_against_the_rules_is_reported(
    broken_report: str, package: str, imported: str, contract: str
) -> None:
    assert f"{contract} BROKEN" in broken_report
    assert f"{package}.{rogue(package, imported)} -> {imported} (l.1)" in broken_report


def test_imports_at_home_are_accepted(tree: HasRoot, tmp_path: Path) -> None:
    copy = copy_of(tree, tmp_path)
    for package, imported in AT_HOME:
        write_module(copy, package, rogue(package, imported), imported)
    done = lint_imports(copy)
    assert done.returncode == 0, done.stdout + done.stderr
