"""How identity and swap publish: all rows are looked at before the first is perturbed."""

from __future__ import annotations

from ppdm_sql.mechanisms.self_replaced.publish_identity import IdentityColumn
from ppdm_sql.mechanisms.self_replaced.publish_swap import SwapColumn
from ppdm_sql.publishing.perturber import Publishing, one_each

MECHANISMS: dict[str, Publishing] = {
    "identity": Publishing(one_each(IdentityColumn)),
    "swap": Publishing(one_each(SwapColumn)),
}
