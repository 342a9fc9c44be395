"""Arrays in a model file: what their headers say is checked before any value is read.

Only what ``numpy.save`` writes for numbers and strings is accepted, with exactly as many bytes
after the header as its shape needs.  Records are those of scikit-learn's trees, to the bit.
"""

import re
from functools import cache, lru_cache
from io import BytesIO
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.format import read_array_header_1_0
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix, load_npz

from rejo._state import is_sorted, is_within
from rejo.persistence._container import Bytes, pack, read_zip
from rejo.persistence._refusals import ModelFileError, ensure

MAGIC = b"\x93NUMPY\x01\x00"
LONGEST = 1000  # header; that of the records of trees has about 500 bytes
HEADER = re.compile(  # what NumPy may parse
    r"\{'descr': (?:'[<|]\w+'|\[[\w '<|,()]*\]), "
    r"'fortran_order': (?:True|False), 'shape': \([\d, ]*\), \} *\n",
    re.ASCII,
)
SPARSE_MEMBER = re.compile(r"(?:data|format|indices|indptr|shape)\.npy")
LONGEST_TEXT = 1 << 22  # bytes of each string in an array
MOST_DIMENSIONS = 4
MOST_COLUMNS = (1 << 31) - 1  # indices have 32 bits
MOST_EMPTY = 1_000_000  # lengths of an array without values are not bounded by its bytes


class Layout(NamedTuple):
    """What the header of an array says, checked against its length."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool
    start: int  # of the values


@cache
def _records() -> tuple[np.dtype[Any], ...]:
    """The records that trees consist of."""
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
    from sklearn.tree._tree import NODE_DTYPE

    return PREDICTOR_RECORD_DTYPE, NODE_DTYPE


def check_array(name: str, data: Bytes) -> Layout:
    """Read the header of an array in NumPy's format; refuse what no model has."""
    start = 10 + int.from_bytes(data[8:10], "little")
    problem = f"{name} is not an array of numbers or strings in NumPy's format"
    ensure(data[:8] == MAGIC and start <= min(len(data), LONGEST), problem)
    try:
        shape, fortran, dtype = _parse(bytes(data[8:start]))
    except (ValueError, TypeError):
        raise ModelFileError(problem) from None
    few = dtype.itemsize <= 8 or (dtype.kind in "SU" and dtype.itemsize <= LONGEST_TEXT)
    plain = dtype.kind in "biufSU" and dtype.isnative and dtype.itemsize > 0 and few
    ensure(plain or dtype in _records(), problem)
    size, held = prod(shape) * dtype.itemsize, len(data) - start
    few = size > 0 or prod(n for n in shape if n) <= MOST_EMPTY
    problem = f"{name} has a shape {str(shape)[:80]} that no array of a model has"
    ensure(few and len(shape) <= MOST_DIMENSIONS, problem)
    ensure(size == held, f"{name} holds {held} bytes: too few or too many for {str(shape)[:80]}")
    return Layout(dtype, shape, fortran, start)


@lru_cache(1000)  # many trees of a model have as many nodes
def _parse(header: bytes) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    if HEADER.fullmatch(str(header[2:], "latin1")) is None:
        raise ValueError
    return read_array_header_1_0(BytesIO(header), max_header_size=LONGEST)


def read_array(name: str, data: Bytes, layout: Layout) -> NDArray[Any]:
    """Return an array of its own memory, aligned and in C order."""
    values = np.frombuffer(data, dtype=layout.dtype, offset=layout.start)
    values = values.reshape(layout.shape, order="F" if layout.fortran else "C")
    made = np.array(values, order="C")
    if made.dtype.kind == "b":
        fine = is_within(made.view(np.uint8), 0, 1)
        ensure(fine, f"{name} holds values that are neither true nor false")
    return made


def repack_sparse(data: bytes) -> bytes:
    """Return a sparse matrix that ``scipy.sparse.save_npz`` wrote in the form that is read here.

    That is CSR with sorted indices, none twice, and nothing compressed.
    """
    rows = load_npz(BytesIO(data))
    try:
        rows.check_format(full_check=True)
    except ValueError as error:
        raise ModelFileError(f"a sparse matrix is malformed ({error})") from None
    rows = csr_array(rows)
    rows.sum_duplicates()
    parts = {
        "data": rows.data,
        "format": np.array(b"csr"),  # for SciPy's reader
        "indices": rows.indices.astype(np.int32),
        "indptr": rows.indptr.astype(np.int32),
        "shape": np.array(rows.shape, np.int64),
    }
    return pack({f"{part}.npy": array_bytes(values) for part, values in parts.items()})


def array_bytes(values: NDArray[Any]) -> bytes:
    buffer = BytesIO()
    np.save(buffer, values, allow_pickle=False)
    return buffer.getvalue()


def read_sparse(name: str, data: Bytes, kind: str) -> Any:
    parts = {
        part.removesuffix(".npy"): read_array(name, content, check_array(name, content))
        for part, content in read_zip(data, SPARSE_MEMBER).items()
    }
    problem = f"{name} is not a sparse matrix in the format of model files"
    ensure(len(parts) == 5 and parts["format"].tolist() == b"csr", problem)
    values, indices, indptr = parts["data"], parts["indices"], parts["indptr"]
    fine = indices.dtype == indptr.dtype == np.int32 and values.dtype == np.float64
    ensure(fine and (parts["shape"].dtype, parts["shape"].shape) == (np.int64, (2,)), problem)
    n, p = parts["shape"].tolist()
    fine = 0 <= p <= MOST_COLUMNS and indptr.shape == (n + 1,) and values.shape == indices.shape
    problem = f"{name}: the parts of the sparse matrix do not agree"
    ensure(fine and indices.ndim == 1 and indptr[-1] == len(indices), problem)
    ensure(indptr[0] == 0 and is_sorted(indptr) and is_within(indices, 0, p - 1), problem)
    return (csr_matrix if kind == "csr_matrix" else csr_array)((values, indices, indptr), (n, p))
