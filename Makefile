# Every path below is relative, so that a checkout whose path has a space in it works too.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Each stamp stands for one finished installation; a second run finds it and installs nothing.
# The test extra contains the bench extra.
INSTALLED := $(VENV)/.installed
INSTALLED_TEST := $(VENV)/.installed-test
INSTALLED_BENCH := $(VENV)/.installed-bench

.NOTPARALLEL:
.PHONY: demo test lint types unit bench doctor-score test-packages format clean

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

doctor-score: $(INSTALLED_TEST)
	$(BIN)/python -m tests.doctor_score

# Downloads packages of the PyTorch ecosystem into a folder of their own; not part of `make test`.
test-packages: $(INSTALLED_TEST)
	$(BIN)/python -m tests.packages

format: $(INSTALLED_TEST)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

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
