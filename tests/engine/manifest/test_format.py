"""The format stamp is looked at by every open and every publish, and a refusal changes no byte."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from omnigraph_sql import graph
from omnigraph_sql.base.errors import FormatError, OmniError
from omnigraph_sql.engine import opening
from omnigraph_sql.engine.manifest.format import CEILING, FLOOR, STAMP_KEY, check_stamp, stamp_metadata
from omnigraph_sql.engine.manifest.publisher import Delta, Lineage, Publication, publish
from omnigraph_sql.engine.world import World
from tests.engine.worlds import START, at, digest, make, upsert

BAD = {
    "missing": (None, "no format stamp"),
    "empty": ("", "unreadable: ''"),
    "words": ("six", "unreadable: 'six'"),
    "negative": ("-1", "unreadable: '-1'"),
    "digits of another script": ("١", "unreadable"),
    "far too long": ("9" * 400, "unreadable"),
    "older": (str(FLOOR - 1), f"format {FLOOR - 1}; this version reads {FLOOR} to {CEILING}"),
    "newer": (str(CEILING + 1), f"format {CEILING + 1}; this version reads {FLOOR} to {CEILING}"),
    "much newer": ("99", "format 99"),
}


def stamp(world: World, value: str | None) -> None:
    import lance

    manifest = lance.dataset(world.root.child("__manifest"))
    kept = {k.decode(): v.decode() for k, v in manifest.schema.metadata.items() if k != STAMP_KEY}
    given = kept if value is None else {**kept, STAMP_KEY.decode(): value}
    manifest.update_schema_metadata(given, replace=True)


def write_open(world: World) -> None:
    opening.open_for_writing(world)


def read_open(world: World) -> None:
    opening.open_for_reading(world, "main")


def whole_open(world: World) -> None:
    graph.open(world.root.uri, read_only=True)


def publishing(world: World) -> None:
    publish(world.manifest, Publication("main", Delta(), (), None, Lineage("0" * 26, None, None, START)))


@pytest.mark.parametrize("act", [write_open, read_open, whole_open, publishing, lambda w: upsert(w, {"a": 1})])
@pytest.mark.parametrize("case", BAD)
def test_a_graph_of_another_format_is_refused_untouched(
    tmp_path: Path, case: str, act: Callable[[World], object]
) -> None:
    value, text = BAD[case]
    stamp(make(tmp_path / "g"), value)
    before = digest(tmp_path)
    with pytest.raises(FormatError, match=text) as caught:
        act(at(tmp_path / "g"))
    assert digest(tmp_path) == before
    assert caught.value.hint
    assert "delete" not in caught.value.hint


@pytest.mark.parametrize("value", ["99", None])
def test_a_stamp_that_changes_under_an_open_graph_stops_the_next_publish(tmp_path: Path, value: str | None) -> None:
    world = make(tmp_path / "g")
    upsert(world, {"a": 1})
    stamp(world, value)
    with pytest.raises(FormatError):
        publishing(world)
    with pytest.raises(OmniError):
        upsert(world, {"b": 1})


def test_what_a_new_manifest_carries_is_accepted() -> None:
    assert check_stamp(stamp_metadata()) == CEILING
    assert FLOOR <= CEILING


def test_a_manifest_without_any_metadata_is_refused() -> None:
    with pytest.raises(FormatError):
        check_stamp(None)
