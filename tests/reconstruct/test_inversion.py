from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppdm_sql.channels.axis import Axis
from ppdm_sql.reconstruct import adjoint, forward, invert, invert_adjoint


@st.composite
def an_axis(draw):
    m = draw(st.integers(1, 4))
    fixed = tuple(draw(st.sets(st.integers(0, m - 1), max_size=1)))
    raw = np.array([0.0 if cell in fixed else draw(st.integers(0, 9)) for cell in range(m)])
    if not raw.any():
        raw[[cell for cell in range(m) if cell not in fixed][:1]] = 1.0
    retain = draw(st.one_of(st.just(1.0), st.floats(0.15, 1.0)))
    return Axis(retain, tuple((raw / max(raw.sum(), 1.0)).tolist()), fixed)


lists_of_axes = st.lists(an_axis(), min_size=1, max_size=6).filter(
    lambda axes: np.prod([axis.cells for axis in axes]) <= 600
)
seeds = st.integers(0, 2**32 - 1)


def tensors(axes, seed, groups=2):
    cells = tuple(axis.cells for axis in axes)
    generator = np.random.default_rng(seed)
    return generator.integers(0, 1000, (groups, *cells)).astype(float), generator.normal(size=(groups, *cells))


@settings(deadline=None, max_examples=150)
@given(lists_of_axes, seeds)
def test_axis_by_axis_equals_the_dense_tensor_product(axes, seed):
    y, _ = tensors(axes, seed)
    matrix = reduce(np.kron, [axis.transition() for axis in axes])
    inverse = reduce(np.kron, [np.linalg.inv(axis.transition()) for axis in axes])
    flat = y.reshape(len(y), -1)
    for ours, dense in [(forward, matrix), (invert, inverse)]:
        # Relative to what the largest sum of absolute terms could be: the inverse has entries of both signs.
        scale = np.abs(flat) @ np.abs(dense) + 1
        assert np.max(np.abs(ours(y, axes).reshape(flat.shape) - flat @ dense) / scale) < 1e-12
    for ours, dense in [(adjoint, matrix.T), (invert_adjoint, inverse.T)]:
        scale = np.abs(flat) @ np.abs(dense) + 1
        assert np.max(np.abs(ours(y, axes).reshape(flat.shape) - flat @ dense) / scale) < 1e-12


@settings(deadline=None, max_examples=100)
@given(lists_of_axes, seeds)
def test_the_maps_belong_together(axes, seed):
    y, t = tensors(axes, seed)
    size = float(np.prod([1 / axis.retain for axis in axes]))
    assert np.allclose(invert(forward(y, axes), axes), y, rtol=1e-9, atol=1e-9 * size)
    assert np.allclose(adjoint(invert_adjoint(t, axes), axes), t, rtol=1e-9, atol=1e-9 * size)
    for one, other in [(forward, adjoint), (invert, invert_adjoint)]:
        assert np.isclose((t * one(y, axes)).sum(), (other(t, axes) * y).sum(), rtol=1e-9, atol=1e-6 * size)
    assert np.allclose(forward(y, axes).sum(), y.sum())
    assert np.allclose(invert(y, axes).sum(), y.sum(), rtol=1e-9, atol=1e-6 * size)


@pytest.mark.parametrize("function", [forward, invert, adjoint, invert_adjoint])
def test_exact_columns_are_left_exactly_alone(function):
    y = np.random.default_rng(0).normal(size=(3, 2, 4))
    axes = [Axis(1.0, (0.3, 0.7)), Axis(1.0, (0.1, 0.2, 0.3, 0.4))]
    result = function(y, axes)
    assert (result == y).all()
    result[0] = 0
    assert (y[0] != 0).all(), "the result must not share memory with the argument"


@pytest.mark.parametrize("retain", [0.1, 0.3, 0.7, 1 / 3, 0.9])
def test_shares_of_0_and_1_are_exact(retain):
    one_cell = [Axis(retain, (1.0,))]
    assert invert([7.0], one_cell).tolist() == [7.0]
    assert invert_adjoint([1.0], one_cell).tolist() == [1.0]
    assert forward([7.0], one_cell).tolist() == [7.0]
    everything = [Axis(retain, (1.0, 0.0))]
    assert invert([7.0, 0.0], everything).tolist() == [7.0, 0.0]
    assert forward([7.0, 0.0], everything).tolist() == [7.0, 0.0]
    assert invert_adjoint([1.0, 0.0], everything)[0] == 1.0
    assert invert_adjoint([0.0, 1.0], everything).tolist() == [0.0, 1 / retain]
    with_null = [Axis(retain, (1.0, 0.0), fixed=(1,))]
    assert invert([7.0, 3.0], with_null).tolist() == [7.0, 3.0]


def test_fixed_cells_do_not_mix_with_the_others():
    axes = [Axis(0.25, (0.5, 0.0, 0.5), fixed=(1,))]
    assert forward([8.0, 5.0, 0.0], axes).tolist() == [5.0, 5.0, 3.0]
    assert invert([5.0, 5.0, 3.0], axes).tolist() == [8.0, 5.0, 0.0]
    assert adjoint([0.0, 1.0, 0.0], axes).tolist() == [0.0, 1.0, 0.0]


def test_a_query_without_perturbed_columns_is_its_own_answer():
    assert invert([3.0, 4.0], []).tolist() == [3.0, 4.0]


def test_the_weight_of_a_conjunction_is_a_product():
    axes = [Axis(0.3, (21 / 74, 53 / 74)), Axis(0.5, (0.2, 0.8))]
    target = np.array([[1.0, 0.0], [0.0, 0.0]])
    first = np.array([1 - 0.7 * 21 / 74, -0.7 * 21 / 74]) / 0.3
    second = np.array([1 - 0.5 * 0.2, -0.5 * 0.2]) / 0.5
    assert np.allclose(invert_adjoint(target, axes), np.outer(first, second))


def test_wrong_shapes_are_refused():
    with pytest.raises(ValueError, match=r"shape \(3,\) do not end in the cells of the axes, \(2,\)"):
        invert([1.0, 2.0, 3.0], [Axis(0.5, (0.5, 0.5))])
    with pytest.raises(ValueError, match="do not end in"):
        invert(1.0, [Axis(0.5, (0.5, 0.5))])
