"""The operating point of a model that was fitted elsewhere, by held-out cases."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from rejo import RejoLinear, ThresholdRejectClassifier
from rejo.datasets import make_synthetic_1
from rejo.persistence import load, save
from rejo.selection import RejectClassifierCV
from rejo.selection.guarantee import TargetUnattainable
from rejo.selection.held_out import Answers, settle


def cases(n, seed):
    X, y = make_synthetic_1(n, random_state=seed)
    return np.column_stack([X, X.prod(axis=1)]), np.asarray(y)


def linear_answers(model, X, y):
    scores = model.boundary_scores(X)
    return Answers(np.searchsorted(model.classes_, y), boundaries=lambda _: scores)


def posterior_answers(model, X, y):
    return Answers(np.searchsorted(model.classes_, y), posteriors=model.predict_proba(X))


@pytest.fixture(scope="module")
def data():
    return cases(2000, 0), cases(4000, 1), cases(4000, 2), cases(20000, 3)


@pytest.fixture(params=["boundaries", "posteriors"], scope="module")
def fitted(request, data):
    """A fitted model, a function of its answers, and the reject costs it serves."""
    if request.param == "boundaries":
        return RejoLinear(reject_cost=0.2).fit(*data[0]), linear_answers, [0.2]
    model = ThresholdRejectClassifier(LogisticRegression(), reject_cost=0.2).fit(*data[0])
    return model, posterior_answers, None


def settled(fitted, data, **target):
    model, answers, costs = fitted
    search = RejectClassifierCV(model, random_state=0, **target)
    choosing, proving = answers(model, *data[1]), answers(model, *data[2])
    return settle(search, model, choosing, proving, ordered=True, reject_costs=costs)


@pytest.mark.parametrize(
    "target",
    [
        {"review_budget": 0.1},
        {"max_error": 0.08},
        {"reject_cost": 0.2},
        {"cost_of": {"error": 5.0, "review": 1.0}},
        {"review_budget": 0.3, "max_error": 0.12},
        {"max_error": 0.1, "confidence": 0.95},
        {"max_error_by_class": 0.12, "confidence": 0.9},
        {"review_budget": 0.2, "confidence": 0.9},
    ],
    ids=str,
)
def test_rates_are_those_of_new_cases(fitted, data, target):
    found = settled(fitted, data, **target)
    X, y = data[3]
    decisions = found.predict(X)
    rejected = decisions == found.reject_label_
    wrong = ~rejected & (decisions != y)
    reviews, errors = found.rates_
    assert abs(rejected.mean() - reviews) < 0.03
    assert abs(wrong.mean() - errors) < 0.02
    if "review_budget" in target:
        assert rejected.mean() <= target["review_budget"] + 0.02
    if "max_error" in target:
        assert wrong.sum() / (~rejected).sum() <= target["max_error"] + 0.015
    assert bool(found.guarantees_) == ("confidence" in target)
    assert found.summary()


def test_same_cut_as_the_ordinary_search_on_the_same_posteriors(data):
    """One mechanism: cases that choose are what cases out of fold are to ``fit``."""
    (X, y), choosing, proving, _ = data
    model = ThresholdRejectClassifier(LogisticRegression()).fit(X, y)
    parts = [posterior_answers(model, *part) for part in (choosing, proving)]
    found = settle(RejectClassifierCV(model, review_budget=0.15), model, *parts, ordered=True)
    worth = np.sort(1 - parts[0].posteriors.max(axis=1))[::-1]
    n = round(0.15 * len(worth))
    assert worth[n] <= found.cut_ <= worth[n - 1]


def test_cases_that_prove_choose_nothing_without_a_confidence(fitted, data):
    model, answers, costs = fitted
    choosing, proving = answers(model, *data[1]), answers(model, *data[2])
    flipped = proving._replace(k=1 - proving.k)
    found = [
        settle(
            RejectClassifierCV(model, max_error=0.08), model, choosing, part,
            ordered=True, reject_costs=costs,
        )
        for part in (proving, flipped)
    ]  # fmt: skip
    X = data[3][0]
    assert np.array_equal(found[0].predict(X), found[1].predict(X))
    assert found[1].rates_[1] > 0.3 > found[0].rates_[1]


def test_a_promise_is_refused_if_the_other_cases_do_not_prove_it(fitted, data):
    model, answers, costs = fitted
    choosing, proving = answers(model, *data[1]), answers(model, *data[2])
    search = RejectClassifierCV(model, max_error=0.08, confidence=0.95)
    with pytest.raises(TargetUnattainable):
        settle(
            search, model, choosing, proving._replace(k=1 - proving.k),
            ordered=True, reject_costs=costs,
        )  # fmt: skip


def test_cases_of_one_group_count_once(fitted, data):
    model, answers, costs = fitted
    choosing, proving = answers(model, *data[1]), answers(model, *data[2])
    groups = np.arange(len(proving.k)) // 4
    search = RejectClassifierCV(model, max_error=0.12, confidence=0.9, random_state=0)
    found = settle(
        search, model, choosing._replace(groups=groups), proving._replace(groups=groups),
        ordered=True, reject_costs=costs,
    )  # fmt: skip
    assert found.guarantee_.n_cases <= len(proving.k) // 4
    assert found.guarantee_.rests_on == "one_each"
    assert found.n_effective_ <= len(proving.k) // 4


def test_a_settled_model_is_saved_and_loaded(fitted, data, tmp_path):
    found = settled(fitted, data, review_budget=0.1)
    save(found, tmp_path / "m.rejo")
    again = load(tmp_path / "m.rejo")
    X = data[3][0]
    assert np.array_equal(found.predict(X), again.predict(X))
    assert again.summary() == found.summary()


def test_what_needs_more_fits_or_groups_is_refused(fitted, data):
    model, answers, costs = fitted
    parts = answers(model, *data[1]), answers(model, *data[2])
    how = {"ordered": True, "reject_costs": costs}
    with pytest.raises(ValueError, match="param_grid"):
        settle(
            RejectClassifierCV(model, max_error=0.1, param_grid={"C": [1]}), model, *parts, **how
        )
    with pytest.raises(ValueError, match="max_error_by_group"):
        settle(RejectClassifierCV(model, max_error_by_group=0.1), model, *parts, **how)
