"""Noisy copies and the linear attack: examples and theorems of paper 002, on paper and on the kernel's own noise."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ppdm_udfs import factor, motions, position_blocks

from ppdm_sql.privacy import gaussian as privacy

KEY = bytes(range(32))
COVARIANCE = np.array([[4.0, 2.4], [2.4, 9.0]])


def test_section_4_two_values_alice_bob_and_both():
    """X = (9, 11), mean 10, variance 1; Alice at 1, Bob at 4."""
    values = np.array([9.0, 11.0])
    for magnitudes, centre, shares, error in (
        ([1], [9.5, 10.5], [0.5], 0.5),
        ([4], [9.8, 10.2], [0.2], 0.8),
        ([1, 4], [85 / 9, 95 / 9], [4 / 9, 1 / 9], 4 / 9),
    ):
        attack = privacy.linear_attack(privacy.independent(magnitudes), 1.0, 10.0)
        assert [w.item() for w in attack.weights] == pytest.approx(shares)
        assert attack.estimate([values[:, None]] * len(magnitudes))[:, 0] == pytest.approx(centre)
        mean_of_both = sum(share**2 * s2 for share, s2 in zip(shares, magnitudes, strict=True)) + np.mean(
            (np.array(centre) - values) ** 2
        )
        assert attack.distortion == pytest.approx(error)
        assert mean_of_both == pytest.approx(error)
        assert privacy.distortion_if_independent(magnitudes) == pytest.approx(error)
    together = privacy.linear_attack(privacy.corner_wave([1, 4]), 1.0, 10.0)
    assert together.distortion == pytest.approx(0.5)
    assert [w.item() for w in together.weights] == pytest.approx([0.5, 0.0])


def test_linearly_dependent_noise_gives_everything_away():
    attack = privacy.linear_attack([[1.0, 2.0], [2.0, 4.0]], 1.0)
    assert attack.distortion == pytest.approx(0.0, abs=1e-9)


levels = st.lists(st.floats(0.01, 100), min_size=1, max_size=5, unique=True)


@given(levels)
def test_theorem_3_and_4_as_formulas(magnitudes):
    coupled = privacy.linear_attack(privacy.corner_wave(magnitudes), COVARIANCE)
    assert coupled.distortion == pytest.approx(privacy.distortion(magnitudes, np.trace(COVARIANCE) / 2), rel=1e-6)
    best = min(privacy.linear_attack([[s2]], COVARIANCE).distortion for s2 in magnitudes)
    assert coupled.distortion == pytest.approx(best, rel=1e-6)
    apart = privacy.linear_attack(privacy.independent(magnitudes), COVARIANCE)
    variance = np.trace(COVARIANCE) / 2
    assert apart.distortion == pytest.approx(privacy.distortion_if_independent(magnitudes, variance), rel=1e-6)
    assert apart.distortion <= coupled.distortion * (1 + 1e-9)


def attacked(noise, magnitudes, law, originals):
    attack = privacy.linear_attack(law(magnitudes), COVARIANCE, [5.0, -3.0])
    error = attack.estimate([originals + copy for copy in noise]) - originals
    return (error**2).mean(), attack.distortion


def kernel_noise(magnitudes, count, table="t"):
    triangle = factor(COVARIANCE)
    rows = position_blocks(0, count)
    places = np.stack([motions(magnitudes, key=KEY, table=table, column=c, blocks=rows) for c in "ab"], axis=-1)
    return places @ triangle.T


def test_theorem_4_by_simulation_every_subset_of_four_copies():
    """The kernel's own copies, asked for in an odd order; the originals are not normal, which the attack allows."""
    count, magnitudes = 200_000, [1.0, 0.25, 4.0, 0.5]
    generator = np.random.default_rng(3)
    standard = np.column_stack([generator.exponential(size=count) - 1, generator.uniform(-(3**0.5), 3**0.5, count)])
    originals = standard @ factor(COVARIANCE).T + [5.0, -3.0]
    noise = kernel_noise(magnitudes, count)
    for size in range(1, 5):
        for subset in itertools.combinations(range(4), size):
            chosen = [magnitudes[i] for i in subset]
            found, promised = attacked(noise[list(subset)], chosen, privacy.corner_wave, originals)
            assert found == pytest.approx(promised, rel=0.015), chosen
            assert promised == pytest.approx(privacy.distortion(chosen, np.trace(COVARIANCE) / 2))


def test_theorem_3_by_simulation_independent_copies_add_up():
    count, magnitudes = 200_000, [1.0, 0.5, 4.0]
    originals = np.random.default_rng(4).normal(size=(count, 2)) @ factor(COVARIANCE).T + [5.0, -3.0]
    noise = [kernel_noise([s2], count, f"t{s2}")[0] for s2 in magnitudes]
    found, promised = attacked(noise, magnitudes, privacy.independent, originals)
    assert found == pytest.approx(promised, rel=0.015)
    assert promised < 0.9 * privacy.distortion(magnitudes, np.trace(COVARIANCE) / 2)


def test_noise_of_another_covariance_is_filtered():
    """Section 3.1: independent noise on columns that go together tells more than noise that goes with them."""
    going_together = np.array([[1.0, 0.95], [0.95, 1.0]])
    alike = privacy.linear_attack([[1.0]], going_together).distortion
    filtered = privacy.linear_attack([[1.0]], going_together, noise_covariance=np.eye(2)).distortion
    assert alike == pytest.approx(0.5)
    assert filtered < 0.4


def test_what_a_single_value_tells():
    assert privacy.interval_of_value(2.0, 0.95) == pytest.approx(3.92, abs=0.01)
    assert privacy.magnitude_for_distortion(0.8) == pytest.approx(4.0)
    assert privacy.information(1.0, columns=2) == pytest.approx(1.0)
    for bad in ([], [0.0], [-1.0], [float("nan")]):
        with pytest.raises(ValueError, match="above 0"):
            privacy.distortion(bad)
