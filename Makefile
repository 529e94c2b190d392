# Each target sets up what it needs: a virtual environment with the package in it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
QUICKSTART := runs/quickstart
# Two processes; the files in the order of tests/conftest.py.
PARALLEL := -n 2 --dist loadfile --no-loadscope-reorder

# Huge pages, where the C library has them, spare some of the time of a step on a CPU.
export GLIBC_TUNABLES ?= glibc.malloc.hugetlb=1

.PHONY: help install quickstart test test-slow docs site lint format clean

help:  ## Say what can be made.
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

install: $(INSTALLED)  ## Make .venv and install the package with its dependencies.

$(INSTALLED): setup.cfg pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

quickstart: $(INSTALLED)  ## Train on the built-in corpus, translate, score and draw.
	$(BIN)/python -m transformer_jax train --config configs/grammar_tiny.py --workdir $(QUICKSTART)
	$(BIN)/python -m transformer_jax evaluate --workdir $(QUICKSTART) \
	  --phenomena --examples 2
	$(BIN)/python -m transformer_jax plot attention --workdir $(QUICKSTART) \
	  --kind encoder \
	  --source "The animal didn't cross the street because it was too tired." \
	  --output $(QUICKSTART)/attention.png
	$(BIN)/python -m transformer_jax plot curves --workdir $(QUICKSTART) \
	  --output $(QUICKSTART)/curves.png

test: $(INSTALLED)  ## Run the test suite, without the slow ones.
	$(BIN)/python -m pytest -m "not slow" $(PARALLEL)

test-slow: $(INSTALLED)  ## Run the tests that take longer.
	$(BIN)/python -m pytest -m slow $(PARALLEL)

docs: $(INSTALLED)  ## Write the reports on the paper's tables and on speed into docs/ again.
	mkdir -p docs
	for name in table2 table3 cost accelerators sizes fields; do \
	  $(BIN)/python -m transformer_jax report $$name --format markdown > docs/$$name.md || exit 1; done
	$(BIN)/python -m transformer_jax report table1 --format markdown --plot docs/table1.svg \
	  > docs/table1.md
	$(BIN)/python -m benchmarks.report > docs/performance.md

site: $(VENV)/.site-installed  ## Build the documents as a site, with all links checked, into site/.
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

$(VENV)/.site-installed: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@

lint: $(INSTALLED)  ## Check style and types.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(INSTALLED)  ## Put the style right where a tool can.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## Remove the environment and what tools have left; runs stay.
	rm -rf $(VENV) build dist site *.egg-info .mypy_cache .pytest_cache .ruff_cache
