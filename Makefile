# make run | test | test-torch | lint | dev | clean | distclean     (PYTHON=/path/to/python3 chooses the interpreter)
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?=
VENV := .venv
BIN := $(VENV)/bin
SITE := build/site
# Kernels compiled by one test run serve the next; entries are keyed by content, so they never go stale.
TEST_CACHE ?= $(CURDIR)/build/kernel-cache
TEST_WORKERS ?= 2
TEST_ARGS ?=
# The build for the CPU, of 200 MB: what PyPI has under the version alone is for CUDA on Linux, of gigabytes.
TORCH ?= torch==2.13.0$(if $(filter Linux,$(shell uname -s)),+cpu)
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
TORCH_TESTS := tests/compiler/modules tests/compiler/estimators/test_onnx_converter.py

.PHONY: help run test test-torch lint dev clean distclean

help:
	@echo "make run      classify handwritten digits with the example model"
	echo "make test     run the test suite           (TEST_ARGS='-k conv' passes pytest arguments)"
	echo "make test-torch    install torch for the CPU and run the tests that need it"
	echo "make lint     ruff, mypy, import-linter"
	echo "make dev      install everything for development into $(VENV)"
	echo "make clean    remove build products and caches;  make distclean  also removes $(VENV)"

run: $(VENV)/.installed-run
	@$(BIN)/python examples/digits/run.py

test: $(VENV)/.installed-test
	@BASALT_CACHE_DIR="$${BASALT_CACHE_DIR:-$(TEST_CACHE)}" $(BIN)/python -m pytest -q -n $(TEST_WORKERS) --dist worksteal $(TEST_ARGS)

# Torch is no dependency of the tests, being large: where it cannot be installed, they are not run, and that is no failure.
test-torch: $(VENV)/.installed-test
	@if ! $(BIN)/python -c 'import torch' 2>/dev/null; then
	    echo "Installing $(TORCH) into $(VENV) ..." >&2
	    install() {
	        timeout 900 $(BIN)/python -m pip install -q --disable-pip-version-check --root-user-action=ignore "$$@"
	    }
	    if ! install --no-deps --retries 1 --extra-index-url $(TORCH_INDEX) '$(TORCH)' || ! install '$(TORCH)' \
	        || ! $(BIN)/python -c 'import torch'; then
	        $(BIN)/python -m pip uninstall -q -y torch 2>/dev/null || true  # half of it is worse than none
	        echo "SKIPPED: $(TORCH) cannot be installed here; the tests of PyTorch modules are not run." >&2
	        exit 0
	    fi
	fi
	BASALT_CACHE_DIR="$${BASALT_CACHE_DIR:-$(TEST_CACHE)}" timeout 900 $(BIN)/python -m pytest -q -n $(TEST_WORKERS) \
	    $(TORCH_TESTS) $(TEST_ARGS)

# The folders are mapped into the package by pyproject.toml, which mypy and import-linter cannot follow in an editable
# install: they read a real one. mypy's paths are turned back into the repository's.
lint: $(VENV)/.installed-lint
	@$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --check --quiet . || { echo "run: $(BIN)/ruff format ."; exit 1; }
	rm -rf build/lib $(SITE)
	$(BIN)/python -m pip install -qq --disable-pip-version-check --root-user-action=ignore --no-deps \
	    --no-build-isolation --target $(SITE) .
	cp pyproject.toml $(SITE)
	cd $(SITE)
	../../$(BIN)/mypy --config-file ../../pyproject.toml --cache-dir ../../.mypy_cache \
	    | sed -E 's#^basalt/(ops|compiler|runtime|serialization)/#\1/#'
	PYTHONPATH=. ../../$(BIN)/lint-imports --cache-dir ../../.import_linter_cache

dev: $(VENV)/.installed-dev
	@echo "Ready: $(BIN)/python, $(BIN)/bslc, $(BIN)/pytest. Commit hooks: $(BIN)/pre-commit install"

$(VENV)/.installed-run: EXTRAS :=
$(VENV)/.installed-test: EXTRAS := [test]
$(VENV)/.installed-lint: EXTRAS := [lint]
$(VENV)/.installed-dev: EXTRAS := [dev]
$(VENV)/.installed-%: pyproject.toml | $(BIN)/python
	@echo "Installing basalt-compiler$(EXTRAS) into $(VENV) ..." >&2
	$(BIN)/python -m pip install -qq --disable-pip-version-check --root-user-action=ignore --editable '.$(EXTRAS)'
	touch $@

$(BIN)/python:
	@usable() { "$$1" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }
	for python in $(if $(PYTHON),'$(PYTHON)',python3 python3.13 python3.12 python3.11 python3.14); do
	    if usable "$$python"; then exec "$$python" -m venv $(VENV); fi
	done
	{
	    echo "error: no usable Python$(if $(PYTHON), at $(PYTHON)): it needs version 3.11 or later with venv and ensurepip."
	    echo "On Debian and Ubuntu: apt install python3-venv. Another interpreter: make PYTHON=/path/to/python3 ..."
	} >&2
	exit 1

clean:
	@rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +

distclean: clean
	@rm -rf $(VENV)
