.DEFAULT_GOAL := help
PYTHON ?= python3
BIN    := .venv/bin
# Test workers use all cores already; more threads in each only wait for each other.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
STAMP  := .venv/.installed

PIP := $(BIN)/python -m pip --disable-pip-version-check

$(STAMP): pyproject.toml requirements.lock
	$(PYTHON) -m venv .venv
	$(PIP) install -q --require-hashes -r requirements.lock
	$(PIP) install -q --no-deps --no-build-isolation -e .
	@touch $@

demo: $(STAMP)  ## install, then fit a private model end to end
	@$(BIN)/confide demo
	@echo 'Next: . $(BIN)/activate, and then: confide --help'

test: lint $(STAMP)  ## install, then format, lint, types and every fast test
	$(ONE_THREAD) $(BIN)/python -m pytest -q -n auto $(ARGS)

test-slow: $(STAMP)  ## the slow statistical tests, and every property on all of its examples
	CONFIDE_EXAMPLES=all $(ONE_THREAD) $(BIN)/python -m pytest -q -n auto -m 'slow or hypothesis' $(ARGS)

campaign: $(STAMP)  ## hours of fuzzing, results go to docs/campaigns; every committed study against a quick run
	$(ONE_THREAD) $(BIN)/python -m pytest -q -n auto -m campaign --dist worksteal $(ARGS)

test-all: test test-slow  ## everything `test` does, and the slow statistical tests

lint: $(STAMP)  ## format check, lint, strict types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

coverage: $(STAMP)  ## lines and branches that no fast test reaches
	$(ONE_THREAD) $(BIN)/python -m pytest -q -n auto --cov --cov-report=term $(ARGS)

docs: $(STAMP)  ## build the site in docs/_build/html: no warnings, no dead links, examples that run
	$(ONE_THREAD) $(BIN)/python -m sphinx -q -W --keep-going -n -j auto -b html docs docs/_build/html
	$(BIN)/python docs/site/check.py docs/_build/html
	$(ONE_THREAD) $(BIN)/python -m pytest -q -n auto -m 'not campaign' tests/docs

bench: $(STAMP)  ## measure against peers and write docs/benchmarks.md
	$(BIN)/python -m bench

lock: $(STAMP)  ## pin the newest version of every dependency, with its hashes
	$(PIP) install -q pip-tools
	$(BIN)/pip-compile -q --upgrade --all-extras --all-build-deps --generate-hashes --allow-unsafe \
	  --strip-extras --no-annotate --no-header --no-emit-index-url --no-emit-trusted-host \
	  --no-emit-find-links -o requirements.lock pyproject.toml
	sed -i '/^# WARNING/d; /^# Consider/d; /^confide @/d; /^# The following/d' requirements.lock

help:           ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  %-9s %s\n",$$1,$$2}'

.PHONY: demo test test-slow test-all campaign lint coverage docs bench lock help
