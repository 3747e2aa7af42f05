"""Ways to reconstruct the groups of a plan, one file each; `strategies.py` has them in the order they are tried."""
