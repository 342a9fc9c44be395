"""Points of ordered classes that the tests of several learners share."""

import numpy as np


def ordered_points(n=90, n_classes=3, seed=0):
    """Points on a band, with classes that overlap along it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    t = X[:, 0] + 0.3 * rng.normal(size=n)
    return X, np.searchsorted(np.quantile(t, np.arange(1, n_classes) / n_classes), t)
