"""Whole conversations, typed through a pipe."""

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from omnigraph_sql.repl.app import Dialogue, files
from omnigraph_sql.repl.commands import COMMANDS, HABITS, command_named
from omnigraph_sql.repl.handlers import HANDLERS
from omnigraph_sql.repl.lent import Options
from omnigraph_sql.repl.places import Places
from tests.repl.conftest import ALT_ENTER, CTRL_C, CTRL_D, ENTER, F3, Talk

Rows = Callable[[str], list[tuple[object, ...]]]


# ---- statements -------------------------------------------------------------------------------------------------


def test_a_query_in_sql_is_answered_with_a_box(talk: Talk) -> None:
    said = talk("SELECT code, elevation FROM Airport ORDER BY code;")
    lines = said.text.splitlines()
    assert lines[:8] == [
        "┌────────┬───────────┐",
        "│ code   │ elevation │",
        "│ String │       I32 │",
        "├────────┼───────────┤",
        "│ CUZ    │      3310 │",
        "│ LIM    │        34 │",
        "│ LPB    │      NULL │",
        "└────────┴───────────┘",
    ]
    assert lines[8].startswith("3 rows · ")
    assert said.code == 0


def test_both_languages_are_understood_at_one_prompt(talk: Talk) -> None:
    said = talk('match { $a: Airport { code: "LIM" }  $a route $b } return { $b.city as next }', "SELECT 1 AS one;")
    assert "│ Cusco  │" in said
    assert "│   1 │" in said


def test_a_statement_goes_over_several_lines_until_it_is_complete(talk: Talk) -> None:
    said = talk("SELECT city", "FROM Airport", "WHERE code = 'LIM';")
    assert "Lima" in said
    assert "error" not in said


def test_alt_enter_sends_what_is_not_complete(talk: Talk) -> None:
    assert "Lima" in talk(raw=f"SELECT city FROM Airport WHERE code = 'LIM'{ALT_ENTER}{CTRL_D}")


def test_f3_makes_enter_send_at_once(talk: Talk) -> None:
    assert "Lima" in talk(raw=f"{F3}SELECT city FROM Airport WHERE code = 'LIM'{ENTER}{CTRL_D}")


def test_several_statements_on_one_line_are_run_one_by_one(talk: Talk, rows: Rows) -> None:
    said = talk("INSERT INTO Carrier VALUES ('LA', 'Latam'); INSERT INTO Carrier VALUES ('LA', 'again'); SELECT 1;")
    assert said.text.count("1 node changed, commit") == 1
    assert "error[" in said
    assert "1 row" not in said
    assert rows("SELECT name FROM Carrier") == [("Latam",)]


def test_a_text_that_does_not_parse_runs_not_even_in_part(talk: Talk, rows: Rows) -> None:
    assert "error[parse]" in talk("INSERT INTO Carrier VALUES ('LA', 'Latam'); SELEC 1;")
    assert rows("SELECT * FROM Carrier") == []


def test_an_error_points_at_its_place_in_what_was_typed(talk: Talk) -> None:
    said = talk("SELECT 1;  SELECT citty FROM Airport;")
    assert "1 | SELECT 1;  SELECT citty FROM Airport;\n  |                   ^^^^^\n  = did you mean 'city'?" in said


def test_an_error_in_gq_points_too(talk: Talk) -> None:
    said = talk("match { $a: Airport } return { $a.citty }")
    assert "error[T6]" in said
    assert "^^^^^" in said


def test_ctrl_c_at_the_prompt_drops_the_text(talk: Talk) -> None:
    said = talk(raw=f"SELECT nonsense{CTRL_C}SELECT 1 AS one;{ENTER}{CTRL_C}{CTRL_D}")
    assert "│   1 │" in said
    assert "nonsense" not in said


# ---- transactions and destruction -------------------------------------------------------------------------------


@pytest.mark.parametrize(("answer", "kept"), [("c", [("LA",)]), ("r", [])])
def test_leaving_with_an_open_transaction_asks(talk: Talk, rows: Rows, answer: str, kept: list[tuple[str]]) -> None:
    said = talk(raw=f"BEGIN;{ENTER}INSERT INTO Carrier VALUES ('LA', 'Latam');{ENTER}{CTRL_D}{answer}{ENTER}")
    assert said.code == 0
    assert rows("SELECT iata FROM Carrier") == kept


def test_whoever_thinks_again_stays(talk: Talk) -> None:
    said = talk(raw=f"BEGIN;{ENTER}{CTRL_D}{ENTER}SELECT 7 AS seven;{ENTER}ROLLBACK;{ENTER}{CTRL_D}")
    assert "staying" in said
    assert "│     7 │" in said


@pytest.mark.parametrize(
    "text",
    ["DELETE FROM Route;", "UPDATE Airport SET city = 'x';", "TRUNCATE Route;", "delete from Route returning *;"],
)
def test_a_statement_that_destroys_is_asked_about(talk: Talk, rows: Rows, text: str) -> None:
    before = rows("SELECT city FROM Airport ORDER BY city"), rows("SELECT miles FROM Route ORDER BY miles")
    assert "not done" in talk(text, "n")
    assert (rows("SELECT city FROM Airport ORDER BY city"), rows("SELECT miles FROM Route ORDER BY miles")) == before


def test_whoever_says_yes_gets_it(talk: Talk, rows: Rows) -> None:
    assert "2 edges changed" in talk("DELETE FROM Route;", "y")
    assert rows("SELECT * FROM Route") == []


def test_dash_y_asks_nothing(talk: Talk, rows: Rows) -> None:
    assert "2 edges changed" in talk("DELETE FROM Route;", options=Options(confirms=False))
    assert rows("SELECT * FROM Route") == []


def test_a_delete_that_names_its_rows_is_not_asked_about(talk: Talk) -> None:
    assert "1 edge changed" in talk("DELETE FROM Route WHERE miles = 333;")


# ---- commands ---------------------------------------------------------------------------------------------------


def test_every_command_of_the_table_has_someone_who_carries_it_out() -> None:
    assert {command.name for command in COMMANDS} == set(HANDLERS)


def test_no_name_belongs_to_two_commands() -> None:
    names = [name for command in COMMANDS for name in command.names]
    assert len(names) == len(set(names))


def test_help_lists_every_command(talk: Talk) -> None:
    said = talk("\\?")
    assert [command.usage for command in COMMANDS if f"  {command.usage}  " not in said] == []


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("\\? T", "also \\format"),
        ("\\d", "│ Route   │ edge   │ Airport │ Airport │"),
        ("\\d airport", "│ elevation   │ I32         │ YES      │"),
        ("\\d Route", "edge Route: Airport → Airport"),
        ("\\d+", "Airport → Airport"),
        ("\\d+ Airport", "@key(code)"),
        ("\\d+ Airport", "edge Hub: Carrier → Airport"),
        ("\\dn", "Carrier"),
        ("\\de", "Hub"),
        ("\\di", "│ Carrier │ iata"),
        ("\\df coal", "coalesce"),
        ("\\branch", "│ *      │ main"),
        ("\\log", "│ ana    │ first"),
        ("\\conninfo", "branch      main"),
        ("\\refresh", "4 tables, 1 branches"),
        ("\\echo hallo", "hallo\n"),
        ("\\explain SELECT city FROM Airport;", "Scan Airport"),
        ("\\sql SELECT 5 AS five", "│    5 │"),
        ("\\gq match { $a: Airport } return { count($a) as n }", "│   3 │"),
        ("\\config rows", "rows = auto"),
        ("\\set", "no parameters"),
        ("\\n", "no named queries"),
        ("\\pager", "pager: auto"),
        ("\\T", "forms: box, table"),
    ],
)
def test_a_command_shows_what_it_is_for(talk: Talk, command: str, shown: str) -> None:
    assert shown in talk(command)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("\\tming", "did you mean \\timing?"),
        ("\\zzz", "\\? lists the commands"),
        ("\\d Airprt", "did you mean Airport?"),
        ("\\T xml", "there is no form 'xml'"),
        ("\\x maybe", "expanded is one of on, off, auto"),
        ("\\config rows many", "rows is a number"),
        ("\\config rws", "did you mean rows?"),
        ("\\i nowhere.sql", "no such file"),
        ("\\once", "name a file"),
        ("\\o nowhere/x.csv", "cannot be written"),
        ("\\checkout nowhere", "nowhere"),
        ("\\n nothing", "there is no named query"),
        ("\\nd nothing", "there is no named query"),
        ("\\ns a/b SELECT 1", "cannot name a query"),
        ("\\_", "there are no rows yet"),
        ("\\plot", "there are no rows to draw"),
        ("\\watch", "there is no statement to watch"),
        ("\\watch DELETE FROM Route;", "not for watching"),
        ("\\unset x", "there is no parameter $x"),
        ("\\log x", "no number of commits"),
        ("\\branch a b c", "name a branch"),
    ],
)
def test_a_mistake_with_a_command_says_what_to_do(talk: Talk, command: str, told: str) -> None:
    said = talk(command, "SELECT 1 AS one;")
    assert told in said
    assert "│   1 │" in said


def test_parameters_are_set_once_and_used_in_both_languages(talk: Talk) -> None:
    said = talk(
        "\\set code 'LIM'",
        "\\set high 1000",
        "SELECT city FROM Airport WHERE code = $code;",
        "query q($high: I32) { match { $a: Airport  $a.elevation > $high } return { $a.city } }",
        "\\unset code",
        "SELECT city FROM Airport WHERE code = $code;",
    )
    assert "Lima" in said
    assert "Cusco" in said
    assert "parameter code is missing" in said


def test_a_value_of_a_parameter_is_never_text_of_the_statement(talk: Talk, rows: Rows) -> None:
    said = talk("\\set code '; DELETE FROM Route; --", "SELECT city FROM Airport WHERE code = $code;")
    assert "0 rows" in said
    assert len(rows("SELECT * FROM Route")) == 2


def test_named_queries_are_kept_listed_run_and_dropped(talk: Talk, places: Places) -> None:
    talk(
        "\\ns by_code SELECT city FROM Airport WHERE code = $code;", "\\ns far match { $a: Airport } return { $a.code }"
    )
    assert (places.queries / "by_code.sql").read_text() == "SELECT city FROM Airport WHERE code = $code;\n"
    assert (places.queries / "far.gq").exists()
    said = talk(
        "\\n", "\\n by_code code=LIM", "\\n by_code CUZ", "\\n far", "\\n by_code LIM CUZ", "\\nd far", "\\n far"
    )
    assert "by_code" in said
    assert "Lima" in said
    assert "Cusco" in said
    assert "LPB" in said
    assert "'CUZ' is a value too many" in said
    assert "there is no named query 'far'" in said


def test_a_project_has_queries_of_its_own(talk: Talk, tmp_path: Path) -> None:
    (tmp_path / ".omnigraph.toml").write_text('[queries]\ntall = "SELECT max(elevation) AS top FROM Airport"\n')
    assert "3310" in talk("\\n tall")


def test_a_file_is_run_with_its_commands_and_errors_name_its_lines(talk: Talk, tmp_path: Path) -> None:
    path = tmp_path / "script.sql"
    path.write_text(
        "\\set code 'LIM'\nSELECT city\nFROM Airport WHERE code = $code;\n"
        "\\echo half\nSELECT nix FROM Airport;\n\\echo never\n"
    )
    said = talk(f"\\i {path}")
    assert "Lima" in said
    assert "half" in said
    assert f"--> {path}:5:8" in said
    assert "never" not in said


def test_a_file_that_includes_itself_ends(talk: Talk, tmp_path: Path) -> None:
    (tmp_path / "loop.sql").write_text(f"\\i {tmp_path / 'loop.sql'}\n")
    assert "is included by itself" in talk(f"\\i {tmp_path / 'loop.sql'}")


def test_branches_are_made_and_worked_on(talk: Talk) -> None:
    said = talk(
        "\\branch review/x",
        "\\checkout review/x",
        "INSERT INTO Carrier VALUES ('LA', 'Latam');",
        "\\checkout main",
        "SELECT count(*) AS n FROM Carrier;",
    )
    assert "made review/x" in said
    assert "on review/x" in said
    assert "│   0 │" in said


def test_a_commit_is_read_and_not_written(talk: Talk, dialogue: Dialogue) -> None:
    head = dialogue.shell.state.head
    said = talk(
        f"\\checkout @{head[-8:].lower()}", "SELECT count(*) AS n FROM Airport;", "DELETE FROM Hub WHERE src = 'x';"
    )
    assert f"at {head}, read only" in said
    assert "│   3 │" in said
    assert "error[read_only]" in said


def test_a_checkout_inside_a_transaction_is_refused(talk: Talk) -> None:
    assert "a transaction is open" in talk("BEGIN;", "\\checkout main", "ROLLBACK;")


# ---- the rows before --------------------------------------------------------------------------------------------


def test_the_rows_before_are_a_table(talk: Talk) -> None:
    said = talk(
        "SELECT code, elevation, city FROM Airport;",
        "SELECT max(elevation) AS top, count(*) AS n FROM _ WHERE code <> 'LPB';",
        "SELECT a.city, x.n FROM Airport a, _ x WHERE a.code = 'LIM';",
    )
    assert "│ 3310 │   2 │" in said
    assert "│ Lima   │   2 │" in said


def test_nulls_days_and_truth_survive_in_the_rows_before(talk: Talk) -> None:
    said = talk(
        "SELECT NULL AS a, DATE '2031-02-03' AS d, true AS t, 1.5 AS f, ['x', 'y'] AS l, TIMESTAMP '2031-02-03' AS m;",
        "SELECT a IS NULL AS none, d + INTERVAL '1 day' AS d, t, f * 2 AS f, l, m FROM _;",
    )
    assert said.text.count("error") == 0, said.text
    assert "2031-02-04" in said
    assert '["x", "y"]' in said


def test_an_error_in_a_query_of_the_rows_before_points_at_what_was_typed(talk: Talk) -> None:
    said = talk("SELECT code FROM Airport;", "SELECT code, nix FROM _ WHERE code = 'LIM';")
    assert "1 | SELECT code, nix FROM _ WHERE code = 'LIM';\n  |              ^^^" in said


def test_the_rows_before_are_shown_again_in_another_form(talk: Talk) -> None:
    said = talk("SELECT city FROM Airport WHERE code = 'LIM';", "\\_ json")
    assert '[\n  {"city": "Lima"}\n]' in said


# ---- forms and files --------------------------------------------------------------------------------------------


def test_a_form_is_chosen_for_the_following_rows(talk: Talk) -> None:
    assert "code,city\nLIM,Lima" in talk("\\T csv", "SELECT code, city FROM Airport WHERE code = 'LIM';")


def test_wide_rows_stand_below_each_other(talk: Talk) -> None:
    wide = ", ".join(f"'{'x' * 20}' AS column_number_{i}" for i in range(12))
    said = talk(f"SELECT {wide};", "\\x off", f"SELECT {wide};", "\\x on", "SELECT 1 AS one;")
    assert "row 1" in said
    assert "column_number_11 │ xxxxxxxx" in said
    assert "columns not shown" in said
    assert "one │ 1" in said


def test_rows_go_to_files_once_or_until_told_otherwise(talk: Talk, tmp_path: Path) -> None:
    once, always = tmp_path / "once.csv", tmp_path / "always.jsonl"
    said = talk(
        f"\\once {once}",
        "SELECT code FROM Airport ORDER BY code;",
        f"\\o {always}",
        "SELECT city FROM Airport WHERE code = 'LIM';",
        "\\o",
        "SELECT 42 AS answer;",
    )
    assert once.read_text() == "code\nCUZ\nLIM\nLPB\n"
    assert always.read_text() == '{"city": "Lima"}\n'
    assert "Lima" not in said
    assert "│     42 │" in said


def test_a_statement_that_fails_leaves_the_file_for_the_next(talk: Talk, tmp_path: Path) -> None:
    goal = tmp_path / "x.csv"
    talk(f"\\once {goal}", "SELECT nix FROM Airport;", "SELECT 1 AS one;")
    assert goal.read_text() == "one\n1\n"


def test_the_rows_before_go_to_a_file_too(talk: Talk, tmp_path: Path) -> None:
    talk("SELECT 1 AS one;", f"\\once {tmp_path / 'y.md'}", "\\_")
    assert (tmp_path / "y.md").read_text() == "| one |\n| ---: |\n| 1 |\n"


def test_timing_is_told_or_not(talk: Talk) -> None:
    said = talk("\\timing off", "SELECT 1 AS one;")
    assert "1 row\n" in said


@pytest.mark.parametrize("kind", ["bar", "line", "hist"])
def test_rows_are_drawn(talk: Talk, kind: str) -> None:
    said = talk("SELECT city, elevation FROM Airport WHERE elevation IS NOT NULL;", f"\\plot {kind}")
    assert "elevation" in said.text.split("2 rows", 1)[1]
    assert "error" not in said


# ---- settings, history, start-up --------------------------------------------------------------------------------


def test_a_setting_is_kept_for_the_next_time_with_the_comments_around_it(talk: Talk, places: Places) -> None:
    places.config.mkdir()
    places.user_file.write_text("# mine\n[shell]\nnull = '-'  # short\n")
    assert "│         - │" in talk("\\config timing off", "SELECT elevation FROM Airport WHERE code = 'LPB';")
    assert places.user_file.read_text() == "# mine\n[shell]\nnull = '-'  # short\ntiming = false\n"
    assert "1 row\n" in talk("SELECT 1 AS one;")


def test_a_wrong_setting_is_told_and_left_out(talk: Talk, places: Places) -> None:
    places.config.mkdir()
    places.user_file.write_text("[shell]\nrows = 'many'\nnull = 'nix'\n")
    said = talk("SELECT elevation FROM Airport WHERE code = 'LPB';")
    assert "warning:" in said
    assert "rows is a number" in said
    assert "nix" in said


def test_the_history_is_private_and_leaves_out_what_begins_with_a_blank(talk: Talk, places: Places) -> None:
    said = talk("SELECT 1;", " SELECT 'secret';", "\\history 1", "\\history SELECT 1")
    assert "secret" not in places.history.read_text()
    assert "SELECT 1;" in places.history.read_text()
    assert stat.S_IMODE(places.history.stat().st_mode) == 0o600
    assert said.text.splitlines()[-2:] == ["SELECT 1;", "SELECT 1;"]


def test_the_start_up_file_is_run_first(talk: Talk, places: Places) -> None:
    places.config.mkdir()
    places.startup.write_text("\\set code 'CUZ'\nSELECT city FROM Airport WHERE code = $code;\n")
    assert "Cusco" in talk()
    places.user_file.write_text("[shell]\nstartup = false\n")
    assert "Cusco" not in talk()


# ---- what is shown around ---------------------------------------------------------------------------------------


def shown(dialogue: Dialogue) -> tuple[str, str]:
    prompt = "".join(piece[1] for piece in dialogue.message())
    return prompt, "".join(piece[1] for piece in dialogue.toolbar())


def test_the_prompt_and_the_toolbar_tell_where_one_is(dialogue: Dialogue) -> None:
    shell = dialogue.shell
    head = shell.state.head[-8:].lower()
    assert shown(dialogue) == ("omni:air@main> ", f" main │ {head} │ ; sends ")
    shell.execute("BEGIN;")
    prompt, toolbar = shown(dialogue)
    assert prompt == "omni:air@main*> "
    assert "transaction" in toolbar
    shell.execute("SELECT code FROM Airport;")
    assert "3 rows · " in shown(dialogue)[1]
    shell.execute("ROLLBACK;")
    shell.execute(f"\\checkout @{head}")
    assert shown(dialogue)[0] == f"omni:air@{head} (read-only)> "
    assert "read-only" in shown(dialogue)[1]


def test_files_are_suggested_by_their_beginning(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "dates.csv").touch()
    (tmp_path / ".hidden").touch()
    assert files(f"{tmp_path}/da") == [f"{tmp_path}/data/", f"{tmp_path}/dates.csv"]
    assert files(f"{tmp_path}/nowhere/x") == []


def test_a_graph_that_does_not_open_ends_the_shell(talk: Talk, air: Path) -> None:
    (air / "_schema.pg").unlink()
    (air / "_schema.ir.json").unlink()
    said = talk("SELECT 1;")
    assert said.code != 0
    assert "error[" in said


# ---- habits from other shells ----------------------------------------------------------------------------------------


def test_help_alone_lists_the_commands(talk: Talk) -> None:
    assert "\\conninfo" in talk("help")


@pytest.mark.parametrize("word", ["exit", "quit;", "EXIT", "\\q"])
def test_a_word_that_every_shell_knows_leaves(talk: Talk, word: str) -> None:
    said = talk(word, "SELECT 'still here' AS here;")
    assert "still here" not in said
    assert said.code == 0


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (".tables", "\\d"),
        (".schema Airport", "\\d"),
        ("\\dt", "\\d"),
        ("\\l", "\\checkout"),
        ("\\c other", "\\checkout"),
        (".read file.sql", "\\i"),
        (".timing on", "\\timing"),
        (".mode csv", "\\T"),
    ],
)
def test_a_command_of_another_shell_is_told_what_it_is_called_here(talk: Talk, typed: str, meant: str) -> None:
    said = talk(typed, "SELECT 1 AS one;")
    assert f"error[data]: there is no command {typed.split()[0]}\n  = hint: did you mean {meant}?\n" in said
    assert "│   1 │" in said


def test_every_habit_leads_to_a_command() -> None:
    assert {name for name in HABITS.values() if command_named(name) is None} == set()
    assert {name for name in HABITS if command_named(name) is not None} == set()


def test_a_parameter_without_a_value_leads_to_the_command_that_gives_it_one(talk: Talk) -> None:
    said = talk(
        "SELECT city FROM Airport WHERE code = $code;", "\\set code LIM", "SELECT city FROM Airport WHERE code = $code;"
    )
    given = "\\set NAME VALUE gives a parameter; behind \\n QUERY it is NAME=VALUE"
    assert f"parameter code is missing\n  = hint: hand over a value for it, None for null; {given}" in said
    assert "Lima" in said


def test_a_picture_leaves_out_what_has_no_value_without_a_word(talk: Talk) -> None:
    said = talk("SELECT code, elevation FROM Airport;", "\\plot bar")
    assert "elevation by code" in said
    assert "more" not in said
