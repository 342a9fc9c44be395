"""What a typical case looks like: centres, spreads, ranges, and what features tell of each other.

A few numbers for each feature, and for each pair of features if there are not too many, say how far
a case is from those of training, which of its features are strange, and what a feature would be if
it followed from the others.  No row of training is kept.

>>> import numpy as np
>>> height = np.linspace(150.0, 190.0, 41)
>>> Z = np.column_stack([height, height - 100.0 + np.tile([-4.0, 0.0, 4.0, 0.0], 11)[:41]])
>>> known = Typical.learn(Z)
>>> known.distance([[170.0, 70.0], [152.0, 88.0], [170.0, 700.0]]).round(1)
array([ 0. ,  5.7, 99.5])
>>> known.replaced([[170.0, 700.0]], [1]).round(1)
array([[170. ,  69.9]])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import issparse

from rejo._state import LARGEST, check_fields, either, floats, require, storable
from rejo._typing import Floats

MOST_ROWS = 10_000  # to learn from
MOST_CELLS = 1 << 25  # to learn from, if there are many features
MOST_PAIRED = 300  # features whose correlations are kept
BLOCK = 1 << 20  # numbers that are worked on at a time
FARTHEST = 1e6  # standard deviations; what is farther is as far
ORDINARY = 10.0  # standard deviations; what is farther says nothing about other features
LEAST_SHRINKAGE = 1e-3  # so that features that follow from others have a residual, too
NORMAL_QUARTILES = 1.349  # standard deviations between the quartiles of a normal distribution


@storable
class Typical(NamedTuple):
    """What was learned from cases of ``p`` features; :meth:`learn` makes it."""

    center: Floats  # (p,) means, in which far values count less
    scale: Floats  # (p,) standard deviations, likewise
    low: Floats  # (p,) lowest value
    high: Floats  # (p,) highest value
    precision: Floats  # (p, p) inverse of the correlations, or (p,) of its diagonal

    @classmethod
    def learn(cls, Z: Any) -> Self:
        """Learn from cases (n, p): an array or a sparse matrix, without missing values.

        Of more than 10,000 cases a random sample of as many is used, always the same.
        """
        Z = _sample(Z)
        n, p = Z.shape
        if not n:
            raise ValueError("there are no cases to learn from.")
        Z = np.clip(Z, -LARGEST, LARGEST)
        center, scale = _robust(Z)
        s = np.clip((Z - center) / scale, -ORDINARY, ORDINARY)
        mean, spread = s.mean(axis=0), s.std(axis=0)
        varies = spread > 1e-9
        center = np.where(varies, center + mean * scale, center)
        # The next value of a column that never changed may differ, but by the odds of 1 to n.
        still = np.maximum(np.abs(center), 1.0) / np.sqrt(n + 1.0)
        scale = np.where(varies, spread * scale, still)
        s = np.where(varies, (s - mean) / np.where(varies, spread, 1.0), 0.0)
        precision = _precision(s, varies) if p <= MOST_PAIRED else np.ones(p)
        return cls(center, scale, Z.min(axis=0), Z.max(axis=0), precision)

    def distance(self, Z: Any) -> Floats:
        """How far each case (n,) is from the centre: about 1 for cases like those of training.

        It is the Mahalanobis distance divided by the root of the number of features.
        """
        parts = [np.einsum("ij,ij->i", s, self._times(s)) for s in self._standard(Z)]
        return np.sqrt(np.maximum(np.concatenate(parts), 0.0) / len(self.center))

    def residuals(self, Z: Any) -> Floats:
        """How far each feature (n, p) is from what the others suggest, in standard deviations."""
        spread = np.sqrt(self.precision if self._alone else self.precision.diagonal())
        return np.concatenate([self._times(s) / spread for s in self._standard(Z)])

    def replaced(self, Z: Any, columns: Sequence[int]) -> Floats:
        """Cases (n, p) with these columns replaced by what the others suggest.

        That is the mean of a linear model, within the range of training; the mean of the column
        if the others tell nothing.
        """
        out = np.concatenate([block.copy() for block in _blocks(Z)])
        these = np.asarray(columns, dtype=np.intp)
        suggested = np.zeros((len(out), len(these)))
        if not self._alone and len(these) < len(self.center):
            s = np.clip(np.concatenate(list(self._standard(Z))), -ORDINARY, ORDINARY)
            s[:, these] = 0.0
            own = cho_factor(self.precision[np.ix_(these, these)])
            suggested = -cho_solve(own, self.precision[these] @ s.T).T
        values = self.center[these] + suggested * self.scale[these]
        out[:, these] = np.clip(values, self.low[these], self.high[these])
        return out

    @property
    def _alone(self) -> bool:
        return self.precision.ndim == 1

    def _times(self, s: Floats) -> Floats:
        return s * self.precision if self._alone else s @ self.precision

    def _standard(self, Z: Any) -> Iterator[Floats]:
        """Blocks of cases in standard deviations from the centre; what is missing is typical."""
        for block in _blocks(Z):
            with np.errstate(over="ignore", invalid="ignore"):
                s = (block - self.center) / self.scale
            yield np.clip(np.nan_to_num(s, copy=False, nan=0.0), -FARTHEST, FARTHEST)

    def _check_state(self) -> None:
        """The arrays are of the same features, and the precision is that of correlations."""
        alone, pairs = floats("p", low=1.0, high=1.0), floats("p", "p", low=-1e9, high=1e9)
        check_fields(
            self,
            center=floats("p"),
            scale=floats("p", low=1 / LARGEST),
            low=floats("p"),
            high=floats("p"),
            precision=either(alone, pairs),
        )
        require((self.low <= self.high).all(), self, "a lowest value is above the highest")
        if not self._alone:
            P = self.precision
            fine = len(P) <= MOST_PAIRED and np.allclose(P, P.T, rtol=1e-6, atol=1e-6)
            require(fine, self, "precision is not symmetric")
            np.linalg.cholesky(P)  # which refuses one that is not positive


def _robust(Z: Floats) -> tuple[Floats, Floats]:
    """Centre and spread of each column: by quartiles, else by moments; a spread is above 0."""
    first, median, third = np.quantile(Z, [0.25, 0.5, 0.75], axis=0)
    span = np.maximum(np.abs(Z - median).max(axis=0), 1 / LARGEST)
    d = (Z - median) / span  # within 1, so that squares stay numbers
    quartiles = third - first
    many = quartiles > 1e-9 * span  # half of the values are not the same
    center = np.where(many, median, median + span * d.mean(axis=0))
    scale = np.where(many, quartiles / NORMAL_QUARTILES, span * d.std(axis=0))
    return center, np.clip(scale, 1 / LARGEST, LARGEST)


def _precision(s: Floats, varies: Any) -> Floats:
    """Inverse (p, p) of the correlations, shrunk towards none as Ledoit and Wolf (2004) do."""
    n, p = s.shape
    R = s.T @ s / n
    R[~varies, ~varies] = 1.0
    off = ((R - np.eye(p)) ** 2).sum()
    noise = (np.einsum("ij,ij->i", s, s) ** 2).mean() - (R**2).sum()
    share = np.clip(noise / (n * off), LEAST_SHRINKAGE, 1.0) if off > 0 else LEAST_SHRINKAGE
    R *= 1.0 - share
    R.flat[:: p + 1] += share
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
    return np.concatenate([*_blocks(Z), np.empty((0, p))])


def _blocks(Z: Any) -> Iterator[Floats]:
    """Some rows after others, dense; at least one block."""
    Z = Z.tocsr() if issparse(Z) else np.asarray(Z, dtype=np.float64)
    n, p = Z.shape
    size = max(1, BLOCK // max(p, 1))
    for start in range(0, max(n, 1), size):
        rows = Z[start : start + size]
        yield np.asarray(rows.toarray() if issparse(rows) else rows, dtype=np.float64)
