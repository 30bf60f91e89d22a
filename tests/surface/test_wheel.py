"""What users install is what the tree holds."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Protocol

import pytest

NEEDED = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "omnigraph_sql", "engine", "grammar", "repl")


class HasRoot(Protocol):
    @property
    def root(self) -> Path: ...


def built_files(source: Path, out: Path) -> set[str]:
    """Build a source archive of `source`, a wheel from that archive, and list the wheel's package files."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = out.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name and not name.endswith("/")}


def package_files(root: Path) -> set[str]:
    """Every file below omnigraph_sql/, linked layers included."""
    found: set[str] = set()
    pending = [root / "omnigraph_sql"]
    while pending:
        for path in pending.pop().iterdir():
            if path.is_dir() and path.name != "__pycache__":
                pending.append(path)
            elif path.is_file():
                found.add(path.relative_to(root).as_posix())
    return found


@pytest.fixture
def copy(tree: HasRoot, tmp_path: Path) -> Path:
    """A copy of what a build needs: building in the tree would leave files behind."""
    target = tmp_path / "source"
    target.mkdir()
    for name in NEEDED:
        source = tree.root / name
        if source.is_dir():
            shutil.copytree(
                source, target / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
            )
        else:
            shutil.copy(source, target / name)
    return target


def test_the_wheel_holds_exactly_the_package_files_of_the_tree(copy: Path, tmp_path: Path) -> None:
    assert built_files(copy, tmp_path / "out") == package_files(copy)
