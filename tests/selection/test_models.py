"""The choice of a model: repeatable, honest out of fold, the blend unless another is better."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from rejo import BlendClassifier, RejectClassifierCV
from rejo._errors import RejoError
from rejo.baselines.blend import equal_share
from rejo.catalogue import METHODS, ProblemSize
from rejo.datasets import make_synthetic_1, make_synthetic_4
from rejo.decisions import uniform_prices
from rejo.metrics import Interval, log_loss
from rejo.selection import NotSuited, choose_model, cross_fit, draw_rows, mean_cost, models
from rejo.selection.models import Runner, Tried, best_of, blend

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


def test_losses_and_costs_are_those_of_the_cases_out_of_fold(data):
    choice = choose_model(StandardScaler(), *data, models=FAST, class_order=["low", "high"])
    y = (data[1] == "high").astype(int)
    for entry in choice.tried:
        cases = entry.cases
        np.testing.assert_array_equal(cases.y, y)
        np.testing.assert_allclose(cases.p.sum(axis=1), 1.0)
        found = [mean_cost(cases.at_prices(L), L, 240) for L in choice.prices]
        assert entry.cost == pytest.approx(tuple(np.mean(found, axis=0)))
        share = equal_share(240, 2)  # no class is impossible, as far as 240 cases can tell
        p = (1 - share) * cases.p + share / 2
        assert entry.log_loss == pytest.approx(log_loss(y, p, classes=[0, 1]))
    first, *others = choice.tried
    assert first is choice.chosen
    assert [e.log_loss for e in others] == sorted(e.log_loss for e in others)


def test_every_case_is_judged_by_a_model_that_has_not_seen_it(data):
    X, y = data
    rng = np.random.default_rng(0)
    noise = rng.permutation(y)  # nothing to learn: posteriors that had seen the case would know
    choice = choose_model(StandardScaler(), X, noise, models=["boosting-posterior"])
    assert choice.chosen.log_loss > 0.6


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
        np.testing.assert_array_equal(found.chosen.cases.p, first.chosen.cases.p)
    assert not np.array_equal(other.chosen.cases.p, first.chosen.cases.p)


def test_groups_are_never_split(data):
    X, y = data
    groups = np.arange(len(y)) // 8
    choice = choose_model(StandardScaler(), X, y, models=["logistic-posterior"], groups=groups)
    for group in np.unique(groups):
        assert len(np.unique(choice.chosen.cases.fold[groups == group])) == 1


def test_classes_without_an_order():
    X, y = make_classification(
        600, 6, n_informative=6, n_redundant=0, n_classes=12, n_clusters_per_class=1, random_state=0
    )
    names = np.array([f"kind {chr(97 + i)}" for i in range(12)])[y]
    some = ["logistic-posterior", "forest-posterior"]
    choice = choose_model(
        StandardScaler(), X, names, models=some, ordered=False, prices=[uniform_prices(12, 0.9)]
    )
    assert choice.chosen.cases.p.shape == (600, 12)
    model = choice.estimator.set_params(model__reject_cost=0.9).fit(X, names)
    assert set(model.predict(X)) <= {*names, "reject"}
    with pytest.raises(NotSuited, match="svm"):
        choose_model(StandardScaler(), X, names, models=["svm"], ordered=False)


def test_prices_of_two_classes_are_a_loss_matrix(data):
    X, y = data
    L = np.array([[0, 5.0, 0.3], [1.0, 0, 0.3]])
    for order in (["high", "low"], ["low", "high"]):
        found = choose_model(
            StandardScaler(), X, y, models=["logistic"], prices=[L], class_order=order
        )
        model = found.estimator[-1]
        assert model.loss_matrix.tolist() == [[0, 0.3, 5], [1, 0.3, 0]]
        k = np.array([order.index(label) for label in y])
        fitted = found.estimator.fit(X, y)
        paid = L[k, fitted[-1].judge(StandardScaler().fit_transform(X)).decision].mean()
        assert paid == pytest.approx(found.chosen.cost.estimate, rel=0.2)
        assert paid == pytest.approx(1 - fitted.score(X, y))
        assert paid < 0.3


def test_prices_that_data_replication_cannot_be_trained_for(data):
    prices = [np.array([[0, 5.0, 0.9], [1.0, 0, 0.9]])]  # no review pays
    choice = choose_model(
        StandardScaler(), *data, models=["svm", "logistic-posterior"], prices=prices
    )
    assert "svm" not in [entry.name for entry in choice.tried]
    assert "prices" in choice.left_out["svm"]
    with pytest.raises(NotSuited, match="prices") as caught:
        choose_model(StandardScaler(), *data, models=["svm"], prices=prices)
    assert "logistic-posterior" in caught.value.remedy
    assert choice.baselines["reviewing every case"] == pytest.approx(0.9)


def test_cases_are_drawn_for_the_first_legs(data, monkeypatch):
    legs = []
    leg = models.Race.leg

    def watched(self, runners, rows, n_folds):
        legs.append((len(rows), n_folds))
        return leg(self, runners, rows, n_folds)

    monkeypatch.setattr(models, "LEGS", (50, 100))
    monkeypatch.setattr(models, "SOON", 0.0)
    monkeypatch.setattr(models.Race, "leg", watched)
    lines = []
    choose_model(StandardScaler(), *data, models=FAST, tell=lines.append)
    assert legs == [(50, 3), (100, 3), (240, 5)]
    assert len(lines) >= 3
    assert "left" in lines[-1]
    monkeypatch.setattr(models, "MANY", 200)
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


def tried(costs=None, **losses):
    """Models with these log losses (n,) by case; without one they have no posteriors."""
    return [
        Tried(name.replace("_", "-"), None, {}, {}, None, loss, Interval(cost, 0.0, 1.0), 1.0)
        for (name, loss), cost in zip(losses.items(), costs or [0.3] * len(losses), strict=True)
    ]


def test_the_blend_stays_unless_a_single_model_is_better_beyond_chance():
    rng = np.random.default_rng(0)
    blend, noise = rng.uniform(size=400), rng.normal(size=400)
    noise = (noise - noise.mean()) / noise.std()  # the standard error of its mean is 0.05
    for gap, n, name in [
        (-0.01, 400, "blend"), (0.14, 400, "blend"), (0.16, 400, "forest-posterior"),
        (0.16, 100, "blend"),  # of cases that belong together
    ]:  # fmt: skip
        losses = {
            "blend": blend,
            "forest_posterior": blend - gap - noise,
            "svm_posterior": blend + 1,
        }
        assert best_of(tried(**losses), n) == name
    # What a case costs does not matter, unless some have no posteriors.
    losses = {"logistic_posterior": blend, "blend": blend - 0.1}
    assert best_of(tried([0.2, 0.3], **losses), 400) == "blend"
    assert best_of(tried([0.2, 0.3, 0.1], **losses, svm=None), 400) == "svm"
    assert best_of(tried(forest_posterior=blend - 0.001), 400) == "forest-posterior"


@pytest.mark.parametrize("seed", range(3))
def test_simple_is_the_best_single_model_and_blend_is_a_blend(data, monkeypatch, seed):
    X, y = data
    monkeypatch.setattr(models, "TRAINED", FAST)
    rng = np.random.RandomState(seed)
    rows = rng.permutation(len(y))[:120]
    found = {
        name: choose_model(StandardScaler(), X[rows], y[rows], models=[name], random_state=seed)
        for name in ("simple", "blend")
    }
    assert found["blend"].name == "blend"  # whatever single models may say
    assert isinstance(found["blend"].estimator["model"].estimator, BlendClassifier)
    assert found["simple"].name in FAST
    assert "blend" not in [entry.name for entry in found["simple"].tried]
    assert found["simple"].chosen.log_loss == min(e.log_loss for e in found["simple"].tried)


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


def test_offsets_belong_to_their_classes_in_any_order(monkeypatch):
    monkeypatch.setattr(models, "TRAINED", FAST)
    X, y = make_synthetic_4(150, random_state=0)
    k = np.unique(y, return_inverse=True)[1]
    keep = (k != 1) | (np.arange(150) % 3 == 0)  # one class is rarer
    found = []
    for names in (["a", "b", "c"], ["z", "y", "x"]):
        choice = choose_model(
            StandardScaler(), X[keep], np.array(names)[k[keep]], models=["blend"], class_order=names
        )
        offsets = choice.estimator["model"].estimator.offsets
        found.append([offsets[sorted(names).index(name)] for name in names])
    np.testing.assert_allclose(found[0], found[1], atol=0.01)
    assert np.ptp(found[0]) > 0.05


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
    assert choice.chosen.cost.estimate == pytest.approx(0, abs=1e-3)


def test_all_steps_of_a_pipeline_take_part_in_the_race(monkeypatch):
    """Three rings, which only a kernel can tell apart."""
    monkeypatch.setattr(models, "CALIBRATED", np.inf)  # each as it is
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 100)
    angle = rng.uniform(0, 2 * np.pi, 300)
    radius = 1 + y + 0.2 * rng.normal(size=300)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    choice = choose_model(StandardScaler(), X, y, models=FAST)
    losses = {entry.name: entry.log_loss for entry in choice.tried}
    assert losses["kernel-posterior"] < 0.5
    assert "logistic-posterior" in choice.left_out
    (entry,) = [entry for entry in choice.tried if entry.name == "kernel-posterior"]
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    honest = cross_fit(make_pipeline(StandardScaler(), entry.model), X, y, cv=folds)
    assert honest.log_losses().mean() == pytest.approx(entry.log_loss)


# ---- as an estimator ----------------------------------------------------------------------


@pytest.fixture
def fast(monkeypatch):
    """Two models to choose from."""
    monkeypatch.setattr(models, "TRAINED", FAST)


def test_auto_is_an_estimator_on_an_array_with_gaps(data, fast):
    X, y = data[0].copy(), data[1]
    X[::7, 0] = np.nan
    model = RejectClassifierCV("auto", review_budget=0.2, random_state=0).fit(X, y)
    assert model.rates_[0] == pytest.approx(0.2, abs=1 / 240)
    assert model.choice_.name in (*FAST, "blend")
    assert set(model.predict(X)) <= {"high", "low", model.reject_label_}
    assert (model.predict(X) == y).mean() > 0.6
    again = RejectClassifierCV("auto", review_budget=0.2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert not hasattr(pickle.loads(pickle.dumps(model)), "choice_")


def test_auto_is_an_estimator_on_a_frame_with_words(data, fast):
    X, y = data
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame["word"] = pd.Series(np.where(y == "high", "up", "down")).where(frame["a"] > 0.3, "either")
    frame.loc[::11, "a"] = np.nan
    model = RejectClassifierCV(
        "auto", max_error=0.1, class_order=["low", "high"], reject_label="ask", random_state=0
    ).fit(frame, y)
    assert model.classes_.tolist() == ["low", "high"]
    said = model.predict(frame)
    assert set(said) <= {"low", "high", "ask"}
    sure = frame["word"] != "either"
    assert (said[sure] == y[sure]).mean() > 0.95
    named = RejectClassifierCV(FAST[0], review_budget=0.2).fit(frame, y)
    assert named.choice_.name == FAST[0]


@pytest.mark.parametrize("as_frame", [False, True])
def test_auto_promises_and_moves_to_other_targets(data, fast, as_frame):
    X, y = pd.DataFrame(data[0], columns=["a", "b"]) if as_frame else data[0], data[1]
    model = RejectClassifierCV("auto", max_error=0.4, confidence=0.8, random_state=0).fit(X, y)
    assert model.guarantee_.bound == 0.4
    assert len(model.predict(X)) == len(y)
    free = RejectClassifierCV("auto", review_budget=0.3, random_state=0).fit(X, y)
    assert free.at(review_budget=0.1).rates_[0] == pytest.approx(0.1, abs=1 / 240)
    assert free.at(cost_of={"error": 10, "review": 2}).costs_.review_all == 2
    assert free.decision_function(X).shape == (len(y),)


def test_auto_needs_columns_that_can_be_centred(data, fast):
    with pytest.raises(ValueError, match="sparse"):
        RejectClassifierCV("auto", review_budget=0.2).fit(csr_matrix(data[0]), data[1])


def test_a_model_by_name_is_refused_what_it_cannot_do(data, fast):
    for params, fit, said in [
        ({"param_grid": {"C": [1]}}, {}, "param_grid"),
        ({}, {"sample_weight": np.ones(240)}, "sample_weight"),
    ]:
        with pytest.raises(ValueError, match=said):
            RejectClassifierCV("auto", review_budget=0.2, **params).fit(*data, **fit)
    with pytest.raises(ValueError, match="logistic"):
        RejectClassifierCV("logistick", review_budget=0.2).fit(*data)
    with pytest.raises(ValueError, match="reject_label"):
        RejectClassifierCV(LogisticRegression(), review_budget=0.2, reject_label="ask").fit(*data)


def test_a_fold_that_was_judged_on_all_cases_is_not_judged_again(data, monkeypatch):
    judged = []

    def count(model, by_posteriors, points, fold, *rest):
        judged.append((len(points), hash(fold.y_train.tobytes())))
        return run_cell(model, by_posteriors, points, fold, *rest)

    run_cell = models._run_cell
    monkeypatch.setattr(models, "_run_cell", count)
    choice = choose_model(StandardScaler(), *data, models=FAST[:1], class_order=["low", "high"])
    n_points = len(METHODS[FAST[0]].build(ProblemSize(2, 2, 240)).grid["estimator__C"])
    assert [n for n, _ in judged] == [n_points] * 3 + [1] * 2
    assert len({fold for _, fold in judged}) == choice.n_folds == 5


def test_how_many_trees_are_best_is_asked_again_on_more_cases():
    runner = Runner.of(METHODS["boosting-posterior"], ProblemSize(2, 5, 500))
    rounds = models.rounds_of(runner.model)
    numbers = {point[rounds] for point in runner.points}
    runner.best = runner.points[0]
    runner.keep_best()
    assert {point[rounds] for point in runner.points} == numbers
    assert len(runner.points) == len(numbers) > 1
