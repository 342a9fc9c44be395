"""The generators against the posteriors, densities and Bayes risks of the paper's problems."""

import numpy as np
import pytest
from scipy import stats

from rejo.datasets import bayes_risk, make_synthetic_1, make_synthetic_2, posterior

MAKERS = {"synthetic_1": make_synthetic_1, "synthetic_2": make_synthetic_2}

# Bayes-optimal risk at reject costs .04, .12, .20, .28, .36, .44, .48.
COSTS = [0.04, 0.12, 0.20, 0.28, 0.36, 0.44, 0.48]
RISKS = {
    "synthetic_1": [0.0162, 0.0450, 0.0692, 0.0889, 0.1026, 0.1097, 0.1111],
    "synthetic_2": [0.0346, 0.0977, 0.1443, 0.1734, 0.1913, 0.2006, 0.2024],
}

each_problem = pytest.mark.parametrize("name", MAKERS)


def alpha_of(X):
    return 10 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5)


@each_problem
def test_shapes_labels_and_default_size(name):
    X, y = MAKERS[name](random_state=0)
    assert X.shape == (400, 2)
    assert X.dtype == np.float64
    assert y.shape == (400,)
    assert set(y.tolist()) == {-1, 1}
    assert np.issubdtype(y.dtype, np.integer)


@each_problem
def test_random_state(name):
    make = MAKERS[name]
    X, y = make(50, random_state=3)
    X_again, y_again = make(50, random_state=np.random.RandomState(3))
    np.testing.assert_array_equal(X, X_again)
    np.testing.assert_array_equal(y, y_again)
    assert not np.array_equal(X, make(50, random_state=4)[0])


@each_problem
@pytest.mark.parametrize(
    ("n_samples", "error"), [(0, ValueError), (-3, ValueError), (2.5, TypeError), (True, TypeError)]
)
def test_wrong_size_is_named(name, n_samples, error):
    with pytest.raises(error, match="n_samples must be"):
        MAKERS[name](n_samples)


@each_problem
def test_classes_follow_the_posterior(name):
    """Among points of equal posterior p the share of +1 is p, within 4.5 standard errors."""
    X, y = MAKERS[name](200_000, random_state=0)
    p = posterior(name, X)
    for members in np.array_split(np.argsort(p), 40):
        expected = p[members].mean()
        error = np.sqrt((p[members] * (1 - p[members])).sum()) / len(members)
        assert abs((y[members] == 1).mean() - expected) <= 4.5 * error + 1e-4


def test_synthetic_1_posterior_is_the_formula_in_alpha():
    X, _ = make_synthetic_1(1000, random_state=1)
    alpha = alpha_of(X)
    cdf = stats.norm(scale=0.125).cdf
    between = cdf(0.25 - alpha) - cdf(-0.5 - alpha)
    expected = 1 - cdf(0.25 - alpha) + between * np.clip((alpha + 0.5) / 0.75, 0, 1)
    np.testing.assert_allclose(posterior("synthetic_1", X), expected, atol=1e-12)


def test_synthetic_1_alpha_has_its_density():
    """The density of alpha is -ln(0.4 |alpha|) / 5 on [-2.5, 2.5]."""

    def cdf(alpha):
        a = np.clip(np.abs(alpha), 1e-300, 2.5)
        return 0.5 + np.sign(alpha) * a * (1 - np.log(0.4 * a)) / 5

    X, _ = make_synthetic_1(20_000, random_state=2)
    assert X.min() >= 0
    assert X.max() <= 1
    assert stats.kstest(alpha_of(X), cdf).pvalue > 1e-3


def test_synthetic_2_classes_are_the_shifted_gaussians():
    X, y = make_synthetic_2(100_000, random_state=0)
    for label, mean, deviation in ((-1, -2, 3), (1, 2, 5)):
        points = X[y == label]
        error = deviation / np.sqrt(len(points))
        np.testing.assert_allclose(points.mean(axis=0), mean + 0.1375, atol=4 * error)
        covariance = (deviation**2 + 0.225**2 / 12) * np.eye(2)
        np.testing.assert_allclose(np.cov(points.T), covariance, atol=6 * deviation * error)


@pytest.mark.parametrize(("n_samples", "expected"), [(400, 200), (401, 201), (1, 1)])
def test_synthetic_2_classes_are_equal_and_the_first_gets_the_odd_point(n_samples, expected):
    _, y = make_synthetic_2(n_samples, random_state=0)
    assert (y == -1).sum() == expected


def test_synthetic_2_rows_are_in_random_order():
    _, y = make_synthetic_2(400, random_state=0)
    changes = np.count_nonzero(np.diff(y))
    assert 150 < changes < 250


def test_synthetic_2_posterior_far_from_the_data():
    """The wider class wins far out, also where both densities are below the smallest float."""
    X = [[1e4, 0], [-1e4, 0], [0, 1e4], [-1e4, -1e4]]
    np.testing.assert_allclose(posterior("synthetic_2", X), 1)


@each_problem
def test_bayes_risk_is_the_table(name):
    risks = [bayes_risk(name, cost) for cost in COSTS]
    np.testing.assert_allclose(risks, RISKS[name], atol=2e-4)


@each_problem
def test_bayes_rule_has_the_bayes_risk(name):
    """Deciding by the posterior costs what `bayes_risk` says, on a sample."""
    cost = 0.2
    X, y = MAKERS[name](200_000, random_state=5)
    p = posterior(name, X)
    rejected = np.minimum(p, 1 - p) > cost
    wrong = ~rejected & ((p > 0.5) != (y == 1))
    assert cost * rejected.mean() + wrong.mean() == pytest.approx(bayes_risk(name, cost), abs=2e-3)


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="name must be one of synthetic_1, synthetic_2"):
        posterior("synthetic_9", [[0, 0]])
    with pytest.raises(ValueError, match=r"X must have shape \(n_samples, 2\), got \(2,\)"):
        posterior("synthetic_1", [0, 0])
    for cost in (0, 0.6, float("nan")):
        with pytest.raises(ValueError, match="reject_cost must be above 0 and at most"):
            bayes_risk("synthetic_1", cost)
    with pytest.raises(TypeError, match="reject_cost must be a number"):
        bayes_risk("synthetic_1", "0.2")
