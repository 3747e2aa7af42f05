"""Adopt copies that were released before, without our key: they become levels, and new ones fit in between.

What is drawn between two copies, or above or below all of them, follows from the key and the copies alone, so that
later levels need no record of earlier ones (`ppdm_udfs.bridge`, `ppdm_udfs.noise_bridge`). A copy is not believed what
is said of it: while rows are read it is compared with the original and with the other copies, and where it is not what
was declared nothing is released (`retained_law.py`, `noise_law.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from ppdm_sql.errors import PolicyError, SourceError
from ppdm_sql.mechanisms.gaussian.column import check_noise
from ppdm_sql.mechanisms.gaussian.publish import FromData, NoisedColumns
from ppdm_sql.mechanisms.retained.publish_uniform import UniformColumn
from ppdm_sql.policy import Policy
from ppdm_sql.publishing.adopted_copies import Copy, Read, named, read_copy
from ppdm_sql.publishing.adopted_noise import AdoptingNoise
from ppdm_sql.publishing.adopted_values import AdoptingColumn
from ppdm_sql.publishing.layout import Layout
from ppdm_sql.publishing.names import nearest
from ppdm_sql.publishing.perturber import Perturber
from ppdm_sql.publishing.sources import Source, open_source

Declared: TypeAlias = float | Mapping[str, float]
"""The retention of all columns of a copy, or by column its retention or noise."""

ALLOWED = 1e-6
"""How often a publication may refuse honest copies, whatever its rows and columns."""

_ADOPTABLE = (UniformColumn, NoisedColumns, FromData)
_SAY = "old.parquet=age:0.4,wage:0.25, or in Python {'old.parquet': {'age': 0.4, 'wage': 0.25}}"


def adopted_pairs(adopt: Mapping[Any, Declared] | Iterable[tuple[Any, Declared]]) -> list[tuple[Any, Declared]]:
    """The copies and what is declared of them; PolicyError where that cannot be meant."""
    pairs = list(adopt.items() if isinstance(adopt, Mapping) else adopt)
    result: list[tuple[Any, Declared]] = []
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise PolicyError("adopt takes copies with what is declared of each, such as {'old.parquet': 0.4}.")
        name, declared = pair
        where = f"adopted copy {str(name)!r}"
        if not isinstance(declared, Mapping):
            if not _is_number(declared) or not 0 < declared < 1:
                raise PolicyError(f"{where}: its retention is a number above 0 and below 1.")
            result.append((name, float(declared)))
            continue
        said = {str(column).casefold(): value for column, value in declared.items()}
        if not said or len(said) < len(declared):
            raise PolicyError(f"{where}: name at least one column of it, and each once, such as {_SAY}.")
        for column, value in declared.items():
            if not _is_number(value) or not 0 < value < math.inf:
                raise PolicyError(f"{where}: column {str(column)!r} needs a number, its retention or its noise.")
        result.append((name, {str(column): float(value) for column, value in declared.items()}))
    return result


def adopting(
    perturbers: Sequence[Perturber],
    pairs: Sequence[tuple[Any, Declared]],
    layout: Layout,
    policy: Policy,
    key: bytes,
) -> tuple[list[Perturber], dict[str, tuple[float, ...]]]:
    """The perturbers with the copies taken into account, and for each column the retentions or noise of its copies."""
    copies: dict[int, list[Copy]] = {}
    for source, declared in pairs:
        for number, copy in _read(source, declared, perturbers, layout, policy, key):
            copies.setdefault(number, []).append(copy)
    result: list[Perturber] = []
    levels = {}
    for number, perturber in enumerate(perturbers):
        mine = copies.get(number, [])
        names = [layout.columns[place].name for place in perturber.columns]
        if len({copy.level for copy in mine}) < len(mine):
            what = "retention" if isinstance(perturber, UniformColumn) else "noise"
            raise PolicyError(
                f"column {names[0]!r}: two adopted copies have one {what}: of coupled copies these would be one and "
                "the same."
            )
        if mine and isinstance(perturber, UniformColumn):
            result.append(AdoptingColumn(perturber, mine, ALLOWED / len(copies)))
        elif mine and isinstance(perturber, NoisedColumns | FromData):
            result.append(AdoptingNoise(perturber, mine, ALLOWED / len(copies)))
        else:
            result.append(perturber)
            continue
        levels.update(dict.fromkeys(names, tuple(sorted((copy.level for copy in mine), reverse=True))))
    return result, levels


def _read(
    source: Any, declared: Declared, perturbers: Sequence[Perturber], layout: Layout, policy: Policy, key: bytes
) -> list[tuple[int, Copy]]:
    """The copies that a file has, each with the number of the perturber whose columns it is of."""
    with open_source(source, policy) as opened:
        where = named(source, opened)
        owners = {place: number for number, perturber in enumerate(perturbers) for place in perturber.columns}
        levels = _levels(where, opened, declared, perturbers, layout, owners)
        groups: dict[int, dict[int, float]] = {}
        for place, level in levels.items():
            groups.setdefault(owners[place], {})[place] = level
        how: dict[int, Read] = {}
        for number, mine in groups.items():
            perturber = perturbers[number]
            if isinstance(perturber, UniformColumn):
                how[perturber.columns[0]] = perturber
            elif isinstance(perturber, NoisedColumns | FromData):
                _check_together(where, perturber, mine)
                how.update(zip(perturber.columns, perturber.noisy, strict=True))
        rows, found = read_copy(where, opened, list(levels), how, layout, policy, key)
    return [
        (number, Copy(where, next(iter(mine.values())), rows, tuple(found[i] for i in perturbers[number].columns)))
        for number, mine in groups.items()
    ]


def _levels(
    where: str,
    opened: Source,
    declared: Declared,
    perturbers: Sequence[Perturber],
    layout: Layout,
    owners: Mapping[int, int],
) -> dict[int, float]:
    """By place, the retention or noise of each column of a copy that is adopted."""
    there = {name.casefold() for name in opened.names}
    perturbed = {
        column.name.casefold(): place for place, column in enumerate(layout.columns) if column.perturbed is not None
    }
    if not isinstance(declared, Mapping):
        result = {place: declared for name, place in perturbed.items() if name in there}
        if not result:
            raise SourceError(f"{where} has none of the columns that this policy perturbs.")
    else:
        result = {}
        for name, level in declared.items():
            if name.casefold() not in perturbed:
                names = [layout.columns[place].name for place in perturbed.values()]
                raise PolicyError(f"{where}: {name!r} is no column that this policy perturbs. {nearest(name, names)}")
            if name.casefold() not in there:
                raise SourceError(f"{where} has no column {name!r}. {nearest(name, opened.names)}")
            result[perturbed[name.casefold()]] = level
    for place, level in result.items():
        column, perturber = layout.columns[place], perturbers[owners[place]]
        assert column.perturbed is not None
        if not isinstance(perturber, _ADOPTABLE):
            raise PolicyError(
                f"{where}: column {column.name!r} is perturbed by {column.perturbed.mechanism!r}, a copy of which "
                f"cannot be adopted. Name the columns that are to be adopted, such as {_SAY}; a copy of this one is "
                "independent of what is released now, and what they tell adds up."
            )
        noise = not isinstance(perturber, UniformColumn)
        if noise and not isinstance(declared, Mapping):
            raise PolicyError(
                f"{where}: column {column.name!r} has Gaussian noise, and one number for a copy is the retention of "
                f"its columns. Say of each column what it is, such as {_SAY}, 0.25 being the noise of wage."
            )
        if noise:
            check_noise(f"{where}, column {column.name!r}", level)
        elif level >= 1:
            raise PolicyError(f"{where}: the retention of column {column.name!r} is a number above 0 and below 1.")
    return result


def _check_together(where: str, perturber: NoisedColumns | FromData, mine: Mapping[int, float]) -> None:
    """Columns whose noise goes together are adopted together: what one shows of a path, the others' noise has too."""
    names = [repr(column.name) for column in perturber.noisy]
    if len(mine) < len(names):
        missing = [name for place, name in zip(perturber.columns, names, strict=True) if place not in mine]
        raise PolicyError(
            f"{where}: the noise of {' and '.join(names)} goes together, so that they are adopted together, from one "
            f"copy: say the noise of {' and '.join(missing)} too."
        )
    if len(set(mine.values())) > 1:
        said = ", ".join(f"{name} {mine[place]:g}" for place, name in zip(perturber.columns, names, strict=True))
        raise PolicyError(
            f"{where}: the noise of {' and '.join(names)} goes together, and a copy of them is adopted at one noise "
            f"for all, not at several ({said})."
        )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
