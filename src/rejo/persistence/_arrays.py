"""Arrays in a model file, checked as bytes before NumPy or SciPy read them.

NumPy would read object arrays as pickles, and a header as whatever ``ast.literal_eval`` makes of
it.  Here only what ``numpy.save`` writes for numbers and strings is accepted, with exactly as many
bytes after the header as its shape needs.
"""

from __future__ import annotations

import re
from io import BytesIO
from math import prod
from typing import Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
from numpy.typing import NDArray

from rejo.persistence._refusals import ModelFileError, ensure

MAGIC = b"\x93NUMPY\x01\x00"
HEADER = re.compile(
    r"\{'descr': (?P<descr>'(?P<type>[<|][biufSU]\d{1,6})'|\[(?P<fields>[^\[\]]*)\]), "
    r"'fortran_order': (?P<fortran>True|False), "
    r"'shape': \((?P<shape>(?:\d{1,15}(?:, ?\d{1,15})*,?)?)\), \} *\n"
)
FIELD = re.compile(r"\('\w*', '([<|][biufV]\d{1,6})'\)(?:, )?")
SPARSE_PARTS = {"_is_array.npy", "data.npy", "format.npy", "indices.npy", "indptr.npy", "shape.npy"}


class Layout(NamedTuple):
    """What the header of an array says, checked against its length."""

    type: str | None  # such as "<f8"; None: fields with types of their own
    shape: tuple[int, ...]
    fortran: bool
    start: int  # of the values


def check_array(name: str, data: bytes) -> Layout:
    """Read the header of an array in NumPy's format; refuse what ``numpy.save`` does not write."""
    length = int.from_bytes(data[8:10], "little")
    start = 10 + length
    found = None
    if data[:8] == MAGIC and 0 < length <= 10_000 and len(data) >= start:
        found = HEADER.fullmatch(data[10:start].decode("latin1"))
    if found is None:
        raise ModelFileError(f"{name} is not an array of numbers or strings in NumPy's format")
    shape = tuple(int(n) for n in found["shape"].replace(" ", "").split(",") if n)
    types, other = [found["type"]], ""
    if found["fields"] is not None:
        types, other = FIELD.findall(found["fields"]), FIELD.sub("", found["fields"])
    ensure(types and not other, f"{name} has fields of other types than numbers")
    item = sum(int(t[2:]) * (4 if t[1] == "U" else 1) for t in types)
    size, held = prod(shape) * item, len(data) - start
    problem = f"{name} holds {held} bytes, but its shape {shape} asks for {size}"
    ensure(len(shape) <= 8 and size == held, problem)
    return Layout(found["type"], shape, found["fortran"] == "True", start)


def read_array(name: str, data: bytes) -> NDArray[Any]:
    """Values of an array of numbers or strings, without NumPy's own reader."""
    layout = check_array(name, data)
    ensure(layout.type is not None, f"{name} is a table where an array is expected")
    values = np.frombuffer(data, dtype=layout.type, offset=layout.start)
    return values.reshape(layout.shape, order="F" if layout.fortran else "C")


def check_sparse(name: str, data: bytes, limit: int) -> tuple[tuple[int, ...], int]:
    """Shape and size in memory of a sparse matrix in SciPy's format: a zip file of arrays."""
    problem = f"{name} is not a sparse matrix in SciPy's format"
    try:
        with ZipFile(BytesIO(data)) as archive:
            parts = archive.infolist()
            names = [part.filename for part in parts]
            fine = SPARSE_PARTS - {"_is_array.npy"} <= set(names) <= SPARSE_PARTS
            ensure(fine and len(set(names)) == len(names), problem)
            size = sum(part.file_size for part in parts)
            ensure(size <= limit, f"{name} would grow to more than {limit} bytes")
            for part in parts:
                usual = part.compress_type in (ZIP_STORED, ZIP_DEFLATED) and not part.flag_bits & 1
                ensure(usual, f"{name} is packed in an unusual way")
            values = {part: read_array(f"{name}/{part}", archive.read(part)) for part in names}
    except ModelFileError:
        raise
    except Exception:  # the zip reader lets many kinds through on broken files
        raise ModelFileError(problem) from None
    kind, shape = values["format.npy"], values["shape.npy"]
    lengths = [values[f"{part}.npy"].shape for part in ("data", "indices", "indptr")]
    agree = (
        (kind.dtype.kind, kind.size) == ("S", 1)
        and kind.item() in (b"csr", b"csc")
        and (shape.dtype.kind, shape.shape) == ("i", (2,))
        and shape.min() >= 0
        and all(values[f"{part}.npy"].dtype.kind == "i" for part in ("indices", "indptr"))
        and lengths[0] == lengths[1]
        and lengths[2] == (shape[0 if kind.item() == b"csr" else 1] + 1,)
    )
    ensure(agree, f"{name}: the parts of the sparse matrix do not agree")
    return tuple(shape.tolist()), size
