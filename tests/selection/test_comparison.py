"""Methods on the same splits, and what the paired differences say."""

import io
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from rejo import RejoLinear, RejoSVC, ThresholdRejectClassifier, compare
from rejo.baselines import FrankHallReject
from rejo.catalogue import ProblemSize
from rejo.datasets import make_synthetic_1, make_synthetic_4
from rejo.decisions import uniform_prices
from rejo.metrics import error_rate, rejection_rate
from rejo.selection import (
    Comparison,
    RejectClassifierCV,
    choose_model,
    corrected_t_test,
    standard_methods,
)
from rejo.selection.comparison import Automatic, methods_to_compare


@pytest.fixture(scope="module")
def data():
    return make_synthetic_1(120, random_state=0)


METHODS = {"svm": RejoSVC(C=4, gamma=2), "linear": RejoLinear()}


def test_rows_are_those_of_a_loop_by_hand(data):
    X, y = data
    result = compare(METHODS, X, y, reject_costs=[0.3, 0.1], cv=3, random_state=7)
    splits = StratifiedKFold(3, shuffle=True, random_state=7).split(X, y)
    expected = []
    for fold, (train, test) in enumerate(splits):
        for w in (0.1, 0.3):
            model = RejoSVC(C=4, gamma=2, reject_cost=w).fit(X[train], y[train])
            rates = [f(y[test], model.predict(X[test]), reject_label=0)
                     for f in (rejection_rate, error_rate)]  # fmt: skip
            expected.append((w, fold, *rates, w * rates[0] + rates[1]))
    rows = [tuple(row[k] for k in ("reject_cost", "fold", "R", "E", "risk"))
            for row in result.rows if row["method"] == "svm"]  # fmt: skip
    assert rows == sorted(expected)
    assert {row["crossing_rate"] for row in result.rows} == {0.0}
    assert all(row["fit_seconds"] > 0 and row["n_train"] + row["n_test"] == 120
               for row in result.rows)  # fmt: skip
    assert result.methods == ["svm", "linear"]
    assert result.reject_costs == [0.1, 0.3]


def test_each_method_is_tuned_in_the_training_part(data):
    X, y = data
    grids = {"svm": {"C": [1e-6, 4.0], "gamma": [2.0]}}
    tuned = compare({"svm": RejoSVC()}, X, y, param_grids=grids, reject_costs=[0.2], cv=3)
    assert [row["params"] for row in tuned.rows] == [{"C": 4.0, "gamma": 2.0}] * 3
    fixed = compare({"svm": RejoSVC(C=4.0, gamma=2.0)}, X, y, reject_costs=[0.2], cv=3)
    assert [row["risk"] for row in tuned.rows] == [row["risk"] for row in fixed.rows]


class Peeker(ClassifierMixin, BaseEstimator):
    """Notes which points it was shown."""

    seen: set = set()  # noqa: RUF012

    def __init__(self, depth=1):
        self.depth = depth

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.trained_ = set(X[:, 0])
        return self

    def predict(self, X):
        assert not self.trained_ & set(X[:, 0])
        return np.full(len(X), self.classes_[0])


def test_tuning_never_sees_the_test_part_and_groups_stay_whole():
    X = np.repeat(np.arange(30.0), 4)[:, None]  # a point stands for its group
    y = np.tile([0, 1], 60)
    grids = {"peeker": {"depth": [1, 2]}}
    groups = X[:, 0].astype(int)
    for cv in (3, GroupKFold(3)):
        result = compare(
            {"peeker": Peeker()}, X, y, groups=groups, param_grids=grids, cv=cv, inner_cv=2,
            reject_costs=[0.2],
        )  # fmt: skip
        assert len(result.rows) == 3
    with pytest.raises(AssertionError):
        compare({"peeker": Peeker()}, X, y, cv=3, reject_costs=[0.2])


def test_a_classifier_that_cannot_reject_takes_part(data):
    result = compare([LogisticRegression()], *data, reject_costs=[0.1], cv=3)
    assert {row["R"] for row in result.rows} == {0.0}
    assert np.isnan([row["crossing_rate"] for row in result.rows]).all()


def test_pipelines_and_frames(data):
    X, y = pd.DataFrame(data[0], columns=["a", "b"]), pd.Series(data[1]).map({-1: "no", 1: "yes"})
    methods = {"pipe": make_pipeline(StandardScaler(), RejoLinear())}
    result = compare(methods, X, y, reject_costs=[0.05, 0.5], cv=3)
    low, high = (result.values("pipe", w, "R").mean() for w in (0.05, 0.5))
    assert low > high == 0
    assert set(result.values("pipe", 0.05, "crossing_rate")) == {0.0}


def test_jobs_change_nothing(data):
    def rates(n_jobs):
        rows = compare(METHODS, *data, reject_costs=[0.2], cv=3, n_jobs=n_jobs).rows
        return [(row["method"], row["fold"], row["R"], row["E"]) for row in rows]

    assert rates(1) == rates(2)


def test_the_corrected_t_test_by_hand():
    d = np.array([0.1, 0.3, 0.2, 0.0])
    mean, low, high, p = corrected_t_test(d, 0.25, 0.9)
    scale = np.sqrt((1 / 4 + 0.25) * np.var(d, ddof=1))
    assert_allclose([mean, high - mean, mean - low], [0.15, *2 * [scale * stats.t.ppf(0.95, 3)]])
    assert_allclose(p, 2 * stats.t.sf(0.15 / scale, 3))
    # Without the correction it is the usual paired test.
    assert_allclose(corrected_t_test(d, 0.0, 0.9)[3], stats.ttest_1samp(d, 0).pvalue)


def test_the_corrected_t_test_at_its_edges():
    assert corrected_t_test(np.array([0.2]), 0.25, 0.9) == (0.2, -np.inf, np.inf, 1.0)
    assert corrected_t_test(np.zeros(4), 0.25, 0.9) == (0.0, 0.0, 0.0, 1.0)
    assert corrected_t_test(np.full(4, 0.5), 0.25, 0.9) == (0.5, 0.5, 0.5, 0.0)


def row(method, fold, risk):
    return {
        "method": method, "reject_cost": 0.2, "fold": fold, "risk": risk,
        "n_train": 80, "n_test": 20,
    }  # fmt: skip


def test_differences_pair_the_folds():
    noise = np.array([0.0, 0.3, 0.1, 0.5])  # shared by both methods: the pairing takes it out
    rows = [row("a", i, 0.1 + noise[i]) for i in range(4)]
    rows += [row("b", i, 0.15 + noise[i] + 1e-3 * (-1) ** i) for i in (2, 0, 3, 1)]
    (found,) = Comparison(rows, "a").differences()
    assert (found.method, found.reject_cost) == ("b", 0.2)
    assert_allclose(found.difference, 0.05)
    assert 0.04 < found.low < found.high < 0.06
    assert found.p_value < 0.001
    (other,) = Comparison(rows, "a").differences(reference="b")
    assert_allclose([other.low, other.high], [-found.high, -found.low])


def test_the_table_marks_what_differs():
    rows = [row(m, i, risk + 0.001 * i) for m, risk in (("a", 0.1), ("long name", 0.2))
            for i in range(4)]  # fmt: skip
    rows += [row("c", i, 0.1 + 0.05 * (-1) ** i) for i in range(4)]
    lines = str(Comparison(rows, "a")).splitlines()
    assert lines[0] == (
        "Mean risk over 4 folds; * differs from a (95 %, corrected resampled t-test)"
    )
    assert lines[3].split() == ["long", "name", "0.2015*"]
    assert lines[2].split() == ["a", "0.1015"]
    assert lines[4].split() == ["c", "0.1000"]
    assert "3 methods at 1 reject costs, 12 rows" in repr(Comparison(rows, "a"))


def test_rows_become_a_frame(data):
    frame = compare(METHODS, *data, reject_costs=[0.2], cv=3).to_frame()
    assert frame.groupby("method")["fold"].nunique().to_dict() == {"svm": 3, "linear": 3}


def test_progress_only_on_a_terminal(data, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for terminal, verbose, shown in (
        (Terminal, None, True), (io.StringIO, None, False), (io.StringIO, True, True),
        (Terminal, False, False),
    ):  # fmt: skip
        stream = terminal()
        monkeypatch.setattr(sys, "stderr", stream)
        compare(METHODS, *data, reject_costs=[0.2], cv=3, verbose=verbose)
        assert ("compare: 6/6, 0:00 left" in stream.getvalue()) == shown


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"estimators": {}}, "estimators"),
        ({"estimators": "usual"}, "usual"),
        ({"estimators": {"a": StandardScaler()}}, "estimators"),
        ({"estimators": {"a": RejoSVC}}, "estimators"),
        ({"reject_costs": [0.2, 0.7]}, "reject_costs"),
        ({"cost_of": "error=1"}, "review"),
        ({"reject_costs": []}, "reject_costs"),
        ({"param_grids": {"b": {}}}, "param_grids"),
        ({"reference": "b"}, "reference"),
        ({"cv": 1}, "n_splits"),
    ],
)
def test_wrong_input(data, change, message):
    arguments = {"estimators": {"a": RejoSVC()}} | change
    with pytest.raises(ValueError, match=message):
        compare(arguments.pop("estimators"), *data, **arguments)


@pytest.mark.check
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_standard_methods(n_classes):
    make = make_synthetic_1 if n_classes == 2 else make_synthetic_4
    X, y = make(90, random_state=0)
    methods, grids = standard_methods(n_classes, 2, 90)
    assert list(methods)[:3] == ["svm", "mlp", "kernel-logistic"]
    assert set(grids) == set(methods)
    for name, model in methods.items():
        point = {key: values[0] for key, values in grids[name].items()}
        model.set_params(**point)  # every key of a grid is a parameter
    asked = "standard" if n_classes == 2 else list(methods)
    result = compare(
        asked, X, y, reject_costs=[0.2], cv=2, inner_cv=2,
        param_grids={name: {key: v[:1] for key, v in grid.items()} for name, grid in grids.items()},
    )  # fmt: skip
    assert result.methods == [*["auto"] * (n_classes == 2), *methods]
    assert max(result.mean()["kernel-logistic"]) < 0.5 * (1 - 1 / n_classes)


def test_wrong_questions(data):
    result = compare({"a": DummyClassifier()}, *data, reject_costs=[0.2], cv=2)
    with pytest.raises(ValueError, match="speed"):
        result.mean("speed")
    with pytest.raises(ValueError, match="method"):
        result.values("b", 0.2)
    with pytest.raises(ValueError, match="confidence"):
        result.differences(confidence=95)


def test_an_undefined_measure_is_no_difference():
    assert np.isnan(corrected_t_test(np.array([0.1, np.nan, 0.2]), 0.25, 0.9)).all()
    X, y = make_synthetic_1(60, random_state=0)
    result = compare([RejoSVC(), LogisticRegression()], X, y, reject_costs=[0.2], cv=3)
    found, *baselines = result.differences("crossing_rate")  # a classifier without boundaries
    assert np.isnan(found.p_value)
    assert np.isnan(baselines[0].p_value)  # nor has a person


def test_equal_but_for_the_last_digit_is_equal():
    rows = [row("a", i, 0.14) for i in range(4)] + [row("b", i, 0.2 * 0.7) for i in range(4)]
    assert 0.2 * 0.7 != 0.14
    (found,) = Comparison(rows, "a").differences()
    assert found.p_value == 1
    assert "0.1400*" not in str(Comparison(rows, "a"))


def test_a_class_that_only_the_test_part_has():
    # Without the class -1 in training, -1 is what a model calls a rejection.
    X = np.linspace(-1, 1, 40)[:, None]
    y = np.where(X[:, 0] > 0, 1, 0)
    y[:2] = -1
    split = [(np.arange(2, 40), np.r_[0, 1, 10:30])]
    result = compare([RejoLinear(), DummyClassifier()], X, y, reject_costs=[0.05], cv=split)
    model = RejoLinear(reject_cost=0.05).fit(X[2:], y[2:])
    rejected = model.reject_mask(X[split[0][1]])
    assert model.reject_label_ == -1
    assert 0 < rejected.mean() < 1
    assert result.values("RejoLinear", 0.05, "R") == rejected.mean()
    assert result.values("RejoLinear", 0.05, "E") >= (~rejected[:2]).sum() / 22


def test_crossings_are_found_inside_a_search():
    X, y = make_synthetic_1(400, random_state=0)
    wild = FrankHallReject(SVC(C=1000, gamma=100))
    search = RejectClassifierCV(wild, cv=2)
    result = compare({"pair": wild, "search": search}, X, y, reject_costs=[0.2], cv=2)
    plain, inside = (result.values(m, 0.2, "crossing_rate") for m in ("pair", "search"))
    assert plain.max() > 0
    assert_allclose(inside, plain)


def test_the_standard_methods_take_no_sparse_data(data):
    X, y = data
    with pytest.raises(ValueError, match="sparse"):
        compare("standard", csr_array(X), y)


# ---- methods that are tuned inside the training part ----------------------------------------


def counted(kind, fits):
    """A class of estimators whose fits are counted."""

    class Counted(kind):
        def fit(self, *args, **options):
            fits.append(type(self))
            return super().fit(*args, **options)

    return Counted


def test_a_method_trained_for_one_cost_is_tuned_as_by_a_grid_search(data):
    X, y = data
    grid = {"rejosvc__C": [0.1, 4.0], "rejosvc__gamma": [0.5, 2.0]}
    pipeline = make_pipeline(StandardScaler(), RejoSVC())
    result = compare(
        {"a": pipeline}, X, y, reject_costs=[0.1, 0.4], param_grids={"a": grid}, cv=3, inner_cv=3
    )
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    for fold, (train, test) in enumerate(folds.split(X, y)):
        for w in (0.1, 0.4):
            search = GridSearchCV(pipeline.set_params(rejosvc__reject_cost=w), grid, cv=folds)
            search.fit(X[train], y[train])
            (row,) = (r for r in result.rows if (r["fold"], r["reject_cost"]) == (fold, w))
            assert row["params"] == search.best_params_
            assert_allclose(row["risk"], 1 - search.score(X[test], y[test]))


def test_what_prepares_the_cases_is_fitted_once_for_each_fold(data):
    scalings, fits = [], []
    pipeline = make_pipeline(counted(StandardScaler, scalings)(), counted(RejoSVC, fits)())
    pipeline.steps[1] = ("last", pipeline.steps[1][1])
    grids = {"a": {"last__C": [0.1, 1.0, 4.0]}}
    compare({"a": pipeline}, *data, reject_costs=[0.1, 0.4], param_grids=grids, cv=2, inner_cv=3)
    assert len(scalings) == 2 * (3 + 1)
    assert len(fits) == 2 * 2  # in the folds inside, a path serves all reject costs


def test_an_operating_point_is_searched_within_each_training_part(data):
    """Also one that wraps a plain classifier; it decides at its own target, whatever the price."""
    X, y = data
    search = RejectClassifierCV(LogisticRegression(), review_budget=0.3, cv=3)
    methods = {"search": search, "svm": RejoSVC(gamma=2)}
    result = compare(methods, X, y, reject_costs=[0.1, 0.3], cv=3)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    for fold, (train, test) in enumerate(folds.split(X, y)):
        model = clone(search).fit(X[train], y[train])
        R = model.reject_mask(X[test]).mean()
        rows = [r for r in result.rows if (r["method"], r["fold"]) == ("search", fold)]
        assert [row["R"] for row in rows] == [R, R]
        assert [row["risk"] - row["E"] for row in rows] == pytest.approx([0.1 * R, 0.3 * R])
    priced = RejectClassifierCV(LogisticRegression(), reject_cost=0.2)
    result = compare(
        {"a": priced, "b": ThresholdRejectClassifier(LogisticRegression())},
        X,
        y,
        reject_costs=[0.2],
        cv=3,
    )
    assert_allclose(result.values("a", 0.2), result.values("b", 0.2))


def test_preparing_steps_can_be_tuned(data):
    X, y = data
    X = np.column_stack([X, 1e3 * np.random.RandomState(0).normal(size=len(X))])
    pipeline = make_pipeline(StandardScaler(), RejoSVC(gamma=0.5))
    grid = {"standardscaler": ["passthrough", StandardScaler()], "rejosvc__C": [1.0, 4.0]}
    result = compare({"a": pipeline}, X, y, param_grids={"a": grid}, cv=2, reject_costs=[0.2])
    assert all(isinstance(r["params"]["standardscaler"], StandardScaler) for r in result.rows)


def test_posteriors_are_fitted_once_for_all_reject_costs(data):
    X, y = data
    fits = []
    inner = counted(LogisticRegression, fits)()
    model = ThresholdRejectClassifier(inner)
    grids = {"a": {"estimator__C": [1e-4, 10.0]}}
    costs = [0.05, 0.1, 0.2, 0.4]
    result = compare({"a": model}, X, y, reject_costs=costs, param_grids=grids, cv=3, inner_cv=4)
    assert len(fits) == 3 * (2 * 4 + 1)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    inner_folds = StratifiedKFold(4, shuffle=True, random_state=0)
    for fold, (train, test) in enumerate(folds.split(X, y)):
        losses = {}
        for C in (1e-4, 10.0):
            parts = []
            for a, b in inner_folds.split(X[train], y[train]):
                p = LogisticRegression(C=C).fit(X[train][a], y[train][a])
                p = p.predict_proba(X[train][b])
                parts.append(log_loss(y[train][b], p, normalize=False, labels=[-1, 1]))
            losses[C] = sum(parts)
        best = min(losses, key=losses.get)
        for w in costs:
            by_hand = ThresholdRejectClassifier(LogisticRegression(C=best), reject_cost=w)
            by_hand.fit(X[train], y[train])
            (row,) = (r for r in result.rows if (r["fold"], r["reject_cost"]) == (fold, w))
            assert row["params"] == {"estimator__C": best}
            assert_allclose(row["risk"], 1 - by_hand.score(X[test], y[test]))


def test_a_search_is_tuned_by_what_it_decides(data):
    model = RejectClassifierCV(RejoSVC(gamma=2), review_budget=0.2, reject_costs=[0.2], cv=3)
    posteriors = RejectClassifierCV(
        ThresholdRejectClassifier(SVC(gamma=2)), review_budget=0.2, cv=3
    )
    for name, search in {"estimator__C": model, "estimator__estimator__C": posteriors}.items():
        grids = {"a": {name: [1e-6, 4.0]}}
        found = compare({"a": search}, *data, param_grids=grids, cv=2, reject_costs=[0.2])
        assert [row["params"][name] for row in found.rows] == [4.0, 4.0]


def test_stages_of_boosting_share_one_fit():
    X, y = make_synthetic_1(80, random_state=0)
    fits = []

    def rows(classifier):
        model = ThresholdRejectClassifier(classifier(random_state=0, early_stopping=False))
        grids = {"a": {"estimator__max_iter": [2, 5, 40], "estimator__max_leaf_nodes": [3, 8]}}
        found = compare({"a": model}, X, y, param_grids=grids, cv=2, inner_cv=2, reject_costs=[0.2])
        return [(r["params"], r["R"], r["E"]) for r in found.rows]

    class Alone(HistGradientBoostingClassifier):
        staged_predict_proba = property()  # hidden: each number of trees takes a fit

    assert rows(counted(HistGradientBoostingClassifier, fits)) == rows(Alone)
    assert len(fits) == 2 * (2 * 2 + 1)


# ---- prices ---------------------------------------------------------------------------------

PRICES = [[0, 10, 0.5], [1, 0, 0.5]]


def test_prices_by_hand(data):
    X, y = data
    model = ThresholdRejectClassifier(LogisticRegression())
    result = compare({"a": model}, X, y, cost_of=PRICES, cv=3, random_state=7)
    splits = StratifiedKFold(3, shuffle=True, random_state=7).split(X, y)
    for row, (train, test) in zip(result.rows, splits, strict=True):
        fitted = clone(model).set_params(cost_of=PRICES).fit(X[train], y[train])
        assert row["reject_cost"] is None
        assert_allclose(row["risk"], 1 - fitted.score(X[test], y[test]))
    assert result.reject_costs == [None]
    assert "Mean cost of a case over 3 folds" in str(result)


def test_prices_in_any_unit(data):
    methods = METHODS | {"chow": ThresholdRejectClassifier(LogisticRegression())}
    cheap = compare(methods, *data, reject_costs=[0.1], cv=3)
    money = compare(methods, *data, cost_of="error=5000,review=500", cv=3)
    for name, (risk,) in cheap.mean().items():
        assert_allclose(money.mean()[name], [5000 * risk])


def test_two_classes_with_prices_of_their_own(data):
    X, y = data
    prices = [[0, 1, 0.1], [5, 0, 0.1]]
    methods = {
        "chow": ThresholdRejectClassifier(LogisticRegression()),
        "replication": RejoLinear(),
        "cut-offs": ThresholdRejectClassifier(LogisticRegression(), rule="score"),
        "class": ThresholdRejectClassifier(LogisticRegression(), rule="class"),
        "plain": LogisticRegression(),
    }
    result = compare(methods, X, y, cost_of=prices, cv=3)
    assert result.left_out == {"class": "cannot be trained for these prices"}
    assert "Left out (cannot be trained for these prices): class" in str(result)
    splits = StratifiedKFold(3, shuffle=True, random_state=0).split(X, y)
    by_hand = []
    for train, test in splits:
        model = RejoLinear(loss_matrix=[[0, 0.1, 1], [5, 0.1, 0]]).fit(X[train], y[train])
        by_hand.append(1 - model.score(X[test], y[test]))
    assert_allclose(result.values("replication", None), by_hand)
    flipped = {"flipped": RejoLinear(class_order=[1, -1])}
    assert_allclose(compare(flipped, X, y, cost_of=prices, cv=3).values("flipped", None), by_hand)
    assert result.mean()["plain"] > result.mean()["cut-offs"]
    with pytest.raises(ValueError, match="class"):
        compare({"class": methods["class"]}, X, y, cost_of=prices, cv=3)
    with pytest.raises(ValueError, match="class"):
        compare(methods, X, y, cost_of=prices, cv=3, reference="class")


def test_reject_costs_above_a_half():
    X, y = make_synthetic_4(90, random_state=0)
    methods = {"chow": ThresholdRejectClassifier(LogisticRegression()), "svm": RejoSVC()}
    result = compare(methods, X, y, reject_costs=[0.3, 0.6], cv=3)
    assert result.methods == ["chow"]
    assert result.left_out == {"svm": "cannot be trained for a reject cost of 0.6"}
    low, high = (result.values("chow", w, "R").mean() for w in (0.3, 0.6))
    assert low > high
    with pytest.raises(ValueError, match="reject_costs"):
        compare(methods, X, y, reject_costs=[0.7], cv=3)


def test_a_class_that_only_the_test_part_has_and_posteriors():
    X = np.linspace(-1, 1, 40)[:, None]
    y = np.where(X[:, 0] > 0, "b", "a").astype(object)
    y[:2] = "0"  # sorted before the others
    split = [(np.arange(2, 40), np.r_[0, 1, 10:30])]
    model = ThresholdRejectClassifier(LogisticRegression())
    result = compare([model], X, y, reject_costs=[0.05], cv=split)
    fitted = clone(model).set_params(reject_cost=0.05).fit(X[2:], y[2:])
    answers = fitted.predict(X[split[0][1]])
    (row,) = result.rows
    assert row["R"] == np.mean(answers == "reject")
    assert row["E"] == np.mean((answers != "reject") & (answers != y[split[0][1]]))


# ---- the baselines, and what is said ---------------------------------------------------------


def test_the_baselines_by_hand(data):
    X, y = data
    result = compare(METHODS, X, y, reject_costs=[0.1, 0.3], cv=3)
    assert {row["method"] for row in result.baselines} == {"review everything", "decide everything"}
    assert set(result.methods) == set(METHODS)
    assert_allclose(result.mean()["review everything"], [0.1, 0.3])
    assert set(result.values("review everything", 0.1, "R")) == {1.0}
    forced = {name: [] for name in METHODS}
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        for w in (0.1, 0.3):
            for name, model in METHODS.items():
                fitted = clone(model).set_params(reject_cost=w).fit(X[train], y[train])
                forced[name].append(np.mean(fitted.predict_forced(X[test]) != y[test]))
    means = {name: np.mean(errors) for name, errors in forced.items()}
    assert_allclose(np.mean(result.mean()["decide everything"]), min(means.values()))
    by = {r["params"]["method"] for r in result.baselines if r["method"] == "decide everything"}
    assert by == {min(means, key=means.get)}


def test_the_baseline_is_the_same_in_whichever_order_results_come(data, monkeypatch):
    X, y = data
    alike = dict.fromkeys("abc", next(iter(METHODS.values())))
    monkeypatch.setattr(
        "rejo.selection.comparison.progress", lambda done, *_, **__: reversed(list(done))
    )
    result = compare(alike, X, y, reject_costs=[0.1, 0.3], cv=3)
    by = {r["params"]["method"] for r in result.baselines if r["method"] == "decide everything"}
    assert by == {"a"}


def test_prices_of_the_baselines(data):
    X, y = data
    result = compare([ThresholdRejectClassifier(DummyClassifier())], X, y, cost_of=PRICES, cv=3)
    assert_allclose(result.mean()["review everything"], [0.5])
    # Without a review, the cheapest is to decide all as the first class.
    assert_allclose(result.mean()["decide everything"], [np.mean(y == 1)], atol=0.02)


def test_a_baseline_can_be_the_reference(data):
    result = compare(METHODS, *data, reject_costs=[0.3], cv=3, reference="review everything")
    assert [d.method for d in result.differences()] == ["svm", "linear", "decide everything"]
    (svm, *_) = result.differences()
    assert_allclose(svm.difference, result.mean()["svm"][0] - 0.3)


def comparison(**risks):
    """Four folds of methods with these risks; the baselines cost 0.2 and 0.3."""
    rows = [row(m, i, risk + (0.001 * i if m != "noisy" else 0.1 * (-1) ** i))
            for m, risk in risks.items() for i in range(4)]  # fmt: skip
    baselines = [row("review everything", i, 0.2) for i in range(4)]
    baselines += [row("decide everything", i, 0.3) | {"params": {"method": "a"}} for i in range(4)]
    return Comparison(rows, next(iter(risks)), baselines)


def test_the_verdict():
    assert comparison(a=0.1, b=0.15).verdict() == (
        "Lowest mean cost of a case: a, 0.1015. All others cost significantly more. Reviewing "
        "everything costs 0.2000, more than every method. Deciding everything (by a) costs "
        "0.3000, more than every method."
    )
    assert "chance: no other method" in comparison(a=0.1, noisy=0.11).verdict()
    said = comparison(a=0.1, noisy=0.11, c=0.25, d=0.35).verdict()
    assert "chance: noisy" in said
    assert "less than c and d" in said
    assert "less than d." in said
    assert "less than every method" in comparison(a=0.25).verdict()
    alone = [row("a", i, 0.1) for i in range(2)]
    assert Comparison(alone, "a").verdict() == "Lowest mean cost of a case: a, 0.1000."


@pytest.mark.check
def test_classes_without_an_order():
    X, y = make_synthetic_4(90, random_state=0)
    names = np.array(["red", "green", "blue"])[np.unique(y, return_inverse=True)[1]]
    standard, _ = standard_methods(3, 2, 90, ordered=False)
    assert "svm" not in standard
    assert "logistic-posterior" in standard
    some = ["logistic-posterior", "forest-posterior"]
    result = compare(some, X, names, reject_costs=[0.2], cv=2, inner_cv=2)
    numbers = compare(some, X, y, reject_costs=[0.2], cv=2, inner_cv=2)
    assert result.methods == numbers.methods == some
    with pytest.raises(ValueError, match="svm"):
        compare(["svm", *some], X, names)


def test_what_train_would_choose(data):
    X, y = data
    few = ("logistic-posterior", "kernel-posterior")
    methods = {"auto": Automatic(models=few), "chow": ThresholdRejectClassifier(SVC())}
    result = compare(methods, X, y, reject_costs=[0.1, 0.3], cv=2)
    prices = [uniform_prices(2, w) for w in (0.1, 0.3)]
    for fold, (train, test) in enumerate(
        StratifiedKFold(2, shuffle=True, random_state=0).split(X, y)
    ):
        choice = choose_model(StandardScaler(), X[train], y[train], models=few, prices=prices)
        model = choice.estimator.fit(X[train], y[train])
        for w in (0.1, 0.3):
            (row,) = (
                r for r in result.rows
                if (r["method"], r["fold"], r["reject_cost"]) == ("auto", fold, w)
            )  # fmt: skip
            decisions = model[-1].at(w).predict(model[:-1].transform(X[test]))
            assert_allclose(row["R"], np.mean(decisions == model[-1].reject_label_))
            assert row["params"]["model"] == choice.name
            assert row["tune_seconds"] > 0
    trained = compare({"auto": Automatic(models=("logistic",))}, X, y, reject_costs=[0.1], cv=2)
    assert [r["params"]["model"] for r in trained.rows] == ["logistic"] * 2


def test_auto_and_blend_are_methods():
    methods, grids = methods_to_compare(["blend", "svm", "auto"], ProblemSize(3, 2, 90))
    assert list(methods) == list(grids) == ["blend", "svm", "auto"]
    assert methods["blend"].models == ("blend",)
    assert all(isinstance(methods[name], Automatic) for name in ("auto", "blend"))
