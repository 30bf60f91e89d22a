"""What meets by hashes: rows that differ have other digests, and no broken rule goes without an alarm."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from omnigraph_sql.run import ids
from omnigraph_sql.run.ids import IdIndex, hashes_of
from omnigraph_sql.spark import meeting
from omnigraph_sql.spark.digests import row_digests
from omnigraph_sql.spark.questions import Kind, Question, Take

SCHEMA = pa.schema(
    [
        ("text", pa.utf8()),
        ("whole", pa.int32()),
        ("large", pa.uint64()),
        ("real", pa.float64()),
        ("yes", pa.bool_()),
        ("day", pa.date32()),
        ("then", pa.timestamp("us", "UTC")),
        ("tags", pa.list_(pa.utf8())),
        ("counts", pa.list_(pa.int64())),
        ("vector", pa.list_(pa.float32(), 2)),
        ("body", pa.large_binary()),
    ]
)
VALUES: dict[str, list[Any]] = {
    "text": [None, "", "a", "ab", "a" * 8, "a" * 9, "a\x00"],
    "whole": [None, 0, 1, -1],
    "large": [None, 0, 1, 2**64 - 1],
    "real": [None, 0.0, -0.0, 1.5],
    "yes": [None, False, True],
    "day": [None, date(1, 1, 1), date(2001, 2, 3)],
    "then": [None, datetime(2020, 1, 2, 3, 4, 5, 6, UTC), datetime(2020, 1, 2, 3, 4, 5, 7, UTC)],
    "tags": [None, [], [None], ["a"], ["a", None], [None, "a"], ["a", "b"], ["ab"]],
    "counts": [None, [], [0], [0, 0], [1, 0], [0, 1]],
    "vector": [None, [0.0, 0.0], [0.0, 1.0], [1.0, 0.0]],
    "body": [None, b"", b"\x00", b"\x00\x00"],
}


@pytest.mark.parametrize("seed", range(4))
def test_digests_are_equal_exactly_where_rows_are(seed: int) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    first = {name: chance.choice(values) for name, values in VALUES.items()}
    rows = [first]
    for name, values in VALUES.items():
        rows += [{**first, name: value} for value in values]
    rows += [{name: chance.choice(values) for name, values in VALUES.items()} for _ in range(200)]
    whole = pa.RecordBatch.from_pylist(rows, schema=SCHEMA)
    digests = row_digests(whole, 7)
    by_digest: dict[int, set[str]] = {}
    for digest, row in zip(digests.tolist(), rows, strict=True):
        by_digest.setdefault(digest, set()).add(repr(row))
    assert all(len(same) == 1 for same in by_digest.values())
    assert len(by_digest) == len({repr(row) for row in rows})
    assert row_digests(whole.slice(5, 20), 7).tolist() == digests[5:25].tolist()
    assert not set(row_digests(whole, 8).tolist()) & set(by_digest)


@pytest.mark.parametrize("of", [pa.float64(), pa.list_(pa.float64()), pa.list_(pa.float64(), 1)], ids=str)
def test_digests_for_comparing_know_one_zero_and_one_nan(of: pa.DataType) -> None:
    other = np.array([0x7FF8000000000001], np.uint64).view(np.float64)[0]
    numbers = [None, 0.0, -0.0, float("nan"), other, 1.0, None]
    values = numbers if of == pa.float64() else [None if number is None else [number] for number in numbers]
    batch = pa.RecordBatch.from_pydict({"x": pa.array(values, of)})
    found = row_digests(batch, 1, as_compared=True).tolist()
    assert found[1] == found[2]
    assert found[3] == found[4]
    assert found[0] == found[6]
    assert len(set(found)) == 4
    assert row_digests(batch.slice(1, 5), 1, as_compared=True).tolist() == found[1:6]


@pytest.mark.parametrize("seed", range(20))
def test_a_broken_rule_is_never_without_an_alarm_and_a_kept_one_never_has_one(seed: int) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    for _ in range(50):
        loaded = [chance.randrange(12) for _ in range(chance.randrange(8))]
        held = [chance.randrange(12) for _ in range(chance.randrange(8))]
        ended = sorted({chance.randrange(12) for _ in range(chance.randrange(4))})
        asked = Question(
            chance.choice([None, 1, 2, 3]), chance.choice([0, 2]), chance.random() < 0.5, chance.random() < 0.5
        )
        counts = Counter(loaded)
        if asked.counts_held:
            counts += Counter(value for value in held if value in set(loaded))
        broken = (
            (asked.is_new and bool(set(loaded) & set(held)))
            or not set(ended) <= {*loaded, *held}
            or any(n < asked.least or (asked.most is not None and n > asked.most) for n in counts.values())
        )
        arrays = [np.sort(np.array(values, np.uint64)) for values in (loaded, held, ended)]
        assert asked.alarms(*arrays) is broken, (asked, loaded, held, ended)


@pytest.mark.parametrize("most", [1, 3, 10_000])
@pytest.mark.parametrize("seed", range(6))
def test_every_hash_is_sent_in_its_range_and_in_order(monkeypatch: pytest.MonkeyPatch, seed: int, most: int) -> None:
    print(f"seed {seed}")
    monkeypatch.setattr(meeting, "_MESSAGE_VALUES_MAX", most)
    chance = random.Random(seed)
    rows = {name: [chance.choice([None, "a", "b", str(n)]) for n in range(40)] for name in ("x", "y")}
    batch = pa.RecordBatch.from_pydict(rows)
    takes = [Take(0, Kind.LOADED, ("x",)), Take(1, Kind.ENDED, ("y",)), Take(2, Kind.HELD, ("x", "y"))]
    ranges = chance.choice([1, 2, 7])
    met: dict[int, list[int]] = {0: [], 1: [], 2: []}
    for sent in meeting.sent_hashes([batch.slice(0, 9), batch.slice(9)], takes, ranges, 5):
        for row in sent.to_pylist():
            assert row["k"] == takes[row["q"]].kind
            values = np.frombuffer(row["h"], np.uint64).tolist()
            assert values
            assert all(value * ranges >> 64 == row["b"] for value in values)
            met[row["q"]] += values
    for take in takes:
        given = batch.select(list(take.columns))
        whole = [n for n, row in enumerate(given.to_pylist()) if None not in row.values()]
        wanted = row_digests(given.take(pa.array(whole)), 5, as_compared=True).tolist()
        assert met[take.question] == sorted(set(wanted) if take.kind is Kind.ENDED else wanted)


def test_an_index_finds_exactly_the_texts_it_holds() -> None:
    texts = ["", "a", "ab", "b" * 64, "b" * 65, "b" * 66, "b" * 64 + "cc", "ü", "a\x00", *map(str, range(1000))]
    index = IdIndex.of(pa.array(texts))
    asked = ["before", *texts, "nobody", "b" * 63, "b" * 67, "a\x00\x00", None]
    assert index.find(pa.array(asked)).tolist() == [-1, *range(len(texts)), -1, -1, -1, -1, -1]
    assert index.find(pa.array(asked).slice(1)).tolist() == [*range(len(texts)), -1, -1, -1, -1, -1]


def test_an_index_tells_texts_apart_that_share_a_hash() -> None:
    ids = pa.array(["a", "c", "b", "d"])
    hashes = hashes_of(ids)
    hashes[1] = hashes[2]
    order = np.argsort(hashes, kind="stable").astype(np.int32)
    index = IdIndex(ids, hashes[order], order, 2)
    assert index.find(pa.array(["a", "b", "d", "x"])).tolist() == [0, 2, 3, -1]


@pytest.mark.parametrize("kept", [64, 40, 8, 1])
def test_an_index_finds_texts_whose_hashes_crowd_together(monkeypatch: pytest.MonkeyPatch, kept: int) -> None:
    """All at the low end, or all at the high end, of what a hash may be."""
    for high in (0, (1 << 64) - (1 << kept)):
        monkeypatch.setattr(
            ids, "hashes_of", lambda texts, high=high: (hashes_of(texts) >> np.uint64(64 - kept)) | np.uint64(high)
        )
        texts = [f"text {number}" for number in range(600)]
        index = IdIndex.of(pa.array(texts[::2]))
        wanted = [number // 2 if number % 2 == 0 else -1 for number in range(600)]
        assert index.find(pa.array(texts)).tolist() == wanted
