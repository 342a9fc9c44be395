"""RejoSVC with parameters chosen by cross-validation, for every reject cost in one call."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np

from rejo._state import (
    Must,
    count,
    either,
    floats,
    indices,
    mapping,
    number,
    part,
    plain,
    require,
    storable,
    text,
    texts,
)
from rejo._typing import Floats, Indices
from rejo.estimators import (
    RejoSVC,
    ReviewPrice,
    SVMGrid,
    check_answering,
    encode_classes,
    score_folds,
)
from rejo.metrics import Tally, tally
from rejo.replication import decode
from rejo.selection.chosen import ChosenModel
from rejo.selection.folds import (
    REJECT_COSTS,
    check_cases,
    check_fold_weights,
    check_reject_costs,
    described,
    split_cases,
)
from rejo.selection.path import RejectCurve

# The grids of the paper.
CS = tuple(2.0**i for i in (-5, -3, -1, 1, 3))
GAMMAS = tuple(2.0**i for i in (-3, -1, 1))
COLUMN = either(floats("n_rows"), indices("n_rows"), texts("n_rows"))  # of cv_results_


@storable
@described
@dataclass(kw_only=True, eq=False, repr=False)
class RejoSVCCV(ChosenModel):
    """Tune ``C``, ``gamma`` and ``h`` of :class:`~rejo.RejoSVC` for every reject cost at once.

    For each reject cost ``w``, the parameters with the lowest ``w R + E`` over the folds are
    chosen, and a model with them is fitted on all cases.  Kernel matrices and warm starts are
    shared.

    Parameters
    ----------
    reject_cost : float in (0, 0.5], default=0.2
        The model for this cost decides in :meth:`predict`; it is added to ``reject_costs``.
    Cs : sequence of float, default=2**-5, 2**-3, ..., 2**3
    gammas : sequence of float, "scale" or "auto", default=2**-3, 2**-1, 2
    hs : sequence of float, default=(1.0,)
        Values to try; ties go to the first in the order ``C``, ``gamma``, ``h``.
    reject_costs : sequence of float in (0, 0.5], default=0.04, 0.08, ..., 0.48
    %cv
    n_jobs : int, default=None
        Number of folds to work on at the same time, in threads.
    kernel, degree, coef0, s, class_order, reject_label, class_weight, tol, max_iter, cache_size
        As in :class:`~rejo.RejoSVC`.

    Attributes
    ----------
    reject_costs_ : ndarray of shape (n_costs,)
        All reject costs, ascending.
    best_params_ : dict of float to dict
        The chosen ``C``, ``gamma`` and ``h`` for each reject cost.
    best_estimators_ : dict of float to RejoSVC
        The model with these parameters for each reject cost, fitted on all cases.
    best_estimator_ : RejoSVC
        The model for ``reject_cost``.
    curve_ : RejectCurve
        Rejections and errors of the chosen parameters over the folds.  They were chosen on the
        same folds, so these rates are slightly optimistic.
    cv_results_ : dict of ndarray
        One row for each combination: ``reject_cost``, ``C``, ``gamma``, ``h``,
        ``rejection_rate``, ``error_rate``, ``risk`` and ``risk_std``, the last over the folds.
    classes_, reject_label_, n_iter_, n_features_in_, feature_names_in_
        As in :class:`~rejo.RejoSVC`.

    See Also
    --------
    RejoSVC : The classifier.
    RejectClassifierCV : Find the operating point of any classifier for a target.

    Examples
    --------
    >>> from rejo.datasets import make_synthetic_1
    >>> from rejo.selection import RejoSVCCV
    >>> X, y = make_synthetic_1(200, random_state=0)
    >>> search = RejoSVCCV(Cs=[1, 10], gammas=[1, 4], reject_cost=0.2).fit(X, y)
    >>> sorted(search.best_params_[0.2])
    ['C', 'gamma', 'h']
    >>> strict = search.best_estimators_[0.04]
    >>> bool(strict.reject_mask(X).mean() > search.reject_mask(X).mean())
    True
    """

    Cs: Sequence[float] = CS
    gammas: Sequence[float | str] = GAMMAS
    hs: Sequence[float] = (1.0,)
    reject_costs: Sequence[float] = REJECT_COSTS
    cv: Any = 5
    n_jobs: int | None = None
    kernel: str | Callable[[Any, Any], Any] = "rbf"
    degree: int = 3
    coef0: float = 0.0
    s: int | None = None
    class_weight: Any = None
    tol: float = 1e-3
    max_iter: int = -1
    cache_size: float = 200

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "reject_cost": [ReviewPrice(0.5)],
        **{name: ["array-like", Iterable] for name in ("Cs", "gammas", "hs", "reject_costs")},
        "cv": ["cv_object"],
        "n_jobs": [int, None],
    }

    _fitted: ClassVar[dict[str, Must]] = {
        "best_estimator_": part(RejoSVC),
        "best_estimators_": mapping(number(0.0, 0.5), part(RejoSVC)),
        "best_params_": mapping(number(0.0, 0.5), mapping(text(), plain())),
        "reject_costs_": floats("n_costs", low=0.0, high=0.5),
        "curve_": part(RejectCurve),
        "cv_results_": mapping(text(), COLUMN),
        "n_iter_": count(),
    }
    _learner = RejoSVC

    @described
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose the parameters for each reject cost, and fit the models.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            Training points, or their kernel matrix if ``kernel="precomputed"``.
        %y, sample_weight, groups
        """
        self._validate_params()
        X, y, groups, sample_weight = check_cases(X, y, groups, sample_weight, type(self).__name__)
        self._search(X, y, sample_weight, groups)
        self.best_estimators_ = {
            w: self._model(reject_cost=w, **params).fit(X, y, sample_weight)
            for w, params in self.best_params_.items()
        }
        model = self.best_estimator_ = self.best_estimators_[float(self.reject_cost)]
        self.n_iter_ = model.n_iter_
        self._set_labels(model.classes_, True)
        self._copy_features()
        return self

    def _model(self, **params: Any) -> RejoSVC:
        shared = RejoSVC._parameter_constraints.keys() & self._get_param_names()
        return RejoSVC(**{name: getattr(self, name) for name in shared} | params)

    def _search(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        """Cross-validate the grid, and find the parameters for each reject cost."""
        costs = check_reject_costs([*self.reject_costs, self.reject_cost])
        if isinstance(self.gammas, str):
            raise ValueError(f"gammas must be a list, such as [{self.gammas!r}].")
        grid = SVMGrid(costs, list(self.Cs), list(self.gammas), list(self.hs))
        for name, values in zip(("Cs", "gammas", "hs"), grid[1:], strict=True):
            if not values:
                raise ValueError(f"{name} is empty: give at least one value.")
        splits = split_cases(self.cv, X, y, groups)
        check_fold_weights(splits, sample_weight)
        _, k = encode_classes(y, self.class_order)

        def count(f: int, known: Indices, scores: Floats) -> Tally:
            """Count the test cases of a fold: arrays of shape (n_costs, n_Cs, n_hs)."""
            decision = np.append(known, -1)[decode((scores > 0).sum(axis=-1))]
            test = splits[f][1]
            return tally(decision, k[test], None if sample_weight is None else sample_weight[test])

        counts = score_folds(
            self._model(), X, y, grid, splits, count,
            sample_weight=sample_weight, n_jobs=self.n_jobs,
        )  # fmt: skip
        # (n_gammas, n_folds, 3, n_costs, n_Cs, n_hs) -> (n_costs, n_Cs, n_gammas, n_hs, n_folds)
        found = Tally(*np.array(counts).transpose(2, 3, 4, 0, 5, 1))
        R, E = found.rejection_rate, found.error_rate
        sizes = found.total[0, 0, 0, 0]  # (n_folds,)
        w = self.reject_costs_ = np.array(costs)
        risks = found.risk(w[:, None, None, None, None])
        rates = [np.average(part, axis=-1, weights=sizes) for part in (R, E, risks)]
        # Rounded, so that a difference in the last digit is a tie.
        flat = np.round(rates[2], 12).reshape(len(w), -1).argmin(axis=1)  # (n_costs,)
        rows = np.arange(len(w)), *np.unravel_index(flat, risks.shape[1:4])
        self.curve_ = RejectCurve(w, R[rows], E[rows], sizes)
        places = [dict(C=C, gamma=gamma, h=h) for C, gamma, h in product(*grid[1:])]
        self.best_params_ = dict(zip(costs, [places[i] for i in flat], strict=True))
        names = "reject_cost", "C", "gamma", "h", "rejection_rate", "error_rate", "risk", "risk_std"
        measured = [part.ravel() for part in (*rates, risks.std(axis=-1))]
        columns = (*zip(*product(*grid), strict=True), *measured)
        self.cv_results_ = {k: np.array(v) for k, v in zip(names, columns, strict=True)}

    def _check_state(self) -> None:
        """There is a model for each reject cost."""
        super()._check_state()
        self._model()._validate_params()
        costs = self.reject_costs_.tolist()
        same = list(self.best_estimators_) == list(self.best_params_) == costs
        same = same and self.reject_cost_ in costs and len(self.curve_.reject_costs) == len(costs)
        require(same, self, "its models are not one for each reject cost")
        for model in self.best_estimators_.values():
            check_answering(self, model)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags
