"""What a channel promises, in plain words; and where gamma promises nothing, what does hold."""

from __future__ import annotations

import math

from ppdm_sql.privacy.breaches import excludes_breach, highest_posterior, lowest_posterior
from ppdm_sql.privacy.channel import RetentionChannel, UniformChannel
from ppdm_sql.privacy.growth import largest_growth
from ppdm_sql.privacy.subsets import safe_prior, safe_relative_prior

LIKELY = 0.95
UNLIKELY = 0.1


def statements(
    channel: UniformChannel | RetentionChannel, rho1: float = UNLIKELY, rho2: float = LIKELY
) -> tuple[str, ...]:
    """Sentences on one column.

    >>> for sentence in statements(UniformChannel(0.5, 2)): print(sentence)
    One value makes an output at most 3 times as likely as another value does (epsilon 1.099).
    Whatever is known before: what was 10 % likely becomes at most 25 % and at least 3.57 % likely.
    No probability changes by more than 26.8 percentage points.
    >>> for sentence in statements(UniformChannel(0.2, 15_000_001)): print(sentence)
    One value makes an output up to 3.75e+06 times as likely as another value does (epsilon 15.14).
    Such a gamma promises next to nothing: what was 10 % likely can become over 99.9 % likely. Draws hit a given one \
of 15,000,001 values so rarely that a value which is common, or known to be somebody's, is likely true where it is seen.
    What does hold: where a value is seen that is less than 68 times as common among the rows as among draws, whatever \
was at most 10 % likely stays below 95 %.
    Where it is no more common among the rows than among draws, whatever was less than 93.8 % likely stays below 95 %.
    """
    gamma = channel.gamma
    if math.isinf(gamma):
        return (_nothing(channel),)
    known = f"(epsilon {math.log(gamma):.4g})"
    if excludes_breach(gamma, rho1, rho2):
        highest, lowest = float(highest_posterior(gamma, rho1)), float(lowest_posterior(gamma, rho1))
        return (
            f"One value makes an output at most {gamma:.3g} times as likely as another value does {known}.",
            f"Whatever is known before: what was {percent(rho1)} likely becomes at most {percent(highest)} and at "
            f"least {percent(lowest)} likely.",
            f"No probability changes by more than {100 * largest_growth(gamma):.3g} percentage points.",
        )
    return (
        f"One value makes an output up to {gamma:.3g} times as likely as another value does {known}.",
        f"Such a gamma promises next to nothing: what was {percent(rho1)} likely can become "
        f"{percent(float(highest_posterior(gamma, rho1)))} likely. Draws hit a given one of {channel.inputs:,} values "
        "so rarely that a value which is common, or known to be somebody's, is likely true where it is seen.",
        *_what_holds(channel.retain, rho1, rho2),
    )


def _what_holds(retain: float, rho1: float, rho2: float) -> list[str]:
    common = safe_relative_prior(retain, rho1, rho2)
    lines = [
        f"What does hold: where a value is seen that is less than {common:.3g} times as common among the rows as among "
        f"draws, whatever was at most {percent(rho1)} likely stays below {percent(rho2)}."
    ]
    rare = safe_prior(retain, 1.0, rho2)
    if rare > 0:
        lines.append(
            "Where it is no more common among the rows than among draws, whatever was less than "
            f"{percent(rare)} likely stays below {percent(rho2)}."
        )
    return lines


def _nothing(channel: UniformChannel | RetentionChannel) -> str:
    if channel.retain >= 1:
        return "Every value is published as it is: this protects nothing."
    return "Some value is never drawn: where it is seen, it is true. This protects nothing against that."


def percent(share: float) -> str:
    """Three digits, which never round an uncertain thing to a certain one.

    >>> percent(0.0123456), percent(0.99999), percent(1)
    ('1.23 %', 'over 99.9 %', '100 %')
    """
    return "over 99.9 %" if 0.9995 <= share < 1 else f"{100 * share:.3g} %"
