"""Prices of each case, from fit to predict."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rejo
from rejo import (
    NoveltyReject,
    RejectClassifierCV,
    RejoBoost,
    RejoKernelLogistic,
    RejoLinear,
    RejoMLP,
    RejoSVC,
    ReplicationClassifier,
    ThresholdRejectClassifier,
    compare,
)
from rejo._errors import RejoError
from rejo.estimators import NO_PRICE
from rejo.metrics import expected_cost
from rejo.prices import price_columns, price_matrix
from rejo.replication import costs_of_rows
from rejo.selection import TargetUnattainable, choose_model, expect_cost
from rejo.selection.folds import case_loss, price_parameters

COSTS = "error:default=0.6*amount,error:repaid=0.02*amount+50,review=40"
LEARNERS = [
    RejoLinear(),
    RejoSVC(kernel="linear"),
    RejoKernelLogistic(gamma=0.5),
    RejoMLP(hidden_layer_sizes=(3,), random_state=0, early_stopping=True),
    ReplicationClassifier(LogisticRegression()),
    RejoBoost(boundaries="parallel", n_estimators=5, random_state=0, n_jobs=1),
    RejoBoost(boundaries="posteriors", n_estimators=5, random_state=0, n_jobs=1),
    LogisticRegression(),
    NoveltyReject(LogisticRegression()),
]


def loans(n=300, seed=0):
    """Features, classes, and amounts, which are none of the features."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    y = np.where(X["a"] + rng.normal(size=n) > 1, "default", "repaid")
    return X, y, pd.DataFrame({"amount": rng.lognormal(7, 1, n)})


def matrix(table, costs=COSTS):
    return price_matrix(costs, ["default", "repaid"], columns=table)


def same(one, other, X, **about):
    a, b = one.judge(X, **about), other.judge(X)
    for name in ("decision", "forced", "worth", "sureness", "distance", "chance"):
        if getattr(b, name) is not None:
            assert_array_equal(getattr(a, name), getattr(b, name))


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("target", [{}, {"review_budget": 0.2}])
def test_equal_amounts_are_a_matrix_to_the_bit(learner, target):
    X, y, _ = loans(150)
    table = pd.DataFrame({"amount": np.full(len(X), 700.0)})
    by_case = RejectClassifierCV(learner, cost_of=COSTS, cv=2, **target)
    by_case.fit(X, y, prices=table)
    once = RejectClassifierCV(learner, cost_of=matrix(table)[0], cv=2, **target).fit(X, y)
    same(by_case, once, X, prices=table)
    assert by_case.costs_ == once.costs_
    assert by_case.expected_ == once.expected_
    assert by_case.reject_cost_ == once.reject_cost_
    assert_array_equal(by_case.prices_, once.prices_)
    assert by_case.score(X, y, prices=table) == once.score(X, y)


@pytest.mark.parametrize("rule", ["chow", "score"])
def test_arrays_columns_and_frames_are_the_same(rule):
    X, y, table = loans()
    L, weight = matrix(table), np.tile([1.0, 2.0, 0.0], 100)
    whole = X.assign(**table)
    plain = LogisticRegression()
    columns = ThresholdRejectClassifier(plain, cost_of=COSTS, rule=rule)
    columns.fit(X, y, weight, prices={"amount": table["amount"].tolist()})
    arrays = ThresholdRejectClassifier(plain, rule=rule).fit(X, y, weight, prices=L)
    assert columns.price_columns_ == ["amount"] == price_columns(COSTS)
    assert arrays.price_columns_ == []
    assert_allclose(columns.prices_, np.average(L, axis=0, weights=weight))
    same(columns, arrays, X, prices=table) if rule == "score" else None
    assert_array_equal(columns.predict(X, prices=table), arrays.predict(X, prices=L))
    assert columns.score(X, y, prices=table) == arrays.score(X, y, prices=L)
    decided = arrays.predict(X, prices=L)
    paid = expected_cost(y, decided, cost_of=COSTS, prices=table)
    assert 1 - paid == pytest.approx(columns.score(X, y, prices=table))
    assert expected_cost(y, decided, prices=L) == pytest.approx(paid)
    if rule == "chow":
        read = ThresholdRejectClassifier(make_pipeline(PickColumns(), plain), cost_of=COSTS)
        assert_array_equal(read.fit(whole, y, weight).predict(whole), decided)
        queue = columns.queue(X, 3, prices=table)
        worth = columns.review(X, prices=table)["worth"]
        assert_array_equal(queue["worth"], np.sort(worth)[::-1][:3])


class PickColumns(StandardScaler):
    """Takes the features, as they are, from a wider table."""

    def fit(self, X, y=None, sample_weight=None):
        return super().fit(X[["a", "b"]])

    def transform(self, X):
        return np.asarray(X[["a", "b"]])


@pytest.mark.parametrize("bad", [np.nan, -1.0, np.inf])
def test_a_case_without_a_price(bad):
    X, y, table = loans()
    model = RejectClassifierCV(LogisticRegression(), cost_of=COSTS, review_budget=0.2)
    model.fit(X, y, prices=table)
    before = model.judge(X, prices=table)
    for n in (1, 3):  # all alike, and none has a price
        found = model.judge(X[:n], prices={"amount": [bad] * n})
        assert_array_equal(found.kind, NO_PRICE)
        assert_array_equal(found.decision, -1)
    odd = table.copy()
    odd.loc[[4, 7], "amount"] = bad
    found = model.judge(X, prices=odd)
    assert_array_equal(found.decision[[4, 7]], -1)
    assert_array_equal(np.flatnonzero(found.kind == NO_PRICE), [4, 7])
    rest = np.delete(np.arange(len(X)), [4, 7])
    assert_array_equal(found.decision[rest], before.decision[rest])
    assert_array_equal(model.queue(X, prices=odd)["reason"][:2], "no price")
    assert len(model.predict_forced(X, prices=odd)) == len(X)
    with pytest.raises(RejoError, match="row 4"):
        model.fit(X, y, prices=odd)
    L = matrix(table)
    L[5, 0, 1] = bad
    with pytest.raises(RejoError, match="row 5"):
        RejectClassifierCV(LogisticRegression()).fit(X, y, prices=L)


def test_what_is_missing_is_named():
    X, y, table = loans(60)
    model = ThresholdRejectClassifier(LogisticRegression(), cost_of=COSTS)
    with pytest.raises(RejoError, match="'amount'"):
        model.fit(X, y)
    model.fit(X, y, prices=table)
    with pytest.raises(RejoError, match="'amount'"):
        model.predict(X)
    with pytest.raises(RejoError, match="59 cases, not 60"):
        model.predict(X, prices=table[:-1])
    with pytest.raises(RejoError, match=r"\(n_cases, 2, 3\)"):
        model.predict(X, prices=np.ones((60, 2, 2)))
    with pytest.raises(RejoError, match="right decision"):
        model.predict(X, prices=np.ones((60, 2, 3)))
    with pytest.raises(RejoError, match=r"'amuont'.*Did you mean 'amount'"):
        model.at(cost_of="error=amuont,review=4", prices=table)
    with pytest.raises(TypeError, match="prices"):
        RejoLinear().fit(X, y).predict(X, prices=table)
    by_array = RejectClassifierCV(LogisticRegression()).fit(X, y, prices=matrix(table))
    with pytest.raises(RejoError, match="prices="):
        by_array.predict(X)


def test_other_prices_need_no_fit():
    X, y, table = loans()
    other = "error=0.1*amount,review=5"
    model = RejectClassifierCV(LogisticRegression(), cost_of=COSTS, cv=3).fit(X, y, prices=table)
    fresh = RejectClassifierCV(LogisticRegression(), cost_of=other, cv=3).fit(X, y, prices=table)
    found = model.at(cost_of=other)
    assert found.costs_ == fresh.costs_
    assert_array_equal(found.predict(X, prices=table), fresh.predict(X, prices=table))
    assert model.at(cost_of="error=500,review=20").price_columns_ == []
    single = ThresholdRejectClassifier(LogisticRegression()).fit(X, y)
    priced = single.at(cost_of=other, prices=table)
    assert_array_equal(priced.predict(X, prices=table), fresh.predict(X, prices=table))


def test_a_budget_goes_where_a_review_saves_most():
    X, y, table = loans()
    model = RejectClassifierCV(LogisticRegression(), cost_of=COSTS, review_budget=0.1)
    model.fit(X, y, prices=table)
    found = model.judge(X, prices=table)
    plain = model.at(cost_of=COSTS).judge(X, prices=table)
    assert_allclose(found.worth, plain.worth, rtol=1e-9, atol=1e-9)
    reviewed = found.decision < 0
    assert 0.05 < reviewed.mean() < 0.15
    assert found.worth[reviewed].min() >= found.worth[~reviewed].max()


def test_prices_are_routed():
    X, y, table = loans()
    with config_context(enable_metadata_routing=True):
        model = RejectClassifierCV(LogisticRegression(), cost_of=COSTS, cv=3)
        model.set_fit_request(prices=True).set_score_request(prices=True)
        model.set_predict_request(prices=True)
        pipe = make_pipeline(StandardScaler(), model)
        found = cross_validate(pipe, X, y, cv=2, params={"prices": matrix(table)},
                               return_estimator=True, return_indices=True)  # fmt: skip
        test, fitted = found["indices"]["test"][0], found["estimator"][0]
        decided = fitted.predict(X.iloc[test], prices=matrix(table)[test])
    L = matrix(table)[test]
    assert_array_equal(rejo.review(fitted, X.iloc[test], prices=L)["decision"], decided)
    assert 1 - expected_cost(y[test], decided, prices=L) == pytest.approx(found["test_score"][0])
    last = ThresholdRejectClassifier(LogisticRegression(), cost_of=COSTS)
    pipe, whole = make_pipeline(PickColumns(), last), X.assign(**table)
    pipe.fit(whole, y, thresholdrejectclassifier__prices=table)
    frame = rejo.review(pipe, whole)  # which has the column that the pipeline drops
    assert_array_equal(frame["decision"], pipe[-1].predict(X.to_numpy(), prices=table))


def test_money_that_is_expected_is_money_that_is_paid():
    X, y, table = loans(2000)
    model = RejectClassifierCV(LogisticRegression(), cost_of=COSTS).fit(X, y, prices=table)
    X_new, y_new, new = loans(20_000, seed=1)
    paid = 1 - model.score(X_new, y_new, prices=new)
    chosen, everything = model.costs_.chosen, model.costs_.decide_all
    assert chosen.low < paid < chosen.high
    forced = model.predict_forced(X_new, prices=new)
    assert (
        everything.low < expected_cost(y_new, forced, cost_of=COSTS, prices=new) < everything.high
    )
    mean = ThresholdRejectClassifier(LogisticRegression(), cost_of=model.prices_).fit(X, y)
    assert expected_cost(y_new, mean.predict(X_new), cost_of=COSTS, prices=new) > 1.02 * paid
    one, many = (
        expect_cost(model.shares_, model.prices_, chosen, n, spread=model.costs_.spread)
        for n in (100, 10_000)
    )
    batches = [
        1 - model.score(X_new[i : i + 100], y_new[i : i + 100], prices=new[i : i + 100])
        for i in range(0, 20_000, 100)
    ]
    assert np.mean([one.low <= cost <= one.high for cost in batches]) > 0.9
    assert many.high < one.high


def test_a_promise_of_money_counts_what_is_known_beforehand():
    X, y, table = loans(1500)
    costs = "error:default=min(0.6*amount,2000),error:repaid=20,review=10"
    model = RejectClassifierCV(LogisticRegression(), cost_of=costs, confidence=0.9, random_state=0)
    model.fit(X, y, prices=table)
    assert model.guarantee_.highest == 2000
    assert model.costs_.chosen.estimate < model.guarantee_.bound
    heavy = table.copy()
    heavy.loc[0, "amount"] = 1e7  # one case makes the bound useless
    asked = RejectClassifierCV(
        LogisticRegression(), cost_of=COSTS, confidence=0.9, max_cost=60, random_state=0
    )
    with pytest.raises(TargetUnattainable, match="min"):
        asked.fit(X, y, prices=heavy)


def test_a_share_of_the_money_is_a_limit_if_reviews_are_free():
    X, y, table = loans(6000)
    amount = table["amount"].clip(upper=10_000)
    free = RejectClassifierCV(LogisticRegression(), cost_of="error=amount,review=0", cv=3,
                              confidence=0.9, random_state=0)  # fmt: skip
    new, y_new, more = loans(20_000, seed=1)
    shares = []
    for share in (0.02, 0.08):
        model = clone(free).set_params(max_cost=share * amount.mean())
        model.fit(X, y, prices={"amount": amount})
        shares.append(float(model.reject_mask(new, prices=more).mean()))
        paid = 1 - model.score(new, y_new, prices=more.clip(upper=10_000))
        assert paid <= share * amount.mean()
    assert 0 < shares[1] < shares[0] < 0.9
    free.fit(X, y, prices={"amount": amount})  # without a limit, the lowest cost
    assert free.reject_mask(new, prices=more).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_what_can_be_trained_is_so_everywhere(n_classes):
    rng = np.random.default_rng(0)
    X, amount = rng.normal(size=(200, 2)), rng.lognormal(size=200)
    y = np.searchsorted([-0.5, 0.5][: n_classes - 1], X[:, 0] + 0.5 * rng.normal(size=200))
    one_error = "error=amount,review=0.2*amount+0.05"
    by_class = one_error + ",error:0=3*amount"
    free = "error=amount,review=0"
    for costs, fine in {one_error: True, by_class: n_classes == 2, free: False}.items():
        L = price_matrix(costs, range(n_classes), columns={"amount": amount})
        search = RejectClassifierCV(RejoLinear(), cv=2)
        methods = {"post": ThresholdRejectClassifier(LogisticRegression()), "lin": RejoLinear()}
        about = {"cv": 2, "cost_of": costs, "prices": {"amount": amount}}
        assert ("lin" not in compare(methods, X, y, **about).left_out) is fine
        asked = choose_model(StandardScaler(), X, y, models=["logistic", "logistic-posterior"],
                             prices=[L], cv=2)  # fmt: skip
        assert ("logistic" not in asked.left_out) is fine
        if not fine:
            with pytest.raises(RejoError, match="ThresholdRejectClassifier"):
                search.fit(X, y, prices=L)
            continue
        search.fit(X, y, prices=L)
        direct = RejoLinear().fit(X, y, loss=case_loss(RejoLinear(), L, y))
        assert_array_equal(search.best_estimator_.boundary_scores(X), direct.boundary_scores(X))
        with pytest.raises(RejoError, match="prices="):
            search.score(X, y)


def test_equal_prices_have_the_loss_of_a_reject_cost():
    y = np.arange(4).repeat(2)
    L = np.broadcast_to(price_matrix("error=7,review=2", range(4)), (8, 4, 5))
    for s in (None, 2):
        model = RejoLinear(s=s)
        loss = case_loss(model, L, y)
        reject_cost = price_parameters(model, L[0], np.arange(4))["reject_cost"]
        costs = 7 * rejo.replication.replica_costs(4, reject_cost, s)[y]
        assert_allclose(costs_of_rows(loss, y, 4, "loss"), costs, atol=1e-12)


def test_a_file_keeps_formulas(tmp_path):
    X, y, table = loans()
    model = RejectClassifierCV(LogisticRegression(), cost_of=COSTS, review_budget=0.2)
    model.fit(X, y, prices=table)
    path = tmp_path / "model.rejo"
    rejo.save(model, path)
    loaded = rejo.load(path)
    assert loaded.price_columns_ == ["amount"]
    assert_array_equal(loaded.predict(X, prices=table), model.predict(X, prices=table))
