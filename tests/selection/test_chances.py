"""An allowed error is kept about as often as not, and what is expected is what new cases see.

The true rates are known, so there is nothing but chance in the training cases.
"""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin

from rejo import ThresholdRejectClassifier
from rejo.selection import RejectClassifierCV, TargetUnattainable
from rejo.selection.chances import chance_wrong
from rejo.selection.summary import advise

NEW = np.random.RandomState(99).normal(size=(20_000, 1))


class Known(ClassifierMixin, BaseEstimator):
    """Knows the posteriors, or thinks that it does: it may be too sure by a factor."""

    def __init__(self, sure=1.0):
        self.sure = sure

    def fit(self, X, y):
        self.classes_, self.n_features_in_ = np.array([0, 1]), 1
        return self

    def predict_proba(self, X):
        p = expit(3 * self.sure * np.asarray(X)[:, 0])
        return np.column_stack([1 - p, p])


def fits(n, n_sets, sure=1.0, **target):
    """Fitted models, each with its true shares of reviews and of errors among the decided."""
    rng = np.random.RandomState(0)
    learner, p = ThresholdRejectClassifier(Known(sure)), expit(3 * NEW[:, 0])
    for seed in range(n_sets):
        X = rng.normal(size=(n, 1))
        y = (rng.uniform(size=n) < expit(3 * X[:, 0])).astype(int)
        model = RejectClassifierCV(learner, **target, random_state=seed)
        try:
            model.fit(X, y)
        except TargetUnattainable:
            continue
        decision = model.predict(NEW)
        decided = decision != model.reject_label_
        wrong = np.where(decision == 1, 1 - p, p)[decided]
        yield model, 1 - decided.mean(), wrong.mean()


@pytest.mark.parametrize(
    "sure",
    [pytest.param(0.7, marks=pytest.mark.check), 1.0, pytest.param(1.5, marks=pytest.mark.check)],
)
@pytest.mark.filterwarnings("ignore:max_error")  # few decisions
def test_a_limit_is_exceeded_about_as_often_as_not_and_expected_rates_are_right(sure):
    found = [
        (true, model.expected_.accepted_error_rate.estimate)
        for model, _, true in fits(200, 150, sure, max_error=0.08)
    ]
    true, said = np.array(found).T
    assert len(true) > 140
    assert 0.35 < (true > 0.08).mean() < 0.6
    assert abs((true - said).mean()) < 0.005


@pytest.mark.check
@pytest.mark.filterwarnings("ignore:max_error")
def test_the_margin_keeps_the_limit_in_nine_of_ten():
    kept = []
    for model, _, _ in fits(400, 60, max_error=0.1):
        margin = model.margin_
        assert margin.limit < 0.1
        assert margin.rejection_rate > model.rates_[0]
        kept.append(margin.limit)
    asked = float(np.mean(kept))
    true = np.array([true for *_, true in fits(400, 100, max_error=asked)])
    assert (true <= 0.1).mean() >= 0.85


def test_only_an_allowed_error_without_a_guarantee_has_a_margin():
    (model, *_), *_ = fits(300, 1, max_error=0.1)
    assert advise(model.target_, model.margin_) in model.summary()
    for target in ({"review_budget": 0.2}, {"max_error": 0.2, "confidence": 0.8}):
        (model, *_), *_ = fits(300, 1, **target)
        assert model.margin_ is None


@pytest.mark.check
@pytest.mark.parametrize(("budget", "least"), [(0.1, 0.06), (0.2, 0.145)])
def test_a_guaranteed_budget_is_kept_and_used(budget, least):
    shares = np.array([
        R for _, R, _ in fits(600, 200, review_budget=budget, confidence=0.9)
    ])  # fmt: skip
    assert len(shares) == 200
    assert (shares > budget).mean() <= 0.1 + 3 * np.sqrt(0.09 / 200)
    assert shares.mean() > least


@pytest.mark.check
def test_a_guaranteed_error_is_kept_and_proved_more_often():
    true = np.array([A for *_, A in fits(600, 200, max_error=0.12, confidence=0.9)])
    assert len(true) > 150  # fits that are not refused
    assert (true > 0.12).sum() <= 0.1 * 200 + 3 * np.sqrt(0.09 * 200)


def test_the_curve_is_that_of_the_errors():
    rng = np.random.RandomState(0)
    doubt = rng.uniform(0.001, 0.5, size=2_000)
    for truth in (doubt, 0.05 + 0.9 * doubt, doubt**2):
        wrong = rng.uniform(size=2_000) < truth
        chance = chance_wrong(doubt, wrong)
        order = np.argsort(doubt)
        gap = np.cumsum(chance[order] - truth[order]) / 2_000
        assert np.abs(gap).max() < 0.02
    twice = chance_wrong(np.repeat(doubt[:50], 2), np.repeat(wrong[:50], 2))[::2]
    once = chance_wrong(doubt[:50], wrong[:50], np.full(50, 2.0))
    assert np.abs(twice - once).max() < 0.1  # weights count relative to each other


def test_extreme_doubts_and_errors_are_no_problem():
    for doubt in (np.zeros(20), np.ones(20), np.repeat([0.0, 1.0], 10)):
        for wrong in (np.zeros(20), np.ones(20), np.repeat([0.0, 1.0], 10)):
            chance = chance_wrong(doubt, wrong)
            assert np.isfinite(chance).all()
            assert ((chance >= 0) & (chance <= 1)).all()
