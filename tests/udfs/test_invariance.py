"""A release depends on key, names, identities, values and mechanism alone."""

import itertools
import pickle

import numpy as np
import pyarrow as pa
import pytest
from ppdm_udfs import (
    Grid,
    KernelError,
    NullFound,
    OutsideDomain,
    Uniform,
    Values,
    perturb,
    perturb_indices,
    row_blocks,
    subkey,
)
from ppdm_udfs import uniform as module

KEY = bytes(range(32))
COUNT = 50_000
NAMES = {"key": KEY, "table": "adult", "column": "age"}


@pytest.fixture(scope="module", params=["integer", "text", "dictionary", "decimal"])
def case(request):
    index = np.random.default_rng(1).integers(0, 5, COUNT)
    mask = index == 4
    words = np.array(["a", "bb", "ccc", "dddd", ""])[index]
    array, domain = {
        "integer": lambda: (pa.array(index.astype(np.int16), mask=mask), Grid(0, 1, 5)),
        "text": lambda: (pa.array(words, mask=mask), Values(pa.array(["a", "bb", "ccc", "dddd"]))),
        "dictionary": lambda: (
            pa.array(words, mask=mask).dictionary_encode(),
            Values(pa.array(["dddd", "bb", "ccc", "a"])),
        ),
        "decimal": lambda: (pa.array(index, mask=mask).cast(pa.decimal128(21, 2)), Grid(0, 1, 5)),
    }[request.param]()
    rows = row_blocks([pa.array(np.arange(COUNT) * 7)], KEY, "adult")
    mechanism = Uniform(domain, 0.3, nulls="keep")
    return array, mechanism, rows, perturb(array, mechanism, rows=rows, **NAMES)


def values(array):
    return array.to_pylist()


def test_slices_and_threads_do_not_matter(case, monkeypatch):
    array, mechanism, rows, expected = case
    for size, threads in ((1000, 1), (999, 3), (7_777, 2), (10**6, None)):
        monkeypatch.setattr(module, "ROWS", size)
        assert perturb(array, mechanism, rows=rows, threads=threads, **NAMES).equals(expected)


def test_batches_do_not_matter(case):
    array, mechanism, rows, expected = case
    for size in (1, 2_048, 12_345):
        stop = min(COUNT, 30 * size)
        parts = [
            values(perturb(array.slice(at, size), mechanism, rows=rows[at : at + size], **NAMES))
            for at in range(0, stop, size)
        ]
        assert list(itertools.chain(*parts)) == values(expected)[:stop]


def test_chunks_do_not_matter(case):
    array, mechanism, rows, expected = case
    chunked = pa.chunked_array([array.slice(0, 10), array.slice(10, 0), array.slice(10, 30_000), array.slice(30_010)])
    assert perturb(chunked, mechanism, rows=rows, **NAMES).equals(expected)


def test_order_does_not_matter(case):
    array, mechanism, rows, expected = case
    order = np.random.default_rng(2).permutation(COUNT)
    moved = perturb(array.take(pa.array(order)), mechanism, rows=rows[order], **NAMES)
    assert moved.equals(expected.take(pa.array(order)))


def test_nothing_gives_nothing(case):
    array, mechanism, rows, _ = case
    for nothing in (array.slice(0, 0), pa.chunked_array([], array.type)):
        result = perturb(nothing, mechanism, rows=rows[:0], **NAMES)
        assert len(result) == 0
        assert result.type == array.type


def test_rows_that_take_no_part_stay_and_the_input_is_not_written_to():
    index = np.arange(1000, dtype=np.uint64) % 9
    before = index.copy()
    rows = row_blocks([pa.array(range(1000))], KEY, "adult")
    part = index % 2 == 0
    result = perturb_indices(index, 9, 0.2, rows=rows, taking_part=part, **NAMES)
    full = perturb_indices(index, 9, 0.2, rows=rows, **NAMES)
    assert np.array_equal(result, np.where(part, full, index))
    assert np.array_equal(index, before)


def test_identities_must_fit_the_column_and_the_key_its_length():
    rows = row_blocks([pa.array(range(3))], KEY, "adult")
    with pytest.raises(KernelError, match="2 rows"):
        perturb(pa.array([1, 2]), Uniform(Grid(0, 1, 5), 0.5), rows=rows, **NAMES)
    with pytest.raises(KernelError, match="32 bytes"):
        subkey(b"short", "a")
    with pytest.raises(KernelError, match="2\\*\\*53"):
        perturb_indices(np.zeros(3, np.uint64), 0, 0.5, rows=rows, **NAMES)


def test_addresses_of_keys_are_prefix_free():
    addresses = [("a", "bc"), ("ab", "c"), ("abc",), ("a", "b", "c"), ("1",), (1,), ("",), (), ("", "")]
    assert len({subkey(KEY, *address) for address in addresses}) == len(addresses)


def test_errors_survive_a_process_boundary():
    for error in (OutsideDomain(3, 2), NullFound(1, 1)):
        copy = pickle.loads(pickle.dumps(error))  # noqa: S301
        assert (type(copy), copy.offset, copy.count, str(copy)) == (type(error), error.offset, error.count, str(error))
