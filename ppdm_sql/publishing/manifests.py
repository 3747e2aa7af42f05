"""The manifest of a publication: what was released, and which coins it was made with."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from ppdm_udfs import coin_fingerprint

from ppdm_sql.errors import PolicyError, ReleaseError
from ppdm_sql.policy import Manifest, Policy, ReleasedColumn


def manifest_of(
    policy: Policy,
    key: bytes,
    rows: int,
    columns: Sequence[ReleasedColumn],
    order: tuple[str, ...] | None,
    level: str | None = None,
) -> Manifest:
    """The manifest of a table that was published by a policy, with a key; PolicyError where it could not be read."""
    manifest = Manifest(
        policy.table,
        rows,
        tuple(columns),
        level,
        coin_fingerprint(key, policy.table, policy.identity),
        released_identity(policy.identity, columns),
        policy_digest(policy),
        datetime.now(UTC).isoformat(timespec="seconds"),
        order=order,
    )
    try:
        Manifest.from_json(manifest.to_json())
    except ReleaseError as error:
        raise PolicyError(f"a release by this policy could not be opened: {error}") from None
    return manifest


def released_identity(identity: Sequence[str], columns: Sequence[ReleasedColumn]) -> tuple[str, ...]:
    """The columns that name a row, where all of them are released as they are; else none."""
    exact = {column.name.casefold(): column.name for column in columns if column.perturbed is None}
    if not all(name.casefold() in exact for name in identity):
        return ()
    return tuple(exact[name.casefold()] for name in identity)


def policy_digest(policy: Policy) -> str:
    """Tells whether two releases were made by one policy, at whatever level."""
    text = json.dumps(asdict(policy), default=str, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
