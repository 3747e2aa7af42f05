"""What a publisher declares: per column a mechanism, a domain, and how much is kept."""

from ppdm_sql.policy.binding import BoundColumn, bind
from ppdm_sql.policy.explain import explain_policy
from ppdm_sql.policy.load import load_policy
from ppdm_sql.policy.manifest import Manifest, ReleasedColumn
from ppdm_sql.policy.model import ColumnPolicy, Policy

__all__ = [
    "BoundColumn",
    "ColumnPolicy",
    "Manifest",
    "Policy",
    "ReleasedColumn",
    "bind",
    "explain_policy",
    "load_policy",
]
