"""The command as the shell sees it: streams, signals, encodings and exit codes of a real process."""

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Outcome

Process = Callable[..., Outcome]

WRONG = ("lint", "bad.gq", "--schema", "air.pg")
INTERRUPTIBLE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it
from omnigraph_sql.cli import main
main()
"""


@pytest.fixture(autouse=True)
def bad_query(folder: Path) -> None:
    (folder / "bad.gq").write_text("query q() { match { $a: Airport } return { $a.citty } }\n")


def python(*args: str) -> list[str]:
    return [sys.executable, "-m", "omnigraph_sql", *args]


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("--version",), 0),
        (("lint", "air.gq", "--schema", "air.pg"), 0),
        (WRONG, 1),
        (("lint", "nope.gq", "--schema", "air.pg"), 2),
        (("lint",), 2),
        ((), 2),
    ],
)
def test_the_exit_code_reaches_the_shell(process: Process, args: tuple[str, ...], code: int) -> None:
    assert process(*args).code == code


def test_the_installed_script_is_the_same_command(folder: Path, environment: dict[str, str], process: Process) -> None:
    script = Path(sys.executable).with_name("ogsql")
    done = subprocess.run([script, *WRONG], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert Outcome(done.returncode, done.stdout, done.stderr) == process(*WRONG)


def test_a_statement_comes_from_standard_input(process: Process) -> None:
    done = process("explain", "--schema", "air.pg", "-", stdin=b"match { $a: Airport } return { $a.city }")
    assert (done.code, done.err) == (0, "")
    assert "Scan Airport" in done.out


def test_bytes_that_are_no_text_are_refused_in_an_argument_and_in_standard_input(process: Process) -> None:
    piped = process("explain", "--schema", "air.pg", "-", stdin=b"SELECT '\xff'")
    given = process("explain", "--schema", "air.pg", os.fsdecode(b"SELECT '\xff'"))
    for done in (piped, given):
        assert (done.code, done.out) == (1, "")
        assert done.err.startswith("error[parse]: the text is not UTF-8")
        assert ":1:9\n" in done.err


@pytest.mark.parametrize(("args", "code"), [(("--help",), 0), (("demo",), 0), (WRONG, 1)])
def test_a_reader_that_leaves_early_changes_nothing_but_the_output(
    folder: Path, environment: dict[str, str], args: tuple[str, ...], code: int
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        done = subprocess.run(
            python(*args), cwd=folder, env=environment, stdout=pipe, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == code
    assert b"Traceback" not in done.stderr
    assert b"ipe" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_output_that_cannot_be_written_is_a_storage_failure(folder: Path, environment: dict[str, str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            python(*WRONG), cwd=folder, env=environment, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (
        3,
        b"error[storage]: the output cannot be written: no space left on device\n",
    )


def test_closed_streams_are_no_reason_to_fail(folder: Path, environment: dict[str, str]) -> None:
    line = f"exec {sys.executable} -m omnigraph_sql {' '.join(WRONG)} <&- >&- 2>&-"
    assert subprocess.run(["sh", "-c", line], cwd=folder, env=environment, check=False).returncode == 1


def test_an_interrupt_ends_with_130_and_without_a_traceback(folder: Path, environment: dict[str, str]) -> None:
    os.mkfifo(folder / "slow.pg")
    command = [sys.executable, "-c", INTERRUPTIBLE, "explain", "--schema", "slow.pg", "-"]
    child = subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with child, (folder / "slow.pg").open("w") as schema:  # opens when the child has opened its end, and is at work
        schema.write("node Airport { code: String @key }")
        schema.close()
        child.send_signal(signal.SIGINT)  # standard input stays open: nothing else would end the child
        assert child.wait(60) == 130
        assert child.stdout is not None
        assert child.stderr is not None
        assert (child.stdout.read(), child.stderr.read().strip()) == (b"", b"")


def test_rows_go_to_the_pipe_and_talk_does_not(process: Process, air: str) -> None:
    done = process(
        air, "--format", "csv", stdin=b"INSERT INTO Airport (code, city) VALUES ('AQP', 'Arequipa') RETURNING code"
    )
    assert (done.code, done.out) == (0, "code\nAQP\n")
    assert done.err.startswith("1 node changed, commit ")


def test_rows_that_nobody_reads_any_more_are_not_made(folder: Path, environment: dict[str, str], air: str) -> None:
    endless = "SELECT * FROM generate_series(1, 1000000000000) AS g(n)"
    line = f"exec {sys.executable} -m omnigraph_sql {air} --format csv -c '{endless}' -c 'SELECT 1 AS one'"
    with subprocess.Popen(
        ["sh", "-c", line], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        try:
            assert child.stdout.readline() == b"n\n"
            child.stdout.close()
            assert child.wait(60) == 0
        finally:
            child.kill()
        assert child.stderr.read() == b""


def test_a_reader_that_leaves_early_does_not_undo_a_commit(
    folder: Path, environment: dict[str, str], air: str, process: Process
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    insert = "INSERT INTO Airport (code, city) VALUES ('AQP', 'Arequipa') RETURNING code"
    with os.fdopen(writing, "wb") as pipe:
        done = subprocess.run(
            python(air, "-c", insert), cwd=folder, env=environment, stdout=pipe, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    assert process(air, "--format", "csv", "-c", "SELECT count(*) AS n FROM Airport").out == "n\n3\n"


def test_the_codes_of_refusals_reach_the_shell(process: Process, air: str) -> None:
    codes = [
        process(*arguments).code
        for arguments in (
            (air, "-c", "SELECT city FROM Airport"),
            (air, "-c", "SELECT citty FROM Airport"),
            ("nope.omni", "-c", "SELECT 1"),
            (air, "-c", "INSERT INTO Airport (code, city) VALUES ('LIM', 'Lima')"),
        )
    ]
    assert codes == [0, 1, 2, 1]


def test_an_interrupted_statement_changes_nothing_and_the_graph_stays_usable(
    folder: Path, environment: dict[str, str], air: str, process: Process
) -> None:
    command = [sys.executable, "-c", INTERRUPTIBLE, air, "-f", "slow.sql"]
    os.mkfifo(folder / "slow.sql")
    child = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with child, (folder / "slow.sql").open("w") as script:  # opens when the script is awaited
        script.write("DELETE FROM Route")
        script.flush()
        child.send_signal(signal.SIGINT)
        assert child.wait(60) == 130  # the other end stays open: nothing else would end the child
        assert child.stdout is not None
        assert child.stderr is not None
        assert (child.stdout.read(), child.stderr.read().strip()) == (b"", b"")
    assert process(air, "--format", "csv", "-c", "SELECT count(*) AS n FROM Route").out == "n\n1\n"


ELSEWHERE = """
import signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)
main_thread = threading.get_ident()

def press():  # another thread takes the signal, once the main one waits in its read
    while "read_all" not in _names(sys._current_frames()[main_thread]):
        pass
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)

def _names(frame):
    while frame is not None:
        yield frame.f_code.co_name
        frame = frame.f_back

from omnigraph_sql.cli import main
threading.Thread(target=press, daemon=True).start()
main()
"""

ASTRAY = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from omnigraph_sql.cli import main
from omnigraph_sql.cli.interrupts import listen
listen()

class Cleaned:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

sys.unraisablehook = lambda told: None
Cleaned()  # the interpreter drops what a clean-up raises
main()
"""


def test_a_press_that_no_read_notices_ends_the_wait(folder: Path, environment: dict[str, str]) -> None:
    command = [sys.executable, "-c", ELSEWHERE, "explain", "--schema", "air.pg", "-"]
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        try:
            assert child.wait(60) == 130  # nobody writes and nobody closes
        finally:
            child.kill()


def test_a_press_that_the_interpreter_drops_still_stops_the_command(
    folder: Path, environment: dict[str, str], air: str, process: Process
) -> None:
    command = [sys.executable, "-c", ASTRAY, air, "-c", "DELETE FROM Route"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, b"", b"")
    assert process(air, "--format", "csv", "-c", "SELECT count(*) AS n FROM Route").out == "n\n1\n"


def on_a_terminal(folder: Path, environment: dict[str, str]) -> bytes:
    """What a terminal receives from a lint that finds something."""
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as screen:
        try:
            subprocess.run(python(*WRONG), cwd=folder, env=environment, stdout=theirs, stderr=theirs, check=False)
        finally:
            os.close(theirs)
        shown = b""
        try:
            while part := screen.read(4096):
                shown += part
        except OSError:  # the other end is closed and everything was read
            pass
    return shown


def test_a_terminal_gets_colours_unless_its_user_refuses(folder: Path, environment: dict[str, str]) -> None:
    assert b"\x1b[" in on_a_terminal(folder, environment | {"TERM": "xterm"})
    refused = on_a_terminal(folder, environment | {"TERM": "xterm", "NO_COLOR": "1"})
    assert b"\x1b[" not in refused
    assert b"citty" in refused


def test_a_pipe_gets_no_colours(process: Process) -> None:
    done = process(*WRONG, TERM="xterm")
    assert "\x1b[" not in done.out + done.err


def test_a_stream_that_cannot_hold_a_character_gets_an_escape(process: Process, folder: Path) -> None:
    (folder / "bad.gq").write_text('query q() { match { $a: Airport { citty: "Zürich" } } return { $a } }\n')
    done = process(*WRONG, PYTHONIOENCODING="ascii:strict", PYTHONUTF8="0")
    assert done.code == 1
    assert "Z\\xfcrich" in done.out
