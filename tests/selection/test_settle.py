"""The operating point of a model that was fitted elsewhere, by held-out cases."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from rejo import RejoLinear, ThresholdRejectClassifier
from rejo.datasets import make_synthetic_1
from rejo.persistence import load, save
from rejo.selection import RejectClassifierCV, TargetUnattainable, of_posteriors, of_scores


def cases(n, seed):
    X, y = make_synthetic_1(n, random_state=seed)
    return np.column_stack([X, X.prod(axis=1)]), np.asarray(y)


def answers(model, X, y):
    """The cases as the model judges them, at each reject cost that it serves."""
    about = {"classes": model.classes_, "fold": np.zeros(len(y), np.intp)}
    about["y"] = np.searchsorted(model.classes_, y)
    if isinstance(model, RejoLinear):
        return [of_scores(model.boundary_scores(X), trained_for=0.2, **about)]
    return [of_posteriors(model.predict_proba(X), **about)]


def flip(points):
    """The same with the other class right."""
    return [replace(point, y=1 - point.y) for point in points]


@pytest.fixture(scope="module")
def data():
    return cases(2000, 0), cases(4000, 1), cases(4000, 2), cases(20000, 3)


@pytest.fixture(params=[RejoLinear(), ThresholdRejectClassifier(LogisticRegression())], ids=str)
def fitted(request, data):
    """A fitted model, and two parts of its answers."""
    model = request.param.set_params(reject_cost=0.2).fit(*data[0])
    return model, answers(model, *data[1]), answers(model, *data[2])


def settled(fitted, proving=None, **target):
    model, choosing, others = fitted
    search = RejectClassifierCV(model, random_state=0, **target)
    return search.settle(model, choosing, others if proving is None else proving, ordered=True)


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
    found = settled(fitted, **target)
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
    found = settled(
        (model, answers(model, *choosing), answers(model, *proving)), review_budget=0.15
    )
    worth = np.sort(1 - model.predict_proba(choosing[0]).max(axis=1))[::-1]
    n = round(0.15 * len(worth))
    assert worth[n] <= found.cut_ <= worth[n - 1]


def test_cases_that_prove_choose_nothing_without_a_confidence(fitted, data):
    found = [settled(fitted, part, max_error=0.08) for part in (fitted[2], flip(fitted[2]))]
    X = data[3][0]
    assert np.array_equal(found[0].predict(X), found[1].predict(X))
    assert found[1].rates_[1] > 0.3 > found[0].rates_[1]


def test_a_promise_is_refused_if_the_other_cases_do_not_prove_it(fitted):
    with pytest.raises(TargetUnattainable):
        settled(fitted, flip(fitted[2]), max_error=0.08, confidence=0.95)


def test_cases_of_one_group_count_once(fitted):
    model, *parts = fitted
    groups = np.arange(4000) // 4
    parts = [[replace(point, together=groups) for point in part] for part in parts]
    found = settled((model, *parts), max_error=0.12, confidence=0.9)
    assert found.guarantee_.n_cases <= 1000
    assert found.guarantee_.rests_on == "one_each"
    assert found.n_effective_ <= 1000


def test_a_settled_model_is_saved_and_loaded(fitted, data, tmp_path):
    found = settled(fitted, review_budget=0.1)
    save(found, tmp_path / "m.rejo")
    again = load(tmp_path / "m.rejo")
    X = data[3][0]
    assert np.array_equal(found.predict(X), again.predict(X))
    assert again.summary() == found.summary()


def test_what_needs_more_fits_or_groups_is_refused(fitted):
    for target in ({"max_error": 0.1, "param_grid": {"C": [1]}}, {"max_error_by_group": 0.1}):
        with pytest.raises(ValueError, match=[*target][-1]):
            settled(fitted, **target)
