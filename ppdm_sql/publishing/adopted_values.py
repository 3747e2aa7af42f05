"""A column of which copies are out already: new levels are drawn between them, and the copies are judged on the way."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from ppdm_udfs import Gap, KeyedRows, bridge, decode, encode
from ppdm_udfs.coins import digest
from scipy.special import betaincinv

from ppdm_sql.errors import SourceError
from ppdm_sql.mechanisms.retained.publish_uniform import UniformColumn
from ppdm_sql.publishing.adopted_copies import Copy, Matching
from ppdm_sql.publishing.perturber import Rows, SingleColumn
from ppdm_sql.publishing.retained_law import Chain, Tally

Words = npt.NDArray[np.uint64]

EDITED = (
    "Where originals were edited since, leave their rows out of the copy: what they are now is no longer coupled with "
    "it, and they are drawn as new ones."
)


class AdoptingColumn(SingleColumn):
    """A column that is kept or replaced; `allowed` is how often honest copies of it may be refused."""

    def __init__(self, plain: UniformColumn, copies: Sequence[Copy], allowed: float) -> None:
        super().__init__(plain.columns[0], plain.name)
        self._plain = plain
        self._allowed = allowed
        self.copies = sorted(copies, key=lambda copy: -copy.level)
        self._matching = Matching(self.copies)
        self._chain = Chain(plain.kernel, [copy.level for copy in self.copies])

    def values(self, array: pa.Array | pa.ChunkedArray, rows: Rows) -> pa.Array:
        """Rows that are in the copies are drawn between them, new ones as ever."""
        kernel = self._plain.kernel
        original = encode(array, kernel.domain, kernel.nulls, kernel.outside)
        known, places = self._matching.find(rows)
        if not known.any():
            return self._plain.values(array, rows)
        chosen = [copy.columns[0][found] for copy, found in zip(self.copies, places, strict=True)]
        self._chain.add(original[known], chosen)
        between = self._between(original[known], chosen, rows.keyed[known], rows)
        if known.all():
            return decode(between, kernel.domain, array.type)
        result = encode(self._plain.values(array, rows), kernel.domain, kernel.nulls)
        result[known] = between
        return decode(result, kernel.domain, array.type)

    def _between(self, original: Words, copies: Sequence[Words], known: KeyedRows, rows: Rows) -> Words:
        kernel = self._plain.kernel
        levels = [(1.0, original), *((copy.level, index) for copy, index in zip(self.copies, copies, strict=True))]
        for retain, index in levels:
            if retain == kernel.retain:
                return index
        upper = min((level for level in levels if level[0] > kernel.retain), key=lambda level: level[0])
        lower = max((level for level in levels if level[0] < kernel.retain), key=lambda level: level[0], default=None)
        gap = Gap(upper[0], None if lower is None else lower[0])
        below = None if lower is None else lower[1]
        return bridge(
            upper[1],
            below,
            gap,
            kernel,
            key=rows.key,
            table=rows.table,
            column=self.name,
            rows=known,
            parameters=self._plain.parameters,
        )

    def coins(self) -> Mapping[int, str]:
        """Those of the column without copies, and the copies."""
        words = (word for copy in self.copies for word in (copy.level.hex(), copy.digest))
        return {self.columns[0]: digest("adopted", self._plain.parameters, *words)}

    def perturb(self, arrays: Sequence[pa.Array], rows: Rows) -> list[pa.Array]:
        """The released array; the spacing of the original values is looked at as ever."""
        result = super().perturb(arrays, rows)
        self._plain.look_at_spacing(arrays[0])
        return result

    def check(self, where: str) -> None:
        """As without copies, and whether these are what they are declared to be."""
        self._plain.check(where)
        self._matching.check()
        for copy, count in zip(self.copies, self._chain.odd, strict=True):
            if count:
                raise SourceError(
                    f"{copy.where}: column {self.name!r} is NULL in the copy and not in the source, or the other way "
                    f'round, in {count:,} rows, where nulls = "keep" leaves NULL as it is. {EDITED}'
                )
        levels = 2 * len(self.copies) - 1
        limit = math.log(self._allowed / (4 * levels))  # half of it for these, two sides each
        for copy, tally in zip(self.copies, self._chain.originals, strict=True):
            if tally.chance < limit:
                raise SourceError(self._not_as_declared(copy, tally))
        for place, link in enumerate(self._chain.links[1:]):
            if link.all.chance < limit:
                raise SourceError(self._not_coupled(self.copies[place], self.copies[place + 1], link.all, link.kept))
        self._check_others()

    def _check_others(self) -> None:
        """What else of a copy's law can be seen, with the other half of what may be refused wrongly."""
        found = [
            (place, kind, chance) for place, link in enumerate(self._chain.links) for kind, chance in link.chances()
        ]
        found += [(j - 1, "past", tally.chance) for (_, j), tallies in self._chain.past.items() for tally in tallies]
        limit = math.log(self._allowed / (4 * max(len(found), 1)))
        for place, kind, chance in found:
            if chance < limit:
                copy = self.copies[place]
                beside = "the source" if not place else f"the {self.copies[place - 1].where}"
                raise SourceError(
                    f"{copy.where}: column {self.name!r} is declared to be kept with retention {copy.level:g} by "
                    f"{self._plain.column.mechanism!r}, and agrees with {beside} about as often, but {_WRONG[kind]}: "
                    f"{self._chain.rows:,} rows could hardly show that by chance. It was made with another domain, "
                    f"other weights or by something else, and cannot be adopted. {EDITED}"
                )

    def _not_as_declared(self, copy: Copy, tally: Tally) -> str:
        found, low, high = _kept(tally)
        return (
            f"{copy.where}: column {self.name!r} is declared to be kept with retention {copy.level:g}, but the copy "
            f"agrees with the source in {tally.seen:,} of {tally.rows:,} rows: a retention of {found:.3g} (95 %: "
            f"{low:.3g} to {high:.3g}). Declare the retention that it was made with; near 0 it is a copy of another "
            f"column, or its rows are known by something else. {EDITED}"
        )

    def _not_coupled(self, better: Copy, worse: Copy, tally: Tally, kept: float) -> str:
        found, low, high = _kept(tally)
        return (
            f"{better.where} ({better.level:g}) and {worse.where} ({worse.level:g}): column {self.name!r} of the two "
            f"agrees in {tally.seen:,} of {tally.rows:,} rows, as if {found:.3g} (95 %: {low:.3g} to {high:.3g}) of "
            f"the one were kept in the other, which is {kept:.3g} where copies are levels of one chain. They are not "
            "coupled: together they tell more than the better one alone, and no new level can be coupled with both. "
            "Adopt one of them, and add up what it and the other tell."
        )

    def remedy(self) -> str:
        """As without copies."""
        return self._plain.remedy()


_WRONG = {
    "values": "some values are kept more often than others",
    "spread": "the values that were put in the place of others are not spread over the domain as the policy draws them",
    "distance": "the values that were put in the place of others lie nearer to these, or farther, than drawn ones do",
    "past": "it agrees with what is kept better beyond what the copy between them kept, so that they are not coupled",
}


def _kept(tally: Tally) -> tuple[float, float, float]:
    """The retention that was found, and between what it lies, 95 times in 100."""
    seen, rows, share = tally.seen, tally.rows, tally.share
    low = float(betaincinv(seen, rows - seen + 1, 0.025)) if seen else 0.0
    high = float(betaincinv(seen + 1, rows - seen, 0.975)) if seen < rows else 1.0
    kept = [(agree - share) / (1 - share) if share < 1 else agree for agree in (seen / rows, low, high)]
    return max(kept[0], 0.0), max(kept[1], 0.0), max(kept[2], 0.0)
