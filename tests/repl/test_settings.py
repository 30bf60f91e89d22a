"""Settings, named queries and colours."""

from pathlib import Path

import pytest

from omnigraph_sql.base.errors import DataError
from omnigraph_sql.repl.highlight import coloured
from omnigraph_sql.repl.named import Queries, value_of, values_of
from omnigraph_sql.repl.settings import FIELDS, Settings, load, parsed, write_setting
from omnigraph_sql.repl.styles import is_light
from tests.repl.test_complete import FIRST


def test_later_sources_win(tmp_path: Path) -> None:
    user, project = tmp_path / "config.toml", tmp_path / ".omnigraph.toml"
    user.write_text('[shell]\nnull = "user"\ncell = 50\nformat = "csv"\n')
    project.write_text('[shell]\nnull = "project"\ncell = 60\n[queries]\nq = "SELECT 1"\n')
    loaded = load(user, project, {"OMNIGRAPH_NULL": "environment", "OMNIGRAPH_TIMING": "off"})
    settings = loaded.settings
    assert (settings.null, settings.cell, settings.format, settings.timing) == ("environment", 60, "csv", False)
    assert loaded.origins["cell"] == str(project)
    assert loaded.queries == {"q": "SELECT 1"}
    assert loaded.problems == ()


@pytest.mark.parametrize("name", ["pager_command", "editor", "startup", "confirm"])
def test_a_project_names_no_programs_and_takes_no_guard_away(tmp_path: Path, name: str) -> None:
    project = tmp_path / ".omnigraph.toml"
    value = "false" if isinstance(getattr(Settings(), name), bool) else "'x'"
    project.write_text(f"[shell]\n{name} = {value}\n")
    loaded = load(tmp_path / "none.toml", project, {})
    assert getattr(loaded.settings, name) == getattr(Settings(), name)
    assert "can only be set in your own file" in loaded.problems[0]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[shell", "cannot be read"),
        ("[shell]\nrows = 0", "rows is a number from 1"),
        ("[shell]\ncell = 7", "cell is a number from 8"),
        ("[shell]\ntheme = 'pink'", "theme is one of"),
        ("[shell]\nmultline = true", "did you mean multiline?"),
        ("[shell]\nvi = 'perhaps'", "vi is on or off"),
        ("[shel]\nvi = true", "there is no table [shel]"),
        ("[queries]\nq = 1", "the query q is a text"),
        ("shell = 1", "[shell] is a table"),
    ],
)
def test_what_is_wrong_in_a_file_is_told(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    loaded = load(path, tmp_path / "none.toml", {})
    assert loaded.settings == Settings()
    assert told in "".join(loaded.problems)


@pytest.mark.parametrize(
    ("value", "fits"), [(8, True), (7, False), (100_000, True), (100_001, False), ("12", True), (True, False)]
)
def test_numbers_have_bounds(value: object, fits: bool) -> None:
    if fits:
        assert parsed("cell", value, "x") == int(str(value))
    else:
        with pytest.raises(DataError):
            parsed("cell", value, "x")


def test_every_setting_says_what_it_means() -> None:
    assert [name for name, one in FIELDS.items() if not one.metadata.get("help")] == []


def test_a_setting_is_written_where_there_was_no_file(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config.toml"
    write_setting(path, "vi", "on")
    assert load(path, tmp_path / "none", {}).settings.vi is True
    with pytest.raises(DataError):
        write_setting(path, "nix", "on")


@pytest.mark.parametrize(
    ("theme", "ground", "light"),
    [
        ("auto", "0;15", True),
        ("auto", "15;0", False),
        ("auto", "", False),
        ("light", "15;0", True),
        ("dark", "0;15", False),
    ],
)
def test_the_ground_is_light_when_theme_or_terminal_say_so(theme: str, ground: str, light: bool) -> None:
    assert is_light(theme, {"COLORFGBG": ground}) is light


# ---- named queries ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        ("LIM 3", {"from": "LIM", "hops": 3}),
        ("hops=2 LIM", {"from": "LIM", "hops": 2}),
        ("from=LIM hops='4'", {"from": "LIM", "hops": 4}),
        ("'La Paz'", {"from": "La Paz"}),
        ("", {}),
    ],
)
def test_values_go_by_name_or_in_order(arguments: str, values: dict[str, object]) -> None:
    assert values_of(arguments, ["from", "hops"]) == values


@pytest.mark.parametrize("arguments", ["a b c", "'open"])
def test_values_that_do_not_fit_are_refused(arguments: str) -> None:
    with pytest.raises(DataError):
        values_of(arguments, ["from", "hops"])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("1.5", 1.5),
        ("true", True),
        ("null", None),
        ("'1'", "1"),
        ("it''s", "it''s"),
        ("NaN", "NaN"),
        ("[1, 2]", [1, 2]),
        ("x y", "x y"),
    ],
)
def test_a_value_is_json_or_text(text: str, value: object) -> None:
    assert value_of(text) == value


@pytest.mark.parametrize("name", ["../escape", "a/b", "", ".hidden", "x" * 65, "a b"])
def test_no_name_of_a_query_leads_out_of_its_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError):
        Queries(tmp_path / "queries", {}).save(name, "SELECT 1")
    assert list(tmp_path.iterdir()) == []


# ---- colours ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [text.replace("|", "") for text, _ in FIRST])
def test_colouring_keeps_every_letter(text: str) -> None:
    for end in range(len(text) + 1):
        assert "".join(piece for _, piece in coloured(text[:end])) == text[:end]


@pytest.mark.parametrize(
    ("text", "piece", "kind"),
    [
        ("SELECT 1", "SELECT", "Token.Keyword"),
        ("SELECT 'x'", "'x'", "Token.Literal.String.Single"),
        ("SELECT upper(a)", "upper", "Token.Name.Function"),
        ("SELECT $p", "$p", "Token.Name.Variable"),
        ("SELECT 1 -- x", "-- x", "Token.Comment.Single"),
        ("match { $a: Airport }", "match", "Token.Keyword"),
        ("match { $a: Airport }", "Airport", "Token.Name.Class"),
        ("match { $a: Airport } // x", "// x", "Token.Comment.Single"),
        ("\\explain SELECT 1", "SELECT", "Token.Keyword"),
        ("\\timing on", "\\timing", "Token.Keyword"),
    ],
)
def test_words_have_the_colour_of_their_kind(text: str, piece: str, kind: str) -> None:
    assert {str(of) for of, shown in coloured(text) if shown == piece} == {kind}


@pytest.mark.parametrize("broken", ["[shell\n", "shell = 1\n", "\xff"])
def test_a_file_that_cannot_be_read_is_not_written_to(tmp_path: Path, broken: str) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(broken.encode("latin-1"))
    with pytest.raises(DataError, match="is no settings file") as caught:
        write_setting(path, "timing", "off")
    assert caught.value.hint == "ogsql config validate tells where; mend the file first"
    assert path.read_bytes() == broken.encode("latin-1")
