"""The public compliance suite of PEP 249, with the package and with its module as the driver."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import dbapi20

import omnigraph_sql
import omnigraph_sql.dbapi


class TestThePackage(dbapi20.DatabaseAPI20Test):  # type: ignore[misc]
    """Every test of the suite as it is; what it leaves to drivers is answered at the end."""

    driver: Any = omnigraph_sql
    connect_kw_args = {"create": True}  # noqa: RUF012  (the suite reads a class attribute)

    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.connect_args = (str(self.folder / "suite.omni"),)

    def tearDown(self) -> None:
        super().tearDown()
        shutil.rmtree(self.folder)

    def test_setoutputsize(self) -> None:
        """The suite has no idea of its own; ours is that it changes nothing."""
        con = self._connect()
        cursor = con.cursor()
        cursor.setoutputsize(1)
        cursor.setoutputsize(1, 0)
        assert cursor.execute("SELECT 'long'").fetchone() == ("long",)
        con.close()

    def test_nextset(self) -> None:
        """Optional, and absent: a text with several statements gives the rows of its last."""
        con = self._connect()
        assert not hasattr(con.cursor(), "nextset")
        con.close()

    def test_non_idempotent_close(self) -> None:
        """The suite itself says that people differ; here a second close does nothing."""
        con = self._connect()
        con.close()
        con.close()


class TestTheModule(TestThePackage):
    driver = omnigraph_sql.dbapi
