"""What becomes of every case at each reject cost: the engine of every cross-validation here.

:func:`judge_folds` fits the models of all folds and judges the test cases.
:func:`cross_val_outcomes` gives its outcomes case by case; ``reject_curve`` and
``RejectClassifierCV`` read their rates from the same outcomes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from rejo._io import progress
from rejo._typing import Floats, Indices
from rejo.baselines import mark_novel
from rejo.decisions import uniform_prices
from rejo.estimators import (
    AMBIGUOUS,
    NOVEL,
    BoundaryClassifier,
    Judgement,
    RejectClassifier,
    RejoSVC,
    SVMGrid,
    class_indices,
    final_step,
    judge,
    judge_posteriors,
    judge_scores,
    reject_label_of,
    score_folds,
)
from rejo.selection.folds import (
    REJECT_COSTS,
    Fold,
    Splits,
    by_posteriors,
    candidate,
    check_cases,
    check_fold_weights,
    check_reject_costs,
    check_rejects,
    described,
    fit_path,
    fit_weighted,
    highest_reject_cost,
    known_classes,
    last_step,
    make_folds,
    split_once,
    tests_once,
)


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What became of every case at one operating point; classes as indices into ``classes_``.

    Parameters
    ----------
    reject_cost : float
        Price of a review, where an error costs 1; NaN if the point is a share of a ranking.
    decision, forced : ndarray of int of shape (n_samples,)
        The decision, -1 if the case goes to review, and the decision if there are no reviews.
    lower : ndarray of int of shape (n_samples,)
        Lower of the two neighbouring classes that the case lies between.
    sureness : ndarray of shape (n_samples,)
        Non-negative; lowest for the case whose review is worth most.
    score : ndarray of shape (n_samples,) or None
        One number per case, higher for higher classes; None if the classifier has no scores.
    bands : ndarray of shape (n_classes - 1, 2) or None
        Scores between which a case goes to review; None if that depends on more than the score.
    fold : ndarray of int of shape (n_samples,)
        Number of the fold whose model judged the case.
    worth : ndarray of shape (n_samples,) or None
        What a review is expected to save, in the unit of the prices; None without posteriors.
    kind : ndarray of int8 of shape (n_samples,) or None
        Why the case is, or would be, reviewed, as an index into ``REASONS``; None: all ambiguous.
        Novel cases, and those that a policy sends to review, are reviewed at every point.

    See Also
    --------
    cross_val_outcomes : Outcomes at several reject costs, by cross-validation.
    ranking_outcomes : Outcomes of new cases, for several shares of reviews.
    """

    reject_cost: float
    decision: Indices
    forced: Indices
    lower: Indices
    sureness: Floats
    score: Floats | None
    bands: Floats | None
    fold: Indices
    worth: Floats | None = None
    kind: NDArray[np.int8] | None = None

    def take(self, cases: Indices) -> Outcomes:
        """Outcomes of these cases, in this order."""
        arrays = {name: getattr(self, name) for name in PER_CASE}
        kept = {name: array[cases] for name, array in arrays.items() if array is not None}
        return replace(self, **kept)


PER_CASE = ("decision", "forced", "lower", "sureness", "score", "fold", "worth", "kind")


class Judged(NamedTuple):
    """What models, one for each reject cost, make of test cases; classes as indices."""

    decision: Indices  # (n_costs, n) -1: rejected
    forced: Any = None  # (n_costs, n); these are None of a classifier that can only predict
    lower: Any = None  # (n_costs, n)
    sureness: Any = None  # (n_costs, n)
    score: Any = None  # (n_costs, n); None of a classifier without scores
    bands: tuple[Floats | None, ...] = (None,)  # (n_costs,) of (n_classes - 1, 2)
    kind: Any = None  # (n_costs, n); None: all ambiguous

    def at(self, i: int, reject_cost: float, order: Indices, fold: Indices) -> Outcomes:
        """Outcomes by the ``i``-th model, of the cases in this order."""
        fields: list[Any] = [None if array is None else array[i, order] for array in self[:5]]
        fields += self.bands[i], fold[order]
        kind = None if self.kind is None else self.kind[i, order]
        return replace(Outcomes(reject_cost, *fields), kind=kind)


class OutOfFold(NamedTuple):
    """Judgements of the test parts of all folds, one part after the other."""

    reject_costs: list[float]
    points: list[Judged]  # one for each point of the grid
    cases: Indices  # (n_tested,) row of each tested case
    fold: Indices  # (n_tested,)
    y: Indices  # (n_tested,) true class
    weight: Floats | None  # (n_tested,)
    once: bool  # whether every case was tested exactly once

    def tested(self, chosen: Sequence[int]) -> list[Outcomes]:
        """Outcomes of the tested cases, at the ``chosen`` point of the grid for each cost."""
        same = np.arange(len(self.cases))
        return [
            self.points[point].at(i, cost, same, self.fold)
            for i, (cost, point) in enumerate(zip(self.reject_costs, chosen, strict=True))
        ]

    def by_case(self, tested: Sequence[Outcomes]) -> list[Outcomes] | None:
        """Outcomes of all cases in their order; None unless each was tested exactly once."""
        if not self.once:
            return None
        place = np.argsort(self.cases)  # of each case among the test parts
        return [point.take(place) for point in tested]


def judge_folds(
    estimator: Any,
    X: Any,
    y: Any,
    costs: list[float],
    splits: Splits,
    *,
    grid: Sequence[Mapping[str, Any]] = ({},),
    sample_weight: Floats | None = None,
    n_jobs: int | None = None,
    verbose: bool | None = False,
) -> OutOfFold:
    """Fit on the training part of every split, and judge the test part.

    Every point of the ``grid`` is tried at each of the ascending reject ``costs``.  A ``RejoSVC``
    works on one kernel matrix, and every solve starts from the one before.
    """
    check_fold_weights(splits, sample_weight)
    check_rejects(estimator)
    classes, k = known_classes(estimator, y)
    if type(estimator) is RejoSVC:
        points = [
            _judge_svm(estimator, point, X, y, costs, splits, sample_weight, n_jobs)
            for point in grid
        ]
    else:
        cells = [
            delayed(_judge_fold)(estimator, grid, costs, X, y, sample_weight, classes, *split)
            for split in splits
        ]
        parallel = Parallel(n_jobs=n_jobs, return_as="generator")
        parts = list(progress(parallel(cells), len(cells), "judging", show=verbose))
        points = [joined(of_point, axis=1) for of_point in zip(*parts, strict=True)]
    cases = np.concatenate([test for _, test in splits])
    fold = np.repeat(np.arange(len(splits)), [len(test) for _, test in splits])
    weight = None if sample_weight is None else sample_weight[cases]
    return OutOfFold(costs, points, cases, fold, k[cases], weight, tests_once(splits, len(k)))


def judge_path(estimator: Any, costs: list[float], fold: Fold, classes: NDArray[Any]) -> Judged:
    """Fit the last step at each reject cost, once if it has posteriors, and judge the test part."""
    if not by_posteriors(estimator):
        models = fit_path(estimator, costs, fold)
        return joined([look(model, fold.X_test, classes) for model in models], axis=0)
    model = fit_weighted(candidate(last_step(estimator)), fold.X_train, fold.y_train, fold.weight)
    known = class_indices(model.classes_, classes)
    p, prices = model.predict_proba(fold.X_test), [uniform_prices(len(known), w) for w in costs]
    judged = [judge_posteriors(p, at) for at in prices]
    if hasattr(model, "novel_mask"):
        novel = model.novel_mask(fold.X_test)
        judged = [mark_novel(*found, novel) for found in zip(judged, prices, strict=True)]
    return joined([_among(_from_judgement(found), known) for found in judged], axis=0)


@described
def cross_val_outcomes(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    reject_costs: Iterable[float] = REJECT_COSTS,
    cv: Any = 5,
    groups: Any = None,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    verbose: bool | None = None,
) -> list[Outcomes]:
    """Judge every case by a model that has not seen it, at every reject cost.

    Parameters
    ----------
    %estimator, X, y, reject_costs
    cv : int, splitter or iterable, default=5
        Every case must be in exactly one test part.
    %groups
    sample_weight : array-like of shape (n_samples,), default=None
        Used in the fits.
    %n_jobs, verbose

    Returns
    -------
    outcomes : list of Outcomes
        One for each reject cost, ascending.

    See Also
    --------
    rejo.reject_curve : Rates of the same models.
    cross_fit : Posteriors out of fold, from which outcomes at any price follow.
    ranking_outcomes : Outcomes of new cases, by one fitted model.

    Examples
    --------
    >>> from rejo import RejoSVC
    >>> from rejo.datasets import make_synthetic_1
    >>> from rejo.selection import cross_val_outcomes
    >>> X, y = make_synthetic_1(400, random_state=0)
    >>> points = cross_val_outcomes(RejoSVC(C=10, gamma=4), X, y, reject_costs=[0.04, 0.2, 0.48])
    >>> [round(float((point.decision < 0).mean()), 1) for point in points]
    [0.5, 0.3, 0.0]
    """
    X, y, groups, weight = check_cases(X, y, groups, sample_weight, "cross_val_outcomes")
    costs = costs_for(estimator, y, reject_costs)
    splits = split_once(cv, X, y, groups)
    judged = judge_folds(
        estimator, X, y, costs, splits, sample_weight=weight, n_jobs=n_jobs, verbose=verbose
    )
    if judged.points[0].forced is None:
        raise TypeError(f"{type(estimator).__name__} is not a classifier of rejo: it cannot judge.")
    return judged.by_case(judged.tested([0] * len(costs))) or []


def ranking_outcomes(
    model: Any,
    X: Any,
    shares: Iterable[float],
    *,
    reviewed: Sequence[int] = (),
    group: Any = None,
) -> tuple[list[Outcomes], int]:
    """Judge cases by one fitted model, as if other shares of them went to review.

    The cases are ranked as by :meth:`~rejo.RejoSVC.queue`: first the rejected cases, least sure
    first, then the decided cases, least sure first.  Cases that are reviewed whatever the model
    makes of them (novel ones, those of a policy, and the ``reviewed`` rows) go to review at every
    share.

    Parameters
    ----------
    model : RejectClassifier or Pipeline
        Fitted.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The cases.
    shares : iterable of float in [0, 1]
        Shares of the cases to send to review.
    reviewed : sequence of int, default=()
        Rows that go to review whatever the model would decide, because they are not as in
        training: they count as novel.
    group : array-like of shape (n_samples,), default=None
        Group of each case, for a model that was fitted with groups to promise by.

    Returns
    -------
    outcomes : list of Outcomes
        One for each number of reviews, ascending; one of them is that of the model itself.
    chosen : int
        Index of that one.

    See Also
    --------
    cross_val_outcomes : Outcomes by cross-validation, at several reject costs.
    rejo.queue : The cases in the order of review.

    Examples
    --------
    >>> from rejo import RejoLinear
    >>> from rejo.datasets import make_synthetic_2
    >>> from rejo.selection import ranking_outcomes
    >>> X, y = make_synthetic_2(400, random_state=0)
    >>> model = RejoLinear(reject_cost=0.2).fit(X[:200], y[:200])
    >>> points, chosen = ranking_outcomes(model, X[200:], shares=[0.1, 0.2])
    >>> [round(float((point.decision < 0).mean()), 2) for point in points], chosen
    ([0.1, 0.2, 0.57], 2)
    """
    last, Z = final_step(model, X)
    if not isinstance(last, RejectClassifier):
        raise TypeError(f"{type(last).__name__} is not a classifier with a reject option.")
    if isinstance(model, RejectClassifier) and model.decides_by_posteriors:
        last, Z = model, X  # it knows the user's prices, the last step those with the cut
    policy = getattr(model, "policy_", None)
    cost = np.nan if last.reject_cost_ is None else float(last.reject_cost_)
    if group is not None or (policy is not None and policy.needed):
        found = judge(model, X, group=group)  # which asks for the groups if it needs them
        judged, worth = _from_judgement(found), found.worth
    elif last.decides_by_posteriors:
        found = last.judge(Z)
        judged, worth = _from_judgement(found), found.worth
    else:
        judged, worth = look(last, Z, last.classes_), None
    n = judged.decision.shape[1]
    own = judged.at(0, cost, np.arange(n), np.zeros(n, dtype=np.intp))
    own = replace(own, worth=worth, kind=_kinds(own, list(reviewed)))
    fixed = np.zeros(n, dtype=bool) if own.kind is None else own.kind != AMBIGUOUS
    own.decision[fixed], own.sureness[list(reviewed)] = -1, -np.inf
    rejected = own.decision < 0
    order = np.lexsort((own.sureness, ~rejected, ~fixed))
    reviews, least = int(rejected.sum()), int(fixed.sum())
    points = {reviews: own}
    for size in {max(round(float(share) * n), least) for share in shares} - {reviews}:
        decision = own.forced.copy()
        decision[order[:size]] = -1
        points[size] = replace(own, reject_cost=np.nan, decision=decision, bands=None)
    return [points[size] for size in sorted(points)], sorted(points).index(reviews)


def _kinds(own: Outcomes, reviewed: list[int]) -> NDArray[np.int8] | None:
    """Why the cases are reviewed, if these rows are because they are not as in training."""
    if not reviewed:
        return own.kind
    kind = np.zeros(len(own.decision), dtype=np.int8) if own.kind is None else own.kind.copy()
    kind[reviewed] = NOVEL
    return kind


def look(model: Any, X: Any, classes: NDArray[Any]) -> Judged:
    """Judge cases by one fitted model; its classes as indices into all ``classes``."""
    last, Z = final_step(model, X)
    if not isinstance(last, RejectClassifier):
        return Judged(_predict(model, X, classes)[None])
    if isinstance(last, BoundaryClassifier) and hasattr(last, "boundary_scores"):
        judged = judged_scores(last.boundary_scores(Z)[None], last.reject_label_ is not None)
    else:
        judged = _from_judgement(last.judge(Z))
    return _among(judged, class_indices(last.classes_, classes))


def _from_judgement(found: Judgement) -> Judged:
    kept: Any = found.decision, found.forced, found.lower, found.sureness
    kind = None if found.kind is None else found.kind[None]
    return Judged(*(array[None] for array in kept))._replace(kind=kind)


def judged_scores(scores: Floats, rejects: bool) -> Judged:
    """Judge by the scores (n_costs, n, n_boundaries); parallel boundaries are cuts of the mean."""
    score = scores.mean(axis=-1)  # (n_costs, n)
    edges = score[..., None] - scores
    bands: list[Floats | None] = [None] * len(scores)
    if rejects and score.size:
        first = edges[:, :1]
        parallel = (np.abs(edges - first) <= 1e-9 + 1e-5 * np.abs(first)).all(axis=(1, 2))
        bands = [
            cut.reshape(-1, 2) if alike else None
            for cut, alike in zip(edges[:, 0], parallel, strict=True)
        ]
    found = judge_scores(scores, rejects=rejects)
    return Judged(found.decision, found.forced, found.lower, found.sureness, score, tuple(bands))


def _predict(model: Any, X: Any, classes: NDArray[Any]) -> Indices:
    """Decisions (n,) of a classifier that can only predict, as indices."""
    label = reject_label_of(model)
    place = {name: i for i, name in enumerate(classes.tolist())}
    if label is not None:
        place[label] = -1  # a class that the model does not know may have the same name
    return np.array([place[name] for name in np.asarray(model.predict(X)).tolist()])


def _among(judged: Judged, known: Indices) -> Judged:
    """Replace indices into the ``known`` classes (K,) by indices into all."""
    place = np.append(known, -1)  # a rejection stays -1
    return judged._replace(
        decision=place[judged.decision], forced=place[judged.forced], lower=place[judged.lower]
    )


def _judge_svm(
    model: RejoSVC, point: Mapping[str, Any], X: Any, y: Any, costs: list[float], splits: Splits,
    sample_weight: Floats | None, n_jobs: int | None,
) -> Judged:  # fmt: skip
    """Judge all test parts at one point of the grid."""
    if point:
        model = candidate(model, point)
        check_rejects(model)

    def finish(_: int, known: Indices, scores: Floats) -> Judged:
        return _among(judged_scores(scores[:, :, 0, 0].swapaxes(0, 1), True), known)

    grid = SVMGrid(costs, [model.C], [model.gamma], [model.h])
    (parts,) = score_folds(
        model, X, y, grid, splits, finish, sample_weight=sample_weight, n_jobs=n_jobs
    )
    return joined(parts, axis=1)


def _judge_fold(
    estimator: Any, grid: Sequence[Mapping[str, Any]], costs: list[float], X: Any, y: Any,
    sample_weight: Floats | None, classes: NDArray[Any], train: Indices, test: Indices,
) -> list[Judged]:  # fmt: skip
    """Judge the test part at each point of the grid."""
    return [
        judge_path(candidate(estimator, point), costs, fold, classes)
        for point, fold in make_folds(estimator, grid, X, y, sample_weight, train, test)
    ]


def joined(parts: Sequence[Judged], axis: int) -> Judged:
    """Put costs (axis 0) or test parts (axis 1) together; bands are means over the parts."""
    bands: Any = [part.bands for part in parts]
    joined = sum(bands, ()) if axis == 0 else tuple(map(_mean_band, *bands))
    fields: dict[str, Any] = {"bands": joined}
    for name in {*Judged._fields} - {"bands"}:
        arrays = [getattr(part, name) for part in parts]
        some = all(array is not None for array in arrays)
        fields[name] = np.concatenate(arrays, axis=axis) if some else None
    return Judged(**fields)


def _mean_band(*bands: Floats | None) -> Floats | None:
    """Mean over the folds; None if a fold has no band, or not those of the others."""
    some = [band for band in bands if band is not None]
    if len(some) < len(bands) or len({band.shape for band in some}) > 1:
        return None
    return np.mean(some, axis=0)


def costs_for(estimator: Any, y: Any, reject_costs: Iterable[float]) -> list[float]:
    """Check reject costs for this estimator and these classes."""
    K = len(known_classes(estimator, y)[0])
    return check_reject_costs(reject_costs, highest_reject_cost(K, by_posteriors(estimator)))
