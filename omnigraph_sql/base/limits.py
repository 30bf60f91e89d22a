"""Every ceiling, with its unit in the name."""

from __future__ import annotations

from typing import Final

STATEMENT_TEXT_BYTES_MAX: Final = 512 * 1024
"""Longest text handed to a parser in one piece (a statement, a script, a `.gq` file, a `.pg` file)."""

NESTING_LEVELS_MAX: Final = 48
"""Deepest nesting of brackets, CASE, sub-queries and `not` blocks in a text."""

OPERATOR_CHAIN_LINKS_MAX: Final = 2000
"""Longest chain of binary operators or set operations that one expression or query may form."""

JOINS_MAX: Final = 512
"""Most joins in one FROM clause, and most nodes and most edges in one pattern."""

PREFIX_OPERATORS_MAX: Final = 48
"""Most unary operators in a row (`- - - x`, `NOT NOT x`)."""

LIST_ITEMS_MAX: Final = 8192
"""Most items in one list: an IN list, a list literal, an argument list, a select list."""

VALUES_ROWS_MAX: Final = 8192
"""Most rows in one VALUES list."""

GROUPING_SETS_MAX: Final = 4096
"""Most grouping sets that the ROLLUP, CUBE and GROUPING SETS of one GROUP BY may multiply to."""

VIEW_LEVELS_MAX: Final = 16
"""Most views that one view may go through before it reaches tables."""

SCRIPT_STATEMENTS_MAX: Final = 8192
"""Most statements in one script."""

IDENTIFIER_CHARACTERS_MAX: Final = 255
"""Longest name of a type, a property, an alias or a parameter."""

BRANCH_NAME_BYTES_MAX: Final = 200
"""Longest branch name."""

VECTOR_DIMENSIONS_MAX: Final = 2**31 - 1
"""Largest vector dimension (the Arrow fixed-size list width)."""

HOPS_MAX: Final = 64
"""Largest upper hop bound of a traversal step or quantifier."""

PATTERN_ALTERNATIVES_MAX: Final = 64
"""Most combinations of types that one graph pattern with open or alternative labels may stand for."""

IDENTITY_ID_MAX: Final = 2**64 - 1
"""Largest stable identity; the allocator refuses to go past it."""

CONTROL_OBJECT_BYTES_MAX: Final = 16 * 1024 * 1024
"""Largest control object (an intent, a contract file) that is read."""

LEASE_WAIT_SECONDS_MAX: Final = 60
"""Longest wait for another writer of the same branch."""

LEASE_SECONDS_MAX: Final = 120
"""Time after which another writer may take the lease over on an object store, unless its holder renews it."""

PUBLISH_RETRIES_MAX: Final = 5
"""Most times a publish starts over because another one touched the same rows first."""

PREPARE_ATTEMPTS_MAX: Final = 32
"""Most times a blind insert is prepared anew because the branch moved."""

PREPARE_BESIDE_OTHERS_MAX: Final = 1
"""Times a blind insert is prepared while others may write; after that it takes the lease first."""

LOAD_BESIDE_OTHERS_MAX: Final = 3
"""The same for a load, which others have to wait longer for."""

MANIFEST_FRAGMENTS_MAX: Final = 32
"""Fragments of the manifest at which the writer that holds the lease compacts it."""

STAGED_ROWS_MAX: Final = 1_048_576
"""Most rows one transaction may insert, update or delete; a load has no such limit."""

STAGED_BYTES_MAX: Final = 1024 * 1024 * 1024
"""Most bytes of row data one transaction may hold in memory."""

HELD_IDS_BYTES_MAX: Final = 64 * 1024 * 1024
"""Most bytes of hashed ids that an open graph keeps in memory, so that INSERTs need not ask storage one by one."""

SMALL_FRAGMENTS_MAX: Final = 32
"""Small files a table may have before the next write takes them into its own."""

SMALL_FRAGMENT_ROWS_MAX: Final = 4096
"""Rows below which a file counts as small."""

INDEXED_ROWS_MIN: Final = 1024
"""Rows without an index from which on building one is worth it; fewer are simply read."""

VECTOR_INDEXED_ROWS_MIN: Final = 65_536
"""Vectors without an index from which on building one is worth it; fewer are compared one by one, which is exact."""

LOAD_LINE_BYTES_MAX: Final = 32 * 1024 * 1024
"""Longest line of a `.jsonl` file."""

LOAD_LINE_ELEMENTS_MAX: Final = 131_072
"""Most brackets, commas and colons in one line of a `.jsonl` file."""

WALKS_MAX: Final = 16_777_216
"""Most walks one quantified step of a graph pattern may give."""

RECURSION_ROUNDS_MAX: Final = 10_000
"""Most rounds of a recursive common table expression."""

SEARCH_QUERY_BYTES_MAX: Final = 16 * 1024
"""Longest query of a text search."""

FUZZY_EDITS_DEFAULT: Final = 2
"""Edits that `fuzzy` allows when the text does not say."""

FUZZY_EDITS_MAX: Final = 8
"""Most edits that `fuzzy` takes; more would match nearly everything."""

FUSION_DEPTH: Final = 256
"""Entities of each ranking that `rrf` counts, unless its limit is larger."""

KEPT_BYTES_MAX: Final = 1024 * 1024 * 1024
"""Most bytes of adjacency and columns that a process keeps in memory for the graphs it has open."""

TRAIL_ROWS_MAX: Final = 1_048_576
"""Rows of a node table up to which a pattern from few nodes is answered from whole columns in memory."""

TRAIL_MATCHES_MAX: Final = 1_048_576
"""Most matches of such a pattern that are made in memory; more are streamed by the query engine."""

LINKS_MADE_MAX: Final = 131_072
"""Rows of an edge table up to which its adjacency is made for any step over it: that takes as long as few lookups."""

LINKS_CHANGED_MAX: Final = 4096
"""Rows by which two states of a table may differ for the adjacency of one to be made of that of the other."""

FRONTIER_NODES_MAX: Final = 256
"""Most nodes a step may start at to look its edges up in the table while their adjacency is not at hand."""

SPARK_REFUSALS_MAX: Final = 1_000_000
"""Most rows that a load on Spark may refuse and go on; more of them mean that the input is another one."""

SPARK_WRITE_ROWS_IN_MEMORY: Final = 1_000_000
"""Rows of a written DataFrame that rules are checked on in the driver's memory; more go through files on its disk."""

SPARK_STATES_MAX: Final = 4
"""Most states of one graph of which a driver or a worker of Spark keeps open what it read."""

SHELL_ROWS_MAX: Final = 1_000_000
"""Most rows of one result the shell holds in memory; a file takes all of them."""

SHELL_BYTES_MAX: Final = 256 * 1024 * 1024
"""Most bytes of one result the shell holds in memory, to the end of the batch that reaches them."""

MEMORY_LIMIT_BYTES_MIN: Final = 1024 * 1024
"""Smallest memory limit that a graph may be opened with."""

BENCH_PEOPLE_MIN: Final = 100
"""Fewest people that a benchmark makes; fewer say nothing about a machine."""

BENCH_PEOPLE_MAX: Final = 10_000_000
"""Most people that a benchmark makes, with five times as many edges."""

BENCH_ROUNDS_MAX: Final = 1000
"""Most rounds in which a step of a benchmark is measured."""

CHECK_HASHES_BYTES_MAX: Final = 256 * 1024 * 1024
"""Most bytes of hashed ids that a check of a graph holds at once; a larger table is read several times."""

CHECK_FINDINGS_MAX: Final = 20
"""Most rows of one table that a check names for breaking one rule; it counts the others."""
