"""Kept with a probability, else replaced by one of the column's own values: identity and swap."""
