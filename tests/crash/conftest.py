"""One forking process for all crash tests of a worker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.crash.sweep import Zygote


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    made = Zygote()
    yield made
    made.close()
