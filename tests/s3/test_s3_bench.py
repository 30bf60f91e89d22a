"""`ogsql bench` on an object store: it measures there, and takes away exactly what it brought."""

import json

import pytest

from omnigraph_sql.cli.command import run
from tests.s3.stores import SECRET, Store


def options(store: Store) -> list[str]:
    return [part for name, value in store.options.items() for part in ("--storage-option", f"{name}={value}")]


def test_a_prefix_is_measured_and_left_as_it_was(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    store.client.put_object(Bucket="graphs", Key="trials/mine.txt", Body=b"mine")
    before = store.keys("")
    arguments = ["bench", "s3://graphs/trials", "--people", "100", "--rounds", "1", "--format", "json"]
    code = run([*arguments, *options(store)])
    shown = capsys.readouterr()
    assert code == 0
    assert len(json.loads(shown.out)) == 13
    assert "below s3://graphs/trials;" in shown.err
    assert SECRET not in shown.out + shown.err
    assert store.keys("") == before


def test_a_store_that_cannot_be_reached_is_worth_repeating(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    away = Store("http://127.0.0.1:9", store.client)
    code = run(["bench", "s3://graphs/trials", "--people", "100", *options(away), "--storage-option", "max_retries=0"])
    assert code == 3
    assert capsys.readouterr().err.startswith("error[storage]: ")
