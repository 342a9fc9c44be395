"""From the cases of an operating point to counts."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from math import isnan
from typing import Any, NamedTuple

import numpy as np

from rejo._typing import Floats, Indices, Mask
from rejo.estimators import AMBIGUOUS, NO_PRICE, NOVEL
from rejo.metrics import tally, wilson_interval
from rejo.report._labels import clean
from rejo.selection import OutOfFold, error_numbers, expect, likely_classes

BATCH = 1000  # number of cases in the texts of the page
N_STEPS = 100  # of the curve over the review budget
N_TENTHS = 10
N_BINS = 40  # of the histogram of the scores
TAIL = 0.005  # share of the scores at each end that goes into the last bin
MAX_EXPECTED = 6  # classes: with more, a number for each kind of error would fill the page
MAX_DECISIONS = 20  # classes with a column each; with more, only right and wrong are told apart
LEAST_NUMBER = 1e-6  # of errors of a kind: fewer cost nothing at any prices
RIVAL_SHARES = np.linspace(0.0, 1.0, 21)  # of reviews: closer ones look the same in a picture

Cells = tuple[float, ...]  # true class, column of the prices, number; and the next cell
Counts = dict[str, Any]


class OutcomeLayout(NamedTuple):
    """Columns of the table of outcomes, and of the prices.

    The prices have a column for each decision and, last, one for the review.  With very many
    classes the decisions are only right or wrong: 0 or 1.
    """

    columns: tuple[int, ...]  # (n_outcomes,) the column of the prices that an outcome belongs to
    n_prices: int
    wide: bool  # a column for each decision
    between: bool  # reviews are told apart by the two neighbouring classes

    def right(self, k: int) -> int:
        """Column of the right decision for class ``k``."""
        return k if self.wide else 0

    def price_column(self, decision: Indices, y: Indices) -> Indices:
        """Column (n,) of the prices for each decision."""
        return decision if self.wide else np.asarray(decision != y, dtype=np.intp)

    def outcome(self, point: OutOfFold, y: Indices) -> Indices:
        """Column (n,) of the table of outcomes for each case."""
        out = point.decision < 0
        if self.between:
            return np.where(out, 2 * point.lower + 1, 2 * point.decision)
        return np.where(out, self.n_prices - 1, self.price_column(point.decision, y))


def layout_of(outcomes: Sequence[OutOfFold], n_classes: int, ordered: bool) -> OutcomeLayout:
    """Columns for the reviews between neighbours if all lie there, or else one column."""
    K = n_classes
    if K > MAX_DECISIONS:
        return OutcomeLayout((0, 1, 2), 3, wide=False, between=False)
    # A novel case is not between two classes.
    between = ordered and not any(map(other_reasons, outcomes))
    if between and (K == 2 or all(map(_between_neighbours, outcomes))):
        # class 0, between 0 and 1, class 1, and so on
        columns = tuple(K if o % 2 else o // 2 for o in range(2 * K - 1))
        return OutcomeLayout(columns, K + 1, wide=True, between=True)
    return OutcomeLayout(tuple(range(K + 1)), K + 1, wide=True, between=False)


def _between_neighbours(point: OutOfFold) -> bool:
    # By posteriors, without a score, the likeliest classes may be any two.
    return point.score is not None and point.worth is None


def other_reasons(outcomes: OutOfFold) -> bool:
    """Whether some cases are reviewed because they are novel, or by a rule."""
    return bool((outcomes.kinds != AMBIGUOUS).any())


def count_points(
    outcomes: Sequence[OutOfFold],
    y: Indices,
    layout: OutcomeLayout,
    n_classes: int,
    size: float,
    confidence: float,
    prevented: Floats | None = None,
) -> Counts:
    """Count the outcomes of the cases at each operating point, by what is counted.

    In intervals all cases count for ``size`` independent ones.  ``y`` (n_samples,) are the true
    classes, as indices.  ``prevented`` (n_samples,) is what a wrong decision of each case is
    expected to cost, in the unit of the prices.
    """
    likely = _likely(outcomes[0], y)  # the same at all points
    points = [
        _count_point(point, y, layout, n_classes, size, confidence, prevented, likely)
        for point in outcomes
    ]
    found = {key: [point[key] for point in points] for key in points[0]}
    # Points of one model have the same ranking: what depends on it alone is kept once.
    return found | {key: shared(found[key]) for key in ("forced", "left", "queue")}


def shared(values: Sequence[Any]) -> Counts:
    """The values that differ, and which of them belongs to each point."""
    kept = list(dict.fromkeys(values))
    return {"kept": kept, "of": [kept.index(value) for value in values]}


def _likely(point: OutOfFold, y: Indices) -> Floats | None:
    return None if point.p is None else likely_classes(replace(point, y=y), len(y))


def _count_point(
    point: OutOfFold, y: Indices, layout: OutcomeLayout, n_classes: int, size: float,
    confidence: float, prevented: Floats | None, likely: Floats | None,
) -> Counts:  # fmt: skip
    counts, n = tally(point.decision, y), len(y)
    # In the order of their review: the reviewed first, then the least sure.
    order = np.argsort(-point.doubt, kind="stable")
    wrong = point.forced != y
    left = wrong.sum() - np.concatenate([[0], np.cumsum(wrong[order])])  # after k reviews, if right
    shape = n_classes, len(layout.columns)
    matrix = np.bincount(y * shape[1] + layout.outcome(point, y), minlength=shape[0] * shape[1])
    tenth = np.empty(n, dtype=np.intp)
    tenth[order] = np.repeat(np.arange(N_TENTHS), tenth_sizes(n))
    column = layout.price_column(point.forced, y)
    return {
        "costs": _rounded(float(point.reject_cost)),  # of a review where an error costs 1
        "cuts": None if point.prices is None else _rounded(float(point.cut)),
        "wrong": int(counts.wrong),
        "reviewed": int(counts.rejected),
        "matrix": matrix.reshape(shape).tolist(),  # true class, outcome
        "errors": _errors(point, y, layout, n_classes, likely),
        "forced": _errors(point.all_decided(), y, layout, n_classes, likely),
        "accuracy": _accuracy(point, y, size / n, confidence),
        # of right, wrong and reviewed cases, and of wrong ones if every case were decided
        "ranges": [
            _range(int(part) / n, size, confidence)
            for part in (counts.right, counts.wrong, counts.rejected, wrong.sum())
        ],
        "left": tuple(left[steps(n)].tolist()),  # wrong decisions, after so many hundredths
        "queue": _queue(tenth, y, wrong, column, layout, n_classes, prevented),
        "expected": None if prevented is None else float(prevented[point.decision < 0].sum()),
        "kinds": _kinds(point, wrong),
    }  # fmt: skip


def _kinds(point: OutOfFold, wrong: Mask) -> list[list[int]]:
    """Reviews for each reason, and how many of those would be wrong if they were decided.

    A case without a price is as one that cannot be read.
    """
    kinds = np.where(point.kinds == NO_PRICE, NOVEL, point.kinds)
    out = [(point.decision < 0) & (kinds == k) for k in range(NO_PRICE)]
    return [[int(cases.sum()), int(wrong[cases].sum())] for cases in out]


def _queue(
    tenth: Indices, y: Indices, wrong: Mask, column: Indices, layout: OutcomeLayout,
    n_classes: int, prevented: Floats | None,
) -> tuple[Any, ...]:  # fmt: skip
    """Of each tenth: wrong decisions if all are decided, cases of each class, expected cost."""
    in_tenths = [wrong & (tenth == t) for t in range(N_TENTHS)]
    classes = np.bincount(tenth * n_classes + y, minlength=N_TENTHS * n_classes)
    expected = None
    if prevented is not None:
        expected = tuple(np.bincount(tenth, weights=prevented, minlength=N_TENTHS).tolist())
    return (
        tuple(_cells(y[here], column[here], layout) for here in in_tenths),
        tuple(map(tuple, classes.reshape(N_TENTHS, n_classes).tolist())),
        expected,
    )


def _errors(
    point: OutOfFold, y: Indices, layout: OutcomeLayout, n_classes: int, likely: Floats | None
) -> Cells:
    """Wrong decisions: counted if one model made them, else those to expect of a model.

    They are as many as in the summary of the model: the cases count in full.
    """
    if point.fold.min() == point.fold.max() or n_classes > MAX_EXPECTED:
        wrong = (point.decision >= 0) & (point.decision != y)
        return _cells(y[wrong], layout.price_column(point.decision, y)[wrong], layout)
    numbers = error_numbers(replace(point, y=y), n_classes, len(y), likely=likely).estimate
    kinds = zip(*(part.tolist() for part in np.nonzero(numbers > LEAST_NUMBER)), strict=True)
    return tuple(part for k, c in kinds for part in (k, c, float(f"{numbers[k, c]:.8g}")))


def _cells(y: Indices, column: Indices, layout: OutcomeLayout) -> Cells:
    codes, counts = np.unique(y * layout.n_prices + column, return_counts=True)
    k, c = np.divmod(codes, layout.n_prices)
    return tuple(np.stack([k, c, counts], axis=1).ravel().tolist())


def steps(n: int) -> list[int]:
    """Number of reviews at each hundredth of the cases (N_STEPS + 1,)."""
    return [(2 * n * i + N_STEPS) // (2 * N_STEPS) for i in range(N_STEPS + 1)]


def tenth_sizes(n: int) -> list[int]:
    """Number of cases in each tenth of the ranking (N_TENTHS,)."""
    return [int(size) for size in np.diff([n * i // N_TENTHS for i in range(N_TENTHS + 1)])]


def _accuracy(
    point: OutOfFold, y: Indices, worth: float, confidence: float
) -> list[float | None] | None:
    """Share of right decisions among the decided, plus and minus a deviation over the folds.

    One model alone has no such deviation; it has Wilson's interval.
    """
    counts = tally(point.decision, y)
    right, decided = int(counts.right), int(counts.decided)
    if decided == 0:
        return None
    if point.fold.min() == point.fold.max():
        found = tuple(wilson_interval(right, decided, confidence, n_effective=decided * worth))
    else:
        in_folds = tally(point.decision, y, fold=point.fold).accepted_accuracy
        accuracy, spread = right / decided, float(np.nanstd(in_folds))
        found = accuracy, max(accuracy - spread, 0.0), min(accuracy + spread, 1.0)
    return [_rounded(part) for part in found]


@lru_cache(maxsize=512)  # points of one model share some rates
def _range(rate: float, size: float, confidence: float) -> list[int]:
    """How many of the next 1,000 cases, from and to."""
    # Every share of all cases is predicted in the same way as the share of reviews.
    found = expect(rate, 0.0, size, BATCH, confidence).rejection_rate
    return [int(BATCH * found.low + 0.5), int(BATCH * found.high + 0.5)]


def histogram(outcomes: Sequence[OutOfFold], y: Indices, n_classes: int) -> Counts | None:
    """Count the scores of each class, in the same bins; ``None`` if a case has no score."""
    scores = [point.score for point in outcomes if point.score is not None]
    if len(scores) < len(outcomes) or not all(np.isfinite(score).all() for score in scores):
        return None
    low, high = (float(end) for end in np.quantile(np.concatenate(scores), [TAIL, 1 - TAIL]))
    if not high > low:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, N_BINS + 1)

    def count(cell: Indices) -> tuple[tuple[int, ...], ...]:
        cells = np.bincount(cell, minlength=n_classes * N_BINS).reshape(n_classes, N_BINS)
        return tuple(map(tuple, cells.tolist()))

    total, reviewed, bands = [], [], []
    for point, score in zip(outcomes, scores, strict=True):
        place = np.clip(np.searchsorted(edges, score, side="right") - 1, 0, N_BINS - 1)
        cell = y * N_BINS + place
        total.append(count(cell))
        reviewed.append(count(cell[point.decision < 0]))
        inside = [] if point.bands is None else np.clip(point.bands, low, high).tolist()
        bands.append([band for band in inside if band[0] < band[1]])
    return {"edges": edges.tolist(), "total": shared(total), "reviewed": reviewed, "bands": bands}


def count_rivals(choice: Any, prices: Floats, layout: OutcomeLayout) -> list[Counts]:
    """Reviews by class and errors of the models that were not chosen, ranked at these prices."""
    found = []
    for entry in choice.tried:
        if entry.cases is None or entry.name == choice.name:
            continue
        cases = entry.cases.at_prices(prices)
        y, K = cases.y, len(prices)
        points, likely = [], _likely(cases, y)
        for cut in cases.cuts_at(RIVAL_SHARES):
            point = cases.at(cut)
            reviewed = np.bincount(y[point.decision < 0], minlength=K).tolist()
            wrong = int(tally(point.decision, y).wrong)
            points.append([reviewed, wrong, _errors(point, y, layout, K, likely)])
        found.append({"name": clean(entry.name), "n": len(y), "points": points})
    return found


def _rounded(value: float) -> float | None:
    return None if isnan(value) else float(f"{value:.6g}")
