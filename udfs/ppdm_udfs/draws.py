"""Random bits as a function of a key and a row identity: AES, and how its bits become coins and replacements."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from ppdm_udfs.wide import multiply_high

Words: TypeAlias = npt.NDArray[np.uint64]
"""Unsigned 64-bit words; where rows are meant, of shape (n, 2) with the low word first."""

Reals: TypeAlias = npt.NDArray[np.float64]

COIN_BITS = 53
"""A coin has as many bits as a float64 holds, so that turning it into a number rounds nothing."""

_AES_BLOCK = 16
_CHUNK = 32_768  # blocks: input and output of a chunk stay in the second-level cache


def draw(cipher_key: bytes, blocks: Words, values: Words | None = None) -> Words:
    """Encrypt one 128-bit block a row, with the row's value in its low word where there are values.

    AES is a permutation of blocks, so distinct rows never share a draw, and without the key the draws cannot be told
    from random ones.

    Parameters
    ----------
    cipher_key
        32 bytes, one key for each (table, column, draw number).
    blocks
        Shape (n, 2), C-contiguous.
    values
        Shape (n,).

    Returns
    -------
    Words
        Shape (n, 2): in column 0 the coin's bits, in column 1 the replacement's.
    """
    count = len(blocks)
    source = np.ascontiguousarray(blocks, dtype="<u8")
    # The cipher insists on a spare block at the end of what it writes to.
    target = np.empty(count * _AES_BLOCK + _AES_BLOCK, dtype=np.uint8)
    encryptor = Cipher(algorithms.AES(cipher_key), modes.ECB()).encryptor()  # noqa: S305 - one block a row is a PRF
    for start in range(0, count, _CHUNK):
        stop = min(start + _CHUNK, count)
        piece = source[start:stop]
        if values is not None:
            piece = piece.copy()
            piece[:, 0] ^= values[start:stop]
        into = target.data[start * _AES_BLOCK : (stop + 1) * _AES_BLOCK]
        encryptor.update_into(piece.reshape(-1).view(np.uint8).data, into)
    return target[: count * _AES_BLOCK].view("<u8").reshape(count, 2)


def coins(bits: Words) -> Reals:
    """Return U in [0, 1) from a coin's bits; 1 is never reached, so that a retention of 1 keeps every row."""
    drawn = (bits >> np.uint64(64 - COIN_BITS)).astype(np.float64)
    drawn *= 2.0**-COIN_BITS
    return drawn


def replacements(bits: Words, size: int) -> Words:
    """Return uniform indices below `size`: the high word of ``bits * size``, which unlike a modulo favours no end."""
    return multiply_high(bits, size)
