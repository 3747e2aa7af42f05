"""The fields of a manifest, read strictly: each is there, of one type and within its range, and there are no others.

A manifest comes from a file that anybody may have changed. Nothing of it is used before it was taken from here, and
whatever does not fit is one ReleaseError that names the field.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NoReturn, TypeVar

from ppdm_sql.errors import AGAIN, ReleaseError

Value = TypeVar("Value")

MAX_BYTES = 1 << 26
"""Of a manifest's text: a million values of a domain fit, and reading it takes no memory to speak of."""
MAX_NAME = 10_000
"""Characters of a name."""
MAX_DIGITS = 60
"""Characters of a decimal number written as text: more than any type holds."""


def damaged(why: str) -> NoReturn:
    """Refuse a manifest."""
    raise ReleaseError(f"the release's manifest cannot be right: {why}. {AGAIN}")


def read_object(text: str | bytes) -> dict[str, Any]:
    """The JSON object that a text is, by the letter: UTF-8, no key twice, no NaN, nothing after its end."""
    try:
        decoded = text.decode("utf-8") if isinstance(text, bytes) else text
    except UnicodeDecodeError:
        damaged("it is not UTF-8 text")
    if len(decoded) > MAX_BYTES:
        damaged(f"it has more than {MAX_BYTES >> 20} million characters")
    try:
        body = json.loads(decoded, object_pairs_hook=_pairs, parse_constant=_constant)
    except RecursionError:
        damaged("it is nested too deeply")
    except ReleaseError:
        raise
    except ValueError:  # also of a number with thousands of digits
        damaged("it is not JSON")
    if not isinstance(body, dict):
        damaged("it is not a JSON object")
    return body


def canonical(body: Mapping[str, Any]) -> bytes:
    """The one text that stands for a JSON object, whatever the order of its keys and the spaces between them."""
    try:
        text = json.dumps(body, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return text.encode("utf-8")
    except (RecursionError, ValueError):  # a lone surrogate is no text; 1e999 is no number
        damaged("it holds what is neither text nor a number")


class Fields:
    """The fields of one object, taken one by one; `end` refuses what is left."""

    def __init__(self, where: str, body: Any) -> None:
        if not isinstance(body, Mapping):
            damaged(f"{where} is not an object with fields")
        self.where = where
        self._left = dict(body)

    def __contains__(self, name: str) -> bool:
        return name in self._left

    def end(self) -> None:
        """Refuse fields that nobody took."""
        for name in self._left:
            self.refuse(str(name)[:40], "is a field that this version does not know")

    def refuse(self, name: str, why: str) -> NoReturn:
        """Name a field and what is wrong with it."""
        damaged(f"{self.where}: {name} {why}")

    def text(self, name: str, most: int = MAX_NAME) -> str:
        """Text that is not empty."""
        value = self._take(name)
        if not isinstance(value, str) or not 0 < len(value) <= most or "\0" in value:
            self.refuse(name, f"is not a text of 1 to {most:,} characters")
        return value

    def word(self, name: str, words: Sequence[str]) -> str:
        """One of some words."""
        value = self._take(name)
        if not isinstance(value, str) or value not in words:
            self.refuse(name, f"is not one of {', '.join(words)}")
        return value

    def yes(self, name: str) -> bool:
        """True, which is said by saying nothing where it is not so."""
        if self._take(name) is not True:
            self.refuse(name, "is not true")
        return True

    def hexadecimal(self, name: str, digits: int) -> str:
        """A number of hexadecimal digits."""
        value = self._take(name)
        if not isinstance(value, str) or len(value) != digits or set(value) - set("0123456789abcdef"):
            self.refuse(name, f"does not have {digits} hexadecimal digits")
        return value

    def whole(self, name: str, least: int, most: int) -> int:
        """A whole number within a range."""
        return self._whole(name, self._take(name), least, most)

    def number(self, name: str, least: float, most: float) -> float:
        """A number within a range, both ends included."""
        return self._number(name, self._take(name), least, most)

    def decimal(self, name: str) -> Decimal:
        """A decimal number above zero that is written as text."""
        value = self.text(name, MAX_DIGITS)
        try:
            found = Decimal(value)
        except ArithmeticError:
            self.refuse(name, "is not a decimal number")
        if not found.is_finite() or not Decimal("1e-30") <= found <= Decimal("1e30"):
            self.refuse(name, "is not a decimal number between 1e-30 and 1e30")
        return found

    def texts(self, name: str, most: int) -> tuple[str, ...]:
        """A list of texts, each once."""
        values = self.listed(name, 0, most)
        if not all(isinstance(v, str) and 0 < len(v) <= MAX_NAME and "\0" not in v for v in values):
            self.refuse(name, "is not a list of texts")
        if len(set(values)) < len(values):
            self.refuse(name, "lists a text twice")
        return tuple(values)

    def wholes(self, name: str, lengths: tuple[int, int], least: int, most: int) -> tuple[int, ...]:
        """A list of whole numbers within a range."""
        return tuple(self._whole(name, value, least, most) for value in self.listed(name, *lengths))

    def numbers(self, name: str, lengths: tuple[int, int], least: float, most: float) -> tuple[float, ...]:
        """A list of numbers within a range."""
        return tuple(self._number(name, value, least, most) for value in self.listed(name, *lengths))

    def listed(self, name: str, least: int, most: int) -> list[Any]:
        """A list of some length; what it holds is checked by whoever asks for it."""
        value = self._take(name)
        if not isinstance(value, list) or not least <= len(value) <= most:
            self.refuse(name, f"is not a list of {least:,} to {most:,}")
        return value

    def inside(self, name: str) -> Fields:
        """The fields of an object inside this one."""
        return Fields(f"{self.where}: {name}", self._take(name))

    def each(self, name: str, least: int, most: int) -> list[Fields]:
        """The fields of each object of a list."""
        values = self.listed(name, least, most)
        return [Fields(f"{self.where}: {name}, number {i + 1}", value) for i, value in enumerate(values)]

    def mapped(self, name: str, least: float, most: float) -> dict[str, float]:
        """Numbers within a range, by name."""
        value = self._take(name)
        if not isinstance(value, dict) or not value:
            self.refuse(name, "is not an object with numbers")
        return {key: self._number(name, number, least, most) for key, number in value.items()}

    def optional(self, name: str, take: Callable[[str], Value]) -> Value | None:
        """A field that may be missing; null is not the same."""
        return take(name) if name in self._left else None

    def or_null(self, name: str, take: Callable[[str], Value]) -> Value | None:
        """A field that may be null, and may not be missing."""
        if name in self._left and self._left[name] is None:
            del self._left[name]
            return None
        return take(name)

    def _take(self, name: str) -> Any:
        if name not in self._left:
            self.refuse(name, "is missing")
        return self._left.pop(name)

    def _whole(self, name: str, value: Any, least: int, most: int) -> int:
        if type(value) is not int or not least <= value <= most:
            self.refuse(name, f"is not a whole number from {least:,} to {most:,}")
        return value

    def _number(self, name: str, value: Any, least: float, most: float) -> float:
        if type(value) not in (int, float) or not least <= value <= most or not math.isfinite(value):
            self.refuse(name, f"is not a number from {least:g} to {most:g}")
        return float(value)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        damaged("a field stands in it twice")
    return result


def _constant(name: str) -> NoReturn:
    damaged(f"{name} is not a number")
