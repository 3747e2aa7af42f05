"""Numbering a domain and back, at the edges of every type."""

from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from ppdm_udfs import Grid, KernelError, NullFound, OutsideDomain, Uniform, Values, decode, encode, perturb
from ppdm_udfs.buffers import words_of
from ppdm_udfs.identity import position_blocks
from ppdm_udfs.wide import Wide, add, below, divide_power_of_ten, multiply, multiply_high, negate, negative

SIGNED = {pa.int8(): 7, pa.int16(): 15, pa.int32(): 31, pa.int64(): 63}
UNSIGNED = {pa.uint8(): 8, pa.uint16(): 16, pa.uint32(): 32, pa.uint64(): 64}
WORDS = st.integers(0, 2**64 - 1)
INT128 = st.integers(-(2**127), 2**127 - 1)
PICKS = st.lists(st.floats(0, 1), min_size=1, max_size=20)


def words(numbers):
    return np.array([[number % 2**64, (number >> 64) % 2**64] for number in numbers], dtype=np.uint64).reshape(-1, 2)


def numbers(wide):
    return [int.from_bytes(row.tobytes(), "little", signed=True) for row in np.ascontiguousarray(wide.blocks())]


def picked(picks, size):
    """Numbers of a domain, both ends among them."""
    return np.array([0, size - 1, *(min(int(pick * size), size - 1) for pick in picks)], dtype=np.uint64)


def round_trip(domain, kind, index):
    array = decode(index, domain, kind)
    assert array.type == kind
    assert np.array_equal(encode(array, domain), index)
    return array


@given(st.lists(WORDS, min_size=1), st.integers(1, 2**64 - 1))
def test_multiply_high_is_exact(values, factor):
    got = multiply_high(np.array(values, dtype=np.uint64), factor)
    assert got.tolist() == [value * factor >> 64 for value in values]


@given(st.lists(INT128, min_size=1), INT128, st.integers(0, 38))
def test_wide_arithmetic_is_that_of_python_integers(values, other, exponent):
    wide = Wide.of_blocks(words(values))

    def wrapped(number):
        return (number + 2**127) % 2**128 - 2**127

    assert numbers(add(wide, other)) == [wrapped(value + other) for value in values]
    assert below(wide, other).tolist() == [value < other for value in values]
    assert negative(wide).tolist() == [value < 0 for value in values]
    assert numbers(negate(wide, negative(wide))) == [wrapped(abs(value)) for value in values]
    quotient, inexact = divide_power_of_ten(wide, exponent)
    unsigned = [value % 2**128 for value in values]
    assert [number % 2**128 for number in numbers(quotient)] == [value // 10**exponent for value in unsigned]
    assert inexact.tolist() == [value % 10**exponent != 0 for value in unsigned]
    low = np.array([value % 2**64 for value in values], dtype=np.uint64)
    assert numbers(multiply(low, other % 2**128)) == [wrapped(value % 2**64 * other) for value in values]


@given(st.data(), st.sampled_from([*SIGNED, *UNSIGNED]), PICKS)
def test_integers_round_trip(data, kind, picks):
    least, most = (-(2 ** SIGNED[kind]), 2 ** SIGNED[kind] - 1) if kind in SIGNED else (0, 2 ** UNSIGNED[kind] - 1)
    low = data.draw(st.integers(least, most))
    step = data.draw(st.integers(1, max(1, (most - low) // 2)))
    size = data.draw(st.integers(1, min((most - low) // step + 1, 2**53)))
    index = picked(picks, size)
    array = round_trip(Grid(low, step, size), kind, index)
    assert array.to_pylist() == [low + int(at) * step for at in index]


@given(st.data(), st.integers(-(10**20), 10**20), st.integers(0, 5), st.integers(0, 18), PICKS)
def test_decimals_round_trip_in_any_scale(data, low, scale, finer, picks):
    size = data.draw(st.integers(1, 2**53))
    step = data.draw(st.integers(1, (2**64 - 1) // size))
    kind = pa.decimal128(38, scale + finer)
    assume(max(abs(low), abs(low + (size - 1) * step)) * 10**finer < 10**38)
    index = picked(picks, size)
    array = round_trip(Grid(low, step, size, scale), kind, index)
    assert numbers(Wide.of_blocks(words_of(array))) == [(low + int(at) * step) * 10**finer for at in index]


@settings(max_examples=300)
@given(st.data(), st.sampled_from([pa.float64(), pa.float32()]), st.integers(0, 12), PICKS)
def test_reals_round_trip_and_are_what_their_decimal_text_reads_as(data, kind, scale, picks):
    exponent = 40 if kind == pa.float64() else 18
    low = data.draw(st.integers(-(2**exponent), 2**exponent))
    step = data.draw(st.integers(1, 1000))
    size = data.draw(st.integers(1, 2**exponent // step + 1))
    index = picked(picks, size)
    array = round_trip(Grid(low, step, size, scale), kind, index)
    for at, value in zip(index.tolist(), array.to_pylist(), strict=True):
        exact = float(Decimal(low + at * step).scaleb(-scale))
        assert value == (exact if kind == pa.float64() else float(np.float32(exact)))


@given(st.data(), st.sampled_from([49, 50, 51, 52, 53]), st.integers(0, 22))
def test_a_grid_of_reals_is_refused_or_round_trips(data, exponent, scale):
    low = data.draw(st.integers(-(2**exponent), 2**exponent))
    step = data.draw(st.integers(1, 64))
    grid = Grid(low, step, data.draw(st.integers(2, 1000)), scale)
    try:
        round_trip(grid, pa.float64(), np.arange(grid.size, dtype=np.uint64))
    except KernelError as error:
        assert not isinstance(error, OutsideDomain)


@given(st.integers(-(10**12), 10**12), st.integers(1, 10**6), st.integers(1, 10**6), PICKS)
def test_moments_round_trip_in_every_unit(low, step, size, picks):
    index = picked(picks, size)
    for unit, factor in (("s", 10**6), ("ms", 10**3), ("us", 1), ("ns", 1)):
        grid = Grid(low // factor * factor, step * factor, size)
        if unit == "ns":
            assume(abs(grid.low) + size * grid.step < 9 * 10**15)
        elif unit != "us":
            grid = Grid(grid.low, factor, size)
        array = round_trip(grid, pa.timestamp(unit), index)
        micro = array.cast(pa.timestamp("us")).cast(pa.int64()).to_pylist()
        assert micro == [grid.low + int(at) * grid.step for at in index]


@given(st.lists(st.text(max_size=8), min_size=1, unique=True), PICKS)
def test_listed_values_round_trip(texts, picks):
    domain = Values(pa.array(texts))
    index = picked(picks, len(texts))
    for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int16(), pa.string())):
        assert round_trip(domain, kind, index).to_pylist() == [texts[at] for at in index.tolist()]


def test_a_grid_point_is_the_double_that_its_text_reads_as():
    assert decode(np.array([3, 7], dtype=np.uint64), Grid(0, 1, 10, 1), pa.float64()).to_pylist() == [0.3, 0.7]


def test_reals_and_moments_are_rounded_to_the_nearest_point():
    grid = Grid(0, 5, 5, scale=1)
    near = pa.array([0.26, 0.74, 0.30000000000000004, 1.9, 2.2, -0.2])
    assert encode(near, grid).tolist() == [1, 1, 1, 4, 4, 0]
    hours = Grid(0, 3_600_000_000, 24)
    minutes = pa.array([datetime(1970, 1, 1, 1, 29), datetime(1970, 1, 1, 1, 30), datetime(1969, 12, 31, 23, 31)])
    assert encode(minutes, hours).tolist() == [1, 2, 0]
    assert encode(minutes.cast(pa.timestamp("ns")), hours).tolist() == [1, 2, 0]
    with pytest.raises(OutsideDomain):
        encode(pa.array([datetime(1969, 12, 31, 23, 29)]), hours)


def test_integers_and_dates_off_the_grid_are_outside_unless_clamped():
    grid = Grid(0, 10, 5)
    for array in (pa.array([0, 14, 40, 17]), pa.array([0, 14, 40, 17], pa.decimal128(5, 0))):
        with pytest.raises(OutsideDomain) as caught:
            encode(array, grid)
        assert (caught.value.offset, caught.value.count) == (1, 2)
        assert encode(array, grid, outside="clamp").tolist() == [0, 1, 4, 2]


@pytest.mark.parametrize(
    ("values", "kind", "grid"),
    [
        ([-128, 127, 3], pa.int8(), Grid(0, 1, 5)),
        ([-(2**63), 2**63 - 1, 3], pa.int64(), Grid(0, 1, 5)),
        ([0, 2**64 - 1, 2**63 + 3], pa.uint64(), Grid(2**63, 1, 5)),
        ([-(10**37), 10**37, 10**25 + 3], pa.decimal128(38, 0), Grid(10**25, 1, 5)),
        ([float("-inf"), float("inf"), 0.3], pa.float64(), Grid(0, 1, 5, scale=1)),
        ([date(1, 1, 1), date(9999, 12, 31), date(1970, 1, 4)], pa.date32(), Grid(0, 1, 5)),
        (
            [datetime(1, 1, 1), datetime(9999, 12, 31), datetime(1970, 1, 1, 0, 0, 3)],
            pa.timestamp("s"),
            Grid(0, 10**6, 5),
        ),
    ],
)
def test_clamp_takes_the_nearest_end(values, kind, grid):
    assert encode(pa.array(values, kind), grid, outside="clamp").tolist() == [0, 4, 3]
    with pytest.raises(OutsideDomain) as caught:
        encode(pa.array(values, kind), grid)
    assert (caught.value.offset, caught.value.count) == (0, 2)


def test_a_difference_that_wraps_around_64_bits_is_still_outside():
    grid = Grid(2**63 - 3, 1, 3)
    with pytest.raises(OutsideDomain):
        encode(pa.array([-(2**63)]), grid)
    with pytest.raises(OutsideDomain):
        encode(pa.array([2**64 + 1], pa.decimal128(38, 0)), Grid(0, 1, 3))


def test_nan_is_outside_even_when_clamped():
    for outside in ("error", "clamp"):
        with pytest.raises(OutsideDomain) as caught:
            encode(pa.array([0.1, float("nan")]), Grid(0, 1, 5, scale=1), outside=outside)
        assert (caught.value.offset, caught.value.count) == (1, 1)


def test_errors_name_the_first_row_and_the_number_and_never_the_value():
    secret = 987_654
    values = np.full(400_000, 5)
    values[[131_080, 140_000, 399_999]] = secret
    mechanism = Uniform(Grid(0, 1, 10), 0.5)

    def run(array):
        rows = position_blocks(0, len(array))
        return perturb(array, mechanism, key=bytes(32), table="t", column="c", rows=rows)

    with pytest.raises(OutsideDomain) as caught:
        run(pa.array(values))
    assert (caught.value.offset, caught.value.count) == (131_080, 3)
    assert str(caught.value) == "3 rows with a value outside the domain, the first at offset 131080"
    with pytest.raises(NullFound) as missing:
        run(pa.array(values, mask=np.isin(np.arange(len(values)), [150_000, 300_000])))
    assert (missing.value.offset, missing.value.count) == (150_000, 2)
    assert str(secret) not in str(missing.value) + str(caught.value)
    with pytest.raises(OutsideDomain) as listed:
        encode(pa.array(["a", "secret"]), Values(pa.array(["a"])))
    assert (listed.value.offset, listed.value.count) == (1, 1)
    assert "secret" not in str(listed.value)


def test_an_undefined_number_in_the_place_of_a_null_is_not_outside():
    hidden = pa.Array.from_buffers(pa.int32(), 3, [pa.py_buffer(b"\x05"), pa.py_buffer(np.array([1, 99, 2], "<i4"))])
    assert encode(hidden, Grid(0, 1, 3), nulls="keep").tolist() == [1, 3, 2]
    assert decode(np.array([1, 3], dtype=np.uint64), Grid(0, 1, 3), pa.int32()).to_pylist() == [1, None]


def test_a_dictionary_may_hold_more_values_than_are_used_and_null():
    array = pa.DictionaryArray.from_arrays(pa.array([0, 2, None], pa.int8()), pa.array(["a", "stray", None]))
    domain = Values(pa.array(["b", "a"]))
    assert encode(array, domain, nulls="keep").tolist() == [1, 2, 2]
    result = decode(np.array([1, 0], dtype=np.uint64), domain, array.type)
    assert result.dictionary.to_pylist() == ["b", "a"]
    empty = pa.DictionaryArray.from_arrays(pa.array([None], pa.int8()), pa.array([], pa.string()))
    assert encode(empty, domain, nulls="value").tolist() == [2]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Grid(0, 1, 0),
        lambda: Grid(0, 1, 2**53 + 1),
        lambda: Grid(0, 0, 5),
        lambda: Grid(0, 1, 5, scale=-1),
        lambda: Values(pa.array([], pa.string())),
        lambda: Values(pa.array(["a", None])),
        lambda: Values(pa.array(["a", "a"])),
        lambda: Uniform(Grid(0, 1, 5), 0.0),
        lambda: Uniform(Grid(0, 1, 5), 1.1),
        lambda: Uniform(Grid(0, 1, 5), float("nan")),
        lambda: Uniform(Grid(0, 1, 5), 0.5, nulls="drop"),
        lambda: Uniform(Values(pa.array(["a"])), 0.5, outside="clamp"),
        lambda: encode(pa.array([1], pa.int8()), Grid(0, 1, 200)),
        lambda: encode(pa.array([1], pa.uint8()), Grid(-1, 1, 3)),
        lambda: encode(pa.array([1]), Grid(0, 5, 3, scale=1)),
        lambda: encode(pa.array([1], pa.date32()), Grid(0, 10, 3, scale=1)),
        lambda: encode(pa.array([1], pa.timestamp("s")), Grid(0, 1000, 3)),
        lambda: encode(pa.array([Decimal("1.5")]), Grid(0, 5, 3, scale=2)),
        lambda: encode(pa.array([Decimal("1.5")]), Grid(0, 1, 200, scale=1)),
        lambda: encode(pa.array([1.5]), Grid(0, 1, 2**52, scale=2)),
        lambda: encode(pa.array([1.5], pa.float32()), Grid(10**9, 1, 9, scale=2)),
        lambda: encode(pa.array(["a"]), Grid(0, 1, 3)),
        lambda: encode(pa.array(["a"]), Values(pa.array([["x"]]))),
        lambda: encode(pa.array([1]), Grid(0, 1, 3), nulls="drop"),
        lambda: decode(np.zeros(1, np.uint64), Values(pa.array(range(200))), pa.dictionary(pa.int8(), pa.int64())),
    ],
)
def test_what_cannot_be_meant_is_refused(wrong):
    with pytest.raises(KernelError) as caught:
        wrong()
    assert not isinstance(caught.value, OutsideDomain | NullFound)
    assert str(caught.value)
