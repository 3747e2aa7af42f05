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

from ppdm_sql.cli.advice_text import advice_text
from ppdm_sql.errors import PolicyError
from ppdm_sql.policy import load_policy
from ppdm_sql.policy.editing import edit_policy
from ppdm_sql.policy.retention import Retention
from ppdm_sql.privacy import Advice, advise

ASKED = ("rows", "rho1", "rho2", "gamma", "epsilon", "whole_row", "error", "predicates", "selectivity")


def run(arguments: argparse.Namespace) -> int:
    """Print the advice; write the edited policy where it was asked for."""
    policy = load_policy(Path(arguments.policy))
    advice = advise(policy, **{name: getattr(arguments, name) for name in ASKED})
    if arguments.output is not None:
        _write(_edited(Path(arguments.policy), advice), Path(arguments.output), arguments.replace)
    if arguments.format == "json":
        print(json.dumps(_plain(_body(advice)), ensure_ascii=False, indent=2, allow_nan=False))
    else:
        print(advice_text(policy, advice))
        if arguments.output is not None:
            print(f"\nthe policy with these retentions: {arguments.output}")
    return 0


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
