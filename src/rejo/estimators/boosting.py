"""Gradient boosting that may answer "review": XGBoost grows the trees, and one fit serves all."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import expit, softmax
from sklearn.utils import check_random_state
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from rejo._frames import is_arrow, is_polars
from rejo._sparse import check_sparse, summed
from rejo._state import (
    declare,
    each,
    either,
    flag,
    floats,
    indices,
    maybe,
    one_of,
    part,
    require,
    texts,
)
from rejo._typing import Floats, Indices
from rejo.estimators.boundaries import (
    LOSS_STATE,
    BoundaryClassifier,
    LearnsLosses,
    boundary_tables,
    case_tables,
    check_loss,
    count_boundaries,
    loss_as_fitted,
    mean_loss,
    n_boundaries,
)
from rejo.estimators.classes import Targets, check_targets, class_indices, is_ordered, with_loss
from rejo.estimators.growing import (
    FORMS,
    Growth,
    Plan,
    grown_from,
)
from rejo.estimators.inner import is_frame, signs_of
from rejo.estimators.matrices import (
    Categories,
    categories_of,
    check_numbers,
    encoded,
    grow_table,
    has_gaps,
    held_out_parts,
    without_zeros,
)
from rejo.estimators.parameters import FiniteInterval, ReviewPrice
from rejo.estimators.posteriors import (
    OFFSETS,
    boundary_posteriors,
    boundary_posteriors_to_onnx,
    judge_boundaries,
    odds_offsets,
)
from rejo.estimators.priced import PricedClassifier
from rejo.estimators.reviews import Judgement, refuse_unknown
from rejo.replication import replica_labels
from rejo.solvers import BoostedTrees, ScoreTable, Walker, best_thresholds, ready, score_table
from rejo.tables import as_pandas

MOST_ROWS = 1 << 24  # with costs of their own: XGBoost keeps their numbers in single precision
TINY = 1e-9  # of the mean weight, the least of a held-out row
BINS = 1024  # scores of held-out rows that are kept, to find thresholds for other reject costs
MANY = 20_000  # rows from which a share of them is enough to hold out
SHARE, FOLDS = 0.1, 5
SMALLEST, LARGEST = 1e-12, 1e12  # weights
SMALL = 1 << 17  # numbers to learn from that are not worth a second thread
SETTINGS = {  # parameters that XGBoost has too
    **dict.fromkeys(["learning_rate", "min_child_weight", "reg_lambda"], float),
    **dict.fromkeys(["subsample", "colsample_bytree"], float),
    **dict.fromkeys(["max_depth", "max_bin"], int),
}


def _has_proba(model: RejoBoost) -> bool:
    form = getattr(model, "form_", None)
    if form is None or form == "posteriors" or model._odds_offsets is not None:
        return True
    raise AttributeError(
        f"this RejoBoost has no predict_proba: with {len(model.classes_)} classes, the costs of "
        "its boundaries leave no posteriors (use boundaries='posteriors')."
    )


@dataclass(kw_only=True, eq=False, repr=False)
class RejoBoost(LearnsLosses, PricedClassifier):
    """Gradient boosting with a reject option.

    Trees are grown by XGBoost :footcite:p:`chen2016`, in one of three forms.

    - "parallel": one sum of trees ``g`` and ordered thresholds on it, two between neighbouring
      classes; what lies between the two is rejected.  With the label ``t_iq`` (0 or 1) and the cost
      ``c_iq`` of point ``i`` at boundary ``q`` (see :mod:`rejo.replication`) it minimises::

          sum_iq c_iq [log(1 + exp(g(x_i) + b_q)) - t_iq (g(x_i) + b_q)]

      No row is copied.
    - "replicas": a score ``f(x, q)`` for each boundary, from trees that may also split by ``q``,
      with a constraint that keeps the boundaries in order: their shapes may differ.  Rows are
      copied block by block.
    - "posteriors": ``log P(y = k | x)`` by a logistic loss, for classes in an order or not, and
      decisions by prices.

    Rows that are held out stop the growth, and set the thresholds: for the ``reject_cost`` of the
    fit and, by :meth:`at`, for any other one.

    Parameters
    ----------
    boundaries : {"auto", "parallel", "replicas", "posteriors"}, default="auto"
        The form.  "auto" takes the one that suits what is paid: "parallel" for two classes;
        for more, "replicas" with a ``loss_matrix`` or ``s``, and otherwise "posteriors", as a
        review then costs the same whatever the true class is, which boundaries cannot express.
    n_estimators : int, default=1000
        Maximum number of rounds.
    learning_rate : float, default=0.1
        What a round counts for.
    max_depth : int, default=4
        Maximum depth of a tree.
    min_child_weight : float, default=0.1
        Least weight (sum of the second derivatives of the loss) in a leaf.
    reg_lambda : float, default=1.0
        Penalty of the squares of the leaves.
    subsample, colsample_bytree : float in (0, 1], default=1.0
        Share of the rows, and of the columns, that a tree sees.
    max_bin : int, default=256
        Maximum number of bins of a feature.
    monotone_constraints : array-like of int of shape (n_features,) or dict, default=None
        1 for a feature whose rise may only favour the higher classes, -1 for the lower ones; by
        name, if ``X`` is a DataFrame.  For two classes, or boundaries.
    early_stopping_rounds : int or None, default=20
        Rounds without a better loss of the held-out rows.  ``None``: always ``n_estimators``.
    validation : float in (0, 1), int or "auto", default="auto"
        Which rows stop the growth and set the thresholds: a share of each class, held out; or, in
        this number of folds, every row in turn, before all rows grow the mean number of rounds.
        "auto": 5 folds for fewer than 20,000 rows, else a share of 0.1.
    reject_cost : float or None, default=0.2
        Cost of a rejection, where an error costs 1: up to 0.5 for boundaries, and up to ``1 - 1 /
        n_classes`` for posteriors.  ``None`` never rejects.
    cost_of : dict, str, path, DataFrame or array-like, default=None
        What errors and reviews cost, instead of ``reject_cost``; see
        :func:`rejo.prices.price_matrix`.  The form is then "posteriors".
    %s, loss_matrix, class_order, reject_label, class_weight
    n_jobs : int, default=None
        Number of threads.  ``None``: all.
    random_state : int, RandomState instance or None, default=None
        Which rows are held out, and what a tree sees.

    Attributes
    ----------
    %classes_, reject_label_, reject_cost_, n_features_in_, feature_names_in_
    form_ : {"parallel", "replicas", "posteriors"}
        The form that was grown.
    trees_ : BoostedTrees
        Nodes of all trees, as arrays.
    intercepts_ : ndarray of shape (n_scores,)
        What is added to the sums of the leaves.
    offsets_ : ndarray of shape (n_boundaries,)
        ``b``: what is added to ``g``, or to the score of each boundary; empty for posteriors.
    prices_ : ndarray of shape (n_classes, n_classes + 1)
        With posteriors, the prices it decides at.
    case_prices_, price_columns_
        As of :class:`~rejo.ThresholdRejectClassifier`.
    n_estimators_ : int
        Number of rounds up to the lowest loss of the held-out rows.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each feature in what the splits of all trees achieve.

    See Also
    --------
    ReplicationClassifier : Any other classifier, on copies of all rows.
    rejo.distributed.fit : The same by several machines.

    Notes
    -----
    Missing values are welcome; but a row without any value is rejected if training had no missing
    values.  Columns of the pandas type "category" are split by sets of
    categories; a category that training did not have counts as missing, and so does what a sparse
    matrix does not store.  Numbers are compared in single precision.  Only ``fit`` needs XGBoost.

    :func:`rejo.distributed.fit` learns from Parquet files that may be larger than the memory.

    Examples
    --------
    >>> from rejo import RejoBoost
    >>> from rejo.datasets import make_synthetic_1
    >>> X, y = make_synthetic_1(1000, random_state=0)
    >>> model = RejoBoost(reject_cost=0.2, validation=0.2, random_state=0).fit(X, y)
    >>> X_new, y_new = make_synthetic_1(1000, random_state=1)
    >>> round(model.score(X_new, y_new), 1)
    0.9
    >>> reviews = [int(model.at(w).reject_mask(X_new).sum()) for w in (0.1, 0.2, 0.4)]
    >>> reviews[0] > reviews[1] > reviews[2]
    True
    """

    boundaries: str = "auto"
    s: int | None = None
    loss_matrix: Any = None
    class_weight: Any = None
    n_jobs: int | None = None
    n_estimators: int = 1000
    learning_rate: float = 0.1
    max_depth: int = 4
    min_child_weight: float = 0.1
    reg_lambda: float = 1.0
    subsample: float = 1.0
    colsample_bytree: float = 1.0
    max_bin: int = 256
    monotone_constraints: Any = None
    early_stopping_rounds: int | None = 20
    validation: Any = "auto"
    random_state: Any = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BoundaryClassifier._parameter_constraints,
        "reject_cost": [ReviewPrice(1.0), None],
        "cost_of": "no_validation",  # by price_matrix, when the classes are known
        "boundaries": [StrOptions({"auto", *FORMS})],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [FiniteInterval(Real, 0.0, 1.0, closed="right")],
        "max_depth": [Interval(Integral, 1, 30, closed="both")],
        "min_child_weight": [FiniteInterval(Real, 0.0, None, closed="left")],
        "reg_lambda": [FiniteInterval(Real, 0.0, None, closed="left")],
        "subsample": [FiniteInterval(Real, 0.0, 1.0, closed="right")],
        "colsample_bytree": [FiniteInterval(Real, 0.0, 1.0, closed="right")],
        "max_bin": [Interval(Integral, 2, 1 << 16, closed="both")],
        "monotone_constraints": ["array-like", dict, None],
        "early_stopping_rounds": [Interval(Integral, 1, None, closed="left"), None],
        "validation": [
            FiniteInterval(Real, 0.0, 1.0, closed="neither"),
            Interval(Integral, 2, 100, closed="both"),
            StrOptions({"auto"}),
        ],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None, loss: Any = None) -> Self:
        self._validate_params()
        random = check_random_state(self.random_state)
        X = self._check_input(X, reset=True)
        targets = self._check_targets(X, y, sample_weight, loss)
        if targets.rows is not None:
            X = X[targets.rows]
        self._saw_gaps = has_gaps(X)
        k, v = targets.indices, targets.weight
        if v is not None and not SMALLEST < v.max() < LARGEST:
            raise ValueError(
                f"sample_weight reaches {v.max():.1e}, with the class weights, which trees in "
                "single precision cannot add up. Scale the weights to a mean of 1."
            )
        ordered = self.class_order is not None or is_ordered(y)
        plan = self.plan(targets.classes, ordered, random, targets=targets)
        share = self.validation
        if isinstance(share, str):  # "auto"
            share = FOLDS if len(k) < MANY else SHARE
        settled = self.form_ == "posteriors" and self.early_stopping_rounds is None
        parts = [] if settled else held_out_parts(k, float(share), random)
        threads = min(self._n_threads(), 1 + X.shape[0] * X.shape[1] // SMALL)
        rows = case_tables(plan.labels, plan.costs, targets)[2]
        plan, stage, seen = grow_table(plan, X, rows, v, parts, threads)
        return self.store(plan, stage, *seen, targets=targets)

    def fit_path(
        self, X: Any, y: Any, *, reject_costs: Any = None, sample_weight: Any = None
    ) -> list[Self]:
        """Fit once, and return a model for each reject cost; this one is not changed.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.
        reject_costs : iterable of float, default=None
            ``None``: the ``reject_cost`` of this model only.

        Returns
        -------
        models : list of fitted classifiers
        """
        costs: list[Any] = [self.reject_cost] if reject_costs is None else list(reject_costs)
        if not costs or None in costs:
            raise ValueError(
                f"reject_costs must be numbers, one or more; got {costs!r:.80}. For a model that "
                "never rejects, fit one with reject_cost=None."
            )
        middle = sorted(costs)[len(costs) // 2]
        model = copy(self).set_params(reject_cost=middle).fit(X, y, sample_weight)
        return [model.at(cost) for cost in costs]

    # ---- what is grown --------------------------------------------------------------------

    def plan(
        self,
        classes: NDArray[Any],
        ordered: bool,
        random: np.random.RandomState,
        *,
        names: Sequence[str] | int | None = None,
        categories: Categories | None = None,
        targets: Targets | None = None,
    ) -> Plan:
        """Settle the form and all that growing needs; the classes are stored.

        It is for those who grow the trees elsewhere, by a :class:`~rejo.estimators.growing.Grower`,
        and bring them back by :meth:`store`.  They give the ``names`` of the columns, or their
        number, and what categories they have.  ``targets`` may have a loss for each case.
        """
        if names is not None:
            self.n_features_in_ = names if isinstance(names, int) else len(names)
            self.__dict__.pop("feature_names_in_", None)
            if not isinstance(names, int):
                self.feature_names_in_ = np.array(names, dtype=object)
            self._categories = categories
            self._zeros_missing = self._saw_gaps = False
        with_loss = targets is not None and targets.loss_matrix is not None
        self.form_ = self._form(len(classes), with_loss)
        self._set_prices(classes, ordered)
        labels, costs = self._set_boundaries(targets)
        scale = costs.sum(axis=1).mean()  # so that penalties mean the same for any
        if targets is not None:
            labels, costs, rows = case_tables(labels, costs, targets)
            if len(costs) == len(rows) > MOST_ROWS:
                raise ValueError(
                    f"loss differs between {len(rows):,} cases; RejoBoost takes {MOST_ROWS:,}."
                )
        settings = {name: kind(getattr(self, name)) for name, kind in SETTINGS.items()}
        settings["seed"] = int(random.randint(np.iinfo(np.int32).max))
        known = self._categories or [None] * self.n_features_in_
        return Plan(
            form=self.form_,
            labels=labels,
            costs=costs / scale,
            settings=settings,
            max_rounds=int(self.n_estimators),
            patience=self.early_stopping_rounds,
            categories=tuple(one is not None for one in known),
            constraints=self._signs(),
        )

    def store(
        self, plan: Plan, stage: Growth, scores: Floats, indices: Indices, weight: Floats | None,
        targets: Targets | None = None,
    ) -> Self:  # fmt: skip
        """Keep what was grown, with the scores (n, S) of held-out rows, their classes and weights.

        These rows set the thresholds.  If costs differ by case, ``indices`` are rows of the plan.
        """
        self.trees_, self.intercepts_ = grown_from(plan, stage)
        if weight is not None and (self.trees_.feature < 0).all():
            warnings.warn(
                "No tree has a split: the weights are so small that no leaf reaches "
                f"min_child_weight={self.min_child_weight:g}. Scale sample_weight to a mean of 1.",
                UserWarning,
                stacklevel=3,
            )
        by_case = targets is not None and targets.costs is not None
        K, k = len(self.classes_), targets.indices[indices] if targets and by_case else indices
        self._held_out, self._mass = score_table(scores, k, weight, K, BINS)
        self._set_thresholds(targets)
        if by_case:
            costs = plan.costs[indices] * (1.0 if weight is None else weight[:, None])  # (n, Q)
            costs = np.maximum(costs, TINY * costs.mean())  # no bin is empty
            table = score_table(np.broadcast_to(scores, costs.shape), k, costs, K, BINS)
            labels = replica_labels(K, reject=self._rejects)
            self._set_offsets(table, labels, np.ones_like(labels))
        return self

    def _form(self, n_classes: int, with_loss: bool = False) -> str:
        priced, auto = self.cost_of is not None, self.boundaries == "auto"
        if priced and self.boundaries in ("parallel", "replicas"):
            raise ValueError(
                f"cost_of needs posteriors, but boundaries={self.boundaries!r}. Leave one of the "
                "two out, or give a loss_matrix."
            )
        shaped = with_loss or self.loss_matrix is not None or self.s is not None
        if shaped and (priced or self.boundaries == "posteriors"):
            raise ValueError(
                "loss, loss_matrix and s are for boundaries between ordered classes; with "
                "boundaries='posteriors', give cost_of instead."
            )
        if not auto:
            return self.boundaries
        if priced:
            return "posteriors"
        if n_classes == 2:
            return "parallel"
        return "replicas" if shaped else "posteriors"

    def _signs(self) -> tuple[int, ...] | None:
        """Constraints of the user, a sign for each feature."""
        given = self.monotone_constraints
        if given is None:
            return None
        known = self._categories or [None] * self.n_features_in_
        names = getattr(self, "feature_names_in_", np.empty(0)).tolist()
        signs = signs_of("monotone_constraints", given, names, self.n_features_in_)
        if self.form_ == "posteriors" and len(self.classes_) > 2 and any(signs):
            raise ValueError(
                "monotone_constraints have no meaning for the posteriors of three or more classes. "
                "Use boundaries='parallel' or 'replicas', for classes in an order."
            )
        if any(sign and one is not None for sign, one in zip(signs, known, strict=True)):
            raise ValueError(
                "monotone_constraints is for numbers: a feature of categories has no direction."
            )
        return tuple(signs)

    def _check_targets(self, X: Any, y: Any, sample_weight: Any, loss: Any = None) -> Targets:
        order = self.class_order
        if order is None and self.boundaries in ("auto", "posteriors") and not is_ordered(y):
            order = "sorted"  # classes of posteriors need no order
        name = type(self).__name__
        found = check_targets(X, y, sample_weight, order, self.class_weight, name)
        return with_loss(found, loss, X.shape[0])

    # ---- decisions -------------------------------------------------------------------------

    @available_if(lambda model: getattr(model, "form_", model.boundaries) != "posteriors")
    def boundary_scores(self, X: Any) -> Floats:
        """Score of every point for every boundary, as of the other learners; not of posteriors."""
        return self.boundaries_of(self._scores(X))

    @available_if(_has_proba)
    def predict_proba(self, X: Any) -> Floats:
        """Posterior of every class.

        It exists for posteriors, for two classes, and with ``reject_cost=None``.  A row that
        cannot be judged is refused, as by :meth:`predict_forced`.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        f = self._scores(X)
        refuse_unknown(np.isnan(f))
        return self.posteriors_of(f)

    @available_if(lambda model: getattr(model, "form_", model.boundaries) == "posteriors")
    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """Yield the posteriors (n_samples, n_classes) after each round; for posteriors only."""
        X, S = self._numbers(X), len(self.intercepts_)
        f = np.tile(self.intercepts_, (len(X), 1))
        for first in range(0, len(self.trees_.roots), S):
            trees = self.trees_.some(first, first + S)
            f += Walker(trees, self.n_features_in_, S).scores(X)
            yield self.posteriors_of(f)

    def judge(self, X: Any, *, prices: Any = None) -> Judgement:
        f = self._scores(X)
        if self.form_ != "posteriors":
            scores = self.boundaries_of(f)
            return judge_boundaries(scores, scores, self._odds_offsets, rejects=self._rejects)
        found = self._judge_at(self.posteriors_of(f), X, prices)
        return found if self.decides_by_posteriors else found._replace(worth=None)

    def _mean_cost(self, X: Any, y: Any, sample_weight: Any, prices: Any = None) -> float:
        check_is_fitted(self)
        if self._loss is None:
            return super()._mean_cost(X, y, sample_weight, prices)
        k = class_indices(y, self.classes_)
        return mean_loss(self._loss, k, self._counts(X), sample_weight)

    def _counts(self, X: Any) -> Indices:
        return count_boundaries(self.boundary_scores(X), rejects=self._rejects)

    @property
    def decides_by_posteriors(self) -> bool:
        return self.boundaries == "posteriors" or self.cost_of is not None

    @property
    def feature_importances_(self) -> Floats:
        check_is_fitted(self)
        gains = self.trees_.gains(self.n_features_in_)
        return gains / max(gains.sum(), np.finfo(float).tiny)

    @property
    def n_estimators_(self) -> int:
        check_is_fitted(self)
        return len(self.trees_.roots) // int(self.trees_.target.max() + 1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "trees_")

    # ---- thresholds and prices ------------------------------------------------------------

    def at(
        self, reject_cost: float | None = None, cost_of: Any = None, *, prices: Any = None,
        case_prices: Any = None,
    ) -> Self:  # fmt: skip
        check_is_fitted(self)
        if self.form_ != "posteriors" and reject_cost is None:
            raise ValueError(
                f"boundaries of the form {self.form_!r} take other reject costs only; for prices "
                "use boundaries='posteriors'."
            )
        if self._loss is not None:
            raise ValueError("the model was fitted for a loss_matrix, which has no reject cost.")
        model = super().at(reject_cost, cost_of, prices=prices, case_prices=case_prices)
        model._set_thresholds()
        return model

    def _set_boundaries(self, targets: Targets | None = None) -> tuple[Floats, Floats]:
        """Store what the present costs say of the boundaries; replica labels and costs (K, Q)."""
        classes, self._loss = self.classes_, None
        self._odds_offsets: Any = None
        if self.form_ == "posteriors":
            return boundary_tables(classes, None, None, None)
        given = None if targets is None else targets.loss_matrix
        loss_matrix = self.loss_matrix if given is None else given
        labels, costs = boundary_tables(classes, self.reject_cost, self.s, loss_matrix)
        self._set_labels(classes, rejects=costs.shape[1] >= len(classes))
        self._loss = loss_as_fitted(loss_matrix)
        if targets is None or targets.costs is None:  # else scores are log-odds of money
            self._odds_offsets = odds_offsets(costs)
        return labels, costs

    def _set_thresholds(self, targets: Targets | None = None) -> None:
        """Find the best thresholds on the held-out rows, for the present costs."""
        labels, costs = self._set_boundaries(targets)
        self.offsets_ = np.empty(0)
        if self.form_ != "posteriors":
            self._set_offsets(ScoreTable(self._held_out, self._mass), labels, costs)

    def _set_offsets(self, table: ScoreTable, labels: Floats, costs: Floats) -> None:
        b = best_thresholds(table, labels, costs)
        # Sorting thresholds on one score changes no count.
        self.offsets_ = -np.sort(-b) if self.form_ == "parallel" else b

    def _operating_point(self) -> dict[str, Any]:
        return super()._operating_point() if self._loss is None else {"loss_matrix": self._loss}

    # ---- input and scores -----------------------------------------------------------------

    def _n_threads(self) -> int:
        return int(_openmp_effective_n_threads(self.n_jobs))

    def _check_input(self, X: Any, *, reset: bool) -> Any:
        """``X`` as an array in C order or CSR; a frame with categories as their codes."""
        if not reset:
            check_is_fitted(self)
        if issparse(X):
            check_sparse(X)
        known = None if reset else self._categories
        if is_arrow(X):
            X = as_pandas(X)
        if is_polars(X) and not (known is None and all(kind.is_numeric() for kind in X.dtypes)):
            X = as_pandas(X)
        categories = categories_of(X) if reset else known
        if reset:
            self._categories = categories
            self._zeros_missing = issparse(X)
        if categories is not None:
            if not is_frame(X):
                raise ValueError(
                    "X must be a DataFrame: the model was fitted on one, with categories, and an "
                    f"array does not say what these are; got {type(X).__name__}."
                )
            validate_data(self, X, reset=reset, skip_check_array=True)
            return encoded(X, categories)
        if is_frame(X) and not is_polars(X):
            check_numbers(X)
        X = validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], order="C",
            ensure_all_finite="allow-nan",
        )  # fmt: skip
        return summed(X) if issparse(X) else X

    def _numbers(self, X: Any) -> NDArray[Any]:
        """Cases (n, p) as the trees see them."""
        X = self._check_input(X, reset=False)
        if self._zeros_missing:
            return without_zeros(X)
        return np.asarray(X.toarray()) if issparse(X) else X

    def _scores(self, X: Any) -> Floats:
        """Sums of the trees (n, S), with their intercepts.

        NaN, so a review, for a row without any value if training had no gaps.
        """
        X = self._numbers(X)
        n_known = self._n_boundaries if self.form_ == "replicas" else None
        walker = ready(self.trees_, self.n_features_in_, len(self.intercepts_), n_known)
        f = walker.scores(X, self._n_threads()) + self.intercepts_
        if not self._saw_gaps:
            empty = np.flatnonzero(np.isnan(X[:, 0]))
            f[empty[np.isnan(X[empty]).all(axis=1)]] = np.nan
        return f

    def boundaries_of(self, scores: Floats) -> Floats:
        """Scores of all boundaries (n, n_boundaries), from the sums of the trees (n, n_scores)."""
        return -np.sort(-(scores + self.offsets_), axis=1)

    def posteriors_of(self, scores: Floats) -> Floats:
        """Posteriors (n, n_classes), from the sums of the trees (n, n_scores)."""
        if self.form_ != "posteriors":
            odds = self.boundaries_of(scores) - self._odds_offsets
            return boundary_posteriors(odds, rejects=self._rejects)
        if scores.shape[1] > 1:
            return np.asarray(softmax(scores, axis=1))
        return np.column_stack([expit(-scores[:, 0]), expit(scores[:, 0])])

    # ---- files ----------------------------------------------------------------------------

    def _scores_to_onnx(self, graph: Any, X: str) -> str:
        """Sums of the trees (n, S), with their intercepts."""
        if self._categories is not None:
            raise ValueError(
                "to_onnx exports a RejoBoost of numbers only; this one splits by categories. "
                "Encode them before it, for example by a OneHotEncoder."
            )
        if self._zeros_missing:
            there = graph.add("Not", graph.add("Equal", X, np.array(0.0)))
            X = graph.add("Where", there, X, np.array(np.nan))
        if not self._saw_gaps:
            n_gaps = graph.add(
                "ReduceSum", graph.cast(graph.add("IsNaN", X), "INT64"), np.array([1]), keepdims=0
            )
            graph.unknown.append(graph.add("Equal", n_gaps, np.array(self.n_features_in_)))
        if self.form_ != "replicas":
            f = graph.boosted(X, self.trees_, len(self.intercepts_))
        else:
            p, Q = self.n_features_in_, self._n_boundaries
            each = [graph.boosted(X, self.trees_.settled(p, q), 1) for q in range(Q)]
            f = each[0] if Q == 1 else graph.add("Concat", *each, axis=1)
        return str(graph.add("Add", f, self.intercepts_[None, :]))

    def _to_onnx(self, graph: Any, X: str) -> str:
        f = graph.add("Add", self._scores_to_onnx(graph, X), self.offsets_[None, :])
        return str(graph.falling(f, self._n_boundaries))

    def _posteriors_to_onnx(self, graph: Any, X: str) -> str:
        K = len(self.classes_)
        if self.form_ != "posteriors":
            odds = graph.add("Sub", graph.apply(self, X), self._odds_offsets[None, :])
            return boundary_posteriors_to_onnx(graph, odds, K, rejects=self._rejects)
        return str(graph.from_logits(self._scores_to_onnx(graph, X), K))


def _boost(model: Any) -> None:
    """The trees split by the features and add to the scores that there are."""
    replicas, posteriors = model.form_ == "replicas", model.form_ == "posteriors"
    K, S = len(model.classes_), len(model.intercepts_)
    right = (model._n_boundaries if replicas else 1) if not posteriors else K if K > 2 else 1
    if not posteriors:
        check_loss(model)
        require(hasattr(model, "_odds_offsets"), model, "it does not know its odds")
    require(right == S, model, "its intercepts are not those of its scores")
    Q, p = 0 if posteriors else model._n_boundaries, model.n_features_in_ + replicas
    require(len(model.offsets_) == Q, model, "its offsets are not those of its boundaries")
    require(model.trees_.n_features == p, model, "its trees have other features")
    targets = model.trees_.target < (1 if replicas else S)
    require(targets.all(), model, "a tree adds to a score that it does not have")
    split = model.trees_.feature >= 0
    by_code, columns = model.trees_.category[split] >= 0, model.trees_.feature[split]
    coded = np.zeros(by_code.shape, dtype=bool)
    if model._categories is not None:
        coded = np.array([one is not None for one in [*model._categories, None]])[columns]
    require((by_code == coded).all(), model, "a number is split as a category, or the other way")
    require(model._held_out.shape == model._mass.shape[:2], model, "its held-out scores disagree")


declare(
    RejoBoost,
    {
        "_loss": LOSS_STATE,
        "_odds_offsets": OFFSETS,
        "form_": one_of(*FORMS),
        "trees_": part(BoostedTrees),
        "intercepts_": floats("S"),
        "offsets_": either(floats("Q"), floats(0)),
        "_held_out": floats("S", None),
        "_mass": floats("S", None, "K", low=0.0),
        "_categories": maybe(
            each(maybe(either(texts(), floats(None), indices(None, low=-(1 << 63)))), "p")
        ),
        "_zeros_missing": flag(),
        "_saw_gaps": flag(),
    },
    _boost,
    lengths=n_boundaries,
    saved=True,
)
