"""Sparse matrices that SciPy would not have built: each has one part that does not fit the rest."""

import numpy as np
from scipy import sparse


def damaged(X, random):
    """Yield names and damaged matrices, in every format, made from a dense matrix."""
    n, p = X.shape
    for make in (sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, bsr):
        good = make(X)
        major, minor = (p, n) if good.format == "csc" else (n, p)
        if good.format == "bsr":
            major, minor = n // 2, p
        entry, line = random.integers(len(good.indices)), 1 + random.integers(major - 1)
        last = good.indptr[-1]
        changes = {
            "index too large": ("indices", put(good.indices, entry, minor)),
            "index far too large": ("indices", put(good.indices, entry, 2**31 - 1)),
            "index of 64 bits": ("indices", put(good.indices.astype(np.int64), entry, 2**62)),
            "negative index": ("indices", put(good.indices, entry, -1)),
            "lowest index": ("indices", put(good.indices, entry, -(2**31))),
            "float indices": ("indices", good.indices + 0.5),
            "unsigned indices": ("indices", good.indices.astype(np.uint64)),
            "indices of objects": ("indices", good.indices.astype(object)),
            "indices in a matrix": ("indices", good.indices[:, None]),
            "no indices": ("indices", None),
            "few indices": ("indices", good.indices[:-1]),
            "few values": ("data", good.data[:-1]),
            "values in a row": ("data", good.data.reshape(1, -1)),
            "end too large": ("indptr", put(good.indptr, -1, last + 1)),
            "end far too large": ("indptr", put(good.indptr.astype(np.int64), -1, 2**60)),
            "other type": ("indptr", good.indptr.astype(np.int64)),
            "start not 0": ("indptr", put(good.indptr, 0, 1)),
            "falls": ("indptr", put(good.indptr, line, last + 7)),
            "negative": ("indptr", put(good.indptr, line, -3)),
            "short": ("indptr", good.indptr[:-1]),
            "long": ("indptr", np.append(good.indptr, last)),
            "empty": ("indptr", good.indptr[:0]),
            "wider than it is": ("_shape", (n, p - 1) if good.format == "csr" else (n - 2, p)),
        }
        for name, (part, value) in changes.items():
            broken = good.copy()
            setattr(broken, part, value)
            yield f"{type(good).__name__}: {name}", broken
    for make in (sparse.coo_matrix, sparse.coo_array):
        for part in ("row", "col"):
            good = make(X)
            entry, size = random.integers(good.nnz), X.shape[part == "col"]
            for value in (size, 2**31 - 1, -1):
                broken = good.copy()
                setattr(broken, part, put(getattr(good, part), entry, value))
                yield f"{make.__name__}: {part} {value}", broken
            broken = good.copy()
            setattr(broken, part, getattr(good, part)[:-1])
            yield f"{make.__name__}: few of {part}", broken
    good = sparse.dia_matrix(X)
    for name, value in (
        ("far offset", put(good.offsets.astype(np.int64), 0, 2**33)),
        ("few offsets", good.offsets[:-1]),
        ("equal offsets", np.zeros_like(good.offsets)),
        ("float offsets", good.offsets + 0.5),
    ):
        broken = good.copy()
        broken.offsets = value
        yield f"dia_matrix: {name}", broken
    row = random.integers(n)
    for name, part, value in (
        ("index too large", "rows", [0, 1, p]),
        ("negative index", "rows", [-1, 1, 2]),
        ("few indices", "rows", [0]),
        ("many values", "data", [1.0] * 500),
        ("not a list", "rows", None),
    ):
        broken = sparse.lil_matrix(X)
        getattr(broken, part)[row] = value
        yield f"lil_matrix: {name}", broken
    for key in ((n, 0), (0, p), (-1, 0), (0, -1)):
        broken = sparse.dok_matrix(X)
        # Before SciPy 1.12 the matrix itself was a dict.
        dict.__setitem__(getattr(broken, "_dict", broken), key, 1.0)
        yield f"dok_matrix: {key}", broken


def odd_but_right(X):
    """Yield names and sparse matrices of unusual build that all hold the values of ``X``."""
    good = sparse.csr_matrix(X)
    for make in (sparse.csc_matrix, sparse.coo_array, sparse.dia_matrix, sparse.lil_array, bsr):
        yield make.__name__, make(X)
    yield "dok_matrix", sparse.dok_matrix(X)
    wide = good.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    yield "indices of 64 bits", wide
    rest = good.copy()
    rest.indices, rest.data = np.append(rest.indices, np.int32(99)), np.append(rest.data, 7.0)
    yield "entries after the end", rest
    entries = np.arange(good.nnz).reshape(len(X), -1)[:, ::-1].ravel()  # no entry of X is 0
    rows = np.repeat(np.arange(len(X)), X.shape[1])
    unsorted = sparse.csr_matrix(
        (good.data[entries], good.indices[entries], good.indptr), shape=X.shape
    )
    yield "unsorted", unsorted
    halves = sparse.coo_matrix(
        (np.tile(good.data / 2, 2), (np.tile(rows, 2), np.tile(good.indices, 2))), shape=X.shape
    )
    yield "every entry twice", halves
    twice = sparse.csr_matrix(
        (np.repeat(good.data / 2, 2), np.repeat(good.indices, 2), 2 * good.indptr), shape=X.shape
    )
    yield "every entry twice in CSR", twice
    for part in (fixed := good.copy()).data, fixed.indices, fixed.indptr:
        part.flags.writeable = False
    yield "read-only", fixed


def bsr(X):
    """Return blocks of two rows."""
    return sparse.bsr_matrix(X, blocksize=(2, 1))


def put(values, place, value):
    """Return a copy of a vector with another entry at one place."""
    values = values.copy()
    values[place] = value
    return values
