"""Two sides measured in turns, so that whatever else the machine does falls on both."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import TypeAlias

Side: TypeAlias = Callable[[], object]


@dataclass(frozen=True)
class Times:
    """Seconds of each repetition. The least of each side is compared: other load only ever adds."""

    ours: tuple[float, ...]
    theirs: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """Our time over theirs."""
        return min(self.ours) / min(self.theirs)

    @property
    def difference(self) -> float:
        """Our time minus theirs, in seconds."""
        return min(self.ours) - min(self.theirs)

    @property
    def detail(self) -> str:
        """Both sides in words."""
        return f"{_readable(min(self.ours))} over {_readable(min(self.theirs))}"

    def numbers(self) -> dict[str, float]:
        """What is written to a file."""
        return {
            "ours_least": min(self.ours),
            "ours_median": median(self.ours),
            "theirs_least": min(self.theirs),
            "theirs_median": median(self.theirs),
            "repetitions": len(self.ours),
        }


def in_turns(
    ours: Side,
    theirs: Side,
    times: int,
    *,
    warm: bool = True,
    before: Side = lambda: None,
) -> Times:
    """Run both sides alternately, `before` each of them; a first run of each is not counted where `warm`."""
    if warm:
        ours()
        theirs()
    seconds: tuple[list[float], list[float]] = ([], [])
    for turn in range(times):
        # The order changes from turn to turn: neither side always comes after the other.
        for side in (0, 1) if turn % 2 == 0 else (1, 0):
            before()
            begin = time.perf_counter()
            (ours, theirs)[side]()
            seconds[side].append(time.perf_counter() - begin)
    return Times(tuple(seconds[0]), tuple(seconds[1]))


def _readable(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.1f} ms"
