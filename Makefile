# Everything runs inside .venv, which `make setup` builds from pyproject.toml.

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.ready

# The data sets are not part of the project; where they lie beside it, the tests use them.
ifneq ($(wildcard ../shared/data),)
export SKIPCHAIN_DATA ?= $(abspath ../shared/data)
endif

.PHONY: setup demo test quick check bench fuzz faults docs gallery clean

setup: $(STAMP)

$(STAMP): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --editable '.[dev,docs]'
	touch $(STAMP)

demo: setup
	$(BIN)/skipchain demo
	@echo "To have skipchain on the path: . $(BIN)/activate"

# Every test, one worker a core. Workers take from each other what is left to do, so that no long
# file is waited for. They are asked for here and not in pyproject.toml: one file run by hand is
# quicker without them.
WORKERS ?= auto
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

test: check
	$(PYTEST)

# What a change should pass before it is looked at: no test above about three seconds, no data sets.
quick: setup
	$(PYTEST) -m 'not slow and not data'

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: setup
	$(BIN)/python -m benchmarks

# Hostile files, and machines that fail: the last line counts what was found.
fuzz: setup
	$(BIN)/python -m hardening fuzz $(N)

faults: setup
	$(BIN)/python -m hardening faults $(N)

docs: setup
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html
	$(BIN)/sphinx-build -q -W --keep-going -b doctest docs docs/_build/doctest

gallery: setup
	$(BIN)/python scripts/gallery.py

clean:
	rm -rf .venv build dist docs/_build docs/api docs/cli.md .pytest_cache .mypy_cache .ruff_cache .hypothesis demo
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
