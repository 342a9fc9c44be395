"""Features in pieces: each is a share of the way, and their sum is a curve."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from rejo.baselines import Pieces

rng = np.random.default_rng(0)
X = np.column_stack([rng.normal(size=200), rng.integers(0, 2, 200), np.full(200, 7.0)])


def test_each_piece_is_the_share_of_the_way_through_it():
    pieces = Pieces(4).fit(X)
    assert_array_equal(np.bincount(pieces.feature_), [4, 1, 1])
    found = pieces.transform(X)
    for i in range(0, 200, 7):
        ways = zip(pieces.feature_, pieces.low_, pieces.width_, strict=True)
        shares = [min(max((X[i, j] - a) / w, 0.0), 1.0) for j, a, w in ways]
        assert_allclose(found[i], shares)
    assert_array_equal(found[:, 4], X[:, 1])  # of two values there is one piece
    assert_array_equal(found[:, 5], 0)  # and it says nothing of one value
    beyond = pieces.transform(np.array([[1e300, 5.0, 9.0], [-1e300, -5.0, -9.0]]))
    assert_array_equal(beyond, [[1.0] * 6, [0.0] * 6])


def test_a_line_in_a_feature_is_a_line_in_its_pieces():
    model = make_pipeline(Pieces(), LinearRegression()).fit(X, 3 * X[:, 0] - 2 * X[:, 1])
    assert_allclose(model.predict(X), 3 * X[:, 0] - 2 * X[:, 1], atol=1e-9)
