"""Row identities: the 128 bits by which a row's coins are found again, whatever release, engine or batch it is in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from ppdm_udfs.buffers import joined
from ppdm_udfs.canonical import INTEGER, Fixed, Text, canonical, integers, invalid
from ppdm_udfs.draws import draw
from ppdm_udfs.errors import KernelError, NullFound
from ppdm_udfs.keys import subkey
from ppdm_udfs.slices import over_slices
from ppdm_udfs.wide import Words

POSITION = int.from_bytes(b"position", "big")
"""High word of a position. No DECIMAL(38, 0) reaches it, so that a position is never taken for an integer."""

_BLOCK = 16
_FEW = 64  # rows that are still being read one block at a time before each is read to its end on its own
_PIECE = 1 << 20  # bytes of one long text that are encrypted at once

# Which bytes of a block belong to a text of which 0 to 16 bytes are left.
_MASKS = np.array([[0xFF] * left + [0] * (_BLOCK - left) for left in range(_BLOCK + 1)], dtype=np.uint8).view("<u8")


def row_blocks(columns: Sequence[pa.Array | pa.ChunkedArray], key: bytes, table: str) -> Words:
    """Return the identities of rows, shape (n, 2).

    One integer column is its own identity, sign-extended to 128 bits. Anything else is hashed with the key over an
    encoding that depends on the values but not on the types that carry them: a text is the same as string or
    dictionary, a number the same in any width or scale, a moment the same in any unit.

    Raises
    ------
    NullFound
        Where a column is NULL or NaN: such a row could not be found again.
    """
    if not columns:
        raise KernelError("an identity needs at least one column")
    count = len(columns[0])
    if any(len(column) != count for column in columns):
        raise KernelError("the columns of an identity differ in length")
    cipher_key = subkey(key, "identity", table.casefold())
    result = np.empty((count, 2), dtype=np.uint64)

    def part(start: int, stop: int) -> None:
        arrays = [joined(column.slice(start, stop - start)) for column in columns]
        unusable = [flags for flags in map(invalid, arrays) if flags is not None]
        refused = np.logical_or.reduce(unusable) if unusable else np.zeros(1, dtype=np.bool_)
        if refused.any():
            raise NullFound(int(refused.argmax()), int(np.count_nonzero(refused)))
        numbers = integers(arrays[0]) if len(arrays) == 1 else None
        result[start:stop] = _identity(arrays, cipher_key) if numbers is None else numbers

    over_slices(part, count)
    return result


def position_blocks(start: int, count: int) -> Words:
    """Return the identities of rows that are known by their position only, in a space apart from all integers."""
    result = np.empty((count, 2), dtype=np.uint64)
    result[:, 0] = np.arange(start, start + count, dtype=np.uint64)
    result[:, 1] = POSITION
    return result


def _identity(arrays: Sequence[pa.Array], cipher_key: bytes) -> Words:
    columns = [canonical(array) for array in arrays]
    blocks = hashed(columns, cipher_key)
    if len(columns) == 1 and isinstance(columns[0], Fixed):
        # A DECIMAL(5, 2) of 7.00 is the integer 7, so it must be found under the integer's identity.
        return np.where((columns[0].tag == INTEGER)[:, None], columns[0].words, blocks)
    return blocks


def hashed(columns: Sequence[Fixed | Text], cipher_key: bytes) -> Words:
    """Return the CBC-MAC of every row, all rows one block at a time.

    A row's message begins with its number of blocks, and each column with its type and length, so that no message is
    the beginning of another: what CBC-MAC needs to be a pseudorandom function, and what tells ("a", "bc") from
    ("ab", "c").
    """
    blocks = np.empty((len(columns[0].tag), 2), dtype=np.uint64)
    blocks[:, 0] = sum(column.blocks() + np.uint64(1) for column in columns)
    blocks[:, 1] = len(columns)
    state = draw(cipher_key, blocks)
    for column in columns:
        state[:, 0] ^= column.tag
        state[:, 1] ^= column.lengths
        state = draw(cipher_key, state)
        if isinstance(column, Fixed):
            state ^= column.words
            state = draw(cipher_key, state)
        else:
            _absorb(state, column, cipher_key)
    return state


def _absorb(state: Words, text: Text, cipher_key: bytes) -> None:
    """Carry every row's state over its own text, in place; memory does not grow with the longest text."""
    windows = np.ndarray((len(text.data) - _BLOCK + 1,), dtype="V16", buffer=text.data, strides=(1,))
    rows = np.flatnonzero(text.lengths)
    position = 0
    while len(rows) > _FEW:
        starts = text.starts[rows] + position
        left = np.minimum(text.lengths[rows] - np.uint64(position), np.uint64(_BLOCK))
        block = windows[starts].view("<u8").reshape(-1, 2)
        block &= _MASKS[left.astype(np.intp)]
        block ^= state[rows]
        state[rows] = draw(cipher_key, block)
        position += _BLOCK
        rows = rows[text.lengths[rows] > position]
    for row in rows.tolist():
        begin = int(text.starts[row])
        rest = text.data[begin + position : begin + int(text.lengths[row])]
        state[row] = _chain(cipher_key, state[row], rest)


def _chain(cipher_key: bytes, state: Words, rest: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> Words:
    """Carry one row's state over the rest of its text."""
    encryptor = Cipher(algorithms.AES(cipher_key), modes.CBC(state.astype("<u8").tobytes())).encryptor()
    last = b""
    for start in range(0, len(rest), _PIECE):
        piece = rest[start : start + _PIECE].tobytes()
        last = encryptor.update(piece + bytes(-len(piece) % _BLOCK))[-_BLOCK:]
    return np.frombuffer(last, dtype="<u8")
