"""The examples in the documentation of these modules run."""

import doctest
import importlib
import pkgutil

import pytest

import ppdm_sql.privacy

MODULES = [module.name for module in pkgutil.iter_modules(ppdm_sql.privacy.__path__, "ppdm_sql.privacy.")]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0
