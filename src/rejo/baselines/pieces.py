"""Features in pieces: a linear model of them is a sum of curves, one for each feature."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from rejo._state import FEATURES, declare, floats, indices, require
from rejo._typing import Floats

NARROWEST = 1e-100  # piece


class Pieces(TransformerMixin, BaseEstimator):
    """Piecewise linear encoding: how far a value has come through each piece of its feature.

    Piece ``j`` from ``a`` to ``b`` becomes ``min(max((x - a) / (b - a), 0), 1)``; the ends are
    quantiles (Gorishniy et al., 2022, https://doi.org/10.48550/arXiv.2203.05556).

    Parameters
    ----------
    n_pieces : int, default=8
        Of each feature; features with few values have fewer.
    """

    def __init__(self, n_pieces: int = 8) -> None:
        self.n_pieces = n_pieces

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the quantiles."""
        X = validate_data(self, X, dtype=np.float64)
        ends = np.quantile(X, np.linspace(0, 1, self.n_pieces + 1), axis=0, method="nearest")
        width = np.diff(ends, axis=0)
        width[0] += (width <= NARROWEST).all(axis=0)  # a feature with one value has one piece
        feature, j = np.nonzero(width.T > NARROWEST)
        self.feature_ = feature.astype(np.int64)
        self.low_, self.width_ = ends[j, feature], width[j, feature]
        return self

    def transform(self, X: Any) -> Floats:
        """Return the pieces (n_samples, n_pieces) of all features."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        with np.errstate(over="ignore"):
            pieces: Floats = np.clip((X[:, self.feature_] - self.low_) / self.width_, 0, 1)
        return pieces

    @property
    def _n_features_out(self) -> int:
        return len(self.feature_)

    def _to_onnx(self, graph: Any, X: str) -> str:
        columns = graph.add("Gather", X, self.feature_, axis=1)
        pieces = graph.add("Div", graph.add("Sub", columns, self.low_), self.width_)
        return str(graph.add("Min", graph.add("Max", pieces, np.array(0.0)), np.array(1.0)))


def _pieces(model: Any) -> None:
    every = len(np.unique(model.feature_)) == model.n_features_in_
    require(every, model, "a feature has no piece")


declare(
    Pieces,
    {
        "n_features_in_": FEATURES,
        "feature_": indices("pieces", below="p"),
        "low_": floats("pieces"),
        "width_": floats("pieces", low=NARROWEST),
    },
    _pieces,
    saved=True,
)
