"""The passes, in their order."""

from __future__ import annotations

from collections.abc import Callable

from ppdm_sql.query.understand.aggregates import collect_aggregates
from ppdm_sql.query.understand.estimates import refuse_estimates_inside
from ppdm_sql.query.understand.names import resolve_names
from ppdm_sql.query.understand.query import Query
from ppdm_sql.query.understand.shape import check_structure, split_where

Pass = Callable[[Query], Query]

UNDERSTAND: tuple[Pass, ...] = (check_structure, resolve_names, split_where)
"""For every SELECT on a release."""

AGGREGATE: tuple[Pass, ...] = (refuse_estimates_inside, collect_aggregates)
"""Then, where it aggregates."""


def run(passes: tuple[Pass, ...], query: Query) -> Query:
    """Apply the passes one after the other."""
    for one in passes:
        query = one(query)
    return query
