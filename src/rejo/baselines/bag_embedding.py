"""Bags of instances as rows of numbers: how much of each prototype a bag contains."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from rejo._docs import cited
from rejo._state import (
    LARGEST,
    MOST_FEATURES,
    Must,
    count,
    floats,
    names,
    number,
    optional,
    require,
    storable,
)
from rejo._typing import Floats, Indices
from rejo.baselines.bags import checked_bags
from rejo.estimators import LARGEST_GAMMA, SMALLEST_GAMMA, FiniteInterval

BLOCK = 1 << 22  # distances held at a time, or those of one bag


@storable
@cited
class BagEmbedding(TransformerMixin, BaseEstimator):
    """Turn bags of instances into rows of numbers, for any classifier.

    A bag is a case with several instances, such as an image with its regions; the class belongs to
    the bag, and it is not known which of its instances are the reason.  A bag B becomes its
    similarities to prototypes ``z_1``, ``z_2``, and so on::

        s_k(B) = max over x in B of exp(-gamma |x - z_k|^2)

    which are 1 if the bag contains the prototype, and near 0 if nothing in it is like the
    prototype.  This is the embedding of MILES [1]_.  The prototypes are
    instances of the training bags: those next to the centres of a k-means clustering.  The class of
    a bag plays no part in this, unless ``by_class``.

    Parameters
    ----------
    n_prototypes : int, default=30
        Maximum number of prototypes.  There are fewer if fewer instances differ.
    gamma : "scale" or float, default="scale"
        How fast the similarity falls with the distance.  ``"scale"``: 1 / the sum of the variances
        of the features, which is 1 / n_features if they are scaled.
    scale : bool, default=True
        Divide each feature by its standard deviation over all instances of the training bags.
    by_class : bool, default=False
        Share the prototypes among the classes, and look for those of a class in its bags only.
        ``fit`` then needs ``y``.
    random_state : int, RandomState instance or None, default=None
        For the clustering.

    Attributes
    ----------
    prototypes_ : ndarray of shape (n_prototypes_, n_features_in_)
        Rows of the training bags.
    scale_ : ndarray of shape (n_features_in_,)
        What each feature is divided by.
    gamma_ : float
        How fast the similarity falls with the distance.
    n_features_in_ : int
        Number of features of an instance.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the bags are DataFrames.

    See Also
    --------
    rejo.baselines.bags.bags_of : Make bags of the rows of a table.
    rejo.datasets.make_bags : Draw bags to try it on.
    RejoSVC : A classifier with a reject option, to come after it.
    sklearn.kernel_approximation.Nystroem : Similarities of single rows to training rows.

    References
    ----------
    %chen2006

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from rejo import RejoSVC
    >>> from rejo.baselines import BagEmbedding
    >>> from rejo.datasets import make_bags
    >>> bags, y = make_bags(200, random_state=1)
    >>> bags[0].shape, bags[1].shape
    ((7, 2), (8, 2))
    >>> model = make_pipeline(BagEmbedding(random_state=0), RejoSVC(kernel="linear", C=10))
    >>> model.fit(bags, y).score(*make_bags(1000, random_state=2)) > 0.8
    True
    """

    _training_rows: ClassVar[tuple[str, ...]] = ("prototypes_",)
    _fitted: ClassVar[dict[str, Must]] = {
        "n_features_in_": count(1, MOST_FEATURES),
        "feature_names_in_": optional(names("p")),
        "prototypes_": floats("k", "p"),
        "scale_": floats("p", low=1 / LARGEST),
        "gamma_": number(low=SMALLEST_GAMMA, high=LARGEST_GAMMA),
    }
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_prototypes": [Interval(Integral, 1, None, closed="left")],
        "gamma": [
            StrOptions({"scale"}),
            FiniteInterval(Real, SMALLEST_GAMMA, LARGEST_GAMMA, closed="both"),
        ],
        "scale": ["boolean"],
        "by_class": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_prototypes: int = 30,
        *,
        gamma: str | float = "scale",
        scale: bool = True,
        by_class: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_prototypes = n_prototypes
        self.gamma = gamma
        self.scale = scale
        self.by_class = by_class
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the prototypes.

        Parameters
        ----------
        X : sequence of bags
            Each an array or a DataFrame of shape (n_instances, n_features); the number of
            instances may differ.  A list will do here; see :func:`~rejo.baselines.bags.bag_array`.
        y : array-like of shape (n_bags,), default=None
            Classes of the bags; only used if ``by_class``.
        """
        self._validate_params()
        instances, starts = self._stack(X, reset=True)
        largest = np.abs(instances).max()
        if largest > LARGEST:
            raise ValueError(
                f"X has a value of {largest:.1e}, whose square overflows: scale the features."
            )
        self.scale_ = _deviations(instances) if self.scale else np.ones(instances.shape[1])
        random = check_random_state(self.random_state)
        groups = self._groups(instances, starts, y)
        share = int(self.n_prototypes) // len(groups)
        found = [_typical_rows(group, self.scale_, share, random) for group in groups]
        self.prototypes_ = np.unique(np.concatenate(found), axis=0)
        self.gamma_ = self._choose_gamma(instances)
        return self

    def transform(self, X: Any) -> Floats:
        """Return the similarities of bags to the prototypes, (n_bags, n_prototypes_).

        Neither the order of the instances nor the other bags matter.

        Parameters
        ----------
        X : sequence of bags
            As in ``fit``.
        """
        check_is_fitted(self)
        instances, starts = self._stack(X, reset=False)
        scaled = self.prototypes_ / self.scale_
        return np.exp(-self.gamma_ * _nearest(instances / self.scale_, starts, scaled))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names "prototype0" and so on; ``input_features`` is ignored."""
        check_is_fitted(self)
        return np.array([f"prototype{k}" for k in range(len(self.prototypes_))], dtype=object)

    def _stack(self, X: Any, *, reset: bool) -> tuple[Floats, Indices]:
        """Instances (N, p), one bag after the other, and the first (n_bags,) of each bag."""
        bags = list(checked_bags(X))
        validate_data(self, bags[0], reset=reset, skip_check_array=True)  # their number and names
        lengths = [len(bag) for bag in bags]
        starts = np.concatenate([[0], np.cumsum(lengths[:-1])]).astype(np.intp)
        rows = np.concatenate([np.asarray(bag, dtype=np.float64) for bag in bags])
        return np.ascontiguousarray(rows), starts  # frames are stored by columns

    def _groups(self, instances: Floats, starts: Indices, y: Any) -> list[Floats]:
        """Instances among which to look for prototypes."""
        if not self.by_class:
            return [instances]
        if y is None:
            raise ValueError("by_class=True needs the classes of the bags: call fit(X, y).")
        check_consistent_length(starts, y)
        lengths = np.diff(starts, append=len(instances))
        classes, k = np.unique(np.asarray(y), return_inverse=True)
        if len(classes) > self.n_prototypes:
            raise ValueError(
                f"n_prototypes={self.n_prototypes} is too few for the {len(classes)} classes of y "
                "with by_class=True: raise it, or leave by_class out."
            )
        owner = np.repeat(k, lengths)  # (N,) the class of each instance's bag
        return [instances[owner == i] for i in range(len(classes))]

    def _choose_gamma(self, instances: Floats) -> float:
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        spread = float((instances / self.scale_).var(axis=0).sum())
        return 1.0 / spread if spread > SMALLEST_GAMMA else 1.0

    def _check_state(self) -> None:
        """There is a prototype."""
        require(len(self.prototypes_) > 0, self, "it has no prototypes")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.three_d_array = False, True
        tags.target_tags.required = bool(self.by_class)
        return tags


# ---- prototypes and distances -----------------------------------------------------------------


def _deviations(instances: Floats) -> Floats:
    """Standard deviations (p,) of the features; 1 for one that is constant up to rounding."""
    found = np.asarray(StandardScaler().fit(instances).scale_)
    return np.where(found < 1 / LARGEST, 1.0, found)


def _typical_rows(rows: Floats, scale: Floats, most: int, random: np.random.RandomState) -> Floats:
    """Up to ``most`` rows (k, p), those nearest to the centres of a clustering."""
    scaled = rows / scale
    distinct = len(np.unique(scaled, axis=0))
    clusters = KMeans(min(most, distinct), n_init=1, random_state=random).fit(scaled)
    return rows[cdist(clusters.cluster_centers_, scaled, "sqeuclidean").argmin(axis=1)]


def _nearest(instances: Floats, starts: Indices, prototypes: Floats) -> Floats:
    """Squared distance (n_bags, k) from each prototype to the nearest instance of each bag.

    Distances are computed from differences: an instance equal to a prototype is at exactly 0.
    """
    found = np.empty((len(starts), len(prototypes)))
    ends = np.append(starts[1:], len(instances))
    rows = max(1, BLOCK // len(prototypes))
    first = 0
    while first < len(starts):
        last = max(first + 1, int(np.searchsorted(ends, starts[first] + rows, side="right")))
        block = instances[starts[first] : ends[last - 1]]
        distances = cdist(block, prototypes, "sqeuclidean")
        found[first:last] = np.minimum.reduceat(distances, starts[first:last] - starts[first])
        first = last
    return found
