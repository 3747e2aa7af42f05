"""Keys for tests that must give the same numbers at every run."""

from __future__ import annotations

import hashlib
from pathlib import Path


def write_key(folder: Path, number: int) -> Path:
    """A key file that depends on the number only."""
    path = folder / f"{number}.key"
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(hashlib.sha256(f"test key {number}".encode()).hexdigest() + "\n", encoding="ascii")
    return path
