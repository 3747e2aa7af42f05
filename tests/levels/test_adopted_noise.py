"""Copies with Gaussian noise that came from elsewhere: levels around them are one path, and wrong ones are refused."""

from __future__ import annotations

import itertools
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from ppdm_udfs import Gaussian, KernelError, NoiseGap, Step, factor, joint_noise, noise_between, position_blocks
from scipy.special import ndtr

from ppdm_sql.domain.types import parse_type
from ppdm_sql.errors import PolicyError, SourceError
from ppdm_sql.mechanisms.gaussian.column import NoisyColumn, mixing
from ppdm_sql.mechanisms.gaussian.publish import NoisedColumns
from ppdm_sql.publishing.adopted_copies import Copy
from ppdm_sql.publishing.adopted_noise import AdoptingNoise
from ppdm_sql.publishing.adopting import ALLOWED
from ppdm_sql.publishing.chances import of_squares
from ppdm_sql.publishing.perturber import Rows

KEY = bytes(range(32))
K = np.array([[100.0, 48.0], [48.0, 64.0]])
L = factor(K)


def kernels(magnitude, steps=(1, 1)):
    """Two columns whose noise goes together."""
    return [Gaussian(magnitude, ("a", "b")[: i + 1], tuple(L[i, : i + 1]), Step(step)) for i, step in enumerate(steps)]


def arrays(values):
    return [pa.array(column) for column in values]


def level(time, given, *, rows, wanted=(0, 1), at=None):
    """The noisy numbers of both columns at a time, between the copies that are given by time, the original at 0."""
    times = sorted(given)
    lower = max(known for known in times if known < time)
    upper = min((known for known in times if known > time), default=None)
    gap = NoiseGap(lower or None, upper)
    above = None if upper is None else arrays(given[upper])
    found = noise_between(
        arrays(given[lower]), above, gap, kernels(time), wanted, key=KEY, table="t", rows=rows if at is None else at
    )
    return np.stack(found)


def elsewhere(rng, original, times, triangle=L):
    """Copies by time on one path that somebody else drew, not rounded."""
    given, noise = {0.0: original}, np.zeros_like(original)
    for before, time in itertools.pairwise([0.0, *times]):
        noise = noise + np.sqrt(time - before) * triangle @ rng.normal(size=original.shape)
        given[time] = original + noise
    return given


def test_levels_around_two_copies_have_the_corner_wave_covariance():
    """Copies at .5 and 2 from elsewhere; ours below, between and beyond: min(s, t) K, and nothing of the original."""
    rng, count = np.random.default_rng(1), 60_000
    original = L @ rng.normal(size=(2, count))
    given = elsewhere(rng, original, (0.5, 2.0))
    rows = position_blocks(0, count)
    ours = {time: level(time, given, rows=rows) for time in (2.5, 0.125, 1.0, 0.3, 1.7, 7.0)}
    times = sorted([*ours, 0.5, 2.0])
    noise = np.concatenate([(ours.get(time, given.get(time)) - original) for time in times])
    expected = np.kron(np.minimum.outer(times, times), K)
    variances = np.diag(expected)
    deviation = np.sqrt((np.outer(variances, variances) + expected**2) / count)
    assert (np.abs(noise @ noise.T / count - expected) / deviation).max() < 4.5
    for lower, time, upper in ((0.0, 0.3, 0.5), (0.5, 1.0, 2.0), (0.5, 1.7, 2.0)):
        share = (time - lower) / (upper - lower)
        bridge = ours[time] - (1 - share) * given[lower] - share * given[upper]
        variance = (time - lower) * (upper - time) / (upper - lower)
        assert (np.abs(bridge.var(axis=1) / (variance * np.diag(K)) - 1) < 4.5 * np.sqrt(2 / count)).all()
        ends = np.concatenate([given[lower], given[upper]])
        assert np.abs(np.corrcoef(bridge, ends)[:2, 2:]).max() < 4.5 / np.sqrt(count)
    beside = np.abs(noise @ original.T / count) / np.sqrt(np.outer(variances, np.diag(K)) / count)
    assert beside.max() < 4.5
    assert (np.abs(noise.mean(axis=1)) / np.sqrt(variances / count)).max() < 4.5


def test_any_order_and_any_part_give_the_same_values():
    rng, count = np.random.default_rng(2), 500
    original = rng.normal(size=(2, count))
    given = elsewhere(rng, original, (0.5, 2.0))
    rows = position_blocks(0, count)
    times = (0.1, 0.7, 1.9, 3.0)
    first = {time: level(time, given, rows=rows) for time in times}
    for time in reversed(times):
        assert (level(time, given, rows=rows) == first[time]).all()
        assert (level(time, given, rows=rows, wanted=(1,))[0] == first[time][1]).all()
    some = rng.permutation(count)[:100]
    part = {time: values[:, some] for time, values in given.items()}
    assert (level(0.7, part, rows=rows[some]) == first[0.7][:, some]).all()
    mixed = [kernels(0.7)[0], kernels(1.9)[1]]
    found = noise_between(
        arrays(given[0.5]), arrays(given[2.0]), NoiseGap(0.5, 2.0), mixed, [0, 1], key=KEY, table="t", rows=rows
    )
    assert (found[0] == first[0.7][0]).all() and (found[1] == first[1.9][1]).all()


def test_a_change_of_an_end_meets_fresh_coins():
    """Of rows whose numbers change, what is drawn between tells the difference of neither end."""
    rng, count = np.random.default_rng(3), 4_000
    original = rng.normal(size=(2, count))
    given = elsewhere(rng, original, (0.5,))
    rows = position_blocks(0, count)
    before = level(0.25, given, rows=rows)
    edited = dict(given) | {0.0: original + np.array([[1.0], [0.0]])}  # of one column, and both are drawn anew
    change = level(0.25, edited, rows=rows) - before - np.array([[0.5], [0.0]])
    expected = 2 * 0.125 * np.diag(K)
    assert (np.abs(change.var(axis=1) / expected - 1) < 6 * np.sqrt(2 / count)).all()
    other = dict(given) | {0.5: given[0.5] + np.array([[0.0], [1.0]])}
    assert (level(0.25, other, rows=rows) != before).mean() == 1
    same = dict(given) | {0.5: given[0.5]}
    assert (level(0.25, same, rows=rows) == before).all()
    beyond, wider = level(3.0, given, rows=rows), level(3.0, given | {5.0: given[0.5]}, rows=rows)
    assert abs(np.corrcoef(beyond[0] - given[0.5][0], wider[0] - given[0.5][0])[0, 1]) < 6 / np.sqrt(count)


def test_a_level_outside_of_its_gap_is_refused():
    with pytest.raises(KernelError, match="does not lie between"):
        NoiseGap(0.5, 2.0).weights(2.0)
    with pytest.raises(KernelError, match="does not lie between"):
        NoiseGap(0.5, None).weights(0.25)


def adopt(original, copies, *, noise=0.5, steps=("1", "1"), covariance=K, nulls="error", batch=4_000, ids=None):
    """Publish two columns, or one, beside copies by noise, and let them be checked."""
    names, kind = ("a", "b")[: len(original)], parse_type("DOUBLE")
    noisy = [NoisyColumn(name, kind, noise, Decimal(step), nulls) for name, step in zip(names, steps, strict=False)]
    places = range(len(names))
    plain = NoisedColumns(places, mixing(noisy, [[covariance[i][j] for j in places] for i in places]))
    blocks = position_blocks(0, original.shape[1])
    held = [
        Copy(f"adopted copy '{i}'", at, blocks if ids is None else ids, tuple(v)) for i, (at, v) in enumerate(copies)
    ]
    adopting = AdoptingNoise(plain, held, ALLOWED)
    found = [np.empty((len(names), 0))]
    for start in range(0, original.shape[1], batch):
        part = [pa.array(column[start : start + batch], from_pandas=True) for column in original]
        rows = Rows.of("the source", "t", KEY, blocks[start : start + batch], start)
        found.append(np.stack([array.to_numpy(zero_copy_only=False) for array in adopting.perturb(part, rows)]))
    adopting.check("the source")
    return np.concatenate(found, axis=1)


def rounded(given, step=1.0):
    return [(time, np.rint(values / step) * step) for time, values in given.items() if time]


def people(rng, count):
    return np.rint(np.array([[40.0], [20.0]]) + L @ rng.normal(size=(2, count)))


@pytest.mark.parametrize("coarse", [1.0, 0.05], ids=lambda coarse: f"step {coarse} of the noise")
def test_honest_copies_are_never_refused(coarse):
    """Whatever the step, up to the noise's own standard deviation, and whatever the number of rows."""
    for seed in range(200):
        rng = np.random.default_rng([seed, int(100 * coarse)])
        times = sorted(rng.choice([0.25, 0.26, 0.5, 1.0, 4.0], int(rng.integers(1, 4)), replace=False).tolist())
        step = 2.0 ** np.floor(np.log2(coarse * 8 * np.sqrt(times[0])))
        original = np.rint(people(rng, int(rng.choice([1, 5, 60, 2_000]))) / step) * step
        copies = rounded(elsewhere(rng, original, times), step)
        adopt(original, copies, noise=8.0, steps=(repr(float(step)),) * 2)


def refused(match, original, copies, **more):
    with pytest.raises(SourceError, match=match):
        adopt(original, copies, **more)


def test_noise_that_is_not_the_declared_one():
    rng = np.random.default_rng(5)
    original = people(rng, 3_000)
    ((_, copy),) = rounded(elsewhere(rng, original, (0.25,)))
    adopt(original, [(0.25, copy)])
    refused(r"'a' is declared to have noise 0.5, but in 3,000 rows .* noise 0\.2\d+ \(95 %: 0\.2.*variance 100 that",
            original, [(0.5, copy)])  # fmt: skip
    refused("is declared to have noise 0.125, but", original, [(0.125, copy)])
    refused("far too much says that it is a copy of another", original, [(0.25, copy[::-1])])
    refused("is declared to have noise 0.25, but", people(rng, 3_000), [(0.25, copy)])


def test_five_rows_tell_little():
    rng = np.random.default_rng(6)
    for _ in range(50):
        original = people(rng, 5)
        adopt(original, rounded(elsewhere(rng, original, (0.25, 0.6)))[:1], noise=1.0)
        adopt(original, [(0.25, rounded(elsewhere(rng, original, (0.3,)))[0][1])], noise=1.0)


def test_noise_of_the_right_size_that_is_something_else():
    rng, count = np.random.default_rng(7), 20_000
    original = people(rng, count)
    noise = 0.5 * L @ rng.normal(size=(2, count))

    def copy(added):
        return [(0.25, np.rint(original + added))]

    adopt(original, copy(noise))
    refused("not 0 on average", original, copy(noise + 0.5))
    kept = np.where(rng.random(count) < 0.3, 0.0, noise / np.sqrt(0.7))  # three in ten rows are true
    refused("is not normal", original, copy(kept))
    own = np.sqrt(0.25 * np.diag(K))[:, None] * rng.normal(size=(2, count))
    refused("does not go with the other columns' noise", original, copy(own))
    about = original - original.mean(axis=1, keepdims=True)
    shrunk = np.sqrt(1 - 0.04) * noise - 0.1 * about  # which a guess undoes
    refused("follows the original values", original, copy(shrunk))


def test_copies_that_are_not_coupled():
    rng = np.random.default_rng(8)
    original = people(rng, 3_000)
    less, more = (rounded(elsewhere(rng, original, (time,)))[0] for time in (0.25, 1.0))
    for copy in (less, more):
        adopt(original, [copy])
    refused(r"copy '0' \(0.25\) and adopted copy '1' \(1\).*by noise 1\.2.*which is 0.75 where.*not coupled", original,
            [less, more])  # fmt: skip


def test_a_copy_is_its_own_level_and_new_rows_are_drawn_as_ever():
    rng = np.random.default_rng(9)
    original = people(rng, 3_000)
    copies = rounded(elsewhere(rng, original, (0.25, 1.0)))
    for time, copy in copies:
        assert (adopt(original, copies, noise=time) == copy).all()
    grown = np.concatenate([original, people(rng, 500)], axis=1)
    found = adopt(grown, copies, noise=0.5, ids=position_blocks(0, 3_000))
    assert (found[:, :3_000] == adopt(original, copies, noise=0.5)).all()
    rows = position_blocks(0, 3_500)
    plain = joint_noise(arrays(grown), kernels(0.5), key=KEY, table="t", rows=rows)
    assert (found[:, 3_000:] == np.rint(grown + plain)[:, 3_000:]).all()


def test_null_stays_null_where_it_is_kept():
    rng = np.random.default_rng(10)
    original = people(rng, 2_000)
    (time, copy), *_ = rounded(elsewhere(rng, original, (0.25,)))
    original[0, :300] = copy[0, :300] = np.nan
    found = adopt(original, [(time, copy)], noise=0.5, nulls="keep")
    assert (np.isnan(found[0]) == np.isnan(original[0])).all() and not np.isnan(found[1]).any()
    apart = found[1] - original[1]
    assert abs(apart.var() / (0.5 * 64) - 1) < 6 * np.sqrt(2 / 2_000)
    copy[0, 0] = 40.0
    refused("is NULL in the copy and not in the source, or the other way round, in 1 rows", original, [(time, copy)],
            nulls="keep")  # fmt: skip


def test_a_step_coarser_than_the_copys_noise_is_refused():
    original = people(np.random.default_rng(11), 50)
    with pytest.raises(PolicyError, match=r"coarser than noise 0\.001"):
        adopt(original, [(0.001, original)])


def test_bounds_of_squares_hold_for_rounded_numbers():
    """Chernoff's moments, exactly: of a rounded normal number about any original, with steps up to its deviation."""
    for deviation, offset in itertools.product((1.0, 1.3, 2.0, 8.0), np.linspace(0, 0.5, 11)):
        reach = int(12 * deviation)
        points = np.arange(-reach, reach + 1) + offset
        shares = ndtr((points + 0.5) / deviation) - ndtr((points - 0.5) / deviation)
        variance = deviation**2 + 1 / 12
        for tilt in np.array([-0.5, -0.3, -0.1, -0.01, 0.01, 0.1, 0.3, 0.4]) / variance:
            moment = (shares * np.exp(tilt * points**2)).sum()
            assert np.log(moment) <= -0.5 * np.log1p(-2 * tilt * variance) + 1e-9
    assert of_squares(0.0, 5, 1.0, 1.0) > -5 * np.log(2)
