"""A bucket of an emulated object store, and how to reach it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from omnigraph_sql.engine.store.root import GraphRoot

KEY, SECRET, TOKEN = "AKIDMARKER", "SECRETMARKER/+x", "TOKENMARKER=="


@dataclass(frozen=True, slots=True)
class Store:
    """A bucket and how to reach it."""

    url: str
    client: Any

    @property
    def options(self) -> dict[str, str]:
        return {
            "aws_endpoint": self.url,
            "aws_access_key_id": KEY,
            "aws_secret_access_key": SECRET,
            "aws_region": "us-east-1",
            "allow_http": "true",
            "aws_virtual_hosted_style_request": "false",
        }

    def root(self, prefix: str) -> GraphRoot:
        return GraphRoot.parse(f"s3://graphs/{prefix}", self.options)

    def keys(self, prefix: str) -> dict[str, str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket="graphs", Prefix=prefix)
        return {item["Key"]: item["ETag"] for page in pages for item in page.get("Contents", [])}
