"""The paths behind Gaussian noise: exact format, corner-wave law in any order, normal and independent."""

import hmac
import itertools
from decimal import Decimal
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st
from ppdm_udfs import KernelError, motions, position_blocks, subkey
from ppdm_udfs.motion import Time, parents, time_of
from ppdm_udfs.normals import logarithms, normals
from scipy import special, stats

KEY = bytes(range(32))


def path(magnitudes, count, column="c", table="t", first=0, **more):
    return motions(magnitudes, key=KEY, table=table, column=column, blocks=position_blocks(first, count), **more)


def reference(time, row, column="c"):
    """The definition, one row at a time, with nothing shared but the derivation of keys."""
    block = int(row[0]).to_bytes(8, "little") + int(row[1]).to_bytes(8, "little")
    key = algorithms.AES(subkey(KEY, "noise", "t", column, "", time.digits, time.power))
    word = int.from_bytes(Cipher(key, modes.ECB()).encryptor().update(block)[:8], "little")  # noqa: S305
    number = -NormalDist().inv_cdf(((word % 2**63) + 0.5) / 2**64) * (-1 if word >= 2**63 else 1)
    before, after = parents(time)
    start = before.value if before else Fraction(0)
    left = reference(before, row, column) if before else 0.0
    if after is None:
        return left + float(time.value - start) ** 0.5 * number
    right = reference(after, row, column)
    share = (time.value - start) / (after.value - start)
    spread = float((time.value - start) * (1 - share)) ** 0.5
    return float(1 - share) * left + float(share) * right + spread * number


def test_numbers_are_the_inverse_of_the_normal_distribution():
    words = np.concatenate(
        [
            np.random.default_rng(1).integers(0, 2**64, 300_000, dtype=np.uint64),
            2 ** np.arange(64, dtype=np.uint64),
            np.array([0, 2**63 - 1, 2**63, 2**64 - 1], dtype=np.uint64),
        ]
    )
    beyond = ((words & np.uint64(2**63 - 1)).astype(float) + 0.5) * 2.0**-64
    expected = np.where(words >= np.uint64(2**63), 1, -1) * special.ndtri(beyond)
    assert np.allclose(normals(words), expected, rtol=2e-15, atol=2e-16)
    assert np.abs(normals(words)).max() == pytest.approx(9.1553, abs=1e-4)


def test_the_logarithm_is_that_of_numpy():
    values = np.concatenate([np.random.default_rng(2).random(100_000), 2.0 ** -np.arange(1, 70)])
    assert np.allclose(logarithms(values), np.log(values), rtol=1e-15, atol=0)


def test_places_follow_their_definition():
    rows = position_blocks(7, 5)
    for magnitude in (1, 0.5, 0.25, 30, "0.0123", 7.7, Decimal("0.10203")):
        found = path([magnitude], 5, first=7)[0]
        expected = [reference(time_of(magnitude), row) for row in rows]
        assert np.allclose(found, expected, rtol=1e-12), magnitude


def test_places_never_change():
    found = path([1.0, 0.5, 0.25, 10.0, 0.037], 3)
    golden = [
        ["-0x1.0adc167ee6d5ep-5", "-0x1.3cb16e9d53a59p-3", "-0x1.3d319d0195605p+0"],
        ["0x1.d7776affba451p-2", "-0x1.3d748b5fe6dd6p-2", "0x1.2dc3da73806d8p-3"],
        ["0x1.472c2df199750p-3", "-0x1.29061a43f3a77p-2", "0x1.f1b7e6b938ea1p-2"],
        ["0x1.ce84c5a1f935ap+1", "0x1.dbc37d5120f05p+2", "0x1.11cbf1f21e736p+1"],
        ["0x1.c5ef4dc101117p-4", "0x1.0b8fe331e0466p-2", "-0x1.522762f7f9474p-3"],
    ]
    assert [[value.hex() for value in line] for line in found.tolist()] == golden


def test_a_magnitude_is_the_same_alone_and_beside_others_in_any_order_and_batching():
    levels = [0.5, 0.1, 2.0, 0.25, 0.77, 1.0, 0.003]
    together = path(levels, 40_000, threads=2)
    for shuffled in itertools.islice(itertools.permutations(range(7)), 0, 5040, 1201):
        assert np.array_equal(path([levels[i] for i in shuffled], 1_000), together[list(shuffled), :1_000])
    for level, line in zip(levels, together, strict=True):
        assert np.array_equal(path([level], 100, first=39_900)[0], line[39_900:])
    assert np.array_equal(path(["1.00"], 10), path([1], 10))


def test_five_levels_in_random_order_have_the_corner_wave_covariance():
    levels, count = [0.3, 2.5, 0.07, 1.0, 0.71], 500_000
    places = path(levels, count)
    corner_wave = np.minimum.outer(levels, levels)
    spread = np.sqrt((np.outer(levels, levels) + corner_wave**2) / count)
    away = np.abs(np.cov(places) - corner_wave) / spread
    assert away.max() < 4
    independent = np.stack([path([level], count, column=f"c{level}")[0] for level in levels])
    assert (np.abs(np.cov(independent) - corner_wave) / spread).max() > 50  # the check sees copies that are not coupled


def test_places_and_increments_are_normal():
    places = path([0.2, 0.5, 3.0], 1_000_000)
    steps = [places[0] / 0.2**0.5, (places[1] - places[0]) / 0.3**0.5, (places[2] - places[1]) / 2.5**0.5]
    for step in steps:
        assert stats.kstest(step, "norm").pvalue > 0.01
    cells = sum(9**i * np.digitize(step, special.ndtri(np.arange(1, 9) / 9)) for i, step in enumerate(steps))
    assert stats.chisquare(np.bincount(cells, minlength=729)).pvalue > 0.01  # three independent increments


def test_rows_columns_and_tables_are_independent():
    count = 1_000_000
    one = path([0.4], count)[0]
    others = {
        "the next row": np.roll(one, 1),
        "another column": path([0.4], count, column="d")[0],
        "another table": path([0.4], count, table="u")[0],
    }
    edges = 0.4**0.5 * special.ndtri(np.arange(1, 16) / 16)
    for name, other in others.items():
        assert abs(np.corrcoef(one, other)[0, 1]) < 4 / count**0.5, name
        cells = 16 * np.digitize(one, edges) + np.digitize(other, edges)
        assert stats.chisquare(np.bincount(cells, minlength=256)).pvalue > 0.01, name
    assert np.array_equal(path([0.4], 10, column="C", table="T"), path([0.4], 10))  # names do not depend on case


def test_on_demand_has_the_law_of_the_papers_batch():
    """Algorithm 1 draws all copies at once: increments times the triangle of ones; ours are asked for one by one."""
    levels, count = [0.25, 0.5, 0.9, 1.6, 4.0], 200_000
    widths = np.sqrt(np.diff([0, *levels]))
    batch = np.cumsum(widths[:, None] * np.random.default_rng(5).standard_normal((5, count)), axis=0)
    ours = np.stack([path([level], count)[0] for level in (4.0, 0.5, 1.6, 0.25, 0.9)])[[3, 1, 4, 2, 0]]
    combinations = np.random.default_rng(6).standard_normal((12, 5))
    for mixed in (*np.eye(5), *combinations):
        assert stats.ks_2samp(mixed @ ours, mixed @ batch).pvalue > 0.003


@given(st.integers(1, 10**6), st.integers(-12, 0))
def test_every_time_lies_between_parents_of_its_own_past(digits, power):
    number = Decimal(digits).scaleb(power)
    if not Decimal("1e-6") <= number <= 10**6:
        return
    time, seen = time_of(number), set()
    todo = [time]
    while todo:
        child = todo.pop()
        if child in seen:
            continue
        seen.add(child)
        before, after = parents(child)
        assert (before.value if before else 0) < child.value
        assert after is None or child.value < after.value
        todo += [parent for parent in (before, after) if parent]
    assert Time(1, 0) in seen
    assert len(seen) <= 4 * len(str(digits)) + 16


@pytest.mark.parametrize("magnitude", [0, -1, float("nan"), float("inf"), 1e-7, 2e6, "x", None, 0.1234567890123456789])
def test_what_is_not_a_magnitude_is_refused(magnitude):
    if magnitude == 0.12345678901234568:
        magnitude = "0.1234567890123456789"
    with pytest.raises(KernelError, match="a magnitude of noise"):
        path([magnitude], 1)


def test_the_key_matters_and_must_be_whole():
    other = motions([1], key=hmac.digest(b"k", b"k", "sha256"), table="t", column="c", blocks=position_blocks(0, 100))
    assert not np.isin(other, path([1], 100)).any()
    with pytest.raises(KernelError, match="32 bytes"):
        motions([1], key=b"short", table="t", column="c", blocks=position_blocks(0, 1))
