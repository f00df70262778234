# Every path below is relative, so that a checkout whose path has a space in it works too.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Each stamp stands for one finished installation; a second run finds it and installs nothing.
# The test extra contains the bench extra.
INSTALLED := $(VENV)/.installed
INSTALLED_TEST := $(VENV)/.installed-test
INSTALLED_BENCH := $(VENV)/.installed-bench
INSTALLED_DOCS := $(VENV)/.installed-docs

.NOTPARALLEL:
.PHONY: demo test lint types unit bench docs doctor-score test-packages test-pythons test-arm64 format clean

demo: $(INSTALLED)
	$(BIN)/clew demo

test: lint types unit

lint: $(INSTALLED_TEST)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED_TEST)
	$(BIN)/mypy

# Two test processes with one thread each: more threads than cores only slow each other down.
unit: $(INSTALLED_TEST)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

bench: $(INSTALLED_BENCH)
	$(BIN)/clew bench

# A warning, such as a link that leads nowhere, is an error.
docs: $(INSTALLED_DOCS)
	$(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going --quiet --fresh-env --write-all docs build/site
	@echo "the documentation is in build/site/index.html"

doctor-score: $(INSTALLED_TEST)
	$(BIN)/python -m tests.doctor_score

# Downloads packages of the PyTorch ecosystem into a folder of their own; not part of `make test`.
test-packages: $(INSTALLED_TEST)
	$(BIN)/python -m tests.packages

# On every Python that is installed, in environments of their own; not part of `make test`.
test-pythons: $(INSTALLED_TEST)
	$(BIN)/python -m tests.platforms.pythons

# On arm64 under QEMU, and compiled for macOS and Windows; not part of `make test`.
test-arm64: $(INSTALLED_TEST)
	$(BIN)/python -m tests.platforms.arm64

format: $(INSTALLED_TEST)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist docs/api .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "clew needs Python 3.11 or newer; name one: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)

$(INSTALLED): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	$(BIN)/python -m compileall -q clew
	touch $@

$(INSTALLED_TEST): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	$(BIN)/python -m compileall -q clew
	touch $@ $(INSTALLED) $(INSTALLED_BENCH)

$(INSTALLED_BENCH): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python -m compileall -q clew
	touch $@ $(INSTALLED)

$(INSTALLED_DOCS): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@ $(INSTALLED)
