# Two commands matter: `make demo` and `make test`. Both work from a fresh checkout
# with nothing but Python 3.11 or newer and make. `make help` lists the rest.

VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
PIP := $(PY) -m pip install -qq --disable-pip-version-check -c constraints.txt

# The first interpreter that is new enough; say PYTHON=... to choose another.
PYTHON ?= $(shell for p in python3.11 python3 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

FUZZ_INPUTS ?= 20000
WORKERS ?= 2

# What an installation depends on. The install is editable, so source files are not among it.
MANIFEST := pyproject.toml setup.py constraints.txt
USER_STAMP := $(VENV)/.installed
TEST_STAMP := $(VENV)/.installed-for-tests

.DEFAULT_GOAL := help
.PHONY: help setup demo test fast lint types bench crash peers oracle fuzz spark docs build clean

help:  ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(TEST_STAMP)  ## make .venv and install the package with everything the tests need

demo: $(USER_STAMP)  ## make .venv, install, and show what the product does
	@$(BIN)/ogsql demo

test: lint types  ## lint, type check, layer check and every test
	$(PY) -m pytest -n $(WORKERS) --dist loadgroup

fast: $(TEST_STAMP)  ## the tests alone, stopping at the first failure
	$(PY) -m pytest -n $(WORKERS) --dist loadgroup -x -q

lint: $(TEST_STAMP)  ## style, formatting and who may import whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(TEST_STAMP)  ## strict type check
	$(BIN)/mypy

bench: $(TEST_STAMP)  ## run every benchmark in bench/
	@$(PIP) -e '.[bench]'
	@set -e; for script in bench/[!_]*.py; do [ -e "$$script" ] || continue; echo "== $$script"; $(PY) "$$script"; done

crash: $(TEST_STAMP)  ## kill writers at every step, fail every storage call, many processes
	OMNI_CRASH=full $(PY) -m pytest tests/crash tests/faults tests/processes tests/engine/wp tests/s3 -n $(WORKERS) -q -rP --timeout=0

peers: $(TEST_STAMP)  ## thousands of generated SQL questions, asked of DuckDB too
	OMNI_DUCK_GRAPHS=60 $(PY) -m pytest tests/run/test_sql_like_duckdb.py -q --timeout=0 -n $(WORKERS)

oracle: $(TEST_STAMP)  ## thousands of generated .gq questions, answered in plain Python too
	OMNI_ORACLE_GRAPHS=40 OMNI_ORACLE_QUESTIONS=100 $(PY) -m pytest tests/run/test_gq_like_the_document.py -q --timeout=0 -n $(WORKERS)

fuzz: $(TEST_STAMP)  ## the parsers against FUZZ_INPUTS generated texts
	OMNI_FUZZ_INPUTS=$(FUZZ_INPUTS) $(PY) -m pytest tests/fuzz -q --timeout=0 -n $(WORKERS)

spark: $(TEST_STAMP)  ## Spark in full: a cluster of two workers, an object store, faults, many dirty inputs
	OMNI_SPARK=full $(PY) -m pytest tests/spark -n 0 -q --timeout=0

docs: $(TEST_STAMP)  ## compile every statement the documentation shows, check every link
	$(PY) -m pytest tests/docs -q

build: $(TEST_STAMP)  ## source archive and wheel in dist/
	$(PY) -m build --no-isolation --outdir dist .

clean:  ## remove everything that can be made again, .venv included
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache htmlcov .coverage*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(PY):
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; say make PYTHON=/path/to/python" >&2; exit 1; }
	@echo "making $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(USER_STAMP): $(MANIFEST) | $(PY)
	@echo "installing"
	@$(PIP) -e .
	@touch $@

# Installing for tests installs for users too: `make demo` after `make test` has nothing to do.
$(TEST_STAMP): $(MANIFEST) | $(PY)
	@echo "installing, with what the tests need"
	@$(PIP) -e '.[test]'
	@touch $(USER_STAMP) $@
