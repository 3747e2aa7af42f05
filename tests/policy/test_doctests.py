"""The examples in the documentation of these modules run."""

import doctest
import importlib

import pytest

MODULES = [
    "ppdm_sql.policy.explain",
    "ppdm_sql.policy.retention",
    "ppdm_sql.policy.sizes",
    "ppdm_sql.policy.step",
    "ppdm_sql.policy.types",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0
