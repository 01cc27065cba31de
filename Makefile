# On a fresh machine run `make demo`, then `make test`. Required: Python 3.11 or newer, pip, make and apt. Everything else is
# installed into .venv. apt is used only if Python lacks the venv module.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

# Tests start hundreds of processes. Without cached bytecode, each would compile all of Gossamer again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help env demo test quick fmt bench libraries soak steady faults docs lock wheels image clean types compiled

help:            ## show the targets
	@grep -hE '^[a-z]+: .*##|^[a-z]+:  +##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

env: $(READY)    ## create .venv with the locked dependencies

$(READY): requirements/dev.txt pyproject.toml src/gossamer/native/kernels.c
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is required; select one with make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  $$(test "$$(id -u)" = 0 || echo sudo) apt-get install -y --no-install-recommends \
	  $$($(PYTHON) -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: $(READY)   ## crawl the built-in simulated web on loopback, with live progress and a report
	@$(BIN)/gossamer demo

test: $(READY)   ## all checks and all tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@$(MAKE) --no-print-directory --jobs 2 types compiled
	$(BIN)/python -m pytest -p no:randomly -n 4 --dist loadfile --no-loadscope-reorder

types: $(READY)
	$(BIN)/mypy

# Compile the bytecode once, on the core that mypy does not use, instead of in every pytest worker at the same time.
compiled: $(READY)
	@$(BIN)/python -m pytest -p no:randomly -qq --collect-only > $(VENV)/collected || { cat $(VENV)/collected; exit 1; }

quick: $(READY)  ## fast checks: format, lint, types, layering, pure tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q -m "not service and not library and not timed"

fmt: $(READY)    ## format, and fix lint errors
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)  ## run all benchmarks, one at a time
	$(BIN)/python -m benchmarks

libraries: $(READY) ## compare the pinned HTML parser and decoders with the standards; run it when requirements/ changes
	$(BIN)/python -m pytest -p no:randomly -q -m library -n 2 tests/extract

soak: $(READY)   ## long runs: thousands of kills, millions of hostile inputs and seeds, long random walks of the frontier
	GOSSAMER_KILLS=1000 $(BIN)/python -m pytest -q tests/integration/test_kill_nine.py
	GOSSAMER_WORKER_KILLS=200 $(BIN)/python -m pytest -q tests/integration/test_shared_crawl.py
	GOSSAMER_POSTGRES_KILLS=50 $(BIN)/python -m pytest -q tests/integration/test_postgres_crawl.py \
	  tests/integration/test_shared_outages.py
	GOSSAMER_CACHE_FAULTS=20 $(BIN)/python -m pytest -q tests/integration/test_cache_outage.py
	GOSSAMER_STORAGE_FAULTS=20 $(BIN)/python -m pytest -q tests/integration/test_object_crawl.py
	GOSSAMER_WIDENING_KILLS=50 $(BIN)/python -m pytest -q tests/integration/test_widening.py
	GOSSAMER_FUZZ=1500000 $(BIN)/python -m pytest -q --hypothesis-profile searching tests/fuzz
	GOSSAMER_WALKS=20000 GOSSAMER_MACHINES=2000 $(BIN)/python -m pytest -q --hypothesis-profile searching tests/frontier
	GOSSAMER_EXAMPLES=50 $(BIN)/python -m pytest -q --hypothesis-profile searching tests/filter tests/native tests/fetch/robots \
	  tests/seen
	GOSSAMER_EXAMPLES=10 $(BIN)/python -m pytest -q tests/contracts tests/lab/simulate/test_policy_orders.py \
	  tests/lab/simweb/test_simweb_truth.py
	GOSSAMER_PROTOCOL_SEEDS=8 GOSSAMER_MUTANTS=12 GOSSAMER_LIVES=3 GOSSAMER_MACHINES=2000 \
	  $(BIN)/python -m pytest -q --hypothesis-profile searching tests/cluster
	$(BIN)/python -m pytest -q -m timed
	GOSSAMER_HOLDS=1 $(BIN)/python -m pytest -q -m "not service and not timed" tests/hostile
	GOSSAMER_CALLS=100000 $(BIN)/python -m pytest -q tests/service/test_generated_calls.py
	GOSSAMER_SEEDS=1000000 GOSSAMER_HOSTS=100000 GOSSAMER_TRAP=1000000 GOSSAMER_SEED_KILLS=1000 \
	  $(BIN)/python -m pytest -q tests/service/test_service_load.py tests/service/test_dashboard_scale.py
	GOSSAMER_SEED_SETS=1 $(BIN)/python -m pytest -q tests/lab/simulate/test_real_graph.py
	$(BIN)/python -m benchmarks.bench_keep_fresh --seeds 5

RUNS ?= 3
steady: $(READY) ## run the tests RUNS times on one busy core, in random order, on a small tmpfs; lists failures
	$(BIN)/python -m tests.steady --runs $(RUNS)

MINUTES ?= 60
SEED ?= 1
faults: $(READY) ## a crawl by four workers while workers, PostgreSQL, Redis and S3 fail (MINUTES=60 SEED=1); prints a table
	$(BIN)/python -m tests.faults --minutes $(MINUTES) --seed $(SEED)

docs: $(READY)   ## write the generated parts of docs/
	$(BIN)/python -m tests.test_docs
	$(BIN)/python -m tests.hostile.hostile_table
	$(BIN)/python -m tests.service.test_openapi
	$(BIN)/python -m tests.service.test_metrics_docs
	$(BIN)/python -m tests.cli.test_completion
	$(BIN)/python -m tests.integration.test_output_shapes

lock: $(READY)   ## regenerate the lock files in requirements/ from pyproject.toml
	$(BIN)/python -m pip install --quiet pip-tools
	$(LOCK) --extra all --extra dev --output-file requirements/dev.txt pyproject.toml requirements/build.in
	$(LOCK) --constraint requirements/dev.txt --output-file requirements/core.txt pyproject.toml requirements/build.in
	$(LOCK) --constraint requirements/dev.txt --extra serve --output-file requirements/serve.txt pyproject.toml requirements/build.in
	$(LOCK) --constraint requirements/dev.txt --extra serve --extra cluster --output-file requirements/cluster.txt pyproject.toml \
	  requirements/build.in
	$(LOCK) --constraint requirements/dev.txt --extra all --output-file requirements/all.txt pyproject.toml requirements/build.in

LOCK := $(BIN)/pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras --no-emit-index-url \
  --no-emit-trusted-host --no-emit-find-links --no-header --no-annotate

wheels: $(READY) ## build wheels for CPython 3.11 to 3.14 into dist/ (cibuildwheel; needs docker or podman on Linux)
	$(BIN)/python -m pip install --quiet cibuildwheel
	$(BIN)/cibuildwheel --output-dir dist

VERSION = $(shell $(BIN)/python -c 'from gossamer.version import __version__; print(__version__)')
DOCKER ?= $(shell command -v podman || command -v docker)
image: $(READY)  ## build the container image for this machine (PLATFORMS=linux/amd64,linux/arm64 for several)
	@test -n "$(DOCKER)" || { echo "make image needs podman or docker; select one with make image DOCKER=..." >&2; exit 1; }
	$(DOCKER) build $(if $(PLATFORMS),--platform $(PLATFORMS)) -t gossamer:$(VERSION) \
	  -t gossamer:$(basename $(VERSION)) -f deploy/Containerfile .

clean:           ## remove the environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache build dist
