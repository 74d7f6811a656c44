# Everything a stranger needs: each target sets up what it uses, from nothing, in .venv.
PYTHON ?= python3
PYTHON_OLDEST ?= python3.11
# PyPI's newest torch is a CPU build on some systems (macOS, Linux on Arm): there, use TORCH_NEWEST=torch.
TORCH_NEWEST ?= $(shell grep '^torch==' constraints.txt)
WORKERS ?= 2
BIN := .venv/bin
# pip would compile every file of every package, most of which nobody imports, on one core.
INSTALL := -m pip install --quiet --disable-pip-version-check --no-compile
PIP := $(BIN)/python $(INSTALL) --constraint constraints.txt
PIP_DEMO := .venv-demo/bin/python $(INSTALL) --constraint .venv-demo/constraints.txt \
	--constraint examples/demo/constraints.txt
# What is imported everywhere is compiled once, here, also where PYTHONDONTWRITEBYTECODE would have each process do it.
COMPILE := PYTHONDONTWRITEBYTECODE= $(BIN)/python -c "from transformers import Trainer, pipeline; import complex_transformers"
# The extras that the tests, lint, types and docs need.
DEVELOP := train,analysis,vectors,semantics,syntax,peft,translation,speech,vision,evaluate,onnx,gguf,kernels,test,quality,docs
# One thread for each worker: two would fight for the same cores.
ONE_THREAD := OMP_NUM_THREADS=1
# Compiled tests are kept: without them every worker and every process of a test compiles them anew.
PYTEST := $(ONE_THREAD) PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal

.PHONY: quickstart demo test test-rest test-all test-slow test-tools test-gpu test-oldest test-newest test-demo conformance mutations lint format types docs dist bench bench-gpu stability clean

quickstart: .venv/.run
	$(ONE_THREAD) $(BIN)/python examples/quickstart/quickstart.py

demo: .venv-demo/.run
	$(ONE_THREAD) .venv-demo/bin/python examples/demo/train_demo_models.py
	$(ONE_THREAD) .venv-demo/bin/python examples/demo/demo.py $(ARGS)

test: .venv/.develop
	$(PYTEST) -m "not full and not slow" $(ARGS)

test-rest: .venv/.develop
	$(PYTEST) -m "full and not slow" $(ARGS)

test-all: .venv/.develop
	$(MAKE) test
	$(MAKE) test-rest

test-slow: .venv/.develop
	$(PYTEST) -m slow $(ARGS)

# Our models with other libraries, and the table of docs/tools.md.
test-tools: .venv-tools/.test
	$(ONE_THREAD) PYTHONDONTWRITEBYTECODE= .venv-tools/bin/python -m pytest --numprocesses $(WORKERS) --dist worksteal tests/tools \
		--write-table docs/tools.md $(ARGS)

# On a GPU: Triton's kernels, by the table that the other targets run with its interpreter, and every family.
test-gpu: .venv/.develop
	CT_TEST_DEVICE=cuda $(PYTEST) -m "not slow" tests/kernels tests/invariants/test_on_a_gpu.py $(ARGS)

# The default tests with the oldest versions of everything. PyPI's torch 2.8 brings CUDA along, some gigabytes.
test-oldest: .venv-oldest/.develop
	$(ONE_THREAD) .venv-oldest/bin/python -m pytest --numprocesses $(WORKERS) --dist worksteal \
		-m "not full and not slow" $(ARGS)

# The default tests with the newest releases of everything but torch.
test-newest: .venv-newest/.develop
	$(ONE_THREAD) .venv-newest/bin/python -m pytest --numprocesses $(WORKERS) --dist worksteal \
		-m "not full and not slow" $(ARGS)

# The demo with its page, in a browser: a chromium that is installed already.
test-demo: .venv-demo/.test
	$(ONE_THREAD) .venv-demo/bin/python -m pytest tests/examples/test_demo.py $(ARGS)

conformance: .venv/.develop
	$(PYTEST) -m "not slow" tests/conformance $(ARGS)

mutations: .venv/.develop
	$(ONE_THREAD) $(BIN)/python tests/mutations.py $(ARGS)

lint: .venv/.develop
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/vermin --target=3.11- --eval-annotations --no-tips --quiet src examples benchmarks experiments

format: .venv/.develop
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: .venv/.develop
	$(BIN)/mypy

docs: .venv/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The wheel and the source distribution, in dist/.
dist: .venv/.python
	$(PIP) build
	rm -rf dist
	$(BIN)/python -m build

bench: .venv/.bench
	$(BIN)/python -m benchmarks.bench $(ARGS)
	$(BIN)/python -m experiments.tables docs/benchmarks.md

bench-gpu: .venv/.bench-gpu
	$(BIN)/python -m benchmarks.gpu $(ARGS)
	$(BIN)/python -m experiments.tables docs/benchmarks-gpu.md

stability: .venv/.run
	$(ONE_THREAD) $(BIN)/python -m experiments.run stability $(ARGS)
	$(BIN)/python -m experiments.tables docs/stability.md

.venv/.python:
	$(PYTHON) -m venv .venv
	touch $@

.venv/.run: .venv/.python pyproject.toml constraints.txt
	$(PIP) --editable ".[train,analysis]"
	$(COMPILE)
	touch $@

.venv/.develop: .venv/.python pyproject.toml constraints.txt
	$(PIP) --editable ".[$(DEVELOP)]"
	$(COMPILE)
	touch $@ .venv/.run .venv/.docs

.venv-oldest/.develop: pyproject.toml constraints-oldest.txt
	$(PYTHON_OLDEST) -m venv .venv-oldest
	.venv-oldest/bin/python $(INSTALL) --constraint constraints-oldest.txt \
		--editable ".[train,analysis,vectors,semantics,syntax,peft,translation,speech,vision,test]"
	touch $@

.venv-newest/.develop: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-newest
	.venv-newest/bin/python $(INSTALL) --upgrade "$(TORCH_NEWEST)" --editable ".[$(DEVELOP)]"
	touch $@

# Not in .venv: gradio wants another pillow than the tests, whose other versions it gets.
.venv-demo/.run: pyproject.toml constraints.txt examples/demo/constraints.txt
	$(PYTHON) -m venv .venv-demo
	grep --invert-match '^pillow==' constraints.txt > .venv-demo/constraints.txt
	$(PIP_DEMO) --editable ".[train,analysis,speech,vision]" gradio
	touch $@

.venv-demo/.test: .venv-demo/.run
	$(PIP_DEMO) --editable ".[train,analysis,speech,vision,kernels,test]" playwright
	touch $@

# Not in .venv, for the same reason.
.venv-tools/.test: pyproject.toml constraints.txt examples/demo/constraints.txt
	$(PYTHON) -m venv .venv-tools
	grep --invert-match '^pillow==' constraints.txt > .venv-tools/constraints.txt
	.venv-tools/bin/python $(INSTALL) --constraint .venv-tools/constraints.txt \
		--constraint examples/demo/constraints.txt --editable ".[train,peft,serving,test,tools]"
	touch $@

.venv/.docs: .venv/.python pyproject.toml constraints.txt
	$(PIP) --editable ".[docs]"
	touch $@

.venv/.bench: .venv/.python pyproject.toml constraints.txt
	$(PIP) --editable ".[train,bench,llama-cpp]"
	touch $@

.venv/.bench-gpu: .venv/.python pyproject.toml constraints.txt
	$(PIP) --editable ".[train,bench,kernels]"
	touch $@

clean:
	rm -rf .venv .venv-oldest .venv-newest .venv-demo .venv-tools .cache build dist site outputs
