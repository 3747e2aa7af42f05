"""The errors of the kernels.

::

    KernelError (ValueError)    parameters or types that cannot be meant
    └── RowError                some rows cannot be perturbed: where the first one is, and how many
        ├── NullFound           NULL (in an identity also NaN) where none may be
        └── OutsideDomain       values that are not in the declared domain

A row error never carries a value: error texts end up in logs, and the values are what is to be protected.
"""

from __future__ import annotations


class KernelError(ValueError):
    """A parameter, a type or a row that the kernels refuse."""


class RowError(KernelError):
    """Rows that the kernels refuse, named by position only."""

    reason = "cannot be perturbed"

    def __init__(self, offset: int, count: int) -> None:
        super().__init__(offset, count)
        self.offset = offset
        self.count = count

    def __str__(self) -> str:
        rows = "row" if self.count == 1 else "rows"
        return f"{self.count} {rows} {self.reason}, the first at offset {self.offset}"


class NullFound(RowError):
    """NULL where none may be; an identity may not be NaN either, for NaN equals nothing."""

    reason = "with NULL where none is allowed"


class OutsideDomain(RowError):
    """Values that the declared domain does not hold."""

    reason = "with a value outside the domain"
