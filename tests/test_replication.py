"""The reduction, against the tables of the paper written out."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from rejo.replication import (
    costs_from_loss,
    decode,
    extension_vectors,
    loss_from_costs,
    replica_costs,
    replica_labels,
    replicate,
)

# TABLE costs (K = 2) and TABLE ordinalcosts (K > 2) as printed: a line for each replica, a
# column for each class; l is the low cost, h the high one.
TABLES = {
    2: """
        -1;l +1;h
        -1;h +1;l
    """,
    3: """
        -1;l +1;h +1;h
        -1;h +1;l +1;h
        -1;h -1;l +1;h
        -1;h -1;h +1;l
    """,
    4: """
        -1;l +1;h +1;h +1;h
        -1;h +1;l +1;h +1;h
        -1;h -1;l +1;h +1;h
        -1;h -1;h +1;l +1;h
        -1;h -1;h -1;l +1;h
        -1;h -1;h -1;h +1;l
    """,
    5: """
        -1;l +1;h +1;h +1;h +1;h
        -1;h +1;l +1;h +1;h +1;h
        -1;h -1;l +1;h +1;h +1;h
        -1;h -1;h +1;l +1;h +1;h
        -1;h -1;h -1;l +1;h +1;h
        -1;h -1;h -1;h +1;l +1;h
        -1;h -1;h -1;h -1;l +1;h
        -1;h -1;h -1;h -1;h +1;l
    """,
}

X1 = np.zeros((2, 1))
COSTS = replica_costs(2, 0.2)


def read_table(text, low, high):
    lines = [
        [cell.split(";") for cell in line.split()] for line in text.split("\n") if line.strip()
    ]
    labels = [[float(label) for label, _ in line] for line in lines]
    costs = [[{"l": low, "h": high}[cost] for _, cost in line] for line in lines]
    return np.transpose(labels), np.transpose(costs)  # (n_classes, n_replicas)


@pytest.mark.parametrize("n_classes", TABLES)
@pytest.mark.parametrize("reject_cost", [0.04, 0.2, 0.5])
def test_labels_and_costs_are_the_tables_of_the_paper(n_classes, reject_cost):
    labels, costs = read_table(TABLES[n_classes], low=reject_cost, high=1 - reject_cost)
    assert_array_equal(replica_labels(n_classes), labels)
    assert_array_equal(replica_costs(n_classes, reject_cost), costs)


def test_plain_ordinal_has_one_replica_for_each_boundary():
    assert_array_equal(replica_labels(3, reject=False), [[-1, -1], [1, -1], [1, 1]])
    assert_array_equal(replica_costs(3, None), np.ones((3, 2)))


def test_s_leaves_distant_classes_out():
    assert_allclose(
        replica_costs(4, 0.2, s=1),
        [
            [0.2, 0.8, 0.0, 0.0, 0.0, 0.0],
            [0.8, 0.2, 0.2, 0.8, 0.0, 0.0],
            [0.0, 0.0, 0.8, 0.2, 0.2, 0.8],
            [0.0, 0.0, 0.0, 0.0, 0.8, 0.2],
        ],
    )
    assert_array_equal(replica_costs(4, None, s=2), [[1, 1, 0], [1, 1, 1], [1, 1, 1], [0, 1, 1]])
    assert_array_equal(replica_costs(4, 0.2, s=3), replica_costs(4, 0.2))


def test_induced_loss_of_two_classes_is_the_papers():
    assert_allclose(loss_from_costs(replica_costs(2, 0.2)), [[0, 0.2, 1], [1, 0.2, 0]])


@pytest.mark.parametrize("n_classes", [2, 3, 5, 8])
@pytest.mark.parametrize("w", [0.04, 0.2, 0.5])
def test_induced_loss_grows_with_the_distance(n_classes, w):
    """0, w, 1, 2 - w, 3 - 2 w, ...; with neighbours only 0, w, 1, 1, ..."""
    D = np.abs(np.arange(2 * n_classes - 1) - 2 * np.arange(n_classes)[:, None])
    grown = np.where(D == 0, 0, w + (D - 1) * (1 - w))
    assert_allclose(loss_from_costs(replica_costs(n_classes, w)), grown)
    capped = np.array([0, w] + [1] * (2 * n_classes - 3))[D]
    assert_allclose(loss_from_costs(replica_costs(n_classes, w, s=1)), capped)
    distance = np.abs(np.arange(n_classes) - np.arange(n_classes)[:, None])
    assert_array_equal(loss_from_costs(replica_costs(n_classes, None)), distance)


@st.composite
def cost_matrices(draw):
    n_classes = draw(st.integers(2, 6))
    n_replicas = (n_classes - 1) * draw(st.sampled_from([1, 2]))
    return draw(arrays(float, (n_classes, n_replicas), elements=st.integers(0, 1000)))


@given(cost_matrices())
def test_loss_and_costs_are_inverse(costs):
    loss = loss_from_costs(costs)
    assert loss.shape == (costs.shape[0], costs.shape[1] + 1)
    assert_array_equal(costs_from_loss(loss), costs)


@given(cost_matrices(), st.data())
def test_induced_loss_is_the_sum_over_replicas_on_the_wrong_side(costs, data):
    n_classes, n_replicas = costs.shape
    k = data.draw(st.integers(0, n_classes - 1))
    count = data.draw(st.integers(0, n_replicas))
    labels = replica_labels(n_classes, reject=n_replicas == 2 * (n_classes - 1))[k]
    answers = np.where(np.arange(n_replicas) < count, 1, -1)
    assert loss_from_costs(costs)[k, count] == costs[k][answers != labels].sum()


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        ([[0, 0.2, 1], [1, 1.2, 0]], r"row 1 .* must not rise before column 2, .* after column 0"),
        ([[0, 0.2, 0.1], [1, 0.2, 0]], r"row 0 .* must not fall after column 0, .* after column 1"),
        ([[0, 0.2, 1], [1, 0.2, 0.1]], r"row 1 .* must be 0 in column 2"),
        ([[0, 0.2, np.nan], [1, 0.2, 0]], r"row 0 .* must be finite"),
        ([[0, -0.2, 1], [1, 0.2, 0]], r"row 0 .* must not fall after column 0"),
        ([[0, 1, 2, 3], [1, 1, 0, 2]], r"shape \(2, 4\)"),
        ([[0, 1]], r"shape \(1, 2\)"),
        ([["a", 1], [1, 0]], r"matrix of numbers"),
        ([[0, 1], [1]], r"matrix of numbers"),
    ],
)
def test_a_loss_that_no_costs_induce_is_refused(loss, message):
    with pytest.raises(ValueError, match=f"loss_matrix.*{message}"):
        costs_from_loss(loss)


def test_extension_vectors():
    assert_array_equal(extension_vectors(3, 2.0), [[0, 0], [2, 0], [0, 2]])
    assert_array_equal(
        extension_vectors(4, 0.5, "thermometer"),
        [[0, 0, 0], [0.5, 0, 0], [0.5, 0.5, 0], [0.5, 0.5, 0.5]],
    )
    assert_array_equal(extension_vectors(4, 0.5, "ordinal"), [[0], [0.5], [1], [1.5]])
    for coding in ("onehot", "thermometer", "ordinal"):
        assert extension_vectors(1, coding=coding).shape == (1, 0)


@pytest.mark.parametrize(
    "make", [np.asarray, sparse.csr_matrix, sparse.csr_array, sparse.coo_array]
)
def test_replicated_set_is_replica_major(make):
    X = np.array([[5.0, 0.0], [7.0, 1.0], [0.0, 3.0]])
    y, weight = np.array([0, 2, 1]), np.array([1.0, 2.0, 3.0])
    costs = replica_costs(3, 0.2)
    Xr, yr, wr = replicate(make(X), y, costs, h=4.0, sample_weight=weight)
    assert sparse.issparse(Xr) == sparse.issparse(make(X))
    Xr = Xr.toarray() if sparse.issparse(Xr) else Xr
    assert Xr.shape == (12, 5)
    for q in range(4):
        for i in range(3):
            row = q * 3 + i
            assert_array_equal(Xr[row], [*X[i], *extension_vectors(4, 4.0)[q]])
            assert yr[row] == replica_labels(3)[y[i], q]
            assert wr[row] == costs[y[i], q] * weight[i]


def test_replicate_takes_lists_and_other_codings():
    Xr, yr, wr = replicate([[1], [2]], [1, 0], [[1], [3]], coding="thermometer")
    assert_array_equal(Xr, [[1], [2]])  # one replica has no extension
    assert_array_equal(yr, [1, -1])
    assert_array_equal(wr, [3, 1])


@pytest.mark.parametrize("coding", ["onehot", "thermometer", "ordinal"])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix, pd.DataFrame])
def test_rows_without_weight_can_be_left_out(make, coding):
    X, y = np.arange(12.0).reshape(4, 3), np.array([0, 1, 2, 3])
    costs = replica_costs(4, 0.2, s=1)
    settings = dict(h=2.0, coding=coding, sample_weight=[1, 0, 2, 3])
    full = replicate(X, y, costs, **settings)
    *kept, replica = replicate(make(X), y, costs, **settings, drop_zero=True, return_replica=True)
    taking = full[2] > 0
    assert 0 < taking.sum() < len(taking)
    kept[0] = kept[0].toarray() if sparse.issparse(kept[0]) else np.asarray(kept[0])
    for part, expected in zip(kept, full, strict=True):
        assert_array_equal(part, expected[taking])
    assert_array_equal(replica, np.repeat(np.arange(6), 4)[taking])


def test_frames_stay_frames_and_keep_their_types():
    X = pd.DataFrame({"a": [1.0, 2.0], "replica_0": pd.Categorical(["u", "v"])}, index=[7, 3])
    Xr, _, _ = replicate(X, [0, 1], COSTS, h=4.0)
    assert Xr.columns.tolist() == ["a", "replica_0", "_replica_0"]
    assert Xr.index.tolist() == [0, 1, 2, 3]
    assert Xr["replica_0"].dtype == X["replica_0"].dtype
    assert Xr["_replica_0"].tolist() == [0, 0, 4, 4]
    numbered, _, _ = replicate(pd.DataFrame([[1.0], [2.0]]), [0, 1], COSTS)
    assert numbered.columns.tolist() == [0, 1]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_floats_keep_their_precision(kind):
    assert replicate(np.zeros((2, 1), dtype=kind), [0, 1], COSTS)[0].dtype == kind


def test_decode():
    assert_array_equal(decode(np.arange(7)), [0, -1, 1, -1, 2, -1, 3])
    assert_array_equal(decode([0, 1, 2], reject=False), [0, 1, 2])
    assert decode([]).shape == (0,)


@pytest.mark.parametrize("reject", [True, False])
def test_a_point_on_the_right_side_everywhere_has_its_own_class(reject):
    counts = (replica_labels(5, reject) > 0).sum(axis=1)
    assert_array_equal(decode(counts, reject), np.arange(5))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: replica_labels(1), "n_classes"),
        (lambda: replica_labels(2.0), "n_classes"),
        (lambda: replica_costs(2, 0), "reject_cost"),
        (lambda: replica_costs(2, 0.6), r"reject_cost .*got 0\.6"),
        (lambda: replica_costs(2, "0.2"), r"reject_cost .*got '0\.2'"),
        (lambda: replica_costs(2, np.nan), r"reject_cost .*got nan"),
        (lambda: replica_costs(3, 0.2, s=0), "^s "),
        (lambda: loss_from_costs([[1, 2, 3], [1, 2, 3]]), "costs"),
        (lambda: loss_from_costs([[-1], [1]]), "costs"),
        (lambda: extension_vectors(0), r"n_replicas .*at least 1"),
        (lambda: extension_vectors(2, h=0), "^h "),
        (lambda: extension_vectors(2, coding="x"), "coding"),
        (lambda: replicate(X1, [0], COSTS), "^y "),
        (lambda: replicate(X1, [0, 2], COSTS), "^y "),
        (lambda: replicate(X1, [0, -1], COSTS), "^y "),
        (lambda: replicate(X1, ["a", "b"], COSTS), "^y "),
        (
            lambda: replicate(X1, [0, 1], COSTS, sample_weight=[1.0]),
            "sample_weight",
        ),
    ],
)
def test_errors_name_the_parameter_and_the_value(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()
