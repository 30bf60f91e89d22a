"""How long a statement takes from text to plan, and what starting costs.

Prints medians, each beside a floor measured in turns with it: sqlglot's own parse, lark's own parse, a bare
interpreter. Exits with 1 when a stated ceiling is passed. The ceilings in milliseconds are wall time and for a quiet
machine; those as a multiple of the floor compare the best processor times, for busy and slow machines, too.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable

SCHEMA = """
node Airport { code: String @key  city: String  elevation: I32?  opened: Date?  tags: [String]?  blurb: String? @index
               pos: Vector(4)? @index }
node Carrier { iata: String @key  name: String  rating: F64?  status: enum(active, dormant, defunct)
               updated: DateTime? }
edge Route: Airport -> Airport { miles: I32  since: DateTime? }
edge Hub: Carrier -> Airport @card(0..3)
edge Owns: Carrier -> Carrier
"""

SQL = """SELECT a.code AS code, a.city AS town,
       count(r.miles) AS routes,
       avg(r.miles) AS mean_miles,
       sum(CASE WHEN r.miles > 1000 THEN 1 ELSE 0 END) AS long_routes
FROM Airport a
JOIN Route r ON r.src = a.id
JOIN Airport b ON b.id = r.dst
LEFT JOIN Hub h ON h.dst = b.id
WHERE a.elevation > 100
  AND b.city LIKE 'L%'
  AND a.code IN ('LIM', 'CUZ', 'AQP')
  AND r.since IS NOT NULL
  AND EXISTS (
      SELECT 1 FROM Carrier c JOIN Hub k ON k.src = c.id
      WHERE k.dst = a.id AND c.status = 'active')
GROUP BY a.code, a.city
HAVING count(r.miles) > 2
ORDER BY routes DESC, a.code
LIMIT 10"""

GQ = """query busiest($city: String, $low: I32, $tag: String)
    @description("busiest airports with a quiet neighbour")
{
    match {
        $a: Airport { city: $city, tags: $tag }
        $b: Airport
        $c: Carrier { status: "active" }
        $a $r:route $b
        $c $h:hub $b
        $a.elevation > $low
        $r.miles >= 100
        $b.city starts_with "L"
        not {
            $d: Airport { city: "Lima" }
            $d route $b
        }
    }
    return { $a.code, count($r.miles) as routes, avg($r.miles) as mean_miles, max($b.city) as last_city }
    order { routes desc, $a.code asc }
    limit 10
}"""

CEILING_MS = 3.0
SQL_CEILING_FLOORS = 3.0
GQ_CEILING_FLOORS = 5.5
IMPORT_CEILING_MS = 60.0
VERSION_CEILING_MS = 200.0

Line = tuple[str, float, float, float, float, float | None]
"""What, how long, its floor, how many floors, the ceiling in milliseconds, the ceiling in floors."""


def timings_ms(work: Callable[[], object], rounds: int, clock: Callable[[], float] = time.perf_counter) -> list[float]:
    """`rounds` timings after a warm-up."""
    for _ in range(max(3, rounds // 20)):
        work()
    times = []
    for _ in range(rounds):
        start = clock()
        work()
        times.append((clock() - start) * 1000)
    return times


def median_ms(work: Callable[[], object], rounds: int) -> float:
    return statistics.median(timings_ms(work, rounds))


def beside_floor(
    work: Callable[[], object], floor: Callable[[], object], turns: int = 10
) -> tuple[float, float, float]:
    """Median wall times of both, and how many times the floor's best processor time the work's is; in turns."""
    wall = [(median_ms(work, 30), median_ms(floor, 30)) for _ in range(turns)]
    cpu = [tuple(min(timings_ms(one, 30, time.process_time)) for one in (work, floor)) for _ in range(turns)]
    took, least = (statistics.median(pair[i] for pair in wall) for i in (0, 1))
    return took, least, min(pair[0] for pair in cpu) / min(pair[1] for pair in cpu)


def process_ms(*arguments: str, rounds: int = 15) -> float:
    """Median wall time of a process."""
    return median_ms(lambda: subprocess.run(arguments, check=True, capture_output=True), rounds)


def compile_times() -> list[Line]:
    import sqlglot

    from omnigraph_sql.bind.schema import compile_schema
    from omnigraph_sql.grammar.gq import parse_unit
    from omnigraph_sql.plan.compile import compile_gq, compile_sql

    catalog = compile_schema(SCHEMA).catalog
    return [
        (
            "20-line SELECT: parse + bind + plan (floor: sqlglot parse)",
            *beside_floor(lambda: compile_sql(SQL, catalog), lambda: sqlglot.parse_one(SQL, read="duckdb")),
            CEILING_MS,
            SQL_CEILING_FLOORS,
        ),
        (
            "20-line .gq: parse + bind + plan (floor: its own parse)",
            *beside_floor(lambda: compile_gq(GQ, catalog), lambda: parse_unit(GQ)),
            CEILING_MS,
            GQ_CEILING_FLOORS,
        ),
    ]


def start_times() -> list[Line]:
    bare = process_ms(sys.executable, "-c", "pass")
    loaded = process_ms(sys.executable, "-c", "import omnigraph_sql")
    version = process_ms(sys.executable, "-m", "omnigraph_sql", "--version")
    return [
        (
            "import omnigraph_sql, above a bare interpreter",
            loaded - bare,
            bare,
            loaded / bare - 1,
            IMPORT_CEILING_MS,
            None,
        ),
        ("ogsql --version (floor: a bare interpreter)", version, bare, version / bare, VERSION_CEILING_MS, None),
    ]


def main() -> int:
    late = 0
    for what, took, floor, times, ceiling, floors in [*compile_times(), *start_times()]:
        over = took > ceiling or (floors is not None and times > floors)
        late += over
        stated = f"{ceiling:.0f} ms" + ("" if floors is None else f", {floors:.1f}x")
        verdict = "OVER" if over else "ok"
        print(f"{what:60} {took:8.2f} ms  {times:5.2f}x of {floor:.2f} ms  ceiling {stated}  {verdict}")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
