"""Accuracy by group against the share of reviews: what is drawn is what was counted."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rejo import RejoLinear, RejoSVC
from rejo.datasets import make_synthetic_1
from rejo.displays import DisparityDisplay
from rejo.metrics import disparity_curve


@pytest.fixture(scope="module")
def cases():
    rng = np.random.default_rng(0)
    n = 3000
    group = rng.choice(["north", "south", "isle", "rock"], n, p=[0.6, 0.375, 0.02, 0.005])
    sureness = rng.random(n)
    chance = np.where(group == "north", 0.3 * (1 - sureness) ** 2, 0.1 + 0.1 * sureness)
    return np.zeros(n, dtype=int), (rng.random(n) < chance).astype(int), sureness, group


def names(display):
    return {text.get_text() for text in display.ax_.get_legend().get_texts()}


def test_lines_are_those_of_the_curve(cases):
    display = DisparityDisplay.from_predictions(*cases)
    curve = disparity_curve(*cases)
    order = np.argsort(-curve.n_cases)
    for line, g in zip(display.lines_, order, strict=False):
        drawn = line.get_ydata()
        enough = curve.n_decided[:, g] >= 30
        np.testing.assert_array_equal(line.get_xdata(), curve.share)
        np.testing.assert_array_equal(drawn[enough], curve.accuracy[enough, g])
        assert np.isnan(drawn[~enough]).all()
    assert display.ax_.get_ylabel() == "accuracy of the decided cases"


def test_lines_are_named_in_the_legend(cases):
    display = DisparityDisplay.from_predictions(*cases)
    assert names(display) == {"north", "south", "isle", "all"}
    handles = display.ax_.get_legend().legend_handles
    colours = [line.get_color() for line in display.lines_]
    assert [handle.get_color() for handle in handles] == [*colours, "black"]
    assert len(set(colours)) == len(colours)


def test_small_groups_are_dotted_or_left_out_and_it_says_so(cases):
    display = DisparityDisplay.from_predictions(*cases)
    assert "rock" not in names(display)  # never 30 cases
    label = display.ax_.get_xlabel()
    assert "dotted: fewer than 30 decided cases" in label
    assert "without 1 group that never has as many" in label
    everyone = DisparityDisplay.from_predictions(*cases, min_cases=1)
    assert "rock" in names(everyone)
    assert "without" not in everyone.ax_.get_xlabel()


def test_many_groups_have_no_bands_and_the_rest_is_grey():
    rng = np.random.default_rng(0)
    n = 4000
    group = rng.integers(20, size=n)
    wrong = (rng.random(n) < 0.1).astype(int)
    display = DisparityDisplay.from_predictions(np.zeros(n), wrong, rng.random(n), group)
    assert len(display.lines_) == 20
    assert sum(line.get_color() == "0.75" for line in display.lines_) == 6
    looks = {(line.get_color(), str(line.get_linestyle())) for line in display.lines_[:14]}
    assert len(looks) == 14
    assert not any(isinstance(c, PolyCollection) for c in display.ax_.collections)


def test_the_gap(cases):
    display = DisparityDisplay.from_predictions(*cases, show="gap", min_cases=100)
    line, dots = display.lines_
    np.testing.assert_array_equal(line.get_ydata(), display.curve.gap)
    wide = display.curve.change_low > 0
    assert wide.any()
    np.testing.assert_array_equal(dots.get_xdata(), display.curve.share[wide])
    assert "wider than without reviews, beyond chance" in display.ax_.get_xlabel()
    assert display.plot(show="accuracy") is display
    with pytest.raises(ValueError, match="show"):
        display.plot(show="both")


def test_the_queue_of_an_estimator():
    X, y = make_synthetic_1(600, random_state=0)
    group = np.where(X[:, 0] < 0.5, "left", "right")
    model = RejoSVC(gamma=4, reject_cost=0.2).fit(X[:100], y[:100])
    display = DisparityDisplay.from_estimator(model, X, y[:, None], group, shares=[0, 0.1, 0.4])
    queue = model.queue(X, fill=True)
    for share, row in zip(display.curve.share, display.curve.n_decided, strict=True):
        decided = queue.index[round(share * 600) :]
        for g, name in enumerate(display.curve.groups):
            assert row[g] == (group[decided] == name).sum()
    right = (queue["forced"].to_numpy() == y[queue.index])[round(display.curve.share[2] * 600) :]
    assert display.curve.overall[2] == pytest.approx(right.mean())


def test_a_pipeline_into_given_axes():
    X, y = make_synthetic_1(400, random_state=0)
    model = make_pipeline(StandardScaler(), RejoLinear(reject_cost=0.4)).fit(X, y)
    _, axes = plt.subplots(1, 2)
    display = DisparityDisplay.from_estimator(model, X, y, X[:, 1] > 0.5, ax=axes[1])
    assert display.ax_ is axes[1]
    assert display.curve.groups.tolist() == [False, True]


def test_without_groups_large_enough_nothing_breaks():
    y = np.zeros(8, dtype=int)
    display = DisparityDisplay.from_predictions(y, y, np.arange(8), [0, 1] * 4)
    assert names(display) == {"all"}
    display.plot(show="gap")
    assert np.isnan(display.curve.gap).all()
