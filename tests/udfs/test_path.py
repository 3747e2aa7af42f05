"""Releases of one key at several retentions: the Markov chain of section 5, and its exact format."""

import hmac
import itertools
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from ppdm_udfs import Grid, Uniform, Values, perturb, perturb_indices, position_blocks, row_blocks, subkey

KEY = bytes(range(32))


def test_three_levels_are_the_markov_chain_of_their_retentions():
    """The joint law of the original and its copies at .5, .3 and .1 is the product of single steps.

    A step from p to p' keeps with p'/p. That the law of a later copy depends on the copy before it alone is also what
    makes two copies that agree say no more than the better of them.
    """
    count, size, levels = 4_000_000, 4, (0.5, 0.3, 0.1)
    original = np.random.default_rng(3).integers(0, size, count).astype(np.uint64)
    rows = position_blocks(0, count)
    copies = {
        level: perturb_indices(original, size, level, key=KEY, table="t", column="c", rows=rows)
        for level in (0.3, 0.1, 0.5)
    }
    code = original.astype(np.int64)
    for level in levels:
        code = code * size + copies[level].astype(np.int64)
    counts = np.bincount(code, minlength=size**4).reshape((size,) * 4)
    totals = counts.sum(axis=(1, 2, 3))

    def step(retain, start, end):
        return retain * (start == end) + (1 - retain) / size

    for states in itertools.product(range(size), repeat=4):
        share = np.prod(
            [step(q, *pair) for q, pair in zip((0.5, 0.3 / 0.5, 0.1 / 0.3), itertools.pairwise(states), strict=True)]
        )
        expected = totals[states[0]] * share
        assert abs(counts[states] - expected) < 5 * np.sqrt(expected * (1 - share)), states


def test_one_coin_against_two_thresholds_would_be_caught():
    """Copies that differ must not betray the better one: where they differ, it is kept as often as anywhere."""
    count, size = 1_000_000, 50
    original = np.zeros(count, dtype=np.uint64)
    rows = position_blocks(0, count)
    fine, coarse = (
        perturb_indices(original, size, level, key=KEY, table="t", column="c", rows=rows) for level in (0.5, 0.2)
    )
    differ = fine != coarse
    kept = np.count_nonzero(fine[differ] == 0)
    share = 0.5 + 0.5 / size
    assert abs(kept - differ.sum() * share) < 5 * np.sqrt(differ.sum() * share * (1 - share))


def reference_subkey(key, *address):
    text = b""
    for part in address:
        data = str(part).encode()
        text += (b"s" if isinstance(part, str) else b"i") + len(data).to_bytes(8, "little") + data
    return hmac.digest(key, text, "sha256")


def aes(key, block):
    return Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(block)  # noqa: S305


def reference_path(value, size, retain, identity, table="t", column="c"):
    """Say the format once more in plain Python: one block, one row, one draw at a time."""
    row = aes(reference_subkey(KEY, "rows", table), identity.to_bytes(16, "little", signed=True))
    held = (int.from_bytes(row, "little") ^ value).to_bytes(16, "little")
    reached, result = 1.0, value
    for number in itertools.count(1):
        block = aes(reference_subkey(KEY, "draw", table, column, "some parameters", size, number), held)
        coin, replacement = (int.from_bytes(block[at : at + 8], "little") for at in (0, 8))
        reached *= (coin >> 11) * 2.0**-53
        if reached < retain:
            return result
        result = replacement * size >> 64
    raise AssertionError


@pytest.mark.parametrize(
    ("size", "retain", "count"), [(74, 0.3, 3000), (2**53, 0.05, 1000), (2, 1e-12, 200), (9, 0.999, 500)]
)
def test_the_kernel_is_the_plain_python_path(size, retain, count):
    rng = np.random.default_rng(size % 1000)
    ids = rng.integers(-(2**62), 2**62, count)
    values = rng.integers(0, size, count).astype(np.uint64)
    rows = row_blocks([pa.array(ids)], KEY, "t")
    names = {"key": KEY, "table": "T", "column": "C", "parameters": "some parameters"}
    got = perturb_indices(values, size, retain, rows=rows, **names).tolist()
    assert got == [
        reference_path(value, size, retain, identity)
        for value, identity in zip(values.tolist(), ids.tolist(), strict=True)
    ]


def reference_hash(table, *columns):
    """One row's CBC-MAC; a column is (tag letter or number, bytes)."""
    message = b""
    for tag, data in columns:
        message += (ord(tag) if isinstance(tag, str) else tag).to_bytes(8, "little")
        message += len(data).to_bytes(8, "little") + data + bytes(-len(data) % 16)
    message = (len(message) // 16).to_bytes(8, "little") + len(columns).to_bytes(8, "little") + message
    key, state = reference_subkey(KEY, "identity", table), bytes(16)
    for at in range(0, len(message), 16):
        state = aes(key, bytes(a ^ b for a, b in zip(state, message[at : at + 16], strict=True)))
    return state


def signed(number):
    return number.to_bytes(16, "little", signed=True)


def test_the_identity_hash_is_the_plain_python_hash():
    rng = np.random.default_rng(5)
    texts = ["x" * int(length) + str(at) for at, length in enumerate(rng.integers(0, 80, 400))]
    texts[7], texts[9], texts[11] = "", "y" * 5000, "z" * 3_000_000
    numbers = rng.integers(-1000, 1000, 400)
    blocks = row_blocks([pa.array(texts), pa.array(numbers, pa.int16())], KEY, "Adult")
    for at in [*range(0, 400, 9), 7, 9]:
        expected = reference_hash("adult", ("s", texts[at].encode()), ("i", signed(int(numbers[at]))))
        assert blocks[at].tobytes() == expected
    assert row_blocks([pa.array(texts)], KEY, "t")[9].tobytes() == reference_hash("t", ("s", b"y" * 5000))


def test_the_tags_of_every_type_are_fixed():
    def one(array):
        return row_blocks([array], KEY, "t").tobytes()

    def word(low, high=0):
        return low.to_bytes(8, "little", signed=low < 0) + high.to_bytes(8, "little")

    assert one(pa.array([b"ab"])) == reference_hash("t", ("x", b"ab"))
    assert one(pa.array([True])) == reference_hash("t", ("b", word(1)))
    assert one(pa.array([0.5])) == reference_hash("t", ("r", np.float64(0.5).tobytes() + bytes(8)))
    assert one(pa.array([-3], pa.date32())) == reference_hash("t", ("D", signed(-3)))
    assert one(pa.array([-1], pa.timestamp("us"))) == reference_hash("t", ("M", word(-1, 999_999_000)))
    assert one(pa.array([1001], pa.time64("us"))) == reference_hash("t", ("T", word(0, 1_001_000)))
    tag = ord("d") | 1 << 8
    assert one(pa.array([Decimal("-1.50")])) == reference_hash("t", (tag, signed(-15)))


def test_golden_values():
    """Published releases depend on these numbers: a change here breaks every coupling with earlier releases."""
    rows = row_blocks([pa.array(range(12))], KEY, "adult")

    def at(array, mechanism):
        return perturb(array, mechanism, key=KEY, table="adult", column="age", rows=rows).to_pylist()

    ages = pa.array([30] * 12, pa.int16())
    assert subkey(KEY, "draw", "adult", "age", 1).hex() == GOLDEN["subkey"]
    assert at(ages, Uniform(Grid(17, 1, 74), 0.3)) == GOLDEN["0.3"]
    assert at(ages, Uniform(Grid(17, 1, 74), 0.05)) == GOLDEN["0.05"]
    assert at(pa.array(["b"] * 12), Uniform(Values(pa.array(["a", "b", "c"])), 0.3)) == GOLDEN["text"]
    assert at(pa.array([0.3] * 12), Uniform(Grid(0, 1, 11, scale=1), 0.3)) == GOLDEN["real"]
    assert row_blocks([pa.array(["Ada", "Ωμέγα"])], KEY, "adult").tobytes().hex() == GOLDEN["identity"]


GOLDEN = {
    "subkey": "c9dfc3da5311c806299c25b1a9735b65eed1e9a4c5be20e9f183db3e38a18b97",
    "0.3": [47, 30, 58, 30, 30, 30, 56, 23, 88, 33, 76, 85],
    "0.05": [47, 30, 38, 42, 35, 30, 50, 51, 41, 70, 43, 87],
    "text": ["c", "b", "b", "c", "c", "a", "b", "c", "b", "b", "b", "a"],
    "real": [0.5, 0.3, 0.8, 0.3, 0.3, 0.5, 0.4, 0.3, 0.2, 0.3, 0.8, 0.5],
    "identity": "a43440e8ca93707dcd247e9ea4678a4a23147f09e9da5331e6a25fc685ff94e3",
}
