"""Let something happen to a publication at every change of a file, and look at what is left."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kills.points import (
    ALL,
    BEFORE,
    ENDED,
    FAILED,
    FULL,
    FULL_ONCE,
    HOW,
    INTERRUPT,
    INTERRUPTED,
    OTHERS,
    REFUSED,
    SELF,
    TORN,
    WHO,
    Order,
    Outcome,
    Server,
)
from kills.scenarios import SCENARIOS, Found, found, releases

KILLS = ((BEFORE, ALL), (TORN, ALL))
KILLS_OF_ONE = ((BEFORE, SELF), (BEFORE, OTHERS))
DISKS = ((FULL_ONCE, ALL), (FULL, ALL))
INTERRUPTS = ((INTERRUPT, ALL),)


@dataclass(frozen=True)
class Point:
    """One kill, full disk or interrupt."""

    scenario: str
    at: int
    how: int
    who: int
    call: str

    def __str__(self) -> str:
        whom = f" ({WHO[self.who]})" if self.how in (BEFORE, TORN) else ""
        return f"{self.scenario}: {HOW[self.how]} change {self.at}, {self.call}{whom}"


class Enumeration:
    """Scenarios in one folder, each begun anew from a copy of what is there before it."""

    def __init__(self, server: Server, space: Path) -> None:
        self._server = server
        self._space = space
        self._folder = space / "work"
        self._whole: dict[str, set[str]] = {}

    def changes(self, scenario: str) -> list[str]:
        """Every change of a file in publications that nothing happens to: 1 if by the first publisher, how, which."""
        log = self._space / "log"
        log.unlink(missing_ok=True)
        old = self._begin(scenario)
        outcome = self._server.run(Order(scenario, str(self._folder), log=str(log)))
        assert set(outcome.codes) == {ENDED}, outcome.said
        there = found(SCENARIOS[scenario], self._folder, old)
        assert all(there.has(step) for step in SCENARIOS[scenario].steps)
        self._whole[scenario] = self._names()
        assert not [name for name in self._whole[scenario] if name.startswith(".")], "something is left"
        return [line.split(" ", 1)[1].replace(str(self._folder), "") for line in log.read_text().splitlines()]

    def strike(self, point: Point) -> Outcome:
        """Publish once, and again; AssertionError where a promise is broken."""
        scenario = SCENARIOS[point.scenario]
        old = self._begin(point.scenario)
        outcome = self._server.run(Order(point.scenario, str(self._folder), point.at, point.how, point.who))
        there = found(scenario, self._folder, old)
        self._check_words(point, outcome, there)
        for step in scenario.steps:
            step.again(self._folder)
        after = found(scenario, self._folder, old)
        assert all(after.has(step) for step in scenario.steps), "the next publication did not work"
        assert there.key in (None, after.key), "the key is another"
        for place, rows in there.rows.items():
            assert after.rows[place] == rows, "the key does not give the release again"
        left = self._names() - self._whole[point.scenario]
        assert not left, f"the next publication leaves {left}"
        return outcome

    def _check_words(self, point: Point, outcome: Outcome, there: Found) -> None:
        """Whether what was said is true, in plain words."""
        scenario = SCENARIOS[point.scenario]
        assert not outcome.left, "a process that writes outlives its owner"
        for step, code, said in zip(scenario.steps, outcome.codes, outcome.said, strict=True):
            assert code != FAILED, said
            assert code in (ENDED, INTERRUPTED) or point.how != INTERRUPT, f"interrupted, and it says: {said}"
            if code == ENDED:
                assert there.has(step), "it said that it published, and did not"
            if code == REFUSED:
                assert "\n" not in said and said.endswith((".", ".)")), said
                assert not step.table or there.has(step) == ("is in place" in said), said
        if {*outcome.codes} <= {ENDED, REFUSED}:
            left = {name for name in self._names() - self._whole[point.scenario] if name.endswith(".tmp")}
            assert not left or "unlink" in point.call, f"it leaves {left}"
            lone = [entry for entry in releases(self._folder, scenario.ledger) if not entry.confirmed]
            gone = [e for e in lone if (Path(e.to).name, e.table) not in there.rows]
            assert not gone or point.how == FULL, "a release that certainly failed counts"

    def _names(self) -> set[str]:
        return {path.name for path in self._folder.iterdir()}

    def _begin(self, scenario: str) -> Path:
        old = self._space / f"before {scenario}"
        if not old.exists():
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder.mkdir()
            SCENARIOS[scenario].before(self._folder)
            self._folder.rename(old)
        shutil.rmtree(self._folder, ignore_errors=True)
        shutil.copytree(old, self._folder)
        return old


def points_of(scenario: str, changes: Iterable[str], kinds: Iterable[tuple[int, int]]) -> Iterator[Point]:
    """All points of a scenario; only a write can be cut in two, and a full disk does not matter to what frees space."""
    for at, line in enumerate(changes, 1):
        for how, who in kinds:
            if how == TORN and " write " not in line:
                continue
            yield Point(scenario, at, how, who, line)
