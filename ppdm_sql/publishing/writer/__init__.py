"""The process that writes a release: it is handed perturbed rows, and never has an original or a key in its memory.

DuckDB writes whole blocks, and behind the last value of one stands whatever its memory held before. So a process that
has read originals writes no release. It starts this one as a new interpreter (`process.py`), never by forking, and
sends it commands and Arrow streams on its standard input; replies come back on its standard output (`__main__.py`).

A release is whole only when it was told so: where the input ends before that, for its owner died, nothing is left.
"""
