"""The command as a whole: help, version, and what is said to those who call it wrongly."""

import pytest

import omnigraph_sql
from tests.cli.conftest import Command

COMMANDS = (
    *("bench", "branch", "check", "commit", "completion", "config", "demo", "explain", "export"),
    *("init", "lint", "load", "pipeline", "query", "recover", "schema", "stats"),
)


def test_the_version_is_that_of_the_package(ogsql: Command) -> None:
    done = ogsql("--version")
    assert (done.code, done.out, done.err) == (0, f"ogsql {omnigraph_sql.__version__}\n", "")


def test_help_lists_exactly_the_commands_there_are(ogsql: Command) -> None:
    done = ogsql("--help")
    listed = done.out.partition("Commands:\n")[2].partition("\n\n")[0]
    assert [line.split()[0] for line in listed.splitlines()] == list(COMMANDS)
    assert (done.code, done.err) == (0, "")


def test_a_graph_has_help_with_examples_of_its_own(ogsql: Command) -> None:
    done = ogsql("air.omni", "--help")
    assert done.code == 0
    assert done.out.startswith("Usage: ogsql GRAPH [OPTIONS]\n")
    assert "ogsql air.omni -c" in done.out.partition("Examples")[2]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(ogsql: Command, command: str) -> None:
    done = ogsql(command, "--help")
    assert done.code == 0
    assert f"ogsql {command}" in done.out.partition("Example")[2]


def test_without_a_command_the_help_is_shown_as_talk(ogsql: Command) -> None:
    done = ogsql()
    assert (done.code, done.out) == (2, "")
    assert "Commands:" in done.err


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("lnit",), "did you mean 'lint'?"),
        (("airport", "-c", "SELECT 1"), "neither a command nor a graph"),
        (("lint", "air.gq"), "--schema"),
        (("lint", "--schema", "air.pg"), "FILE"),
        (("lint", "air.gq", "--shema", "air.pg"), "--schema"),
        (("lint", "air.gq", "--schema", "air.pg", "--format", "xml"), "xml"),
        (("explain", "--schema", "air.pg"), "give a statement or -f FILE"),
        (("explain", "--schema", "air.pg", "SELECT 1", "-f", "air.gq"), "one of the two"),
        (("explain", "--schema", "air.pg", "--graph", "air.omni", "SELECT 1"), "exclude each other"),
        (("explain", "SELECT 1"), "--schema"),
        (("explain", "air.omni", "SELECT 1", "SELECT 2"), "--schema"),
        (("lint", "air.gq", "--schema", "air.pg", "--graph", "air.omni"), "exclude each other"),
        (("demo", "now"), "now"),
        (("init", "air.omni"), "--schema"),
        (("init", "--schema", "air.pg"), "GRAPH"),
        (("load", "air.omni", "air.gq"), "Choose from: append, merge, overwrite"),
        (("load", "air.omni", "air.gq", "--mode", "upsert"), "upsert"),
        (("load", "air.omni", "--mode", "append"), "FILE"),
        (("recover",), "GRAPH"),
        (("stats", "air.omni", "--format", "csv"), "csv"),
        (("./air.omni", "--formt", "csv"), "--format"),
        (("./air.omni", "-c", "SELECT 1", "--format", "xml"), "xml"),
        (("./air.omni", "-c", "SELECT 1", "--param", "code"), "name=value"),
        (("./air.omni", "-c", "SELECT 1", "--storage-option", "=x"), "--storage-option"),
        (("./air.omni", "SELECT 1"), "given with -c"),
        (("--format", "csv"), "GRAPH"),
    ],
)
def test_a_wrong_call_is_named_and_leads_to_the_help(ogsql: Command, arguments: tuple[str, ...], word: str) -> None:
    done = ogsql(*arguments)
    assert (done.code, done.out) == (2, "")
    first, hint = done.err.splitlines()
    assert first.startswith("error: ")
    assert word in first
    assert hint.startswith("  = hint: ogsql")
    assert "--help" in hint
