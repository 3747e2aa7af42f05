"""The mechanisms that a policy may name, one module each; this table is all that policies and manifests ask."""

from __future__ import annotations

from ppdm_sql.policy.columns import PerturbedColumn
from ppdm_sql.policy.mechanism import Mechanism
from ppdm_sql.policy.mechanisms.custom import Custom
from ppdm_sql.policy.mechanisms.gaussian import Gaussian
from ppdm_sql.policy.mechanisms.own import Identity, Swap
from ppdm_sql.policy.mechanisms.select_a_size import SelectASize
from ppdm_sql.policy.mechanisms.small_domain import SmallDomain
from ppdm_sql.policy.mechanisms.uniform import Uniform
from ppdm_sql.policy.model import ColumnPolicy

_ALL: tuple[Mechanism, ...] = (Uniform(), Custom(), Identity(), Swap(), Gaussian(), SmallDomain(), SelectASize())
MECHANISMS: dict[str, Mechanism] = {mechanism.name: mechanism for mechanism in _ALL}


def bind(column: ColumnPolicy, type_name: str) -> PerturbedColumn:
    """Check `column` against its SQL type; PolicyError names the rule that does not hold."""
    return MECHANISMS[column.mechanism].bind(column, type_name)
