"""What becomes of every case, against the rates, the queues and the models themselves."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from rejo import RejoLinear, RejoMLP, RejoSVC, ReplicationClassifier
from rejo.baselines import ThresholdRejectClassifier
from rejo.datasets import make_synthetic_1
from rejo.selection import cross_val_outcomes, ranking_outcomes, reject_curve
from rejo.selection.outcomes import _from_judgement, joined
from rejo.selection.path import fold_curve

COSTS = [0.04, 0.2, 0.4]


def curve_of(points, y):
    decision = np.array([point.decision for point in points])
    return fold_curve([point.reject_cost for point in points], decision, y, points[0].fold)


@pytest.fixture(scope="module")
def data():
    return make_synthetic_1(150, random_state=0)


@pytest.fixture(scope="module")
def ordered():
    random = np.random.RandomState(0)
    X = random.uniform(-1, 1, (150, 2))
    score = X.sum(axis=1) + random.normal(0, 0.3, 150)
    return X, np.array([10, 20, 30])[np.digitize(score, [-0.5, 0.5])]


MODELS = {
    "linear": RejoLinear(C=3),
    "svm": RejoSVC(C=10, gamma=4),
    "pipeline": make_pipeline(StandardScaler(), RejoLinear(C=3)),
    "svm in a pipeline": make_pipeline(StandardScaler(), RejoSVC(gamma=2)),
    "network": RejoMLP((3,), alpha=0.1, max_iter=2000, random_state=0),
    "posteriors": ThresholdRejectClassifier(LogisticRegression(), rule="chow"),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", ["data", "ordered"])
def test_rates_are_those_of_the_curve(request, name, kind):
    X, y = request.getfixturevalue(kind)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    given = {"reject_costs": COSTS, "cv": folds}
    curve = reject_curve(MODELS[name], X, y, **given)
    points = cross_val_outcomes(MODELS[name], X, y, **given)
    found = curve_of(points, np.unique(y, return_inverse=True)[1])
    np.testing.assert_array_equal(found.reject_costs, curve.reject_costs)
    np.testing.assert_allclose(found.rejection_rates, curve.rejection_rates)
    np.testing.assert_allclose(found.error_rates, curve.error_rates)
    np.testing.assert_array_equal(found.sizes, curve.sizes)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_machine_judges_by_the_shared_path_as_by_itself(ordered, kernel):
    X, y = ordered
    folds = list(StratifiedKFold(3).split(X, y))
    model = RejoSVC(kernel=kernel, gamma=1.0, C=5, tol=1e-8)
    for point in cross_val_outcomes(model, X, y, reject_costs=COSTS, cv=folds):
        bands = []
        for train, test in folds:
            alone = clone(model).set_params(reject_cost=point.reject_cost).fit(X[train], y[train])
            judgement, scores = alone.judge(X[test]), alone.boundary_scores(X[test])
            for attribute in ("decision", "forced", "lower"):
                np.testing.assert_array_equal(
                    getattr(point, attribute)[test], getattr(judgement, attribute)
                )
            np.testing.assert_allclose(point.sureness[test], judgement.sureness, atol=1e-5)
            np.testing.assert_allclose(point.score[test], scores.mean(axis=1), atol=1e-5)
            bands.append((scores.mean(axis=1, keepdims=True) - scores)[0].reshape(-1, 2))
        np.testing.assert_allclose(point.bands, np.mean(bands, axis=0), atol=1e-5)


def test_every_case_is_judged_by_a_model_that_has_not_seen_it(ordered):
    X, y = ordered
    folds = list(KFold(4, shuffle=True, random_state=1).split(X))
    for point in cross_val_outcomes(RejoLinear(tol=1e-14), X, y, reject_costs=COSTS, cv=folds):
        for i, (train, test) in enumerate(folds):
            model = RejoLinear(tol=1e-14, reject_cost=point.reject_cost).fit(X[train], y[train])
            judgement = model.judge(X[test])
            assert (point.fold[test] == i).all()
            for attribute in ("decision", "forced", "lower"):
                np.testing.assert_array_equal(
                    getattr(point, attribute)[test], getattr(judgement, attribute)
                )
            np.testing.assert_allclose(point.sureness[test], judgement.sureness, atol=1e-5)


def test_a_class_that_a_training_part_lacks(ordered):
    """Its neighbours keep their places among all classes."""
    X, y = ordered
    for lacks in (10, 20):
        first, rest = np.flatnonzero(y != lacks), np.flatnonzero(y == lacks)
        folds = [(first, rest), (np.arange(150), first)]
        given = {"reject_costs": COSTS, "cv": folds}
        for order in (None, [10, 20, 30]):
            model = RejoLinear(class_order=order)
            points = cross_val_outcomes(model, X, y, **given)
            found = curve_of(points, np.unique(y, return_inverse=True)[1])
            curve = reject_curve(model, X, y, **given)
            np.testing.assert_allclose(found.rejection_rates, curve.rejection_rates)
            np.testing.assert_allclose(found.error_rates, curve.error_rates)
            assert all(point.bands is None for point in points)


def test_a_fold_without_anything_to_learn(ordered):
    """One model is constant, with boundaries as good as parallel; another is not."""
    X, y = ordered
    y = np.where(y > 10, 1, 0)
    flat, some, others = np.arange(150).reshape(3, 50)
    X = np.where(np.isin(np.arange(150), flat)[:, None], 0.0, X)
    folds = [(flat, some), (some, others), (others, flat)]
    tree = ReplicationClassifier(DecisionTreeClassifier(max_depth=3, random_state=0))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The model rejects", UserWarning)
        point = cross_val_outcomes(tree, X, y, reject_costs=[0.2], cv=folds)[0]
    assert point.bands is None
    assert len(point.score) == 150


@pytest.mark.check
def test_parts_and_processes_do_not_matter(data):
    X, y = data
    one = cross_val_outcomes(RejoLinear(), X, y, reject_costs=COSTS, cv=3)
    two = cross_val_outcomes(RejoLinear(), X, y, reject_costs=COSTS[::-1], cv=3, n_jobs=2)
    for a, b in zip(one, two, strict=True):
        assert a.reject_cost == b.reject_cost
        np.testing.assert_array_equal(a.decision, b.decision)
        np.testing.assert_array_equal(a.score, b.score)


def test_every_case_must_be_tested_once(data):
    X, y = data
    for cv in (ShuffleSplit(3, random_state=0), [(np.arange(100), np.arange(100, 140))]):
        with pytest.raises(ValueError, match="cv"):
            cross_val_outcomes(RejoLinear(), X, y, cv=cv)


def test_a_classifier_without_a_reject_option(data):
    X, y = data
    with pytest.raises(TypeError, match="reject_cost"):
        cross_val_outcomes(LogisticRegression(), X, y)
    with pytest.raises(TypeError, match="LogisticRegression"):
        ranking_outcomes(LogisticRegression().fit(X, y), X, [0.1])


# ---- bands --------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_bands_hold_the_scores_of_the_rejected_cases(ordered, n_classes):
    """Those of one linear model, and no others."""
    X, y = ordered
    y = y if n_classes == 3 else np.where(y > 10, "high", "a low one")
    model = make_pipeline(StandardScaler(), RejoLinear(reject_cost=0.1)).fit(X, y)
    points, chosen = ranking_outcomes(model, X, [0.1, 0.5])
    point = points[chosen]
    assert point.bands.shape == (len(np.unique(y)) - 1, 2)
    assert (np.diff(point.bands.ravel()) >= 0).all()
    inside = (point.score[:, None] > point.bands[:, 0]) & (
        point.score[:, None] <= point.bands[:, 1]
    )
    rejected = point.decision < 0
    assert 0 < rejected.sum() < len(y)
    np.testing.assert_array_equal(inside.any(axis=1), rejected)
    np.testing.assert_array_equal(  # and the class is the number of bands below
        (point.score[:, None] > point.bands[:, 1]).sum(axis=1)[~rejected], point.decision[~rejected]
    )
    assert [p.bands is None for p in points] == [i != chosen for i in range(len(points))]


def test_bands_of_a_fold_hold_its_scores(ordered):
    """With one fold model, the cross-validated bands are its own."""
    X, y = ordered
    train, test = np.arange(100), np.arange(100, 150)
    both = [(train, test), (train, train)]
    point = cross_val_outcomes(RejoLinear(), X, y, reject_costs=[0.1], cv=both)[0]
    inside = (point.score[:, None] > point.bands[:, 0]) & (
        point.score[:, None] <= point.bands[:, 1]
    )
    np.testing.assert_array_equal(inside.any(axis=1), point.decision < 0)


def test_scores_rise_with_the_classes(ordered):
    X, y = ordered
    point = cross_val_outcomes(RejoLinear(), X, y, reject_costs=[0.2], cv=3)[0]
    means = [point.score[y == label].mean() for label in (10, 20, 30)]
    assert means == sorted(means)
    assert point.bands.shape == (2, 2)


def test_posteriors_have_no_score(data):
    X, y = data
    point = cross_val_outcomes(MODELS["posteriors"], X, y, reject_costs=[0.2], cv=3)[0]
    assert point.score is None
    assert point.bands is None


def test_without_a_reject_region_there_are_no_bands(data):
    X, y = data
    points, chosen = ranking_outcomes(RejoLinear(reject_cost=None).fit(X, y), X, [0.2])
    assert chosen == 0
    assert (points[0].decision >= 0).all()
    assert all(point.bands is None for point in points)


# ---- rankings -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["linear", "svm", "pipeline", "posteriors"])
def test_rankings_are_those_of_the_queue(ordered, name):
    pytest.importorskip("pandas")
    X, y = ordered
    model = clone(MODELS[name]).fit(X, y)
    last = model[-1] if name == "pipeline" else model
    Z = model[:-1].transform(X) if name == "pipeline" else X
    points, chosen = ranking_outcomes(model, X, [0, 0.01, 0.1, 0.35, 0.8, 1])
    own = int(last.reject_mask(Z).sum())
    sizes = [int((point.decision < 0).sum()) for point in points]
    assert sizes == sorted({0, 2, 15, 52, 120, 150, own})
    assert sizes[chosen] == own
    for point, size in zip(points, sizes, strict=True):
        reviewed = set(np.flatnonzero(point.decision < 0))
        assert reviewed == set(last.queue(Z, capacity=size, fill=True).index)
        decided = point.decision >= 0
        np.testing.assert_array_equal(point.decision[decided], point.forced[decided])
    np.testing.assert_array_equal(points[chosen].decision, last._decide(Z))
    assert points[chosen].reject_cost == 0.2
    assert all(np.isnan(p.reject_cost) for i, p in enumerate(points) if i != chosen)


def test_more_reviews_leave_no_more_errors(ordered):
    X, y = ordered
    model = RejoLinear().fit(X, y)
    points, _ = ranking_outcomes(model, X, np.linspace(0, 1, 21))
    curve = curve_of(points, np.unique(y, return_inverse=True)[1])
    assert (np.diff(curve.rejection_rate) > 0).all()
    assert (np.diff(curve.error_rate) <= 1e-12).all()
    assert curve.error_rate[-1] == 0
    assert curve.error_rate[0] == pytest.approx(np.mean(model.predict_forced(X) != y))


def test_rows_that_are_not_as_in_training_are_reviewed_at_every_share(ordered):
    X, y = ordered
    model = RejoLinear().fit(X, y)
    points, chosen = ranking_outcomes(model, X, [0, 0.1, 0.5, 1], reviewed=[3, 70, 71])
    sizes = [int((point.decision < 0).sum()) for point in points]
    assert sizes[0] == 3
    assert {15, 75, 150} <= set(sizes)
    for point in points:
        assert (point.decision[[3, 70, 71]] == -1).all()
        np.testing.assert_array_equal(np.flatnonzero(point.kind), [3, 70, 71])
    own = model.reject_mask(X)
    own[[3, 70, 71]] = True
    np.testing.assert_array_equal(points[chosen].decision < 0, own)
    assert all(point.kind is None for point in ranking_outcomes(model, X, [0.1])[0])


def test_kinds_of_review_are_kept_case_by_case(ordered):
    """Also by folds, and in another order of the cases."""
    X, y = ordered
    model = RejoLinear().fit(X, y)
    parts = [
        model.judge(part)._replace(kind=(part[:, 0] > 1).astype(np.int8)) for part in (X, X[:5])
    ]
    judged = joined([_from_judgement(part) for part in parts], axis=1)
    assert judged.kind.shape == (1, 155)
    order = np.arange(155)[::-1]
    point = judged.at(0, 0.2, order, np.zeros(155, dtype=int))
    np.testing.assert_array_equal(point.kind[5:][::-1], X[:, 0] > 1)
    np.testing.assert_array_equal(point.take(np.array([5, 9])).kind, point.kind[[5, 9]])
