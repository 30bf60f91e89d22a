"""A made-up social network, and how long each system takes to load it. `write.py` runs this in processes of its own.

_social.py make FOLDER [PERSONS]    parquet files: people, places, interests, and who follows whom
_social.py omnigraph FOLDER         load them into a new graph; prints seconds and peak memory as JSON
_social.py ladybug FOLDER           the same with the peer
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

NODES = {
    "Person": {"name": "String", "gender": "String", "birthday": "Date", "age": "I64", "married": "Bool"},
    "City": {"city": "String", "state": "String", "lat": "F64", "lon": "F64", "population": "I32"},
    "State": {"state": "String", "country": "String"},
    "Country": {"country": "String"},
    "Interest": {"interest": "String"},
}
EDGES = {
    "Follows": ("Person", "Person"),
    "LivesIn": ("Person", "City"),
    "HasInterest": ("Person", "Interest"),
    "CityIn": ("City", "State"),
    "StateIn": ("State", "Country"),
}
PEER_TYPES = {"String": "STRING", "Date": "DATE", "I64": "INT64", "I32": "INT32", "F64": "DOUBLE", "Bool": "BOOLEAN"}
CITIES, STATES, COUNTRIES, INTERESTS = 7_000, 270, 3, 41
FOLLOWED_AT_RANDOM = 10
STAR_SHARE = 200
"""One in so many people is followed by up to a twentieth of all."""


def make(out: Path, people: int) -> int:
    """Write the files; how many edges there are."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(11)
    out.mkdir(parents=True, exist_ok=True)

    def write(file: str, **columns: object) -> int:
        table = pa.table(columns)
        pq.write_table(table, out / f"{file}.parquet")
        return int(table.num_rows)

    own = np.arange(people, dtype=np.int64)
    write(
        "Person",
        key=own,
        name=[f"Person {i}" for i in own],
        gender=np.where(own % 2 == 0, "female", "male"),
        birthday=pa.array(rng.integers(-9000, 13000, people).astype(np.int32)).cast(pa.date32()),
        age=rng.integers(18, 75, people),
        married=rng.random(people) < 0.5,
    )
    cities, states = np.arange(CITIES, dtype=np.int64), np.arange(STATES, dtype=np.int64)
    home = rng.integers(0, STATES, CITIES)
    write(
        "City",
        key=cities,
        city=[f"City {i}" for i in cities],
        state=[f"State {i}" for i in home],
        lat=rng.uniform(25, 60, CITIES),
        lon=rng.uniform(-125, 2, CITIES),
        population=rng.integers(1_000, 9_000_000, CITIES).astype(np.int32),
    )
    land = rng.integers(0, COUNTRIES, STATES)
    write("State", key=states, state=[f"State {i}" for i in states], country=[f"Country {i}" for i in land])
    write("Country", key=np.arange(COUNTRIES), country=[f"Country {i}" for i in range(COUNTRIES)])
    write("Interest", key=np.arange(INTERESTS), interest=[f"Interest {i}" for i in range(INTERESTS)])

    pairs = [rng.integers(0, people, (people * FOLLOWED_AT_RANDOM, 2))]
    for star in rng.choice(own, max(1, people // STAR_SHARE), replace=False):
        fans = rng.choice(own, rng.integers(people // STAR_SHARE, people // 20 + 1), replace=False)
        pairs.append(np.stack([fans, np.full(len(fans), star)], axis=1))
    follows = np.unique(np.concatenate(pairs), axis=0)
    follows = follows[follows[:, 0] != follows[:, 1]]
    rng.shuffle(follows)
    likes = np.repeat(own, rng.integers(1, 5, people))
    liked = np.unique(np.stack([likes, rng.integers(0, INTERESTS, len(likes))], axis=1), axis=0)
    return sum(
        (
            write("Follows", src=follows[:, 0].copy(), dst=follows[:, 1].copy()),
            write("HasInterest", src=liked[:, 0].copy(), dst=liked[:, 1].copy()),
            write("LivesIn", src=own, dst=rng.integers(0, CITIES, people)),
            write("CityIn", src=cities, dst=home),
            write("StateIn", src=states, dst=land),
        )
    )


def load_graph(data: Path, place: Path) -> Callable[[], object]:
    from omnigraph_sql import graph as og

    lines = [f"node {n} {{ key: I64 @key {' '.join(f'{c}: {t}' for c, t in cs.items())} }}" for n, cs in NODES.items()]
    lines += [f"edge {name}: {source} -> {target}" for name, (source, target) in EDGES.items()]

    def run() -> object:
        graph = og.init(place / "graph", schema="\n".join(lines))
        for name in (*NODES, *EDGES):
            graph.load(data / f"{name}.parquet", type=name, mode="append")
        return graph.stats()

    return run


def load_peer(data: Path, place: Path) -> Callable[[], object]:
    import ladybug

    def run() -> object:
        held = ladybug.Connection(ladybug.Database(str(place / "peer")))
        for name, columns in NODES.items():
            fields = ", ".join(f"{column} {PEER_TYPES[of]}" for column, of in columns.items())
            held.execute(f"CREATE NODE TABLE {name}(key INT64, {fields}, PRIMARY KEY (key))")
            held.execute(f"COPY {name} FROM '{data}/{name}.parquet'")
        for name, (source, target) in EDGES.items():
            held.execute(f"CREATE REL TABLE {name}(FROM {source} TO {target})")
            held.execute(f"COPY {name} FROM '{data}/{name}.parquet'")
        return None

    return run


def main(what: str, data: Path, *more: str) -> None:
    if what == "make":
        print(json.dumps({"edges": make(data, int(more[0]) if more else 100_000)}))
        return
    with tempfile.TemporaryDirectory(dir=data) as place:
        run = (load_graph if what == "omnigraph" else load_peer)(data, Path(place))
        start = time.perf_counter()
        run()
        seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "peak_mb": peak}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
