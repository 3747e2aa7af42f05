"""Keys derived from the publisher's secret: one for each use, so that no two uses ever share a coin."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

from ppdm_udfs.errors import KernelError

KEY_BYTES = 32


def subkey(key: bytes, *address: str | int) -> bytes:
    """Return the 32-byte key of one address, such as ``("draw", "adult", "age", 1)``.

    Every part is written with its type and length before it, so that ``("a", "bc")`` and ``("ab", "c")``, or
    ``1`` and ``"1"``, are different addresses.
    """
    if len(key) != KEY_BYTES:
        raise KernelError(f"a key has {KEY_BYTES} bytes, not {len(key)}")
    return hmac.new(key, encoded(*address), hashlib.sha256).digest()


def encoded(*address: str | int) -> bytes:
    """An address as bytes."""
    return b"".join(map(_part, address))


def coin_fingerprint(key: bytes, table: str, identity: Sequence[str]) -> str:
    """Which coins a release was made with, in 64 hexadecimal digits that lead no way back to the key.

    Two releases with one fingerprint toss one coin for a row that both have; with different ones all their coins are
    independent. `identity` has the columns that name a row, none for its position. How many they are tells the coins
    apart, and their names do not: a row of number 7 has the same coins whatever the column with the 7 is called.
    """
    return subkey(key, "fingerprint", table.casefold(), len(identity)).hex()


def _part(part: str | int) -> bytes:
    kind, text = (b"s", part) if isinstance(part, str) else (b"i", str(int(part)))
    data = text.encode()
    return kind + len(data).to_bytes(8, "little") + data
