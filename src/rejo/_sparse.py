"""Whether the parts of a sparse matrix agree.

SciPy's conversions and products, and compiled solvers, take the indices of a sparse matrix as they
are: one that is out of range reads, or writes, the memory of something else.  SciPy checks them
only when it builds the matrix, and not all of them, so matrices that come from outside are checked
here before anything uses them.
"""

from typing import Any

import numpy as np

LARGEST_OFFSET = 2**31 - 1  # of a diagonal: SciPy cuts larger ones to 32 bits


def check_sparse(X: Any, name: str = "X") -> None:
    """Refuse a sparse matrix whose parts do not agree.

    Unsorted indices, entries that come twice and zeros that are stored are all right.
    """
    fault = sparse_fault(X)
    if fault:
        raise ValueError(
            f"{name} is a damaged sparse matrix: {fault}. Build it again from its rows, columns "
            "and values, for example by scipy.sparse.coo_matrix."
        )


def summed(X: Any) -> Any:
    """Return a CSR matrix with sorted indices that come once: entries that come twice are added."""
    if X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def sparse_fault(X: Any) -> str | None:
    """Return what is wrong with the parts of a SciPy sparse matrix or array, if anything is."""
    if len(X.shape) != 2:
        return f"it has {len(X.shape)} dimensions, not two"
    check = _FORMATS.get(X.format)
    return f"its format {X.format!r} is not known" if check is None else check(X)


def _compressed(X: Any) -> str | None:
    """CSR, CSC and, with blocks for entries, BSR."""
    n, p = X.shape
    if X.format == "csc":
        n, p = p, n
    data, indices, indptr = X.data, X.indices, X.indptr
    if X.format == "bsr":
        if np.ndim(data) != 3 or 0 in data.shape[1:]:
            return "data does not hold blocks"
        height, width = data.shape[1:]
        if n % height or p % width:
            return f"blocks of {height} x {width} do not fit into {n} x {p}"
        n, p = n // height, p // width
    elif np.ndim(data) != 1:
        return "data is not a vector"
    if not (_is_vector(indices) and _is_vector(indptr)):
        return "indices and indptr are not vectors of signed integers"
    if indices.dtype != indptr.dtype:
        return f"indices are {indices.dtype}, but indptr is {indptr.dtype}"
    if len(indptr) != n + 1:
        return f"indptr has {len(indptr)} entries, not {n + 1}"
    if len(indices) != len(data):
        return f"there are {len(indices)} indices, but {len(data)} values"
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        return "indptr does not rise from 0"
    if indptr[-1] > len(indices):
        return f"indptr ends at {indptr[-1]}, but there are {len(indices)} indices"
    return _outside("indices", indices[: indptr[-1]], p)


def _coordinates(X: Any) -> str | None:
    if np.ndim(X.data) != 1:
        return "data is not a vector"
    for name, places, size in (("row", X.row, X.shape[0]), ("col", X.col, X.shape[1])):
        if not _is_vector(places):
            return f"{name} is not a vector of signed integers"
        if len(places) != len(X.data):
            return f"{name} has {len(places)} entries, but there are {len(X.data)} values"
        if fault := _outside(name, places, size):
            return fault
    return None


def _diagonals(X: Any) -> str | None:
    if np.ndim(X.data) != 2 or not _is_vector(X.offsets) or len(X.offsets) != len(X.data):
        return "data and offsets do not have one row and one integer for each diagonal"
    if len(set(X.offsets.tolist())) < len(X.offsets):
        return "a diagonal comes twice"
    if len(X.offsets) and np.abs(X.offsets.astype(np.float64)).max() > LARGEST_OFFSET:
        return "a diagonal lies far outside"
    return None


def _lists(X: Any) -> str | None:
    n, p = X.shape
    if not np.shape(X.rows) == np.shape(X.data) == (n,):
        return f"rows and data do not hold {n} lists"
    for columns, values in zip(X.rows, X.data, strict=True):
        if not (isinstance(columns, list) and isinstance(values, list)):
            return "rows and data do not hold lists"
        if len(columns) != len(values):
            return f"a row has {len(columns)} indices, but {len(values)} values"
        if not all(0 <= j < p for j in columns):
            return f"a row has an index outside 0 to {p - 1}"
    return None


def _keys(X: Any) -> str | None:
    n, p = X.shape
    inside = all(0 <= i < n and 0 <= j < p for i, j in X.keys())  # noqa: SIM118
    return None if inside else f"a key lies outside {n} x {p}"


_FORMATS = {
    "csr": _compressed,
    "csc": _compressed,
    "bsr": _compressed,
    "coo": _coordinates,
    "dia": _diagonals,
    "lil": _lists,
    "dok": _keys,
}


def _is_vector(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind == "i"


def _outside(name: str, values: Any, size: int) -> str | None:
    if len(values) == 0:
        return None
    least, most = values.min(), values.max()
    if least >= 0 and most < size:
        return None
    return f"{name} has the entry {least if least < 0 else most}, which is not in 0 to {size - 1}"
