"""What a publisher declares: per column a mechanism, a domain, and how much is kept.

What a mechanism means by its words stands in its folder in `mechanisms`; `docs/ARCHITECTURE.md` says what a new one
needs.
"""

from ppdm_sql.mechanisms.base import ColumnPolicy, PerturbedColumn
from ppdm_sql.mechanisms.registry import bind
from ppdm_sql.mechanisms.retained.column import RetainedColumn
from ppdm_sql.policy.explain import explain_policy
from ppdm_sql.policy.load import load_policy
from ppdm_sql.policy.manifest import Manifest, ReleasedColumn
from ppdm_sql.policy.model import Policy

__all__ = [
    "ColumnPolicy",
    "Manifest",
    "PerturbedColumn",
    "Policy",
    "ReleasedColumn",
    "RetainedColumn",
    "bind",
    "explain_policy",
    "load_policy",
]
