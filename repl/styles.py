"""Colours: whether there are any, and which, on a dark and on a light ground."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Final

from prompt_toolkit.styles import Style

_COMMON: Final = {
    "pygments.comment": "ansibrightblack italic",
    "pygments.punctuation": "",
    "pygments.operator": "",
    "auto-suggestion": "ansibrightblack",
    "continuation": "ansibrightblack",
    "bottom-toolbar": "noreverse",
    "completion-menu.completion.current": "reverse",
}
_DARK: Final = _COMMON | {
    "prompt": "ansibrightgreen",
    "pygments.keyword": "ansibrightblue bold",
    "pygments.keyword.type": "ansibrightcyan",
    "pygments.name.function": "ansibrightcyan",
    "pygments.name.class": "ansibrightcyan",
    "pygments.name.variable": "ansibrightmagenta",
    "pygments.name.decorator": "ansibrightmagenta",
    "pygments.literal.string": "ansibrightyellow",
    "pygments.literal.number": "ansibrightyellow",
    "bottom-toolbar.text": "bg:#303030 #c0c0c0",
}
_LIGHT: Final = _COMMON | {
    "prompt": "ansigreen",
    "pygments.keyword": "ansiblue bold",
    "pygments.keyword.type": "ansicyan",
    "pygments.name.function": "ansicyan",
    "pygments.name.class": "ansicyan",
    "pygments.name.variable": "ansimagenta",
    "pygments.name.decorator": "ansimagenta",
    "pygments.literal.string": "ansired",
    "pygments.literal.number": "ansired",
    "bottom-toolbar.text": "bg:#e0e0e0 #303030",
}
_LIGHT_GROUNDS: Final = ("7", "15")


def wants_colour(stream: IO[str], environment: Mapping[str, str], theme: str) -> bool:
    """Only a terminal that knows colours gets them, unless NO_COLOR or the theme says no."""
    wanted = theme != "none" and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
    return wanted and stream.isatty()


def is_light(theme: str, environment: Mapping[str, str]) -> bool:
    """Whether the ground is light: what the theme says, else what the terminal says in COLORFGBG."""
    if theme in ("dark", "light"):
        return theme == "light"
    return environment.get("COLORFGBG", "").rpartition(";")[2] in _LIGHT_GROUNDS


def style_of(theme: str, environment: Mapping[str, str]) -> Style:
    return Style.from_dict(_LIGHT if is_light(theme, environment) else _DARK)
