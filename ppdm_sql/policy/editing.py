"""Change what a policy's text says of retention, and nothing else: comments, order and layout stay the publisher's."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable, Table

from ppdm_sql.errors import PolicyError
from ppdm_sql.mechanisms.base import ColumnPolicy
from ppdm_sql.mechanisms.retention import RETENTION_KEYS, Retention
from ppdm_sql.policy.load import load_policy
from ppdm_sql.policy.model import Policy

Levels = Mapping[str, float]


def edit_policy(text: str, retentions: Mapping[str, Retention | Levels], levels: Levels | None = None) -> str:
    """The policy's TOML with other retentions.

    Parameters
    ----------
    text : str
        A policy that can be loaded.
    retentions : mapping of column name to Retention, or to a mapping of level name to float
        For each perturbed column that is to change; a mapping where the column has retentions by level.
    levels : mapping of level name to float, optional
        The same for the policy's own levels.

    Returns
    -------
    str

    Examples
    --------
    >>> policy = '''table = "t"
    ... [columns.a]            # the first
    ... mechanism = "uniform"
    ... domain = { min = 1, max = 9 }
    ... retain = 0.9           # too much
    ... '''
    >>> print(edit_policy(policy, {"a": Retention("privacy", 0.1, 0.5)}))
    table = "t"
    [columns.a]            # the first
    mechanism = "uniform"
    domain = { min = 1, max = 9 }
    privacy = { rho1 = 0.1, rho2 = 0.5 }           # too much
    <BLANKLINE>
    """
    wanted = _intended(load_policy(f"{text}\n"), retentions, levels or {})
    try:
        document: Any = tomlkit.parse(text)
        marks = []
        for name, retention in retentions.items():
            if isinstance(retention, Retention):
                marks.append(_mark(document["columns"][name], retention))
            else:
                _set_levels(document["columns"][name]["retain"], retention)
        _set_levels(document.get("levels", {}), levels or {})
        result = tomlkit.dumps(document)
    except TOMLKitError as error:
        raise PolicyError(f"the policy cannot be edited: {error}.") from None
    for mark in marks:
        result = re.sub(mark.pattern, mark.replacement, result, flags=re.MULTILINE)
    if load_policy(f"{result}\n") != wanted:
        raise PolicyError("the policy is written in a way that cannot be edited here: change its retentions by hand.")
    return str(result)


@dataclass(frozen=True)
class _Mark:
    """A mark stands in the text in a value's place; what is written instead of it, and of the key before it.

    So a key gets another name where it stands, and a new one its place after the last: neither can be done in the tree.
    """

    pattern: str
    replacement: str


def _mark(column: Any, retention: Retention) -> _Mark:
    mark = secrets.token_hex(16)
    said = [key for key in RETENTION_KEYS if key in column]
    if said and isinstance(column[said[0]], Table):
        # Taking the lines of a whole table away would take the comments after it away, too.
        raise PolicyError(f"write {said[0]} of a column on one line, {said[0]} = {{ .. }}: then it can be edited.")
    if said:
        column[said[0]] = mark
        return _Mark(rf"""["']?{said[0]}["']?(\s*=\s*)"{mark}\"""", f"{retention.asked}\\g<1>{_value(retention)}")
    last = [key for key in column if not isinstance(column[key], Table)][-1]
    kept = column[last].as_string().replace("\\", r"\\")
    column[last] = mark
    pattern = rf"""^(?P<lead>.*?)(?P<key>["']?{last}["']?\s*=\s*)"{mark}"(?P<rest>.*)$"""
    new = f"{retention.asked} = {_value(retention)}"
    if isinstance(column, InlineTable):
        return _Mark(pattern, f"\\g<lead>\\g<key>{kept}, {new}\\g<rest>")
    return _Mark(pattern, f"\\g<lead>\\g<key>{kept}\\g<rest>\n\\g<lead>{new}")


def _set_levels(table: Any, levels: Levels) -> None:
    for name, retain in levels.items():
        if float(table[name]) != retain:  # else it stays as it was written
            table[name] = retain


def _intended(policy: Policy, retentions: Mapping[str, Retention | Levels], levels: Levels) -> Policy:
    known = {column.name for column in policy.perturbed}
    unknown = sorted(set(retentions) - known) + sorted(set(levels) - set(policy.levels))
    if unknown:
        raise PolicyError(f"the policy has no perturbed column or level {unknown[0]!r}.")
    columns = tuple(_changed(c, retentions[c.name]) if c.name in retentions else c for c in policy.columns)
    return replace(policy, columns=columns, levels={**policy.levels, **levels})


def _changed(column: ColumnPolicy, retention: Retention | Levels) -> ColumnPolicy:
    if isinstance(retention, Retention):
        return replace(column, retention=retention, levels={})
    if set(retention) != set(column.levels):
        raise PolicyError(f"column {column.name!r} has not just the levels that are to change.")
    return replace(column, levels=dict(retention))


def _value(retention: Retention) -> str:
    if retention.rho2 is None:
        return repr(retention.value)
    return f"{{ rho1 = {retention.value!r}, rho2 = {retention.rho2!r} }}"
