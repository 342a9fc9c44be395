"""The table of true classes against decisions and reviews."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rejo import RejoLinear
from rejo.baselines import ThresholdRejectClassifier
from rejo.datasets import make_synthetic_4
from rejo.displays import RejectConfusionDisplay
from rejo.metrics import reject_confusion_matrix

Y_TRUE = ["low", "low", "low", "low", "mid", "mid", "high"]
Y_PRED = ["low", "low", "low", "mid", "?", "mid", "?"]
CLASSES = ["low", "mid", "high"]


def texts(display):
    return [[text.get_text() for text in row] for row in display.text_]


def columns(display):
    return [label.get_text() for label in display.ax_.get_xticklabels()]


def test_counts_and_shares_by_hand():
    display = RejectConfusionDisplay.from_predictions(
        Y_TRUE, Y_PRED, reject_label="?", classes=CLASSES
    )
    np.testing.assert_array_equal(display.matrix, [[3, 1, 0, 0], [0, 1, 0, 1], [0, 0, 0, 1]])
    np.testing.assert_array_equal(
        display.shares_, [[0.75, 0.25, 0, 0], [0, 0.5, 0, 0.5], [0, 0, 0, 1]]
    )
    assert texts(display) == [
        ["3\n75%", "1\n25%", "0", "0"],
        ["0", "1\n50%", "0", "1\n50%"],
        ["0", "0", "0", "1\n100%"],
    ]
    assert columns(display) == [*CLASSES, "review"]
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == CLASSES


def test_a_review_column_between_neighbours():
    display = RejectConfusionDisplay.from_predictions(
        Y_TRUE, Y_PRED, reject_label="?", classes=CLASSES, lower=["low"] * 5 + ["mid"] * 2
    )
    np.testing.assert_array_equal(
        display.matrix, [[3, 0, 1, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 1, 0]]
    )
    assert columns(display) == ["low", "review", "mid", "review", "high"]


def test_hue_shows_the_outcome_and_depth_the_share():
    display = RejectConfusionDisplay.from_predictions(
        Y_TRUE, Y_PRED, reject_label="?", classes=CLASSES
    )
    red, green, blue = np.moveaxis(display.ax_.images[0].get_array(), -1, 0)
    right, wrong, review, empty = (0, 0), (0, 1), (1, 3), (2, 0)
    assert blue[right] > green[right] > red[right]
    assert red[wrong] > green[wrong] > blue[wrong]
    assert red[review] == green[review] == blue[review] < 1
    assert red[empty] == green[empty] == blue[empty] == 1
    assert blue[2, 3] < blue[review]


def test_default_classes_are_sorted():
    display = RejectConfusionDisplay.from_predictions([2, 1, 2], [2, -1, 3], reject_label=-1)
    assert display.classes.tolist() == [1, 2, 3]
    assert columns(display) == ["1", "2", "3", "review"]


def test_rounding_never_hides_a_case():
    matrix = np.array([[998, 1, 1], [0, 0, 0]])
    display = RejectConfusionDisplay(matrix=matrix, classes=np.array([0, 1])).plot()
    assert texts(display) == [["998\n>99%", "1\n<1%", "1\n<1%"], ["0", "0", "0"]]
    np.testing.assert_array_equal(display.shares_[1], 0)


def test_sums_of_weights():
    display = RejectConfusionDisplay.from_predictions(
        [0, 0, 1], [0, -1, 1], reject_label=-1, sample_weight=[1.5, 0.5, 2]
    )
    np.testing.assert_array_equal(display.matrix, [[1.5, 0, 0.5], [0, 2, 0]])
    assert texts(display)[0] == ["1.5\n75%", "0", "0.5\n25%"]


@pytest.mark.parametrize("ordinal", [False, True])
def test_the_decisions_of_an_estimator(ordinal):
    X, y = make_synthetic_4(150, random_state=0)
    model = make_pipeline(StandardScaler(), RejoLinear(reject_cost=0.2)).fit(X, y)
    display = RejectConfusionDisplay.from_estimator(model, X, y[:, None], ordinal=ordinal)
    linear, Z = model[-1], model[0].transform(X)
    expected = reject_confusion_matrix(
        y,
        linear.predict(Z),
        reject_label=linear.reject_label_,
        classes=linear.classes_,
        lower=linear.review(Z)["lower"] if ordinal else None,
    )
    np.testing.assert_array_equal(display.matrix, expected)
    assert display.matrix.shape == ((3, 5) if ordinal else (3, 4))
    assert display.figure_ is display.ax_.figure


def test_a_classifier_that_never_rejects():
    X, y = make_synthetic_4(150, random_state=0)
    display = RejectConfusionDisplay.from_estimator(LogisticRegression().fit(X, y), X, y)
    np.testing.assert_array_equal(display.matrix[:, -1], 0)


def test_rejections_between_distant_classes_have_no_column():
    X = np.array([[0.0], [0.0], [0.0], [0.0], [5.0], [9.0], [9.0]])
    y = np.array([0, 2, 0, 2, 1, 1, 1])
    model = ThresholdRejectClassifier(LogisticRegression(), reject_cost=0.1).fit(X, y)
    judgement = model.judge(X)
    distant = (judgement.decision < 0) & (judgement.upper - judgement.lower > 1)
    assert distant.any()
    with pytest.raises(ValueError, match="rejects between others too; use ordinal=False"):
        RejectConfusionDisplay.from_estimator(model, X, y, ordinal=True)


@pytest.mark.parametrize(
    ("shape", "ordinal", "message"),
    [
        ((3, 3), False, "matrix"),
        ((3, 4), True, "matrix"),
    ],
)
def test_a_wrong_shape_is_named(shape, ordinal, message):
    display = RejectConfusionDisplay(matrix=np.ones(shape), classes=CLASSES, ordinal=ordinal)
    with pytest.raises(ValueError, match=message):
        display.plot()
