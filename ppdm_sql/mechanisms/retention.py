"""From what a publisher asks for (retain, gamma, epsilon, rho1 to rho2) to the retention p, and back.

With s values in the domain and uniform replacement, the largest ratio of two transition probabilities into one
output is gamma = 1 + p s / (1 - p). For any other replacing distribution, one over the share of its rarest value stands
in the place of s.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ppdm_sql.domain.checks import known, mapping, number
from ppdm_sql.errors import PolicyError

RETENTION_KEYS = ("retain", "gamma", "epsilon", "privacy")
"""The ways to say how much is kept; a column has one of them."""

STRICTLY_BELOW = 1 - 1e-12
"""The rho1-to-rho2 guarantee needs gamma strictly below its bound."""
LARGEST_BELOW_ONE = math.nextafter(1, 0)
"""A finite gamma never keeps every value, however large it is; without this a sum of doubles would."""

LEAST_RETENTION = 1e-18
"""Less is as good as nothing, and its inverse, squared and multiplied, would leave what a double can hold."""

LEAST_PRODUCT = 1e-300
"""Of rho1 and 1 - rho2; below this their gamma is larger than a double can be."""


@dataclass(frozen=True)
class Retention:
    """One of the four ways to say how much is kept; `asked` is the word used in the policy."""

    asked: str
    value: float
    rho2: float | None = None

    @property
    def amplification(self) -> float:
        """The gamma that is asked for, where it is not asked for by a retention."""
        if self.asked == "gamma":
            return self.value
        if self.asked == "epsilon":
            return math.exp(self.value)
        assert self.rho2 is not None
        return 1 + (gamma_for_breach(self.value, self.rho2) - 1) * STRICTLY_BELOW

    def probability(self, size: float) -> float:
        """The retention p that keeps the promise on a domain of `size` values."""
        return self.value if self.asked == "retain" else retention_for_gamma(self.amplification, size)

    def bound(self, where: str, size: float) -> float:
        """The same; PolicyError where it is as good as nothing."""
        kept = self.probability(size)
        if kept < LEAST_RETENTION:
            raise PolicyError(
                f"{where}: {self.asked} leaves a retention of {kept:.2g} on a domain of {size:.4g} values, from which "
                "nothing can be told. Promise less, or use a coarser step."
            )
        return kept


def retention_for_gamma(gamma: float, size: float) -> float:
    """Largest retention whose amplification stays at `gamma` on a domain of `size` values.

    >>> round(retention_for_gamma(5, 50), 4)
    0.0741
    """
    return min((gamma - 1) / (size - 1 + gamma), LARGEST_BELOW_ONE)


def gamma_of_retention(retain: float, size: float) -> float:
    """Amplification of retention; infinite where every value is kept.

    >>> round(gamma_of_retention(0.3, 74), 3)
    32.714
    """
    return math.inf if retain >= 1 else 1 + retain * size / (1 - retain)


def gamma_for_breach(rho1: float, rho2: float) -> float:
    """The bound below which no property of prior at most `rho1` gets a posterior of `rho2` or more.

    >>> round(gamma_for_breach(0.1, 0.5), 6)
    9.0
    """
    return rho2 * (1 - rho1) / (rho1 * (1 - rho2))


def check_retention(where: str, asked: str, value: float) -> float:
    """`value` if it is a legal retention, gamma or epsilon; otherwise the rule it breaks."""
    if asked == "retain" and not 0 < value <= 1:
        raise PolicyError(f"{where}: retain = {value:g} is not a probability in (0, 1]. Use a number such as 0.3.")
    if asked == "retain" and value < LEAST_RETENTION:
        raise PolicyError(f"{where}: retain = {value:g} is as good as nothing: at least {LEAST_RETENTION:g} is kept.")
    if asked == "gamma" and not 1 < value < math.inf:
        raise PolicyError(f"{where}: gamma = {value:g} must be a number above 1 (1 would keep nothing).")
    if asked == "epsilon" and not 0 < value <= 700:
        raise PolicyError(f"{where}: epsilon = {value:g} must be above 0 and at most 700.")
    return value


def check_breach(where: str, rho1: float, rho2: float) -> None:
    """Refuse a pair that promises nothing."""
    if not 0 < rho1 < rho2 < 1:
        raise PolicyError(
            f"{where}: privacy needs 0 < rho1 < rho2 < 1 (a property of prior at most rho1 never becomes likelier "
            f"than rho2); got rho1 = {rho1:g}, rho2 = {rho2:g}."
        )
    if rho1 * (1 - rho2) < LEAST_PRODUCT:
        raise PolicyError(
            f"{where}: rho1 = {rho1:g} to rho2 = {rho2:.17g} lies too close to 0 and 1 to promise anything. Use "
            "numbers such as 0.1 and 0.5."
        )


def parse_retention(
    where: str, raw: Mapping[str, Any], has_levels: bool
) -> tuple[Retention | None, Mapping[str, float]]:
    """How much is kept, or for which recipient how much; nothing of both where [levels] says it for all columns."""
    said = [key for key in RETENTION_KEYS if key in raw]
    if not said and has_levels:
        return None, {}
    if len(said) != 1:
        problem = "says nothing of how much is kept" if not said else f"says it twice ({', '.join(said)})"
        raise PolicyError(f"{where} {problem}: give exactly one of {', '.join(RETENTION_KEYS)}.")
    asked = said[0]
    if asked == "privacy":
        return _privacy(where, mapping(f"{where}: privacy", raw["privacy"])), {}
    if asked == "retain" and isinstance(raw["retain"], Mapping):
        return None, _levels(where, raw["retain"])
    return Retention(asked, check_retention(where, asked, number(f"{where}: {asked}", raw[asked]))), {}


def _privacy(where: str, pair: Mapping[str, Any]) -> Retention:
    known(f"{where}: privacy", pair, ("rho1", "rho2"))
    if set(pair) != {"rho1", "rho2"}:
        raise PolicyError(f"{where}: privacy needs both numbers, privacy = {{ rho1 = 0.1, rho2 = 0.5 }}.")
    rho1, rho2 = (number(f"{where}: {key}", pair[key]) for key in ("rho1", "rho2"))
    check_breach(where, rho1, rho2)
    return Retention("privacy", rho1, rho2)


def _levels(where: str, raw: Mapping[str, Any]) -> Mapping[str, float]:
    if not raw:
        raise PolicyError(f"{where}: retain names no level: write a number, or retain = {{ public = 0.2 }}.")
    return {
        name: check_retention(f"{where}: level {name!r}", "retain", number(f"{where}: level {name!r}", value))
        for name, value in raw.items()
    }
