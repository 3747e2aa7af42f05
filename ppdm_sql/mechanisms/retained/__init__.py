"""Kept with a probability, else replaced by a draw from declared weights: uniform and custom."""
