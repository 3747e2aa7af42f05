"""The map of the code: what stands where, and what may be named where."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

import ppdm_sql
from ppdm_sql.mechanisms.registry import FOLDERS, MECHANISMS

CODE = Path(ppdm_sql.__file__).parent
FILES = sorted(CODE.rglob("*.py"))
PROJECT = CODE.parent / "pyproject.toml"


def test_the_root_holds_the_package_and_its_errors_alone():
    assert {path.name for path in CODE.glob("*.py")} == {"__init__.py", "errors.py"}


def test_every_package_says_what_it_is_for():
    for folder in {path.parent for path in FILES}:
        assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))), folder


def dialects_in(tree: ast.AST) -> list[int]:
    """The lines of literals that are given as a dialect."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword) and node.arg == "dialect" and isinstance(node.value, ast.Constant)
    ]


@pytest.mark.parametrize("text", ["f(dialect='duckdb')", "node.sql(dialect='spark')"])
def test_a_literal_dialect_would_be_seen(text):
    assert dialects_in(ast.parse(text))


def test_no_dialect_is_named_by_a_literal():
    found = {str(path.relative_to(CODE)): dialects_in(ast.parse(path.read_text(encoding="utf-8"))) for path in FILES}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_every_mechanism_has_a_folder_that_declares_and_publishes():
    for name, folder in FOLDERS.items():
        for module in ("column", "declare", "publish"):
            assert (CODE / "mechanisms" / folder / f"{module}.py").is_file(), (name, module)
        assert MECHANISMS[name].name == name


def test_what_is_looked_up_by_name_is_imported_by_nobody_outside_of_its_folder():
    """Only the registry leads to how a mechanism publishes, what a page says of it and what rows of it cannot be."""
    looked_up = {"publish", "questions", "report", "stored_rows"}
    wrong = []
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("ppdm_sql.mechanisms."):
                continue
            parts = (node.module or "").split(".")
            allowed = path.is_relative_to(CODE / "mechanisms") or (parts[3:4] == ["publish"] and "adopt" in path.stem)
            if len(parts) == 4 and parts[3] in looked_up and not allowed:
                wrong.append((str(path.relative_to(CODE)), node.module))
    assert wrong == []


@pytest.mark.skipif(not PROJECT.is_file(), reason="needs pyproject.toml beside the package")
def test_every_package_is_in_the_layers():
    contracts = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    [whole] = [one for one in contracts if one.get("containers") == ["ppdm_sql"]]
    named = {name.strip() for layer in whole["layers"] for name in layer.split("|")}
    assert whole["exhaustive"] and named == {p.name for p in CODE.iterdir() if (p / "__init__.py").is_file()} | {
        "errors"
    }


PAGES = [CODE.parent / name for name in ("docs", "README.md", "CONTRIBUTING.md", "SECURITY.md")]
NAMED = re.compile(r"`(?:[\w./]*/)?(\w+\.py)`")


@pytest.mark.skipif(not PROJECT.is_file(), reason="needs the pages beside the package")
def test_modules_that_pages_name_are_there():
    pages = [page for path in PAGES for page in (sorted(path.glob("*.md")) if path.is_dir() else [path])]
    there = {
        path.name
        for folder in ("ppdm_sql", "udfs", "tests", "examples", "benchmarks")
        for path in (CODE.parent / folder).rglob("*.py")
    }
    named = {(page.name, name) for page in pages for name in NAMED.findall(page.read_text(encoding="utf-8"))}
    assert len(named) > 50
    assert sorted((page, name) for page, name in named if name not in there) == []
