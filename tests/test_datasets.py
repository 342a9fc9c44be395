"""The generators against the posteriors, densities and Bayes risks of the paper's problems."""

import numpy as np
import pytest
from scipy import stats

from rejo.datasets import (
    bayes_rates,
    bayes_risk,
    load_breast_cancer_binary,
    load_diabetes_ordinal,
    make_synthetic_1,
    make_synthetic_2,
    make_synthetic_3,
    make_synthetic_4,
    posterior,
)

MAKERS = {
    "synthetic_1": make_synthetic_1,
    "synthetic_2": make_synthetic_2,
    "synthetic_3": make_synthetic_3,
    "synthetic_4": make_synthetic_4,
}
LABELS = {
    "synthetic_1": [-1, 1],
    "synthetic_2": [-1, 1],
    "synthetic_3": [1, 2, 3, 4, 5],
    "synthetic_4": [1, 2, 3],
}

# Bayes-optimal rejection rate, 1 - error rate and risk at these reject costs.
COSTS = [0.04, 0.12, 0.20, 0.28, 0.36, 0.44, 0.48]
TABLE = {
    "synthetic_1": [
        (0.388, 0.9993, 0.0162),
        (0.331, 0.9948, 0.0450),
        (0.276, 0.9859, 0.0692),
        (0.213, 0.9707, 0.0889),
        (0.127, 0.9431, 0.1026),
        (0.053, 0.9136, 0.1097),
        (0.018, 0.8973, 0.1111),
    ],
    "synthetic_2": [
        (0.826, 0.9985, 0.0346),
        (0.746, 0.9918, 0.0977),
        (0.453, 0.9462, 0.1443),
        (0.286, 0.9067, 0.1734),
        (0.167, 0.8688, 0.1913),
        (0.069, 0.8295, 0.2006),
        (0.023, 0.8084, 0.2024),
    ],
}

each_problem = pytest.mark.parametrize("name", MAKERS)


def alpha_of(X):
    return 10 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5)


def synthetic_3_posterior(alpha):
    """P(y = 1..5 | alpha) zone by zone: the class has the noise's share of its own zone, and of a
    transition beside it what the uniform draw gives to it.
    """
    b = [-np.inf, -1.5, -1.25, -1, -0.5, -0.1, 0.1, 0.5, 1.1, np.inf]
    cdf = stats.norm(scale=0.125).cdf
    p = np.zeros((len(alpha), 5))
    for zone in range(9):
        inside = cdf(b[zone + 1] - alpha) - cdf(b[zone] - alpha)
        if zone % 2 == 0:
            p[:, zone // 2] += inside
        else:
            share = np.clip((alpha - b[zone]) / (b[zone + 1] - b[zone]), 0, 1)
            p[:, zone // 2] += inside * (1 - share)
            p[:, zone // 2 + 1] += inside * share
    return p


@each_problem
def test_shapes_labels_and_default_size(name):
    X, y = MAKERS[name](random_state=0)
    n = 600 if name == "synthetic_4" else 400
    assert X.shape == (n, 2)
    assert X.dtype == np.float64
    assert y.shape == (n,)
    assert sorted(set(y.tolist())) == LABELS[name]
    assert y.dtype == np.int64


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
    with pytest.raises(error, match="n_samples"):
        MAKERS[name](n_samples)


@each_problem
def test_posterior_is_a_distribution(name):
    X, _ = MAKERS[name](500, random_state=0)
    p = posterior(name, X)
    assert p.shape == (500, len(LABELS[name]))
    assert p.min() >= 0
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12)


@each_problem
def test_classes_follow_the_posterior(name):
    """Among points of equal posterior p the share of the class is p, within 4.5 standard errors."""
    X, y = MAKERS[name](200_000, random_state=0)
    for label, p in zip(LABELS[name], posterior(name, X).T, strict=True):
        for members in np.array_split(np.argsort(p), 40):
            expected = p[members].mean()
            error = np.sqrt((p[members] * (1 - p[members])).sum()) / len(members)
            assert abs((y[members] == label).mean() - expected) <= 4.5 * error + 1e-4


def test_synthetic_1_posterior_is_the_formula_in_alpha():
    X, _ = make_synthetic_1(1000, random_state=1)
    alpha = alpha_of(X)
    cdf = stats.norm(scale=0.125).cdf
    between = cdf(0.25 - alpha) - cdf(-0.5 - alpha)
    expected = 1 - cdf(0.25 - alpha) + between * np.clip((alpha + 0.5) / 0.75, 0, 1)
    np.testing.assert_allclose(posterior("synthetic_1", X)[:, 1], expected, atol=1e-12)


def test_synthetic_3_posterior_is_the_formula_in_alpha():
    X, _ = make_synthetic_3(1000, random_state=1)
    expected = synthetic_3_posterior(alpha_of(X))
    np.testing.assert_allclose(posterior("synthetic_3", X), expected, atol=1e-12)


def test_synthetic_3_class_shares():
    """The integral of the posterior over the density of alpha, -ln(0.4 |alpha|) / 5."""
    step = 5 / 100_000
    alpha = -2.5 + step * (np.arange(100_000) + 0.5)
    expected = -np.log(0.4 * np.abs(alpha)) / 5 * step @ synthetic_3_posterior(alpha)
    n = 100_000
    _, y = make_synthetic_3(n, random_state=3)
    shares = np.bincount(y, minlength=6)[1:] / n
    assert expected.sum() == pytest.approx(1, abs=1e-4)
    assert np.abs(shares - expected).max() < 4 * np.sqrt(0.25 / n)


def test_synthetic_1_alpha_has_its_density():
    """The density of alpha is -ln(0.4 |alpha|) / 5 on [-2.5, 2.5]."""

    def cdf(alpha):
        a = np.clip(np.abs(alpha), 1e-300, 2.5)
        return 0.5 + np.sign(alpha) * a * (1 - np.log(0.4 * a)) / 5

    X, _ = make_synthetic_1(20_000, random_state=2)
    assert X.min() >= 0
    assert X.max() <= 1
    assert stats.kstest(alpha_of(X), cdf).pvalue > 1e-3


@pytest.mark.parametrize(
    ("name", "clouds"),
    [
        ("synthetic_2", [(-1, -2, 3, True), (1, 2, 5, True)]),
        ("synthetic_4", [(1, -2, 3, True), (2, 2, 5, True), (3, 7, 2, False)]),
    ],
)
def test_clouds_are_the_gaussians_and_the_first_two_are_shifted(name, clouds):
    X, y = MAKERS[name](100_000, random_state=0)
    for label, mean, deviation, shifted in clouds:
        points = X[y == label]
        error = deviation / np.sqrt(len(points))
        shift, width = (0.1375, 0.225) if shifted else (0, 0)
        np.testing.assert_allclose(points.mean(axis=0), mean + shift, atol=4 * error)
        covariance = (deviation**2 + width**2 / 12) * np.eye(2)
        np.testing.assert_allclose(np.cov(points.T), covariance, atol=6 * deviation * error)


@pytest.mark.parametrize(("n_samples", "expected"), [(400, 200), (401, 201), (1, 1)])
def test_synthetic_2_classes_are_equal_and_the_first_gets_the_odd_point(n_samples, expected):
    _, y = make_synthetic_2(n_samples, random_state=0)
    assert (y == -1).sum() == expected


def test_synthetic_4_classes_are_equal_and_the_lowest_get_the_rest():
    _, y = make_synthetic_4(602, random_state=0)
    assert np.bincount(y)[1:].tolist() == [201, 201, 200]


@pytest.mark.parametrize("make", [make_synthetic_2, make_synthetic_4])
def test_rows_of_clouds_are_in_random_order(make):
    _, y = make(400, random_state=0)
    assert 150 < np.count_nonzero(np.diff(y)) < 320


@pytest.mark.parametrize("name", ["synthetic_2", "synthetic_4"])
def test_posterior_far_from_the_data(name):
    """The widest class wins far out, also where all densities are below the smallest float."""
    X = [[1e4, 0], [-1e4, 0], [0, 1e4], [-1e4, -1e4]]
    np.testing.assert_allclose(posterior(name, X)[:, 1], 1)


@pytest.mark.parametrize("name", TABLE)
def test_bayes_rates_are_the_table(name):
    rates = [bayes_rates(name, cost) for cost in COSTS]
    found = [(r.rejection_rate, 1 - r.error_rate, r.risk) for r in rates]
    np.testing.assert_allclose(found, TABLE[name], atol=1e-3)
    np.testing.assert_allclose([r.risk for r in rates], [row[2] for row in TABLE[name]], atol=2e-4)


@each_problem
def test_bayes_risk_is_the_integral_of_the_rejection_rate(name):
    """For the Bayes rule w R + E is the integral of R(u) over u from 0 to w."""
    n = 200
    step = (1 - 1 / len(LABELS[name])) / n  # up to the highest cost at which a rejection can pay
    rejected = np.array([bayes_rates(name, (i + 0.5) * step).rejection_rate for i in range(n)])
    integral = np.cumsum(rejected) * step
    for i in (19, 79, 139, 198):
        rates = bayes_rates(name, (i + 1) * step)
        assert rates.risk == pytest.approx((i + 1) * step * rates.rejection_rate + rates.error_rate)
        assert rates.risk == pytest.approx(integral[i], abs=2e-4)


@each_problem
def test_at_the_highest_cost_nothing_is_rejected(name):
    rates = bayes_rates(name, 1 - 1 / len(LABELS[name]))
    assert rates.rejection_rate == pytest.approx(0, abs=1e-3)
    assert rates.risk == pytest.approx(rates.error_rate, abs=1e-3)


@each_problem
def test_bayes_rule_has_the_bayes_rates(name):
    """Deciding by the posterior costs what `bayes_rates` says, on a sample."""
    cost = 0.2
    X, y = MAKERS[name](200_000, random_state=5)
    p = posterior(name, X)
    rejected = 1 - p.max(axis=1) > cost
    wrong = ~rejected & (np.array(LABELS[name])[p.argmax(axis=1)] != y)
    rates = bayes_rates(name, cost)
    assert rejected.mean() == pytest.approx(rates.rejection_rate, abs=5e-3)
    assert wrong.mean() == pytest.approx(rates.error_rate, abs=3e-3)
    assert bayes_risk(name, cost) == rates.risk


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="name"):
        posterior("synthetic_9", [[0, 0]])
    with pytest.raises(ValueError, match="X must"):
        posterior("synthetic_1", [0, 0])
    for cost in (0, 0.6, float("nan")):
        with pytest.raises(ValueError, match="reject_cost"):
            bayes_risk("synthetic_1", cost)
    with pytest.raises(ValueError, match=r"reject_cost .* 0\.8"):
        bayes_risk("synthetic_3", 0.81)
    with pytest.raises(TypeError, match="reject_cost"):
        bayes_risk("synthetic_1", "0.2")


def test_breast_cancer_is_that_of_scikit_learn_with_classes_swapped():
    from sklearn.datasets import load_breast_cancer

    theirs = load_breast_cancer()
    ours = load_breast_cancer_binary()
    np.testing.assert_array_equal(ours.data, theirs.data)
    for label, name in enumerate(ours.target_names):
        np.testing.assert_array_equal(
            ours.target == label, theirs.target == theirs.target_names.tolist().index(name)
        )
    assert ours.frame is None


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_diabetes_classes_follow_the_progress(n_classes):
    from sklearn.datasets import load_diabetes

    values = load_diabetes().target
    table = load_diabetes_ordinal(n_classes=n_classes)
    counts = np.bincount(table.target)[1:]
    assert len(counts) == len(table.target_names) == len(table.cuts) + 1 == n_classes
    assert counts.max() - counts.min() <= 0.02 * len(values)
    for k in range(1, n_classes):
        assert values[table.target == k].max() < values[table.target == k + 1].min()


@pytest.mark.parametrize("load", [load_breast_cancer_binary, load_diabetes_ordinal])
def test_loaders_return_frames_and_pairs(load):
    pd = pytest.importorskip("pandas")
    X, y = load(return_X_y=True)
    table = load(as_frame=True)
    assert isinstance(table.data, pd.DataFrame)
    assert isinstance(table.target, pd.Series)
    assert table.target.name == "target"
    np.testing.assert_array_equal(table.data, X)
    np.testing.assert_array_equal(table.target, y)
    np.testing.assert_array_equal(table.frame["target"], y)
    assert y.dtype == table.target.dtype == np.int64


@pytest.mark.parametrize(
    ("n_classes", "error"), [(1, ValueError), (11, ValueError), (3.0, TypeError)]
)
def test_wrong_number_of_classes_is_named(n_classes, error):
    with pytest.raises(error, match="n_classes"):
        load_diabetes_ordinal(n_classes=n_classes)
