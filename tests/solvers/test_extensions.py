"""The compiled classes have complete objects or none, and keep what they checked.

What Python can do to an object behind its back ends in an exception here, never in a crash.
"""

import copy
import importlib.util
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

_svm = pytest.importorskip("rejo.solvers._svm", reason="built without a compiler")
_trees = pytest.importorskip("rejo.solvers._trees", reason="built without a compiler")
_embedded = pytest.importorskip("rejo.solvers._embedded", reason="built without a compiler")

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 2))
Y = np.where(X[:, 0] > 0, 1.0, -1.0)
ONES = np.ones(30)
RBF = ("rbf", 0.5, 3, 0.0)
NODES = (
    *np.array([[0, -1, -1], [0, 0, 0], [1, 0, 0]], dtype=np.float32),  # feature, threshold, left
    np.zeros(3, bool), np.array([0, 1, 2], np.float32),  # missing_left, value
    np.full(3, -1, np.int32), np.empty(0, np.uint32),  # category, words
    np.zeros(1, np.int64), np.zeros(1, np.int32), 2, 1, 0.0,  # roots, target, p, n_targets, known
)  # fmt: skip

MAKE = {
    "Problem": lambda: _svm.Problem(X, np.empty(0), *RBF),
    "Trees": lambda: _trees.Trees(*NODES),
    "Rows": lambda: _embedded.Rows(X, Y, ONES),
}
CLASSES = {"Problem": _svm.Problem, "Trees": _trees.Trees, "Rows": _embedded.Rows}


@pytest.fixture(params=list(CLASSES))
def kind(request):
    return request.param


def test_there_is_no_object_without_a_value(kind):
    cls = CLASSES[kind]
    base = cls.__mro__[1]
    assert type(MAKE[kind]()) is cls
    for allocate in (cls, lambda: cls.__new__(cls), lambda: base.__new__(cls)):
        with pytest.raises(TypeError):
            allocate()
    with pytest.raises(TypeError, match="not safe"):
        object.__new__(cls)
    with pytest.raises(TypeError, match="not an acceptable base type"):
        type("Heir", (cls,), {"__init__": lambda self: None})
    thing = MAKE[kind]()
    thing.__init__()  # changes nothing
    assert type(thing) is cls


def test_objects_are_neither_copied_nor_pickled(kind):
    thing = MAKE[kind]()
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match="cannot pickle"):
            pickle.dumps(thing, protocol)
    for duplicate in (copy.copy, copy.deepcopy, lambda thing: thing.__reduce__()):
        with pytest.raises(TypeError, match="cannot pickle"):
            duplicate(thing)


def test_an_object_keeps_its_class(kind):
    """With the class of another, methods would take its memory for their own."""
    thing = MAKE[kind]()

    class Other:
        pass

    for cls in [*CLASSES.values(), Other]:
        if cls is not type(thing):
            with pytest.raises(TypeError, match="__class__ assignment"):
                thing.__class__ = cls
    with pytest.raises(TypeError, match="__class__ assignment"):
        Other().__class__ = CLASSES[kind]
    with pytest.raises(TypeError, match="immutable type"):
        CLASSES[kind]._make = None


def solved(problem):
    labels, caps = Y[:, None], np.ones((30, 1))
    return problem.solve_blocks(False, labels, caps, None, 1.0, 1e-8, 10_000, None)[0]


def test_arrays_that_change_later_do_not_lead_out_of_memory():
    S = sparse.csr_matrix(X)
    values, indices, indptr = S.data.copy(), S.indices.astype(np.int64), S.indptr.astype(np.int64)
    problem = _svm.Problem(values, indices, indptr, 2, *RBF)
    expected = solved(_svm.Problem(S.data, S.indices, S.indptr, 2, *RBF))
    indices[:], indptr[:] = 2**40, 2**40
    assert_array_equal(solved(problem), expected)

    rows = X.copy()
    problem = _svm.Problem(rows, np.empty(0), "linear", 1.0, 3, 0.0)
    rows.shape = (1, 60)  # 30 rows of 60 numbers would be more than there are
    assert problem.factorise(1e-6, 10)
    assert problem.rank() == 2
    assert len(solved(problem)) == 30

    Z = X.copy()
    kept = _embedded.Rows(Z, Y, ONES)
    v = np.array([0.5, 0.2, 0.1, 0.3])
    J, _ = kept.objective(v, 1.0, 0.02, 0.2, 0.1)
    Z[:] = np.nan
    assert kept.objective(v, 1.0, 0.02, 0.2, 0.1)[0] == J


def test_threads_share_a_problem():
    """The Gram matrix and the factor are prepared once; nobody takes them from under another."""
    points = rng.normal(size=(1000, 2))
    labels = np.where(points[:, :1] + rng.normal(size=(1000, 1)) > 0, 1.0, -1.0)
    arguments = (labels, np.ones((1000, 1)), None, 1.0, 1e-6, 10_000, None)
    expected = _svm.Problem(points, np.empty(0), *RBF).solve_gram(False, *arguments)[0]
    together = Barrier(4)

    def work(problem):
        together.wait()
        u = problem.solve_gram(False, *arguments)[0]
        assert problem.factorise(1e-6, 1000)
        return u, problem.rank(), len(problem.solve_factor(*arguments)[-1])

    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            for u, rank, size in pool.map(work, [_svm.Problem(points, np.empty(0), *RBF)] * 4):
                assert_array_equal(u, expected)
                assert size == rank > 0


def test_an_unknown_class_in_the_gradients_is_refused():
    g, costs, b = np.zeros(3, np.float32), np.ones((2, 1)), np.zeros(1)
    none = np.empty(0, np.float32)
    _trees.gradients(g, np.array([0, 1, 1], np.int32), none, costs, costs, b)
    for wrong in (-1, 2, 2**31 - 1):
        with pytest.raises(ValueError, match="class is unknown"):
            _trees.gradients(g, np.array([0, 1, wrong], np.int32), none, costs, costs, b)


# ---- the digest of the sources ------------------------------------------------------------------

SETUP = Path(__file__).parents[2] / "setup.py"


@pytest.fixture
def build():
    if not SETUP.exists():
        pytest.skip("there is no setup.py beside the tests")
    spec = importlib.util.spec_from_file_location("rejo_setup", SETUP)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_extensions_name_their_sources(build):
    folder = SETUP.parent / build.SOURCES
    expected = build.digest([*folder.glob("*.cpp"), *folder.glob("*.hpp")])
    assert {module.sources for module in (_svm, _trees, _embedded)} == {expected}


def test_the_digest_is_of_the_contents(build, tmp_path):
    def digest(**files):
        for path in tmp_path.iterdir():
            path.unlink()
        for name, text in files.items():
            (tmp_path / name).write_bytes(text)
        return build.digest(tmp_path / name for name in files)

    found = digest(a=b"one\ntwo\n", b=b"three\n")
    assert len(found) == 12
    assert int(found, 16) >= 0
    assert digest(b=b"three\n", a=b"one\r\ntwo\r\n") == found
    others = [digest(a=b"one\ntwo\nthree\n", b=b""), digest(a=b"one\n", b=b"three\n")]
    assert len({found, *others, digest(a=b"three\n", b=b"one\ntwo\n")}) == 4
