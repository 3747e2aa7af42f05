"""`ppdm-sql publish`: from a source and a policy to a release."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NoReturn

from ppdm_sql.engines.signature import signature_path
from ppdm_sql.errors import PolicyError
from ppdm_sql.policy import Manifest, Policy, load_policy
from ppdm_sql.policy.mechanisms import MECHANISMS
from ppdm_sql.publishing import publish


def run(arguments: argparse.Namespace) -> int:
    """Publish, and say what became of each column."""
    policy = load_policy(Path(arguments.policy))
    fresh = not Path(arguments.key).exists()
    manifest = publish(
        arguments.source,
        policy,
        to=arguments.to,
        key=arguments.key,
        level=arguments.level,
        replace=arguments.replace,
        adopt=[_copy(text) for text in arguments.adopt],
        independent=arguments.independent,
        sign=arguments.sign,
    )
    print(f"{manifest.table}: {manifest.rows:,} rows published to {arguments.to}")
    print(outcome(manifest, policy))
    made = "made just now" if fresh else "used as it was"
    print(f"key: {arguments.key}, {made}; keep it secret, and use it for every release of this table")
    if arguments.sign is not None:
        print(f"signed: {signature_path(Path(arguments.to))}, which goes to everybody with the release")
    return 0


def _copy(text: str) -> tuple[str, float]:
    """FILE=P."""
    name, sign, number = text.rpartition("=")
    try:
        return (name, float(number)) if sign and name else _bad(text)
    except ValueError:
        return _bad(text)


def _bad(text: str) -> NoReturn:
    raise PolicyError(f"--adopt {text!r}: write the copy's file and its retention, such as old.parquet=0.4.")


def outcome(manifest: Manifest, policy: Policy) -> str:
    """What is perturbed, what is exact and what is not released."""
    perturbed = [
        f"{column.name} ({MECHANISMS[column.mechanism].describe(column).kept})" for column in manifest.perturbed
    ]
    exact = [column.name for column in manifest.columns if column.perturbed is None]
    groups = {"perturbed": perturbed, "released as they are": exact, "not released": list(policy.dropped)}
    return "\n".join(f"{title}: {', '.join(names)}" for title, names in groups.items() if names)
