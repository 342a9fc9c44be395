"""Bins that are settled before rows are read."""

import numpy as np

from rejo.distributed.out_of_core import at_edges, edges_of


def columns(n, seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3)).astype(np.float32)
    X[:, 1] = random.integers(0, 5, n)
    X[random.uniform(size=n) < 0.2, 2] = np.nan
    return X


def test_a_split_at_an_edge_is_the_same_for_a_value_and_its_edge():
    edges = edges_of(columns(5000, 0), 64)
    X = columns(3000, 1)
    X[:3, 0] = -50.0, 50.0, edges[0][7]
    found = at_edges(X, edges)
    for j in range(3):
        assert np.array_equal(np.isnan(found[:, j]), np.isnan(X[:, j]))
        known = ~np.isnan(X[:, j])
        for edge in edges[j]:
            assert np.array_equal(found[known, j] < edge, X[known, j] < edge)


def test_there_are_no_more_values_than_bins_and_each_has_its_share():
    edges = edges_of(columns(5000, 0), 64)
    found = at_edges(columns(20_000, 1), edges)
    values, counts = np.unique(found[:, 0], return_counts=True)
    assert len(values) <= 64
    assert counts.max() < 3 * counts.mean()
    assert np.array_equal(edges[1], [0, 1, 2, 3, 4])  # few values keep a bin each
