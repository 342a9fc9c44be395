"""The confusion matrix and the ordinal risk against counting, and crossed boundaries."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejo import RejoSVC, metrics
from rejo.replication import loss_from_costs, replica_costs

# True class, output 0..4 (odd: rejected between two classes), weight.
points = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=30
).filter(lambda rows: any(row[2] for row in rows))
NAMES = np.array(["low", "mid", "high"])  # not in the order of the alphabet


def decisions(rows):
    """Labels, decisions, lower classes and weights."""
    true, output, weight = map(np.array, zip(*rows, strict=True))
    y_pred = np.where(output % 2 == 1, "?", NAMES[output // 2])
    return NAMES[true], y_pred, NAMES[output // 2], weight


@given(rows=points)
def test_the_matrix_agrees_with_counting(rows):
    y_true, y_pred, lower, weight = decisions(rows)
    wide, narrow = np.zeros((3, 5)), np.zeros((3, 4))
    for true, output, w in rows:
        wide[true, output] += w
        narrow[true, 3 if output % 2 else output // 2] += w
    given_ = {"reject_label": "?", "classes": NAMES}

    weighted = metrics.reject_confusion_matrix(y_true, y_pred, sample_weight=weight, **given_)
    np.testing.assert_array_equal(weighted, narrow)
    weighted = metrics.reject_confusion_matrix(
        y_true, y_pred, lower=lower, sample_weight=weight, **given_
    )
    np.testing.assert_array_equal(weighted, wide)

    y_true, y_pred, lower = (array.repeat(weight) for array in (y_true, y_pred, lower))
    counted = metrics.reject_confusion_matrix(y_true, y_pred, lower=lower, **given_)
    np.testing.assert_array_equal(counted, wide)
    assert counted.dtype.kind == "i"


@given(rows=points)
def test_the_measures_can_be_read_off_the_matrix(rows):
    y_true, y_pred, lower, weight = decisions(rows)
    given_ = {"reject_label": "?", "sample_weight": weight}
    matrix = metrics.reject_confusion_matrix(y_true, y_pred, classes=NAMES, **given_)
    n, right, rejected = matrix.sum(), np.trace(matrix), matrix[:, -1].sum()
    assert metrics.rejection_rate(y_true, y_pred, **given_) == pytest.approx(rejected / n)
    assert metrics.error_rate(y_true, y_pred, **given_) == pytest.approx((n - right - rejected) / n)

    loss = np.arange(15.0).reshape(3, 5) - 7  # any numbers
    matrix = metrics.reject_confusion_matrix(y_true, y_pred, classes=NAMES, lower=lower, **given_)
    risk = metrics.ordinal_risk(
        y_true, y_pred, loss_matrix=loss, classes=NAMES, lower=lower, **given_
    )
    assert risk == pytest.approx((matrix * loss).sum() / n)


def test_by_default_the_classes_are_sorted_and_rejections_are_last():
    matrix = metrics.reject_confusion_matrix([2, 1, 1], [3, -1, 1], reject_label=-1)
    np.testing.assert_array_equal(matrix, [[1, 0, 0, 1], [0, 0, 1, 0], [0, 0, 0, 0]])
    matrix = metrics.reject_confusion_matrix([1, 2], [1, 1], reject_label=None)
    np.testing.assert_array_equal(matrix, [[1, 0, 0], [1, 0, 0]])


def test_two_classes_have_one_place_for_a_rejection():
    risk = metrics.ordinal_risk(
        [0, 1, 1],
        [0, -1, 0],
        loss_matrix=[[0, 0.2, 1], [2, 0.4, 0]],
        classes=[0, 1],
        reject_label=-1,
    )
    assert risk == pytest.approx((0.4 + 2) / 3)


def test_a_square_loss_is_for_classifiers_that_never_reject():
    loss = np.abs(np.subtract.outer(np.arange(3), np.arange(3)))
    risk = metrics.ordinal_risk(
        [0, 1, 2], [2, 1, 1], loss_matrix=loss, classes=[0, 1, 2], reject_label=None
    )
    assert risk == 1
    with pytest.raises(ValueError, match=r"has no loss for a rejection, but 1 points .* \(3, 5\)"):
        metrics.ordinal_risk(
            [0, 1, 2], [2, -1, 1], loss_matrix=loss, classes=[0, 1, 2], reject_label=-1
        )


def test_entries_of_decided_points_are_not_read():
    for lower in ([None, 1], pd.Series([np.nan, 1])):
        matrix = metrics.reject_confusion_matrix(
            [1, 2], [1, -1], reject_label=-1, classes=[1, 2], lower=lower
        )
        np.testing.assert_array_equal(matrix, [[1, 0, 0], [0, 1, 0]])


def test_the_review_of_a_classifier_gives_what_is_needed():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = NAMES[np.digitize(X[:, 0] + rng.normal(scale=0.4, size=150), [-0.5, 0.5])]
    loss = loss_from_costs(replica_costs(3, reject_cost=0.3))
    model = RejoSVC(kernel="linear", class_order=NAMES, loss_matrix=loss).fit(X, y)
    review = model.review(X)
    assert 0 < (review["decision"] == model.reject_label_).sum() < 150
    risk = metrics.ordinal_risk(
        y,
        review["decision"],
        loss_matrix=loss,
        classes=model.classes_,
        reject_label=model.reject_label_,
        lower=review["lower"],
    )
    assert risk == pytest.approx(1 - model.score(X, y))
    assert metrics.crossing_rate(model.boundary_scores(X)) == 0


LOSS = np.ones((3, 5))


@pytest.mark.parametrize(
    ("given_", "error", "message"),
    [
        ({"lower": None}, ValueError, "lower"),
        ({"lower": [0, 1]}, ValueError, "lower"),
        ({"lower": [0, 2, 0]}, ValueError, "lower"),
        ({"lower": [0, None, 0]}, TypeError, "lower"),
        ({"classes": [0, 1]}, ValueError, r"y_pred contains 2, which is not one of \[0, 1\]"),
        ({"classes": [0, 2]}, ValueError, r"y_true contains 1, which is not one of \[0, 2\]"),
        ({"classes": [0, 1, 1]}, ValueError, "classes"),
        ({"classes": [0]}, ValueError, "classes"),
        ({"classes": [-1, 0, 1, 2]}, ValueError, "reject_label=-1"),
        (
            {"loss_matrix": np.ones((3, 4))},
            ValueError,
            "loss_matrix",
        ),
        ({"loss_matrix": LOSS * np.nan}, ValueError, "loss_matrix"),
        ({"loss_matrix": [[0, 1], [1]]}, ValueError, "loss_matrix"),
    ],
)
def test_wrong_arguments_of_the_ordinal_risk_are_named(given_, error, message):
    right = {"loss_matrix": LOSS, "classes": [0, 1, 2], "lower": [0, 0, 0]}
    with pytest.raises(error, match=message):
        metrics.ordinal_risk([0, 1, 1], [0, -1, 2], reject_label=-1, **{**right, **given_})


def test_wrong_arguments_of_the_matrix_are_named():
    with pytest.raises(ValueError, match="lower"):
        metrics.reject_confusion_matrix([0, 1], [0, -1], reject_label=-1, lower=[0, 0])
    with pytest.raises(TypeError, match="pass classes"):
        metrics.reject_confusion_matrix([0, "b"], [0, "b"], reject_label=-1)
    with pytest.raises(ValueError, match="sample_weight"):
        metrics.reject_confusion_matrix([0, 1], [0, 1], reject_label=-1, sample_weight=[1, -1])


@given(
    rows=st.lists(
        st.tuples(st.tuples(*[st.integers(-2, 2)] * 4), st.integers(0, 3)), min_size=1, max_size=20
    ).filter(lambda rows: any(row[1] for row in rows))
)
def test_boundaries_cross_where_scores_are_not_sorted(rows):
    crossed = sum(w for scores, w in rows if sorted(scores, reverse=True) != list(scores))
    scores, weight = [row[0] for row in rows], [row[1] for row in rows]
    rate = metrics.crossing_rate(scores, sample_weight=weight)
    assert rate == pytest.approx(crossed / sum(weight))


def test_scores_of_boundaries():
    assert metrics.crossing_rate([[1.0], [-1.0]]) == 0  # one boundary has none to cross
    assert metrics.crossing_rate([[np.inf, -np.inf], [np.inf, np.inf]]) == 0
    for scores in ([1.0, 2.0], np.empty((0, 2)), np.empty((2, 0))):
        with pytest.raises(ValueError, match="scores"):
            metrics.crossing_rate(scores)
    with pytest.raises(ValueError, match="scores"):
        metrics.crossing_rate([[1.0, np.nan]])
    with pytest.raises(ValueError, match="sample_weight"):
        metrics.crossing_rate([[1.0, 2.0]], sample_weight=[1, 2])
