"""A column with Gaussian noise on a page."""

from __future__ import annotations

import math

import numpy as np

from ppdm_sql.mechanisms.gaussian.column import NoisyColumn
from ppdm_sql.privacy.bounds import likely_error
from ppdm_sql.privacy.gaussian import distortion, interval_of_value
from ppdm_sql.privacy.statements import percent
from ppdm_sql.report import charts
from ppdm_sql.report.figures import Figure
from ppdm_sql.report.section import MechanismSection
from ppdm_sql.report.words import amount, count

MISS = 0.05


def section(bound: NoisyColumn, rows: int) -> MechanismSection:
    """What becomes of a value, what is promised, and what it costs."""
    left = math.sqrt(distortion([bound.noise]))
    said = f"Noise of {percent(math.sqrt(bound.noise))} of the column's spread is added"
    if bound.weights:
        reach = interval_of_value(math.sqrt(bound.deviation**2 + bound.rounding))
        said = (
            f"Normal noise with a standard deviation of {amount(bound.deviation)} is added: in 95 % of rows the "
            f"published number is within ± {amount(reach)} of the original"
        )
    transition = (f"{said}; the sum is rounded to {bound.step}.",)
    promises = (
        "Who knows the mean and the spread of the originals, and guesses by the published number, is still off by "
        f"{percent(left)} of the spread (root mean square), where guessing the mean is off by all of it; if the spread "
        "that noise is declared for is the column's own.",
        "Numbers that lie far out stay far out: noise hides a number among those near it. There is no bound on what "
        "somebody can learn who knew something before.",
        f"The mean of {count(rows)} rows is right to ± {percent(_mean_width(bound.noise, rows))} of the spread in 95 % "
        "of releases.",
    )
    levels = np.unique(np.concatenate([np.geomspace(0.01, 100, 60), [bound.noise]]))
    curve = [
        {"retain": float(s), "privacy": math.sqrt(distortion([float(s)])), "error": _mean_width(float(s), rows)}
        for s in levels
    ]
    wide = _mean_width(bound.noise, rows)
    point = {"privacy": left, "error": wide, "label": f"noise {bound.noise:.3g}"}
    title = "a guess is still off by, of the spread"
    figure = Figure(
        f"{bound.name}: distortion against precision",
        charts.privacy_and_error(curve, point, title, "the mean is right to ± % of the spread"),
        f"With noise {bound.noise:.3g}, guesses of single numbers are off by {percent(left)} of the column's spread; "
        f"the mean of {count(rows)} rows by {percent(wide)} at most, in 95 % of releases. To the right more "
        "private, lower down more accurate.",
        ("noise", title, "the mean is right to"),
        [
            [
                f"{s:.3g}{' (chosen)' if s == bound.noise else ''}",
                percent(math.sqrt(distortion([s]))),
                f"± {percent(_mean_width(s, rows))}",
            ]
            for s in sorted({0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0, bound.noise})
        ],
    )
    return MechanismSection(transition, promises, (figure,))


def _mean_width(noise: float, rows: int) -> float:
    """What a mean is right to with 95 %, over the coins of the noise, as a share of the column's spread."""
    return float(likely_error(math.sqrt(noise / max(rows, 1)), MISS))


MECHANISMS = {"gaussian": section}
