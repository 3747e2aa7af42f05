"""`ppdm-sql advise`: what a policy can keep under a promise, how good counts will be, and the policy edited so."""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ppdm_sql.cli.advice_text import advice_text
from ppdm_sql.cli.mechanism_text import noise_text, parts_text
from ppdm_sql.domain.binding import bind_domain
from ppdm_sql.errors import PolicyError
from ppdm_sql.mechanisms.retention import Retention
from ppdm_sql.mechanisms.small_domain.declare import NULLS
from ppdm_sql.policy import Policy, RetainedColumn, load_policy
from ppdm_sql.policy.editing import edit_policy
from ppdm_sql.privacy import Advice, advise
from ppdm_sql.privacy.mechanism_advice import MOST_VALUES, noise_advice, parts_advice

PARTED = ("small_domain", "uniform")
ASKED = ("rows", "rho1", "rho2", "gamma", "epsilon", "whole_row", "error", "predicates", "selectivity")


def run(arguments: argparse.Namespace) -> int:
    """Print the advice; write the edited policy where it was asked for."""
    policy = load_policy(Path(arguments.policy))
    advice = advise(policy, **{name: getattr(arguments, name) for name in ASKED})
    noise = noise_advice(policy, advice.wishes, arguments.distortion)
    if arguments.distortion is not None and not noise:
        raise PolicyError("no column has Gaussian noise: a distortion is asked for of such columns only.")
    parts = parts_advice(policy, advice.wishes, {} if arguments.source is None else _counts(policy, arguments.source))
    if arguments.output is not None:
        _write(_edited(Path(arguments.policy), advice), Path(arguments.output), arguments.replace)
    if arguments.format == "json":
        body = _body(advice) | {"noise": [asdict(n) for n in noise], "small_domains": [asdict(p) for p in parts]}
        print(json.dumps(_plain(body), ensure_ascii=False, indent=2, allow_nan=False))
    else:
        print("\n\n".join([advice_text(policy, advice), *noise_text(noise), *parts_text(parts)]))
        if arguments.output is not None:
            print(f"\nthe policy with these retentions: {arguments.output}")
    return 0


def _counts(policy: Policy, source: str) -> dict[str, list[int]]:
    """How many rows have each value, of the columns that could be in small domains."""
    from ppdm_sql.auditing.priors import counts_of  # noqa: PLC0415 - only where there is a source
    from ppdm_sql.auditing.tables import open_original  # noqa: PLC0415

    found = {}
    with open_original(source, policy) as original:
        types = dict(zip(original.names, map(str, original.relation.types), strict=True))
        for column in policy.perturbed:
            if column.mechanism not in PARTED or column.domain is None or column.nulls not in NULLS:
                continue
            type_name = types[original.name(column.name).casefold()]
            domain, sql_type = bind_domain(f"column {column.name!r} ({type_name})", column.domain, type_name)
            bound = RetainedColumn(column.name, sql_type, domain, 1.0, column.nulls, column.outside)
            if bound.size <= MOST_VALUES:
                values, counts = counts_of(original, bound)
                found[column.name] = np.bincount(values, counts, bound.size).astype(int).tolist()
    return found


def _edited(path: Path, advice: Advice) -> str:
    if advice.wishes.promise is None and advice.wishes.error is None:
        raise PolicyError("nothing was asked of the policy, so there is nothing to edit: ask for privacy or an error.")
    changes: dict[str, Retention | Mapping[str, float]] = {}
    for column in advice.columns:
        if column.levels:
            changes[column.name] = column.levels
        elif column.promise is not None:
            changes[column.name] = column.promise
    return edit_policy(path.read_bytes().decode("utf-8"), changes, advice.levels)


def _write(text: str, path: Path, replace: bool) -> None:
    """Whole or not at all; the publisher's own file is never written over by mistake."""
    if path.exists() and not replace:
        raise PolicyError(f"{str(path)!r} exists already: name another file, or say --replace.")
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(text.encode("utf-8"))
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise PolicyError(f"{str(path)!r} cannot be written: {error.strerror}.") from None


def _body(advice: Advice) -> dict[str, Any]:
    columns = [asdict(column) | {"epsilon": column.epsilon} for column in advice.columns]
    for column in columns:
        del column["weights"]  # up to thousands, and as the policy has them
    return asdict(advice) | {"columns": columns, "levels": dict(advice.levels), "both": advice.both}


def _plain(value: Any) -> Any:
    """JSON has no infinite number, and null means that it is not known."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return "infinite" if isinstance(value, float) and math.isinf(value) else value
