"""Arrays in a model file, checked as bytes and read without NumPy's or SciPy's own readers.

NumPy would read object arrays as pickles, and a header as whatever ``ast.literal_eval`` makes of
it.  Here only what ``numpy.save`` writes for numbers and strings is accepted, with exactly as many
bytes after the header as its shape needs.  Records are those of scikit-learn's trees, to the bit.
"""

import re
from functools import cache
from io import BytesIO
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.format import dtype_to_descr
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix, load_npz

from rejo._state import is_sorted, is_within
from rejo.persistence._container import Bytes, pack, read_zip
from rejo.persistence._refusals import ModelFileError, ensure

MAGIC = b"\x93NUMPY\x01\x00"
HEADER = re.compile(
    r"\{'descr': (?:'(?P<type>[<|](?:b1|[iu][1248]|f[248]|[SU][1-9]\d{0,5}))'"
    r"|(?P<record>\[[^\[\]]*\])), "
    r"'fortran_order': (?P<fortran>True|False), "
    r"'shape': \((?P<shape>(?:\d{1,15}(?:, ?\d{1,15})*,?)?)\), \} *\n"
)
SPARSE_MEMBER = re.compile(r"(?:data|format|indices|indptr|shape)\.npy")
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
def _records() -> dict[str, np.dtype[Any]]:
    """The records that trees consist of, by what numpy.save writes for them."""
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
    from sklearn.tree._tree import NODE_DTYPE

    return {repr(dtype_to_descr(dtype)): dtype for dtype in (PREDICTOR_RECORD_DTYPE, NODE_DTYPE)}


def check_array(name: str, data: Bytes) -> Layout:
    """Read the header of an array in NumPy's format; refuse what ``numpy.save`` does not write."""
    length = int.from_bytes(data[8:10], "little")
    start = 10 + length
    found = None
    if data[:8] == MAGIC and 0 < length <= 10_000 and len(data) >= start:
        found = HEADER.fullmatch(str(data[10:start], "latin1"))
    if found is None:
        raise ModelFileError(f"{name} is not an array of numbers or strings in NumPy's format")
    if found["record"] is None:
        dtype = np.dtype(found["type"])
    else:
        ensure(found["record"] in _records(), f"{name} has records that are not those of a tree")
        dtype = _records()[found["record"]]
    shape = tuple(int(n) for n in found["shape"].replace(" ", "").split(",") if n)
    size, held = prod(shape) * dtype.itemsize, len(data) - start
    few = size > 0 or prod(n for n in shape if n) <= MOST_EMPTY
    problem = f"{name} has a shape {str(shape)[:80]} that no array of a model has"
    ensure(few and len(shape) <= MOST_DIMENSIONS, problem)
    ensure(size == held, f"{name} holds {held} bytes, but its shape {shape} asks for {size}")
    return Layout(dtype, shape, found["fortran"] == "True", start)


def read_array(name: str, data: Bytes) -> NDArray[Any]:
    """Return an array of its own memory, aligned and in C order."""
    layout = check_array(name, data)
    values = np.frombuffer(data, dtype=layout.dtype, offset=layout.start)
    values = values.reshape(layout.shape, order="F" if layout.fortran else "C")
    made = np.empty(layout.shape, layout.dtype)
    made[...] = values
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
    """Return sparse rows, as a ``csr_matrix`` or a ``csr_array``."""
    problem = f"{name} is not a sparse matrix in the format of model files"
    parts = read_zip(data, SPARSE_MEMBER)
    ensure(len(parts) == 5, problem)
    values = {
        part.removesuffix(".npy"): read_array(f"{name}/{part}", content)
        for part, content in parts.items()
    }
    shape, indices, indptr = values["shape"], values["indices"], values["indptr"]
    fine = (
        values["format"].dtype.kind == "S"
        and values["format"].tolist() == b"csr"
        and (shape.dtype, shape.shape) == (np.int64, (2,))
        and shape.min() >= 0
        and values["data"].dtype == np.float64
    )
    ensure(fine, problem)
    n, p = shape.tolist()
    agree = (
        indices.dtype == indptr.dtype == np.int32
        and p <= MOST_COLUMNS
        and indptr.shape == (n + 1,)
        and values["data"].shape == indices.shape
        and indices.ndim == 1
        and indptr[0] == 0
        and indptr[-1] == len(indices)
        and is_sorted(indptr)
        and is_within(indices, 0, p - 1)
    )
    ensure(agree, f"{name}: the parts of the sparse matrix do not agree")
    made = csr_matrix if kind == "csr_matrix" else csr_array
    return made((values["data"], indices, indptr), shape=(n, p))
