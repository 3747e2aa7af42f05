# Every target makes .venv and installs on first use; a changed pyproject.toml or constraints.txt installs again.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test check bench lock clean

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: .venv/installed
	$(BIN)/ppdm-sql demo

check: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: check
	$(BIN)/python -m pytest -n auto --dist loadfile

bench: .venv/installed
	$(BIN)/python -m benchmarks

# The newest versions that pyproject.toml allows, from an environment of their own; the comment at the top stays.
lock:
	folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
	$(PYTHON) -m venv "$$folder/venv" && \
	"$$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable '.[dev]' && \
	"$$folder/venv/bin/python" -m pip freeze --exclude-editable > "$$folder/versions" && \
	grep '^#' constraints.txt > "$$folder/constraints" && \
	cat "$$folder/versions" >> "$$folder/constraints" && \
	cp "$$folder/constraints" constraints.txt

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
