"""The mathematics of randomized baskets: operators, how they mix, how they are chosen, supports and their errors."""

from ppdm_sql.itemsets.choosing import best_operator, extremal
from ppdm_sql.itemsets.discoverable import lowest_discoverable, lowest_discoverable_of_sizes
from ppdm_sql.itemsets.operator import Operator

__all__ = ["Operator", "best_operator", "extremal", "lowest_discoverable", "lowest_discoverable_of_sizes"]
