# Everything a stranger needs: each target sets up what it uses, from nothing, in .venv.
PYTHON ?= python3
WORKERS ?= 2
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
# One thread for each worker: two would fight for the same cores.
ONE_THREAD := OMP_NUM_THREADS=1

.PHONY: quickstart test test-slow conformance lint format types docs bench stability clean

quickstart: .venv/.run
	$(BIN)/python examples/quickstart/quickstart.py

test: .venv/.develop
	$(ONE_THREAD) $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadscope -m "not slow" $(ARGS)

test-slow: .venv/.develop
	$(ONE_THREAD) $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadscope -m slow $(ARGS)

conformance: .venv/.develop
	$(ONE_THREAD) $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadscope tests/conformance $(ARGS)

lint: .venv/.develop
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/vermin --target=3.10- --eval-annotations --no-tips --quiet src examples benchmarks

format: .venv/.develop
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: .venv/.develop
	$(BIN)/mypy

docs: .venv/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: .venv/.bench
	$(BIN)/python -m benchmarks.bench $(ARGS)
	$(BIN)/python -m benchmarks.tables docs/benchmarks.md

stability: .venv/.run
	$(ONE_THREAD) $(BIN)/python -m benchmarks.grid stability $(ARGS)
	$(BIN)/python -m benchmarks.tables docs/stability.md

.venv/.python:
	$(PYTHON) -m venv .venv
	touch $@

.venv/.run: .venv/.python pyproject.toml constraints.txt
	$(PIP) --editable ".[train,analysis]"
	touch $@

.venv/.develop: .venv/.python pyproject.toml constraints.txt
	$(PIP) --editable ".[train,analysis,vectors,syntax,peft,translation,speech,test,quality,docs]"
	touch $@ .venv/.run .venv/.docs

.venv/.docs: .venv/.python pyproject.toml constraints.txt
	$(PIP) --editable ".[docs]"
	touch $@

.venv/.bench: .venv/.python pyproject.toml constraints.txt
	$(PIP) --editable ".[train,bench]"
	touch $@

clean:
	rm -rf .venv .cache build site outputs
