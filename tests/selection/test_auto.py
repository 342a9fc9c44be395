"""The race of the models: repeatable, honest out of fold, the simplest of the best wins."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from rejo._errors import RejoError
from rejo.baselines.blend import BlendClassifier
from rejo.datasets import make_synthetic_1
from rejo.decisions import decide, uniform_prices
from rejo.metrics import log_loss
from rejo.selection import auto, race
from rejo.selection.auto import (
    Finalist,
    NotSuited,
    blend,
    choose_model,
    clearly_less,
    simplest,
)
from rejo.selection.crossfit import cross_fit
from rejo.selection.race import draw_rows

FAST = ["logistic-posterior", "kernel-posterior"]


@pytest.fixture(scope="module")
def data():
    X, y = make_synthetic_1(240, random_state=0)
    return X, np.where(y > 0, "high", "low")


@pytest.fixture(scope="module")
def choice(data):
    return choose_model(
        StandardScaler(), *data, models=["logistic", *FAST], class_order=["low", "high"],
        reject_label="ask",
    )  # fmt: skip


def test_the_estimator_is_ready_to_be_fitted(choice, data):
    with pytest.raises(NotFittedError):
        check_is_fitted(choice.estimator)
    assert [name for name, _ in choice.estimator.steps] == ["prepare", "model"]
    fitted = choice.estimator.fit(*data)
    assert fitted.classes_.tolist() == ["low", "high"]
    assert set(fitted.predict(data[0])) <= {"low", "high", "ask"}


def test_the_costs_are_those_of_the_posteriors_out_of_fold(choice, data):
    y = (data[1] == "high").astype(int)
    for entry in choice.tried:
        if entry.crossfit is None:
            continue
        p = entry.crossfit.p
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        paid = [L[y, decide(p, L).decision].mean() for L in choice.prices]
        assert entry.cost == pytest.approx(np.mean(paid))
        assert entry.log_loss == pytest.approx(log_loss(y, p, classes=[0, 1]))
    assert [entry.cost for entry in choice.tried] == sorted(e.cost for e in choice.tried)


def test_every_case_is_judged_by_a_model_that_has_not_seen_it(data):
    X, y = data
    rng = np.random.default_rng(0)
    noise = rng.permutation(y)  # nothing to learn: posteriors that had seen the case would know
    choice = choose_model(StandardScaler(), X, noise, models=["boosting-posterior"])
    p, k = choice.crossfit.p, choice.crossfit.y
    assert log_loss(k, p, classes=[0, 1]) > 0.6


def test_a_line_loses_where_no_line_separates(choice):
    assert choice.name in ("kernel-posterior", "blend")
    assert "logistic" in choice.left_out or choice.tried[-1].name.startswith("logistic")


def test_it_is_repeatable(data):
    first, again, parallel, other = (
        choose_model(StandardScaler(), *data, models=FAST, **more)
        for more in ({}, {}, {"n_jobs": 2}, {"random_state": 1})
    )
    for found in (again, parallel):
        assert found.name == first.name
        assert [entry.cost for entry in found.tried] == [entry.cost for entry in first.tried]
        np.testing.assert_array_equal(found.crossfit.p, first.crossfit.p)
    assert not np.array_equal(other.crossfit.p, first.crossfit.p)


def test_groups_are_never_split(data):
    X, y = data
    groups = np.arange(len(y)) // 8
    choice = choose_model(StandardScaler(), X, y, models=["logistic-posterior"], groups=groups)
    for group in np.unique(groups):
        assert len(np.unique(choice.crossfit.fold[groups == group])) == 1


def test_classes_without_an_order():
    X, y = make_classification(
        600, 6, n_informative=6, n_redundant=0, n_classes=12, n_clusters_per_class=1, random_state=0
    )
    names = np.array([f"kind {chr(97 + i)}" for i in range(12)])[y]
    some = ["logistic-posterior", "forest-posterior"]
    choice = choose_model(
        StandardScaler(), X, names, models=some, ordered=False, prices=[uniform_prices(12, 0.9)]
    )
    assert choice.crossfit.p.shape == (600, 12)
    model = choice.estimator.set_params(model__reject_cost=0.9).fit(X, names)
    assert set(model.predict(X)) <= {*names, "reject"}
    with pytest.raises(NotSuited, match="svm"):
        choose_model(StandardScaler(), X, names, models=["svm"], ordered=False)


def test_prices_that_data_replication_cannot_be_trained_for(data):
    prices = [np.array([[0, 5.0, 0.3], [1.0, 0, 0.3]])]
    choice = choose_model(
        StandardScaler(), *data, models=["svm", "logistic-posterior"], prices=prices
    )
    assert choice.name == "logistic-posterior"
    assert "prices" in choice.left_out["svm"]
    with pytest.raises(NotSuited, match="prices"):
        choose_model(StandardScaler(), *data, models=["svm"], prices=prices)
    assert choice.baselines["reviewing every case"] == pytest.approx(0.3)


def test_cases_are_drawn_for_the_first_legs(data, monkeypatch):
    legs = []
    leg = race.Race.leg

    def watched(self, runners, rows, n_folds):
        legs.append((len(rows), n_folds))
        return leg(self, runners, rows, n_folds)

    monkeypatch.setattr(race, "LEGS", (50, 100))
    monkeypatch.setattr(race.Race, "leg", watched)
    lines = []
    choose_model(StandardScaler(), *data, models=FAST, tell=lines.append)
    assert legs == [(50, 3), (100, 3), (240, 5)]
    assert len(lines) >= 3
    assert "left" in lines[-1]
    monkeypatch.setattr(auto, "MANY", 200)
    choose_model(StandardScaler(), *data, models=FAST)
    assert legs[-1] == (240, 3)


def test_drawn_rows_are_stratified_and_keep_rare_classes():
    y = np.repeat([0, 1, 2], [1000, 500, 12])
    rows = draw_rows(y, 150, random_state=0)
    counts = np.bincount(y[rows])
    assert counts[2] == 10
    assert counts[0] / counts[1] == pytest.approx(2, rel=0.05)
    assert set(draw_rows(y, 80)) <= set(draw_rows(y, 150))  # a longer leg has the same cases


def test_a_blend_is_no_worse_than_its_members_by_log_loss():
    rng = np.random.default_rng(0)
    q = rng.uniform(0.05, 0.95, 2000)
    y = (rng.uniform(size=2000) < q).astype(int)
    logit = np.log(q / (1 - q))
    parts = {}
    for name, sd in (("a", 1.0), ("b", 1.0), ("useless", 20.0)):
        noisy = 1 / (1 + np.exp(-(logit + sd * rng.normal(size=2000))))
        parts[name] = np.column_stack([1 - noisy, noisy])
    mixed, weights, _ = blend(parts, np.arange(2000) % 5, y)
    losses = {name: log_loss(y, p, classes=[0, 1]) for name, p in parts.items()}
    assert log_loss(y, mixed, classes=[0, 1]) < min(losses.values())
    assert weights.get("useless", 0.0) < 0.1
    assert weights["a"] == pytest.approx(weights["b"], abs=0.15)


def finalists(costs, losses):
    """Models with these costs (n,) by case; those without a log loss have no posteriors."""
    return [
        Finalist(
            name, None, {}, {}, object() if name in losses else None, cost,
            losses.get(name, np.nan), 1.0,
        )
        for name, cost in costs.items()
    ]  # fmt: skip


def test_the_simplest_of_the_best_wins():
    rng = np.random.default_rng(0)
    base = rng.uniform(size=400)
    noisy = rng.permutation(base)

    def pick(costs, losses):
        return simplest(finalists(costs, losses))

    names = ("logistic-posterior", "forest-posterior", "blend")
    alike = dict.fromkeys(names, 0.5)
    # Within half a percent, by cost and by log loss: the first in the catalogue.
    assert pick({names[0]: base * 1.004, names[1]: base, names[2]: base}, alike) == names[0]
    assert pick({names[0]: base * 1.02, names[1]: base, names[2]: base}, alike) == names[1]
    # A cost that is lower by chance does not make up for worse posteriors ...
    losses = dict(zip(names, (0.53, 0.51, 0.5), strict=True))
    assert pick({names[0]: noisy * 0.99, names[1]: base, names[2]: base}, losses) == "blend"
    # ... but one that is clearly lower does.
    assert pick({names[0]: base * 0.9, names[1]: base, names[2]: base}, losses) == names[0]
    # So it is for a learner without posteriors.
    assert pick({"svm": base * 0.9, "blend": base}, {"blend": 0.5}) == "svm"
    assert pick({"svm": noisy * 0.99, "blend": base}, {"blend": 0.5}) == "blend"
    assert pick({"svm": base, "mlp": base * 0.99}, {}) == "mlp"


def test_other_prices_need_no_other_race(choice, data):
    prices = np.array([[0, 7.0, 0.5], [1.0, 0, 0.5]])
    again = choice.at(prices)
    direct = choose_model(
        StandardScaler(), *data, models=FAST, prices=[prices], class_order=["low", "high"]
    )
    assert {entry.name: entry.cost for entry in again.tried} == pytest.approx(
        {entry.name: entry.cost for entry in direct.tried}
    )
    assert again.name == direct.name
    assert again.baselines["reviewing every case"] == pytest.approx(0.5)
    assert choice.prices != again.prices


def test_curves_of_the_others_need_no_fit(choice):
    rows = choice.rival_curves([0.1, 0.3])
    assert len(rows) == 2 * 5 * (sum(e.crossfit is not None for e in choice.tried) - 1)
    assert all(0 <= row["R"] <= 1 and row["E"] <= 1 for row in rows)


def test_what_is_clearly_less():
    cost = np.random.default_rng(0).uniform(size=400)
    assert clearly_less(cost - 0.01, cost + 0.01)
    assert not clearly_less(cost, cost)
    assert not clearly_less(cost, np.random.default_rng(1).permutation(cost))


def test_a_blend_is_fitted_with_the_weights_of_the_race(data):
    choice = choose_model(StandardScaler(), *data, models=["blend"])
    inner = choice.estimator["model"].estimator
    assert choice.name == "blend"
    assert isinstance(inner, BlendClassifier)
    model = choice.estimator.fit(*data)
    np.testing.assert_allclose(
        model["model"].estimator_.weights_, list(choice.chosen.weights.values()), atol=1e-9
    )
    assert (
        log_loss((data[1] == "low").astype(int), model.predict_proba(data[0]), classes=[0, 1])
        < choice.chosen.log_loss + 0.1
    )


def test_a_class_that_is_too_rare(data):
    X, y = data
    lonely = np.where(np.arange(len(y)) == 7, "bad", "good")
    with pytest.raises(RejoError, match="all cases but one are of one class"):
        choose_model(StandardScaler(), X, lonely, models=FAST)
    few = np.where(np.isin(np.arange(len(y)), [3, 50, 90]), "bad", "good")
    assert choose_model(StandardScaler(), X, few, models=FAST[:1]).n_folds == 3
    third = np.where(np.arange(len(y)) == 7, "new", y)  # in one test part only
    choice = choose_model(StandardScaler(), X, third, models=FAST[:1], ordered=False)
    assert choice.n_folds == 5
    assert np.isfinite(choice.chosen.log_loss)


def test_a_class_in_one_group(data):
    X, _ = data
    y = np.where(np.arange(len(X)) < 20, "bad", "good")
    with pytest.raises(RejoError, match="one class only"):
        choose_model(
            StandardScaler(), X, y, models=["logistic-posterior"], groups=np.arange(len(X)) // 20
        )


def test_a_price_of_nothing(data):
    prices = [np.array([[0, 0.0, 0.1], [1.0, 0, 0.1]])]  # some errors cost nothing
    choice = choose_model(StandardScaler(), *data, models=["logistic-posterior"], prices=prices)
    assert choice.chosen.cost == 0


def test_all_steps_of_a_pipeline_take_part_in_the_race():
    """Three rings, which only a kernel can tell apart."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 100)
    angle = rng.uniform(0, 2 * np.pi, 300)
    radius = 1 + y + 0.2 * rng.normal(size=300)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    choice = choose_model(StandardScaler(), X, y, models=FAST)
    losses = {entry.name: entry.log_loss for entry in choice.tried}
    assert losses["kernel-posterior"] < 0.5
    assert "logistic-posterior" in choice.left_out
    honest = cross_fit(choice.estimator, X, y, cv=StratifiedKFold(5, shuffle=True, random_state=0))
    assert log_loss(y, honest.p, classes=[0, 1, 2]) == pytest.approx(
        choice.chosen.log_loss, rel=0.05
    )
