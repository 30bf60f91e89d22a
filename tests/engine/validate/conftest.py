"""One graph for all cases: validating changes nothing."""

from __future__ import annotations

import pytest

from omnigraph_sql.engine.values import Snapshot
from omnigraph_sql.engine.world import World
from tests.engine.validate.airports import BASE, CATALOG
from tests.engine.validate.graphs import build


@pytest.fixture(scope="package")
def graph(tmp_path_factory: pytest.TempPathFactory) -> tuple[World, Snapshot]:
    return build(tmp_path_factory.mktemp("validate"), CATALOG, BASE)
