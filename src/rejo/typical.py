"""What a typical case looks like: the spread of each feature, and what features tell of each other.

A feature is put on the normal scale of its ranks in training, continued beyond the lowest and the
highest value, and the correlations on this scale (a Gaussian copula) say how far a case is from
those of training, and which of its features are strange.  No row of training is kept.

>>> import numpy as np
>>> height = np.linspace(150.0, 190.0, 41)
>>> Z = np.column_stack([height, height - 100.0 + np.tile([-4.0, 0.0, 4.0, 0.0], 11)[:41]])
>>> known = Typical.learn(Z)
>>> known.distance([[170.0, 70.0], [152.0, 88.0], [170.0, 700.0]]).round(1)
array([  0. ,   4.4, 118.4])
>>> round(known.strangest([[170.0, 700.0]])[0][0].expected, 1)
70.0
"""

from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import issparse
from scipy.special import ndtr, ndtri

from rejo._state import LARGEST, check_fields, either, floats, is_sorted, require, storable
from rejo._typing import Floats

MOST_ROWS = 10_000  # to learn from
MOST_CELLS = 1 << 25  # to learn from, if there are many features
MOST_PAIRED = 300  # features whose correlations are kept
MARKS = 17  # values kept of a feature
MOST_MARKS = 1 << 17  # of all features, if there are many
BLOCK = 1 << 20  # numbers that are worked on at a time
RANGE = 6.0  # standard deviations between the lowest and the highest value
FARTHEST = 1e6  # standard deviations; what is farther is as far
LIMITS = -FARTHEST, FARTHEST
LEAST_SHRINKAGE = 1e-3  # so that features that follow from others have a residual, too


class Strange(NamedTuple):
    """A feature of a case that is unlike the cases of training."""

    feature: int  # its index
    kind: str  # "outside" the range of training, or "unusual" given the other features
    value: float
    low: float  # lowest value of training
    high: float  # highest value of training
    expected: float  # what the other features suggest
    deviations: float  # how far from the range, or from what is expected, in standard deviations


@storable
class Typical(NamedTuple):
    """What was learned from cases of ``p`` features; :meth:`learn` makes it."""

    values: Floats  # (p, m) some values of each feature, rising; the last may come again
    scores: Floats  # (p, m) where they are, in standard deviations from the middle
    scale: Floats  # (p,) a standard deviation beyond the range: a sixth of the range
    precision: Floats  # (p, p) inverse of the correlations of the scores, or (p,) its diagonal
    mean: Floats  # (p,) of the values

    @classmethod
    def learn(cls, Z: Any) -> Self:
        """Learn from cases (n, p): an array or a sparse matrix; NaN is a missing value.

        Of more than 10,000 cases a random sample of as many is used, always the same.
        """
        Z = _sample(Z)
        n, p = Z.shape
        if not n:
            raise ValueError("there are no cases to learn from.")
        m = max(3, min(MARKS, MOST_MARKS // p))
        values, scores = np.empty((p, m)), np.zeros((p, m))
        s = np.zeros((n, p) if p <= MOST_PAIRED else (n, 0))
        for j, column in enumerate(Z.T):
            known = column[~np.isnan(column)]
            value, score = _marks(known, m)
            found = np.interp(known, value, score)
            if len(value) > 1:
                score = (score - found.mean()) / found.std()
            values[j] = np.append(value, np.full(m - len(value), value[-1]))
            scores[j] = np.append(score, np.full(m - len(value), score[-1]))
            if p <= MOST_PAIRED:
                s[:, j] = np.nan_to_num(np.interp(column, value, score), nan=0.0)
        # The next value of a column that never changed may differ, but by the odds of 1 to n.
        still = np.maximum(np.abs(values[:, 0]), 1.0) / np.sqrt(n + 1.0)
        span = values[:, -1] / RANGE - values[:, 0] / RANGE
        scale = np.maximum(np.where(span > 0, span, still), 1 / LARGEST)
        precision = _precision(s) if p <= MOST_PAIRED else np.ones(p)
        return cls(values, scores, scale, precision, np.clip(_mean(Z), values[:, 0], values[:, -1]))

    @property
    def low(self) -> Floats:
        """Lowest value (p,) of each feature."""
        return self.values[:, 0]

    @property
    def high(self) -> Floats:
        """Highest value (p,) of each feature."""
        return self.values[:, -1]

    def distance(self, Z: Any) -> Floats:
        """How far each case (n,) is from the middle: about 1 for cases like those of training.

        It is the Mahalanobis distance of the scores, divided by the root of the number of features.
        """
        parts = [np.einsum("ij,ij->i", s, self._times(s)) for s in self._scores(Z)]
        return np.sqrt(np.maximum(np.concatenate(parts), 0.0) / len(self.values))

    def novelty(self, Z: Any) -> Floats:
        """How unlike training each case (n,) is: about 1 for cases like those of training.

        It is the distance, and how far the farthest feature lies outside its range, in standard
        deviations: among many features that are as usual, a distance hardly shows a single one.
        """
        farthest = [np.abs(self._beyond(block)).max(axis=1) for block in _blocks(Z)]
        return self.distance(Z) + np.concatenate(farthest)

    def strangest(self, Z: Any, top: int = 3) -> list[list[Strange]]:
        """The features of each case that are the most unlike training, at most ``top`` of them.

        Those outside the range come first; then those that the others leave least likely, if they
        are at least half as unlikely as the first.
        """
        found = []
        own = np.sqrt(self.precision if self._alone else self.precision.diagonal())
        for block, s in zip(_blocks(Z), self._scores(Z), strict=True):
            beyond, residual = self._beyond(block), self._times(s) / own
            residual[np.isnan(block)] = 0.0  # what is missing is not strange
            expected = s - residual / own
            order = np.lexsort((-np.abs(residual), -np.abs(beyond)), axis=1)[:, :top]
            for i, features in enumerate(order.tolist()):
                outside = [j for j in features if beyond[i, j]]
                least = np.abs(residual[i]).max() / 2
                others = [j for j in features if abs(residual[i, j]) >= least]
                found.append(
                    [
                        Strange(
                            feature=j,
                            kind="outside" if outside else "unusual",
                            value=float(block[i, j]),
                            low=float(self.low[j]),
                            high=float(self.high[j]),
                            expected=float(
                                np.interp(expected[i, j], self.scores[j], self.values[j])
                            ),
                            deviations=float((beyond if outside else residual)[i, j]),
                        )
                        for j in outside or others
                    ]
                )
        return found

    @property
    def _alone(self) -> bool:
        return self.precision.ndim == 1

    def _times(self, s: Floats) -> Floats:
        return s * self.precision if self._alone else s @ self.precision

    def _beyond(self, block: Floats) -> Floats:
        """How far outside its range each feature (n, p) is; what is missing is inside."""
        with np.errstate(over="ignore", invalid="ignore"):
            found = (block - np.clip(block, self.low, self.high)) / self.scale
        return np.clip(np.nan_to_num(found, copy=False, nan=0.0), *LIMITS)

    def _scores(self, Z: Any) -> Iterator[Floats]:
        """Scores of blocks of cases; what is missing is in the middle."""
        for block in _blocks(Z):
            s = self._beyond(block)
            for j, column in enumerate(block.T):
                s[:, j] += np.interp(column, self.values[j], self.scores[j])
            yield np.clip(np.nan_to_num(s, copy=False, nan=0.0), *LIMITS)

    def _check_state(self) -> None:
        """The arrays are of the same features, and the precision is that of correlations."""
        alone, pairs = floats("p", low=1.0, high=1.0), floats("p", "p", low=-1e9, high=1e9)
        check_fields(
            self,
            values=floats("p", "m"),
            scores=floats("p", "m", low=-FARTHEST, high=FARTHEST),
            scale=floats("p", low=1 / LARGEST),
            precision=either(alone, pairs),
            mean=floats("p"),
        )
        fine = self.values.size and is_sorted(self.values) and is_sorted(self.scores)
        require(fine, self, "its values and scores do not rise")
        fine = bool(((self.low <= self.mean) & (self.mean <= self.high)).all())
        require(fine, self, "a mean is outside the range of its values")
        if not self._alone:
            P = self.precision
            fine = len(P) <= MOST_PAIRED and np.allclose(P, P.T, rtol=1e-6, atol=1e-6)
            require(fine, self, "precision is not symmetric")
            np.linalg.cholesky(P)  # which refuses one that is not positive


def _mean(Z: Floats) -> Floats:
    """Mean (p,) of what is known of each column; sums of large numbers must not overflow."""
    known = np.maximum((~np.isnan(Z)).sum(axis=0), 1)
    return np.nansum(Z / known, axis=0)


def _marks(column: Floats, most: int) -> tuple[Floats, Floats]:
    """Some values of a column, rising, and the normal scores of their ranks; equal ones share it.

    Those kept are evenly spread over the scores, and the lowest and the highest are among them.
    """
    values, counts = np.unique(column, return_counts=True)
    if not len(values):
        return np.zeros(1), np.zeros(1)
    rank = (np.cumsum(counts) - counts / 2) / counts.sum()
    scores = ndtri(rank)
    if len(values) > most:
        wanted = ndtr(np.linspace(scores[0], scores[-1], most))
        kept = np.searchsorted(rank, wanted[1:-1])
        kept = np.unique([0, *np.minimum(kept, len(values) - 1), len(values) - 1])
        values, scores = values[kept], scores[kept]
    return values, scores


def _precision(s: Floats) -> Floats:
    """Inverse (p, p) of the correlations, shrunk towards none as Ledoit and Wolf (2004) do."""
    n, p = s.shape
    R = s.T @ s / n
    R.flat[:: p + 1] = 1.0  # also of a feature that never changes
    off = ((R - np.eye(p)) ** 2).sum()
    noise = (np.einsum("ij,ij->i", s, s) ** 2).mean() - (R**2).sum()
    share = np.clip(noise / (n * off), LEAST_SHRINKAGE, 1.0) if off > 0 else LEAST_SHRINKAGE
    R *= 1.0 - share
    R.flat[:: p + 1] = 1.0
    P = cho_solve(cho_factor(R), np.eye(p))
    return np.ascontiguousarray((P + P.T) / 2.0)


def _sample(Z: Any) -> Floats:
    """Rows to learn from, dense."""
    if not issparse(Z):
        Z = np.asarray(Z, dtype=np.float64)
    n, p = Z.shape
    most = max(2, min(MOST_ROWS, MOST_CELLS // max(p, 1)))
    if n > most:
        Z = Z[np.sort(np.random.default_rng(0).choice(n, most, replace=False))]
    Z = np.concatenate([*_blocks(Z), np.empty((0, p))])
    Z[np.abs(Z) < 1 / LARGEST] = 0.0  # differences of smaller numbers have no inverse
    return np.clip(Z, -LARGEST, LARGEST, out=Z)


def _blocks(Z: Any) -> Iterator[Floats]:
    """Some rows after others, dense; at least one block."""
    Z = Z.tocsr() if issparse(Z) else np.asarray(Z, dtype=np.float64)
    n, p = Z.shape
    size = max(1, BLOCK // max(p, 1))
    for start in range(0, max(n, 1), size):
        rows = Z[start : start + size]
        yield np.asarray(rows.toarray() if issparse(rows) else rows, dtype=np.float64)
