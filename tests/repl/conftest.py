"""A graph, and a conversation about it through a pipe instead of a keyboard."""

import io
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

import omnigraph_sql
from omnigraph_sql.cli.graphs import Address
from omnigraph_sql.cli.shell import lent_for
from omnigraph_sql.repl.app import Dialogue, run_shell
from omnigraph_sql.repl.lent import Options
from omnigraph_sql.repl.places import Places

SCHEMA = """
node Airport { code: String @key  city: String  elevation: I32? }
node Carrier { iata: String @key  name: String }
edge Route: Airport -> Airport { miles: I32 }
edge Hub: Carrier -> Airport
"""
ENTER, ALT_ENTER, CTRL_C, CTRL_D, TAB, F3 = "\r", "\x1b\r", "\x03", "\x04", "\t", "\x1bOR"


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("filled") / "air.omni"
    with omnigraph_sql.init(path, schema=SCHEMA, actor="ana") as graph, graph.transaction(message="first") as tx:
        tx.sql("INSERT INTO Airport VALUES ('LIM', 'Lima', 34), ('CUZ', 'Cusco', 3310), ('LPB', 'La Paz', NULL)")
        tx.sql("INSERT INTO Route (src, dst, miles) VALUES ('LIM', 'CUZ', 363), ('CUZ', 'LPB', 333)")
    return path


@pytest.fixture
def air(filled: Path, tmp_path: Path) -> Path:
    """A copy of the graph that a test may change."""
    return Path(shutil.copytree(filled, tmp_path / "air.omni"))


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "config", tmp_path / "state", tmp_path)


@dataclass(frozen=True, slots=True)
class Said:
    """What a conversation came to."""

    code: int
    text: str

    def __contains__(self, piece: str) -> bool:
        return piece in self.text


Talk = Callable[..., Said]


@pytest.fixture
def talk(air: Path, places: Places, monkeypatch: pytest.MonkeyPatch) -> Talk:
    """Type lines, each followed by Enter, then Ctrl-D; what was shown, and the exit code."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LINES", "40")

    def conversation(*lines: str, raw: str | None = None, options: Options | None = None, **variables: str) -> Said:
        stream = io.StringIO()
        keys = "".join(line + ENTER for line in lines) + CTRL_D if raw is None else raw
        with create_pipe_input() as keyboard:
            keyboard.send_text(keys)
            code = run_shell(
                lent_for(Address(str(air))),
                options or Options(),
                places=places,
                environment=variables,
                terminal=(keyboard, DummyOutput()),
                stream=stream,
            )
        return Said(code, stream.getvalue())

    return conversation


@pytest.fixture
def rows(air: Path) -> Callable[[str], list[tuple[object, ...]]]:
    """What the graph holds afterwards, asked without the shell."""

    def ask(text: str) -> list[tuple[object, ...]]:
        with omnigraph_sql.open(air, read_only=True) as graph:
            return graph.sql(text).fetchall()

    return ask


@pytest.fixture
def dialogue(air: Path, places: Places) -> Iterator[Dialogue]:
    """The editor and the shell, not running, with the graph open."""
    from omnigraph_sql.repl.screen import Screen
    from omnigraph_sql.repl.settings import load

    loaded = load(places.user_file, places.project_file, {})
    screen = Screen(io.StringIO(), interactive=False, colour=False, environment={})
    with create_pipe_input() as keyboard:
        made = Dialogue(lent_for(Address(str(air))), Options(), places, loaded, screen, (keyboard, DummyOutput()))
        made.shell.with_graph(lambda _: None)
        yield made
        made.shell.close()
