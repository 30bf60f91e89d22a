"""Where a graph lives: spellings of one place agree, and odd addresses are refused without telling secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph_sql.base.errors import StorageError
from omnigraph_sql.engine.store.root import GraphRoot

SECRET = "s3cr3t-w0rd"


def test_all_spellings_of_a_folder_are_one_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real dir").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real dir")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    spellings: list[str | Path] = [
        tmp_path / "real dir" / "g",
        str(tmp_path / "link" / "g"),
        "link/g",
        "./real dir/../link/g/",
        f"file://{tmp_path}/link/g",
        f"file://localhost{tmp_path}/real%20dir/g",
        "~/link/g",
    ]
    assert {GraphRoot.parse(s) for s in spellings} == {GraphRoot.parse(spellings[0])}
    root = GraphRoot.parse("link/g")
    assert root.local == tmp_path / "real dir" / "g"
    assert root.child("nodes/x") == f"{tmp_path}/real dir/g/nodes/x"


@pytest.mark.parametrize(
    ("address", "uri"),
    [
        ("s3://bucket/a/b", "s3://bucket/a/b"),
        ("s3://bucket/a/b/", "s3://bucket/a/b"),
        ("s3://bucket", "s3://bucket"),
        ("s3://bucket/", "s3://bucket"),
        ("s3://my-bucket.v1/x y", "s3://my-bucket.v1/x y"),
    ],
)
def test_an_object_store_address_is_a_bucket_and_a_prefix(address: str, uri: str) -> None:
    root = GraphRoot.parse(address)
    assert (root.uri, root.local) == (uri, None)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "  ",
        "a\x00b",
        "s3://",
        "s3:///prefix",
        "s3://bucket/../other",
        "s3://bucket/a/./b",
        "s3://bucket/a//b",
        f"s3://key:{SECRET}@bucket/x",
        f"s3://{SECRET}@bucket/x",
        f"s3://@bucket/{SECRET}",
        "s3://bucket:9000/x",
        f"s3://bucket/x?secret={SECRET}",
        f"s3://bucket/x#{SECRET}",
        "s3://[bucket/x",
        f"https://u:{SECRET}@host/x",
        "gs://bucket/x",
        "file://elsewhere/tmp/g",
        "~nobody-is-called-this/g",
    ],
)
def test_any_other_address_is_refused_without_repeating_secrets(address: str) -> None:
    with pytest.raises(StorageError) as caught:
        GraphRoot.parse(address)
    assert caught.value.kind == "configuration"
    assert SECRET not in f"{caught.value.report()} {caught.value.to_dict()}"


def test_options_are_handed_on_and_never_shown() -> None:
    root = GraphRoot.parse("s3://b/p", {"aws_secret_access_key": SECRET, "aws_region": "here"})
    assert root.storage_options == {"aws_secret_access_key": SECRET, "aws_region": "here"}
    assert SECRET not in f"{root!r} {root} {root.child('x')}"
    assert root.secrets == (SECRET,)
    assert GraphRoot.parse("s3://b/p").storage_options is None
