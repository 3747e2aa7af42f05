"""A column of a release, as publishing knows it."""

from __future__ import annotations

from dataclasses import dataclass

from ppdm_sql.policy import PerturbedColumn


@dataclass(frozen=True)
class Column:
    """A column of the release; `perturbed` is None where its values are exact, `expression` reads it from the source.

    A column that a mechanism adds is a constant in the source, and is filled while perturbing.
    """

    name: str
    type: str
    expression: str
    perturbed: PerturbedColumn | None = None
    uuid: bool = False
