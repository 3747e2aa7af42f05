"""Source to perturbed release with its manifest, streaming; and the statements that say so in SQL."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ppdm_sql.publishing.keyfile import create_key, load_key
    from ppdm_sql.publishing.release import publish
    from ppdm_sql.publishing.signing import sign_release
    from ppdm_sql.publishing.signing_key import create_signing_key

_HOMES = {
    "create_key": "ppdm_sql.publishing.keyfile",
    "create_signing_key": "ppdm_sql.publishing.signing_key",
    "load_key": "ppdm_sql.publishing.keyfile",
    "publish": "ppdm_sql.publishing.release",
    "sign_release": "ppdm_sql.publishing.signing",
}

__all__ = ["create_key", "create_signing_key", "load_key", "publish", "sign_release"]


def __getattr__(name: str) -> Any:
    """Load what is heavy when it is first used: an analyst's connection reads the statements only."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'ppdm_sql.publishing' has no attribute {name!r}")
