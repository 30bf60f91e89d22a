"""A folder with files, and the command run in it: within this process, or as a process of its own."""

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

import omnigraph_sql
from omnigraph_sql.cli.command import run

SCHEMA = """node Airport {
    code: String @key
    city: String
    elevation: I32?
}
edge Route: Airport -> Airport { miles: I32 }
"""

QUERIES = """query reachable($from: String) {
    match  { $a: Airport { code: $from }  $a route{1,2} $b }
    return { $b.code, $b.city }
    order  { $b.code }
}
query rename($code: String, $city: String, $up: I32?) {
    update Airport set { city: $city, elevation: $up } where code = $code
}
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    code: int
    out: str
    err: str


class Command(Protocol):
    def __call__(self, *args: str, stdin: bytes = b"") -> Outcome: ...


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, holding a correct air.pg and a correct air.gq."""
    (tmp_path / "air.pg").write_text(SCHEMA)
    (tmp_path / "air.gq").write_text(QUERIES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def ogsql(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command within this process."""
    assert folder == Path.cwd()

    def command(*args: str, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        code = run(args)
        shown = capsys.readouterr()
        return Outcome(code, shown.out, shown.err)

    return command


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph with two airports and a route, made once; tests work on copies."""
    path = tmp_path_factory.mktemp("filled") / "air.omni"
    with omnigraph_sql.init(path, schema=SCHEMA, actor="ana") as graph, graph.transaction() as tx:
        tx.sql("INSERT INTO Airport (code, city, elevation) VALUES ('LIM', 'Lima', 34), ('CUZ', 'Cusco', 3310)")
        tx.sql("INSERT INTO Route (src, dst, miles) VALUES ('LIM', 'CUZ', 363)")
    return path


@pytest.fixture
def air(folder: Path, filled: Path) -> str:
    """The name of a copy of the graph in the folder."""
    shutil.copytree(filled, folder / "air.omni")
    return "air.omni"


@pytest.fixture
def environment() -> dict[str, str]:
    """That of a child: nothing of ours but the way to the interpreter's libraries."""
    return {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "PYTHONPATH")}


@pytest.fixture
def process(folder: Path, environment: dict[str, str]) -> Callable[..., Outcome]:
    """The command as a process, through `python -m omnigraph_sql`."""

    def command(*args: str, stdin: bytes = b"", **variables: str) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "omnigraph_sql", *args],
            cwd=folder,
            env=environment | variables,
            input=stdin,
            capture_output=True,
            check=False,
        )
        return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())

    return command
