"""Models built on answers, never on rows: decision trees, itemsets, rules."""

from ppdm_sql.mining.growing import decision_tree
from ppdm_sql.mining.itemsets import association_rules, frequent_itemsets
from ppdm_sql.mining.tree import Tree

__all__ = ["Tree", "association_rules", "decision_tree", "frequent_itemsets"]
