"""The chance that a decision is wrong is one minus its posterior, wherever there are posteriors."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from rejo import RejoKernelLogistic, RejoLinear, RejoMLP, RejoSVC, ReplicationClassifier
from rejo.baselines import ThresholdRejectClassifier
from rejo.datasets import make_synthetic_1

X, Y = make_synthetic_1(200, random_state=0)


@pytest.mark.parametrize(
    "model",
    [
        RejoLinear(),
        RejoKernelLogistic(),
        RejoMLP(max_iter=20, random_state=0),
        RejoMLP(max_iter=20, random_state=0, loss="squared_error"),
        ReplicationClassifier(HistGradientBoostingClassifier(max_iter=20)),
        ReplicationClassifier(RandomForestClassifier(20, random_state=0)),
        ThresholdRejectClassifier(LogisticRegression()),
        ThresholdRejectClassifier(LogisticRegression(), rule="class"),
        ThresholdRejectClassifier(LogisticRegression(), cost_of={"error": 50, "review": 4}),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_chance_is_one_minus_the_posterior(model):
    model.fit(X, Y)
    found = model.judge(X)
    p = model.predict_proba(X)[np.arange(len(X)), found.forced]
    np.testing.assert_allclose(found.chance, 1 - p, atol=1e-9)
    frame = model.review(X)
    np.testing.assert_array_equal(frame["chance_wrong"], found.chance)
    assert frame.columns.tolist()[:4] == ["decision", "reason", "forced", "chance_wrong"]


@pytest.mark.parametrize(
    "model",
    [
        RejoSVC(),
        RejoLinear(loss="hinge"),
        ReplicationClassifier(LogisticRegression(), reject_cost=0.45),
        ThresholdRejectClassifier(LogisticRegression(), rule="score"),
    ],
)
def test_without_posteriors_there_is_no_chance(model):
    model.fit(X, Y)
    assert model.judge(X).chance is None
    assert "chance_wrong" not in model.review(X)


def test_of_three_classes_with_rejection_no_posterior_can_be_read():
    grade = np.digitize(X[:, 0], np.quantile(X[:, 0], [0.3, 0.6]))
    assert RejoLinear().fit(X, grade).judge(X).chance is None
    known = RejoLinear(reject_cost=None).fit(X, grade)
    p = known.predict_proba(X)[np.arange(len(X)), known.judge(X).forced]
    np.testing.assert_allclose(known.judge(X).chance, 1 - p)
