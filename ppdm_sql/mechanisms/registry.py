"""Which mechanisms there are, and the modules of their folders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ppdm_sql.mechanisms.base import ColumnPolicy, Mechanism, PerturbedColumn

FOLDERS: Mapping[str, str] = {
    "uniform": "retained",
    "custom": "retained",
    "identity": "self_replaced",
    "swap": "self_replaced",
    "gaussian": "gaussian",
    "small_domain": "small_domain",
    "select_a_size": "baskets",
}
"""The folder of each mechanism, in the order in which they are told."""


@cache
def capability(mechanism: str, name: str) -> Any:
    """What a mechanism can do of one kind: the entry under its name in the table `MECHANISMS` of a module."""
    module = import_module(f"ppdm_sql.mechanisms.{FOLDERS[mechanism]}.{name}")
    return module.MECHANISMS[mechanism]


def has(mechanism: str, name: str) -> bool:
    """Whether a mechanism can do a thing of one kind at all."""
    return find_spec(f"ppdm_sql.mechanisms.{FOLDERS[mechanism]}.{name}") is not None


class _Declared(Mapping[str, Mechanism]):
    """The mechanisms by name, each loaded when it is asked for."""

    def __getitem__(self, name: str) -> Mechanism:
        if name not in FOLDERS:
            raise KeyError(name)
        found: Mechanism = capability(name, "declare")
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(FOLDERS)

    def __len__(self) -> int:
        return len(FOLDERS)


MECHANISMS: Mapping[str, Mechanism] = _Declared()


def bind(column: ColumnPolicy, type_name: str) -> PerturbedColumn:
    """Check `column` against its SQL type; PolicyError names the rule that does not hold."""
    return MECHANISMS[column.mechanism].bind(column, type_name)
