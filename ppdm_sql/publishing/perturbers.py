"""What perturbs the columns of a release, by their mechanisms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from ppdm_sql.mechanisms.base import PerturbedColumn
from ppdm_sql.mechanisms.registry import MECHANISMS, capability
from ppdm_sql.publishing.column import Column
from ppdm_sql.publishing.perturber import Perturber, Publishing


def publishing_of(mechanism: str) -> Publishing:
    """How a mechanism publishes."""
    found: Publishing = capability(mechanism, "publish")
    return found


def perturbers_of(columns: Sequence[Column], kinds: Sequence[pa.DataType]) -> list[Perturber]:
    """What perturbs the columns of a release; PolicyError where one does not fit its type, before any row is read."""
    found: list[Perturber] = []
    for publishing, mine in _by_mechanism([column.perturbed for column in columns]):
        found += publishing.perturbers(columns, kinds, mine)
    return found


def added_columns(columns: Sequence[PerturbedColumn]) -> list[Column]:
    """The public columns that mechanisms add to a release."""
    return [
        column
        for publishing, mine in _by_mechanism(columns)
        for column in publishing.added([columns[place] for place in mine])
    ]


def _by_mechanism(columns: Sequence[PerturbedColumn | None]) -> Iterator[tuple[Publishing, list[int]]]:
    """How each mechanism publishes that is there, and the places of its columns."""
    for name in MECHANISMS:
        mine = [place for place, column in enumerate(columns) if column is not None and column.mechanism == name]
        if mine:
            yield publishing_of(name), mine
