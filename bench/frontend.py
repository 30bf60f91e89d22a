"""How long a statement takes from text to plan, and what starting costs.

Prints medians, each beside a floor measured in the same minute: sqlglot's own parse, lark's own parse, a bare
interpreter. Exits with 1 when a stated ceiling is passed.
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
IMPORT_CEILING_MS = 60.0
VERSION_CEILING_MS = 200.0


def median_ms(work: Callable[[], object], rounds: int) -> float:
    """Median of `rounds` timings after a warm-up."""
    for _ in range(max(3, rounds // 20)):
        work()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def process_ms(*arguments: str, rounds: int = 15) -> float:
    """Median wall time of a process."""
    return median_ms(lambda: subprocess.run(arguments, check=True, capture_output=True), rounds)


def compile_times() -> list[tuple[str, float, float, float]]:
    import sqlglot

    from omnigraph_sql.bind.schema import compile_schema
    from omnigraph_sql.grammar.gq import parse_unit
    from omnigraph_sql.plan.compile import compile_gq, compile_sql

    catalog = compile_schema(SCHEMA).catalog
    return [
        (
            "20-line SELECT: parse + bind + plan (floor: sqlglot parse)",
            median_ms(lambda: compile_sql(SQL, catalog), 300),
            median_ms(lambda: sqlglot.parse_one(SQL, read="duckdb"), 300),
            CEILING_MS,
        ),
        (
            "20-line .gq: parse + bind + plan (floor: its own parse)",
            median_ms(lambda: compile_gq(GQ, catalog), 300),
            median_ms(lambda: parse_unit(GQ), 300),
            CEILING_MS,
        ),
    ]


def start_times() -> list[tuple[str, float, float, float]]:
    bare = process_ms(sys.executable, "-c", "pass")
    loaded = process_ms(sys.executable, "-c", "import omnigraph_sql")
    version = process_ms(sys.executable, "-m", "omnigraph_sql", "--version")
    return [
        ("import omnigraph_sql, above a bare interpreter", loaded - bare, bare, IMPORT_CEILING_MS),
        ("ogsql --version (floor: a bare interpreter)", version, bare, VERSION_CEILING_MS),
    ]


def main() -> int:
    late = 0
    for what, took, floor, ceiling in [*compile_times(), *start_times()]:
        verdict = "ok" if took <= ceiling else "OVER"
        late += took > ceiling
        print(f"{what:64} {took:8.2f} ms  {took / floor:5.2f}x of {floor:.2f} ms  ceiling {ceiling:.0f} ms  {verdict}")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
