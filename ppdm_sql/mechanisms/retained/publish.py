"""How uniform and custom retention publish: value by value."""

from __future__ import annotations

from ppdm_sql.mechanisms.retained.publish_custom import CustomColumn
from ppdm_sql.mechanisms.retained.publish_uniform import UniformColumn
from ppdm_sql.publishing.perturber import Publishing, one_each

MECHANISMS: dict[str, Publishing] = {
    "uniform": Publishing(one_each(UniformColumn), row_by_row=True),
    "custom": Publishing(one_each(CustomColumn), row_by_row=True),
}
