"""Which method is best on these data? All methods on the same splits, and paired differences."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.stats import t as student
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.parallel import Parallel, delayed

from rejo import metrics
from rejo._errors import renamed
from rejo._io import progress
from rejo.catalogue import refuse_former_names, standard_methods
from rejo.estimators.classes import encode_classes
from rejo.estimators.pipelines import cost_parameter, final_step
from rejo.metrics import tally
from rejo.selection.folds import check_reject_costs, described, split_shuffled
from rejo.selection.outcomes import look
from rejo.tables.errors import import_pandas

REJECT_COSTS = (0.04, 0.12, 0.2, 0.28, 0.36)
MEASURES = ("R", "E", "risk", "accepted_accuracy", "crossing_rate", "fit_seconds")


class Difference(NamedTuple):
    """How a method differs from the reference at one reject cost, over the same splits."""

    method: str
    reject_cost: float
    difference: float  # mean of method - reference; negative if the method has the lower value
    low: float
    high: float
    p_value: float


@dataclass(repr=False, eq=False)
class Comparison:
    """The rows of a comparison, and what they say.

    Attributes
    ----------
    rows : list of dict
        One for each method, reject cost and fold, with the keys ``method``, ``reject_cost``,
        ``fold``, ``R`` (rejection rate), ``E`` (error rate, over all points), ``risk``
        (``reject_cost * R + E``), ``accepted_accuracy``, ``crossing_rate`` (share of the points
        where boundaries cross; NaN for a method without boundaries), ``fit_seconds`` (one fit
        with the chosen parameters), ``tune_seconds``, ``n_train``, ``n_test`` and ``params``.
    reference : str
        The method that the others are compared with.
    """

    rows: list[dict[str, Any]]
    reference: str

    @property
    def methods(self) -> list[str]:
        """Names of the methods, in the order given."""
        return list(dict.fromkeys(row["method"] for row in self.rows))

    @property
    def reject_costs(self) -> list[float]:
        """Reject costs, ascending."""
        return sorted({row["reject_cost"] for row in self.rows})

    def to_frame(self) -> Any:
        """All rows as a pandas DataFrame."""
        return import_pandas("to_frame").DataFrame(self.rows)

    def values(self, method: str, reject_cost: float, measure: str = "risk") -> NDArray[Any]:
        """Return a measure of a method at a reject cost, one value per fold."""
        if measure not in MEASURES:
            raise ValueError(f"measure={measure!r} must be one of {', '.join(MEASURES)}.")
        found = {
            row["fold"]: row[measure]
            for row in self.rows
            if row["method"] == method and row["reject_cost"] == reject_cost
        }
        if not found:
            raise ValueError(
                f"there are no rows of method={method!r} at reject_cost={reject_cost!r}; methods: "
                f"{self.methods}, reject costs: {self.reject_costs}."
            )
        return np.array([found[fold] for fold in sorted(found)])

    def mean(self, measure: str = "risk") -> dict[str, list[float]]:
        """Mean of a measure over the folds: for each method, a value for each reject cost."""
        return {
            method: [float(self.values(method, w, measure).mean()) for w in self.reject_costs]
            for method in self.methods
        }

    def differences(
        self, measure: str = "risk", *, reference: str | None = None, confidence: float = 0.95
    ) -> list[Difference]:
        """Compare every method with the reference, on the same folds.

        The training sets of different folds share points, so the variance of the mean is larger
        than for independent trials.  The corrected resampled t-test of Nadeau and Bengio (2003)
        estimates it as ``(1 / J + n_test / n_train) s^2`` for ``J`` folds.

        Parameters
        ----------
        measure : str, default="risk"
        reference : str, default=None
            A method; by default the reference of the comparison.
        confidence : float, default=0.95
            Probability that an interval contains the true difference; it is not corrected for
            comparing many methods and reject costs.

        Returns
        -------
        differences : list of Difference
            With NaN where the measure is undefined on a fold: ``accepted_accuracy`` where
            nothing is accepted, ``crossing_rate`` of a method without boundaries.
        """
        reference = self.reference if reference is None else reference
        if not 0 < confidence < 1:
            raise ValueError(f"confidence={confidence!r} must lie between 0 and 1.")
        ratio = float(np.mean([row["n_test"] / row["n_train"] for row in self.rows]))
        found = []
        for method in self.methods:
            if method == reference:
                continue
            for w in self.reject_costs:
                d = self.values(method, w, measure) - self.values(reference, w, measure)
                d = np.round(d, 12)  # differences in the last digit do not count
                found.append(Difference(method, w, *corrected_t_test(d, ratio, confidence)))
        return found

    def __str__(self) -> str:
        """Mean risk of the methods, with ``*`` where it differs from that of the reference."""
        costs, risks = self.reject_costs, self.mean()
        folds = len({row["fold"] for row in self.rows})
        apart = {(d.method, d.reject_cost) for d in self.differences() if d.low > 0 or d.high < 0}
        width = max(map(len, ("reject_cost", *risks)))
        lines = [
            f"Mean risk over {folds} folds; * differs from {self.reference} "
            "(95 %, corrected resampled t-test)",
            f"{'reject_cost':<{width}}" + "".join(f"{w:>9.3g} " for w in costs),
        ]
        for method, means in risks.items():
            cells = [
                f"{value:>9.4f}{'*' if (method, w) in apart else ' '}"
                for w, value in zip(costs, means, strict=True)
            ]
            lines.append(f"{method:<{width}}" + "".join(cells))
        return "\n".join(line.rstrip() for line in lines)

    def __repr__(self) -> str:
        return (
            f"<Comparison of {len(self.methods)} methods at {len(self.reject_costs)} reject costs, "
            f"{len(self.rows)} rows; print() shows the risks, to_frame() gives the rows>"
        )


@described
def compare(
    estimators: str | Mapping[str, Any] | Sequence[Any],
    X: Any,
    y: Any,
    *,
    reject_costs: Iterable[float] = REJECT_COSTS,
    param_grids: Mapping[str, Any] | None = None,
    cv: Any = 10,
    inner_cv: Any = 5,
    groups: Any = None,
    reference: str | None = None,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    verbose: bool | None = None,
) -> Comparison:
    """Compare classifiers with a reject option on the same data, splits and reject costs.

    For every split and every reject cost, each method is tuned on the training part (if it has
    a grid), fitted there, and tested on the test part.

    Parameters
    ----------
    estimators : dict of {name: estimator}, list of estimators, list of str, or "standard"
        Classifiers with a parameter ``reject_cost``, also inside a pipeline or a search.  A
        classifier without that parameter is used as it is: it never rejects.  "standard" is data
        replication and its rivals, each with a grid (:func:`standard_methods`); a list such as
        ``["svm", "svm-posterior", "boosting"]`` names methods to compare.
    %X, y
    reject_costs : iterable of float, default=(0.04, 0.12, 0.2, 0.28, 0.36)
    param_grids : dict of {name: grid}, default=None
        For a method, the values to choose from by its ``score`` (1 - risk) in ``inner_cv``
        folds of the training part, as in :class:`sklearn.model_selection.GridSearchCV`.
    cv : int, splitter or iterable of (train, test), default=10
        A number means stratified, shuffled folds; by groups if ``groups`` is given.
    inner_cv : int or splitter, default=5
        The same, for tuning within the training part.
    %groups
    reference : str, default=None
        The method that the others are compared with; by default the first.
    random_state : int, default=0
        Shuffles the folds; the same seed gives the same splits.
    %n_jobs, verbose

    Returns
    -------
    comparison : Comparison
        Its ``rows``, their means, and the paired differences with confidence intervals.
        ``AccuracyRejectDisplay.from_rows(comparison.rows)`` draws the curves.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from rejo import RejoSVC, ThresholdRejectClassifier, compare, make_synthetic_1
    >>> X, y = make_synthetic_1(400, random_state=0)
    >>> methods = {
    ...     "replication": RejoSVC(C=10, gamma=4),
    ...     "cut-offs": ThresholdRejectClassifier(SVC(C=10, gamma=4), rule="score"),
    ... }
    >>> print(compare(methods, X, y, reject_costs=[0.1, 0.3], cv=5))
    Mean risk over 5 folds; * differs from replication (95 %, corrected resampled t-test)
    reject_cost      0.1       0.3
    replication   ...
    cut-offs      ...
    """
    grids: dict[str, Any] = {}
    listed = isinstance(estimators, Sequence) and len(estimators) > 0
    if listed and all(isinstance(name, str) for name in estimators):
        estimators, grids = _from_catalogue(estimators, X, y, random_state)
    methods = _check_methods(estimators)
    grids |= param_grids or {}
    refuse_former_names({*grids, reference} - methods.keys())
    for name in grids:
        if name not in methods:
            raise ValueError(
                f"param_grids has a grid for {name!r}, which is not among the estimators: "
                f"{list(methods)}."
            )
    costs = check_reject_costs(reject_costs)
    reference = next(iter(methods)) if reference is None else reference
    if reference not in methods:
        raise ValueError(f"reference={reference!r} is not among the estimators: {list(methods)}.")
    X, y, groups = indexable(X, y, groups)
    splits = split_shuffled(cv, X, y, groups, random_state)
    cells = [
        delayed(_run)(
            name, estimator, grids.get(name), X, y, fold, split, costs, inner_cv, groups,
            random_state,
        )
        for fold, split in enumerate(splits)
        for name, estimator in methods.items()
    ]  # fmt: skip
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    done = progress(parallel(cells), len(cells), "compare", show=verbose)
    order = {name: i for i, name in enumerate(methods)}
    rows = [row for cell in done for row in cell]
    rows.sort(key=lambda row: (order[row["method"]], row["reject_cost"], row["fold"]))
    return Comparison(rows, reference)


@renamed(d="differences")
def corrected_t_test(
    differences: NDArray[np.float64], ratio: float, confidence: float
) -> tuple[float, float, float, float]:
    """Mean of paired differences over resamplings, its interval and its p-value.

    Nadeau and Bengio (2003): the variance of the mean of ``J`` differences is
    ``(1 / J + n_test / n_train) s^2``, and ``t`` has ``J - 1`` degrees of freedom.
    ``ratio`` is ``n_test / n_train``.  All values are NaN if a difference is NaN.
    """
    J, mean = len(differences), float(differences.mean())
    if np.isnan(mean):  # the measure is undefined on a fold
        return mean, mean, mean, mean
    if J < 2:
        return mean, float("-inf"), float("inf"), 1.0
    scale = np.sqrt((1.0 / J + ratio) * differences.var(ddof=1))
    if not scale > 0:  # all differences are equal
        return mean, mean, mean, float(mean == 0)
    half = scale * student.ppf(0.5 + confidence / 2, J - 1)
    p_value = 2 * student.sf(abs(mean) / scale, J - 1)
    return mean, float(mean - half), float(mean + half), float(p_value)


def _run(
    name: str, estimator: Any, grid: Any, X: Any, y: Any, fold: int, split: tuple[Any, Any],
    costs: list[float], inner_cv: Any, groups: Any, random_state: int | None,
) -> list[dict[str, Any]]:  # fmt: skip
    """All rows of one method on one split."""
    train, test = split
    X_train, y_train = _safe_indexing(X, train), _safe_indexing(y, train)
    X_test, (classes, k) = _safe_indexing(X, test), encode_classes(y, "sorted")
    inner = None
    if grid is not None:
        inside = None if groups is None else _safe_indexing(groups, train)
        inner = split_shuffled(inner_cv, X_train, y_train, inside, random_state)
    parameter = cost_parameter(estimator)
    rows = []
    for w in costs:
        model = clone(estimator)
        if parameter is not None:
            model.set_params(**{parameter: w})
        start = perf_counter()
        chosen: dict[str, Any] = {}
        with warnings.catch_warnings():
            if inner is not None:
                # Grid points that do not converge lose by their score.
                warnings.simplefilter("ignore", ConvergenceWarning)
                search = GridSearchCV(model, grid, cv=inner, refit=False, error_score="raise")
                chosen = search.fit(X_train, y_train).best_params_
                model.set_params(**clone(chosen, safe=False))
            tuned = perf_counter()
            model.fit(X_train, y_train)
        fitted = perf_counter()
        found = tally(look(model, X_test, classes).decision[0], k[test])
        rows.append(
            {
                "method": name,
                "reject_cost": w,
                "fold": fold,
                "R": float(found.rejection_rate),
                "E": float(found.error_rate),
                "risk": float(found.risk(w)),
                "accepted_accuracy": float(found.accepted_accuracy),
                "crossing_rate": _crossing_rate(*final_step(model, X_test)),
                "fit_seconds": fitted - tuned,
                "tune_seconds": tuned - start,
                "n_train": len(y_train),
                "n_test": len(test),
                "params": chosen,
            }
        )
    return rows


def _crossing_rate(classifier: Any, X: Any) -> float:
    """Share of the points at which boundaries cross; NaN for a method without boundaries."""
    if hasattr(classifier, "crossing_mask"):
        return float(np.mean(classifier.crossing_mask(X)))
    if hasattr(classifier, "boundary_scores"):
        return float(metrics.crossing_rate(classifier.boundary_scores(X)))
    return float("nan")


def _from_catalogue(names: Any, X: Any, y: Any, random_state: int | None) -> tuple[Any, Any]:
    """Return methods by name, and their grids."""
    if isinstance(names, str) and names != "standard":
        raise ValueError(
            f"estimators={names!r} must be 'standard', or estimators, such as "
            "{'SVM': RejoSVC()}, or names of methods, such as ['svm', 'svm-posterior']."
        )
    if issparse(X):
        raise ValueError(
            f"estimators={names!r} needs centred features, and X is sparse: give X.toarray(), or "
            "estimators of your own."
        )
    shape = np.shape(X)
    if len(shape) != 2:
        raise ValueError(f"X must have two dimensions; it has the shape {shape}.")
    wanted = None if isinstance(names, str) else names
    return standard_methods(len(np.unique(y)), shape[1], shape[0], random_state, names=wanted)


def _check_methods(estimators: Any) -> dict[str, Any]:
    """Names and estimators; estimators in a list are named after their classes."""
    if isinstance(estimators, Mapping):
        methods = dict(estimators)
    else:
        given = estimators if isinstance(estimators, Sequence) else [estimators]
        names = [type(estimator).__name__ for estimator in given]
        methods = {}
        for i, (name, estimator) in enumerate(zip(names, given, strict=True)):
            number = names[: i + 1].count(name)
            methods[name if number == 1 else f"{name} {number}"] = estimator
    if not methods:
        raise ValueError("estimators is empty: give at least one, such as {'SVM': RejoSVC()}.")
    for name, estimator in methods.items():
        if isinstance(estimator, type) or not is_classifier(estimator):
            raise ValueError(
                f"estimators[{name!r}]={estimator!r} must be a classifier, such as RejoSVC()."
            )
    return methods
