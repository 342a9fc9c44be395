"""Reviews of cases unlike those of training, around every classifier."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KernelDensity, LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, OneClassSVM

import rejo
from rejo import (
    NoveltyReject,
    RejectClassifierCV,
    RejoKernelLogistic,
    RejoLinear,
    RejoMLP,
    RejoSVC,
    ReplicationClassifier,
    ThresholdRejectClassifier,
)
from rejo.estimators import NOVEL
from rejo.selection import TargetUnattainable

LEARNERS = {
    "linear": RejoLinear(),
    "polynomial": RejoSVC(kernel="poly", degree=2),
    "rbf": RejoSVC(kernel="rbf"),
    "kernel logistic": RejoKernelLogistic(kernel="rbf"),
    "network": RejoMLP(max_iter=50, random_state=0),
    "booster": ReplicationClassifier(HistGradientBoostingClassifier(max_iter=10)),
    "forest": ThresholdRejectClassifier(RandomForestClassifier(20, random_state=0)),
    "posteriors": ThresholdRejectClassifier(LogisticRegression()),
    "scores": ThresholdRejectClassifier(LogisticRegression(), rule="score"),
    "plain": LogisticRegression(),
    "pipeline": make_pipeline(StandardScaler(), RejoLinear()),
    "plain pipeline": make_pipeline(StandardScaler(), SVC()),
}
pytestmark = pytest.mark.filterwarnings("ignore:solver=:sklearn.exceptions.ConvergenceWarning")


def square(n=400, seed=0):
    """Cases in the unit square, with a boundary and some noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    return X, (X.sum(axis=1) + 0.1 * rng.normal(size=n) > 1).astype(int)


FAR = np.random.default_rng(1).uniform(20, 21, size=(50, 2))


@pytest.mark.parametrize("classifier", LEARNERS.values(), ids=LEARNERS)
def test_cases_20_units_away_are_reviewed_by_every_learner(classifier):
    X, y = square()
    model = NoveltyReject(classifier, random_state=0).fit(X, y)
    assert model.reject_mask(FAR).all()
    assert set(model.review(FAR)["reason"]) == {"novel"}
    new, _ = square(seed=2)
    novel = model.judge(new).kind == NOVEL
    assert novel.mean() <= 0.02
    inner = rejo.judge(model.classifier_, new)
    assert_array_equal(model.judge(new).decision[~novel], inner.decision[~novel])


def test_without_it_a_linear_model_decides_them():
    X, y = square()
    assert not RejoLinear().fit(X, y).reject_mask(FAR).any()


def test_novel_cases_lead_the_queue():
    X, y = square()
    model = NoveltyReject(ThresholdRejectClassifier(LogisticRegression())).fit(X, y)
    both = np.vstack([X[:100], FAR[:3]])
    found = model.judge(both)
    assert_array_equal(found.kind[100:], NOVEL)
    assert_array_equal(found.sureness[100:], 0.0)
    assert np.isnan(found.chance[100:]).all()
    assert not np.isnan(found.chance[:100][found.kind[:100] != NOVEL]).any()
    assert_allclose(found.worth[100:], 0.8)  # an error of 1, less a review at 0.2
    assert found.worth[:100][found.kind[:100] != NOVEL].max() < 0.8
    n_novel = int((found.kind == NOVEL).sum())
    assert set(model.queue(both, n_novel)["reason"]) == {"novel"}
    assert {100, 101, 102} <= set(model.queue(both, n_novel).index)


@pytest.mark.parametrize("share", [0.0, 0.02, 0.1, 0.3])
def test_the_share_of_ordinary_cases_is_kept(share):
    """The threshold is exceeded by at most the share in 90 % of data sets."""
    broken = 0
    new, _ = square(5000, seed=99)
    for seed in range(30):
        X, y = square(300, seed)
        model = NoveltyReject(LogisticRegression(), review_share=share, random_state=0).fit(X, y)
        assert model.novel_share_ <= share
        broken += (model.novelty(new) > model.threshold_).mean() > max(share, 0.015)
    assert broken <= 8  # 3 expected; more has a probability of 0.2 %


def test_the_threshold_is_set_on_cases_that_the_detector_has_not_seen():
    """A detector that knows its cases by heart finds none of them novel."""
    X, y = square(200)
    detector = KernelDensity(bandwidth=1e-3)
    model = NoveltyReject(LogisticRegression(), detector=detector, review_share=0.05).fit(X, y)
    seen = -detector.fit(X).score_samples(X)
    assert model.threshold_ > seen.max()
    new, _ = square(seed=5)
    assert (model.judge(new).kind == NOVEL).mean() <= 0.06


DETECTORS = [
    IsolationForest(n_estimators=20, random_state=0),
    LocalOutlierFactor(novelty=True),
    OneClassSVM(),
    make_pipeline(StandardScaler(), KernelDensity()),
]


@pytest.mark.parametrize("detector", DETECTORS, ids=lambda d: type(d).__name__)
def test_any_detector(detector):
    X, y = square()
    model = NoveltyReject(RejoLinear(), detector=detector, review_share=0.05).fit(X, y)
    assert model.reject_mask(FAR).all()
    assert model.novel_share_ <= 0.05
    assert_allclose(model.novelty(X), -model.detector_.score_samples(X))
    assert [f.kind for f in model.novel_features(FAR)[0]] == ["outside", "outside"]


@pytest.mark.parametrize(
    ("detector", "message"),
    [
        (LocalOutlierFactor(), "novelty=True"),
        (LogisticRegression(), "score_samples"),
    ],
)
def test_what_is_no_detector_is_refused(detector, message):
    with pytest.raises(ValueError, match=message):
        NoveltyReject(RejoLinear(), detector=detector).fit(*square(50))


def test_features_are_named():
    X, y = make_classification(500, 4, random_state=0)
    X[:, 3] = X[:, 0] + 0.1 * X[:, 3]
    model = NoveltyReject(RejoLinear(), random_state=0).fit(X, y)
    low, high = X.min(axis=0), X.max(axis=0)
    case = X[:2].copy()
    case[0, 2] = high[2] + 5
    case[1, [0, 3]] = [low[0], high[3]]  # each is in its range, but they should be equal
    first, second = model.novel_features(case)
    assert [(f.feature, f.kind, f.value) for f in first] == [(2, "outside", high[2] + 5)]
    assert (first[0].low, first[0].high) == (low[2], high[2])
    assert {f.feature for f in second} == {0, 3}
    assert all(f.kind == "unusual" and abs(f.deviations) > 3 for f in second)
    by_feature = {f.feature: f for f in second}
    assert by_feature[0].expected > 0.5 * high[0]
    assert len(model.novel_features(case, top=1)[1]) == 1
    with pytest.raises(ValueError, match="top"):
        model.novel_features(case, top=0)
    with pytest.raises(ValueError, match="4 features"):
        model.novel_features(case[:, :2])


def test_other_prices_share_the_fit():
    X, y = square()
    model = NoveltyReject(ThresholdRejectClassifier(LogisticRegression()), random_state=0)
    model.fit(X, y)
    for cheap in (model.at(0.05), model.at(cost_of="error=100,review=5")):
        assert cheap.typical_ is model.typical_
        assert cheap.threshold_ == model.threshold_
        assert cheap.reject_mask(X).sum() > model.reject_mask(X).sum()
        assert_array_equal(clone(cheap).fit(X, y).predict(X), cheap.predict(X))
        assert cheap.reject_mask(FAR).all()
    assert not hasattr(NoveltyReject(RejoLinear()), "at")


def test_prices_at_which_nothing_else_is_reviewed():
    X, y = square()
    model = NoveltyReject(LogisticRegression()).fit(X, y)
    prices = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 5.0]])
    dear = model.at(prices=prices)
    assert_array_equal(dear.reject_mask(X), dear.judge(X).kind == NOVEL)
    assert dear.reject_mask(FAR).all()


def test_a_classifier_that_never_rejects_gets_a_label_for_novel_cases():
    X, y = square()
    for classifier in (RejoLinear(reject_cost=None), ThresholdRejectClassifier(reject_cost=None)):
        model = NoveltyReject(classifier, random_state=0).fit(X, y)
        assert model.reject_label_ == -1
        assert model.reject_cost_ is None
        assert_array_equal(model.predict(FAR), -1)
        decided = model.predict(X) >= 0
        assert decided.mean() >= 0.98
        # A review costs as much as a guess.
        far = model.score(FAR, np.zeros(50, dtype=int))
        assert far == 0.5


def test_the_score_counts_a_novel_case_as_a_review():
    X, y = square()
    both, labels = np.vstack([X, FAR]), np.append(y, np.ones(50, dtype=int))
    weight = np.arange(450) % 4
    for classifier in (RejoLinear(), LogisticRegression(), make_pipeline(RejoLinear())):
        model = NoveltyReject(classifier, random_state=0).fit(X, y)
        decision = model.predict(both)
        cost = np.where(decision == -1, 0.2, decision != labels)
        assert_allclose(model.score(both, labels), 1 - cost.mean())
        expected = 1 - np.average(cost, weights=weight)
        assert_allclose(model.score(both, labels, sample_weight=weight), expected)


def test_a_path_shares_the_detector():
    X, y = square()
    model = NoveltyReject(RejoLinear(), random_state=0)
    found = model.fit_path(X, y, reject_costs=[0.1, 0.3])
    assert [m.reject_cost_ for m in found] == [0.1, 0.3]
    for one, cost in zip(found, (0.1, 0.3), strict=True):
        alone = NoveltyReject(RejoLinear(reject_cost=cost), random_state=0).fit(X, y)
        assert one.threshold_ == alone.threshold_
        assert_array_equal(one.predict(X), alone.predict(X))
    assert not hasattr(NoveltyReject(LogisticRegression()), "fit_path")


def test_cases_without_weight_do_not_count():
    X, y = square()
    both, labels = np.vstack([X, FAR]), np.append(y, np.ones(50, dtype=int))
    weight = np.append(np.ones(400), np.zeros(50))
    model = NoveltyReject(RejoLinear()).fit(both, labels, sample_weight=weight)
    assert model.reject_mask(FAR).all()
    assert model.typical_.high.max() < 2


def test_sparse_cases():
    X, y = square()
    model = NoveltyReject(RejoLinear(), random_state=0).fit(csr_matrix(X), y)
    dense = NoveltyReject(RejoLinear(), random_state=0).fit(X, y)
    assert_array_equal(model.predict(csr_matrix(X)), dense.predict(X))
    assert model.threshold_ == dense.threshold_


def test_missing_values_are_not_novel():
    X, y = square()
    X[::7, 0] = np.nan
    model = NoveltyReject(HistGradientBoostingClassifier(max_iter=5)).fit(X, y)
    assert not (model.judge([[np.nan, 0.5]]).kind == NOVEL).any()
    assert (model.judge([[np.nan, 50.0]]).kind == NOVEL).all()


def test_words_need_an_encoder():
    pd = pytest.importorskip("pandas")
    X, y = square(60)
    X = pd.DataFrame(X, columns=["a", "b"]).assign(c="word")
    encoded = make_pipeline(rejo.tables.TableEncoder(), LogisticRegression())
    with pytest.raises(ValueError, match="X"):
        NoveltyReject(encoded).fit(X, y)
    model = make_pipeline(rejo.tables.TableEncoder(), NoveltyReject(LogisticRegression()))
    assert_array_equal(rejo.judge(model.fit(X, y), X.assign(a=50.0)).kind, NOVEL)


# ---- one budget ---------------------------------------------------------------------------

BUDGETED = {
    "posteriors": ThresholdRejectClassifier(LogisticRegression()),
    "plain": LogisticRegression(),
    "linear": RejoLinear(),
    "rbf": RejoSVC(kernel="rbf"),
}


@pytest.mark.parametrize("classifier", BUDGETED.values(), ids=BUDGETED)
@pytest.mark.parametrize("piped", [False, True])
def test_one_budget_for_both_kinds_of_review(classifier, piped):
    X, y = square(500)
    X = np.vstack([X, FAR[:20] * np.linspace(0.1, 1, 20)[:, None]])  # some ordinary ones are odd
    y = np.append(y, np.ones(20, dtype=int))
    novel = NoveltyReject(classifier, review_share=0.05, random_state=0)
    estimator = make_pipeline(StandardScaler(), novel) if piped else novel
    model = RejectClassifierCV(estimator, review_budget=0.1).fit(X, y)
    point = model.outcomes_[model.chosen_]
    share = (point.decision < 0).mean()
    assert 0.05 <= share <= 0.1 + 1 / len(y)
    assert (point.kind == NOVEL).any()
    assert (point.decision[point.kind == NOVEL] == -1).all()
    ambiguous = (point.decision < 0) & (point.kind != NOVEL)
    assert 0 < ambiguous.sum() < 0.1 * len(y) - 1  # the novel ones took a part of the budget
    assert model.expected_.rejection_rate.estimate <= 0.1 + 1 / len(y)
    found = model.judge(X)
    assert (found.kind == NOVEL).any()
    assert (found.decision[found.kind == NOVEL] == -1).all()
    assert model.reject_mask(FAR).all()
    assert set(model.review(FAR)["reason"]) == {"novel"}
    assert_array_equal(model.novel_mask(X), found.kind == NOVEL)
    assert [strange.kind for strange in model.novel_features(FAR)[0]] == ["outside", "outside"]
    assert not hasattr(RejectClassifierCV(RejoLinear(), review_budget=0.1), "novel_features")


@pytest.mark.parametrize("classifier", [LogisticRegression(), RejoLinear()])
def test_novel_cases_stay_reviewed_when_nothing_else_is(classifier):
    X, y = square(500)
    model = RejectClassifierCV(
        NoveltyReject(classifier, random_state=0), max_error=0.5, error="overall"
    ).fit(X, y)
    found = model.judge(np.vstack([X, FAR]))
    assert_array_equal(found.decision[500:], -1)
    assert_array_equal(found.decision < 0, found.kind == NOVEL)


@pytest.mark.parametrize("classifier", [LogisticRegression(), RejoLinear()])
def test_a_guarantee_is_that_of_both_kinds_of_review(classifier):
    """Novel calibration cases count as reviews, and the bound holds for the combination."""
    X, y = square(1500)
    odd = np.random.default_rng(3).random(1500) < 0.04
    X[odd] += 20  # they are among the ordinary cases, and take a part of the budget
    model = RejectClassifierCV(
        NoveltyReject(classifier, review_share=0.06, random_state=0),
        review_budget=0.3, confidence=0.9, random_state=0,
    ).fit(X, y)  # fmt: skip
    new, _ = square(20_000, seed=8)
    new[np.random.default_rng(4).random(20_000) < 0.04] += 20
    share = model.reject_mask(new).mean()
    (guarantee,) = model.guarantees_
    assert guarantee.rate == "rejection_rate"
    assert share <= guarantee.bound <= 0.3
    assert (model.judge(new).kind == NOVEL).mean() > 0.005
    assert share > 0.1


# ---- files --------------------------------------------------------------------------------


def test_a_file_holds_the_detector_and_no_row(tmp_path):
    pytest.importorskip("skops")
    X, y = square()
    for classifier in (RejoLinear(), LogisticRegression(), RejoLinear(reject_cost=None)):
        model = NoveltyReject(classifier, random_state=0).fit(X, y)
        rejo.save(model, tmp_path / "model.rejo", overwrite=True)
        loaded = rejo.load(tmp_path / "model.rejo")
        both = np.vstack([X, FAR])
        for ours, theirs in zip(model.judge(both), loaded.judge(both), strict=True):
            assert_array_equal(ours, theirs)
        assert loaded.novel_features(FAR) == model.novel_features(FAR)


def test_a_file_holds_a_detector_of_trusted_types(tmp_path):
    pytest.importorskip("skops")
    X, y = square()
    model = NoveltyReject(RejoLinear(), detector=DETECTORS[0]).fit(X, y)
    with pytest.raises(rejo.ModelFileError, match="IsolationForest"):
        rejo.save(model, tmp_path / "model.rejo")
    trusted = [
        "sklearn.ensemble._iforest.IsolationForest",
        "sklearn.tree._classes.ExtraTreeRegressor",
    ]
    rejo.save(model, tmp_path / "model.rejo", trusted=trusted)
    with pytest.raises(rejo.ModelFileError, match="IsolationForest"):
        rejo.load(tmp_path / "model.rejo")
    loaded = rejo.load(tmp_path / "model.rejo", trusted=trusted)
    both = np.vstack([X, FAR])
    assert_array_equal(loaded.predict(both), model.predict(both))


def test_an_export_is_refused():
    pytest.importorskip("onnx")
    X, y = square(60)
    for classifier in (RejoLinear(), LogisticRegression()):
        with pytest.raises(TypeError, match="NoveltyReject"):
            rejo.to_onnx(NoveltyReject(classifier).fit(X, y))


@pytest.mark.parametrize("learner", [LogisticRegression(), RejoLinear()])
def test_a_budget_below_the_novel_cases_is_refused(learner):
    X, y = rejo.datasets.make_synthetic_1(400, random_state=0)
    model = RejectClassifierCV(NoveltyReject(learner, random_state=0), review_budget=0.0, cv=3)
    with pytest.raises(TargetUnattainable) as refused:
        model.fit(X, y)
    assert 0 < refused.value.attainable < 0.05
    model.set_params(review_budget=refused.value.attainable).fit(X, y)
    assert (
        0.9 * refused.value.attainable < model.rates_[0] <= refused.value.attainable
    )  # a round one
