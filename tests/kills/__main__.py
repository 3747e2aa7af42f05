"""Every kill, full disk and interrupt of every scenario, by hand.

In the folder of the tests: `python -m kills [kills|parts|disks|interrupts ..] [scenario ..]`.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

from kills.enumerating import DISKS, INTERRUPTS, KILLS, KILLS_OF_ONE, Enumeration, points_of
from kills.points import ENDED, HOW, INTERRUPTED, REFUSED, WHO, Server, compiled
from kills.scenarios import SCENARIOS

KINDS = {"kills": KILLS, "parts": KILLS_OF_ONE, "disks": DISKS, "interrupts": INTERRUPTS}
_ENDS = {ENDED: "published", REFUSED: "refused", INTERRUPTED: "stopped"}


def main(words: list[str]) -> int:
    """The number of broken promises, as an exit code."""
    kinds = [kind for name in KINDS if name in words or not {*KINDS} & {*words} for kind in KINDS[name]]
    names = [name for name in words if name not in KINDS] or list(SCENARIOS)
    done, broken = Counter[str](), 0
    with tempfile.TemporaryDirectory() as space:
        shim = compiled(Path(space))
        if shim is None:
            print("there is no C compiler: what Python itself does to files is all that is looked at")
        with Server(shim, Path(space)) as server:
            enumeration = Enumeration(server, Path(space))
            for name in names:
                changes = enumeration.changes(name)
                calls = Counter(line.split()[1] for line in changes)
                print(f"{name}: {len(changes)} changes of files ({dict(calls)})", flush=True)
                for point in points_of(name, changes, kinds):
                    try:
                        outcome = enumeration.strike(point)
                    except Exception as error:
                        broken += 1
                        print(f"BROKEN {point}: {type(error).__name__}: {error}", flush=True)
                        continue
                    ends = sorted({_ENDS.get(code, "killed") for code in outcome.codes})
                    done[f"{HOW[point.how]} a change ({WHO[point.who]}): {' and '.join(ends)}"] += 1
                print(f"  {done.total():,} done, {broken:,} broken promises so far", flush=True)
    for kind, number in sorted(done.items()):
        print(f"{number:6,} {kind}")
    print(f"{done.total() + broken:,} in all, {broken:,} broken promises")
    return min(broken, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
