"""What uniform and custom retention say of themselves."""

from __future__ import annotations

from ppdm_sql.mechanisms.base import Mechanism
from ppdm_sql.mechanisms.retained.declare_custom import Custom
from ppdm_sql.mechanisms.retained.declare_uniform import Uniform

MECHANISMS: dict[str, Mechanism] = {"uniform": Uniform(), "custom": Custom()}
