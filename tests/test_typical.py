"""What a typical case looks like, against direct computations on cases whose law is known."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse import random as random_sparse

from rejo._state import StateError
from rejo.typical import MOST_PAIRED, Typical


def related(n=2000, seed=0):
    """Three features: the third is the mean of the others, and a little noise."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 3)) * [1.0, 3.0, 1.0] + [0.0, 5.0, 0.0]
    Z[:, 2] = Z[:, :2].mean(axis=1) + 0.5 * rng.normal(size=n)
    return Z


def test_distance_is_that_of_mahalanobis_for_normal_cases():
    Z = related()
    d = Z - Z.mean(axis=0)
    exact = np.sqrt(np.einsum("ij,jk,ik->i", d, np.linalg.inv(np.cov(Z.T)), d) / 3)
    found = Typical.learn(Z).distance(Z)
    assert np.abs(found - exact).mean() < 0.05
    assert 0.9 < np.sqrt((found**2).mean()) < 1.1


def test_what_is_expected_of_a_feature_follows_from_a_regression():
    Z, new = related(), related(50, seed=1)
    A = np.column_stack([np.ones(len(Z)), Z[:, :2]])
    weights, *_ = np.linalg.lstsq(A, Z[:, 2], rcond=None)
    new[:, 2] = np.column_stack([np.ones(50), new[:, :2]]) @ weights + 3 * 0.5
    found = [case[0] for case in Typical.learn(Z).strangest(new, top=1)]
    third = [strange for strange in found if strange.feature == 2 and strange.kind == "unusual"]
    assert len(third) > 10
    off = [strange.value - 1.5 - strange.expected for strange in third]
    assert np.abs(off).mean() < 0.05 * Z[:, 2].std()
    assert abs(np.mean([strange.deviations for strange in third]) - 3) < 0.3


def test_a_feature_that_breaks_with_the_others_is_the_strangest():
    found = Typical.learn(related()).strangest([[0.0, 5.0, 5.0], [0.0, 40.0, 2.5]])
    assert [case[0].feature for case in found] == [2, 1]
    assert [case[0].kind for case in found] == ["unusual", "outside"]


def test_one_feature_outside_its_range_is_novel_among_many():
    rng = np.random.default_rng(0)
    Z, new = rng.uniform(size=(500, 60)), rng.uniform(size=(500, 60))
    known, odd = Typical.learn(Z), new.copy()
    odd[:, 7] = 1.5
    assert (known.novelty(odd) > known.novelty(new).max()).all()
    assert not (known.distance(odd) > known.distance(new).max()).all()
    inside = np.clip(new, known.low, known.high)
    assert np.array_equal(known.novelty(inside), known.distance(inside))


def test_a_missing_value_is_not_strange():
    known = Typical.learn(related())
    (found,) = known.strangest([[0.0, 40.0, np.nan]])
    assert [strange.feature for strange in found] == [1]
    (found,) = known.strangest([[2.5, -3.0, np.nan]])
    assert 2 not in [strange.feature for strange in found]


def test_a_skewed_feature_is_as_far_as_its_logarithm():
    rng = np.random.default_rng(0)
    logs = rng.normal(size=(3000, 2))
    skewed, plain = Typical.learn(np.exp(3 * logs)), Typical.learn(logs)
    new = rng.normal(size=(200, 2))
    found, expected = skewed.distance(np.exp(3 * new)), plain.distance(new)
    assert np.abs(found - expected).mean() < 0.1


def test_beyond_the_range_a_sixth_of_it_is_a_standard_deviation():
    Z = np.random.default_rng(0).uniform(10.0, 70.0, size=(400, 1))
    known = Typical.learn(Z)
    step = (known.high - known.low) / 6
    edge = known.distance(known.high[None])
    assert np.allclose(known.distance([known.high + 5 * step]), edge + 5)
    assert np.allclose(known.distance([known.low - 5 * step]), -known.scores[:, 0] + 5)


@pytest.mark.parametrize("n", [1, 2, 20])
@pytest.mark.parametrize("p", [1, 5, 40, MOST_PAIRED + 1, 1000])
def test_any_shape(n, p):
    Z = np.random.default_rng(0).normal(size=(n, p))
    known = Typical.learn(Z)
    known._check_state()
    far = np.full((1, p), 1e4)
    assert np.isfinite(known.distance(Z)).all()
    assert known.distance(far)[0] > 3 * known.distance(Z).max()
    (found,) = known.strangest(far)
    assert all(s.low <= s.expected <= s.high for s in found)


def test_constant_columns():
    Z = np.column_stack([np.random.default_rng(0).normal(size=500), np.full(500, 7.0)])
    known = Typical.learn(Z)
    known._check_state()
    near, changed = known.distance([[0.0, 7.0], [0.0, 14.0]])
    assert near < 1
    assert changed > 10  # it never changed in 500 cases
    assert known.strangest([[0.0, 9.0]])[0][0].expected == 7.0


def test_one_hot_columns():
    rng = np.random.default_rng(0)
    word = rng.choice(4, 3000, p=[0.6, 0.3, 0.09, 0.01])
    Z = np.eye(4)[word]
    known = Typical.learn(Z)
    known._check_state()
    distance = known.distance(np.vstack([np.eye(4), np.ones(4)]))
    assert distance[3] > 2 * distance[0]  # rare
    assert distance[4] > 2 * distance[3]  # all words at once


def test_huge_values():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(200, 3)) * [1e300, 1e-90, 1.0]
    known = Typical.learn(Z)
    known._check_state()
    worst = np.array([[1e308, 1e308, 1e308], [-np.inf, np.inf, 0.0]])
    assert np.isfinite(known.distance(worst)).all()
    assert np.isfinite([s[3:] for case in known.strangest(worst) for s in case]).all()


def test_a_missing_value_is_typical():
    known = Typical.learn(related())
    assert np.allclose(known.distance([[np.nan] * 3]), 0.0)
    assert np.allclose(known.novelty([[np.nan] * 3]), 0.0)
    assert np.isfinite(known.novelty([[1e308, -np.inf, np.nan]])).all()


def test_sparse_cases_are_as_dense_ones():
    Z = random_sparse(300, 20, density=0.3, random_state=0, format="csr")
    dense, sparse = Typical.learn(Z.toarray()), Typical.learn(Z)
    for a, b in zip(dense, sparse, strict=True):
        assert np.array_equal(a, b)
    assert np.array_equal(dense.distance(Z.toarray()), sparse.distance(csr_matrix(Z)))


def test_many_cases_are_sampled_always_alike():
    Z = np.random.default_rng(0).normal(size=(30_000, 2))
    a, b = Typical.learn(Z), Typical.learn(Z)
    assert all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))
    assert a.high.max() < Z.max()


def test_blocks_do_not_matter(monkeypatch):
    known, Z = Typical.learn(related()), related(100, seed=3)
    whole = known.distance(Z), known.strangest(Z)
    monkeypatch.setattr("rejo.typical.BLOCK", 7 * 3)
    np.testing.assert_allclose(known.distance(Z), whole[0], rtol=1e-12)
    assert [[s.feature for s in case] for case in known.strangest(Z)] == [
        [s.feature for s in case] for case in whole[1]
    ]


def test_no_cases():
    known = Typical.learn(related())
    nothing = np.empty((0, 3))
    assert known.distance(nothing).shape == (0,)
    assert known.strangest(nothing) == []
    with pytest.raises(ValueError, match="no cases"):
        Typical.learn(nothing)


@pytest.mark.parametrize(
    "fault",
    [
        {"scale": np.array([1.0, 0.0, 1.0])},
        {"values": np.zeros((2, 17))},
        {"values": np.tile(np.arange(17.0)[::-1], (3, 1))},
        {"scores": np.full((3, 17), np.nan)},
        {"precision": -np.eye(3)},
        {"precision": np.array([[1.0, 5.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])},
        {"precision": np.eye(2)},
    ],
)
def test_a_damaged_state_is_refused(fault):
    known = Typical.learn(related())
    with pytest.raises((StateError, np.linalg.LinAlgError)):
        known._replace(**fault)._check_state()
