"""Release tables with randomly perturbed columns, and ask them ordinary SQL.

>>> import ppdm_sql
>>> sorted(name for name in dir(ppdm_sql) if not name.startswith("_"))[:3]
['Connection', 'Policy', 'connect']
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ppdm_sql.connection import Connection, connect
    from ppdm_sql.policy import Policy, load_policy
    from ppdm_sql.publishing import publish

__version__ = "0.1.0"

_HOMES = {
    "Connection": "ppdm_sql.connection",
    "Policy": "ppdm_sql.policy",
    "connect": "ppdm_sql.connection",
    "load_policy": "ppdm_sql.policy",
    "publish": "ppdm_sql.publishing",
}

__all__ = ["Connection", "Policy", "connect", "load_policy", "publish"]


def __getattr__(name: str) -> Any:
    """Load what is heavy when it is first used, so that importing the package stays quick."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'ppdm_sql' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
