"""Targets of a manager: a budget, an error, a price."""

import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    cross_val_score,
    train_test_split,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from rejo._errors import RejoError
from rejo.baselines import CutRanking, ThresholdRejectClassifier
from rejo.datasets import make_synthetic_1, make_synthetic_2
from rejo.estimators import RejoBoost, RejoLinear, RejoSVC
from rejo.prices import describe_prices, loss_rows, price_matrix
from rejo.selection import (
    CANDIDATES,
    RejectClassifierCV,
    TargetUnattainable,
    cross_val_outcomes,
    mean_cost,
    reject_curve,
)

PIMA = Path(os.environ.get("REJO_DATA") or os.devnull) / "pima_diabetes.csv"


@pytest.fixture(scope="module")
def data():
    return make_synthetic_1(200, random_state=0)


def machine():
    return RejoSVC(C=10, gamma=4)


def breast_cancer():
    return load_breast_cancer(return_X_y=True)


def overlapping():
    return make_synthetic_2(600, random_state=0)


def pima():
    if not PIMA.exists():
        pytest.skip("no table of the Pima data: set REJO_DATA to its folder")
    table = pd.read_csv(PIMA)
    return table.iloc[:, :-1].to_numpy(float), table.iloc[:, -1].to_numpy()


def rates(model, X, y):
    rejected = model.reject_mask(X)
    wrong = ~rejected & (model.predict(X) != y)
    return rejected.mean(), wrong.mean(), wrong.sum() / (~rejected).sum()


@pytest.mark.parametrize(
    ("load", "target"),
    [
        (breast_cancer, {"review_budget": 0.1}),
        (breast_cancer, {"max_error": 0.02}),
        (breast_cancer, {"max_error": 0.02, "error": "overall"}),
        (overlapping, {"review_budget": 0.1}),
        (pima, {"review_budget": 0.1}),
        (pima, {"max_error": 0.15}),
    ],
)
def test_a_fresh_split_keeps_to_its_intervals(load, target):
    X, y = load()
    pipeline = make_pipeline(StandardScaler(), RejoSVC(gamma="auto"))
    inside = []
    for seed in range(6):
        old, new, y_old, y_new = train_test_split(X, y, test_size=0.4, random_state=seed)
        model = RejectClassifierCV(pipeline, **target, per=len(y_new)).fit(old, y_old)
        (limit,) = model.limits_
        assert getattr(model.expected_, limit.rate).estimate <= limit.most
        for rate, interval in zip(rates(model, new, y_new), model.expected_[:3], strict=True):
            inside.append(interval.low - 1e-9 <= rate <= interval.high + 1e-9)
    # 18 times about 95 %, of which the three of a split go together.
    assert np.mean(inside) >= 0.85


def test_intervals_narrow_with_the_batch_and_hold_the_estimate(data):
    model = RejectClassifierCV(machine(), review_budget=0.2).fit(*data)
    widths = []
    for n in (10, 100, 10_000):
        expected = model.expect(n)
        assert expected.n_cases == n
        for estimate, low, high in expected[:3]:
            assert 0 <= low <= estimate <= high <= 1
        widths.append(expected.rejection_rate.high - expected.rejection_rate.low)
    assert widths[0] > widths[1] > widths[2]
    assert widths[2] > 0.05  # the rate itself is known from 200 cases only
    assert model.expect(100) == model.expected_


def test_budget_starts_from_the_fewest_errors_within_it(data):
    model = RejectClassifierCV(machine(), review_budget=0.2).fit(*data)
    curve = reject_curve(machine(), *data, reject_costs=CANDIDATES)
    within = curve.rejection_rate <= 0.2
    chosen = curve.reject_costs.tolist().index(model.reject_cost_)
    assert within[chosen]
    assert curve.error_rate[chosen] == curve.error_rate[within].min()
    assert model.chosen_ == chosen
    assert model.rates_[1] <= curve.error_rate[chosen]  # more reviews leave no more errors


@pytest.mark.parametrize("error", ["accepted", "overall"])
def test_max_error_takes_the_fewest_reviews_within_it(data, error):
    model = RejectClassifierCV(machine(), max_error=0.08, error=error).fit(*data)
    curve = reject_curve(machine(), *data, reject_costs=CANDIDATES)
    found = curve.error_rate if error == "overall" else curve.accepted_error_rate
    assert model.rates_[0] <= curve.rejection_rate[found <= 0.08].min()
    R, E = model.rates_
    assert (E if error == "overall" else E / (1 - R)) <= 0.08


@pytest.mark.parametrize(
    "estimator",
    [
        machine(),
        make_pipeline(StandardScaler(), RejoLinear()),
        ThresholdRejectClassifier(LogisticRegression()),
        make_pipeline(StandardScaler(), ThresholdRejectClassifier(LogisticRegression())),
    ],
    ids=["svm", "linear", "posteriors", "posteriors in a pipeline"],
)
@pytest.mark.parametrize("budget", [0.0, 0.037, 0.2, 0.61])
def test_budgets_are_met_to_within_one_case(data, estimator, budget):
    model = RejectClassifierCV(estimator, review_budget=budget).fit(*data)
    reviewed = (model.outcomes_[model.chosen_].decision < 0).sum()
    assert budget * 200 - 1 < reviewed <= budget * 200
    assert model.rates_[0] == pytest.approx(reviewed / 200)
    assert model.curve_.rejection_rate[model.chosen_] == model.rates_[0]
    # And the model decides by that cut: about as many of other cases.
    new, _ = make_synthetic_1(2000, random_state=1)
    assert model.reject_mask(new).mean() == pytest.approx(budget, abs=0.1)
    assert not model.reject_mask(new).any() or budget > 0


def test_weighted_budgets_are_met_to_within_one_case(data):
    X, y = data
    weight = np.where(y > 0, 3.0, 1.0)
    for estimator in (RejoLinear(), ThresholdRejectClassifier(LogisticRegression())):
        model = RejectClassifierCV(estimator, review_budget=0.2).fit(X, y, sample_weight=weight)
        reviewed = model.outcomes_[model.chosen_].decision < 0
        assert 0.2 * weight.sum() - 3 < weight[reviewed].sum() <= 0.2 * weight.sum()


def test_budget_as_a_number_of_cases(data):
    by_number = RejectClassifierCV(machine(), review_budget=50, per=400).fit(*data)
    by_share = RejectClassifierCV(machine(), review_budget=0.125).fit(*data)
    np.testing.assert_array_equal(by_number.predict(data[0]), by_share.predict(data[0]))
    assert by_number.expected_.n_cases == 400
    never = RejectClassifierCV(machine(), review_budget=0, per=10).fit(*data)
    assert not never.reject_mask(data[0]).any()


def test_prices_become_a_reject_cost(data):
    by_price = RejectClassifierCV(machine(), cost_of={"error": 500, "review": 60}).fit(*data)
    by_cost = RejectClassifierCV(machine(), reject_cost=0.12).fit(*data)
    assert by_price.reject_cost_ == pytest.approx(0.12)
    np.testing.assert_array_equal(by_price.predict(data[0]), by_cost.predict(data[0]))
    plain = machine().set_params(reject_cost=0.12).fit(*data)
    np.testing.assert_array_equal(by_cost.predict(data[0]), plain.predict(data[0]))
    assert by_cost.score(*data) == pytest.approx(plain.score(*data))


FORMS = [  # one of each kind; the tests of prices have all
    "error:-1=100,error:1=50,review=10",
    {"error": {-1: 100, 1: 50}, "review": 10},
    [[0, 100, 10], [50, 0, 10]],
    pd.DataFrame([[0, 100, 10], [50, 0, 10]], [-1, 1], [-1, 1, "review"]),
    Path("prices.csv"),
]


@pytest.mark.parametrize("more", [{}, {"review_budget": 0.1}], ids=["alone", "budget"])
@pytest.mark.parametrize("cost_of", FORMS, ids=repr)
def test_prices_of_every_form(data, cost_of, more, tmp_path, monkeypatch):
    X, y = data
    monkeypatch.chdir(tmp_path)
    Path("prices.csv").write_text("true class,-1,1,review\n-1,,100,10\n1,50,,10\n")
    forest = RandomForestClassifier(20, random_state=0)
    model = RejectClassifierCV(forest, cost_of=cost_of, **more).fit(X, y)
    prices = price_matrix(cost_of, [-1, 1])
    assert_array_equal(model.prices_, prices)
    if not more:
        alone = ThresholdRejectClassifier(forest, cost_of=cost_of).fit(X, y)
        assert_array_equal(model.predict(X), alone.predict(X))
        assert model.limits_ == []
        assert model.cut_ == 0
    # The score is at these prices, wherever the cut is.
    paid = prices[np.searchsorted(model.classes_, y), model.judge(X).decision].mean()
    assert model.score(X, y) == pytest.approx(1 - paid)


def test_a_plan_that_costs_no_less_than_reviewing_everything_is_not_taken():
    """Prices at which every error costs ten reviews, and nothing that tells the classes apart."""
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(300, 2)), np.where(rng.uniform(size=300) < 0.3, "ill", "well")
    model = RejectClassifierCV(LogisticRegression(), cost_of="error=100,review=10").fit(X, y)
    assert model.reject_mask(X).all()
    assert model.costs_.chosen.estimate == pytest.approx(10)
    assert model.expected_.rejection_rate.estimate == 1
    (said,) = model.cautions()
    assert "every case goes to review" in said


@pytest.mark.parametrize("estimator", [machine(), ThresholdRejectClassifier(LogisticRegression())])
@pytest.mark.parametrize(
    "cost_of",
    [{"error": 0, "review": 4}, {"error": "much", "review": 4}, {"error": None, "review": 4}, 7],
)
def test_impossible_prices_are_named(data, estimator, cost_of):
    with pytest.raises(RejoError, match=r"cost_of|price|error"):
        RejectClassifierCV(estimator, cost_of=cost_of).fit(*data)


@pytest.mark.parametrize(
    "cost_of", [None, "error=100,review=10", "-1>1=9,1>-1=5,review:-1=1,review:1=2"]
)
@pytest.mark.parametrize(
    ("target", "reviewed"),
    [
        ({"review_budget": 0, "per": 100}, 0.0),
        ({"review_budget": 100, "per": 100}, 1.0),
        ({"review_budget": 0.2}, 0.2),
    ],
)
def test_any_budget_is_a_model_that_can_be_saved_and_fitted_again(
    data, cost_of, target, reviewed, tmp_path
):
    from rejo.persistence import load, save

    X, y = data
    logistic = ThresholdRejectClassifier(LogisticRegression())
    model = RejectClassifierCV(logistic, cost_of=cost_of, **target).fit(X, y)
    assert model.rates_[0] == pytest.approx(reviewed)
    clone(model.best_estimator_).fit(X, y)
    for saved in (model, model.best_estimator_):
        save(saved, tmp_path / "model.rejo", overwrite=True)
        again = load(tmp_path / "model.rejo")
        assert_array_equal(again.predict(X), saved.predict(X))
        assert again.reject_cost_ == saved.reject_cost_


def test_a_grid_is_tuned_at_each_cost(data):
    grid = {"C": [0.1, 10], "gamma": [1.0, 4.0]}
    model = RejectClassifierCV(machine(), reject_cost=0.2, param_grid=grid).fit(*data)
    search = GridSearchCV(machine().set_params(reject_cost=0.2), grid, cv=5).fit(*data)
    assert model.best_params_ == search.best_params_
    assert 1 - model.curve_.risk[0] == pytest.approx(search.best_score_)


def test_delegates_to_the_model_also_in_a_pipeline(data):
    X, y = data
    frame = pd.DataFrame(X, index=[f"case {i}" for i in range(len(X))], columns=["a", "b"])
    for estimator in (machine(), make_pipeline(StandardScaler(), machine())):
        model = RejectClassifierCV(estimator, reject_cost=0.1).fit(frame, y)
        best = model.best_estimator_
        last, Z = (best, frame) if best is not estimator and not hasattr(best, "steps") else (
            best[-1], best[:-1].transform(frame)
        )  # fmt: skip
        np.testing.assert_array_equal(model.predict(frame), best.predict(frame))
        np.testing.assert_array_equal(model.predict_forced(frame), last.predict_forced(Z))
        np.testing.assert_array_equal(model.reject_mask(frame), last.reject_mask(Z))
        np.testing.assert_array_equal(model.boundary_scores(frame), last.boundary_scores(Z))
        assert model.score(frame, y) == pytest.approx(last.score(Z, y))
        assert model.review(frame).index.tolist() == frame.index.tolist()
        assert model.queue(frame, 3)["rank"].tolist() == [1, 2, 3]
        assert model.classes_.tolist() == [-1, 1]
        assert model.reject_label_ == 0
        assert model.feature_names_in_.tolist() == ["a", "b"]


def test_weights_and_groups_reach_the_folds(data):
    X, y = data
    model = RejectClassifierCV(machine(), review_budget=0.3, cv=GroupKFold(4))
    model.fit(X, y, groups=np.arange(len(y)) // 10)
    assert len(model.curve_.sizes) == 4
    weight = np.where(y > 0, 3.0, 1.0)
    weighted = RejectClassifierCV(machine(), review_budget=0.3).fit(X, y, sample_weight=weight)
    assert weighted.curve_.sizes.sum() == pytest.approx(weight.sum())
    assert (
        weighted.n_effective_
        < RejectClassifierCV(machine(), review_budget=0.3).fit(X, y).n_effective_
    )


def test_is_a_scikit_learn_estimator(data):
    model = RejectClassifierCV(RejoLinear(), review_budget=0.2, cv=3)
    copy = clone(model)
    assert copy.get_params()["estimator__C"] == model.estimator.C
    assert (cross_val_score(model, *data, cv=3) > 0.3).all()
    fitted = pickle.loads(pickle.dumps(model.fit(*data)))
    np.testing.assert_array_equal(fitted.predict(data[0]), model.predict(data[0]))
    assert fitted.summary() == model.summary()


def test_costs_are_those_of_the_outcomes_and_of_the_extremes(data):
    X, y = data
    named = np.where(y > 0, "ill", "well")
    costs = "error:ill=5000,error:well=300,review=40"
    logistic = ThresholdRejectClassifier(LogisticRegression())
    model = RejectClassifierCV(logistic, cost_of=costs).fit(X, named)
    assert model.costs_.review_all == pytest.approx(40)
    point = model.outcomes_[model.chosen_]
    assert model.costs_.chosen == mean_cost(point, model.prices_, 200)
    assert model.costs_.decide_all == mean_cost(point.at(np.inf), model.prices_, 200)
    assert model.costs_.chosen.low < model.costs_.chosen.estimate < model.costs_.chosen.high
    np.testing.assert_allclose(model.shares_.sum(), 1, atol=0.02)
    assert model.shares_[:, -1].sum() == pytest.approx((point.decision < 0).mean())
    budget = RejectClassifierCV(logistic, cost_of=costs, review_budget=0.1).fit(X, named)
    assert "5,000" in budget.summary()
    assert pickle.loads(pickle.dumps(budget)).summary() == budget.summary()
    assert RejectClassifierCV(logistic, review_budget=0.1).fit(X, named).costs_ is None


def test_the_summary_says_the_prices_as_they_were_given():
    X, y = make_synthetic_1(200, random_state=0)
    chow = ThresholdRejectClassifier(LogisticRegression())
    model = RejectClassifierCV(chow, cost_of="error=100,review=10,accuracy=0.9").fit(X, y)
    said = model.summary()
    assert describe_prices("error=100,review=10,accuracy=0.9", [-1, 1]) in said
    model.cost_of = None  # a parameter that changes later changes nothing that was fitted
    assert model.summary() == said


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "review_budget"),
        ({"review_budget": 0.1, "reject_cost": 0.1}, "review_budget and reject_cost"),
        ({"reject_cost": 0.1, "cost_of": {"error": 1, "review": 0.1}}, "reject_cost and cost_of"),
        ({"review_budget": 3.5}, "review_budget"),
        ({"review_budget": 1.0}, "review_budget"),
        ({"review_budget": -0.1}, "review_budget"),
        ({"review_budget": True}, "review_budget"),
        ({"review_budget": "10%"}, "review_budget.* 0.1"),
        ({"review_budget": 50}, "per=.* 0.5"),
        ({"review_budget": 200}, "per="),
        ({"review_budget": 50, "per": 20}, "per=20"),
        ({"max_error": 0}, "max_error"),
        ({"max_error": 2}, "max_error.* 0.02"),
        ({"max_error": "0.5%"}, "max_error.* 0.005"),
        ({"max_error": "few %"}, "few %"),
        ({"max_error": 0.1, "error": "mean"}, "error"),
        ({"reject_cost": 0.7}, "reject_cost"),
        ({"reject_cost": 3}, "cost_of"),
        ({"reject_cost": None}, "reject_cost=None"),
        ({"reject_cost": None, "review_budget": 0.1}, "auto"),
        ({"cost_of": {"error": 100, "review": 60}}, "cost_of"),
        ({"cost_of": [[0, 5, 4], [9, 0, 4]]}, "ThresholdRejectClassifier"),
        ({"review_budget": 0.1, "max_error": 0.1, "cost_of": {}}, "error"),
        ({"max_cost": 3.0, "cost_of": {"error": 5, "review": 1}}, "confidence"),
        ({"max_error_by_class": {"red": 0.1}}, "red"),
        ({"max_error_by_class": {}}, "max_error_by_class"),
        ({"max_error_by_class": 1.5}, "max_error_by_class"),
        ({"max_error_by_group": 0.1}, "group"),
        ({"max_error": 0.1, "small_groups": "drop"}, "small_groups"),
        ({"reject_cost": 0.2, "cv": [(np.arange(200), np.arange(200))]}, "cv"),
        ({"review_budget": 0.1, "reject_costs": [0.7]}, "reject_costs"),
        ({"review_budget": 0.1, "confidence": 1.0}, "confidence"),
        ({"review_budget": 0.1, "confidence": 95}, "confidence.* 0.95"),
        ({"review_budget": 0.1, "calibration_size": 2.0}, "calibration_size"),
        ({"review_budget": 0.1, "param_grid": {"reject_cost": [0.1]}}, "param_grid"),
    ],
)
def test_bad_parameters(data, params, message):
    with pytest.raises(ValueError, match=message):
        RejectClassifierCV(machine(), **params).fit(*data)


@pytest.mark.parametrize("more", [{}, {"review_budget": 0.2}, {"max_cost": 3, "confidence": 0.8}])
@pytest.mark.parametrize("order", [[-1, 1], [1, -1]])
def test_boundaries_are_trained_for_prices_that_differ_between_two_classes(data, order, more):
    X, y = data
    cost_of = {"error": {-1: 5, 1: 9}, "review": {-1: 1, 1: 2}}
    estimator = RejoLinear(class_order=order)
    model = RejectClassifierCV(estimator, cost_of=cost_of, cv=3, random_state=0, **more).fit(X, y)
    learner = getattr(model.best_estimator_, "estimator", model.best_estimator_)
    rows = {-1: [0, 1, 5], 1: [0, 2, 9]}  # from the class itself to the other
    assert learner.loss_matrix.tolist() == [rows[order[0]], rows[order[1]][::-1]]
    k = model.classes_.tolist().index(-1), model.classes_.tolist().index(1)
    paid = model.prices_[np.where(y < 0, *k), model.judge(X).decision]
    assert model.score(X, y) == pytest.approx(1 - paid.mean())
    assert model.reject_cost_ == pytest.approx(1.5 / 7)


def test_prices_of_cases_are_losses_of_cases():
    y = np.array([0, 1, 1])
    prices = np.array([[[0, 5, 1], [9, 0, 2]], [[0, 5, 1], [8, 0, 3]], [[0, 5, 1], [2, 0, 3]]])
    found = loss_rows(prices, y)
    assert found.tolist() == [[0, 1, 5], [8, 3, 0], [2, 2, 0]]  # the last review is not worth it
    RejoLinear().fit(np.arange(3.0)[:, None], y, loss=found)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ("aaaaab", "class 'b'"),
        ("aaabb", "cv=5"),
    ],
)
def test_too_few_cases_for_the_folds_are_named(y, message):
    X = np.arange(float(len(y)))[:, None]
    for estimator in (machine(), ThresholdRejectClassifier(LogisticRegression())):
        with pytest.raises(ValueError, match=message):
            RejectClassifierCV(estimator, review_budget=0.2).fit(X, list(y))


def test_the_estimator_must_be_a_classifier(data):
    for estimator in (StandardScaler(), LogisticRegression, Ridge(),
                      GridSearchCV(LogisticRegression(), {"C": [1]})):  # fmt: skip
        with pytest.raises(TypeError, match="estimator"):
            RejectClassifierCV(estimator, review_budget=0.1).fit(*data)
    with pytest.raises(TypeError, match="frozen"):
        RejectClassifierCV(FrozenEstimator(machine().fit(*data)), review_budget=0.1).fit(*data)
    with pytest.raises(ValueError, match="n_cases"):
        RejectClassifierCV(machine(), review_budget=0.1).fit(*data).expect(0)


@pytest.mark.parametrize(
    ("plain", "wrapped", "grid"),
    [
        (LogisticRegression(), ThresholdRejectClassifier(LogisticRegression()), "C"),
        (LinearSVC(), ThresholdRejectClassifier(LinearSVC()), "C"),
        (
            make_pipeline(StandardScaler(), SVC()),
            make_pipeline(StandardScaler(), ThresholdRejectClassifier(SVC())),
            "svc__C",
        ),
        (
            make_pipeline(StandardScaler(), LogisticRegression()),
            Pipeline(
                [
                    ("standardscaler", StandardScaler()),
                    ("logisticregression", ThresholdRejectClassifier(LogisticRegression())),
                ]
            ),
            "logisticregression__C",
        ),
    ],
    ids=["probabilities", "scores", "scores in a pipeline", "pipeline"],
)
def test_a_plain_classifier_gets_a_reject_option(data, plain, wrapped, grid):
    """Parameters in a grid have the names that they have in it."""
    X, y = data
    last = "svc" if grid.startswith("svc") else ""
    inner = grid.replace("__C", "__estimator__C") if "__" in grid else f"estimator__{grid}"
    if last:
        wrapped.steps[-1] = (last, wrapped.steps[-1][1])
    values = [0.001, 1.0]
    for params, own in (({}, {}), ({grid: values}, {inner: values})):
        model = RejectClassifierCV(plain, review_budget=0.2, param_grid=params or None).fit(X, y)
        same = RejectClassifierCV(wrapped, review_budget=0.2, param_grid=own or None).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), same.predict(X))
        assert model.cut_ == same.cut_
        assert [*model.best_params_.values()] == [*same.best_params_.values()]
        assert isinstance(model.best_estimator_, type(wrapped))
    steps = clone(plain).set_params(**{grid: 1.0}) if plain is not wrapped else plain
    assert not hasattr(steps, "classes_")


@pytest.mark.parametrize(
    "estimator",
    [
        SVC(C=10),
        machine(),
        make_pipeline(StandardScaler(), machine()),
        DecisionTreeClassifier(max_depth=4, random_state=0),
    ],
    ids=["posteriors", "boundaries", "pipeline", "ties"],
)
@pytest.mark.parametrize(
    "target",
    [{"review_budget": 0.1}, {"max_error": 0.1}, {"max_error": 0.1, "review_budget": 0.7},
     {"max_error_by_class": 0.2}, {"review_budget": 30, "per": 200}],
    ids=str,
)  # fmt: skip
def test_another_operating_point_is_that_of_a_fresh_fit(data, estimator, target):
    X, y = data
    start = RejectClassifierCV(estimator, review_budget=0.3, reject_costs=[0.2]).fit(X, y)
    before = start.predict(X)
    found = start.at(**target)
    fresh = RejectClassifierCV(estimator, reject_costs=[0.2], **target).fit(X, y)
    np.testing.assert_array_equal(found.predict(X), fresh.predict(X))
    for name in ("cut_", "reject_cost_", "expected_", "limits_", "rates_", "sizes_", "margin_"):
        assert getattr(found, name) == getattr(fresh, name), name
    assert found.summary() == fresh.summary()
    assert found.at(review_budget=0.3, per=None).summary() == start.summary()  # and back
    np.testing.assert_array_equal(start.predict(X), before)


def test_another_price_needs_no_other_fit(data):
    X, y = data
    start = RejectClassifierCV(LogisticRegression(), review_budget=0.3).fit(X, y)
    prices = "error:-1=900,error:1=100,review=20"
    found = start.at(cost_of=prices)
    fresh = RejectClassifierCV(LogisticRegression(), cost_of=prices).fit(X, y)
    np.testing.assert_array_equal(found.predict(X), fresh.predict(X))
    assert found.costs_ == fresh.costs_
    assert start.costs_ is None
    with pytest.raises(TypeError, match="estimator"):
        start.at(estimator=LogisticRegression())
    with pytest.raises(ValueError, match=r"at\(\)"):
        pickle.loads(pickle.dumps(start)).at(review_budget=0.1)
    sure = RejectClassifierCV(LogisticRegression(), max_error=0.4, confidence=0.8, random_state=0)
    with pytest.raises(ValueError, match="confidence"):
        sure.fit(X, y).at(max_error=0.3)


def test_each_reject_cost_has_its_own_parameters(data):
    """As a grid search at each of them; the steps of the fast way change nothing."""
    grid, costs = {"C": [0.5, 8.0], "gamma": [0.5, 4.0], "h": [1.0, 3.0]}, [0.08, 0.2, 0.4]
    tight = RejoSVC(tol=1e-7)
    model = RejectClassifierCV(tight, review_budget=0.2, reject_costs=costs, param_grid=grid)
    model.fit(*data)
    for i, cost in enumerate(costs):
        search = GridSearchCV(clone(tight).set_params(reject_cost=cost), grid, cv=5).fit(*data)
        assert model.curve_params_[i] == search.best_params_
        if i != model.chosen_:  # that one was moved along its ranking
            assert 1 - model.curve_.risk[i] == pytest.approx(search.best_score_)
    assert model.best_params_ == model.curve_params_[model.chosen_]


def test_what_is_said_of_each_class_is_what_is_decided(data):
    """In 300 cases that nobody can tell apart, all of the rare class are missed."""
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(300, 2)), np.where(np.arange(300) % 10, "good", "bad")
    model = RejectClassifierCV(LogisticRegression(), review_budget=0.1).fit(X, y)
    (said,) = [text for text in model.cautions() if "'bad'" in text]
    assert "decided otherwise" in said
    assert said in model.summary()
    point = model.outcomes_[model.chosen_]
    missed = ((point.y == 0) & (point.decision == 1)).mean()
    assert model.shares_[0, 1] == pytest.approx(missed, rel=0.2)


@pytest.mark.parametrize("budget", [0.1, 0.25])
def test_a_budget_between_ties_is_said_to_be_so(budget):
    """Three kinds of cases: reviews are 0, 20 or 60 % of them, and batches stay in the range."""
    rng, outside = np.random.RandomState(0), 0
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    for _ in range(20):
        kind = rng.choice(3, p=[0.4, 0.4, 0.2], size=400)
        wrong = np.array([0.05, 0.2, 0.45])[kind]
        y = (rng.uniform(size=400) < wrong).astype(int)
        model = RejectClassifierCV(tree, review_budget=budget, per=400).fit(kind[:, None], y)
        R = model.expected_.rejection_rate
        share = model.reject_mask(np.arange(3)[:, None]) @ [0.4, 0.4, 0.2]
        outside += not R.low <= rng.binomial(400, share) / 400 <= R.high
        assert model.gap_ is not None
        assert any("nothing between" in text for text in model.cautions())
        assert model.gap_[0] <= budget < model.gap_[1]
        again = RejectClassifierCV(tree, max_error=0.2, per=400).fit(kind[:, None], y)
        again = again.at(review_budget=budget)
        assert (again.cut_, again.expected_) == (model.cut_, model.expected_)
    assert outside <= 4


def test_unattainable_by_cross_validation_says_what_is():
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(200, 2)), rng.randint(2, size=200)  # nothing to learn
    for estimator in (machine(), ThresholdRejectClassifier(LogisticRegression())):
        model = RejectClassifierCV(estimator, max_error=0.001, reject_costs=[0.3, 0.4])
        with pytest.raises(TargetUnattainable, match="max_error") as info:
            model.fit(X, y)
    assert info.value.attainable > 0.2
    assert isinstance(info.value, RejoError)
    assert info.value.parameter == "max_error"
    assert str(info.value) == f"{info.value.problem}. {info.value.remedy}"
    again = pickle.loads(pickle.dumps(info.value))
    assert (again.attainable, str(again)) == (info.value.attainable, str(info.value))


@pytest.mark.parametrize("estimator", [machine(), RejoLinear()])
def test_missing_labels_are_named(data, estimator):
    X, y = data
    labels = pd.Series(np.where(y > 0, "good", "bad"), dtype=object)
    labels[3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        RejectClassifierCV(estimator, review_budget=0.2).fit(X, labels)


def test_a_model_that_decides_almost_nothing_warns():
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, (400, 1))
    doubtful = (np.abs(X[:, 0]) < 0.95) & (rng.uniform(size=400) < 0.4)
    y = (X[:, 0] > 0) ^ doubtful
    logistic = ThresholdRejectClassifier(LogisticRegression())
    with pytest.warns(UserWarning, match="max_error") as found:
        model = RejectClassifierCV(logistic, max_error=0.3).fit(X, y)
    assert found[0].filename == __file__
    assert 0.9 < model.rates_[0] < 1


def test_without_a_model_that_meets_the_target_it_is_not_fitted(data):
    X = data[0]
    y = np.random.RandomState(0).randint(2, size=len(X))  # nothing to learn
    model = RejectClassifierCV(machine(), max_error=1e-6, reject_costs=[0.4])
    with pytest.raises(TargetUnattainable):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.set_params(max_error=0.7).fit(X, y).predict(X)
    with pytest.raises(TargetUnattainable):  # nor by the model of an earlier fit
        model.set_params(max_error=1e-6).fit(X, y)
    with pytest.raises(NotFittedError):
        model.summary()


def test_other_parameters_wait_for_the_next_fit(data):
    model = RejectClassifierCV(
        machine(), max_error=0.3, confidence=0.5, reject_costs=[0.2], random_state=0
    ).fit(*data)
    before = model.expect(50)
    assert model.set_params(confidence=None).expect(50) == before


def test_steps_from_a_grid_are_not_shared(data):
    X, y = data
    scaler = StandardScaler()
    linear = RejoLinear()
    grid = {"standardscaler": [scaler], "rejolinear": [linear]}
    pipeline = make_pipeline(StandardScaler(), RejoLinear())
    model = RejectClassifierCV(
        pipeline, max_error=0.6, confidence=0.5, reject_costs=[0.05, 0.5], param_grid=grid,
        calibration_size=0.3, random_state=0,
    ).fit(X, y)  # fmt: skip
    assert not hasattr(scaler, "mean_")
    assert not hasattr(linear, "classes_")
    train, test = train_test_split(np.arange(len(y)), test_size=0.3, random_state=0)
    again = clone(pipeline).set_params(rejolinear__reject_cost=model.reject_cost_)
    np.testing.assert_array_equal(model.predict(X), again.fit(X[train], y[train]).predict(X))
    proved = model.curve_.rejection_rate[model.chosen_]
    assert model.reject_mask(X[test]).mean() == pytest.approx(proved)


def test_a_reject_cost_without_effect_is_not_varied(data):
    inner = ThresholdRejectClassifier(LogisticRegression(), cost_of={"error": 9, "review": 1})
    with pytest.raises(ValueError, match="cost_of"):
        RejectClassifierCV(inner, review_budget=0.2).fit(*data)


# ---- outcomes of the training cases -------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [machine(), RejoLinear(), make_pipeline(StandardScaler(), machine())],
    ids=["svm", "linear", "pipeline"],
)
def test_outcomes_are_those_of_the_folds(data, estimator):
    X, y = data
    weight = np.where(y > 0, 2.0, 1.0)
    model = RejectClassifierCV(estimator, review_budget=0.3, reject_costs=[0.1, 0.3, 0.5])
    model.fit(X, y, sample_weight=weight)
    again = cross_val_outcomes(estimator, X, y, reject_costs=[0.1, 0.3, 0.5], sample_weight=weight)
    for i, (found, wanted) in enumerate(zip(model.outcomes_, again, strict=True)):
        assert found.trained_for == wanted.reject_cost
        if i == model.chosen_:  # moved along its ranking
            found = found.at(wanted.cut)
        for name in ("decision", "forced", "lower", "fold"):
            np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
        np.testing.assert_allclose(found.doubt, wanted.doubt)
        np.testing.assert_allclose(found.score, wanted.score)
    rates = [np.average(point.decision < 0, weights=weight) for point in model.outcomes_]
    np.testing.assert_allclose(rates, model.curve_.rejection_rate)


def test_outcomes_are_of_the_parameters_that_were_chosen(data):
    X, y = data
    grid = {"C": [0.1, 10], "gamma": [1.0, 4.0]}
    model = RejectClassifierCV(machine(), reject_cost=0.2, param_grid=grid).fit(X, y)
    chosen = machine().set_params(**model.best_params_)
    (wanted,) = cross_val_outcomes(chosen, X, y, reject_costs=[0.2])
    np.testing.assert_array_equal(model.outcomes_[0].decision, wanted.decision)


def test_outcomes_need_every_case_once(data):
    cv = ShuffleSplit(3, test_size=0.3, random_state=0)
    model = RejectClassifierCV(RejoLinear(), review_budget=0.3, cv=cv).fit(*data)
    assert model.outcomes_ is None
    assert model.curve_.sizes.tolist() == [60.0] * 3
    sure = RejectClassifierCV(
        machine(), max_error=0.3, confidence=0.5, reject_costs=[0.2], random_state=0
    ).fit(*data)
    assert sure.outcomes_ is None


def test_outcomes_stay_out_of_copies_and_files(data, tmp_path):
    model = RejectClassifierCV(RejoLinear(), review_budget=0.2, cv=3).fit(*data)
    assert len(model.outcomes_[0].decision) == len(data[1])
    assert not hasattr(pickle.loads(pickle.dumps(model)), "outcomes_")
    pytest.importorskip("skops")
    from rejo.persistence import load, save

    save(model, tmp_path / "model.rejo")
    assert b"outcomes_" not in (tmp_path / "model.rejo").read_bytes()
    again = load(tmp_path / "model.rejo")
    assert not hasattr(again, "outcomes_")
    np.testing.assert_array_equal(again.predict(data[0]), model.predict(data[0]))
    assert again.summary() == model.summary()
    assert model.outcomes_ is not None  # the model itself keeps them


class CountingScaler(StandardScaler):
    """Counts its fits."""

    fits = 0

    def fit(self, X, y=None, sample_weight=None):
        CountingScaler.fits += 1
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize(
    ("grid", "fits"),
    [
        (None, 1),
        ({"rejolinear__C": [0.1, 1, 10]}, 1),
        ({"rejolinear": [RejoLinear(C=0.1), RejoLinear(C=10)]}, 1),
        ([{"rejolinear__C": [0.1, 1]}, {"countingscaler__with_mean": [True, False]}], 3),
    ],
)
def test_steps_before_the_last_are_fitted_once_a_fold(data, monkeypatch, grid, fits):
    monkeypatch.setattr(CountingScaler, "fits", 0)
    pipeline = make_pipeline(CountingScaler(), RejoLinear())
    RejectClassifierCV(pipeline, review_budget=0.3, param_grid=grid, cv=4).fit(*data)
    assert CountingScaler.fits == 4 * fits + 1  # and once for the model on all cases


# ---- cuts in the ranking of a learner -----------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("budget", [0.05, 0.5])
def test_a_cut_in_the_ranking_is_saved(n_classes, budget, tmp_path):
    pytest.importorskip("skops")
    from rejo.persistence import load, save

    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, (200, 2))
    score = X.sum(axis=1) + rng.normal(0, 0.3, 200)
    y = np.digitize(score, [-0.5, 0.5][: n_classes - 1])
    pipeline = make_pipeline(StandardScaler(), RejoLinear())
    model = RejectClassifierCV(pipeline, review_budget=budget, reject_costs=[0.2]).fit(X, y)
    last = model.best_estimator_[-1]
    assert isinstance(last, CutRanking)
    save(model, tmp_path / "model.rejo")
    again = load(tmp_path / "model.rejo")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.summary() == model.summary()
    # The nearest to the region of the learner are reviewed first, or last.
    own = last.estimator_.judge(model.best_estimator_[0].transform(X))
    reviewed, rejected = model.reject_mask(X), own.decision < 0
    if last.widen:
        assert reviewed[rejected].all()
    else:
        assert not reviewed[~rejected].any()
    changed, part = reviewed != rejected, ~rejected if last.widen else rejected
    assert (own.sureness[part & reviewed] <= last.limit).all()
    assert (own.sureness[part & ~reviewed] > last.limit).all()
    assert changed.any()
    assert hasattr(model, "boundary_scores") == (n_classes == 2)
    if n_classes == 2:
        counts = (model.boundary_scores(X) > 0).sum(axis=1)
        np.testing.assert_array_equal(counts == 1, reviewed)


def test_a_cut_among_three_classes_is_not_exported(data):
    pytest.importorskip("onnx")
    from rejo.persistence import to_onnx

    X, _ = data
    y = np.digitize(X[:, 0] + X[:, 1], [0.8, 1.2])
    model = RejectClassifierCV(RejoLinear(), review_budget=0.3, reject_costs=[0.2]).fit(X, y)
    with pytest.raises(TypeError, match="classes"):
        to_onnx(model)


@pytest.mark.parametrize("cv", [None, 3, np.int64(3)])
@pytest.mark.parametrize("learner", [ThresholdRejectClassifier(LogisticRegression()), RejoLinear()])
def test_a_number_of_folds_never_splits_a_group(monkeypatch, cv, learner):
    split = []

    class Watched(StratifiedGroupKFold):
        def split(self, X, y, groups):
            for train, test in super().split(X, y, groups):
                split.append(set(groups[train]) & set(groups[test]))
                yield train, test

    monkeypatch.setattr("rejo.selection.folds.StratifiedGroupKFold", Watched)
    X, y = make_synthetic_1(120, random_state=0)
    costs = [0.1, 0.3]
    model = RejectClassifierCV(learner, review_budget=0.2, reject_costs=costs, cv=cv)
    model.fit(X, y, groups=np.arange(120) // 4)
    assert split == [set()] * (5 if cv is None else 3)


@pytest.mark.parametrize(
    "learner", [RejoBoost(boundaries="posteriors", n_estimators=20), RejoLinear()]
)
def test_a_learner_fitted_without_rejection_says_review(learner):
    X, y = make_synthetic_2(300, random_state=0)
    learner = learner.set_params(reject_cost=None)
    model = RejectClassifierCV(learner, review_budget=0.3).fit(X, y)
    reviewed = model.reject_mask(X)
    assert 0.1 < reviewed.mean() < 0.6
    assert_array_equal(model.predict(X) == model.reject_label_, reviewed)
    assert model.reject_label_ is not None
