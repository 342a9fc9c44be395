"""Data without a value in it, and parameters beyond what compiled code can count."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

import rejo

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
y = (X[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(int)
EMPTY = {
    "no entries": sparse.csr_matrix((400, 3)),
    "no entries, CSC array": sparse.csc_array((400, 3)),
    "zeros that are stored": sparse.csr_matrix(
        (np.zeros(400), np.zeros(400, dtype=int), np.arange(401)), shape=(400, 3)
    ),
    "entries that add up to zero": sparse.coo_matrix(
        ([1.0, -1.0], ([5, 5], [1, 1])), shape=(400, 3)
    ),
}


@pytest.mark.parametrize("S", EMPTY.values(), ids=EMPTY)
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "sigmoid"])
@pytest.mark.parametrize("cache_size", [200, 1e-6])
def test_a_sparse_matrix_of_zeros(S, kernel, cache_size):
    labels = [0, 1] * 200
    thin = rejo.RejoSVC(kernel=kernel, cache_size=cache_size).fit(S, labels)
    dense = rejo.RejoSVC(kernel=kernel).fit(np.zeros((400, 3)), labels)
    assert thin.objective_ == pytest.approx(dense.objective_, rel=1e-3)
    assert_array_equal(thin.predict(S), dense.predict(np.zeros((400, 3))))
    assert_array_equal(dense.predict(S), thin.predict(np.zeros((400, 3))))


@pytest.mark.parametrize(
    "make", [rejo.RejoSVC, rejo.RejoKernelLogistic, rejo.baselines.SurrogateRejectSVC]
)
@pytest.mark.parametrize("degree", [0, -1, 2**31, 2**40, 2**70])
def test_a_degree_that_cannot_be_counted_is_refused(make, degree):
    with pytest.raises(ValueError, match=rf"'degree' parameter of {make.__name__} must be an int"):
        make(kernel="poly", degree=degree).fit(X, y)


@pytest.mark.parametrize(
    ("make", "name", "enough"),
    [
        (rejo.RejoSVC, "max_iter", -1),
        (rejo.RejoSVC, "cache_size", 200),
        (rejo.baselines.SurrogateRejectSVC, "max_iter", -1),
        (rejo.RejoKernelLogistic, "max_iter", 100),
        (rejo.RejoKernelLogistic, "cache_size", 200),
        (rejo.RejoKernelLogistic, "max_rank", 500),
        (rejo.RejoLinear, "max_iter", 1000),
        (rejo.RejoMLP, "max_iter", 1000),
    ],
)
@pytest.mark.parametrize("value", [2**62, 2**63, 2**100])
def test_a_limit_without_end_is_no_limit(make, name, enough, value):
    usual, large = (make(**{name: limit}) for limit in (enough, value))
    for model in (usual, large):
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
    assert_array_equal(usual.fit(X, y).predict(X), large.fit(X, y).predict(X))


@pytest.mark.parametrize("value", [float("inf"), float("nan"), -1, 0, 10**400, "1", None])
@pytest.mark.parametrize("name", ["C", "gamma", "tol", "cache_size"])
def test_numbers_without_a_float_are_refused(name, value):
    for make in (rejo.RejoSVC, rejo.RejoKernelLogistic):
        with pytest.raises(ValueError, match=f"The '{name}' parameter of {make.__name__} must be"):
            make(**{name: value}).fit(X, y)


def test_a_network_that_does_not_fit_into_memory_is_refused():
    for sizes in (2**40, (10**6, 10**6), 10**400):
        with pytest.raises(ValueError, match="hidden_layer_sizes"):
            rejo.RejoMLP(sizes).fit(X, y)
