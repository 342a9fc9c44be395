"""Errors left against reviews done: against the queue itself, worked off review by review."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rejo import RejoLinear, RejoSVC
from rejo.datasets import make_synthetic_1
from rejo.displays import ReviewBudgetDisplay


def test_by_hand(legend_texts):
    y_true, y_pred = [0, 0, 1, 1, 1], [0, 1, 1, 0, 1]
    sureness = [0.1, 0.2, 0.3, 0.4, 0.5]
    display = ReviewBudgetDisplay.from_predictions(y_true, y_pred, sureness, name="net")
    np.testing.assert_allclose(display.reviewed, [0, 0.2, 0.4, 0.6, 0.8, 1])
    np.testing.assert_allclose(display.errors, [0.4, 0.4, 0.2, 0.2, 0, 0])
    np.testing.assert_array_equal(display.line_.get_xdata(), display.reviewed)
    np.testing.assert_array_equal(display.line_.get_ydata(), display.errors)
    _, random, ideal = (line.get_xydata() for line in display.ax_.lines)
    np.testing.assert_allclose(random, [[0, 0.4], [1, 0]])
    np.testing.assert_allclose(ideal, [[0, 0.4], [0.4, 0], [1, 0]])
    assert legend_texts(display) == ["net", "random order", "ideal order"]


def test_rejected_points_come_first():
    y_true, y_pred, sureness = [0, 0, 1, 1], [0, 1, 1, 0], [0.1, 0.2, 0.3, 0.4]
    display = ReviewBudgetDisplay.from_predictions(
        y_true, y_pred, sureness, rejected=[False, False, False, True]
    )
    np.testing.assert_allclose(display.errors, [0.5, 0.25, 0.25, 0, 0])
    own = display.ax_.lines[-1]
    np.testing.assert_allclose(own.get_xydata(), [[0.25, 0.25]])


@pytest.mark.parametrize("counts", [False, True])
def test_the_queue_of_an_estimator(counts):
    X, y = make_synthetic_1(150, random_state=0)
    model = RejoSVC(gamma=4, reject_cost=0.2).fit(X[:100], y[:100])
    display = ReviewBudgetDisplay.from_estimator(model, X, y, counts=counts)
    queue = model.queue(X, fill=True)
    wrong = queue["forced"].to_numpy() != y[queue.index]
    left = [wrong[done:].sum() for done in range(len(y) + 1)]  # after so many reviews
    unit = 1 if counts else len(y)
    drawn = np.interp(np.arange(len(y) + 1) / unit, *display.line_.get_data())
    np.testing.assert_allclose(drawn, np.array(left) / unit, atol=1e-12)
    assert display.n_rejected == model.reject_mask(X).sum()
    assert display.ax_.get_xlabel().startswith("reviews done")


def test_a_pipeline_and_classes_in_a_column():
    X, y = make_synthetic_1(100, random_state=0)
    model = make_pipeline(StandardScaler(), RejoLinear(reject_cost=0.4)).fit(X, y)
    display = ReviewBudgetDisplay.from_estimator(model, X, y[:, None])
    forced = model[-1].predict_forced(model[0].transform(X))
    assert display.errors[0] == pytest.approx(np.mean(forced != y))
    assert display.name == "RejoLinear"


def test_two_queues_in_one_picture(legend_texts):
    first = ReviewBudgetDisplay.from_predictions([0, 0, 1], [0, 1, 1], [1, 2, 3], name="a")
    second = ReviewBudgetDisplay.from_predictions(
        [0, 0, 1], [1, 1, 0], [1, 2, 3], name="b", ax=first.ax_
    )
    assert legend_texts(second) == ["a", "b", "random order", "ideal order"]
    assert first.line_.get_color() != second.line_.get_color()
    assert first.ax_.get_ylim()[1] >= 1


@pytest.mark.parametrize("rejected", [[True], [0.0, 1.0, 0.0]])
def test_a_wrong_mask_is_named(rejected):
    with pytest.raises(ValueError, match="rejected"):
        ReviewBudgetDisplay.from_predictions([0, 0, 1], [0, 1, 1], [1, 2, 3], rejected=rejected)


def test_a_wrong_sureness_is_named():
    with pytest.raises(ValueError, match="sureness"):
        ReviewBudgetDisplay.from_predictions(
            [0, 0, 1], [0, 1, 1], [[1, 2, 3]], rejected=[True, False, True]
        )
    with pytest.raises(ValueError, match="sureness"):
        ReviewBudgetDisplay.from_predictions(
            [0, 0, 1], [0, 1, 1], [1, np.nan, 3], rejected=[True, False, True]
        )
