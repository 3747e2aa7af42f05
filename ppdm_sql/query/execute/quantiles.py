"""Quantiles, from the reconstructed distribution of the values they lie among.

Every value is counted by itself where there are few. Of a large grid, bins are counted first, and those that a quantile
or an end of its interval lies in are cut finer, until they are single values; what is left after some rounds is a bin,
and the interval then reaches to its ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from ppdm_sql.engine.base import Engine
from ppdm_sql.errors import Unsupported
from ppdm_sql.mechanisms.base import PerturbedColumn
from ppdm_sql.query.execute.domain_groups import numbered_cells
from ppdm_sql.query.execute.group_tensors import Scanned
from ppdm_sql.query.execute.quantile_bins import Binned, Bins
from ppdm_sql.query.plan.plan import Plan, make_plan
from ppdm_sql.query.sql.domain_groups import group_scan, possible_cells
from ppdm_sql.query.sql.groups import groups_select
from ppdm_sql.query.understand.passes import AGGREGATE, run
from ppdm_sql.query.understand.quantiles import Asked, counting, quantile_name
from ppdm_sql.query.understand.query import Query
from ppdm_sql.query.understand.scan import covariance_name, estimate_name, key_name
from ppdm_sql.reconstruct import invert, invert_adjoint
from ppdm_sql.reconstruct.inversion import Array
from ppdm_sql.reconstruct.quantile import Found, Variance, quantile
from ppdm_sql.syntax.dialects import ANALYST

FEW = 4_096
"""Domains up to here are counted value by value."""

MAX_ROUNDS = 5

LARGE = 2.0**53
"""From here on floats do not tell whole numbers apart."""

MAX_ENTRIES = 2**26
"""Groups times values that fit memory."""

Groups = dict[tuple[object, ...], int]


@dataclass(frozen=True)
class _Distribution:
    """Estimated counts of sorted values in each group: (groups, values); a bin reaches from `bottoms` to `tops`.

    `large` has the values themselves, where they are whole numbers too large for a float.
    """

    groups: Groups
    bottoms: Array
    tops: Array
    type: pa.DataType
    counts: Array
    variance: Variance
    large: npt.NDArray[np.object_] | None = None


class Quantiles:
    """By inversion, and further scans of what the quantiles lie among."""

    def applies(self, plan: Plan) -> bool:
        """Where a query asks for any."""
        return bool(plan.query.quantiles)

    def statements(self, plan: Plan) -> list[exp.Expr]:
        """What gives the groups and their totals; how often a distribution is looked at depends on what is found."""
        _check_own(plan)
        return [groups_select(plan)]

    def run(self, engine: Engine, plan: Plan) -> pa.Table:
        """The groups with their quantiles, and the ends and errors of these, as further columns."""
        _check_own(plan)
        return _with_quantiles(engine, plan, engine.table(groups_select(plan)))


def _with_quantiles(engine: Engine, plan: Plan, groups: pa.Table) -> pa.Table:
    query = plan.query
    deviations = NormalDist().inv_cdf(0.5 + query.settings.confidence / 2)
    keys = [groups.column(key_name(i)).to_pylist() for i in query.present_keys]
    rows = list(zip(*keys, strict=True)) if keys else [()] * groups.num_rows
    together: dict[tuple[str, str], list[int]] = {}
    for i, asked in enumerate(query.quantiles):
        condition = "" if asked.condition is None else asked.condition.sql(dialect=ANALYST)
        together.setdefault((asked.argument.sql(dialect=ANALYST), condition), []).append(i)
    for indices in together.values():
        several = [query.quantiles[i] for i in indices]
        distribution, found = _distribution(engine, query, several, deviations)
        places = np.array([distribution.groups.get(row, -1) for row in rows], dtype=np.int64)
        for i, one, its in zip(indices, several, found, strict=True):
            for name, values in _columns(distribution, one, its, places, deviations).items():
                groups = groups.append_column(quantile_name(i, name), values)
    return groups


def _distribution(
    engine: Engine, query: Query, asked: Sequence[Asked], deviations: float
) -> tuple[_Distribution, list[Found]]:
    """The distribution of one argument, fine enough for all that is asked of it, and where that lies."""
    argument = asked[0].argument.unnest()
    perturbed = query.perturbed_in(argument)
    column = perturbed[0] if perturbed else None

    def find(distribution: _Distribution) -> list[Found]:
        return [
            quantile(distribution.counts, distribution.variance, q.fraction, q.interpolated, q.from_top, deviations)
            for q in asked
        ]

    if column is None:
        plan = _check_own(make_plan(run(AGGREGATE, counting(query, asked[0], argument)), engine))
        distribution = _of_exact(plan, engine.table(groups_select(plan)))
        return distribution, find(distribution)
    grid = column.declared_grid
    if grid is None or grid.size <= FEW or not isinstance(argument, exp.Column):
        plan = _check_own(make_plan(run(AGGREGATE, counting(query, asked[0], argument)), engine))
        distribution = _of_perturbed(engine, plan, None)
        return distribution, find(distribution)
    bins = Bins.first(column)
    for _ in range(MAX_ROUNDS):
        binned = Binned(engine, bins)
        plan = _check_own(make_plan(run(AGGREGATE, counting(query, asked[0], bins.label())), binned))
        distribution = _of_perturbed(engine, plan, bins)
        found = find(distribution)
        finer = bins.finer(np.unique(np.concatenate([its.used for its in found])), len(distribution.counts))
        if finer is None:
            break
        bins = finer
    return distribution, found


def _of_exact(plan: Plan, found: pa.Table) -> _Distribution:
    """The distribution of an exact column's values, whose rows are weighed by the conditions on perturbed ones."""
    last = len(plan.query.keys) - 1
    values = found.column(key_name(last)).combine_chunks()
    numbers, large = _numbers(plan, values)
    known = np.isfinite(numbers)
    _check_finite(plan, values, numbers, True)
    distinct, place, large = _distinct(numbers[known], None if large is None else large[known])
    groups: Groups = {}
    keys = zip(*(found.column(key_name(i)).to_pylist() for i in range(last)), strict=True)
    rows = list(keys) if last else [()] * found.num_rows
    group = np.array([groups.setdefault(row, len(groups)) for row in rows], dtype=np.int64)[known]
    _check_size(len(groups), len(distinct))
    (total,) = plan.query.answered
    shape = (max(len(groups), 1), max(len(distinct), 1))
    counts, variances = np.zeros(shape), np.zeros(shape)
    np.add.at(counts, (group, place), np.asarray(found.column(estimate_name(total)).to_numpy())[known])
    name = covariance_name(total, total)
    if name in found.column_names:
        np.add.at(variances, (group, place), np.asarray(found.column(name).to_numpy())[known])
    ends = distinct if len(distinct) else np.zeros(1)
    found_variance: Variance = lambda phi: (variances * phi**2).sum(axis=1)  # noqa: E731 - one line, of one use
    return _Distribution(groups, ends, ends, values.type, counts, found_variance, large)


def _of_perturbed(engine: Engine, plan: Plan, bins: Bins | None) -> _Distribution:
    """The distribution of a perturbed column's values, or of an expression of it, by inversion."""
    (axis,) = plan.key_axes
    planned = plan.axes[axis]
    scan = group_scan(plan)
    scanned = Scanned(engine.table(scan.statement, numbered_cells(plan)), (len(planned.cells),))
    keys = [scanned.table.column(key_name(i)).to_pylist() for i in plan.query.exact_keys]
    groups: Groups = {}
    for row, number in zip(zip(*keys, strict=True) if keys else [()] * len(scanned.group), scanned.group, strict=True):
        groups[row] = int(number)
    label = next(iter(plan.query.labels.values()))
    labels = planned.label_values[label.index]
    values = labels.combine_chunks() if isinstance(labels, pa.ChunkedArray) else labels
    numbers, large = _numbers(plan, values)
    _check_finite(plan, values, numbers, possible_cells(plan))
    distinct, place, large = _distinct(numbers, large)  # NULL is NaN, which is the last
    size = int(np.isfinite(distinct).sum())
    count = max(len(groups), 1)
    _check_size(count, len(planned.cells))
    (total,) = plan.query.answered
    branches = scan.branches[total]

    def tensor(name: str) -> Array:
        found = scanned.tensor(name)
        return found if len(found) else np.zeros((1, len(planned.cells)))

    inverted = np.zeros((count, len(planned.cells)))
    for one in branches:
        inverted += invert(tensor(one.column), [planned.channel]) * one.cells * one.scale
    counts = np.zeros((count, len(distinct)))
    np.add.at(counts.T, place, inverted.T)

    def variance(phi: Array) -> Array:
        wide: Array = np.concatenate([phi, np.zeros((len(phi), len(distinct) - size))], axis=1)[:, place]
        effects = [invert_adjoint(wide * one.cells, [planned.channel]) * one.scale for one in branches]
        result: Array = -(inverted * wide**2).sum(axis=1)
        for a, one in zip(effects, branches, strict=True):
            for b, other in zip(effects, branches, strict=True):
                pair = min((one.column, other.column), (other.column, one.column))
                result += (tensor(scan.products[pair]) * a * b).sum(axis=1)
        return result

    if not any(plan.axes[i].perturbed for i in (axis, *plan.totals[total].axes)):
        variance = _certain
    bottoms = tops = distinct[:size]
    kind = values.type
    if bins is not None:
        starts = bins.starts
        ends = np.append(starts[1:], bins.size) - 1
        bottoms, tops = (_grid_numbers(bins.column, places) for places in (starts, ends))
        kind = _grid_type(bins.column)
    if not size:  # every value is NULL, and nobody has a quantile
        return _Distribution(groups, np.zeros(1), np.zeros(1), kind, np.zeros((count, 1)), _certain)
    return _Distribution(groups, bottoms, tops, kind, counts[:, :size], variance, large)


def _check_own(plan: Plan) -> Plan:
    """Refuse columns that are replaced by their own values: their draws are not independent."""
    if plan.own_axes:
        column = plan.axes[plan.own_axes[0]].columns[0]
        raise Unsupported(
            f"Unsupported: a quantile beside {column.name}, which is replaced by its own values. Ask for counts and "
            "sums of it instead."
        )
    return plan


def _certain(phi: Array) -> Array:
    return np.zeros(len(phi))


def _check_size(groups: int, values: int) -> None:
    if groups * values > MAX_ENTRIES:
        raise Unsupported(
            f"Unsupported: a quantile in {groups:,} groups over {values:,} values. Group by fewer columns, or round "
            "the argument."
        )


def _distinct(
    numbers: Array, large: npt.NDArray[np.object_] | None
) -> tuple[Array, npt.NDArray[np.int64], npt.NDArray[np.object_] | None]:
    """The distinct numbers in their order, the place of each, and the whole numbers that they stand for."""
    if large is None:
        distinct, place = np.unique(numbers, return_inverse=True)
        return distinct, place, None
    known = np.isfinite(numbers)
    whole, among = np.unique(large[known], return_inverse=True)
    place = np.full(len(numbers), len(whole), dtype=np.int64)
    place[known] = among
    distinct = np.append(whole.astype(float), [] if known.all() else [np.nan])
    return distinct, place, whole


def _numbers(plan: Plan, values: pa.Array) -> tuple[Array, npt.NDArray[np.object_] | None]:
    """Values as numbers in their order: days, microseconds, or themselves; NULL as NaN.

    Whole numbers that floats cannot tell apart are given as such, too.
    """
    kind = values.type
    if pa.types.is_date(kind):
        values = values.cast(pa.date32()).cast(pa.int32())
    elif pa.types.is_timestamp(kind):
        values = values.cast(pa.timestamp("us", kind.tz)).cast(pa.int64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        text = plan.query.keys[-1].sql(dialect=ANALYST)
        raise Unsupported(
            f"Unsupported: a quantile of {text}: only those of numbers, dates and timestamps are reconstructed. Count "
            "its values instead (GROUP BY)."
        )
    numbers: Array = np.asarray(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=float)
    whole = pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale == 0)
    if not whole or np.nanmax(np.abs(numbers), initial=0.0) < LARGE:
        return numbers, None
    return numbers, np.array([None if value is None else int(value) for value in values.to_pylist()], dtype=object)


def _check_finite(plan: Plan, values: pa.Array, numbers: Array, meant: npt.NDArray[np.bool_] | bool) -> None:
    """Refuse quantiles among infinities and what is no number, where rows can have them: NULL alone is left out."""
    missing = values.is_null().to_numpy(zero_copy_only=False)
    if np.any(meant & ~missing & ~np.isfinite(numbers)):
        text = plan.query.keys[-1].sql(dialect=ANALYST)
        raise Unsupported(
            f"Unsupported: a quantile of {text}, which is infinite or no number somewhere. Leave such values out, by a "
            "condition or as NULL."
        )


def _grid_numbers(column: PerturbedColumn, places: npt.NDArray[np.int64]) -> Array:
    grid = column.declared_grid
    assert grid is not None
    if max(abs(grid.low), abs(grid.low + grid.size * grid.step)) > LARGE:
        raise Unsupported(
            f"Unsupported: a quantile of {column.name}, whose {grid.size:,} values lie beyond 2^53. Ask for one of "
            f"{column.name} less a constant."
        )
    units = (grid.low + places.astype(object) * grid.step).astype(float)
    if column.type.name.upper() == "FLOAT":
        return (units / 10.0**grid.scale).astype(np.float32).astype(float)
    return np.asarray(units / 10.0**grid.scale)


def _grid_type(column: PerturbedColumn) -> pa.DataType:
    if column.type.family == "decimal":
        return pa.decimal128(column.type.width, column.type.scale)
    families: Mapping[str, pa.DataType] = {
        "integer": pa.int64(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", "UTC" if column.type.name.upper().endswith("ZONE") else None),
    }
    return families.get(column.type.family, pa.float64())


def _columns(
    distribution: _Distribution, asked: Asked, found: Found, places: npt.NDArray[np.int64], deviations: float
) -> dict[str, pa.Array]:
    """A quantile, the ends of its interval, and half its width over the deviations, in the order of the groups."""
    if not len(distribution.bottoms):
        return {name: pa.nulls(len(places), pa.float64()) for name in ("", "_low", "_high", "_error")}
    bottoms, tops = distribution.bottoms, distribution.tops
    middles = (bottoms + tops) / 2
    below, above = middles[found.below], middles[found.above]
    low, high = bottoms[found.low], tops[found.high]
    value = below + found.part * (above - below)
    missing = (places < 0) | ~found.known[places]
    exactly = not asked.interpolated

    def column(numbers: Array, places_among: npt.NDArray[np.int64]) -> pa.Array:
        if distribution.large is not None and exactly:
            kind = distribution.type if pa.types.is_integer(distribution.type) else pa.decimal128(38, 0)
            return pa.array(distribution.large[places_among[places]], kind, mask=missing)
        return _typed(np.where(missing, np.nan, numbers[places]), distribution.type, exactly)

    scale = 1.0
    if pa.types.is_timestamp(distribution.type):
        scale = 86_400e6  # an error is told in days, as that of a date
    error = np.where(missing, np.nan, ((high - low) / (2 * deviations * scale))[places])
    return {
        "": column(value, found.below),
        "_low": column(low, found.low),
        "_high": column(high, found.high),
        "_error": pa.array(error, from_pandas=True),
    }


def _typed(numbers: Array, kind: pa.DataType, exactly: bool) -> pa.Array:
    """Numbers back as values: of their own type where one value is meant, else of the type that lies between."""
    mask = np.isnan(numbers)
    whole = np.where(mask, 0, np.floor(numbers + 0.5)).astype(np.int64)
    if pa.types.is_date(kind):
        if exactly:
            return pa.array(whole.astype(np.int32), pa.int32(), mask=mask).cast(pa.date32())
        micros = np.where(mask, 0, np.rint(numbers * 86_400e6)).astype(np.int64)
        return pa.array(micros, pa.timestamp("us"), mask=mask)
    if pa.types.is_timestamp(kind):
        return pa.array(whole, pa.timestamp("us", kind.tz), mask=mask)
    if pa.types.is_integer(kind) and exactly:
        return pa.array(whole, pa.int64(), mask=mask)
    if pa.types.is_decimal(kind):  # DuckDB leaves out the digits that the type has not
        numbers = np.trunc(np.round(numbers * 10.0**kind.scale, 6)) / 10.0**kind.scale
    return pa.array(numbers, pa.float64(), mask=mask)
