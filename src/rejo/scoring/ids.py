"""Cases whose names repeat."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejo.scoring.names import hashes_of


class Ids:
    """Finds ids that repeat, by their hashes: 8 bytes a case."""

    MOST = 10_000_000  # compared; more would take too much memory

    def __init__(self) -> None:
        self._hashes: list[NDArray[np.uint64]] = []
        self._n = 0
        self.n_empty = 0

    def add(self, names: Any) -> None:
        """Note the ids (n,) of the next cases, if they have any."""
        if names is not None:
            self.n_empty += int((names == "").sum())
            if self._n < self.MOST:
                self._keep(hashes_of(names))

    def merge(self, other: Ids) -> None:
        """Note the ids that another has noted."""
        self.n_empty += other.n_empty
        for hashes in other._hashes:
            if self._n < self.MOST:
                self._keep(hashes)

    def forget(self) -> None:
        """Compare none of these ids."""
        self._hashes, self._n = [], 0

    def _keep(self, hashes: NDArray[np.uint64]) -> None:
        self._hashes.append(hashes)
        self._n += len(hashes)

    @property
    def n_repeated(self) -> int:
        """Number of cases whose id another case before them has."""
        if not self._hashes:
            return 0
        hashes = np.sort(np.concatenate(self._hashes))
        same = hashes[1:] == hashes[:-1]
        return int((same & (hashes[1:] != hashes_of([""])[0])).sum())
