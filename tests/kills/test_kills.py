"""A sample of the kills, full disks and interrupts that `python -m kills` enumerates."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))  # the process that is killed imports it as `kills`, and so do we

from kills.enumerating import Enumeration, Point
from kills.points import AFTER, ALL, BEFORE, FULL, OTHERS, SELF, TORN, Server, compiled

KEY = "a key"
NEW = "a fresh key, a new database"
REPLACED = "a Parquet file replaced"
SIGNED = "a signed database replaced"

# Scenario, the change of a file (1 is the publisher's, 0 the writer's), which of these, what happens, and to whom.
SEEN_BY_ALL = [
    (KEY, "1 write /.a.key.", 0, TORN, ALL),
    (KEY, "1 unlink /.a.key.", 0, BEFORE, SELF),
    (NEW, "1 write /a.key.ledger", 0, FULL, ALL),
    (NEW, "1 rename /r.duckdb", 0, AFTER, ALL),
    (SIGNED, "1 rename /r.duckdb.sig", 0, AFTER, ALL),
    (SIGNED, "1 rename /r.duckdb.sig", 1, BEFORE, ALL),
]
SEEN_BY_SHIM = [
    (REPLACED, "0 write /.r.parquet.", -1, TORN, ALL),
    (REPLACED, "0 write /.r.parquet.", -3, BEFORE, SELF),
    (REPLACED, "0 write /.r.parquet.", -2, BEFORE, OTHERS),
]


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """Under the shim where there is a C compiler, else under hooks in Python, which see the publisher alone."""
    if not Path("/proc/self/fd").exists() or not hasattr(os, "fork"):
        pytest.skip("shim and hooks ask the Linux kernel which file a descriptor means")
    space = tmp_path_factory.mktemp("kills")
    shim = compiled(space)
    with Server(shim, space) as server:
        yield Sample(Enumeration(server, space), shimmed=shim is not None)


class Sample:
    """Points by what is changed there, for their numbers differ from one version to the next."""

    def __init__(self, enumeration, *, shimmed):
        self.shimmed = shimmed
        self._enumeration = enumeration
        self._changes = {}

    def strike(self, scenario, change, which, how, who):
        if scenario not in self._changes:
            self._changes[scenario] = self._enumeration.changes(scenario)
        lines = self._changes[scenario]
        at = [number for number, line in enumerate(lines, 1) if line.startswith(change)][which]
        return self._enumeration.strike(Point(scenario, at, how, who, lines[at - 1]))


def test_what_the_publisher_does_to_files(sample):
    """The key and the ledger, the renaming between the ledger's two lines, and a signature's before and behind it."""
    for point in SEEN_BY_ALL:
        sample.strike(*point)


def test_what_the_writer_does_to_files(sample):
    """Kills of the writer, of its owner and of both, while the writer writes."""
    if not sample.shimmed:
        pytest.skip("no C compiler (cc or gcc) for the shim that sees the writes of every process")
    for point in SEEN_BY_SHIM:
        sample.strike(*point)
