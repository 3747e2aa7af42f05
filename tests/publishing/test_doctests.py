"""The examples in the documentation of these modules run."""

import doctest

from ppdm_sql.publishing import names


def test_examples():
    result = doctest.testmod(names)
    assert result.attempted > 0
    assert result.failed == 0
