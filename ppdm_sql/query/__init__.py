"""From a plan to the answer of a query."""
