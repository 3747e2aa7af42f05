"""SQL as text and as trees: reading, quoting, parentheses, and refusals that say where in a text the reason stands."""
