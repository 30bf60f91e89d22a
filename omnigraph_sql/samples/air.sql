-- The questions of air.gq, asked in SQL, then a transaction, then scenes: files, a schema that grows, a branch, the past.
-- A line `-- name` begins a part; the last six parts are meant to be refused.

-- from_lima
SELECT b.code AS code, b.city AS city, r.miles AS miles
FROM Airport a JOIN Route r ON r.src = a.id JOIN Airport b ON b.id = r.dst
WHERE a.code = 'LIM' AND r.miles < 2000;

-- from_lima_pattern
SELECT code, city, miles
FROM GRAPH_TABLE (
    MATCH (a IS Airport WHERE a.code = 'LIM')-[r IS Route WHERE r.miles < 2000]->(b IS Airport)
    COLUMNS (b.code AS code, b.city AS city, r.miles AS miles)
) AS g;

-- by_country
SELECT a.country AS country, count(a.id) AS airports
FROM Airport a
GROUP BY a.country;

-- by_country_pattern
SELECT country, count(aid) AS airports
FROM GRAPH_TABLE (MATCH (a IS Airport) COLUMNS (a.country AS country, a.id AS aid)) AS g
GROUP BY country;

-- no_hub
SELECT a.code AS code
FROM Airport a
WHERE NOT EXISTS (SELECT 1 FROM Carrier c JOIN Hub h ON h.src = c.id WHERE h.dst = a.id);

-- three_legs
SELECT code, city
FROM gq($$ match  { $a: Airport { code: $from }  $a route{1,3} $b }
           return { $b.code as code, $b.city as city } $$, from => $from) AS g;

-- open_route
INSERT INTO Route (src, dst, miles) VALUES ($from, $to, $miles);

-- new_airport
INSERT INTO Airport (code, city, country, elevation) VALUES ('JUL', 'Puno', 'Peru', 3826);

-- new_route
INSERT INTO Route (src, dst, miles) VALUES ('LIM', 'JUL', 531);

-- reachable
SELECT count(*) AS airports_from_lima FROM Route WHERE src = 'LIM';

-- write_file
COPY (SELECT code, city FROM Airport WHERE country = 'Peru' ORDER BY code) TO $file (FORMAT csv);

-- read_file
COPY Carrier FROM $file (FORMAT csv, MODE append);

-- new_tables
CREATE NODE TABLE City (name TEXT PRIMARY KEY, people BIGINT CHECK (people >= 0));
CREATE EDGE TABLE Serves (FROM Airport TO City);
ALTER TABLE Airport ADD COLUMN runways INT;

-- new_rows
INSERT INTO City VALUES ('Cusco', 428000), ('Lima', 10090000);
INSERT INTO Serves (src, dst) VALUES ('CUZ', 'Cusco'), ('LIM', 'Lima');
UPDATE Airport SET runways = 2 WHERE code = 'LIM';

-- new_question
SELECT a.code AS code, a.runways AS runways, c.name AS serves, c.people AS people
FROM Airport a JOIN Serves s ON s.src = a.id JOIN City c ON c.id = s.dst;

-- branch_off
CREATE BRANCH "review/lima" FROM main;

-- branch_change
UPDATE "review/lima".Airport SET city = 'Lima-Callao' WHERE code = 'LIM';

-- branch_compare
SELECT m.code AS code, m.city AS on_main, r.city AS on_review
FROM Airport m JOIN "review/lima".Airport r ON r.code = m.code
WHERE m.city <> r.city;

-- past
SELECT (SELECT count(*) FROM Airport) AS airports_now, (SELECT count(*) FROM Airport VERSION AS OF 2) AS airports_at_first;

-- mixture
MERGE INTO Airport USING (SELECT 'LIM' AS code, 'Lima' AS city) AS fresh ON Airport.code = fresh.code
WHEN MATCHED THEN UPDATE SET city = fresh.city
WHEN NOT MATCHED BY SOURCE THEN DELETE;

-- wrong_type
INSERT INTO Airport (code, city, country, elevation)
VALUES ('CUZ', 'Cusco', 'Peru', 'high up');

-- misspelt
SELECT citty FROM Airport WHERE code = 'LIM';

-- too_high
UPDATE Airport SET elevation = 8848 WHERE code = 'LPB';

-- nowhere
INSERT INTO Route (src, dst, miles) VALUES ('LIM', 'ZZZ', 1);

-- taken
INSERT INTO Airport (code, city, country) VALUES ('LIM', 'Lima', 'Ohio');
