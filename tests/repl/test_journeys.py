"""Journeys of a person at a real terminal. Nothing sleeps: every step waits for what it expects."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.repl.terminal import Terminal

pexpect = pytest.importorskip("pexpect")

Start = Callable[..., Terminal]
TAB = "\t"
BUSY = (
    "SELECT count(*) AS n FROM generate_series(1, 300000) a(i), generate_series(1, 100000) b(j) WHERE (i * j) % 7 = 3;"
)
"""A statement that runs for minutes when nobody stops it."""


@pytest.fixture
def start(air: Path, tmp_path: Path) -> Iterator[Start]:
    started: list[Terminal] = []

    def begin(*options: str, lines: int = 40, columns: int = 100, colour: bool = False) -> Terminal:
        started.append(Terminal(air, tmp_path, *options, lines=lines, columns=columns, colour=colour))
        return started[-1]

    yield begin
    for terminal in started:
        terminal.close()


def test_typing_a_question_in_either_language_and_leaving(start: Start) -> None:
    terminal = start()
    terminal.prompt()
    terminal.enter("SELECT city FROM Airport")
    terminal.until(r"\.\.\. ")
    terminal.enter("WHERE code = 'LIM';")
    assert "│ Lima   │" in terminal.rows()
    terminal.prompt()
    terminal.enter('match { $a: Airport { code: "LIM" }  $a route $b } return { $b.city as next }')
    assert "│ Cusco  │" in terminal.rows()
    terminal.prompt()
    terminal.ctrl("d")
    assert terminal.ended() == 0


def test_completing_tables_and_the_join_between_them(start: Start) -> None:
    terminal = start()
    terminal.prompt()
    for typed, offered in [
        ("SELECT * FROM Airp", "Airport"),
        (" a JOIN Rou", "Route"),
        (" r ON ", "edge join"),
    ]:
        terminal.type(typed)
        terminal.until(offered)
        terminal.type(TAB)
    terminal.enter(" WHERE a.elevation = 34;")
    assert "363" in terminal.rows()
    terminal.prompt()
    terminal.enter("\\history 1")
    terminal.until(r"SELECT \* FROM Airport a JOIN Route r ON r\.src = a\.id WHERE a\.elevation = 34;")


def test_cancelling_a_running_query_keeps_the_shell(start: Start) -> None:
    terminal = start()
    terminal.prompt()
    terminal.enter(BUSY)
    terminal.until(r"running \d+ s")
    terminal.ctrl("c")
    terminal.until(r"cancelled \(\d+\.\d s\)")
    terminal.prompt()
    terminal.enter("SELECT 6 * 7 AS answer;")
    assert "│     42 │" in terminal.rows()


def test_a_failing_statement_is_shown_with_its_place_and_a_way_out(start: Start) -> None:
    terminal = start()
    terminal.prompt()
    terminal.enter("SELECT citty FROM Airport;")
    seen = terminal.until("did you mean 'city'")
    assert "1 | SELECT citty FROM Airport;" in seen
    assert "|        ^^^^^" in seen
    terminal.prompt()
    terminal.enter("INSERT INTO Airport VALUES ('LIM', 'Lima', 1);")
    terminal.until(r"error\[\w+\]: .*LIM")
    terminal.prompt()


def test_an_open_transaction_at_the_end_is_asked_about(start: Start) -> None:
    terminal = start()
    terminal.prompt()
    terminal.enter("BEGIN;")
    terminal.until(r"\*> ")
    terminal.enter("INSERT INTO Carrier VALUES ('LA', 'Latam');")
    terminal.until("not committed yet")
    terminal.until(r"\*> ")
    terminal.ctrl("d")
    terminal.until("c/r/S")
    terminal.enter("c")
    assert terminal.ended() == 0
    assert "1 node changed, commit" in terminal.seen
    again = start()
    again.prompt()
    again.enter("SELECT name FROM Carrier;")
    again.until("Latam")


def test_a_smaller_window_gets_narrower_rows(start: Start) -> None:
    terminal = start(lines=40, columns=120)
    terminal.prompt()
    text = "SELECT repeat('x', 70) AS a, repeat('y', 30) AS b;"
    terminal.enter(text)
    assert "x" * 70 in terminal.rows()
    terminal.prompt()
    terminal.resize(30, 60)
    terminal.enter(text)
    seen = terminal.rows()
    assert "…" in seen
    assert max(len(line) for line in seen.splitlines() if line.startswith(("│ x", "┌", "└"))) <= 60


def test_a_hundred_thousand_rows_are_shown_by_their_first_and_last(start: Start) -> None:
    terminal = start()
    terminal.prompt()
    terminal.enter("SELECT i, i * i AS square FROM generate_series(1, 100000) AS t(i);")
    seen = terminal.until(r"100 000 rows \(\d+ shown\)")
    assert "│      1 │           1 │" in seen
    assert "│ 100000 │ 10000000000 │" in seen
    assert seen.count("│\n") < 45
    terminal.prompt()
    terminal.enter("SELECT sum(i) AS s FROM _;")
    terminal.until("5000050000")


def test_wide_and_foreign_letters_stand_in_line(start: Start) -> None:
    terminal = start()
    terminal.prompt()
    terminal.enter("SELECT * FROM (VALUES ('東京', 'Ñuñoa'), ('Київ', 'ﬁ'), ('عمان', 'é')) AS t(city, other);")
    seen = terminal.until("3 rows")
    lines = [line for line in seen.splitlines() if line.startswith("│") and ("東京" in line or "Київ" in line)]
    assert lines == ["│ 東京   │ Ñuñoa  │", "│ Київ   │ ﬁ      │"]


def test_commands_and_forms_into_a_file(start: Start, tmp_path: Path) -> None:
    terminal = start()
    terminal.prompt()
    terminal.enter("\\d")
    assert "Route" in terminal.until("4 rows")
    terminal.prompt()
    terminal.enter("\\T json")
    terminal.prompt()
    terminal.enter("\\once out.json")
    terminal.prompt()
    terminal.enter("SELECT code FROM Airport WHERE code = 'LIM';")
    terminal.until("rows written to out.json")
    terminal.prompt()
    assert (tmp_path / "out.json").read_text() == '[\n  {"code": "LIM"}\n]\n'
    terminal.enter("\\q")
    assert terminal.ended() == 0


def test_history_is_found_again_in_the_next_session(start: Start) -> None:
    first = start()
    first.prompt()
    first.enter("SELECT 'needle' AS found;")
    first.rows()
    first.prompt()
    first.ctrl("d")
    first.ended()
    second = start()
    second.prompt()
    second.ctrl("r")
    second.until("I-search")
    second.type("needle")
    second.until("AS.* found")
    second.type("\r\r")
    second.rows()


@pytest.mark.parametrize("colour", [True, False])
def test_null_is_dim_unless_no_colour_is_wanted(start: Start, colour: bool) -> None:
    terminal = start(colour=colour)
    terminal.prompt()
    terminal.enter("SELECT NULL AS none;")
    terminal.child.expect("NULL[^;]*│")
    assert ("\x1b[2mNULL" in terminal.child.before + terminal.child.after) is colour


@pytest.mark.parametrize("name", ["nowhere.omni", "empty"])
def test_what_is_no_graph_is_told_before_any_prompt(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    terminal = Terminal(tmp_path / name, tmp_path)
    assert terminal.ended() == 2
    assert "ogsql init" in terminal.seen
    assert "omni:" not in terminal.seen


def test_a_branch_that_does_not_exist_ends_the_shell(start: Start) -> None:
    terminal = start("--branch", "nowhere")
    assert terminal.ended() == 1
    assert "there is no branch nowhere" in terminal.seen
