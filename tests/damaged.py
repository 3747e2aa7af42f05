"""Manifests that somebody has changed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ppdm_sql.policy.manifest import digest


def with_digest(body: Mapping[str, Any]) -> str:
    """The text of a manifest whose digest fits what it says now."""
    rest = {name: value for name, value in body.items() if name != "digest"}
    return json.dumps(rest | {"digest": digest(rest)}, ensure_ascii=False)
