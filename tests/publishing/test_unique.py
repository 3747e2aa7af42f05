"""Identities: repeated ones are found exactly, whatever their order, and in bounded memory."""

from pathlib import Path

import numpy as np
import pytest

from ppdm_sql.errors import SourceError, TargetError
from ppdm_sql.publishing import unique
from ppdm_sql.publishing.unique import Identities


def blocks(numbers, high=0):
    result = np.zeros((len(numbers), 2), dtype=np.uint64)
    result[:, 0] = numbers
    result[:, 1] = high
    return result


def check(batches, folder):
    identities = Identities(folder)
    try:
        for batch in batches:
            identities.add(batch)
        identities.check("the source")
    finally:
        identities.close()


RANDOM = np.random.default_rng(1).permutation(50_000).astype(np.uint64)
DISTINCT = {
    "nothing": [],
    "an empty batch": [blocks([])],
    "consecutive": [blocks(range(100)), blocks(range(100, 150))],
    "batches in any order": [blocks(range(100, 150)), blocks(range(100))],
    "gaps": [blocks([1, 5, 9]), blocks([12, 2**64 - 1])],
    "interleaved": [blocks([1, 3, 5]), blocks([2, 4, 6])],
    "shuffled": [blocks(part) for part in np.array_split(RANDOM, 7)],
    "same low word": [blocks([1, 1, 2], high=[0, 1, 1])],
    "runs and others": [blocks(range(100)), blocks([500, 400]), blocks(range(100, 200))],
}
REPEATED = {
    "in a batch": ([blocks([1, 2, 1])], 1, 3),
    "of consecutive batches": ([blocks(range(100)), blocks(range(90, 120))], 10, None),
    "run and other": ([blocks(range(100)), blocks([500, 40])], 1, 102),
    "shuffled": ([blocks(RANDOM), blocks([7])], 1, 50_001),
    "three times": ([blocks([9, 9, 9])], 2, 2),
    "with high words": ([blocks([1, 1, 1], high=[5, 6, 5])], 1, 3),
    "all the same": ([blocks([3] * 1000)], 999, 2),
}


@pytest.fixture(params=[1 << 21, 1000], ids=["in memory", "in parts"])
def _at_once(request, monkeypatch):
    monkeypatch.setattr(unique, "ROWS_AT_ONCE", request.param)


@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize("name", DISTINCT)
def test_distinct(name, tmp_path):
    check(DISTINCT[name], tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize("name", REPEATED)
def test_repeated(name, tmp_path):
    batches, count, row = REPEATED[name]
    with pytest.raises(SourceError) as caught:
        check(batches, tmp_path)
    assert f"the source: {count:,} rows repeat" in str(caught.value)
    if row is not None:
        assert f"such as row {row:,}." in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_consecutive_numbers_are_not_stored(tmp_path):
    identities = Identities(tmp_path)
    for start in range(0, 10_000, 1000):
        identities.add(blocks(range(start, start + 1000)))
    assert identities._file is None
    identities.check("the source")


def test_what_is_stored_is_encrypted(tmp_path):
    identities = Identities(tmp_path)
    identities.add(blocks([123456789, 5]))
    identities._file.seek(0)
    assert np.uint64(123456789).tobytes() not in identities._file.read()
    identities.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no disk that is always full")
def test_a_full_disk_is_one_plain_error_also_when_the_file_is_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(unique.tempfile, "TemporaryFile", lambda **_: Path("/dev/full").open("r+b"))  # noqa: SIM115
    identities = Identities(tmp_path)
    with pytest.raises(TargetError, match="identities cannot be kept"):
        identities.add(blocks([5, 3]))
    identities.close()
