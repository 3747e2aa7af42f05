"""Pages for people who decide: what a policy or a release does, and what guessing it gets right.

Plots are Vega-Lite, turned into SVG when the page is written: a page holds no script and asks no network, prints as it
looks, and stays small.
"""
