"""The catalogue of methods: what it says of a method is true, and all lists follow from it."""

import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.utils.validation import has_fit_parameter

from rejo import catalogue, compare
from rejo.baselines import FrankHallReject, ThresholdRejectClassifier
from rejo.catalogue import (
    METHODS,
    TRAINED,
    Method,
    ProblemSize,
    find,
    standard_methods,
)
from rejo.cli import build_parser
from rejo.datasets import make_synthetic_1, make_synthetic_4
from rejo.estimators import RejoBoost, RejoLinear, RejoMLP, RejoSVC, ReplicationClassifier
from rejo.estimators.pipelines import cost_parameter

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
TAKES_WEIGHTS = has_fit_parameter(MLPClassifier(), "sample_weight")  # since scikit-learn 1.7


def built(method, n_classes=2, ordered=True):
    """Build a method at the first point of its grid."""
    model, grid, *_ = method.build(ProblemSize(n_classes, 2, 80, ordered=ordered))
    return model.set_params(**{key: next(iter(values)) for key, values in grid.items()})


def problem(n_classes):
    """Points of two or three classes: as ordered numbers, and as names without an order."""
    X, y = (make_synthetic_1 if n_classes == 2 else make_synthetic_4)(80, random_state=0)
    k = np.unique(y, return_inverse=True)[1]
    return X, k, np.array(["red", "green", "blue"])[k]


QUICK = {"logistic", "svm", "svm-cutoffs", "svm-pair", "logistic-posterior", "embedded"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.check) for name in METHODS],
)
def test_a_method_can_do_what_the_table_says(name):
    method = METHODS[name]
    X, k, _ = problem(2)
    if name == "mlp-pair" and not TAKES_WEIGHTS:
        with pytest.raises(ValueError, match="MLPClassifier takes no sample_weight"):
            built(method).fit(X, k)
        return
    model = clone(built(method)).fit(X, k)
    assert cost_parameter(model) is not None
    if TAKES_WEIGHTS or not (name == "blend" or name.startswith("mlp-")):
        model.fit(X, k, sample_weight=np.ones(len(k)))
    X, k, colour = problem(3)
    model = built(method, 3)
    if method.multiclass:
        assert set(np.unique(model.fit(X, k).predict(X))) <= {-1, 0, 1, 2}
    else:
        with pytest.raises(ValueError, match="binary"):
            model.fit(X, k)
    if method.unordered:
        assert len(built(method, 3, ordered=False).fit(X, colour).classes_) == 3
    else:
        with pytest.raises(ValueError, match=r"binary|order is not known"):
            model.fit(X, colour)


def test_names_and_labels_are_unique():
    assert [method.name for method in METHODS.values()] == list(METHODS)
    assert len({method.label for method in METHODS.values()}) == len(METHODS)


@pytest.mark.parametrize(
    ("name", "n_classes", "kind", "params"),
    [
        ("logistic", 2, RejoLinear, {}),
        ("svm", 3, RejoSVC, {}),
        ("mlp", 2, RejoMLP, {"hidden_layer_sizes": (10,)}),
        ("boosting", 2, RejoBoost, {"boundaries": "parallel"}),
        ("boosting", 3, RejoBoost, {"boundaries": "replicas"}),
        ("svm-cutoffs", 2, ThresholdRejectClassifier, {"rule": "score"}),
        ("svm-cutoffs", 3, FrankHallReject, {"per_split": 1}),
        ("svm-pair", 2, FrankHallReject, {"per_split": 2}),
        ("svm-pair", 3, FrankHallReject, {"per_split": 2}),
        ("mlp-posterior", 3, ThresholdRejectClassifier, {"rule": "chow"}),
        ("boosting-class", 2, ThresholdRejectClassifier, {"rule": "class"}),
    ],
)
def test_what_a_name_means(name, n_classes, kind, params):
    model = built(METHODS[name], n_classes)
    assert type(model) is kind
    assert {key: model.get_params()[key] for key in params} == params


def test_scikit_learn_boosts_where_xgboost_is_not_installed(monkeypatch):
    monkeypatch.setattr(catalogue, "BOOST", False)
    assert type(built(METHODS["boosting"], 2)) is ReplicationClassifier
    inner = built(METHODS["boosting-posterior"], 3).estimator
    assert type(inner) is HistGradientBoostingClassifier


def test_a_new_method_is_offered_everywhere(monkeypatch):
    def build(problem):
        return catalogue.Built(RejoLinear(), {"C": (0.1, 1.0)})

    method = Method(name="new", label="a new method", build=build, standard=True)
    monkeypatch.setitem(METHODS, "new", method)
    X, k, _ = problem(2)
    names = ["new", "svm"]
    methods, grids = standard_methods(2, 2, 80, names=names)
    assert list(methods) == names
    assert grids["new"] == {"rejolinear__C": (0.1, 1.0)}
    assert "new" in standard_methods(2, 2, 80)[0]
    result = compare(methods, X, k, reject_costs=[0.2], param_grids=grids, cv=2, inner_cv=2)
    assert result.methods == names
    assert "a new method" in _help("compare")
    by_name = compare(names, X, k, reject_costs=[0.2], cv=2, inner_cv=2)
    assert by_name.mean() == result.mean()


def test_the_models_of_train_are_the_learners():
    assert TRAINED[:4] == ("logistic", "svm", "mlp", "boosting")
    for command in ("train", "demo"):
        assert ",".join(TRAINED) in re.sub(r"\s+", "", _help(command))


def test_methods_are_found_by_name():
    assert [method.name for method in find(["mlp", "svm"])] == ["mlp", "svm"]
    with pytest.raises(ValueError, match="'forest' is not a method; methods: logistic, svm"):
        find(["forest"])
    with pytest.raises(ValueError, match="'embedded' takes two classes only; there are 3"):
        standard_methods(3, 2, 80, names=["embedded"])


def _help(command):
    """Return the help of a command."""
    (commands,) = (a for a in build_parser()._actions if hasattr(a, "choices") and a.choices)
    return commands.choices[command].format_help()
