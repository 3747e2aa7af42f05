"""The ledger: what a key has released, so that nothing is released beside it that would give it away.

A text file beside the key, its name with `.ledger` at the end, one JSON object a line, each a release: when, to which
file, table, level, and for each perturbed column what its manifest says. It holds no secret and no value of a row. A
line also has a fingerprint of the key and one of the source's name, both made with the key: whoever has not the key
cannot tell from them what they stand for.

A release is entered before it is put in place (`ledger_file.py`), under a lock, so that neither a crash nor
publications at the same time can forget one. Where the ledger is lost nothing breaks, and nothing is checked against
what it held: keep it with the key. A key given as bytes has the ledger that `publish` is told; tables and views inside
a database have none.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ppdm_udfs import subkey

from ppdm_sql.domain.fields import Fields
from ppdm_sql.domain.types import UNKNOWN
from ppdm_sql.errors import KeyFileError, NotConfirmed, OtherRows, PolicyError, ReleaseError
from ppdm_sql.mechanisms.base import Mechanism
from ppdm_sql.mechanisms.registry import MECHANISMS
from ppdm_sql.policy import Manifest, ReleasedColumn
from ppdm_sql.publishing.ledger_file import Record, damaged, open_journal, read_records

FORMAT = 2
"""Releases of format 1 drew coins that knew nothing of the value: nothing can be coupled with them any more."""
ENDING = ".ledger"


class OlderFormat(Exception):
    """A line of a format whose coins cannot be found again."""


@dataclass(frozen=True)
class Entry:
    """One release.

    `columns` has a manifest's words for each perturbed column, `coins` a fingerprint of the address of its coins, which
    is the same for copies that are levels of one path and no others, and `adopted` the levels of older copies. `kinds`
    says of what kind the values are that name a row. Where it is not `confirmed`, a crash kept the ledger from knowing
    whether it is in place.
    """

    table: str
    to: str
    columns: Mapping[str, Mapping[str, Any]]
    identity: tuple[str, ...] = ()
    level: str | None = None
    rows: int = 0
    when: str = ""
    key: str = ""
    source: str | None = None
    adopted: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    coins: Mapping[str, str] = field(default_factory=dict)
    id: str = ""
    kinds: tuple[str, ...] = ()
    confirmed: bool = True

    @property
    def couples(self) -> str:
        """The same for releases all of whose columns are coupled: what a reader may pass over without a closer look."""
        columns = {name.casefold(): self.coins.get(name) for name in self.columns}
        if None in columns.values() or not self.identity:
            return secrets.token_hex(8)  # nothing is known of the coins, or of the rows: like no other
        told = [self.table.casefold(), self.identity, self.kinds, self.key, columns]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]

    def to_json(self) -> str:
        """The entry as a line."""
        body = {
            "ppdm_ledger": FORMAT,
            "id": self.id,
            "couples": self.couples,
            **self.__dict__,
            "columns": dict(self.columns),
            "adopted": dict(self.adopted),
            "coins": dict(self.coins),
        }
        del body["confirmed"]  # a line of its own says so
        return json.dumps(body, ensure_ascii=False)

    @staticmethod
    def from_json(line: str) -> Entry:
        """Read a line; any error of a built-in kind says that it is damaged."""
        body = json.loads(line)
        written = body.pop("ppdm_ledger")
        if isinstance(written, int) and written < FORMAT:
            raise OlderFormat
        if written != FORMAT:
            raise ValueError("a later format")
        body.pop("couples")  # it follows from the rest
        adopted = {name: tuple(found) for name, found in body.pop("adopted").items()}
        lists = {name: tuple(body[name]) for name in ("identity", "kinds") if name in body}
        entry = Entry(**body | lists | {"adopted": adopted})
        entry.check()
        return entry

    def check(self) -> None:
        """Raise ValueError where a line holds what no release writes."""
        texts = [self.table, self.to, self.when, self.key, self.id, *self.identity, *self.kinds, *self.coins.values()]
        texts += [*self.coins, *self.columns, *self.adopted, self.level or "", self.source or ""]
        levels = [number for found in self.adopted.values() for number in found]
        if not all(isinstance(text, str) for text in texts) or type(self.rows) is not int:
            raise ValueError("a field of another kind")
        if not all(type(number) in (int, float) for number in levels):
            raise ValueError("a level that is no number")
        if not all(words["mechanism"] in MECHANISMS for words in self.columns.values()):
            raise ValueError("an unknown mechanism")


def ledger_path(key: str | Path) -> Path:
    """Where the ledger of a key file is: beside the file itself, for a key has one, whatever links lead to it."""
    path = Path(key)
    path = path.resolve() if path.is_symlink() else path
    return path.with_name(path.name + ENDING)


def ledger_of(
    key: str | Path | bytes, given: str | Path | None, needed: str | None, others: Sequence[Path]
) -> Path | None:
    """Where the ledger is: beside a key file; where it was said for a key of bytes, None where nothing was.

    Raises KeyFileError where it may not be there, is one of the files that are `others`, or is `needed` and missing.
    """
    if not isinstance(key, bytes):
        if given is not None:
            raise KeyFileError("ledger is for keys that are given as bytes: that of a key file lies beside it.")
        return ledger_path(key)
    if given is None:
        if needed is not None:
            raise KeyFileError(
                f"{needed} with a key given as bytes, which has no ledger: whether it would give away what the key has "
                "released before cannot be known. Say ledger = 'my.ledger', a file that is made where there is none, "
                "and say it at every release of this key; or give the key as a file, which has its ledger beside it."
            )
        return None
    try:
        path = Path(given).resolve()
    except (OSError, ValueError, RuntimeError):
        raise KeyFileError(f"ledger {str(given)!r} is not a path that can be used.") from None
    if path.is_dir() or not path.parent.is_dir():
        raise KeyFileError(f"ledger {str(given)!r}: name a file, in a directory that exists.")
    if path in [other.resolve() for other in others]:
        raise KeyFileError(f"ledger {str(given)!r} is the source or the release itself: name another file.")
    return path


def entry_of(
    manifest: Manifest,
    to: Path,
    identity: Sequence[str],
    key: bytes,
    source: str | None,
    adopted: Mapping[str, tuple[float, ...]],
    coins: Mapping[str, str],
    kinds: Sequence[str],
) -> Entry:
    """What the ledger will say of a release; `coins` has what its perturbers say of the columns' coins."""
    columns = {c.name: _words(c) for c in manifest.columns if c.perturbed is not None}
    named = tuple(sorted(name.casefold() for name in identity))
    when = datetime.now(UTC).isoformat(timespec="seconds")
    print_of = fingerprint(key)
    origin = None if source is None else subkey(key, "ledger source", source).hex()[:16]
    release = (manifest.table, str(to), columns, named, manifest.level, manifest.rows, when)
    address = ("ledger coins", manifest.table.casefold())
    prints = {name: subkey(key, *address, name.casefold(), said).hex()[:16] for name, said in coins.items()}
    known = {name: prints[name] for name in columns if name in prints}
    return Entry(*release, print_of, origin, dict(adopted), known, secrets.token_hex(8), tuple(kinds))


def fingerprint(key: bytes) -> str:
    """Tells one key from another: 64 bits of a pseudorandom function of it, which lead no way back."""
    return subkey(key, "ledger").hex()[:16]


def read_ledger(path: Path, *, beside: Entry | None = None) -> list[Entry]:
    """The releases in a ledger, none where there is no file; those that are coupled with `beside` are passed over."""
    return _entries(path, read_records(path), beside)


@contextmanager
def recording(path: Path | None, entry: Entry, aside: Path, *, independent: bool) -> Iterator[None]:
    """Check a release against the ledger of its key and enter it, before what is in `aside` is put in place.

    Whatever ends the process from then on, the release counts. Where putting it in place fails, and `aside` is still
    where it was, it was not released, and that is entered too.
    """
    if path is None:
        yield
        return
    with open_journal(path) as journal:
        earlier = _entries(path, journal.records, entry)
        if not independent:
            check_coupled(entry, earlier)
        if (doubt := other_rows(entry, earlier)) is not None:
            warnings.warn(OtherRows(doubt), stacklevel=3)
        journal.intend(entry.to_json())
        try:
            yield
        except BaseException:
            if os.path.lexists(aside):
                with suppress(KeyFileError):  # it counts as released then, which is no more than too careful
                    journal.withdraw(entry.id)
            raise
        try:
            journal.confirm(entry.id)
        except KeyFileError as error:
            said = f"the release {entry.to!r} is in place and in its ledger, where it is not confirmed: {error}"
            warnings.warn(NotConfirmed(said), stacklevel=3)


def _entries(path: Path, records: Sequence[Record], beside: Entry | None) -> list[Entry]:
    coupled = None if beside is None else f'"couples": "{beside.couples}"'
    looked_at = [record for record in records if coupled is None or coupled not in record.line]
    try:
        return [replace(Entry.from_json(record.line), confirmed=record.confirmed) for record in looked_at]
    except OlderFormat:
        raise KeyFileError(
            f"ledger {str(path)!r} is of an older version, whose releases drew other coins: no release can be coupled "
            "with them any more. Keep it with its key, and publish with a new key: then old and new releases are "
            "independent, and what they tell of a row adds up."
        ) from None
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise damaged(path) from None


def check_coupled(entry: Entry, earlier: Sequence[Entry]) -> None:
    """Refuse a release that an earlier one of the same original cannot be coupled with."""
    for other in earlier:
        for name in entry.columns:
            reason = uncoupled(entry, other, name)
            if reason is not None:
                raise PolicyError(_refusal(entry, other, name, reason))


def uncoupled(entry: Entry, other: Entry, name: str) -> str | None:
    """What keeps two releases' copies of a column from being coupled; None where they are, or are of different data."""
    there = next((found for found in other.columns if found.casefold() == name.casefold()), None)
    same_table = entry.table.casefold() == other.table.casefold()
    same_source = entry.source is not None and entry.source == other.source
    if there is None or entry.key != other.key or not (same_table or same_source):
        return None
    if not same_table:
        return f"the table was called {other.table!r} then"
    if entry.identity != other.identity:
        return "rows were named by other columns then"
    if entry.kinds != other.kinds and entry.kinds and other.kinds:
        return "rows were named by values of another type then"
    coins = entry.coins.get(name)
    if coins is not None and coins == other.coins.get(there):
        return None
    mechanism = MECHANISMS[entry.columns[name]["mechanism"]]
    if (then := other.columns[there]["mechanism"]) != mechanism.name:
        return f"its mechanism was {then!r} then"
    one, before = (_of_coins(words, mechanism) for words in (entry.columns[name], other.columns[there]))
    different = [key for key in sorted({*one, *before}) if one.get(key) != before.get(key)]
    said = [key for key in different if key in mechanism.keys]
    if said:
        return f"its {said[0]} was different then"
    if different and mechanism.besides == Mechanism.besides:
        return f"its {different[0]} {'were' if different[0].endswith('s') else 'was'} different then"
    if different:
        return mechanism.besides
    if entry.adopted.get(name) or other.adopted.get(there):
        return "other copies were adopted then"
    return None if coins is None else mechanism.besides


def _of_coins(words: Mapping[str, Any], mechanism: Mechanism) -> dict[str, Any]:
    """What coins depend on: not on the level, nor on whether NULLs that are no value are let pass or refused."""
    rest = {key: said for key, said in words.items() if key not in mechanism.level_keys}
    return rest | {"nulls": "value"} if rest.pop("nulls", None) == "value" else rest


def other_rows(entry: Entry, earlier: Sequence[Entry]) -> str | None:
    """What to say where a position may name another row than it did in an earlier release; None where nothing does."""
    for other in reversed(earlier):
        names = {name.casefold() for name in entry.columns} & {name.casefold() for name in other.columns}
        alike = entry.key == other.key and entry.table.casefold() == other.table.casefold() and bool(names)
        if entry.identity or other.identity or not alike:
            continue
        if entry.source != other.source:
            reason = "from another source"
        elif entry.rows < other.rows:
            reason = f"with {other.rows:,} rows, where there are {entry.rows:,} now"
        else:
            continue
        return (
            f"rows of {entry.table!r} are named by their position, and this key released {other.table!r} before "
            f"{reason}, as {other.to!r} ({other.when}): row 1 here has the coins of row 1 there. Where these are not "
            "the same rows in the same order, with new ones at the end, give this table a key or a name of its own, or "
            "name its rows by an identity."
        )
    return None


def added_up(entries: Sequence[Entry]) -> dict[str, float]:
    """Column by column, the epsilon that the releases of one original have together.

    Coupled copies have that of the largest among them; those that cannot be coupled add up. A column whose mechanism
    promises none is left out.
    """
    result: dict[str, float] = {}
    names = {name.casefold(): name for entry in entries for name in entry.columns}
    for name in names.values():
        groups: list[tuple[Entry, float]] = []
        for entry in entries:
            known = next((found for found in entry.columns if found.casefold() == name.casefold()), None)
            epsilon = None if known is None else _epsilon(entry.columns[known], known)
            if known is None or epsilon is None:
                continue
            for i, (first, most) in enumerate(groups):
                if uncoupled(entry, first, known) is None:
                    groups[i] = (first, max(most, epsilon))
                    break
            else:
                groups.append((entry, epsilon))
        if groups:
            result[name] = sum(epsilon for _, epsilon in groups)
    return result


def _words(column: ReleasedColumn) -> dict[str, Any]:
    """What a manifest says of a column, its name and type left out: the coins and what they mean."""
    bound = column.perturbed
    assert bound is not None
    return {"mechanism": bound.mechanism, **json.loads(json.dumps(MECHANISMS[bound.mechanism].to_json(bound)))}


def _epsilon(words: Mapping[str, Any], name: str) -> float | None:
    """The epsilon of a column as a ledger has it; the type plays no part in it."""
    mechanism = MECHANISMS[words["mechanism"]]
    fields = Fields(f"column {name!r}", {key: value for key, value in words.items() if key != "mechanism"})
    try:
        return mechanism.describe(mechanism.from_json(name, fields, UNKNOWN)).epsilon
    except (ReleaseError, ArithmeticError):
        return None


def _refusal(entry: Entry, other: Entry, name: str, reason: str) -> str:
    known = "" if other.level is None else f", level {other.level}"
    together = added_up([other, entry]).get(name)
    alone = [added_up([each]).get(name) for each in (other, entry)]
    said = ""
    if together is not None and all(each is not None for each in alone):
        said = f" (epsilon {alone[0]:.3g} and {alone[1]:.3g} become {together:.3g})"
    return (
        f"column {name!r} was released before by this key, in {other.to!r} ({other.when}{known}), and this release "
        f"cannot be coupled with it, for {reason}: the two would be independent draws of the same values, which tell "
        f"more together than each alone{said}. Publish it as before, or say independent = True (--independent) and "
        "add the two up."
    )
