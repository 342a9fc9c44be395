"""The compiled engines beyond the oracle's size: instruction sets, precision, memory, threads."""

import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel, sigmoid_kernel

from rejo import RejoSVC
from rejo.replication import replica_costs, replica_labels
from rejo.solvers import reference, svm
from rejo.solvers.types import Kernel

compiled = pytest.mark.skipif(svm._svm is None, reason="the compiled solver was not built")


def data(n, n_features, n_classes, seed=0):
    """Points, labels and costs of a smooth score, cut at its quantiles."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    t = X[:, 0] + X[:, -1] ** 2 + 0.5 * rng.normal(size=n)
    y = np.searchsorted(np.quantile(t, np.arange(1, n_classes) / n_classes), t)
    return X, replica_labels(n_classes)[y], replica_costs(n_classes, 0.2)[y]


def optimality(K, labels, caps, solution, h=1.0):
    """Violation of the optimality conditions, and the primal value, by the definitions."""
    u, G = solution.u, solution.u.sum(axis=0)
    assert_array_equal(labels * u >= 0, True)
    assert_array_equal(labels * u <= caps, True)
    assert abs(u.sum()) <= 1e-9 * caps.sum()
    offset = h * h * np.where(np.arange(len(G)) > 0, G, 0.0)
    f = K @ u.sum(axis=1)
    v = labels - f[:, None] - offset
    hi, lo = np.maximum(labels * caps, 0), np.minimum(labels * caps, 0)
    norm = u.sum(axis=1) @ f + (offset * G).sum()
    scores = f[:, None] + solution.b
    primal = norm / 2 + (caps * np.maximum(0, 1 - labels * scores)).sum()
    return v[u < hi].max() - v[u > lo].min(), primal


@compiled
@pytest.mark.parametrize("name", [] if svm._svm is None else svm._svm.architectures())
@pytest.mark.parametrize(
    ("n", "n_features", "n_classes", "kernel", "engine"),
    [
        (150, 3, 2, Kernel("rbf", 0.5), "gram"),
        (150, 20, 4, Kernel("poly", 0.1, 3, 1.0), "gram"),
        (900, 2, 3, Kernel("rbf", 0.1), "factor"),
        (700, 5, 2, Kernel("linear"), "factor"),
        (300, 20, 2, Kernel("rbf", 0.05), "blocks"),
        (1500, 20, 3, Kernel("rbf", 0.05), "blocks"),
        (1200, 20, 2, Kernel("poly", 0.05, 2, 1.0), "blocks"),
    ],
)
def test_every_instruction_set_solves(name, n, n_features, n_classes, kernel, engine):
    X, labels, costs = data(n, n_features, n_classes)
    caps = 4.0 * costs
    best = svm._svm.architectures()[0]
    try:
        svm._svm.use(name)
        problem = svm.Problem(X, kernel, 1e-3 if engine == "blocks" else 200.0)
        assert problem._engine(labels, caps, 1e-3)[0] == engine
        solution = problem.solve(labels, caps, tol=1e-3)
    finally:
        svm._svm.use(best)
    assert solution.converged
    K = reference.gram(X, X, kernel)
    if kernel.name == "linear":  # the thresholds are those of points that are not centred
        centred = X - X.mean(axis=0)
        b = solution.b + solution.weights @ X.mean(axis=0)
        solution, K = solution._replace(b=b), centred @ centred.T
    violation, primal = optimality(K, labels, caps, solution)
    assert violation <= 2e-3
    assert solution.objective == pytest.approx(primal, rel=1e-5)
    assert 0 <= solution.gap <= 1e-3


@compiled
def test_an_unknown_instruction_set_is_refused():
    with pytest.raises(ValueError, match="cannot run: mmx"):
        svm._svm.use("mmx")


@compiled
@pytest.mark.parametrize(
    ("kernel", "function"),
    [
        (Kernel("rbf", 0.3), lambda X, Y: rbf_kernel(X, Y, 0.3)),
        (Kernel("poly", 0.3, 5, 0.7), lambda X, Y: polynomial_kernel(X, Y, 5, 0.3, 0.7)),
        (Kernel("sigmoid", 0.3, 3, 0.7), lambda X, Y: sigmoid_kernel(X, Y, 0.3, 0.7)),
    ],
)
def test_kernel_values_agree_with_scikit_learn(kernel, function):
    rng = np.random.default_rng(0)
    X, basis, coef = rng.normal(size=(37, 7)), rng.normal(size=(23, 7)), rng.normal(size=23)
    X[X < 0.3] = 0.0
    expected = function(X, basis) @ coef
    assert_allclose(svm.evaluate(X, basis, coef, kernel), expected, rtol=1e-12, atol=1e-12)
    rows = sparse.csr_array(X)
    assert_allclose(svm.evaluate(rows, basis, coef, kernel), expected, rtol=1e-10, atol=1e-12)


@compiled
def test_the_exponential_is_exact_from_zero_to_nothing():
    distance = np.concatenate([np.linspace(0, 5, 4001), np.geomspace(5, 26, 2000), [1e3, 1e200]])
    got = svm.evaluate(distance[:, None], np.zeros((1, 1)), np.ones(1), Kernel("rbf", 1.0))
    assert_allclose(got[:-2], np.exp(-(distance[:-2] ** 2)), rtol=1e-13)
    assert (got[-2:] < 1e-300).all()


@compiled
@pytest.mark.parametrize("sparse_input", [False, True])
@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_blocks_end_where_the_whole_matrix_does(tol, sparse_input):
    X, labels, costs = data(2000, 20, 2)
    X = sparse.csr_matrix(X) if sparse_input else X
    gram = svm.Problem(X, Kernel("rbf", 0.05), 200.0).solve(labels, 5 * costs, tol=tol)
    blocks = svm.Problem(X, Kernel("rbf", 0.05), 1.0).solve(labels, 5 * costs, tol=tol)
    assert blocks.objective == pytest.approx(gram.objective, rel=tol)
    assert blocks.converged
    assert 0 <= blocks.gap <= tol


@compiled
def test_a_number_of_threads_changes_no_bit():
    X, labels, costs = data(1100, 20, 3)
    kernel = Kernel("rbf", 0.05)
    for cache_size in (200.0, 1.0):
        one = svm.Problem(X, kernel, cache_size).solve(labels, costs)
        for threads in (2, 3, 2**62):
            more = svm.Problem(X, kernel, cache_size, threads).solve(labels, costs)
            assert_array_equal(more.u, one.u)
    coef = one.u.sum(axis=1)
    expected = svm.evaluate(X, X, coef, kernel)
    for threads in (2, 7):
        assert_array_equal(svm.evaluate(X, X, coef, kernel, threads), expected)
    for i in (0, 5, 1099):  # nor do the rows beside a row
        assert svm.evaluate(X[i : i + 1], X, coef, kernel) == expected[i]
    with pytest.raises(ValueError, match="thread"):
        svm.evaluate(X, X, coef, kernel, 0)


@compiled
@pytest.mark.parametrize("far", [0.0, 1e9])
@pytest.mark.parametrize("cache_size", [200.0, 0.1])
def test_columns_far_from_zero_or_from_each_other_keep_their_digits(far, cache_size):
    """Seconds since 1970, and one point far away from all others."""
    X, labels, costs = data(400, 3, 2)
    moved = X + 1.7e9
    moved[0, 1] += far
    expected = X.copy()
    expected[0, 1] += far
    solution = svm.Problem(moved, Kernel("rbf", 0.5), cache_size).solve(labels, 5 * costs)
    K = reference.gram(expected, expected, Kernel("rbf", 0.5))
    violation, primal = optimality(K, labels, 5 * costs, solution)
    assert violation <= 2e-3
    assert solution.objective == pytest.approx(primal, rel=1e-5)


@compiled
def test_a_factor_is_left_alone_where_the_rank_is_full():
    X, labels, costs = data(1000, 30, 2)
    problem = svm.Problem(X, Kernel("rbf", 1 / 30))
    assert problem._engine(labels, costs, 1e-3) == ("gram", True)


@compiled
def test_predictions_by_pivots_are_those_of_the_support_vectors():
    X, labels, costs = data(1500, 2, 3)
    kernel = Kernel("rbf", 0.5)
    solution = svm.Problem(X, kernel).solve(labels, costs)
    B = solution.u.sum(axis=1)
    assert len(solution.basis) < 200 < np.count_nonzero(B)
    by_pivots = svm.evaluate(X, X[solution.basis], solution.coef, kernel)
    assert_allclose(by_pivots, rbf_kernel(X, X, 0.5) @ B, atol=1e-3)


def test_without_the_extension_one_warning_says_so(monkeypatch):
    monkeypatch.setattr(svm, "_svm", None)
    svm._warn_of_the_reference.cache_clear()
    X, y = np.arange(8.0)[:, None], np.arange(8) > 3
    with pytest.warns(RuntimeWarning, match="compiler") as caught:
        RejoSVC().fit(X, y)
    assert caught[0].filename == __file__
    RejoSVC().fit(X, y)  # silent: warnings are errors here


@compiled
def test_a_fit_leaves_the_interpreter_to_other_threads():
    X, labels, costs = data(3000, 30, 4)
    thread = threading.Thread(
        target=lambda: svm.Problem(X, Kernel("rbf", 1 / 30)).solve(labels, 100 * costs)
    )
    thread.start()
    longest, last, start = 0.0, time.perf_counter(), time.perf_counter()
    while thread.is_alive():
        time.sleep(0.001)
        longest, last = max(longest, time.perf_counter() - last), time.perf_counter()
    assert longest < 0.5 * (last - start)


@compiled
@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_an_interrupt_ends_a_fit_within_a_second():
    """A second of the process's own time: how busy the machine is does not count."""
    code = textwrap.dedent("""
        import os, signal, threading, time
        import numpy as np
        from rejo import RejoSVC

        def interrupt():
            global start
            start = time.process_time()
            os.kill(os.getpid(), signal.SIGINT)

        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(20_000, 40)), rng.integers(0, 2, 20_000)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background has none
        threading.Timer(1.0, interrupt).start()
        try:
            RejoSVC(C=1e4, gamma=0.02, tol=1e-6, cache_size=20).fit(X, y)
        except KeyboardInterrupt:
            print(time.process_time() - start)
    """)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 1.0


@compiled
@pytest.mark.skipif(sys.platform != "linux", reason="of glibc")
def test_fits_keep_their_memory():
    code = textwrap.dedent("""
        from resource import RUSAGE_SELF, getrusage
        from rejo import RejoSVC
        from rejo.datasets import make_synthetic_1

        X, y = make_synthetic_1(10_000, random_state=0)
        model, pages = RejoSVC(gamma=1.0), []
        for _ in range(8):
            model.fit(X, y)
            pages.append(getrusage(RUSAGE_SELF).ru_minflt)
        print(pages[-1] - pages[2])
    """)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 2_500
