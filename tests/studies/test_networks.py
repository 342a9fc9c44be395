"""Networks are those of RejoMLP, trained together; decisions from posteriors."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rejo import RejoMLP
from rejo.baselines import best_cutoffs, calibrated, fit_calibrator
from rejo.datasets import make_synthetic_1, make_synthetic_4
from rejo.replication import loss_from_costs, replica_costs
from studies.kernels import KERNEL_METHODS
from studies.networks import NETWORKS, _SplitNetworks
from studies.paper import TuningGrid
from studies.tasks import Task
from studies.tuning import (
    CHOW,
    ORDINAL,
    TrainTest,
    count,
    decide_by_chow,
    decide_by_loss,
    tune_posteriors,
)

pytestmark = pytest.mark.filterwarnings("ignore:solver='rprop' stopped")
SEED, COSTS = 12345, (0.1, 0.3)
GRID = TuningGrid(Cs=(1.0,), gammas=(1.0,), hs=(1.0,), units=(4, 7), n_folds=3)


def task_of(n_classes, n=90):
    """A task with three folds."""
    make = make_synthetic_1 if n_classes == 2 else make_synthetic_4
    (X, y), (X_test, y_test) = make(n, random_state=0), make(500, random_state=1)
    k, k_test = (np.unique(labels, return_inverse=True)[1] for labels in (y, y_test))
    rows = np.arange(n)
    folds = [(rows[rows % 3 != f], rows[rows % 3 == f]) for f in range(3)]
    return Task(X, k, X_test, k_test, n_classes, folds)


def mlp(units, reject_cost=None):
    return RejoMLP(
        (units,), loss="squared_error", solver="rprop", alpha=0.0, max_iter=15, tol=0.0,
        n_iter_no_change=np.inf, reject_cost=reject_cost, random_state=SEED,
    )  # fmt: skip


def tried_by(name, task):
    """Each reject cost, and what the method decides at it."""
    tried = NETWORKS[name](task, COSTS, GRID, SEED)
    return list(zip(COSTS, tried, strict=True))


def held_out_by(task, scores):
    """Scores (n, K-1) of each point by a fit on the folds without it."""
    found = np.empty((len(task.k), task.n_classes - 1))
    for train, test in task.folds:
        found[test] = scores(task.X[train], task.k[train], task.X[test])
    return found


def split_scores(units):
    """Scores of one RejoMLP for each split of the classes."""
    return lambda X, k, X_new: np.column_stack(
        [mlp(units).fit(X, k > j).boundary_scores(X_new) for j in range(k.max())]
    )


def ordinal_scores(units):
    return lambda X, k, X_new: mlp(units).fit(X, k).boundary_scores(X_new)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_network_for_all_boundaries_is_rejo_mlp(n_classes):
    task = task_of(n_classes)
    for w, tried in tried_by("rejoNN", task):
        model = mlp(tried.params["units"], w).fit(task.X, task.k)
        counts = (model.boundary_scores(task.X_test) > 0).sum(axis=1)
        assert np.mean(tried.outputs != counts) <= 0.002
        assert tried.crossing_rate == 0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_two_networks_at_a_boundary_are_independent(n_classes):
    task = task_of(n_classes)
    name = "MLP-2C" if n_classes == 2 else "FH-MLP-2C"
    for w, tried in tried_by(name, task):
        weights = replica_costs(n_classes, w)[task.k]
        above = [
            mlp(tried.params["units"])
            .fit(task.X, task.k > q // 2, sample_weight=weights[:, q])
            .boundary_scores(task.X_test)[:, 0]
            > 0
            for q in range(weights.shape[1])
        ]
        assert np.mean(tried.outputs != np.sum(above, axis=0)) <= 0.002


@pytest.mark.parametrize(
    ("name", "scores"), [("MLP-1C", ordinal_scores), ("FH-MLP-1C", split_scores)]
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_cutoffs_are_those_of_held_out_scores(name, scores, n_classes):
    task = task_of(n_classes)
    for w, tried in tried_by(name, task):
        score = scores(tried.params["units"])
        held_out, tested = held_out_by(task, score), score(task.X, task.k, task.X_test)
        costs = replica_costs(n_classes, w)[task.k]
        counts = 0
        for j in range(n_classes - 1):
            cuts = best_cutoffs(held_out[:, j], task.k > j, costs[:, 2 * j : 2 * j + 2])
            counts = counts + (tested[:, [j]] > cuts).sum(axis=1)
        assert np.mean(tried.outputs != counts) <= 0.002


def test_one_split_of_two_classes_is_one_network():
    task = task_of(2)
    for (_, one), (_, other) in zip(
        tried_by("MLP-1C", task), tried_by("FH-MLP-1C", task), strict=True
    ):
        assert one.params == other.params
        assert_array_equal(one.outputs, other.outputs)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_chow_decides_by_the_calibrated_scores_of_the_splits(n_classes):
    task = task_of(n_classes)
    calibrators, risks = {}, {}
    for units in GRID.units:
        held_out = held_out_by(task, split_scores(units))
        calibrators[units] = fit_calibrator(held_out, task.k, np.ones(len(task.k)), "sigmoid")
        p = calibrated(calibrators[units], held_out)
        for w in COSTS:
            risks[w, units] = float(count(decide_by_chow(p, w), task.k).risk(w))
    for w, tried in tried_by("Chow-MLP", task):
        units = tried.params["units"]
        assert risks[w, units] == pytest.approx(min(risks[w, u] for u in GRID.units), abs=1e-9)
        tested = split_scores(units)(task.X, task.k, task.X_test)
        outputs = decide_by_chow(calibrated(calibrators[units], tested), w)
        assert np.mean(tried.outputs != outputs) <= 0.002
        assert tried.crossing_rate is None


# ---- missing classes ---------------------------------------------------------------------


def with_gaps():
    """Five classes; the first fold lacks the lowest, the middle and the highest one."""
    rng = np.random.RandomState(0)
    k = np.repeat([1, 3], 40)
    k = np.concatenate([k, [0, 2, 4]])
    X = rng.normal(scale=0.3, size=(len(k), 2)) + k[:, None]
    rows = np.arange(len(k))
    test = (rows % 2 == 0) | (rows >= 80)
    folds = [(rows[~test], rows[test]), (rows[test], rows[~test])]
    return Task(X, k, X[:60], k[:60], 5, folds)


@pytest.mark.parametrize("name", NETWORKS)
def test_classes_that_are_missing_in_a_fold(name):
    task = with_gaps()
    for w, tried in tried_by(name, task):
        assert float(count(tried.outputs, task.k_test).risk(w)) < 0.5
        assert json.dumps(tried.params)


def test_a_split_with_one_side_has_a_constant_score():
    task = with_gaps()
    train, test = task.folds[0]
    part = TrainTest(task.X[train], task.k[train], task.X[test], task.folds[0])
    for _, scores in _SplitNetworks(task, SEED)(part, [{"units": 4}]):
        assert scores.shape == (len(test), 4)
        assert_array_equal(scores[:, 0], 1)  # all of 1 and 3 lie above the class 0
        assert_array_equal(scores[:, 3], -1)
        assert_allclose(scores[:, 1], scores[:, 2], rtol=1e-9)  # without 2 they are the same
        assert np.std(scores[:, 1]) > 0


# ---- decisions from posteriors ----------------------------------------------------------------


MACHINES = TuningGrid(Cs=(0.25, 4.0), gammas=(0.5,), hs=(1.0,), units=(4,), n_folds=2)


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
        tried = KERNEL_METHODS[name](task, costs, MACHINES, "rbf")
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
    for tried in KERNEL_METHODS[name](task, (0.1, 0.4), MACHINES, "rbf"):
        assert set(tried.outputs.tolist()) <= allowed
        assert np.mean(tried.outputs == 2 * task.k_test) > 0.5
