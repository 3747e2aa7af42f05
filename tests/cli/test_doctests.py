from __future__ import annotations

import doctest

import pytest

from ppdm_sql.cli import output, shell


@pytest.mark.parametrize("module", [output, shell], ids=lambda module: module.__name__)
def test_the_examples_in_docstrings_are_true(module):
    found = doctest.testmod(module)
    assert (found.attempted > 0, found.failed) == (True, 0)
