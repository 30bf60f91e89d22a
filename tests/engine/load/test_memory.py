"""A load holds a bounded part of its rows in memory, however many there are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import resource, sys
from pathlib import Path

import pyarrow as pa

from omnigraph_sql.engine.load.values import Source
from tests.engine.load.loading import graph, put

folder, mode, megabytes = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])


def batches():
    for n in range(megabytes):
        yield pa.record_batch({"code": [f"{n}-{m}" for m in range(1024)], "name": ["x" * 1024] * 1024})


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


schema = pa.schema([("code", pa.utf8()), ("name", pa.utf8())])
world = graph(folder)
put(world, Source(pa.RecordBatchReader.from_batches(schema, [next(batches())]), "Town"), mode=mode)
before = peak()
stream = pa.RecordBatchReader.from_batches(schema, batches())
report = put(world, Source(stream, "Town"), mode=mode)
assert report.rows_read == megabytes * 1024
print(peak() - before)
"""


@pytest.mark.parametrize("mode", ["overwrite", "merge"])
def test_memory_does_not_grow_with_the_stream(tmp_path: Path, mode: str) -> None:
    megabytes = 512
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path), mode, str(megabytes)],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < megabytes / 2
