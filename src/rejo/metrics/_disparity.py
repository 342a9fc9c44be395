"""Whether reviews widen the gaps between groups.

Where a group's errors are made with high sureness, reviews take its right decisions first, and the
gap to the others grows.  All groups share one ranking and one cut, and everything follows from four
counts: cases decided rightly or wrongly, or reviewed where the decision would have been so.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from rejo._errors import integer, number
from rejo._html import table_html
from rejo._io import percent
from rejo._typing import Floats, Indices, Mask
from rejo.metrics._labels import (
    check_mask,
    check_sureness,
    distinct,
    floats,
    forced_outcomes,
    labels,
    of_forced,
    positions,
)
from rejo.metrics._tally import share
from rejo.metrics.intervals import Interval, wilson_limits

SHARES = np.arange(20) / 20  # 0, 5 %, ..., 95 %
NO_INTERVAL = Interval(float("nan"), float("nan"), float("nan"))


class AccuracyGap(NamedTuple):
    """Gap between the best and the worst of the groups with enough decided cases.

    Parameters
    ----------
    best, worst : int
        Positions of the two groups; -1 if there are not two with enough decided cases.
    gap : Interval
        Between the accuracies of the two; NaN if there are not two.
    before : float
        The gap between the same two if every case were decided.
    change : Interval
        What reviews add to the gap between these two.
    """

    best: int
    worst: int
    gap: Interval[float]
    before: float
    change: Interval[float]


class DisparityCurve(NamedTuple):
    """Accuracy of the decided cases of each group, as the share of reviews grows.

    Parameters
    ----------
    groups, n_cases : ndarray of shape (n_groups,)
        The groups, and their numbers of cases.
    share, threshold : ndarray of shape (n_shares,)
        Share of all cases that go to review: those with a sureness below the threshold.
    overall : ndarray of shape (n_shares,)
        Accuracy of all decided cases.
    reviewed, n_decided : ndarray of shape (n_shares, n_groups)
        Share of the group that goes to review, and number of its cases that are decided.
    accuracy, low, high : ndarray of shape (n_shares, n_groups)
        Accuracy of the decided cases of the group, with Wilson's interval; NaN, 0 and 1 if none is
        decided.
    best, worst : ndarray of int of shape (n_shares,)
        Index of the group with the highest and with the lowest accuracy, among those with at least
        ``min_cases`` decided cases; -1 if there are not two of them.
    gap, gap_low, gap_high : ndarray of shape (n_shares,)
        Between the accuracies of these two; the interval allows for all groups at once.
    change, change_low, change_high : ndarray of shape (n_shares,)
        The gap minus that between the same two groups if every case were decided. Reviews widen
        the gap beyond chance where ``change_low > 0``.
    min_cases, confidence
        As they were given.
    """

    groups: NDArray[Any]
    n_cases: Indices
    share: Floats
    threshold: Floats
    overall: Floats
    reviewed: Floats
    n_decided: Indices
    accuracy: Floats
    low: Floats
    high: Floats
    best: Indices
    worst: Indices
    gap: Floats
    gap_low: Floats
    gap_high: Floats
    change: Floats
    change_low: Floats
    change_high: Floats
    min_cases: int
    confidence: float

    def _repr_html_(self) -> str:
        groups = [*self.groups.tolist(), None]  # the index -1 finds the last: too few cases
        columns = {
            "reviewed": self.share,
            "accuracy": self.overall,
            "best group": [groups[max(g, -1)] for g in self.best.tolist()],
            "worst group": [groups[max(g, -1)] for g in self.worst.tolist()],
            "gap": self.gap,
            "low": self.gap_low,
            "high": self.gap_high,
        }
        title = f"Gap in accuracy between {len(self.groups)} groups, with limits of the gap"
        notes = [f"Limits at a confidence of {percent(self.confidence)}."]
        return table_html(title, columns, shares=columns.keys(), notes=notes)

    def words(self, share: float) -> str:
        """Say what becomes of the gap at the share of reviews that is closest to this one."""
        number("share", share, 0, 1)
        s = int(np.abs(self.share - share).argmin())
        start = f"With {percent(self.share[s])} of the cases in review"
        b, w = int(self.best[s]), int(self.worst[s])
        if b < 0:
            return f"{start}, fewer than two groups have {self.min_cases} decided cases."
        verdict = "no change beyond chance"
        if self.change_low[s] > 0 or self.change_high[s] < 0:
            verdict = f"reviews {'widen' if self.change[s] > 0 else 'narrow'} the gap"
        return (
            f"{start}, decisions are right for {percent(self.accuracy[s, b])} of "
            f"{self.groups[b]!s} and {percent(self.accuracy[s, w])} of {self.groups[w]!s}: a gap "
            f"of {_points(self.gap[s])} points ({_points(self.gap_low[s])} to "
            f"{_points(self.gap_high[s])}). If every case were decided, it would be "
            f"{_points(self.gap[s] - self.change[s])}: {verdict}."
        )


@of_forced
def disparity_curve(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    sureness: ArrayLike,
    group: ArrayLike,
    *,
    shares: Sequence[float] | Floats | None = None,
    reviewed: ArrayLike | None = None,
    min_cases: int = 30,
    confidence: float = 0.95,
) -> DisparityCurve:
    """Accuracy of the decided cases of each group, as the share of reviews grows.

    The least sure cases of all groups go to review first, which can magnify disparities
    :footcite:p:`jones2021`.

    Parameters
    ----------
    %y_true, y_pred, sureness
    group : array-like of shape (n_samples,)
        Group of each case, such as a region.
    shares : sequence of float in [0, 1], default=None
        Shares of all cases to review; by default 0, 5 %, ..., 95 %. Cases of equal sureness go
        together, so the curve has the closest shares that the ranking allows.
    reviewed : array-like of bool of shape (n_samples,), default=None
        Cases that go to review at every share, such as novel ones.
    min_cases : int, default=30
        A group with fewer decided cases is in the table, but does not enter the gap.
    confidence : float, default=0.95
        Of all intervals.

    Returns
    -------
    DisparityCurve
        Named tuple of arrays; ``words(share)`` says it in a sentence.

    Examples
    --------
    >>> import numpy as np
    >>> from rejo.metrics import disparity_curve
    >>> rng = np.random.default_rng(0)
    >>> group, sureness = np.repeat(["north", "south"], 1000), rng.random(2000)
    >>> chance = np.where(group == "north", 0.3 * (1 - sureness), 0.15)  # of an error
    >>> y_pred = rng.random(2000) < chance
    >>> print(disparity_curve(np.zeros(2000), y_pred, sureness, group).words(0.5))
    With 50.0 % of the cases in review, decisions are right for 93.4 % of north and 85.5 % of
    south: a gap of 7.9 points (1.8 to 14.0). If every case were decided, it would be 1.9: reviews
    widen the gap.
    """
    found = forced_outcomes(y_true, y_pred)
    n = len(found.true)
    grouped = labels("group", group)
    if len(grouped) != n:
        raise ValueError(f"group must have {n} values, one for each case, got {len(grouped)}")
    listed = distinct(grouped)
    codes, names = positions("group", grouped, listed), np.asarray(listed, dtype=grouped.dtype)
    min_cases = integer("min_cases", min_cases, 1)
    score = check_sureness(sureness, n)
    if reviewed is not None:
        score = np.where(check_mask("reviewed", reviewed, n), -np.inf, score)
    order = np.argsort(score, kind="stable")
    wanted = SHARES if shares is None else np.atleast_1d(floats("shares", shares))
    if wanted.ndim != 1 or not len(wanted) or not ((wanted >= 0) & (wanted <= 1)).all():
        raise ValueError(f"shares must be numbers from 0 to 1, got {shares!r}")
    sizes = _sizes(score[order], wanted)

    place = np.empty(n, dtype=np.intp)
    place[order] = np.arange(n)
    out = place[:, None] < sizes  # (n, n_shares)

    def count(cases: Mask) -> Indices:  # by share and group
        counts = [np.bincount(codes[one], minlength=len(names)) for one in cases.T]
        return np.array(counts).reshape(len(sizes), len(names))

    n_cases, forced = np.bincount(codes), np.bincount(codes[found.wrong], minlength=len(names))
    rejected, wrong = count(out), count(~out & found.wrong[:, None])
    decided = n_cases - rejected
    right, accepted = (decided - wrong).astype(np.float64), decided.astype(np.float64)
    accuracy = share(right, accepted)
    low, high = _limits(decided - wrong, decided, confidence)
    gaps = [
        accuracy_gap(n_cases, *at, forced, min_cases=min_cases, confidence=confidence)
        for at in zip(rejected, wrong, strict=True)
    ]
    gap, change = (np.array([getattr(found, name) for found in gaps]) for name in ("gap", "change"))
    return DisparityCurve(
        groups=names,
        n_cases=n_cases,
        share=sizes / n,
        threshold=np.append(score[order], np.inf)[sizes],
        overall=share(right.sum(axis=1), accepted.sum(axis=1)),
        reviewed=rejected / n_cases,
        n_decided=decided,
        accuracy=accuracy,
        low=low,
        high=high,
        best=np.array([found.best for found in gaps]),
        worst=np.array([found.worst for found in gaps]),
        gap=gap[:, 0],
        gap_low=gap[:, 1],
        gap_high=gap[:, 2],
        change=change[:, 0],
        change_low=change[:, 1],
        change_high=change[:, 2],
        min_cases=min_cases,
        confidence=float(confidence),
    )


def accuracy_gap(
    n_cases: ArrayLike,
    reviewed: ArrayLike,
    wrong: ArrayLike,
    forced_wrong: ArrayLike,
    *,
    min_cases: int = 30,
    confidence: float = 0.95,
    worth: float = 1.0,
) -> AccuracyGap:
    """Gap between the best and the worst group, and what reviews add to it, from counts.

    The interval of the gap is from Wilson's intervals of all groups together. The data chose the
    two groups, so the interval of the change holds for every two.

    Parameters
    ----------
    n_cases, reviewed, wrong, forced_wrong : array-like of int of shape (n_groups,)
        Cases of each group, those in review, those decided wrongly, and those that would be decided
        wrongly if every case were decided.
    min_cases : int, default=30
        A group with fewer decided cases is left out.
    confidence : float, default=0.95
        Of both intervals.
    worth : float, default=1.0
        Number of independent cases that one case counts for.

    Returns
    -------
    AccuracyGap
        Named tuple ``best``, ``worst``, ``gap``, ``before``, ``change``.

    Examples
    --------
    >>> from rejo.metrics import accuracy_gap
    >>> found = accuracy_gap([1000, 1000], [300, 300], [7, 70], [100, 110])
    >>> round(found.gap.estimate, 2), round(found.before, 2), found.change.low > 0
    (0.09, 0.01, True)
    """
    n, r, w, f = (np.asarray(counts) for counts in (n_cases, reviewed, wrong, forced_wrong))
    decided = n - r
    judged = np.flatnonzero(decided >= max(min_cases, 1))
    if len(judged) < 2:
        return AccuracyGap(-1, -1, NO_INTERVAL, float("nan"), NO_INTERVAL)
    n, r, w, f, decided = n[judged], r[judged], w[judged], f[judged], decided[judged]
    error = w / decided
    b, v = int(error.argmin()), int(error.argmax())
    if b == v:  # all alike
        b, v = 0, 1
    G = len(judged)
    low, high = _limits(decided - w, decided, 1 - (1 - confidence) / G, worth)
    gap = float(error[v] - error[b])
    before = float(f[v] / n[v] - f[b] / n[b])  # exactly the gap if nothing is reviewed
    change = gap - before
    variance = _variance(n, r, w, f)
    z = ndtri(1 - (1 - confidence) / (G * (G - 1)))  # of intervals for all pairs, together
    half = float(z * np.sqrt((variance[b] + variance[v]) / worth))
    return AccuracyGap(
        int(judged[b]),
        int(judged[v]),
        Interval(gap, max(float(low.max() - high.min()), 0.0), float(high.max() - low.min())),
        before,
        Interval(change, max(change - half, -1.0), min(change + half, 1.0)),
    )


def _variance(n: Indices, r: Indices, w: Indices, f: Indices) -> Floats:
    """Variance of each group's accuracy among the decided minus that among all its cases.

    A case adds its influence on the difference: (1 - e)/p - (1 - e0) if it is decided wrongly, and
    so on, where ``e`` and ``e0`` are the error rates and ``p`` is the share decided.
    """
    cases, decided = n + 4.0, n - r + 2.0
    wrong, wrong_reviewed, right_reviewed = w + 1.0, f - w + 1.0, r - (f - w) + 1.0
    e, e0, p = wrong / decided, (wrong + wrong_reviewed) / cases, decided / cases
    influence = (
        ((decided - wrong), e0 - e / p),
        (wrong, (1 - e) / p - (1 - e0)),
        (wrong_reviewed, e0 - 1),
        (right_reviewed, e0),
    )
    squares = sum(count * value * value for count, value in influence)
    if not r.any():  # nothing is reviewed: there is no difference
        return np.zeros(len(n))
    return np.asarray(squares / (cases * cases))


def _limits(
    right: Indices, decided: Indices, confidence: float, worth: float = 1.0
) -> tuple[Floats, Floats]:
    """Wilson's limits; 0 and 1 where nothing is decided."""
    some = decided > 0
    n = np.where(some, decided, 1)
    low, high = wilson_limits(np.where(some, right / n, 0.5), n * worth, confidence)
    return np.where(some, low, 0.0), np.where(some, high, 1.0)


def _sizes(ranked: Floats, shares: Floats) -> Indices:
    """Numbers of reviews closest to the shares, where a run of equal scores ends."""
    n = len(ranked)
    ends = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True)) + 1
    if ranked[0] > -np.inf:  # no case goes to review in any event
        ends = np.append(0, ends)
    return np.unique(ends[np.abs(ends[:, None] - shares * n).argmin(axis=0)])


def _points(difference: float) -> str:
    return f"{100 * difference + 0.0:.1f}"
