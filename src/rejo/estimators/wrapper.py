"""What classifiers around another classifier share: its tags, its input, its seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import validate_data

from rejo.estimators.rows import is_frame


class WrapsClassifier:
    """Mixin for the parameter ``estimator``, gradient boosting by default."""

    estimator: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        estimator = self._default()
        if hasattr(estimator, "__sklearn_tags__") and not isinstance(estimator, type):
            inner = get_tags(estimator)
            tags.input_tags.allow_nan = inner.input_tags.allow_nan
            tags.input_tags.sparse = inner.input_tags.sparse
            tags.non_deterministic = inner.non_deterministic
        return tags

    def _default(self) -> Any:
        return HistGradientBoostingClassifier() if self.estimator is None else self.estimator

    def _check_input(self, X: Any, *, reset: bool) -> Any:
        """``X`` as an array or CSR; a DataFrame, or what a pipeline takes, as it is."""
        if is_frame(X) or isinstance(self.estimator, Pipeline):
            X = X if hasattr(X, "shape") else np.asarray(X)
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X.tocsr() if sparse.issparse(X) else X
        tags = get_tags(self).input_tags
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr" if tags.sparse else False,
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan" if tags.allow_nan else True,
        )


def seed(estimator: Any, random: np.random.RandomState) -> None:
    """Set every ``random_state`` in an estimator, in the order of their names."""
    for name in sorted(estimator.get_params(deep=True)):
        if name == "random_state" or name.endswith("__random_state"):
            estimator.set_params(**{name: random.randint(np.iinfo(np.int32).max)})
