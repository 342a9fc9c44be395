"""The choice between kinds of model: the least risk, repeatable, carried over to the rivals."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from rejo import make_synthetic_1
from rejo.baselines import FrankHallReject, ThresholdRejectClassifier, TwoClassifierReject
from rejo.catalogue import METHODS, TRAINED, ProblemSize
from rejo.selection import choice as choices
from rejo.selection import choose_family, reject_curve
from rejo.selection.choice import rivals_of


@pytest.fixture(scope="module")
def data():
    X, y = make_synthetic_1(150, random_state=0)
    return X, np.where(y > 0, "high", "low")


@pytest.fixture(scope="module")
def choice(data):
    return choose_family(
        ["logistic", "svm"], StandardScaler(), *data, cv=3, class_order=["low", "high"],
        reject_label="ask",
    )  # fmt: skip


@pytest.mark.parametrize("name", TRAINED)
def test_each_learner_has_a_plain_classifier_with_the_same_parameters(name):
    family = METHODS[name].build(ProblemSize(2, 4, 100))
    assert "reject_cost" in family.estimator.get_params()
    for key in family.grid:
        assert key in family.estimator.get_params()
        assert key.removeprefix(family.inside) in family.plain.get_params()


def test_an_unknown_learner(data):
    with pytest.raises(ValueError, match="'forest' is not a method; methods: logistic, svm"):
        choose_family(["forest"], StandardScaler(), *data)


def test_the_least_risk_is_taken(choice):
    assert set(choice.risks) == {"logistic", "svm"}
    assert choice.name == min(choice.risks, key=lambda name: choice.risks[name].mean())
    assert choice.name == "svm"  # no line separates these classes
    assert choice.n_cases == 150


def test_the_risk_is_that_of_the_curve(choice, data):
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    curve = reject_curve(choice.estimator, *data, reject_costs=choice.reject_costs, cv=folds)
    np.testing.assert_allclose(choice.risks[choice.name], curve.risks.mean(axis=0))
    family = METHODS[choice.name].build(ProblemSize(2, 2, 150))
    for key, values in family.grid.items():
        assert choice.params[key] in list(values)
        for value in list(values)[:2]:  # others are not better
            other = choice.estimator.set_params(**{f"model__{key}": value})
            rival = reject_curve(other, *data, reject_costs=choice.reject_costs, cv=folds)
            assert rival.risk.mean() >= curve.risk.mean() - 1e-9
        choice.estimator.set_params(**{f"model__{key}": choice.params[key]})


def test_the_estimator_is_ready_to_be_fitted(choice, data):
    with pytest.raises(NotFittedError):
        check_is_fitted(choice.estimator)
    assert [name for name, _ in choice.estimator.steps] == ["prepare", "model"]
    fitted = choice.estimator.fit(*data)
    assert fitted.classes_.tolist() == ["low", "high"]
    assert set(fitted.predict(data[0])) <= {"low", "high", "ask"}


def test_it_is_repeatable(data):
    X, y = data
    options = {"cv": 3, "max_cases": 80}
    first, again, parallel, other = (
        choose_family(["logistic"], StandardScaler(), X, y, **options, **more)
        for more in ({}, {}, {"n_jobs": 2}, {"random_state": 1})
    )
    for found in (again, parallel):
        assert found.params == first.params
        np.testing.assert_array_equal(found.risks["logistic"], first.risks["logistic"])
    assert not np.array_equal(other.risks["logistic"], first.risks["logistic"])


def test_cases_are_drawn_if_there_are_many(data, monkeypatch):
    X, y = data
    seen = []

    def risks(pipelines, X, y, costs, splits, n_jobs, verbose):
        seen.append(np.array(y))
        return np.zeros((len(pipelines), 3))

    monkeypatch.setattr(choices, "_risks", risks)
    choice = choose_family(["logistic"], StandardScaler(), X, y, cv=3, max_cases=60)
    assert choice.n_cases == 60
    shares = (y == "low").mean(), (seen[0] == "low").mean()
    assert len(seen[0]) == 60
    assert shares[0] == pytest.approx(shares[1], abs=1 / 60)
    assert all(np.array_equal(some, seen[0]) for some in seen)
    assert choose_family(["logistic"], StandardScaler(), X, y, cv=3).n_cases == 150


@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_rivals_have_the_parameters_of_the_choice(name, n_classes):
    family = METHODS[name].build(ProblemSize(n_classes, 2, 100))
    params = {key: list(values)[-1] for key, values in family.grid.items()}
    labels = {"class_order": [*"abc"][:n_classes], "reject_label": "ask"}
    model = family.estimator.set_params(**params, **labels)
    pipeline = choices.Pipeline([("prepare", StandardScaler()), ("model", model)])
    choice = choices.Choice(name, pipeline, params, {name: np.zeros(5)}, [0.2], 100)
    rivals = rivals_of(choice, n_classes)
    kinds = [type(rival[-1]) for rival in rivals.values()]
    pair = TwoClassifierReject if n_classes == 2 else FrankHallReject
    assert sorted(kinds, key=str) == sorted([ThresholdRejectClassifier, pair], key=str)
    assert {label.partition(", ")[2] for label in rivals} == {
        "Chow's rule",
        "two classifiers",
    }
    for rival in rivals.values():
        assert isinstance(rival[0], StandardScaler)
        assert rival[-1].class_order == labels["class_order"]
        assert rival[-1].reject_label == "ask"
        for key, value in params.items():
            assert rival[-1].estimator.get_params()[key.removeprefix(family.inside)] == value


def test_rivals_can_be_fitted(choice, data):
    for rival in rivals_of(choice, 2).values():
        assert set(rival.fit(*data).predict(data[0])) <= {"low", "high", "ask"}
