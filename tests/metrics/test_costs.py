"""The expected cost against adding up case by case."""

from functools import partial

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
        "cost_of": {"error": error, "review": review, "accuracy": accuracy},
    }
    cost = metrics.expected_cost(y_true, y_pred, sample_weight=weight, **given_)
    assert cost == pytest.approx(total / weight.sum())
    repeated = metrics.expected_cost(y_true.repeat(weight), y_pred.repeat(weight), **given_)
    assert cost == pytest.approx(repeated)


def test_one_error_cost_is_that_of_every_class():
    y_true, y_pred = np.array([1, 2, 2]), np.array([2, 0, 2])
    for error in (10, {1: 10, 2: 10, 7: 0}):
        prices = {"error": error, "review": 3, "accuracy": 0.5}
        assert metrics.expected_cost(y_true, y_pred, reject_label=0, cost_of=prices) == 6


@given(rows=points, a=prices, b=prices, review=prices, accuracy=st.floats(0, 1))
def test_one_grammar_for_all_ways_to_give_prices(rows, a, b, review, accuracy):
    y_true, y_pred, weight = map(np.array, zip(*rows, strict=True))
    cost = partial(metrics.expected_cost, y_true, y_pred, reject_label="?", sample_weight=weight)
    found = cost(cost_of={"error": {"a": a, "b": b}, "review": review, "accuracy": accuracy})
    text = f"error:a={a!r},b>a={b!r},review={review!r},accuracy={accuracy!r}"
    matrix = [[0, a, review + (1 - accuracy) * a], [b, 0, review + (1 - accuracy) * b]]
    assert cost(cost_of=text) == pytest.approx(found)
    assert cost(cost_of=matrix, classes=["a", "b"]) == pytest.approx(found)


def test_a_price_per_step_needs_an_order():
    y_true, y_pred = [1, 2, 3, 3], [3, 2, 1, 0]
    given_ = {"reject_label": 0, "cost_of": "step=10,review=4"}
    assert metrics.expected_cost(y_true, y_pred, **given_) == (20 + 20 + 4) / 4
    words = [["low", "mid", "top"][k - 1] for k in y_true], ["top", "mid", "low", 0]
    assert metrics.expected_cost(*words, classes=["low", "mid", "top"], **given_) == 11
    with pytest.raises(ValueError, match="step needs ordered classes"):
        metrics.expected_cost(*words, **given_)


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"error": -1}, "error"),
        ({"error": "ten"}, "ten"),
        ({"error": {0: 1}}, "error:1"),
        ({"error": {0: 1, 1: np.inf}}, "error:1"),
        ({"review": np.nan}, "review"),
        ({"review": True}, "review"),
        ({"accuracy": 90}, "accuracy"),
        ({"review": None}, "review"),
    ],
)
def test_wrong_prices_are_named(given_, message):
    with pytest.raises(ValueError, match=message):
        metrics.expected_cost(
            [0, 1], [0, -1], reject_label=-1, cost_of={"error": 1, "review": 0.2, **given_}
        )
    with pytest.raises(ValueError, match="y_true contains 1"):
        metrics.expected_cost([0, 1], [0, -1], cost_of="error=1,review=0.2", classes=[0, 2])
