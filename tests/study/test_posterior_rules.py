"""Decisions by posteriors: the least expected loss, whatever classes there are."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rejo.replication import loss_from_costs, replica_costs
from rejo.study._cells import TuningGrid
from rejo.study._data import Task
from rejo.study._kernel_methods import KERNEL_METHODS
from rejo.study._posterior_rules import (
    CHOW,
    ORDINAL,
    decide_by_chow,
    decide_by_loss,
    tune_posteriors,
)

GRID = TuningGrid(Cs=(0.25, 4.0), gammas=(0.5,), hs=(1.0,), units=(4,), n_folds=2)


def posteriors(n_classes, n=200, seed=0):
    return np.random.RandomState(seed).dirichlet(np.ones(n_classes), n)


def ordered_task(classes=(0, 1, 2), n_classes=3, n=60, scale=0.6):
    """Points on a line in the plane; class ``k`` lies around ``k``."""

    def draw(n, seed):
        rng = np.random.RandomState(seed)
        k = np.tile(classes, n // len(classes) + 1)[:n]
        return rng.normal(scale=scale, size=(n, 2)) + k[:, None], k

    (X, k), (X_test, k_test) = draw(n, 0), draw(2000, 1)
    rows = np.arange(n)
    half = rows % 4 < 2
    folds = [(rows[half], rows[~half]), (rows[~half], rows[half])]
    return Task(X, k, X_test, k_test, n_classes, folds)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("w", [0.05, 0.2, 0.45])
def test_the_ordinal_rule_has_the_least_expected_loss(n_classes, w):
    p = posteriors(n_classes)
    costs = replica_costs(n_classes, w)
    found = decide_by_loss(p, w)
    for each, output in zip(p, found, strict=True):
        # The loss of an output, by the definition: the costs of the boundaries that are wrong.
        expected = [
            sum(
                each[k] * costs[k, q]
                for k in range(n_classes)
                for q in range(2 * n_classes - 2)
                if (o > q) != (k > q // 2)
            )
            for o in range(2 * n_classes - 1)
        ]
        assert expected[output] <= min(expected) + 1e-12


@pytest.mark.parametrize("w", [0.05, 0.2, 0.45])
def test_the_two_rules_are_one_for_two_classes(w):
    p = posteriors(2)
    assert_array_equal(decide_by_loss(p, w), decide_by_chow(p, w))


@pytest.mark.parametrize("w", [0.05, 0.2, 0.45])
def test_chow_has_the_least_expected_risk_and_rejects_towards_the_second_class(w):
    p = posteriors(4)
    outputs = decide_by_chow(p, w)
    rejected = outputs % 2 == 1
    assert_array_equal(rejected, 1 - p.max(axis=1) > w)
    assert_array_equal(outputs[~rejected], 2 * p[~rejected].argmax(axis=1))
    top, second = np.argsort(-p[rejected], axis=1)[:, :2].T
    assert ((outputs[rejected] > 2 * top) == (second > top)).all()


def test_risks_by_hand():
    outputs, k = np.array([0, 1, 3, 4, 2]), np.array([0, 0, 0, 0, 2])
    assert CHOW.risk(outputs, k, 0.2) == pytest.approx((0.2 + 0.2 + 1 + 1) / 5)
    loss = loss_from_costs(replica_costs(3, 0.2))
    expected = (loss[0, 1] + loss[0, 3] + loss[0, 4] + loss[2, 2]) / 5
    assert ORDINAL.risk(outputs, k, 0.2) == pytest.approx(expected)


def test_parameters_have_the_least_risk_of_the_rule():
    """Scores that are the class plus noise: more noise loses."""
    task = ordered_task(n=200)
    noise = {"much": 2.0, "little": 0.1, "some": 1.0}

    def scores(part, grid):
        rows = task.k_test if part.fold is None else task.k[part.fold[1]]
        rng = np.random.RandomState(0)
        for j, params in enumerate(grid):
            yield (
                j,
                rows[:, None]
                - [0.5, 1.5]
                + noise[params["noise"]] * rng.normal(size=(len(rows), 1)),
            )

    for rule in (CHOW, ORDINAL):
        for tried in tune_posteriors(task, [0.1, 0.3], [{"noise": n} for n in noise], scores, rule):
            assert tried.params == {"noise": "little"}
            assert np.mean(tried.outputs == 2 * task.k_test) > 0.9
            assert tried.crossing_rate is None


def test_each_rule_has_the_lower_risk_of_its_kind():
    task, costs = ordered_task((0, 1, 2, 3, 4), 5, n=300, scale=1.2), (0.1, 0.2, 0.3, 0.4)
    risks = {}
    for name, rule in (("Chow-SVC", CHOW), ("Ordinal-SVC", ORDINAL)):
        tried = KERNEL_METHODS[name](task, costs, GRID, "rbf")
        for measure in (CHOW, ORDINAL):
            risks[rule, measure] = np.mean(
                [
                    measure.risk(one.outputs, task.k_test, w)
                    for w, one in zip(costs, tried, strict=True)
                ]
            )
    assert risks[ORDINAL, ORDINAL] < risks[CHOW, ORDINAL]
    assert risks[CHOW, CHOW] < risks[ORDINAL, CHOW]


@pytest.mark.parametrize("name", ["Chow-SVC", "Ordinal-SVC"])
def test_a_class_that_was_not_trained_on_is_never_put_out(name):
    task = ordered_task((0, 2, 3), 5)
    allowed = {0, 1, 4, 5, 6}
    for tried in KERNEL_METHODS[name](task, (0.1, 0.4), GRID, "rbf"):
        assert set(tried.outputs.tolist()) <= allowed
        assert np.mean(tried.outputs == 2 * task.k_test) > 0.5
