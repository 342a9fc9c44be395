"""Pulls of a linear score; and of any score: replace a feature by typical values."""

from collections.abc import Callable

import numpy as np

from rejo._typing import Floats, Indices
from rejo.typical import Typical

CELLS = 1 << 21  # numbers in the rows to score at a time
ROWS_PER_CASE = 1024  # to score, if there are not too many features
DRAWS = 32  # typical cases that a case is compared with
MOST_REPLACED = 200  # features; those that are not typical come first
# Scores (r,) of rows (r, p), each of which stands for one of the cases (r,).
Score = Callable[[Floats, Indices], Floats]


def linear_pulls(coef: Floats, Z: Floats, centre: Floats, owner: Indices, m: int) -> Floats:
    """Pulls (n, m) of ``m`` features on the score ``coef . z`` of cases ``Z`` (n, p).

    Column ``j`` adds ``coef_j (z_j - centre_j)``.  With the mean of the background as the centre
    (p,) this is its Shapley value, if a feature is replaced without regard to the others.  ``coef``
    is (p,), or (n, p) if the score differs from case to case; ``owner`` (p,) is the feature that
    each column belongs to.
    """
    return summed_by(coef * (Z - centre), owner, m)


def summed_by(values: Floats, owner: Indices, m: int) -> Floats:
    sums = np.zeros((m, len(values)))
    np.add.at(sums, owner, values.T)
    return sums.T


def replacement_pulls(score: Score, Z: Floats, typical: Typical, owner: Indices) -> Floats:
    """Pulls (n, m) of ``m`` features on any score of cases ``Z`` (n, p).

    Each case is compared with a few typical ones, drawn from what is known about the training
    cases.  A feature has two moves: what the score loses if its value in the case is replaced by
    that of the typical case, and what it gains if its value is put into the typical case.  The pull
    is the mean of both.  These are the last and the first step of all orders in which features can
    become known, so if features act alone or in pairs, the pull is the Shapley value.

    Columns with one ``owner`` (p,) are replaced together.  The time is bounded: about 1,000 scores
    a case.  Of more than 200 features, those farthest from typical are tried, and the others have a
    pull of 0.
    """
    m = int(owner.max()) + 1
    tried = _least_typical(Z, typical, owner, m)
    columns = [np.flatnonzero(owner == j) for j in tried]
    n_draws = int(np.clip(ROWS_PER_CASE // (2 * len(tried)) // 2 * 2, 2, DRAWS))
    pulls = np.zeros((len(Z), m))
    step = max(1, CELLS // ((2 * len(tried) + 2) * Z.shape[1]))
    for other in typical_cases(typical, n_draws):
        for start in range(0, len(Z), step):
            cases = np.arange(start, min(start + step, len(Z)))
            pulls[cases[:, None], tried] += _moves(score, Z[cases], other, columns, cases)
    return pulls / (2 * n_draws)


def typical_cases(typical: Typical, n: int) -> Floats:
    """Draw ``n`` cases, an even number, with the spread and the correlations of training.

    They come in pairs, mirrored at the middle, and are moved to the mean of the training cases, so
    that a linear score is compared with its mean exactly, unless the range of a feature forbids it.
    """
    p = len(typical.mean)
    u = np.random.default_rng(0).standard_normal((n // 2, p))
    if typical.precision.ndim == 2:  # L'^-1 u has the covariance (L L')^-1
        u = np.linalg.solve(np.linalg.cholesky(typical.precision).T, u.T).T
    both = np.concatenate([u, -u])
    pairs = zip(both.T, typical.scores, typical.values, strict=True)
    drawn = np.column_stack([_value(*pair) for pair in pairs])
    return np.clip(drawn + typical.mean - drawn.mean(axis=0), typical.low, typical.high)


def _value(score: Floats, scores: Floats, values: Floats) -> Floats:
    """Values (n,) with these scores: between the marks, or at the nearest of a feature of few."""
    if values[-2] < values[-1]:  # all marks are in use: there may be more values
        return np.interp(score, scores, values)
    return values[np.searchsorted((scores[1:] + scores[:-1]) / 2, score)]


def _moves(
    score: Score, Z: Floats, other: Floats, columns: list[Indices], cases: Indices
) -> Floats:
    """Sum of the two moves (n, m) of each feature, against one other case (p,)."""
    m, (n, p) = len(columns), Z.shape
    rows = np.empty((2 * m + 2, n, p))
    rows[: m + 1], rows[m + 1 :] = Z, other
    for j, own in enumerate(columns):
        rows[j][:, own] = other[own]
        rows[m + 1 + j][:, own] = Z[:, own]
    s = score(rows.reshape(-1, p), np.tile(cases, 2 * m + 2)).reshape(2 * m + 2, n)
    return (s[m] - s[:m] + s[m + 1 : -1] - s[-1]).T


def _least_typical(Z: Floats, typical: Typical, owner: Indices, m: int) -> Indices:
    """Features to try, in their order: a feature with a typical value pulls nowhere."""
    if m <= MOST_REPLACED:
        return np.arange(m)
    with np.errstate(over="ignore", invalid="ignore"):
        far = np.nan_to_num(np.abs(Z - typical.mean) / typical.scale).mean(axis=0)
    by_feature = np.zeros(m)
    np.maximum.at(by_feature, owner, far)
    return np.sort(np.argsort(-by_feature, kind="stable")[:MOST_REPLACED])
