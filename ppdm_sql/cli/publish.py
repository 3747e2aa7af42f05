"""`ppdm-sql publish`: from a source and a policy to a release."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from ppdm_sql.errors import PolicyError
from ppdm_sql.mechanisms.registry import MECHANISMS
from ppdm_sql.policy import Manifest, Policy, load_policy
from ppdm_sql.publishing import publish
from ppdm_sql.publishing.adopting import Declared
from ppdm_sql.release.signature import signature_path


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


def _copy(text: str) -> tuple[str, Declared]:
    """FILE=P, or FILE=COLUMN:P,COLUMN:P; a column may stand in double quotes."""
    for sign in reversed([place for place, letter in enumerate(text) if letter == "="]):
        name, said = text[:sign], text[sign + 1 :]
        number = _number(said)
        if name and number is not None:
            return name, number
        columns = _columns(said) if name else None
        if columns is not None:
            return name, columns
    raise PolicyError(
        f"--adopt {text!r}: write the copy's file and its retention, such as old.parquet=0.4, or what each column of "
        "it has, such as old.parquet=age:0.4,wage:0.25."
    )


def _columns(text: str) -> dict[str, float] | None:
    """What is said of each column; None where the text says something else."""
    if _COLUMNS.fullmatch(text) is None:
        return None
    result: dict[str, float] = {}
    for found in _COLUMN.finditer(text):
        name = found[2] or found[1].replace('""', '"')
        number = _number(found[3])
        if number is None:
            return None
        if name in result:
            raise PolicyError(f"--adopt: column {name!r} is named twice, in {text!r}.")
        result[name] = number
    return result


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


_ONE = r'(?:"((?:[^"]|"")+)"|([^",:=]+)):([^",:=]+)'  # "a ""name""":0.4 or name:0.4
_COLUMN = re.compile(_ONE)
_COLUMNS = re.compile(f"{_ONE}(?:,{_ONE})*")


def outcome(manifest: Manifest, policy: Policy) -> str:
    """What is perturbed, what is exact and what is not released."""
    perturbed = [
        f"{column.name} ({MECHANISMS[column.mechanism].describe(column).kept})" for column in manifest.perturbed
    ]
    exact = [column.name for column in manifest.columns if column.perturbed is None]
    groups = {"perturbed": perturbed, "released as they are": exact, "not released": list(policy.dropped)}
    return "\n".join(f"{title}: {', '.join(names)}" for title, names in groups.items() if names)
