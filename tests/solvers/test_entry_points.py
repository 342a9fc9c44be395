"""What the compiled engines do with arrays that do not fit together: they refuse them.

Model files reach these functions, so each is called here as no other code calls it.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from rejo._sparse import sparse_fault
from rejo.solvers import reference, svm
from rejo.solvers.types import Kernel
from tests.damage import damaged, odd_but_right, put

_svm = svm._svm
pytestmark = pytest.mark.skipif(_svm is None, reason="the compiled solver was not built")
RBF = Kernel("rbf", 0.5)
N, P, Q = 40, 3, 2
rng = np.random.default_rng(0)
X = rng.normal(size=(N, P))
LABELS = np.where(X[:, :1] + 0.1 * rng.normal(size=(N, Q)) > 0, 1.0, -1.0)
CAPS = np.ones((N, Q))


@pytest.fixture(params=[] if _svm is None else _svm.architectures())
def engine(request):
    _svm.use(request.param)
    yield request.param
    _svm.use(_svm.architectures()[0])


def csr(form=X):
    S = sparse.csr_matrix(form)
    return S.data, S.indices, S.indptr


def problems():
    return {
        "dense": _svm.Problem(X, np.empty(0), *RBF),
        "sparse": _svm.Problem(*csr(), P, *RBF),
        "gram": _svm.Problem(reference.gram(X, X, RBF)),
    }


CONSTRUCTIONS = {
    "a vector of points": (X[0], np.empty(0), *RBF),
    "no points": (X[:0], np.empty(0), *RBF),
    "no features": (X[:, :0], np.empty(0), *RBF),
    "no features of very many points": (np.empty((2**40, 0)), np.empty(0), *RBF),
    "three dimensions": (X[None], np.empty(0), *RBF),
    "short centre": (X, np.zeros(P - 1), *Kernel("linear")),
    "long centre": (X, np.zeros(1000), *Kernel("linear")),
    "unknown kernel": (X, np.empty(0), *Kernel("cosine")),
    "a Gram matrix that is not square": (X,),
    "no Gram matrix": (np.empty((0, 0)),),
    "a vector for a Gram matrix": (X[0],),
    "no columns": (*csr(), 0, *RBF),
    "few columns": (*csr(), P - 1, *RBF),
    "no rows": (*csr(np.empty((0, P))), P, *RBF),
    "no indptr": (*csr()[:2], np.empty(0, int), P, *RBF),
    "indptr in a matrix": (*csr()[:2], csr()[2][None], P, *RBF),
    "negative index": (csr()[0], put(csr()[1], 5, -1), csr()[2], P, *RBF),
    "index too large": (csr()[0], put(csr()[1], 5, P), csr()[2], P, *RBF),
    "far index": (csr()[0], put(csr()[1].astype(np.int64), 5, 2**62), csr()[2], P, *RBF),
    "indptr falls": (*csr()[:2], put(csr()[2], 5, 1000), P, *RBF),
    "indptr negative": (*csr()[:2], put(csr()[2], 5, -1), P, *RBF),
    "indptr ends late": (*csr()[:2], put(csr()[2], -1, 10**6), P, *RBF),
    "few indices": (csr()[0], csr()[1][:-1], csr()[2], P, *RBF),
    "few values": (csr()[0][:-1], csr()[1], csr()[2], P, *RBF),
}


@pytest.mark.parametrize("name", CONSTRUCTIONS)
def test_a_problem_is_refused(name):
    with pytest.raises(ValueError, match=r"point|column|row|indptr|indices|CSR|square|kernel"):
        _svm.Problem(*CONSTRUCTIONS[name])


DUALS = {
    "labels of other points": (LABELS[1:], CAPS[1:], None, 1.0, None),
    "labels in a vector": (LABELS.ravel(), CAPS.ravel(), None, 1.0, None),
    "no replicas": (LABELS[:, :0], CAPS[:, :0], None, 1.0, None),
    "labels of 0": (0.0 * LABELS, CAPS, None, 1.0, None),
    "labels of NaN": (np.nan * LABELS, CAPS, None, 1.0, None),
    "few caps": (LABELS, CAPS[:, :1], None, 1.0, None),
    "turned caps": (LABELS, CAPS.T, None, 1.0, None),
    "NaN caps": (LABELS, np.nan * CAPS, None, 1.0, None),
    "infinite caps": (LABELS, np.inf * CAPS, None, 1.0, None),
    "negative caps": (LABELS, -CAPS, None, 1.0, None),
    "few duals": (LABELS, CAPS, CAPS[:-1], 1.0, None),
    "turned duals": (LABELS, CAPS, CAPS.T, 1.0, None),
    "NaN duals": (LABELS, CAPS, np.nan * CAPS, 1.0, None),
    "few margins": (LABELS, CAPS, None, 1.0, CAPS[:, :1]),
    "NaN margins": (LABELS, CAPS, None, 1.0, np.nan * CAPS),
    "infinite h": (LABELS, CAPS, None, np.inf, None),
}


@pytest.mark.parametrize("name", DUALS)
@pytest.mark.parametrize("source", ["dense", "sparse", "gram"])
def test_a_dual_is_refused(name, source):
    labels, caps, u, h, margins = DUALS[name]
    problem = problems()[source]
    how = labels, caps, u, h, 1e-3, 100, margins
    with pytest.raises(ValueError, match=r"\(n, Q\)|\+1 or -1|finite"):
        problem.solve_gram(True, *how)
    if source != "gram":
        with pytest.raises(ValueError, match=r"\(n, Q\)|\+1 or -1|finite"):
            problem.solve_blocks(True, *how)
    if source == "dense":
        assert problem.factorise(0.3, N)
        with pytest.raises(ValueError, match=r"\(n, Q\)|\+1 or -1|finite"):
            problem.solve_factor(*how)


def test_an_engine_without_its_matrix_is_refused():
    how = LABELS, CAPS, None, 1.0, 1e-3, 100, None
    for source, problem in problems().items():
        with pytest.raises(ValueError, match="factorise first"):
            problem.solve_factor(*how)
        if source != "dense":
            with pytest.raises(ValueError, match="only dense points"):
                problem.factorise(1e-6, N)
    with pytest.raises(ValueError, match="not made of blocks"):
        problems()["gram"].solve_blocks(True, *how)


@pytest.mark.parametrize("max_rank", [0, 1, N, 2**62])
def test_any_rank_may_be_asked_for(engine, max_rank):
    for eps in (0.0, -1.0, np.nan, 1e-300, 0.3, 1e300):
        problem = problems()["dense"]
        if problem.factorise(eps, max_rank):
            assert problem.rank() <= N, eps
            u, *_ = problem.solve_factor(LABELS, CAPS, None, 1.0, 1e-3, 1000, None)
            assert np.isfinite(u).all(), eps


@pytest.mark.parametrize("max_iter", [-(2**63), -1, 0, 1, 2**63 - 1])
def test_any_tolerance_ends(engine, max_iter):
    problem = problems()["dense"]
    for tol in (0.0, -1.0, np.nan, np.inf, 1e-300):
        how = LABELS, CAPS, None, 1.0, tol, max_iter, None
        for single in (False, True):
            for u, *_ in (problem.solve_gram(single, *how), problem.solve_blocks(single, *how)):
                assert ((u * LABELS >= 0) & (u * LABELS <= CAPS)).all(), tol


@pytest.mark.parametrize("scale", [1e18, 1e35, 1e150, 1e308])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_kernel_values_of_any_size_stay_inside(engine, scale, sign):
    """Beyond 1e30 the padding of the arrays looks like a point that is worth a step."""
    K = sign * scale * reference.gram(X, X, RBF)
    start = np.where(LABELS > 0, 0.5, -0.25)
    for u in (None, start):
        problem = _svm.Problem(K)
        for single in (False, True):
            problem.solve_gram(single, LABELS, CAPS, u, 1.0, 1e-3, 500, None)
        rows = _svm.Problem(X, np.empty(0), "poly", 1.0, 3, sign * scale ** (1 / 3))
        for single in (False, True):
            rows.solve_blocks(single, LABELS, CAPS, u, 1.0, 1e-3, 500, None)
        if rows.factorise(1e-6, N):
            rows.solve_factor(LABELS, CAPS, u, 1.0, 1e-3, 500, None)


EVALUATIONS = {
    "a vector": (X[0], X, np.ones(N)),
    "a basis of other width": (X, X[:, :2], np.ones(N)),
    "a basis of no width": (X[:, :0], X[:, :0], np.ones(N)),
    "few coefficients": (X, X, np.ones(N - 1)),
    "many coefficients": (X, X, np.ones(10**5)),
    "three dimensions": (X[None], X, np.ones(N)),
}


@pytest.mark.parametrize("name", EVALUATIONS)
def test_an_evaluation_is_refused(name):
    with pytest.raises(ValueError, match=r"matrix|disagree"):
        _svm.evaluate_dense(*EVALUATIONS[name], *RBF, 1)


def test_sparse_evaluations_are_refused():
    good, coef = csr(), np.ones(N)
    for name, (*broken, p, kernel, gamma, degree, coef0) in (
        (name, args) for name, args in CONSTRUCTIONS.items() if len(args) == 8
    ):
        for rows, basis in ((broken, good), (good, broken)):
            if name == "no rows" and basis is good:
                continue  # nothing to evaluate is not an error
            with pytest.raises(ValueError, match=r"column|indptr|indices|CSR|disagree"):
                _svm.evaluate_sparse(*rows, *basis, p, coef, kernel, gamma, degree, coef0, 1)


def test_nothing_may_be_evaluated(engine):
    assert_array_equal(_svm.evaluate_dense(X, X[:0], np.empty(0), *RBF, 1), np.zeros(N))
    assert _svm.evaluate_dense(X[:0], X, np.ones(N), *RBF, 1).shape == (0,)


def test_entries_that_come_twice_count_as_their_sum(engine):
    expected = reference.gram(X, X, RBF) @ np.ones(N)
    for _, S in odd_but_right(X):
        S = S if S.format == "csr" else S.tocsr()
        got = _svm.evaluate_sparse(*[S.data, S.indices, S.indptr] * 2, P, np.ones(N), *RBF, 1)
        assert_allclose(got, expected, rtol=1e-10)


@pytest.mark.parametrize("compiled", [True, False])
def test_damaged_support_vectors_are_refused(monkeypatch, compiled):
    if not compiled:
        monkeypatch.setattr(svm, "_svm", None)
    for _, S in damaged(X, np.random.default_rng(0)):
        if S.format == "csr":
            with pytest.raises(ValueError, match="support vectors is a damaged sparse matrix"):
                svm.evaluate(sparse.csr_matrix(X), S, np.ones(N), RBF)


def test_damage_is_found_and_nothing_else():
    for name, S in damaged(X, np.random.default_rng(1)):
        assert sparse_fault(S), name
    for name, S in odd_but_right(X):
        assert sparse_fault(S) is None, name
        assert_allclose(S.toarray(), X, err_msg=name)


@pytest.mark.parametrize("kernel", [RBF, Kernel("poly", 1.0, 2, 1.0), Kernel("sigmoid", 0.1)])
def test_a_sparse_matrix_without_entries_is_not_a_gram_matrix(engine, kernel):
    S = sparse.csr_matrix((N, P))
    dense = svm.Problem(np.zeros((N, P)), kernel).solve(LABELS, CAPS)
    assert svm.Problem(S, kernel).solve(LABELS, CAPS).objective == pytest.approx(dense.objective)
    few = svm.Problem(S, kernel, 1e-6).solve(LABELS, CAPS)  # rows on demand
    assert few.objective == pytest.approx(dense.objective)


def test_arrays_that_start_between_two_numbers_are_copied(engine):
    shifted = [
        np.frombuffer(b"x" + part.tobytes(), dtype="u1")[1:].view(part.dtype).reshape(part.shape)
        for part in (X, LABELS, CAPS)
    ]
    assert not any(part.flags.aligned for part in shifted)
    for a, b in zip(solved(*shifted), solved(X, LABELS, CAPS), strict=True):
        assert_array_equal(a, b)


def solved(points, labels, caps):
    problem = _svm.Problem(points, np.empty(0), *RBF)
    u, b, *_ = problem.solve_blocks(False, labels, caps, None, 1.0, 1e-3, 1000, None)
    return u, b, _svm.evaluate_dense(points, points, u.sum(axis=1), *RBF, 1)
