"""A random share of the decided cases, which go to review so that somebody sees how many are wrong.

Whether a case is drawn depends on its id and the seed, not on its place in the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from rejo._typing import Floats
from rejo.scoring.cases import AMBIGUOUS, NOTHING, Cases, restored
from rejo.scoring.counts import hashes_of
from rejo.tables import uniform

# Half of the share is drawn alike from all decided cases, the rest where an error is hard to
# predict.  The half bounds the weights: a case that seems safe counts for 2 / share at most.
ALIKE = 0.5


def draw_alike(cases: Cases, share: float, seed: int, places: Any) -> None:
    """Draw each case that may be decided with the same chance.

    Cases without names are drawn by their ``places`` (n,) in the table.
    """
    keys = places.astype(np.uint64) if cases.names is None else _keys(cases)
    cases.rows["drawn"] = (uniform(keys, seed) < share) & (cases.rows["reason"] <= AMBIGUOUS)


def _keys(cases: Cases) -> NDArray[np.uint64]:
    return hashes_of(cases.names.to_numpy(zero_copy_only=False))


class Audit:
    """Draws more of the decided cases whose chance of an error is high.

    The variance of an estimate is lowest if a case is drawn in proportion to the standard deviation
    of its error, ``sqrt(c (1 - c))`` with its chance ``c`` (Neyman 1934).  The mean of this over
    the cases that the model decides is known once all are :meth:`counted`.
    """

    def __init__(self, share: float, seed: int) -> None:
        self.share, self.seed = share, seed
        self._n, self._total = 0, 0.0

    def counted(self, parts: Iterable[Cases]) -> Iterator[Cases]:
        """Pass cases on."""
        for cases in parts:
            decided = cases.rows["chance"][cases.rows["reason"] == NOTHING]
            self._n += len(decided)
            self._total += float(_spread(decided).sum())
            yield cases

    def probability(self, cases: Cases) -> Floats:
        """Probability (n,) with which each case is drawn if it is decided."""
        spread = _spread(cases.rows["chance"])
        odds = spread * self._n / self._total if self._total > 0 else np.ones(len(spread))
        return np.minimum(self.share * (ALIKE + (1 - ALIKE) * odds), 1.0)

    def draw(self, cases: Cases) -> None:
        """Draw cases."""
        drawn = uniform(_keys(cases), self.seed) < self.probability(cases)
        cases.rows["drawn"] = drawn & (cases.rows["reason"] <= AMBIGUOUS)

    def candidates(self, file: IO[bytes]) -> list[NDArray[Any]]:
        """Return the candidates for a review, drawn cases included, of those stored in a file."""
        file.seek(0)
        found = []
        for cases in restored(file):
            self.draw(cases)
            found.append(cases.candidates())
        return found

    def weights(self, cases: Cases) -> Floats:
        """Return how many decided cases each one stands for; NaN if the model reviews it."""
        decided = (cases.rows["decision"] >= 0) | cases.rows["drawn"]
        return np.where(decided, 1.0 / self.probability(cases), np.nan)


def _spread(chance: Floats) -> Floats:
    known = np.nan_to_num(chance)
    return np.sqrt(known * (1.0 - known))


def mix_in(candidates: list[NDArray[Any]], seed: int) -> None:
    """Give drawn cases the place in the order of reviews of an ambiguous case, at random."""
    if not candidates:
        return
    found = np.concatenate(candidates)
    ambiguous = found["sureness"][found["reason"] == AMBIGUOUS]
    random = np.random.RandomState(seed)
    for part in candidates:
        hidden = part["reason"] == NOTHING
        part["sureness"][hidden] = random.choice(ambiguous, hidden.sum()) if len(ambiguous) else 0.0
