"""The expected cost against adding up case by case."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejo import metrics

points = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("ab?"), st.integers(0, 4)),
    min_size=1,
    max_size=30,
).filter(lambda rows: any(row[2] for row in rows))
prices = st.floats(0, 1e4)


@given(rows=points, a=prices, b=prices, review=prices, accuracy=st.floats(0, 1))
def test_the_cost_agrees_with_adding_up(rows, a, b, review, accuracy):
    error = {"a": a, "b": b}
    total = 0.0
    for true, pred, weight in rows:
        if pred == "?":
            total += weight * (review + (1 - accuracy) * error[true])
        elif pred != true:
            total += weight * error[true]
    y_true, y_pred, weight = map(np.array, zip(*rows, strict=True))
    given_ = {
        "reject_label": "?",
        "error": error,
        "review": review,
        "reviewer_accuracy": accuracy,
    }
    cost = metrics.expected_cost(y_true, y_pred, sample_weight=weight, **given_)
    assert cost == pytest.approx(total / weight.sum())
    repeated = metrics.expected_cost(y_true.repeat(weight), y_pred.repeat(weight), **given_)
    assert cost == pytest.approx(repeated)


@given(rows=points, cost=st.floats(0, 1), error=prices, accuracy=st.floats(0, 1))
def test_the_cost_is_the_risk_in_another_unit(rows, cost, error, accuracy):
    y_true, y_pred, weight = map(np.array, zip(*rows, strict=True))
    given_ = {"reject_label": "?", "sample_weight": weight}
    risk = metrics.empirical_risk(y_true, y_pred, reject_cost=cost, **given_)
    perfect = metrics.expected_cost(y_true, y_pred, error=error, review=cost * error, **given_)
    assert perfect == pytest.approx(error * risk)

    share = metrics.rejection_rate(y_true, y_pred, **given_)
    real = metrics.expected_cost(
        y_true,
        y_pred,
        error=error,
        review=cost * error,
        reviewer_accuracy=accuracy,
        **given_,
    )
    assert real == pytest.approx(perfect + share * (1 - accuracy) * error)


def test_one_error_cost_is_that_of_every_class():
    y_true, y_pred = np.array([1, 2, 2]), np.array([2, 0, 2])
    given_ = {"reject_label": 0, "review": 3, "reviewer_accuracy": 0.5}
    one = metrics.expected_cost(y_true, y_pred, error=10, **given_)
    each = metrics.expected_cost(y_true, y_pred, error={1: 10, 2: 10, 7: 0}, **given_)
    assert one == each == 6


@pytest.mark.parametrize(
    ("given_", "error", "message"),
    [
        ({"error": -1}, ValueError, "error must be at least 0, got -1"),
        ({"error": "10"}, TypeError, "error must be a number, got '10'"),
        ({"error": {0: 1}}, ValueError, r"error has no cost for the class 1 in y_true; it has \[0"),
        ({"error": {0: 1, 1: np.inf}}, ValueError, r"error\[1\] must be at least 0, got inf"),
        ({"review": np.nan}, ValueError, "review must be at least 0, got nan"),
        ({"review": True}, TypeError, "review must be a number, got True"),
        ({"reviewer_accuracy": 90}, ValueError, "reviewer_accuracy must be between 0 and 1, .* 90"),
    ],
)
def test_wrong_prices_are_named(given_, error, message):
    with pytest.raises(error, match=message):
        metrics.expected_cost(
            [0, 1], [0, -1], reject_label=-1, **{"error": 1, "review": 0.2, **given_}
        )
