"""Importing the package is cheap and the layers have one name each."""

import subprocess
import sys
from pathlib import Path
from typing import Protocol

import pytest

HEAVY = ("lance", "datafusion", "pyspark", "pandas", "polars", "pyarrow", "lark", "sqlglot", "prompt_toolkit", "numpy")


class HasRoot(Protocol):
    @property
    def root(self) -> Path: ...


def run(program: str, *, at: Path, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    env = {"PYTHONPATH": str(path)} if path else {}
    return subprocess.run([sys.executable, "-c", program], cwd=at, env=env, capture_output=True, text=True, check=False)


def test_importing_the_package_loads_no_heavy_library(tree: HasRoot) -> None:
    done = run(f"import sys, omnigraph_sql; print(*sorted(set(sys.modules) & set({HEAVY!r})))", at=tree.root)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


@pytest.mark.parametrize("layer", ["engine", "grammar", "repl"])
def test_a_layer_refuses_to_be_imported_under_its_folder_name(layer: str, tree: HasRoot) -> None:
    done = run(f"import {layer}", at=tree.root)
    assert done.returncode == 1
    assert f"ImportError: import this layer as omnigraph_sql.{layer}" in done.stderr


@pytest.mark.parametrize("layer", ["engine", "grammar", "repl"])
def test_a_layer_can_be_imported_under_its_own_name(layer: str, tree: HasRoot) -> None:
    done = run(f"import omnigraph_sql.{layer}", at=tree.root)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("layer", ["engine", "grammar", "repl"])
def test_a_module_of_the_user_with_the_name_of_a_layer_stays_theirs(layer: str, tree: HasRoot, tmp_path: Path) -> None:
    (tmp_path / f"{layer}.py").write_text("MINE = True\n")
    done = run(f"import omnigraph_sql.{layer}, {layer}; assert {layer}.MINE", at=tmp_path, path=tree.root)
    assert done.returncode == 0, done.stderr
