import numpy as np
import pytest

from ppdm_sql.channels.axis import Axis


def test_transition_is_identity_plus_rank_one():
    assert np.allclose(Axis(0.3, (0.25, 0.75)).transition(), [[0.475, 0.525], [0.175, 0.825]])


def test_a_fixed_cell_keeps_its_rows_and_receives_none():
    matrix = Axis(0.2, (0.5, 0.0, 0.5), fixed=(1,)).transition()
    assert matrix[1].tolist() == [0, 1, 0]
    assert matrix[:, 1].tolist() == [0, 1, 0]
    assert np.allclose(matrix.sum(axis=1), 1)


def test_an_exact_column_is_the_identity_whatever_its_shares():
    assert (Axis(1.0, (0.3, 0.3, 0.4)).transition() == np.eye(3)).all()
    assert (Axis(1.0, (0.0, 0.0)).transition() == np.eye(2)).all()


def test_cells():
    assert Axis(0.5, (0.0, 0.0, 1.0)).cells == 3
    assert Axis(0.5, (0.0,), fixed=(0,)).cells == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, (1.0,)), r"retain must lie in \(0, 1\], not 0.0"),
        ((1.1, (1.0,)), "retain must lie in"),
        ((float("nan"), (1.0,)), "retain must lie in"),
        ((0.5, ()), "at least one cell"),
        ((0.5, (0.5, 0.4)), "must sum to 1, not 0.9"),
        ((0.5, (-0.5, 1.5)), "share of cell 0"),
        ((0.5, (float("inf"), 0.5)), "share of cell 0"),
        ((0.5, (0.5, 0.5), (2,)), "fixed names cell 2, but the cells are 0 to 1"),
        ((0.5, (0.5, 0.5), (-1,)), "fixed names cell -1"),
        ((0.5, (0.5, 0.5), (1,)), "cell 1 is fixed, so its share must be 0"),
        ((0.5, (1.0, 0.0), (1, 1)), "names a cell twice"),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Axis(*arguments)
