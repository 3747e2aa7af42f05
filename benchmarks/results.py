"""What was measured, beside what it should be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

HEADER = ("what", "measured", "aim", "limit", "within", "")


@dataclass(frozen=True)
class Result:
    """One number; smaller is better. Without a limit, or where it is not `binding`, it is for information."""

    what: str
    value: float
    unit: str = "x"
    aim: float | None = None
    limit: float | None = None
    binding: bool = True
    detail: str = ""
    numbers: dict[str, float] = field(default_factory=dict)

    @property
    def within(self) -> bool:
        """Whether the number keeps to its limit, if it has one."""
        return self.limit is None or self.value <= self.limit

    def row(self) -> tuple[str, ...]:
        """The cells of a line of the table."""
        verdict = "-" if self.limit is None else "yes" if self.within else "NO"
        if self.limit is not None and not self.binding:
            verdict += " (info)"
        return self.what, self._text(self.value), self._text(self.aim), self._text(self.limit), verdict, self.detail

    def entry(self) -> dict[str, object]:
        """The same for a file."""
        return {
            "what": self.what,
            "value": self.value,
            "unit": self.unit,
            "aim": self.aim,
            "limit": self.limit,
            "within": self.within,
            "binding": self.binding,
            **self.numbers,
        }

    def _text(self, value: float | None) -> str:
        if value is None:
            return "-"
        return f"{value:.2f}" if self.unit == "x" else f"{value:.3g} {self.unit}"


def table(results: Sequence[Result]) -> str:
    """All results, aligned."""
    rows = [HEADER, *(result.row() for result in results)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADER))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
