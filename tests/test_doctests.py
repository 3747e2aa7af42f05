"""The examples in the documentation of every module run."""

from __future__ import annotations

import doctest
import importlib.util
import pkgutil
from pathlib import Path

import ppdm_udfs
import pytest

import ppdm_sql


def modules_with_examples() -> list[str]:
    """Every module of ours whose source has an example."""
    found = []
    for package in (ppdm_sql, ppdm_udfs):
        for module in (package, *pkgutil.walk_packages(package.__path__, f"{package.__name__}.")):
            name = getattr(module, "name", None) or package.__name__
            spec = importlib.util.find_spec(name)
            if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
                continue
            if ">>> " in Path(spec.origin).read_text(encoding="utf-8"):
                found.append(name)
    return found


MODULES = modules_with_examples()


def test_modules_of_many_packages_have_examples():
    assert len(MODULES) >= 45
    assert len({name.rpartition(".")[0] for name in MODULES}) >= 10


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0
