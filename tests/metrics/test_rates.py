"""The measures against plain counting, and the errors that name what is wrong."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejo import metrics
from rejo._errors import RejoError

MEASURES = [
    metrics.rejection_rate,
    metrics.error_rate,
    metrics.accepted_accuracy,
    metrics.overall_accuracy,
    lambda *args, **kwargs: metrics.empirical_risk(*args, reject_cost=0.2, **kwargs),
    lambda *args, **kwargs: metrics.classification_quality(*args, y_forced=args[0], **kwargs),
    lambda *args, **kwargs: metrics.rejection_quality(*args, y_forced=args[0], **kwargs),
]

points = st.lists(
    st.tuples(st.sampled_from([0, 1, 2]), st.sampled_from([0, 1, 2, -1]), st.integers(0, 5)),
    min_size=1,
    max_size=30,
)


def counts(rows):
    """Count right decisions, rejections and wrong decisions, one row at a time."""
    right = rejected = wrong = 0
    for true, pred, weight in rows:
        if pred == -1:
            rejected += weight
        elif pred == true:
            right += weight
        else:
            wrong += weight
    return right, rejected, wrong


@given(rows=points.filter(lambda rows: any(row[2] for row in rows)), cost=st.floats(0, 1))
def test_measures_agree_with_counting(rows, cost):
    right, rejected, wrong = counts(rows)
    total = right + rejected + wrong
    y_true, y_pred, weight = map(np.array, zip(*rows, strict=True))
    given_ = {"reject_label": -1, "sample_weight": weight}

    assert metrics.rejection_rate(y_true, y_pred, **given_) == pytest.approx(rejected / total)
    assert metrics.error_rate(y_true, y_pred, **given_) == pytest.approx(wrong / total)
    assert metrics.empirical_risk(y_true, y_pred, reject_cost=cost, **given_) == pytest.approx(
        (cost * rejected + wrong) / total
    )
    overall = metrics.overall_accuracy(y_true, y_pred, **given_)
    assert overall == pytest.approx((right + rejected) / total)
    accuracy = metrics.accepted_accuracy(y_true, y_pred, **given_)
    if right + wrong:
        assert accuracy == pytest.approx(right / (right + wrong))
    else:
        assert math.isnan(accuracy)


@given(
    rows=points.filter(lambda rows: any(row[2] for row in rows)),
    data=st.data(),
)
def test_qualities_agree_with_counting(rows, data):
    forced = [data.draw(st.integers(0, 2)) if pred == -1 else pred for _, pred, _ in rows]
    kinds = {(right, rejected): 0 for right in (True, False) for rejected in (True, False)}
    for (true, pred, weight), decision in zip(rows, forced, strict=True):
        kinds[true == decision, pred == -1] += weight
    ca, ea, cr, er = kinds[True, False], kinds[False, False], kinds[True, True], kinds[False, True]
    y_true, y_pred, weight = map(np.array, zip(*rows, strict=True))
    given_ = {"y_forced": forced, "reject_label": -1, "sample_weight": weight}

    quality = metrics.classification_quality(y_true, y_pred, **given_)
    assert quality == pytest.approx((ca + er) / (ca + ea + cr + er))
    quality = metrics.rejection_quality(y_true, y_pred, **given_)
    if not cr + er or not ca + cr or not ea + er:
        assert math.isnan(quality)
    elif not cr:
        assert quality == math.inf
    else:
        assert quality == pytest.approx((er / cr) / ((er + ea) / (cr + ca)))


@pytest.mark.parametrize("quality", [metrics.classification_quality, metrics.rejection_quality])
def test_wrong_forced_decisions_are_named(quality):
    y_true, y_pred = [0, 1], [0, -1]
    for y_forced, error in (([0], ValueError), (y_pred, ValueError), (["0", "1"], TypeError)):
        with pytest.raises(error, match="y_forced"):
            quality(y_true, y_pred, y_forced=y_forced)


def test_all_rejected_by_a_text_while_the_classes_are_numbers():
    y_pred = np.array(["reject", "reject"])
    assert metrics.rejection_rate([0, 1], y_pred, reject_label="reject") == 1


TRUE, PRED = ["low", "low", "high", "high"], ["low", "reject", "low", "high"]


@pytest.mark.parametrize(
    ("y_true", "y_pred", "reject_label"),
    [
        (TRUE, PRED, "reject"),
        (np.array(TRUE), np.array(PRED), "reject"),
        (np.array(TRUE), np.array(PRED, dtype=object), "reject"),
        (np.array(TRUE, dtype=object), np.array(PRED), "reject"),
        (pd.Series(TRUE, index=[9, 8, 7, 6]), pd.Series(PRED), "reject"),
        (pd.Series(TRUE, dtype="category"), np.array(PRED), "reject"),
        (np.array(TRUE), np.array(["low", -1, "low", "high"], dtype=object), -1),
        ([1, 1, 2, 2], [1, "reject", 1, 2], "reject"),
        (np.array([1, 1, 2, 2]), np.array([1, "reject", 1, 2], dtype=object), "reject"),
        (np.array([1.0, 1.0, 2.0, 2.0]), np.array([1, 0, 1, 2], dtype=np.int8), 0),
        (np.array([False, False, True, True]), np.array([0, -1, 0, 1]), -1),
        (pd.Series([1, 1, 2, 2], dtype="Int64"), [1, -1, 1, 2], np.int64(-1)),
        (np.array(TRUE, dtype="S"), np.array(PRED, dtype="S"), b"reject"),
    ],
)
def test_kinds_of_labels(y_true, y_pred, reject_label):
    for given_ in ({"reject_label": reject_label}, {}):  # {}: it is found
        assert metrics.rejection_rate(y_true, y_pred, **given_) == 0.25
        assert metrics.error_rate(y_true, y_pred, **given_) == 0.25
        assert metrics.accepted_accuracy(y_true, y_pred, **given_) == pytest.approx(2 / 3)


KINDS = {  # three classes, and a rejection
    "numbers": (0, 1, 2, -1),
    "floats": (0.5, 1.5, 2.5, math.inf),
    "text": ("a", "b", "c", "?"),
    "bytes": (b"a", b"b", b"c", b"?"),
    "numbers and text": (1, 2, 3, "reject"),
    "booleans": (False, True, 2, "reject"),
}
FORMS = [list, pd.Series, lambda y: np.array(y, dtype=object)]


@given(
    kind=st.sampled_from(sorted(KINDS)),
    rows=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=12),
    forms=st.tuples(st.sampled_from(FORMS), st.sampled_from(FORMS)),
    complete=st.booleans(),
)
def test_the_reject_label_is_found_or_asked_for(kind, rows, forms, complete):
    """Measures agree with those of the label that is given, where there is no doubt about it."""
    labels = KINDS[kind]
    true, pred = ([labels[k] for k in column] for column in zip(*rows, strict=True))
    y_true, y_pred = (form(y) for form, y in zip(forms, (true, pred), strict=True))
    known = labels[:3] if complete else tuple(set(true))
    unknown = set(pred) - set(known)
    given_ = {"classes": known} if complete else {}
    for measure in MEASURES:
        if unknown and not {isinstance(v, str) for v in pred} & {isinstance(v, str) for v in true}:
            with pytest.raises(TypeError, match="can never be equal"):
                measure(y_true, y_pred, **given_)
        elif not unknown or len(unknown) == 1 < len(known):
            label = next(iter(unknown), labels[3])
            expected = measure(true, pred, reject_label=label)
            assert measure(y_true, y_pred, **given_) == pytest.approx(expected, nan_ok=True)
        else:
            with pytest.raises(RejoError) as caught:
                measure(y_true, y_pred, **given_)
            assert caught.value.parameter == "reject_label"
            assert all(repr(label) in caught.value.problem for label in unknown)


def test_labels_that_may_be_a_class_that_does_not_occur():
    assert metrics.rejection_rate([0, 2, 2], [0, 1, 2]) == 1 / 3  # as far as one can see
    assert metrics.error_rate([0, 2, 2], [0, 1, 2], classes=[0, 1, 2]) == 1 / 3
    assert metrics.error_rate([0, 2, 2], [0, 1, 2], reject_label=-1) == 1 / 3
    assert metrics.error_rate([0, 0, 0], [0, 1, -1], classes=[0, 1]) == 1 / 3
    # A column of categories knows its classes.
    y_true = pd.Series(["a", "b", "b"], dtype=pd.CategoricalDtype(["a", "b", "c"]))
    assert metrics.rejection_rate(y_true, ["a", "b", "?"]) == 1 / 3
    for y, pred in ((y_true, ["a", "b", "c"]), ([0, 0], [0, 1]), ([0, 2, 2], [0, 1, -1])):
        with pytest.raises(RejoError, match="reject_label"):
            metrics.error_rate(y, pred)
    for given_ in ({}, {"reject_label": -1}):
        with pytest.raises(ValueError, match="y_true contains 2"):
            metrics.error_rate([0, 2], [0, 1], classes=[0, 1], **given_)
    with pytest.raises(ValueError, match="y_pred contains 2"):
        metrics.error_rate([0, 1], [0, 2], classes=[0, 1], reject_label=-1)


@pytest.mark.parametrize(
    ("y_true", "y_pred", "reject_label", "error", "name"),
    [
        ([0, 1], [0], -1, ValueError, "y_true and y_pred"),
        ([], [], -1, ValueError, "y_true"),
        ([[0], [1]], [0, 1], -1, ValueError, "y_true"),
        ([0, 1], np.eye(2), -1, ValueError, "y_pred"),
        ([0.0, np.nan], [0, 1], -1, ValueError, "y_true"),
        ([0, 1], np.array([0, np.nan]), None, ValueError, "y_pred"),
        (["a", None], ["a", "b"], "reject", TypeError, "y_true"),
        (["a", "b"], ["a", None], None, TypeError, "y_pred"),
        ([1, pd.NA], [1, 1], -1, TypeError, "y_true"),
        ([0, 1], [0, 1], float("nan"), ValueError, "reject_label"),
        ([0, 1], [0, 1], object(), TypeError, "reject_label"),
        ([-1, 1], [-1, 1], -1, ValueError, "reject_label=-1"),
        # Numbers are not compared with text, which NumPy makes of the numbers in the first array.
        ([1, 2], np.array([1, "reject"]), "reject", TypeError, "y_pred"),
        ([1, 2], np.array([1, "reject"]), None, TypeError, "y_pred"),
        (np.array(["1", "2"]), np.array([1, 2]), -1, TypeError, "y_pred"),
        (["1", "2"], [1, 2], "reject", TypeError, "y_pred"),
        (np.array(["a", "b"]), np.array(["a", -1]), -1, TypeError, "reject_label=-1"),
        ([1, 2], np.array([1, -1]), "reject", TypeError, "reject_label='reject'"),
    ],
)
def test_wrong_labels_are_named(y_true, y_pred, reject_label, error, name):
    for measure in MEASURES:
        with pytest.raises(error, match=name):
            measure(y_true, y_pred, reject_label=reject_label)


@pytest.mark.parametrize("weight", [[1, 2, 3], [1, -1], [1, np.nan], [1, np.inf], [0, 0]])
def test_wrong_weights_are_named(weight):
    for measure in MEASURES:
        with pytest.raises(ValueError, match="sample_weight"):
            measure([0, 1], [0, -1], reject_label=-1, sample_weight=weight)


def test_huge_and_tiny_weights_keep_their_ratio():
    for scale in (8e307, 1e-300):  # the sum of the first ones is beyond the largest float
        rate = metrics.rejection_rate(
            [0, 1, 1], [0, -1, 1], reject_label=-1, sample_weight=np.array([1, 2, 1]) * scale
        )
        assert rate == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("cost", "error"),
    [
        ("0.2", TypeError),
        (None, TypeError),
        (True, TypeError),
        (-0.1, ValueError),
        (1.5, ValueError),
    ],
)
def test_wrong_reject_cost_is_named(cost, error):
    with pytest.raises(error, match="reject_cost"):
        metrics.empirical_risk([0, 1], [0, -1], reject_label=-1, reject_cost=cost)
