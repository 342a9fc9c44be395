"""Which model for this table? Learners tuned and compared on the same folds."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed

from rejo._io import progress
from rejo._typing import Floats, Indices, Labels
from rejo.catalogue import METHODS, ProblemSize, find
from rejo.metrics import tally
from rejo.selection.folds import (
    REJECT_COSTS,
    Fold,
    Splits,
    check_cases,
    check_reject_costs,
    described,
    make_fold,
    split_shuffled,
)
from rejo.selection.outcomes import classes_of, judge_path


class Choice(NamedTuple):
    """What cross-validation chose."""

    name: str  # the chosen learner
    estimator: Pipeline  # unfitted, with the best parameters; the steps are "prepare" and "model"
    params: dict[str, Any]  # these parameters, by their names in the model
    risks: dict[str, Floats]  # (n_folds,) mean cost of a case for each learner, at its best
    reject_costs: list[float]  # the reject costs that this mean is over
    n_cases: int  # used for the choice


@described
def choose_family(
    names: Iterable[str],
    prepare: Any,
    X: Any,
    y: Any,
    *,
    reject_costs: Iterable[float] = REJECT_COSTS[1::4],
    class_order: Any = None,
    reject_label: Any = None,
    cv: int = 5,
    groups: Any = None,
    max_cases: int = 3_000,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    verbose: bool | None = None,
) -> Choice:
    """Tune each learner and choose the one with the lowest mean cost of a case.

    Parameters
    ----------
    names : iterable of str
        Learners of the catalogue, such as "logistic", "svm", "mlp" and "boosting".
    prepare : transformer
        Turns ``X`` into standardised numbers; fitted once on each training part.
    %X, y
    reject_costs : iterable of float, default=0.08, 0.24, 0.4
        The cost is the mean of ``reject_cost * R + E`` over these.
    class_order, reject_label
        Parameters of the models.
    cv : int, default=5
        Number of stratified, shuffled folds.
    %groups
    max_cases : int, default=3000
        If there are more cases, this many are drawn: more would rarely change the choice.
    random_state : int, default=0
    %n_jobs, verbose

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> from rejo import make_synthetic_1
    >>> from rejo.selection import choose_family
    >>> X, y = make_synthetic_1(200, random_state=0)
    >>> choice = choose_family(["logistic", "svm"], StandardScaler(), X, y)
    >>> choice.name  # the classes of this problem are not separated by a line
    'svm'
    """
    costs = check_reject_costs(reject_costs)
    X, y, groups, _ = check_cases(X, y, groups, None, "choose_family")
    rows = draw_rows(y, max_cases, random_state)
    X, y = _safe_indexing(X, rows), _safe_indexing(y, rows)
    groups = None if groups is None else _safe_indexing(groups, rows)
    n_features = clone(prepare).fit_transform(X).shape[1]
    problem = ProblemSize(len(np.unique(y)), n_features, len(rows), random_state)
    labels = {"class_order": class_order, "reject_label": reject_label}
    points = []
    for method in find(names, problem.n_classes):
        model, grid, *_ = method.build(problem)
        for params in ParameterGrid(grid):
            tuned = clone(model).set_params(**params, **labels)
            points.append((method.name, params, _pipeline(prepare, tuned)))
    with warnings.catch_warnings():  # a rare class may be in few folds if the cases were drawn
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        splits = split_shuffled(cv, X, y, groups, random_state)
    pipelines = [pipeline for *_, pipeline in points]
    risks = _risks(pipelines, X, y, costs, splits, n_jobs, verbose)
    ranking = np.argsort(np.round(risks.mean(axis=1), 12), kind="stable").tolist()
    best = {points[i][0]: risks[i] for i in reversed(ranking)}  # the first in the ranking stays
    best = {name: best[name] for name, *_ in points}  # in the order of the names
    name, params, pipeline = points[ranking[0]]
    return Choice(name, pipeline, dict(params), best, costs, len(rows))


def rivals_of(choice: Choice, n_classes: int, random_state: int | None = 0) -> dict[str, Any]:
    """Return the rivals, by label, for a report on the chosen model, with its parameters."""
    problem = ProblemSize(n_classes, 1, 1, random_state)
    prepare, model = choice.estimator
    inside = METHODS[choice.name].build(problem).inside
    params = {
        f"estimator__{key.removeprefix(inside)}": value for key, value in choice.params.items()
    }
    params |= {"class_order": model.class_order, "reject_label": model.reject_label}
    rivals = {}
    for method in METHODS.values():
        if method.rival_of == choice.name and method.reported:
            rival = method.build(problem).estimator
            rivals[method.label] = _pipeline(prepare, rival.set_params(**params))
    return rivals


def _pipeline(prepare: Any, model: Any) -> Pipeline:
    return Pipeline([("prepare", clone(prepare)), ("model", model)])


def draw_rows(y: Any, n: int, random_state: int | None = 0, least: int = 10) -> Indices:
    """Draw ``n`` cases, stratified by class, and more if a rare class would have too few.

    At least ``least`` cases of each class are drawn, if it has that many.  The rows ascend.
    """
    labels, k = np.unique(np.asarray(y), return_inverse=True)
    if len(k) <= n:
        return np.arange(len(k))
    random = np.random.RandomState(random_state)
    counts = np.bincount(k, minlength=len(labels))
    sizes, left = np.divmod(n * counts, len(k))
    sizes[np.argsort(-left, kind="stable")[: n - sizes.sum()]] += 1  # largest remainders
    sizes = np.maximum(np.minimum(counts, least), sizes)
    drawn = [
        random.permutation(np.flatnonzero(k == i))[:size] for i, size in enumerate(sizes.tolist())
    ]
    return np.sort(np.concatenate(drawn))


def _risks(
    pipelines: list[Pipeline], X: Any, y: Any, costs: list[float], splits: Splits,
    n_jobs: int | None, verbose: bool | None,
) -> Floats:  # fmt: skip
    """Mean cost of a case (n_pipelines, n_folds), over the reject costs.

    All pipelines prepare the cases alike: that is done once for each fold.
    """
    classes, k = classes_of(pipelines[0], y)
    parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    folds = list(parallel(delayed(make_fold)(pipelines[0], X, y, None, *split) for split in splits))
    cells = [
        delayed(_risk)(pipeline, costs, fold, classes, k[test])
        for pipeline in pipelines
        for fold, (_, test) in zip(folds, splits, strict=True)
    ]
    risks = list(progress(parallel(cells), len(cells), "tuning", show=verbose))
    return np.reshape(risks, (len(pipelines), len(splits)))


def _risk(pipeline: Pipeline, costs: list[float], fold: Fold, classes: Labels, y: Indices) -> float:
    """Mean cost of a test case, over the reject costs."""
    with warnings.catch_warnings():
        # Corners of a grid that do not converge, or that reject everything, lose by their cost.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The model rejects", UserWarning)
        decision = judge_path(pipeline, costs, fold, classes).decision
    return float(tally(decision.T, y).risk(np.array(costs)).mean())
