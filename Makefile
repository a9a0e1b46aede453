# `make demo` and `make test` each do all the set-up; they need Python 3.11+, make and a package index.

SHELL := /bin/bash
VENV ?= .venv
LOWEST_VENV ?= $(VENV)-lowest
LOWEST_JAX := $(shell sed -n 's/^ *"jax>=\([0-9.]*\)".*/\1/p' pyproject.toml)
PEERS_VENV := .venv-peers
WORKERS ?= 2
PYTEST_ARGS ?=
SIZE ?= full

BIN := $(VENV)/bin
PIP := -m pip --disable-pip-version-check -qq
READY := $(VENV)/.ready
PEERS_READY := $(PEERS_VENV)/.ready
LOWEST_READY := $(LOWEST_VENV)/.ready-$(LOWEST_JAX)

# What `make quick` tests: rooms that compile no long program.
QUICK := tests/architecture $(addprefix tests/unit/,foundation lie algebra flight airframe logs trajectory \
	exporters report papers bench)

# The first interpreter that really runs, is new enough and can make a virtual environment.
FIND_PYTHON := for p in $(PYTHON) python3.13 python3.12 python3.11 python3 python; do \
	if "$$p" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; \
	then echo "$$p"; exit 0; fi; done; \
	echo 'no Python 3.11 or newer found; install one or call make with PYTHON=/path/to/python' >&2; exit 1

.DEFAULT_GOAL := help
.PHONY: help setup demo quick test test-fast test-lowest test-slow world fuzz lint format bench bench-peers docs clean

help:  ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 20

setup: $(READY)  ## build the virtual environment with everything in it (quick the second time)

$(READY): pyproject.toml constraints.txt
	@python="$$($(FIND_PYTHON))" && echo "setting up $(VENV) with $$python" && \
	{ test -x $(BIN)/python && $(BIN)/python -c '' 2>/dev/null || "$$python" -m venv --clear $(VENV); }
	@$(BIN)/python $(PIP) install -c constraints.txt -e '.[embed,oracles,cluster,dev,docs]'
	@touch $@

$(LOWEST_READY): pyproject.toml constraints.txt Makefile
	@python="$$($(FIND_PYTHON))" && echo "setting up $(LOWEST_VENV) with $$python and JAX $(LOWEST_JAX)" && \
	"$$python" -m venv --clear $(LOWEST_VENV)
	@grep -vE '^(jax|jaxlib)==' constraints.txt > $(LOWEST_VENV)/constraints.txt
	@$(LOWEST_VENV)/bin/python $(PIP) install -c $(LOWEST_VENV)/constraints.txt \
		jax==$(LOWEST_JAX) jaxlib==$(LOWEST_JAX) numpy scipy threadpoolctl pydantic tomli-w pytest pytest-xdist hypothesis casadi
	@touch $@

demo: setup  ## simulate an unknown vehicle, identify it, write report.html
	$(BIN)/haltere demo --out report.html

quick: lint  ## before a commit, three minutes: lint, the structure of the code, and the tests that compile little
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -q $(QUICK) $(PYTEST_ARGS)

test: test-fast test-lowest  ## run the tests, and those of `algebra` on the lowest JAX too

test-fast: setup
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(PYTEST_ARGS)

test-lowest: $(LOWEST_READY)
	PYTHONPATH=src $(LOWEST_VENV)/bin/python -m pytest -n $(WORKERS) tests/unit/algebra tests/unit/dynamics/test_core.py $(PYTEST_ARGS)

test-slow: setup  ## run the long tests: many random vehicles, property tests with fresh examples
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "slow or hypothesis" --hypothesis-profile fresh $(PYTEST_ARGS)

world: setup  ## fly the foreign world and score all estimators: about 2.5 hours, SIZE=small 25 minutes; RECORD=1 renews docs/results.md
	$(BIN)/python -m tests.world --size $(SIZE) --workers $(WORKERS) $(addprefix --seeds ,$(SEEDS)) $(if $(RECORD),--record)

fuzz: setup  ## read logs damaged at random: 20,000 random heads and tails and ten minutes for each reader
	HALTERE_FUZZ_SECONDS=600 $(BIN)/python -m pytest -n $(WORKERS) -m "slow or hypothesis" --hypothesis-profile fuzz \
		tests/recovery/test_fuzz_logs.py tests/unit/logs/test_faults.py $(PYTEST_ARGS)

lint: setup  ## style, types, import contracts, licences
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python .ci/licences.py

format: setup  ## put the code into the common form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup  ## speed and accuracy beside the peers that are installed
	$(BIN)/haltere bench

bench-peers: $(PEERS_READY)  ## build the environment of the simulators that `make bench` then measures too

$(PEERS_READY):
	@python="$$($(FIND_PYTHON))" && echo "setting up $(PEERS_VENV) with $$python" && \
	"$$python" -m venv --clear $(PEERS_VENV)
	@$(PEERS_VENV)/bin/python $(PIP) install crazyflow==0.4.0 rotorpy==3.0.0
	@touch $@

docs: setup  ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

clean:  ## remove what the targets above have made
	rm -rf $(VENV) $(LOWEST_VENV) $(PEERS_VENV) .cache .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache \
		build dist site report.html
