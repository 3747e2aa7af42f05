"""From an analyst's SQL to a plan: which states to count, and how the counts become the answer.

The passes (`passes.py` has their order) run on a copy of the tree; `plan.make_plan` then asks the engine, by one
function that it is given, which parts of each column's domain the query tells apart.
"""
