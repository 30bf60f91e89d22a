"""Colours: where they are wanted, and what they change."""

import io

import click
import pytest

from omnigraph_sql.cli.terminal import painted, wants_colour

REPORT = """error[T6]: Airport has no property 'citty'
 --> bad.gq:3:17
  |
3 |     return { $a.citty }  // ^^^
  |                 ^^^^^
  = did you mean 'city'?"""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "wanted"),
    [
        (Terminal(), {}, True),
        (Terminal(), {"NO_COLOR": ""}, True),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"NO_COLOR": "0"}, False),
        (Terminal(), {"TERM": "dumb"}, False),
        (Terminal(), {"TERM": "xterm"}, True),
        (io.StringIO(), {}, False),
        (io.StringIO(), {"TERM": "xterm"}, False),
    ],
)
def test_colour_is_for_terminals_whose_user_has_nothing_against_it(
    stream: io.StringIO, environment: dict[str, str], wanted: bool
) -> None:
    assert wants_colour(stream, environment) is wanted


def test_painting_changes_colours_and_nothing_else() -> None:
    assert click.unstyle(painted(REPORT)) == REPORT


def test_the_word_and_the_carets_are_painted_and_the_source_is_not() -> None:
    head, _, _, source, carets, _ = painted(REPORT).splitlines()
    assert head == click.style("error[T6]", fg="red", bold=True) + ": Airport has no property 'citty'"
    assert source == REPORT.splitlines()[3]
    assert carets == "  |                 " + click.style("^^^^^", fg="red", bold=True)


def test_a_warning_has_another_colour() -> None:
    assert painted("warning[L202]: x") == click.style("warning[L202]", fg="yellow", bold=True) + ": x"


def test_a_plan_is_not_painted() -> None:
    assert painted("Scan Airport as error: x") == "Scan Airport as error: x"
