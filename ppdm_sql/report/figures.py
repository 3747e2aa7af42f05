"""A plot with what it says in words and in numbers, so that nobody needs to see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup


@dataclass(frozen=True)
class Figure:
    """`label` says what is drawn, `says` what to take from it; `names` and `rows` are the numbers."""

    label: str
    svg: Markup
    says: str
    names: Sequence[str]
    rows: Sequence[Sequence[str]]
