"""A scorer at the prices that you pay, for scikit-learn's searches and cross-validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from sklearn.utils.metadata_routing import MetadataRequest

from rejo.estimators import decisions_of
from rejo.metrics import empirical_risk, expected_cost


def cost_scorer(
    *, reject_cost: float | None = None, cost_of: Any = None, classes: Any = None
) -> CostScorer:
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
    classes : array-like of shape (n_classes,), default=None
        All classes, lowest first; see :func:`rejo.metrics.expected_cost`.

    Returns
    -------
    scorer : callable
        ``scorer(estimator, X, y, sample_weight=None)`` is the negative of the mean cost of a case,
        also of a pipeline or a search; for ``scoring=`` of ``GridSearchCV`` and similar.

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
    return CostScorer(reject_cost, cost_of, classes)


@dataclass(eq=False)
class CostScorer:
    """The mean cost of a case in the form that scikit-learn calls."""

    reject_cost: float | None
    cost_of: Any
    classes: Any
    weight_request: bool | str | None = None

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score the decisions of a fitted estimator."""
        decisions, label = decisions_of(estimator, X, y)
        about = {
            "reject_label": label, "classes": self.classes, "sample_weight": sample_weight,
        }  # fmt: skip
        if self.reject_cost is not None:
            return -empirical_risk(y, decisions, reject_cost=self.reject_cost, **about)
        return -expected_cost(y, decisions, cost_of=self.cost_of, **about)

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
