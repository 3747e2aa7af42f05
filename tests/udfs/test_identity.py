"""Row identities: the same value is the same row whatever type carries it, and different values are different rows."""

import time
import uuid
from datetime import date, datetime, timedelta
from datetime import time as clock
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ppdm_udfs import KernelError, NullFound, position_blocks, row_blocks

KEY = bytes(range(32))


def identities(*columns, table="t", key=KEY):
    return [row.tobytes() for row in row_blocks(list(columns), key, table)]


def whole(blocks):
    return [int.from_bytes(block, "little", signed=True) for block in blocks]


INTEGERS = [
    pa.int8(),
    pa.int16(),
    pa.int32(),
    pa.int64(),
    pa.decimal128(38, 0),
    pa.decimal128(21, 2),
    pa.decimal128(38, 18),
    pa.decimal256(50, 0),
]


@given(st.lists(st.integers(-128, 127)))
def test_an_integer_is_its_own_identity_in_every_width(values):
    for kind in INTEGERS:
        assert whole(identities(pa.array(values, pa.int8()).cast(pa.int64()).cast(kind))) == values
        encoded = pa.array(values, pa.int8()).dictionary_encode()
        assert whole(identities(encoded)) == values


@given(st.lists(st.integers(0, 2**64 - 1)))
def test_large_integers_too(values):
    assert whole(identities(pa.array(values, pa.uint64()))) == values
    assert whole(identities(pa.array([Decimal(value) for value in values], pa.decimal128(38, 0)))) == values


def test_hugeint_beyond_64_bits():
    values = [10**37, -(10**37), 2**64, -1]
    assert whole(identities(pa.array([Decimal(value) for value in values], pa.decimal128(38, 0)))) == values


@given(st.lists(st.text(max_size=70)))
def test_text_is_the_same_in_every_type(texts):
    plain = pa.array(texts, pa.string())
    expected = identities(plain)
    for kind in (pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())):
        assert identities(plain.cast(kind)) == expected
    halves = pa.chunked_array([plain.slice(0, len(texts) // 2), plain.slice(len(texts) // 2)])
    assert identities(halves) == expected
    assert [identities(plain.slice(at, 1))[0] for at in range(len(texts))] == expected
    assert len(set(expected)) == len(set(texts))


@given(st.lists(st.binary(max_size=40)))
def test_bytes_are_the_same_in_every_type_and_no_text(values):
    expected = identities(pa.array(values, pa.binary()))
    assert identities(pa.array(values, pa.large_binary())) == expected
    assert identities(pa.array(values, pa.binary_view())) == expected
    assert identities(pa.array([value.ljust(40) for value in values], pa.binary(40))) == identities(
        pa.array([value.ljust(40) for value in values], pa.binary())
    )
    assert not set(expected) & set(identities(pa.array([value.hex() for value in values], pa.string())))


@given(st.lists(st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)).map(lambda at: at.replace(microsecond=0))))
def test_moments_are_the_same_in_every_unit_and_zone(moments):
    expected = identities(pa.array(moments, pa.timestamp("us")))
    for unit in ("s", "ms", "ns"):
        assert identities(pa.array(moments, pa.timestamp(unit))) == expected
    assert identities(pa.array(moments, pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))) == expected
    assert len(set(expected)) == len(set(moments))


def test_nanoseconds_are_told_apart():
    assert len(set(identities(pa.array([1000, 1001, -1, -1000], pa.timestamp("ns"))))) == 4


def test_dates_and_times_are_the_same_in_every_width():
    days = [date(1969, 12, 30), date(2024, 2, 29)]
    assert identities(pa.array(days, pa.date32())) == identities(pa.array(days, pa.date64()))
    times = [clock(0, 0, 1), clock(23, 59, 59)]
    assert identities(pa.array(times, pa.time32("s"))) == identities(pa.array(times, pa.time64("us")))


@given(st.lists(st.integers(-(10**9), 10**9)), st.integers(0, 4), st.integers(0, 20))
def test_decimals_are_the_same_in_every_scale_and_width(values, scale, finer):
    array = pa.array([Decimal(value).scaleb(-scale) for value in values], pa.decimal128(14, scale))
    expected = identities(array)
    assert identities(array.cast(pa.decimal128(38, scale + finer))) == expected
    assert identities(array.cast(pa.decimal64(14, scale))) == expected
    assert identities(array.cast(pa.decimal256(60, scale + finer))) == expected
    assert len(set(expected)) == len(set(values))


def test_reals():
    assert identities(pa.array([0.0])) == identities(pa.array([-0.0]))
    assert identities(pa.array([0.5, -1.25], pa.float32())) == identities(pa.array([0.5, -1.25]))
    assert len(set(identities(pa.array([0.5, 0.25, 1.0, -1.0])))) == 4


def test_a_uuid_is_its_text_as_engines_hand_it_over():
    ids = [uuid.UUID(int=number * 7**40) for number in range(300)]
    storage = pa.array([one.bytes for one in ids], pa.binary(16))
    extension = pa.ExtensionArray.from_storage(pa.uuid(), storage)
    expected = identities(pa.array([str(one) for one in ids]))
    assert identities(extension) == expected
    assert identities(extension.slice(100, 50)) == expected[100:150]


PART = st.one_of(
    st.text(alphabet="ab\0", max_size=40), st.binary(max_size=40), st.integers(-(2**63), 2**63 - 1), st.booleans()
)


@given(st.lists(st.lists(PART, min_size=1, max_size=4).map(tuple), min_size=2, max_size=6))
def test_different_tuples_are_different_rows(tuples):
    def typed(parts):
        return tuple((type(part), part) for part in parts)

    found = {}
    for parts in tuples:
        block = identities(*(pa.array([part]) for part in parts))[0]
        assert found.setdefault(block, typed(parts)) == typed(parts)
    assert len(found) == len({typed(parts) for parts in tuples})


def test_columns_do_not_run_into_each_other():
    left, right = pa.array(["a", "ab", "abc", ""]), pa.array(["bc", "c", "", "abc"])
    assert len(set(identities(left, right))) == 4
    assert identities(left, right) != identities(right, left)
    padded = pa.array(["a", "a\0", "a" * 16, "a" * 16 + "\0", "", "\0"])
    assert len(set(identities(padded))) == 6


def test_identities_depend_on_key_and_table_and_not_on_the_tables_case():
    names = pa.array(["Ada"])
    assert identities(names, table="Adult") == identities(names, table="adult")
    assert identities(names, table="other") != identities(names, table="adult")
    assert identities(names, key=bytes(32)) != identities(names)


def test_many_rows_equal_few_rows_at_a_time():
    rng = np.random.default_rng(4)
    texts = ["x" * int(length) + str(at) for at, length in enumerate(rng.integers(0, 100, 300_000))]
    array, numbers = pa.array(texts), pa.array(np.arange(len(texts)))
    expected = row_blocks([array, numbers], KEY, "t")
    for start, stop in ((0, 5), (131_070, 131_075), (200_000, 201_000), (299_999, 300_000)):
        part = row_blocks([array.slice(start, stop - start), numbers.slice(start, stop - start)], KEY, "t")
        assert np.array_equal(part, expected[start:stop])
    assert len(np.unique(expected[:, 0])) == len(texts)


def test_one_very_long_text_among_short_ones_costs_its_own_length_only():
    texts = [str(number) for number in range(100_000)]
    texts[50_000] = "y" * 20_000_000
    start = time.perf_counter()
    blocks = row_blocks([pa.array(texts)], KEY, "t")
    assert time.perf_counter() - start < 5
    assert len(np.unique(blocks[:, 0])) == len(texts)
    alone = row_blocks([pa.array([texts[50_000]])], KEY, "t")
    assert np.array_equal(alone[0], blocks[50_000])


def test_positions_are_no_integers():
    blocks = position_blocks(5, 3)
    assert blocks[:, 0].tolist() == [5, 6, 7]
    assert all(number >= 10**38 for number in whole(row.tobytes() for row in blocks))
    assert position_blocks(0, 0).shape == (0, 2)


@pytest.mark.parametrize(
    "columns",
    [
        [pa.array([1, None, 3, None])],
        [pa.array(["a", None, "b", None])],
        [pa.array([0.5, float("nan"), 1.5, None])],
        [pa.array(["a", None, "b", None]).dictionary_encode()],
        [pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 1]), pa.array(["a", None]))],
        [pa.array(["a", "b", "c", None]), pa.array([1, None, 3, None])],
        [pa.chunked_array([pa.array([1, None]), pa.array([3, None])])],
    ],
)
def test_null_and_nan_name_no_row(columns):
    with pytest.raises(NullFound) as caught:
        row_blocks(columns, KEY, "t")
    assert (caught.value.offset, caught.value.count) == (1, 2)


def test_nothing_gives_nothing():
    for kind in (pa.int64(), pa.string(), pa.date32(), pa.decimal128(5, 2), pa.uuid(), pa.float64(), pa.binary(3)):
        storage = kind.storage_type if kind == pa.uuid() else kind
        nothing = pa.array([], storage)
        nothing = kind.wrap_array(nothing) if kind == pa.uuid() else nothing
        assert row_blocks([nothing], KEY, "t").shape == (0, 2)
        assert row_blocks([nothing, nothing], KEY, "t").shape == (0, 2)


@pytest.mark.parametrize(
    "columns",
    [
        [],
        [pa.array([1]), pa.array([1, 2])],
        [pa.array([[1]])],
        [pa.array([{"a": 1}])],
        [pa.array([timedelta(1)])],
        [pa.array([Decimal(10**50)], pa.decimal256(60, 0))],
    ],
)
def test_what_cannot_name_rows_is_refused(columns):
    with pytest.raises(KernelError):
        row_blocks(columns, KEY, "t")
