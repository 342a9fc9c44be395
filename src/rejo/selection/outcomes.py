"""What becomes of every case at each operating point: what a report is made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv
from sklearn.utils.parallel import Parallel, delayed

from rejo._io import progress
from rejo._typing import Floats, Indices
from rejo.estimators.base import Judgement, RejectClassifier
from rejo.estimators.boundaries import BoundaryClassifier
from rejo.estimators.classes import class_indices, encode_classes
from rejo.estimators.pipelines import final_step
from rejo.selection.path import (
    REJECT_COSTS,
    RejectCurve,
    check_cases,
    check_reject_costs,
    check_rejects,
    fold_models,
)


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What became of every case at one operating point; classes as indices into ``classes_``.

    Attributes
    ----------
    reject_cost : float
        Price of a review, where an error costs 1; NaN if the point is a share of a ranking.
    decision : ndarray of int of shape (n_samples,)
        -1: goes to review.
    forced : ndarray of int of shape (n_samples,)
        Decision if there is no review.
    lower : ndarray of int of shape (n_samples,)
        Lower of the two neighbouring classes that it hesitates between.
    sureness : ndarray of shape (n_samples,)
        From 0 on, least for the case whose review is worth most.
    score : ndarray of shape (n_samples,) or None
        One number for each case, higher for higher classes, if the classifier has such.
    bands : ndarray of shape (n_classes - 1, 2) or None
        Scores between which a case goes to review, if that depends on the score alone.
    fold : ndarray of int of shape (n_samples,)
        Which of the models judged the case.
    """

    reject_cost: float
    decision: Indices
    forced: Indices
    lower: Indices
    sureness: Floats
    score: Floats | None
    bands: Floats | None
    fold: Indices


def cross_val_outcomes(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    reject_costs: Iterable[float] = REJECT_COSTS,
    cv: Any = 5,
    groups: Any = None,
    n_jobs: int | None = None,
    verbose: bool | None = None,
) -> list[Outcomes]:
    """Judge every case by models that have not seen it, at every reject cost.

    As :func:`reject_curve`, which gives the rates alone.

    Parameters
    ----------
    estimator : estimator
        A classifier with a parameter ``reject_cost``, or a pipeline that ends in one.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    reject_costs : iterable of float in (0, 0.5], default=0.04, 0.08, ..., 0.48
    cv : int, splitter or iterable, default=5
        Every case must be in exactly one test part.
    groups : array-like of shape (n_samples,), default=None
        For a splitter that keeps groups together.
    n_jobs : int, default=None
        Folds that are worked on at the same time.
    verbose : bool, default=None
        Show progress on stderr; by default only if that is a terminal.

    Returns
    -------
    outcomes : list of Outcomes
        One for each reject cost, ascending.

    Examples
    --------
    >>> from rejo import RejoSVC, make_synthetic_1
    >>> from rejo.selection import cross_val_outcomes
    >>> X, y = make_synthetic_1(400, random_state=0)
    >>> points = cross_val_outcomes(RejoSVC(C=10, gamma=4), X, y, reject_costs=[0.04, 0.2, 0.48])
    >>> [round(float((point.decision < 0).mean()), 1) for point in points]
    [0.5, 0.3, 0.0]
    """
    costs = check_reject_costs(reject_costs)
    name = check_rejects(estimator)
    X, y, groups, _ = check_cases(X, y, groups, None, "cross_val_outcomes")
    order = estimator.get_params().get(name.removesuffix("reject_cost") + "class_order")
    classes, _ = encode_classes(y, order)
    folds = list(check_cv(cv, y, classifier=True).split(X, y, groups))
    tested = np.concatenate([test for _, test in folds])
    if not np.array_equal(np.sort(tested), np.arange(len(y))):
        raise ValueError("cv must put every case into exactly one test part, as a KFold does.")
    cells = [delayed(_judge_fold)(estimator, name, costs, X, y, classes, *fold) for fold in folds]
    parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    parts = list(progress(parallel(cells), len(cells), "judging", show=verbose))
    fold = np.repeat(np.arange(len(folds)), [len(test) for _, test in folds])
    place = np.argsort(tested, kind="stable")  # of each case among the test parts
    return [_join(cost, [part[i] for part in parts], fold, place) for i, cost in enumerate(costs)]


def ranking_outcomes(model: Any, X: Any, shares: Iterable[float]) -> tuple[list[Outcomes], int]:
    """Judge cases by one fitted model, as if it could review other shares of them.

    The cases are ranked as :meth:`~rejo.RejoSVC.queue` ranks them: first those that the model
    rejects, the most doubtful before the others, then those that it decides with least sureness.

    Parameters
    ----------
    model : RejectClassifier or Pipeline
        Fitted.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    shares : iterable of float in [0, 1]
        Shares of the cases that go to review.

    Returns
    -------
    outcomes : list of Outcomes
        One for each number of reviews, ascending, with that of the model itself among them.
    chosen : int
        Place of the latter.
    """
    judgement, score, bands, cost = _look(model, X)
    n, rejected = len(judgement.decision), judgement.decision < 0
    order = np.lexsort((judgement.sureness, ~rejected))
    own = int(rejected.sum())
    sizes = sorted({own, *(round(float(share) * n) for share in shares)})
    points = []
    for size in sizes:
        decision = judgement.forced.copy()
        decision[order[:size]] = -1
        points.append(
            Outcomes(
                cost if size == own else np.nan,
                judgement.decision if size == own else decision,
                judgement.forced,
                judgement.lower,
                judgement.sureness,
                score,
                bands if size == own else None,
                np.zeros(n, dtype=np.intp),
            )
        )
    return points, sizes.index(own)


def curve_of(outcomes: Sequence[Outcomes], y: Indices) -> RejectCurve:
    """Rates at each operating point, fold by fold; ``y`` as indices into the classes."""
    folds = outcomes[0].fold == np.unique(outcomes[0].fold)[:, None]  # (n_folds, n_samples)
    sizes = folds.sum(axis=1)
    rejected = np.array([point.decision < 0 for point in outcomes])  # (n_points, n_samples)
    wrong = ~rejected & np.array([point.decision != y for point in outcomes])
    R, E = (part.astype(np.float64) @ folds.T / sizes for part in (rejected, wrong))
    costs = np.array([point.reject_cost for point in outcomes])
    return RejectCurve(costs, R, E, sizes.astype(np.float64))


Part = tuple[Judgement, Floats | None, Floats | None, float]


def _judge_fold(
    estimator: Any, name: str, costs: list[float], X: Any, y: Any, classes: NDArray[Any],
    train: Any, test: Any,
) -> list[Part]:  # fmt: skip
    parts = []
    for model, X_test in fold_models(estimator, name, costs, X, y, None, train, test):
        judgement, score, bands, cost = _look(model, X_test)
        parts.append((_among(classes, model.classes_, judgement), score, bands, cost))
    return parts


def _among(classes: NDArray[Any], known: NDArray[Any], judgement: Judgement) -> Judgement:
    """Judgement by a model that may not know all classes, with indices into all of them."""
    if len(known) == len(classes):
        return judgement
    place = np.append(class_indices(known, classes), -1)  # a rejection stays -1
    fields = ("decision", "forced", "lower", "upper")
    return judgement._replace(**{name: place[getattr(judgement, name)] for name in fields})


def _look(model: Any, X: Any) -> Part:
    """Judgement, score, bands and price of a fitted model."""
    last, X = final_step(model, X)
    if not isinstance(last, RejectClassifier):
        raise TypeError(f"{type(last).__name__} is no classifier with a reject option.")
    price = last.reject_cost_
    cost = np.nan if price is None else float(price)
    judgement = last.judge(X)
    if not isinstance(last, BoundaryClassifier):
        return judgement, None, None, cost
    scores = last.boundary_scores(X)  # (n_samples, n_boundaries)
    score = scores.mean(axis=1)
    edges = score[:, None] - scores  # where the boundaries lie; alike for all, if they are parallel
    parallel = last._rejects and len(score) and np.allclose(edges, edges[0], atol=1e-9)
    return judgement, score, edges[0].reshape(-1, 2) if parallel else None, cost


def _join(cost: float, parts: list[Part], fold: Indices, place: Indices) -> Outcomes:
    """Put the test parts together, in the order of the cases; bands are means over the folds."""
    judgements, scores, bands, _ = zip(*parts, strict=True)
    alike = len({None if band is None else band.shape for band in bands}) == 1
    joined = {
        name: np.concatenate([getattr(judgement, name) for judgement in judgements])[place]
        for name in ("decision", "forced", "lower", "sureness")
    }
    return Outcomes(
        cost,
        **joined,
        score=None if scores[0] is None else np.concatenate(scores)[place],
        bands=np.mean(bands, axis=0) if alike and bands[0] is not None else None,
        fold=fold[place],
    )
