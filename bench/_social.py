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
from pathlib import Path
from typing import Any

NODES = {
    "Person": {"name": "String", "gender": "String", "birthday": "Date", "age": "I64", "is_married": "Bool"},
    "City": {
        "city": "String",
        "state": "String",
        "country": "String",
        "lat": "F64",
        "lon": "F64",
        "population": "I32",
    },
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
CITIES, STATES = 7_117, 273
COUNTRIES = ("United States", "United Kingdom", "Canada")
SHARES = (0.6, 0.25, 0.15)
"""How many of the states lie in each country."""
# fmt: off
INTERESTS = [
    "Photography", "Tennis", "FineDining", "Chess", "Running", "Cycling", "Hiking", "Cooking", "Baking", "Gardening",
    "Painting", "Poetry", "Opera", "Jazz", "Rock", "Guitar", "Piano", "Violin", "Theatre", "Cinema", "Anime",
    "Gaming", "Robotics", "Astronomy", "Biology", "Physics", "History", "Travel", "Sailing", "Surfing", "Skiing",
    "Boxing", "Yoga", "Football", "Baseball", "Cricket", "Golf", "Fishing", "Camping", "Knitting", "Pottery",
]
# fmt: on
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
        is_married=rng.random(people) < 0.5,
    )
    cities, states = np.arange(CITIES, dtype=np.int64), np.arange(STATES, dtype=np.int64)
    land = rng.choice(len(COUNTRIES), STATES, p=SHARES)
    home = rng.integers(0, STATES, CITIES)
    write(
        "City",
        key=cities,
        city=["London", *(f"City {i}" for i in cities[1:])],
        state=[f"State {i}" for i in home],
        country=[COUNTRIES[land[i]] for i in home],
        lat=rng.uniform(25, 60, CITIES),
        lon=rng.uniform(-125, 2, CITIES),
        population=rng.integers(1_000, 9_000_000, CITIES).astype(np.int32),
    )
    write("State", key=states, state=[f"State {i}" for i in states], country=[COUNTRIES[i] for i in land])
    write("Country", key=np.arange(len(COUNTRIES)), country=list(COUNTRIES))
    write("Interest", key=np.arange(len(INTERESTS)), interest=INTERESTS)

    pairs = [rng.integers(0, people, (people * FOLLOWED_AT_RANDOM, 2))]
    for star in rng.choice(own, max(1, people // STAR_SHARE), replace=False):
        fans = rng.choice(own, rng.integers(people // STAR_SHARE, people // 20 + 1), replace=False)
        pairs.append(np.stack([fans, np.full(len(fans), star)], axis=1))
    follows = np.unique(np.concatenate(pairs), axis=0)
    follows = follows[follows[:, 0] != follows[:, 1]]
    rng.shuffle(follows)
    likes = np.repeat(own, rng.integers(1, 5, people))
    liked = np.unique(np.stack([likes, rng.integers(0, len(INTERESTS), len(likes))], axis=1), axis=0)
    crowded = 1 / np.arange(1, CITIES + 1) ** 0.5
    return sum(
        (
            write("Follows", src=follows[:, 0].copy(), dst=follows[:, 1].copy()),
            write("HasInterest", src=liked[:, 0].copy(), dst=liked[:, 1].copy()),
            write("LivesIn", src=own, dst=rng.choice(CITIES, people, p=crowded / crowded.sum())),
            write("CityIn", src=cities, dst=home),
            write("StateIn", src=states, dst=land),
        )
    )


def fill_graph(data: Path, folder: Path) -> Any:
    """A new graph in the folder, with everything in it."""
    from omnigraph_sql import graph as og

    lines = [f"node {n} {{ key: I64 @key {' '.join(f'{c}: {t}' for c, t in cs.items())} }}" for n, cs in NODES.items()]
    lines += [f"edge {name}: {source} -> {target}" for name, (source, target) in EDGES.items()]
    graph = og.init(folder, schema="\n".join(lines))
    for name in (*NODES, *EDGES):
        graph.load(data / f"{name}.parquet", type=name, mode="append")
    return graph


def fill_peer(data: Path, folder: Path) -> Any:
    """A connection to a new database of the peer, with everything in it."""
    import ladybug

    held = ladybug.Connection(ladybug.Database(str(folder)))
    for name, columns in NODES.items():
        fields = ", ".join(f"{column} {PEER_TYPES[of]}" for column, of in columns.items())
        held.execute(f"CREATE NODE TABLE {name}(key INT64, {fields}, PRIMARY KEY (key))")
        held.execute(f"COPY {name} FROM '{data}/{name}.parquet'")
    for name, (source, target) in EDGES.items():
        held.execute(f"CREATE REL TABLE {name}(FROM {source} TO {target})")
        held.execute(f"COPY {name} FROM '{data}/{name}.parquet'")
    return held


def main(what: str, data: Path, *more: str) -> None:
    if what == "make":
        print(json.dumps({"edges": make(data, int(more[0]) if more else 100_000)}))
        return
    with tempfile.TemporaryDirectory(dir=data) as place:
        start = time.perf_counter()
        if what == "omnigraph":
            fill_graph(data, Path(place) / "graph").stats()
        else:
            fill_peer(data, Path(place) / "peer")
        seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "peak_mb": peak}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
