"""The contract of a classifier that may reject, on a learner with given thresholds."""

import inspect
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

import rejo
import rejo.baselines
import rejo.estimators
from rejo import RejectClassifierCV, RejoLinear, RejoMLP, RejoSVC, ThresholdRejectClassifier
from rejo.estimators.boundaries import BoundaryClassifier
from rejo.estimators.classes import check_targets, choose_reject_label, encode_classes


class Ruler(BoundaryClassifier):
    """Scores ``x - edge`` for edges 1, 2, 3, ... on a line."""

    def __init__(
        self, reject_cost=0.2, s=None, loss_matrix=None, class_order=None, reject_label=None
    ):
        self.reject_cost = reject_cost
        self.s = s
        self.loss_matrix = loss_matrix
        self.class_order = class_order
        self.reject_label = reject_label

    def fit(self, X, y):
        X = self._check_X(X, reset=True)
        targets = check_targets(X, y, None, self.class_order, None, "Ruler")
        labels, _ = self._set_classes(targets.classes)
        self.edges_ = 1.0 + np.arange(labels.shape[1])
        return self

    def boundary_scores(self, X):
        check_is_fitted(self)
        return self._check_X(X, reset=False) - self.edges_


def ruler(classes=(0, 1, 2), **parameters):
    return Ruler(**parameters).fit(np.zeros((len(classes), 1)), list(classes))


# edges 1 2 3 4: class 0, reject 0|1, class 1, reject 1|2, class 2
POINTS = np.array([[0.0], [1.5], [2.5], [3.25], [9.0], [1.0], [3.75]])


def test_predict_counts_the_edges_below():
    assert_array_equal(ruler().predict(POINTS), [0, -1, 1, -1, 2, 0, -1])


def test_reject_mask():
    assert_array_equal(ruler().reject_mask(POINTS), [0, 1, 0, 1, 0, 0, 1])
    assert not ruler(reject_cost=None).reject_mask(POINTS).any()


def test_predict_forced_splits_a_reject_region_in_the_middle():
    assert_array_equal(
        ruler().predict_forced([[1.25], [1.5], [1.75], [3.4], [3.6]]), [0, 0, 1, 1, 2]
    )


def test_plain_ordinal_has_one_edge_between_classes():
    model = ruler(reject_cost=None)
    assert model.reject_label_ is None
    assert_array_equal(model.predict([[0.5], [1.5], [2.5]]), [0, 1, 2])
    assert_array_equal(model.predict_forced([[0.5], [1.5], [2.5]]), [0, 1, 2])


@given(
    st.lists(st.floats(-10, 10), min_size=1, max_size=20),
    st.integers(2, 5),
    st.sampled_from([0.2, None]),
)
def test_forced_is_the_decision_where_there_is_one_and_a_neighbour_elsewhere(x, K, reject_cost):
    model = ruler(range(K), reject_cost=reject_cost)
    X = np.array(x)[:, None]
    decided, forced = model.predict(X), model.predict_forced(X)
    rejected = model.reject_mask(X)
    assert_array_equal(decided[~rejected], forced[~rejected])
    assert (decided[rejected] == model.reject_label_).all()
    frame = model.review(X)
    assert ((frame.forced == frame.lower) | (frame.forced == frame.upper)).all()


# ---- review ------------------------------------------------------------------------------


def test_review_lists_decisions_and_ranks_the_doubtful():
    frame = ruler(["a", "b", "c"], class_order=["a", "b", "c"]).review(POINTS)
    names = ["decision", "reason", "forced", "lower", "upper", "distance", "rank"]
    assert frame.columns.tolist() == names
    rejected = frame["rank"].notna()
    assert (frame["reason"] == "ambiguous").equals(rejected)
    assert frame["reason"][~rejected].isna().all()
    assert frame.decision.tolist() == ["a", "reject", "b", "reject", "c", "a", "reject"]
    assert frame.forced.tolist() == ["a", "a", "b", "b", "c", "a", "c"]
    assert frame.lower.tolist() == ["a", "a", "a", "b", "b", "a", "b"]
    assert frame.upper.tolist() == ["b", "b", "b", "c", "c", "b", "c"]
    assert_allclose(frame.distance, [1, 0.5, 0.5, 0.25, 5, 0, 0.25])
    # 1.5 is in the middle of its region; 3.25 and 3.75 are equally far from theirs.
    assert frame["rank"].tolist() == [pd.NA, 1, pd.NA, 2, pd.NA, pd.NA, 3]


def test_review_pairs_a_rejected_point_with_its_own_region():
    """Even if the edge next to it, with the same score, belongs to another one."""
    model = ruler()
    model.edges_ = np.array([1.0, 2.0, 2.0, 3.0])
    frame = model.review([[1.9], [2.1]])
    assert frame.lower.tolist() == [0, 1]


def test_review_of_a_plain_model_has_no_rank():
    frame = ruler(reject_cost=None).review([[0.9], [1.9], [5.0]])
    assert frame["rank"].isna().all()
    assert frame.decision.tolist() == frame.forced.tolist() == [0, 1, 2]
    assert frame.lower.tolist() == [0, 1, 1]
    assert frame.upper.tolist() == [1, 2, 2]


def test_review_keeps_the_index_of_a_frame():
    X = pd.DataFrame({"x": [0.0, 1.5]}, index=["first", "second"])
    model = Ruler().fit(pd.DataFrame({"x": [0.0, 1.0, 2.0]}), [0, 1, 2])
    assert model.review(X).index.tolist() == ["first", "second"]
    assert model.review(X).loc["second", "rank"] == 1


def test_review_of_no_rows():
    model = ruler()
    model._check_X = lambda X, reset: X
    assert len(model.review(np.empty((0, 1)))) == 0


def test_review_without_pandas_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pandas"):
        ruler().review(POINTS)


# ---- score -------------------------------------------------------------------------------


def test_score_is_one_minus_the_risk():
    y = [0, 0, 2, 1, 2, 1, 1]  # decided 0 - 1 - 2 0 -
    assert ruler().score(POINTS, y) == pytest.approx(1 - (0.2 * 3 + 2) / 7)
    weight = [1, 2, 3, 4, 5, 6, 7]
    expected = 1 - (0.2 * (2 + 4 + 7) + 3 + 6) / 28
    assert ruler().score(POINTS, y, sample_weight=weight) == pytest.approx(expected)


def test_score_without_rejection_is_the_accuracy():
    assert ruler(reject_cost=None).score([[0.5], [1.5], [2.5], [2.5]], [0, 1, 1, 2]) == 0.75


def test_score_with_a_loss_matrix_is_one_minus_the_mean_loss():
    loss = np.array([[0, 0.1, 1, 2, 4], [3, 0.3, 0, 0.1, 1], [9, 5, 2, 0.4, 0]])
    model = ruler(loss_matrix=loss)
    assert model.score([[1.5], [9.0]], [2, 1]) == pytest.approx(1 - (5 + 1) / 2)
    assert model.score([[1.5], [9.0]], [2, 1], sample_weight=[3, 1]) == pytest.approx(1 - 16 / 4)
    plain = ruler(loss_matrix=[[0, 1, 2], [1, 0, 5], [2, 1, 0]])
    assert plain.score([[2.5], [0.0]], [1, 2]) == pytest.approx(1 - (5 + 2) / 2)
    with pytest.raises(ValueError, match="does not know"):
        model.score([[1.5]], [7])


def test_score_refuses_a_y_of_another_length():
    with pytest.raises(ValueError, match="inconsistent"):
        ruler().score(POINTS, [0, 1])


# ---- labels ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        ([0, 1, 2], -1),
        ([1, 2, 3], -1),
        ([-1, 1], 0),
        ([-1, 0, 1], -2),
        ([-3, -2, -1, 0], -4),
        ([0.0, 1.0], -1),
        ([-1.0, 0.0], -2),
        ([False, True], -1),
        (["a", "b"], "reject"),
        ([b"a", b"b"], b"reject"),
    ],
)
def test_default_reject_label(classes, expected):
    assert choose_reject_label(np.array(classes), None) == expected


@pytest.mark.parametrize(
    ("classes", "label", "dtype"),
    [
        (np.array(["a", "bb"]), None, "<U6"),
        (np.array(["a", "bb"]), "send it to review", "<U17"),
        (np.array(["a", "bb"], dtype=object), None, object),
        (np.array(["a", "b"]), -1, object),
        (np.array([1, 2]), None, np.int64),
        (np.array([1, 2], dtype=np.uint64), None, np.int64),
        (np.array([1, 2], dtype=np.int8), 1000, np.int64),
        (np.array([1, 2]), np.nan, np.float64),
        (np.array([1, 2]), "?", object),
        (np.array([1.0, 2.0]), None, np.float64),
        (np.array([b"a", b"b"]), None, "S6"),
    ],
)
def test_predictions_hold_every_label_uncut(classes, label, dtype):
    model = Ruler(reject_label=label).fit(np.zeros((2, 1)), classes)
    predicted = model.predict([[0.0], [1.5], [3.0]])
    assert predicted.dtype == dtype
    assert predicted.tolist()[::2] == classes.tolist()
    assert (
        predicted.tolist()[1] is model.reject_label_
        or predicted[1] == model.reject_label_
        or (np.isnan(predicted[1]) and np.isnan(label))
    )


def test_a_reject_label_that_is_a_class_is_refused():
    with pytest.raises(ValueError, match="reject_label"):
        ruler([0, 1], reject_label=1)
    with pytest.raises(ValueError, match="reject_label"):
        ruler(["accept", "reject"])
    assert ruler(["accept", "reject"], reject_label="?").reject_label_ == "?"
    assert ruler(["accept", "reject"], reject_cost=None).reject_label_ is None


# ---- class order -------------------------------------------------------------------------


def test_numbers_sort():
    classes, k = encode_classes([10, 9, 30, 9])
    assert_array_equal(classes, [9, 10, 30])
    assert_array_equal(k, [1, 0, 2, 0])


def test_two_strings_sort_and_three_need_an_order():
    assert encode_classes(["b", "a"])[0].tolist() == ["a", "b"]
    for y in (["lo", "mid", "hi"], np.array(["lo", "mid", "hi"], dtype=object)):
        with pytest.raises(ValueError, match="class_order"):
            encode_classes(y)
        classes, k = encode_classes(y, "sorted")
        assert classes.tolist() == ["hi", "lo", "mid"]
        classes, k = encode_classes(y, ["lo", "mid", "hi"])
        assert classes.tolist() == ["lo", "mid", "hi"]
        assert_array_equal(k, [0, 1, 2])


@pytest.mark.parametrize("wrap", [pd.Series, lambda c: c, lambda c: pd.Series(c).to_frame()])
def test_an_ordered_categorical_keeps_its_order_without_unused_categories(wrap):
    y = pd.Categorical(["hi", "lo", "hi", "mid"], ["lo", "none", "mid", "hi"], ordered=True)
    if isinstance(wrap(y), pd.DataFrame):
        with pytest.warns(DataConversionWarning):
            classes, k = encode_classes(wrap(y))
    else:
        classes, k = encode_classes(wrap(y))
    assert classes.tolist() == ["lo", "mid", "hi"]
    assert_array_equal(k, [2, 0, 2, 1])


def test_class_order_goes_before_a_categorical():
    y = pd.Categorical(["b", "a", "c"], ["a", "b", "c"], ordered=True)
    assert encode_classes(y, ["c", "b", "a"])[0].tolist() == ["c", "b", "a"]


def test_an_unordered_categorical_has_no_order():
    with pytest.raises(ValueError, match="class_order"):
        encode_classes(pd.Series(["lo", "mid", "hi"], dtype="category"))
    assert encode_classes(pd.Series([3, 1, 2], dtype="category"))[0].tolist() == [1, 2, 3]


def test_missing_categories_are_refused():
    with pytest.raises(ValueError, match="missing values"):
        encode_classes(pd.Categorical(["a", None], ["a", "b"], ordered=True))


def test_class_order_errors():
    with pytest.raises(ValueError, match="class_order"):
        encode_classes(["lo", "mid", "hi"], ["lo", "hi"])
    with pytest.raises(ValueError, match="class_order"):
        encode_classes(["lo", "hi"], ["lo", "hi", "lo"])
    # A class that a fold of a cross-validation does not have is left out.
    assert encode_classes(["lo", "hi"], ["lo", "mid", "hi"])[0].tolist() == ["lo", "hi"]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a", 1, None], "y mixes labels"),
        ([0.5, 1.0], "continuous"),
        ([0.0, np.nan], "NaN"),
        (np.array(["a", np.nan], dtype=object), "NaN"),
        ([[0, 1], [1, 0]], "1d array"),
    ],
)
def test_labels_that_are_not_classes(y, message):
    with pytest.raises(ValueError, match=message):
        encode_classes(y)


# ---- weights -----------------------------------------------------------------------------

X4 = np.zeros((4, 1))
Y4 = np.array(["a", "a", "a", "b"])


def targets(sample_weight=None, class_weight=None, y=Y4):
    return check_targets(X4, y, sample_weight, None, class_weight, "Ruler")


def test_no_weights_are_none():
    assert targets().weight is None
    assert targets().rows is None


def test_rows_of_weight_zero_are_left_out():
    result = targets([1, 0, 2, 3])
    assert_array_equal(result.rows, [0, 2, 3])
    assert_array_equal(result.indices, [0, 0, 1])
    assert_array_equal(result.weight, [1, 2, 3])


def test_class_weights_multiply_sample_weights():
    assert_allclose(targets(class_weight={"a": 2, "b": 5}).weight, [2, 2, 2, 5])
    assert_allclose(targets([1, 2, 3, 4], {"a": 2, "b": 5}).weight, [2, 4, 6, 20])
    assert_allclose(targets([1, 2, 3, 4], {"a": 2, "b": 5}).sample_weight, [1, 2, 3, 4])


def test_balanced_gives_each_class_the_same_total_weight():
    for weight in (None, [1, 2, 3, 4]):
        w = targets(weight, "balanced").weight
        assert w[:3].sum() == pytest.approx(w[3])
        assert w.sum() == pytest.approx(np.sum(weight) if weight else 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sample_weight": [1, -1, 1, 1]}, "negative"),
        ({"sample_weight": [1, np.nan, 1, 1]}, "NaN"),
        ({"sample_weight": [1, np.inf, 1, 1]}, "NaN"),
        ({"sample_weight": [0, 0, 0, 0]}, "zero"),
        ({"sample_weight": [1, 1, 1, 0]}, "'b'"),
        ({"sample_weight": [1e300, 1, 1, 1]}, "sample_weight"),
        ({"sample_weight": [1, 1]}, "shape"),
        ({"sample_weight": ["x", 1, 1, 1]}, "numbers"),
        ({"class_weight": {"a": -1.0, "b": 1}}, "class_weight"),
        ({"class_weight": {"c": 1}}, "class_weight"),
        ({"y": None}, "None"),
        ({"y": ["a"] * 4}, "'a'"),
        ({"y": ["a", "b"]}, "inconsistent"),
        ({"y": [0, 1, 1, np.nan]}, "NaN"),
        ({"y": [0, 1, 1, np.inf]}, "infinity"),
        ({"y": np.array([0, 1, 1, np.nan], object)}, "NaN"),
    ],
)
def test_targets_and_weights_that_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        targets(**arguments)


def test_an_unfitted_model_says_so():
    for method in ("predict", "predict_forced", "reject_mask", "review", "boundary_scores"):
        with pytest.raises(NotFittedError):
            getattr(Ruler(), method)(POINTS)
    with pytest.raises(NotFittedError):
        Ruler().score(POINTS, [0] * 7)


@pytest.mark.parametrize(
    "model",
    [
        RejoSVC(),
        ThresholdRejectClassifier(LogisticRegression()),
        RejectClassifierCV(make_pipeline(StandardScaler(), RejoSVC()), review_budget=0.1),
    ],
)
def test_a_column_of_words_is_named(model):
    frame = pd.DataFrame({"age": np.arange(20.0), "colour": ["red", "blue"] * 10})
    y = [0, 1] * 10
    message = "column {} of X"
    with pytest.raises(ValueError, match=message.format("'colour'")):
        model.fit(frame, y)
    with pytest.raises(ValueError, match=message.format(1)):
        model.fit(frame.to_numpy(dtype=object), y)


def test_values_whose_squares_overflow_are_refused():
    with pytest.raises(ValueError, match=r"X contains values of up to 1\.0e\+200"):
        Ruler().fit([[1e200], [0.0]], [0, 1])


# ---- what must not go unnoticed --------------------------------------------------------------


def ordered(n=60):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, np.digitize(X[:, 0] + 0.3 * rng.normal(size=n), [-0.5, 0.5])


@pytest.mark.parametrize(
    "model", [RejoMLP(solver="adam", random_state=0), RejoLinear()], ids=["mlp", "linear"]
)
def test_a_refused_continuation_leaves_the_model_as_it_was(model):
    X, y = ordered()
    model = clone(model).partial_fit(X, y, classes=[0, 1, 2])
    before = model.predict(X)
    with pytest.raises(ValueError, match="reject_cost"):
        model.set_params(reject_cost=None).partial_fit(X, y)
    assert_array_equal(model.set_params(reject_cost=0.2).predict(X), before)


@pytest.mark.parametrize(
    "model", [RejoMLP(solver="adam", random_state=0), RejoLinear()], ids=["mlp", "linear"]
)
def test_streams_check_class_weights_as_fits_do(model):
    X, y = ordered()
    model = clone(model).set_params(class_weight={0: -1.0, 1: 1.0, 2: 1.0})
    with pytest.raises(ValueError, match="class_weight"):
        model.partial_fit(X, y, classes=[0, 1, 2])


def test_a_row_of_weight_zero_does_not_count_in_a_stream():
    X, y = ordered()
    weight = (np.arange(len(y)) < 40).astype(float)
    scores = [
        RejoMLP(solver="adam", random_state=0)
        .partial_fit(X_part, y_part, classes=[0, 1, 2], sample_weight=w)
        .boundary_scores(X)
        for X_part, y_part, w in ((X, y, weight), (X[:40], y[:40], weight[:40]))
    ]
    assert_array_equal(*scores)


def test_score_refuses_labels_that_cannot_match():
    X, y = ordered()
    model = RejoSVC().fit(X, y)
    with pytest.raises(ValueError, match="text"):
        model.score(X, y.astype(str))
    with pytest.raises(ValueError, match="contains NaN"):
        model.score(X, np.where(y == 0, np.nan, y))


def test_score_keeps_the_prices_of_the_fit():
    X, y = ordered()
    model = RejoSVC().fit(X, y)
    expected = model.score(X, y)
    assert model.set_params(reject_cost=None).score(X, y) == expected


@pytest.mark.parametrize("order", [{"a", "b", "c"}, {"a": 0, "b": 1, "c": 2}])
def test_class_order_is_a_list(order):
    X, y = ordered()
    with pytest.raises(ValueError, match="class_order"):
        RejoSVC(class_order=order).fit(X, np.array(["a", "b", "c"])[y])


def test_a_reject_label_is_one_label():
    with pytest.raises(ValueError, match="reject_label"):
        RejoSVC(reject_label=[1]).fit(*ordered())


def test_entries_given_in_parts_are_added_up():
    X, y = ordered()
    whole = csr_array(X)
    halves = (np.repeat(whole.data / 2, 2), np.repeat(whole.indices, 2), 2 * whole.indptr)
    model = RejoSVC().fit(whole, y)
    parts = csr_array(halves, shape=X.shape)
    assert_allclose(model.boundary_scores(parts), model.boundary_scores(whole), atol=1e-9)
    assert_allclose(RejoSVC().fit(parts, y).boundary_scores(X), model.boundary_scores(X), atol=1e-9)


def test_a_path_leaves_its_model_alone():
    X, y = ordered()
    model = RejoSVC()
    model.fit_path(X, y, reject_costs=[0.1, 0.2])
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_the_queue_is_the_review_in_order():
    frame = pd.DataFrame(POINTS, columns=["x"], index=list("abcdefg"))
    model = Ruler().fit(frame.iloc[:3], [0, 1, 2])
    review, queue = model.review(frame), model.queue(frame)
    assert queue["rank"].tolist() == [1, 2, 3]
    assert queue.index.tolist() == ["b", "d", "g"]  # the middle first, then by their rows
    pd.testing.assert_frame_equal(queue, review.loc[queue.index])
    assert model.queue(frame, 2).index.tolist() == ["b", "d"]
    assert model.queue(frame, 0.3).index.tolist() == ["b", "d"]
    assert model.queue(frame, 0).empty
    assert len(model.queue(frame, 100)) == 3


def test_a_queue_may_go_on_with_decided_points():
    frame = pd.DataFrame(POINTS, columns=["x"], index=list("abcdefg"))
    model = Ruler().fit(frame.iloc[:3], [0, 1, 2])
    queue = model.queue(frame, 5, fill=True)
    assert queue.index.tolist() == ["b", "d", "g", "f", "c"]
    assert queue["rank"].isna().tolist() == [False] * 3 + [True] * 2
    assert len(model.queue(frame, fill=True)) == len(POINTS)


def test_a_fraction_of_the_points_is_a_whole_number_where_it_is_one():
    model, points = ruler(), np.tile(POINTS, (100, 1))[:100]
    for percent in range(100):  # 0.29 * 100 is 28.999999999999996
        assert len(model.queue(points, percent / 100, fill=True)) == percent


@pytest.mark.parametrize("capacity", [-1, 1.5, "all", True, float("nan")])
def test_a_wrong_capacity(capacity):
    with pytest.raises(ValueError, match="capacity"):
        ruler().queue(POINTS, capacity)


def test_sureness_ranks_the_forced_decisions():
    sureness = ruler().sureness(POINTS)
    assert sureness.argmin() == 1
    assert_allclose(sureness, [3.0, 0.0, 2.0, 0.5, 11.0, 1.0, 0.5])


@pytest.mark.parametrize("package", [rejo.estimators, rejo.baselines], ids=lambda p: p.__name__)
def test_every_public_method_has_a_docstring_of_its_own_or_of_its_base(package):
    for name in package.__all__:
        kind = getattr(package, name)
        for method, value in vars(kind).items():
            if callable(value) and not method.startswith("_"):
                assert inspect.getdoc(getattr(kind, method)), f"{name}.{method}"
    assert "Training points" in inspect.getdoc(rejo.RejoSVC.fit)


def test_an_audit_draws_from_the_decided_points():
    X, y = rejo.datasets.make_synthetic_1(400, random_state=0)
    model = RejoSVC(C=10, gamma=4).fit(X, y)
    plain, frame = model.review(X), model.review(X, audit=0.1, random_state=0)
    drawn = frame["reason"] == "policy"
    assert 15 <= drawn.sum() <= 45
    assert plain["reason"][drawn].isna().all()
    assert (frame["decision"][drawn] == model.reject_label_).all()
    assert frame["decision"][~drawn].equals(plain["decision"][~drawn])
    assert frame.equals(rejo.review(model, X, audit=0.1, random_state=0))
    with pytest.raises(ValueError, match="audit must be a share"):
        model.review(X, audit=5)
