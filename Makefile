# Everything a fresh machine needs: `make demo`, then `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help env demo test quick fmt bench soak lock clean

help:            ## show the targets
	@grep -hE '^[a-z]+: .*##|^[a-z]+:  +##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

env: $(READY)    ## create .venv with the locked dependencies

$(READY): constraints.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: $(READY)   ## crawl the built-in simulated web on loopback, with live progress and a report
	@$(BIN)/gossamer demo

test: $(READY)   ## all checks and all tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest

quick: $(READY)  ## the inner loop: format, lint, types, layering, pure tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q -m "not service"

fmt: $(READY)    ## format and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)  ## all benchmarks, one after the other
	$(BIN)/python -m benchmarks

soak: $(READY)   ## long runs: a thousand kills over one crawl
	GOSSAMER_KILLS=1000 $(BIN)/python -m pytest -q tests/integration/test_kill_nine.py

lock: $(READY)   ## write constraints.txt anew from pyproject.toml
	$(BIN)/python -m pip install --quiet pip-tools
	$(BIN)/pip-compile --quiet --extra dev --generate-hashes --allow-unsafe --strip-extras \
	  --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-header --no-annotate \
	  --output-file constraints.txt pyproject.toml setuptools.in

clean:           ## remove the environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache build dist
