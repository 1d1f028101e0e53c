# Every target makes what it needs: a virtual environment in .venv with the project in it. Nothing but Python 3.11+ and make is assumed.
#
#   make demo                    PYTHON=/path/to/python3.12 make test

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Tests run in parallel processes and fits in parallel threads: BLAS threads on top would only get in each other's way.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
ONE_BLAS_THREAD := OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.DEFAULT_GOAL := help
.PHONY: help demo test bench papers docs lint clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.installed-plot  ## train on embedded data; prints a table, writes polykern-demo.html
	@$(BIN)/python examples/1_start/demo.py

test: $(VENV)/.installed-dev  ## the whole test suite, warnings are errors
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 $(ARGS)

bench: $(VENV)/.installed-dev  ## every benchmark
	@set -e; for script in benchmarks/bench_*.py; do \
		[ -e "$$script" ] || continue; echo "== $$script"; $(ONE_BLAS_THREAD) $(BIN)/python "$$script" $(ARGS); \
	done

papers: $(VENV)/.installed-dev  ## the benchmarks that repeat the set-ups of the papers
	@set -e; for script in agreement groups scaling; do \
		echo "== $$script"; $(ONE_BLAS_THREAD) $(BIN)/python benchmarks/bench_$$script.py $(ARGS); \
	done

docs: $(VENV)/.installed-plot  ## check the docs: links lead somewhere, the code of README and recipes runs
	$(BIN)/python docs/check.py

lint: $(VENV)/.installed-dev  ## ruff, mypy, codespell
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/codespell

clean:  ## remove .venv, caches and what the demo wrote
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis polykern-demo.html
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# ---- the environment: made once, brought up to date when pyproject.toml changes -------------------------------------------------

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { \
		echo "polykern needs Python 3.11 or newer, and '$(PYTHON)' was not found. Try: make PYTHON=/path/to/python3 ..." >&2; \
		exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "polykern needs Python 3.11 or newer, and '$(PYTHON)' is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12 ..." >&2; \
		exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
		rm -rf $(VENV); \
		echo "'$(PYTHON) -m venv' failed. On Debian and Ubuntu: apt install python3-venv" >&2; \
		exit 1; }

$(VENV)/.installed-plot: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[plot]'
	@touch $@

# The dev extra contains the plot extra: one installation serves both stamps.
$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(VENV)/.installed-plot $@
