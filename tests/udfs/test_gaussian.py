"""Gaussian noise on columns: joint covariance, rounding, NULLs, types, and bytes that never change."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from ppdm_udfs import (
    Gaussian,
    KernelError,
    NullFound,
    OutsideDomain,
    Step,
    add_noise,
    factor,
    joint_noise,
    position_blocks,
)

KEY = bytes(range(32))
COVARIANCE = np.array([[4.0, 3.0, -1.0], [3.0, 9.0, 0.5], [-1.0, 0.5, 1.0]])
NAMES = ("a", "b", "c")
FINE = Step(1, 6)


def noisy(array, magnitude=0.5, weights=(2.0,), columns=("a",), step=FINE, first=0, **more):
    mechanism = Gaussian(magnitude, columns, weights, step, more.pop("nulls", "error"))
    array = array if isinstance(array, pa.Array | pa.ChunkedArray) else pa.array(array)
    return add_noise(array, mechanism, key=KEY, table="t", rows=position_blocks(first, len(array)), **more)


def values(array):
    return array.to_numpy(zero_copy_only=False)


def test_joint_noise_has_the_covariance_of_its_columns_at_every_pair_of_levels():
    count, triangle = 400_000, factor(COVARIANCE)
    zeros = [pa.array(np.zeros(count))] * 3
    levels = (0.8, 0.2)
    together = [[Gaussian(level, NAMES, tuple(row), FINE) for row in triangle] for level in levels]
    rows = position_blocks(0, count)
    noise = np.concatenate([joint_noise(zeros, each, key=KEY, table="t", rows=rows) for each in together])
    expected = np.kron(np.minimum.outer(levels, levels), COVARIANCE)
    spread = np.sqrt((np.outer(np.diag(expected), np.diag(expected)) + expected**2) / count)
    assert (np.abs(np.cov(noise) - expected) / spread).max() < 4
    assert np.abs(noise.mean(axis=1) / np.sqrt(np.diag(expected) / count)).max() < 4


def test_bytes_never_change():
    found = noisy([10.0, -3.25, 1e6], 0.3, (1.5, -0.5), ("a", "b"), Step(25, 2))
    assert found.to_pylist() == [8.75, -3.25, 999999.25]


def test_the_same_whatever_the_batches():
    numbers = np.random.default_rng(1).normal(size=70_000)
    whole = noisy(numbers, threads=2)
    parts = [noisy(numbers[i : i + 777], first=i) for i in range(0, 70_000, 777)]
    assert pa.concat_arrays(parts).equals(whole)
    assert noisy(pa.chunked_array([numbers[:100], numbers[100:]])).equals(whole)


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint16(), pa.int64(), pa.float32(), pa.float64(), pa.decimal128(9, 2), pa.decimal256(50, 3)]
)
def test_every_type_of_number_becomes_doubles(kind):
    array = pa.array([Decimal(1), Decimal(7), Decimal(100)]).cast(kind)
    found = noisy(array)
    assert found.type == pa.float64()
    assert found.equals(noisy([1.0, 7.0, 100.0]))


def test_numbers_are_multiples_of_the_step_and_zero_has_no_sign():
    count = 100_000
    for step in (Step(1), Step(1, 2), Step(25, 1)):
        found = values(noisy(np.full(count, 0.1234567), 1, (0.9,), step=step))
        steps = np.rint(found / step.width)
        assert np.array_equal(found, steps * step.units / 10.0**step.scale)
        assert not np.signbit(found[found == 0]).any()
    assert np.count_nonzero(found == 0) > 1000


def test_every_multiple_of_the_step_is_as_likely_as_its_neighbours_whatever_the_original():
    """The digits of the noise, and so of the original, are gone: last digits are even for round and odd originals."""
    for original in (1000.0, 1000.0049, 1234.56):
        found = values(noisy(np.full(200_000, original), 1, (50.0,), step=Step(1, 2)))
        last = np.rint(found * 100).astype(int) % 10
        counts = np.bincount(last, minlength=10)
        assert ((counts - 20_000) ** 2 / 20_000).sum() < 27.9  # chi-square, 9 degrees, one in a thousand


def test_rounding_adds_a_twelfth_of_the_step_squared():
    count = 1_000_000
    found = values(noisy(np.full(count, 0.3), 1, (1.0,), step=Step(1)))
    variance, expected = found.var(), 1 + 1 / 12
    assert abs(variance - expected) < 4 * expected * (2 / count) ** 0.5
    assert abs(variance - 1) > 20 * (2 / count) ** 0.5
    assert abs(found.mean() - 0.3) < 4 * (expected / count) ** 0.5


def test_nulls():
    array = pa.array([1.0, None, 3.0, None])
    with pytest.raises(NullFound) as error:
        noisy(array)
    assert (error.value.offset, error.value.count) == (1, 2)
    kept = noisy(array, nulls="keep")
    assert kept.is_null().to_pylist() == [False, True, False, True]
    assert kept.drop_null().equals(noisy([1.0, 0.0, 3.0]).take(pa.array([0, 2])))
    assert noisy(pa.array([], pa.float64())).to_pylist() == []


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf"), 1e300, 2.0**54])
def test_what_no_noise_hides_is_refused_without_being_shown(bad):
    with pytest.raises(OutsideDomain) as error:
        noisy([0.0, bad], step=Step(1))
    assert error.value.offset == 1
    assert str(bad) not in str(error.value)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: noisy(["text"]), "added to numbers"),
        (lambda: noisy([1.0], weights=(1.0, 2.0)), "a weight for each"),
        (lambda: noisy([1.0], weights=(0.0,)), "above 0"),
        (lambda: noisy([1.0], nulls="value"), "nulls is one of"),
        (lambda: Step(0), "a step is"),
        (lambda: Step(1, 30), "a step is"),
        (lambda: factor([[1.0, 2.0]]), "square"),
        (lambda: factor([[1.0, 0.5], [0.4, 1.0]]), "symmetric"),
        (lambda: factor([[1.0, 1.0], [1.0, 1.0]]), "positive definite"),
        (lambda: factor([[0.0]]), "above 0"),
    ],
)
def test_parameters_that_cannot_be_meant_are_refused(make, reason):
    with pytest.raises(KernelError, match=reason):
        make()


def test_the_factor_gives_the_covariance_back_however_different_the_units():
    scale = np.diag([1e-6, 1.0, 1e8])
    matrix = scale @ COVARIANCE @ scale
    triangle = factor(matrix)
    assert np.allclose(triangle @ triangle.T, matrix, rtol=1e-12, atol=0)
    assert np.array_equal(triangle, np.tril(triangle))
