"""Boolean formulas over axes: what a query counts, once every predicate is a set of cells.

An axis is one perturbed column, or one exact predicate. Three-valued logic is gone here: an atom lists the cells in
which its predicate is TRUE (or, under a NOT, FALSE), so a formula has only AND and OR.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Atom:
    """The row lies in one of these cells of the axis."""

    axis: int
    cells: frozenset[int]


@dataclass(frozen=True)
class All:
    """AND of the parts; TRUE without parts."""

    parts: tuple[Formula, ...] = ()


@dataclass(frozen=True)
class Some:
    """OR of the parts; FALSE without parts."""

    parts: tuple[Formula, ...] = ()


Formula: TypeAlias = Atom | All | Some
TRUE = All()
FALSE = Some()


def simplify(formula: Formula, cells: Sequence[int]) -> Formula:
    """Flatten, merge the atoms of one axis, and settle what is always true or false.

    `cells` holds the number of cells of each axis.

    >>> simplify(All((Atom(0, frozenset({0, 1})), All((Atom(0, frozenset({1})), TRUE)))), [3])
    Atom(axis=0, cells=frozenset({1}))
    """
    if isinstance(formula, Atom):
        if not formula.cells:
            return FALSE
        return TRUE if len(formula.cells) == cells[formula.axis] else formula
    kind, neutral, absorbing = (All, TRUE, FALSE) if isinstance(formula, All) else (Some, FALSE, TRUE)
    flat: list[Formula] = []
    for part in formula.parts:
        done = simplify(part, cells)
        flat.extend(done.parts if isinstance(done, kind) else [done])
    merged: dict[int, frozenset[int]] = {}
    others: dict[Formula, None] = {}
    for part in flat:
        if isinstance(part, Atom):
            seen = merged.get(part.axis, part.cells)
            merged[part.axis] = seen & part.cells if kind is All else seen | part.cells
        else:
            others[part] = None
    atoms = [simplify(Atom(axis, inside), cells) for axis, inside in merged.items()]
    parts = [p for p in (*atoms, *others) if p != neutral]
    if absorbing in parts:
        return absorbing
    return parts[0] if len(parts) == 1 else kind(tuple(parts))


def axes_of(formula: Formula) -> frozenset[int]:
    """The axes a formula mentions."""
    if isinstance(formula, Atom):
        return frozenset({formula.axis})
    return frozenset().union(*(axes_of(part) for part in formula.parts))


def restrict(formula: Formula, axis: int, cell: int, cells: Sequence[int]) -> Formula:
    """The formula for rows known to lie in `cell` of `axis`."""
    return simplify(_assume(formula, axis, cell), cells)


def _assume(formula: Formula, axis: int, cell: int) -> Formula:
    if isinstance(formula, Atom):
        if formula.axis != axis:
            return formula
        return TRUE if cell in formula.cells else FALSE
    return type(formula)(tuple(_assume(part, axis, cell) for part in formula.parts))


def components(parts: Iterable[Formula], shared: frozenset[int]) -> list[list[Formula]]:
    """Split parts into groups that have no axis of `shared` in common."""
    groups: list[tuple[frozenset[int], list[Formula]]] = []
    for part in parts:
        axes = axes_of(part) & shared
        touching = [g for g in groups if g[0] & axes]
        groups = [g for g in groups if not g[0] & axes]
        groups.append((axes.union(*(g[0] for g in touching)), [f for g in touching for f in g[1]] + [part]))
    return [members for _, members in groups]


def most_shared_axis(parts: Sequence[Formula], shared: frozenset[int]) -> int:
    """The axis of `shared` that most parts mention: the one to split on."""
    mentions = Counter(axis for part in parts for axis in axes_of(part) & shared)
    return min(mentions, key=lambda axis: (-mentions[axis], axis))


def target_tensor(formula: Formula, axes: Sequence[int], cells: Sequence[int]) -> npt.NDArray[np.bool_]:
    """Which states the formula counts, as a tensor over `axes` in their order."""
    shape = tuple(cells[axis] for axis in axes)
    if isinstance(formula, Atom):
        place = list(axes).index(formula.axis)
        inside = np.isin(np.arange(shape[place]), list(formula.cells))
        view = [1] * len(shape)
        view[place] = shape[place]
        return np.broadcast_to(inside.reshape(view), shape)
    combine = np.logical_and if isinstance(formula, All) else np.logical_or
    result = np.full(shape, isinstance(formula, All))
    for part in formula.parts:
        result = combine(result, target_tensor(part, axes, cells))
    return result
