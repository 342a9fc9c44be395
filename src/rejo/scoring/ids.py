"""Cases whose names repeat."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Ids:
    """Finds ids that repeat, by their hashes: 8 bytes a case."""

    MOST = 10_000_000  # compared; more would take too much memory

    def __init__(self) -> None:
        self._hashes: list[NDArray[np.uint64]] = []
        self._n = 0
        self.n_empty = 0

    def add(self, names: Any) -> None:
        """Note the ids (n,) of the next cases."""
        if names is not None:
            self.add_hashes(hashes_of(names), int((names == "").sum()))

    def add_hashes(self, hashes: NDArray[np.uint64], n_empty: int) -> None:
        """Note ids by their hashes, of which some may be empty."""
        if self._n < self.MOST:
            self._hashes.append(hashes)
            self._n += len(hashes)
            self.n_empty += n_empty

    @property
    def n_repeated(self) -> int:
        """Number of cases whose id another case before them has."""
        if not self._hashes:
            return 0
        hashes = np.sort(np.concatenate(self._hashes))
        return int((np.diff(hashes) == 0).sum()) - max(self.n_empty - 1, 0)


def hashes_of(names: Any) -> NDArray[np.uint64]:
    """Hash of each string (n,), the same in every process."""
    from pandas.util import hash_array

    found: NDArray[np.uint64] = hash_array(np.asarray(names, dtype=object), categorize=False)
    return found
