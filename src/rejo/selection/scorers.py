"""Scorers with rejections, for scikit-learn's searches and cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from sklearn.utils.metadata_routing import MetadataRequest

from rejo import metrics
from rejo.estimators import decisions_of, forced_of

# Measure -> whether higher is better.
BETTER = {
    "accepted_accuracy": True,
    "classification_quality": True,
    "empirical_risk": False,
    "error_rate": False,
    "expected_cost": False,
    "overall_accuracy": True,
    "rejection_quality": True,
    "rejection_rate": False,
}
NEEDS_FORCED = ("classification_quality", "rejection_quality")
# Measure -> parameters it requires, and an example.
NEEDED = {
    "empirical_risk": ({"reject_cost"}, "the price of a rejection, such as reject_cost=0.2"),
    "expected_cost": ({"error", "review"}, "two prices, such as error=1000, review=100"),
}


def make_reject_scorer(
    measure: str | Callable[..., float], *, greater_is_better: bool | None = None, **parameters: Any
) -> RejectScorer:
    """Make a scorer from a measure of decisions and rejections.

    Parameters
    ----------
    measure : str or callable
        The name of a measure in :mod:`rejo.metrics`, such as ``"empirical_risk"``, or a function
        ``measure(y_true, y_pred, *, reject_label, sample_weight=None, **parameters)``.
    greater_is_better : bool, default=None
        Known for the measures given by name, required for a function.  If lower is better, the
        score is the negative of the measure, so that a search can maximise it.
    **parameters
        Passed to the measure, such as ``reject_cost=0.2``.

    Returns
    -------
    scorer : callable
        ``scorer(estimator, X, y, sample_weight=None) -> float``, for ``scoring=`` of
        ``GridSearchCV``, ``cross_val_score`` and similar.  It finds the reject label of the fitted
        estimator, also inside a pipeline.

    See Also
    --------
    cost_scorer : The mean cost of a case, at the prices that you pay.
    sklearn.metrics.make_scorer : Scorers of measures without rejection.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from rejo import RejoSVC
    >>> from rejo.datasets import make_synthetic_1
    >>> from rejo.selection import make_reject_scorer
    >>> X, y = make_synthetic_1(400, random_state=0)
    >>> scorer = make_reject_scorer("empirical_risk", reject_cost=0.2)
    >>> scores = cross_val_score(RejoSVC(C=10, gamma=4, reject_cost=0.2), X, y, scoring=scorer)
    >>> bool((scores < 0).all())
    True
    """
    if isinstance(measure, str):
        if measure not in BETTER:
            raise ValueError(
                f"measure={measure!r} is unknown: give one of {', '.join(BETTER)}, or a function."
            )
        better = BETTER[measure] if greater_is_better is None else greater_is_better
        needed, advice = NEEDED.get(measure, (set(), ""))
        if needed - set(parameters) and "cost_of" not in parameters:
            raise ValueError(f"measure={measure!r} needs {advice}.")
        return RejectScorer(getattr(metrics, measure), better, parameters)
    if greater_is_better is None:
        raise ValueError(
            f"measure={measure!r} is a function: also give greater_is_better=True or False."
        )
    return RejectScorer(measure, greater_is_better, parameters)


def cost_scorer(
    *, reject_cost: float | None = None, cost_of: Any = None, **parameters: Any
) -> RejectScorer:
    """Make a scorer at the prices that you pay, whatever prices a model was trained for.

    The ``score`` of a classifier is taken at its own prices, so a search over ``reject_cost`` by
    ``score`` takes the lowest.  With this scorer it finds the one to train with.

    Parameters
    ----------
    reject_cost : float, default=None
        What a rejection costs, where an error costs 1.
    cost_of : dict, str, path, DataFrame or array-like, default=None
        Instead: prices in any form of :mod:`rejo.prices`, such as
        ``{"error": 5000, "review": 40}``.
    **parameters
        Passed to :func:`rejo.metrics.expected_cost` with ``cost_of``, such as ``classes``.

    Returns
    -------
    scorer : callable
        The negative of the mean cost of a case; see :func:`make_reject_scorer`.

    See Also
    --------
    make_reject_scorer : A scorer of any measure.
    RejectClassifierCV : Find the operating point for prices.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from rejo import RejoSVC
    >>> from rejo.datasets import make_synthetic_1
    >>> from rejo.selection import cost_scorer
    >>> X, y = make_synthetic_1(400, random_state=0)
    >>> grid = {"reject_cost": [0.05, 0.1, 0.2, 0.3]}
    >>> model = RejoSVC(C=10, gamma=4)
    >>> search = GridSearchCV(model, grid, scoring=cost_scorer(reject_cost=0.2)).fit(X, y)
    >>> search.best_params_["reject_cost"] > 0.05
    True
    """
    if (reject_cost is None) == (cost_of is None):
        raise ValueError("give one of reject_cost and cost_of: the prices that you pay.")
    if cost_of is not None:
        return make_reject_scorer("expected_cost", cost_of=cost_of, **parameters)
    return make_reject_scorer("empirical_risk", reject_cost=reject_cost, **parameters)


@dataclass(repr=False, eq=False)
class RejectScorer:
    """A measure in the form that scikit-learn calls: of an estimator, points and labels."""

    measure: Callable[..., float]
    greater_is_better: bool
    parameters: dict[str, Any]
    weight_request: bool | str | None = None

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score the decisions of a fitted estimator."""
        parameters = self.parameters
        if self._name in NEEDS_FORCED:
            parameters = {"y_forced": forced_of(estimator, X), **parameters}
        decisions, label = decisions_of(estimator, X, y)
        value = self.measure(
            y, decisions, reject_label=label, sample_weight=sample_weight, **parameters
        )
        return value if self.greater_is_better else -value

    def set_score_request(self, *, sample_weight: bool | str | None) -> Self:
        """Request ``sample_weight``, or not, for scikit-learn's metadata routing."""
        self.weight_request = sample_weight
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """Return what is requested, as scikit-learn asks for it."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param="sample_weight", alias=self.weight_request)
        return request

    def _accept_sample_weight(self) -> bool:
        """Tell scikit-learn's searches, without routing, to pass weights on."""
        return True

    def __repr__(self) -> str:
        given = "".join(f", {name}={value!r}" for name, value in self.parameters.items())
        return f"make_reject_scorer({self._name!r}{given})"

    @property
    def _name(self) -> str:
        """Name of the measure; a partial function has none of its own."""
        function = getattr(self.measure, "func", self.measure)
        return str(getattr(function, "__name__", type(function).__name__))
