"""What holds for every learner by thresholds on one function: forms of X, weights."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from rejo import RejoKernelLogistic, RejoLinear, RejoMLP, RejoSVC
from rejo.solvers import linear

MLP = {"hidden_layer_sizes": (5,), "random_state": 0}
LEARNERS = {
    **{
        f"svc, {kernel}": RejoSVC(kernel=kernel, gamma=0.3, tol=1e-6)
        for kernel in ("linear", "rbf")
    },
    **{loss: RejoLinear(loss=loss, tol=1e-10) for loss in linear.LOSSES},
    "kernel logistic": RejoKernelLogistic(gamma=0.5, tol=1e-8),
    **{
        f"mlp, {loss}": RejoMLP(loss=loss, alpha=1.0, tol=1e-8, max_iter=3000, **MLP)
        for loss in ("logistic", "squared_error")
    },
}
FIVE_STEPS = {
    solver: RejoMLP(solver=solver, alpha=2.0, max_iter=5, batch_size=30, **MLP)
    for solver in ("lbfgs", "rprop", "adam")
}
FORMS = {
    "list": np.ndarray.tolist,
    "float32": lambda X: X.astype(np.float32),
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "reversed": lambda X: X[::-1].copy()[::-1],
    "csr": sparse.csr_matrix,
    "csr array": sparse.csr_array,
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_array,
    "frame": lambda X: pd.DataFrame(X, columns=["a", "b"]),
    "object": lambda X: X.astype(object),
}
every_learner = pytest.mark.parametrize("name", LEARNERS)


@pytest.mark.parametrize("name", [name for name in LEARNERS if "mlp" not in name] + [*FIVE_STEPS])
def test_the_form_of_X_does_not_matter(data, name):
    X, y = data
    X = np.where(np.abs(X) < 0.3, 0.0, X).round(1).astype(np.float32).astype(float)
    model = LEARNERS.get(name) or FIVE_STEPS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # five steps are few
        expected = clone(model).fit(X, y).boundary_scores(X)
        for form in FORMS.values():
            given = form(X)
            other = clone(model).fit(given, y)
            scores = other.boundary_scores(given)
            assert scores.dtype == np.float64
            assert_allclose(scores, expected, atol=1e-9 if name in FIVE_STEPS else 1e-4)
            if not hasattr(given, "columns"):  # without its names a frame's model warns
                assert_allclose(other.boundary_scores(X), scores, atol=1e-9)


@every_learner
def test_a_weight_of_two_is_the_row_twice_and_of_zero_no_row(data, name):
    X, y = data
    weight = np.arange(len(y)) % 3
    weighted = clone(LEARNERS[name]).fit(X, y, weight)
    twice = clone(LEARNERS[name]).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.objective_ == pytest.approx(
        twice.objective_, rel=1e-6 if "svc" in name else 1e-7
    )
    close = 1e-2 if "mlp" in name else 1e-3 if "svc" in name else 1e-4
    assert_allclose(weighted.boundary_scores(X), twice.boundary_scores(X), atol=close)


@every_learner
def test_class_weights_multiply_sample_weights(binary, name):
    X, y = binary
    weight = 1.0 + np.arange(len(y)) % 2
    dear = clone(LEARNERS[name]).set_params(class_weight={1: 5}).fit(X, y, weight)
    weighted = clone(LEARNERS[name]).fit(X, y, weight * np.where(y == 1, 5, 1))
    assert_allclose(dear.boundary_scores(X), weighted.boundary_scores(X), atol=1e-9)
    plain = clone(LEARNERS[name]).fit(X, y, weight)
    assert (dear.predict(X) == 0).sum() < (plain.predict(X) == 0).sum()
