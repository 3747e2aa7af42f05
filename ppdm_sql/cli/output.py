"""Rows to stdout: as an aligned table, as CSV or as JSON."""

from __future__ import annotations

import csv
import json
import math
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from itertools import islice
from typing import Any

TABLE_ROWS = 1000
"""A table shows no more: all rows must be known before the first can be aligned."""
DONE = (["Success"], ["Count"])
"""The empty results by which DuckDB says that a statement such as CREATE was carried out."""

Row = Sequence[Any]


def show(names: Sequence[str], rows: Iterable[Row], form: str) -> None:
    """Print a result."""
    if form == "csv":
        _csv(names, rows)
    elif form == "json":
        _json(names, rows)
    else:
        found = list(islice(rows, TABLE_ROWS + 1))
        if found or list(names) not in DONE:
            sys.stdout.write(f"{table(names, found[:TABLE_ROWS])}\n{_count(len(found))}\n")


def table(names: Sequence[str], rows: Sequence[Row]) -> str:
    """Names, a rule and one line a row; numbers to the right.

    >>> print(table(["sex", "n"], [("F", 9.5), ("M", None)]))
    sex |    n
    ----+-----
    F   |  9.5
    M   | NULL
    """
    cells = [[_cell(value) for value in row] for row in rows]
    heads = [_printable(name) for name in names]
    widths = [max(map(_width, column)) for column in zip(heads, *cells, strict=True)]
    right = [any(_is_number(row[i]) for row in rows) for i in range(len(names))]
    lines = [_line(cell_row, widths, right) for cell_row in (heads, *cells)]
    return "\n".join([lines[0], "-+-".join("-" * width for width in widths), *lines[1:]])


def _count(found: int) -> str:
    if found > TABLE_ROWS:
        return f"(the first {TABLE_ROWS:,} rows; there are more, which --format csv and json show)"
    return "(1 row)" if found == 1 else f"({found:,} rows)"


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = (
        " " * (width - _width(cell)) + cell if to_right else cell + " " * (width - _width(cell))
        for cell, width, to_right in zip(cells, widths, right, strict=True)
    )
    return " | ".join(padded).rstrip()


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return _number(value)
    return _printable(_text(value))


def _number(value: float) -> str:
    """A number as a person reads it; CSV and JSON give all of its digits."""
    if not math.isfinite(value) or abs(value) >= 1e15:
        return repr(value)
    return f"{value:.2f}" if abs(value) >= 100 else f"{value:.6g}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, default=_text)
    return str(value)


def _printable(text: str) -> str:
    """Line ends and control characters written out: they would break the table, or the terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(bool(unicodedata.combining(c)) for c in text)


def _csv(names: Sequence[str], rows: Iterable[Row]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow(["" if value is None else value if _is_number(value) else _text(value) for value in row])


def _json(names: Sequence[str], rows: Iterable[Row]) -> None:
    """One object a line, so that a long list can be read as it comes."""
    keys = _distinct(names)
    before = "[\n"
    for row in rows:
        body = {key: _plain(value) for key, value in zip(keys, row, strict=True)}
        sys.stdout.write(before + json.dumps(body, ensure_ascii=False, allow_nan=False))
        before = ",\n"
    sys.stdout.write("[]\n" if before == "[\n" else "\n]\n")


def _distinct(names: Sequence[str]) -> list[str]:
    """A second column of the same name gets a number, for an object has each key once."""
    keys: list[str] = []
    for name in names:
        key, number = name, 2
        while key in keys:
            key, number = f"{name}_{number}", number + 1
        keys.append(key)
    return keys


def _plain(value: Any) -> Any:
    """The value in JSON's own kinds; NaN becomes null, and a decimal becomes text where a double would round it."""
    result: Any = _text(value)
    if value is None or isinstance(value, bool | int | str):
        result = value
    elif isinstance(value, float):
        result = value if math.isfinite(value) else None
    elif isinstance(value, Decimal) and value.is_finite() and Decimal(repr(float(value))) == value:
        result = float(value)
    elif isinstance(value, date | datetime | time):
        result = value.isoformat()
    elif isinstance(value, list | tuple):
        result = [_plain(item) for item in value]
    elif isinstance(value, dict):
        result = {str(key): _plain(item) for key, item in value.items()}
    return result
