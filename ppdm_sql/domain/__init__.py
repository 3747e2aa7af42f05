"""Domains of columns: declared, bound to SQL types, as grids and lists, in JSON and in words."""
