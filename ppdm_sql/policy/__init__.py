"""What a publisher declares: per column a mechanism, a domain, and how much is kept.

To add a mechanism, write a module of its name in each of these and enter it in the table beside it; nothing else asks
which mechanism a column has:

- `udfs/ppdm_udfs`: the kernel, from arrays, public parameters and a key to arrays;
- `policy/mechanisms`, table `MECHANISMS`: which keys it has in a policy, its SQL types, its part of the manifest, its
  words in `explain` and DESCRIBE PERTURBED. Where `RetainedColumn` (kept, or replaced by a draw from known weights)
  does not fit, it has a subclass of `PerturbedColumn` of its own, and one of `ColumnPolicy` for its own keys;
- `publishing/mechanisms`, table `PUBLISHING`: what perturbs batch after batch. A `Perturber` may have several columns,
  look at all rows before the first is perturbed, find public parameters while doing so, and fill a column that
  `added` puts into the release; its words in SQL are a reader in `publishing_sql/perturb_clause.py`;
- `query`: what is a `RetainedColumn` is answered like any other. Of any other kind, `query/understand/terms.py`
  refuses to make conditions, values and groups until it is told how;
- `tests/mechanisms`: the suite that every mechanism passes.
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
