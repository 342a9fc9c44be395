"""Cross-fit once: posteriors of every case by a model that has not seen it, and cuts in them.

A posterior does not depend on prices.  So one round of fits answers every question about an
operating point: rank the cases by what a review of them is worth, and every target is a cut in
that ranking.  A budget is a number of cases from the top; an allowed error is the fewest reviews
after which the errors among the rest are few enough; prices are the cut at zero.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples

from rejo._io import progress
from rejo._typing import Floats, Indices, Mask
from rejo.decisions import TIE as ROUNDING
from rejo.decisions import Decided, decide
from rejo.estimators import class_indices, final_step
from rejo.selection.chances import chance_wrong
from rejo.selection.cuts import Cuts, rank_cuts
from rejo.selection.folds import (
    Splits,
    candidate,
    check_cases,
    check_fold_weights,
    described,
    fit_weighted,
    known_classes,
    last_step,
    make_folds,
    split_once,
)
from rejo.selection.outcomes import Outcomes
from rejo.selection.path import RejectCurve

TIE = 1e-9  # what differs by less than this share of the highest price is equal: no cut between


class CrossFit(NamedTuple):
    """Posteriors of ``n`` cases, each by a model that has not seen the case.

    Parameters
    ----------
    p : ndarray of shape (n, n_classes)
        The posteriors; a column of zeros for a class that the model did not see at all.
    fold : ndarray of int of shape (n,)
        Number of the fold whose model it was.
    classes : ndarray of shape (n_classes,)
        The classes.
    y : ndarray of int of shape (n,)
        True classes, as indices into ``classes``.
    weight : ndarray of shape (n,), default=None
        Weights of the cases.
    novel : ndarray of bool of shape (n,), default=None
        Cases that are unlike the training cases, and are reviewed at any cut.

    See Also
    --------
    cross_fit : Compute them.
    """

    p: Floats
    fold: Indices
    classes: NDArray[Any]
    y: Indices
    weight: Floats | None = None
    novel: NDArray[np.bool_] | None = None

    def decided(self, prices: Floats) -> Decided:
        """Decide by prices (K, K + 1); a review of a novel case is worth more than any other."""
        found = decide(self.p, prices)
        if self.novel is None:
            return found
        return found._replace(worth=np.where(self.novel, np.inf, found.worth))

    def take(self, cases: Indices) -> Self:
        """The same of these cases, in this order."""
        weight = None if self.weight is None else self.weight[cases]
        novel = None if self.novel is None else self.novel[cases]
        return self._replace(
            p=self.p[cases], fold=self.fold[cases], y=self.y[cases], weight=weight, novel=novel
        )


@described
def cross_fit(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 5,
    groups: Any = None,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    verbose: bool | None = None,
) -> CrossFit:
    """Predict the posteriors of every case by a model that has not seen it.

    Parameters
    ----------
    estimator : classifier or Pipeline
        Anything with ``predict_proba``.  In a pipeline, the steps before the last are fitted once
        per fold.
    %X, y
    cv : int, splitter or iterable, default=5
        Every case must be in exactly one test part.
    %groups, sample_weight, n_jobs, verbose

    Returns
    -------
    crossfit : CrossFit
        ``p`` (n_samples, n_classes), ``fold``, ``classes``, ``y`` as indices, ``weight``, and
        ``novel``, the cases that a :class:`~rejo.NoveltyReject` sends to review.

    See Also
    --------
    cross_val_outcomes : The same for learners that are trained for one reject cost.
    rejo.RejectClassifierCV : Find an operating point; ``fit`` takes what this returns.
    sklearn.model_selection.cross_val_predict : Without groups, weights and novel cases.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from rejo.datasets import make_synthetic_2
    >>> from rejo.selection import cross_fit
    >>> X, y = make_synthetic_2(400, random_state=0)
    >>> found = cross_fit(LogisticRegression(), X, y)
    >>> found.p.shape, found.fold[:3], found.classes
    ((400, 2), array([0, 0, 0]), array([-1,  1]))
    """
    X, y, groups, weight = check_cases(X, y, groups, sample_weight, "cross_fit")
    splits = split_once(cv, X, y, groups)
    (found,) = fit_folds(
        estimator, X, y, splits, sample_weight=weight, n_jobs=n_jobs, verbose=verbose
    )
    place = np.argsort(np.concatenate([test for _, test in splits]))
    return found.take(place)


def fit_folds(
    estimator: Any,
    X: Any,
    y: Any,
    splits: Splits,
    *,
    grid: Sequence[Mapping[str, Any]] = ({},),
    sample_weight: Floats | None = None,
    n_jobs: int | None = None,
    verbose: bool | None = False,
) -> list[CrossFit]:
    """Posteriors of the test parts of all folds, one part after the other; one for each point."""
    if not hasattr(estimator, "predict_proba"):
        name = type(last_step(estimator)).__name__
        raise TypeError(
            f"{name} has no predict_proba: give a classifier with posteriors, or "
            f"ThresholdRejectClassifier({name}()), which calibrates the scores of any."
        )
    check_fold_weights(splits, sample_weight)
    classes, k = known_classes(estimator, y)
    cells = [
        delayed(_fit_fold)(estimator, grid, X, y, sample_weight, classes, *split)
        for split in splits
    ]
    parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    parts = list(progress(parallel(cells), len(cells), "cross-fitting", show=verbose))
    cases = np.concatenate([test for _, test in splits])
    fold = np.repeat(np.arange(len(splits)), [len(test) for _, test in splits])
    weight = None if sample_weight is None else sample_weight[cases]
    found = []
    for of_point in zip(*parts, strict=True):
        p, novel = (np.concatenate(arrays) for arrays in zip(*of_point, strict=True))
        found.append(CrossFit(p, fold, classes, k[cases], weight, novel if novel.any() else None))
    return found


def _fit_fold(
    estimator: Any, grid: Sequence[Mapping[str, Any]], X: Any, y: Any,
    sample_weight: Floats | None, classes: NDArray[Any], train: Indices, test: Indices,
) -> list[tuple[Floats, Mask]]:  # fmt: skip
    """Posteriors (n_test, K) of the test part, and which are novel, at each point of the grid."""
    found = []
    for point, fold in make_folds(estimator, grid, X, y, sample_weight, train, test):
        model = candidate(last_step(candidate(estimator, point)))
        model = fit_weighted(model, fold.X_train, fold.y_train, fold.weight)
        p = np.zeros((len(test), len(classes)))
        p[:, class_indices(model.classes_, classes)] = model.predict_proba(fold.X_test)
        found.append((p, novel_cases(model, fold.X_test)))
    return found


def novel_cases(model: Any, X: Any) -> Mask:
    """Which cases (n,) a fitted model finds unlike its training; none if it has no detector."""
    last, Z = final_step(model, X)
    if hasattr(last, "novel_mask"):
        return np.asarray(last.novel_mask(Z))
    return np.zeros(_num_samples(X), dtype=bool)


# ---- reading a cross-fit ------------------------------------------------------------------


def cuts_of(crossfit: CrossFit, prices: Floats, *, smooth: bool = False) -> Cuts:
    """Every cut in the ranking by what a review is worth at these prices (K, K + 1).

    Errors are counted or, if ``smooth``, read from a curve through them, as is right where they
    choose the cut; see :mod:`rejo.selection.chances`.
    """
    found = crossfit.decided(prices)
    wrong: Any = found.forced != crossfit.y
    if smooth:
        doubt = 1.0 - np.take_along_axis(crossfit.p, found.forced[:, None], axis=1)[:, 0]
        wrong = chance_wrong(doubt, wrong, crossfit.weight)
    scale = float(np.abs(prices).max())
    # A worth is never above the most expensive error, nor below what a review costs.
    ends = most_worth(prices), -float(prices[:, -1].max())
    return rank_cuts(found.worth, wrong, crossfit.weight, ends=ends, tie=TIE * scale)


def most_worth(prices: Floats) -> float:
    """What a review may be worth at most: the most expensive error, less the review."""
    return float((prices[:, :-1] - prices[:, -1:]).max())


def with_cut(prices: Floats, cut: float) -> Floats:
    """Return prices (K, K + 1) at which a review is chosen iff it is worth at least ``cut``."""
    prices = np.array(prices, dtype=np.float64)
    prices[:, -1] += cut
    return prices


def _level(prices: Floats, cut: Any) -> Any:
    """Worth from which a case is reviewed: a tie at the cut, up to rounding, goes to the review."""
    return cut - ROUNDING * np.abs(prices).max()


def cut_outcomes(crossfit: CrossFit, prices: Floats, cuts: Iterable[float]) -> list[Outcomes]:
    """What becomes of every case at each cut in the ranking by worth at these prices."""
    found = crossfit.decided(prices)
    sureness = np.maximum(prices[:, :-1].max() - found.worth, 0.0)
    worth = np.minimum(found.worth, most_worth(prices))
    forced: Any = found.forced.astype(np.int16)  # there may be many cases and many cuts
    return [
        Outcomes(
            reject_cost=relative_price(with_cut(prices, cut)),
            decision=np.where(found.worth >= _level(prices, cut), np.int16(-1), forced),
            forced=forced,
            lower=found.lower,
            sureness=sureness,
            score=None,
            bands=None,
            fold=crossfit.fold,
            worth=worth,
            kind=None if crossfit.novel is None else crossfit.novel.astype(np.int8),  # NOVEL is 1
        )
        for cut in cuts
    ]


def cut_curve(crossfit: CrossFit, prices: Floats, cuts: Sequence[float]) -> RejectCurve:
    """Rates at each cut and fold, by a sort and a cumulative sum."""
    found = crossfit.decided(prices)
    levels = _level(prices, np.asarray(cuts))
    weight = np.ones(len(crossfit.y)) if crossfit.weight is None else crossfit.weight
    wrong = weight * (found.forced != crossfit.y)
    R, E, sizes = [], [], []
    for j in range(int(crossfit.fold.max()) + 1):
        rows = np.flatnonzero(crossfit.fold == j)
        rows = rows[np.argsort(found.worth[rows], kind="stable")]
        decided = np.searchsorted(found.worth[rows], levels)  # (n_cuts,) cases below the cut
        below, bad = (np.append(0.0, np.cumsum(part[rows])) for part in (weight, wrong))
        R.append(1.0 - below[decided] / below[-1])
        E.append(bad[decided] / below[-1])
        sizes.append(below[-1])
    costs = [relative_price(with_cut(prices, cut)) for cut in cuts]
    return RejectCurve(np.array(costs), np.array(R).T, np.array(E).T, np.array(sizes))


def cut_rates(crossfit: CrossFit, prices: Floats, cut: float) -> tuple[float, float]:
    """Shares of all cases that are reviewed at a cut, and that are decided wrongly."""
    found = crossfit.decided(prices)
    reviewed = found.worth >= _level(prices, cut)
    wrong = ~reviewed & (found.forced != crossfit.y)
    R, E = (float(np.average(part, weights=crossfit.weight)) for part in (reviewed, wrong))
    return R, E


def relative_price(prices: Floats) -> float:
    """Mean price of a review / mean price of an error: the reject cost, if they are the same."""
    K = len(prices)
    return float(prices[:, -1].mean() / (prices[:, :-1].sum() / (K * (K - 1))))


def mean_costs(crossfit: CrossFit, prices: Floats, cut: float = 0.0) -> Floats:
    """What each case costs (n,) at these prices if worths of at least ``cut`` are reviewed."""
    found = crossfit.decided(prices)
    reviewed = found.worth >= _level(prices, cut)
    column = np.where(reviewed, prices.shape[1] - 1, found.forced)
    return prices[crossfit.y, column]


def log_losses(crossfit: CrossFit) -> Floats:
    """Minus the logarithm of the posterior of the true class (n,)."""
    p = np.take_along_axis(crossfit.p, crossfit.y[:, None], axis=1)[:, 0]
    return -np.log(np.clip(p, 1e-15, 1.0))
