# Everything runs inside .venv, which `make setup` builds from pyproject.toml.

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.ready

# The data sets are not part of the project; where they lie beside it, the tests use them.
ifneq ($(wildcard ../shared/data),)
export SKIPCHAIN_DATA ?= $(abspath ../shared/data)
endif

.PHONY: setup demo test check bench docs gallery clean

setup: $(STAMP)

$(STAMP): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --editable '.[dev,docs]'
	touch $(STAMP)

demo: setup
	$(BIN)/skipchain demo
	@echo "To have skipchain on the path: . $(BIN)/activate"

test: check
	$(BIN)/python -m pytest

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: setup
	$(BIN)/python -m benchmarks

docs: setup
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html
	$(BIN)/sphinx-build -q -W --keep-going -b doctest docs docs/_build/doctest

gallery: setup
	$(BIN)/python scripts/gallery.py

clean:
	rm -rf .venv build dist docs/_build docs/api docs/cli.md .pytest_cache .mypy_cache .ruff_cache .hypothesis demo
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
