"""Advice on noise and on small domains as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ppdm_sql.cli.output import table
from ppdm_sql.privacy.mechanism_advice import NoiseAdvice, PartsAdvice
from ppdm_sql.privacy.statements import percent

MOST_PARTS = 8


def noise_text(noise: Sequence[NoiseAdvice]) -> Iterator[str]:
    """Columns with Gaussian noise, in one table."""
    if not noise:
        return
    names = ("column", "noise now", "noise", "left to guesses", "error of the mean")
    lines = [
        (
            each.name,
            "" if each.declared is None else f"{each.declared:.4g}",
            "" if each.noise is None else f"{each.noise:.4g}",
            "" if each.distortion is None else percent(each.distortion),
            "" if each.mean_error is None else percent(each.mean_error),
        )
        for each in noise
    ]
    yield (
        f"Gaussian noise:\n{table(names, lines)}\n"
        "left to guesses: the square error of the best linear guess, in % of the column's variance, whatever copies "
        "of one key there are.\nerror of the mean: the standard error of the mean of all rows, in % of the column's "
        "spread. Both if the spread that noise is declared for is the column's own."
    )


def parts_text(parts: Sequence[PartsAdvice]) -> Iterator[str]:
    """Columns in small domains beside plain uniform."""
    for each in parts:
        lines = [
            f"{each.name}: in small domains beside plain uniform, where a value that at most {percent(each.rho1)} of "
            f"the rows have never gets {percent(each.rho2)} likely; small domains promise that of single values only"
        ]
        if each.plain is not None and each.plain_error is not None:
            lines.append(f"  in one, of {each.size:,} values: {each.plain:.4g} kept, error {percent(each.plain_error)}")
        if each.error is not None and each.plain_error is not None:
            kept, gain = [retain for _, _, retain in each.parts], each.plain_error / each.error
            sizes = [values for values, _, _ in each.parts]
            lines.append(
                f"  in {len(each.parts)} part{'' if len(each.parts) == 1 else 's'}, of {_range(sizes, ',')} values: "
                f"{_range(kept, '.4g')} kept, error {percent(each.error)}, {gain:.3g} times less"
            )
        if each.equal:
            lines.append("  on the assumption that all values are as common; --source says how common they are")
        if each.problem is not None:
            lines.append(f"  no parts: {each.problem}")
        yield "\n".join(lines)


def _range(numbers: Sequence[float], form: str) -> str:
    low, high = f"{min(numbers):{form}}", f"{max(numbers):{form}}"
    return low if low == high else f"{low} to {high}"
