"""What a model file says about its model, in plain JSON."""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from math import isfinite
from typing import Any

import numpy as np
import sklearn
from scipy.sparse import csr_array, issparse

import rejo
from rejo._frames import is_polars
from rejo.estimators import is_frame
from rejo.persistence._container import HEADER, Bytes, parse_json, payload_hash
from rejo.persistence._refusals import ensure

FORMAT, VERSION = "rejo-model", 1
MAX_DEPTH, MAX_VALUES = 5, 10_000


def data_hash(X: Any, y: Any) -> str:
    """Return the SHA-256 of training data, to check later whether a model comes from them.

    Parameters
    ----------
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
        The cases.
    y : array-like of shape (n_samples,)
        Their classes.

    Returns
    -------
    hash : str
        64 hexadecimal digits.  They depend on values, types, order and names of columns.

    Examples
    --------
    >>> from rejo.datasets import make_synthetic_2
    >>> from rejo.persistence import data_hash
    >>> X, y = make_synthetic_2(100, random_state=0)
    >>> data_hash(X, y) == data_hash(X.copy(), y), data_hash(X, y) == data_hash(X + 1e-9, y)
    (True, False)
    """
    digest = hashlib.sha256()
    for part in (X, y):
        if is_frame(part):
            for i, name in enumerate(part.columns):
                digest.update(f"column {name!r}\n".encode())
                _update(digest, np.asarray(part[name] if is_polars(part) else part.iloc[:, i]))
        elif issparse(part):
            rows = csr_array(part)
            rows.sum_duplicates()
            digest.update(f"sparse {rows.shape}\n".encode())
            for values in (rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64)):
                _update(digest, values)
        else:
            _update(digest, np.asarray(part))
    return digest.hexdigest()


def _update(digest: Any, values: Any) -> None:
    if values.dtype.kind in "biufSUMm":
        values = values.astype(values.dtype.newbyteorder("<"), copy=False)
        digest.update(f"{values.dtype.str} {values.shape}\n".encode())
        digest.update(np.ascontiguousarray(values).tobytes())
    else:
        digest.update(f"objects {values.shape}\n".encode())
        digest.update("\n".join(repr(value) for value in values.ravel().tolist()).encode())


def plain(value: Any) -> Any:
    """Return what JSON can hold: named tuples as dicts, NumPy values as Python's, NaN as null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if isfinite(value) else None
    if value is None or isinstance(value, (str, int)):
        return value
    raise TypeError(f"expected and table must hold numbers and strings; got {value!r}.")


def make_header(members: Mapping[str, Bytes], **facts: Any) -> bytes:
    header = {
        "format": FORMAT,
        "format_version": VERSION,
        "versions": {
            "rejo": rejo.__version__,
            "scikit-learn": sklearn.__version__,
            "numpy": np.__version__,
            "skops": version("skops"),
        },
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        **plain(facts),
        "payload_hash": payload_hash(members),
    }
    return json.dumps(header, indent=1, allow_nan=False).encode()


TYPES: dict[str, Any] = {
    "format": str,
    "format_version": int,
    "versions": dict,
    "date": str,
    "data_hash": (str, type(None)),
    "operating_point": dict,
    "expected": (dict, type(None)),
    "table": (dict, type(None)),
    "notes": str,
    "payload_hash": str,
}


def read_header(members: Mapping[str, Bytes]) -> dict[str, Any]:
    header = parse_json(HEADER, members[HEADER])
    ours = isinstance(header, dict) and header.get("format") == FORMAT
    ensure(ours, "rejo.json is not the header of a model file")
    format = header.get("format_version")
    ensure(
        type(format) is int and format == VERSION,
        f"the file has format {format!r:.20}; this version of rejo reads format {VERSION}",
        remedy="Upgrade rejo",
    )
    complete = header.keys() == TYPES.keys() and all(
        isinstance(header[name], kind) for name, kind in TYPES.items()
    )
    ensure(complete, "rejo.json lacks entries, or has them of another type")
    versions = header["versions"]
    complete = {"rejo", "scikit-learn", "numpy", "skops"} <= versions.keys() and all(
        isinstance(value, str) for value in versions.values()
    )
    ensure(complete, "rejo.json does not say which versions wrote it")
    small = _n_values(header, MAX_DEPTH) <= MAX_VALUES
    ensure(small, f"rejo.json has more than {MAX_VALUES} values")
    ensure(
        payload_hash(members) == header["payload_hash"],
        "the contents do not match their checksum: the file is damaged",
        remedy="Copy or save it again",
    )
    return header


def _n_values(value: Any, depth: int) -> int:
    if isinstance(value, (dict, list)):
        ensure(depth > 0, "rejo.json is nested too deeply")
        items = value.values() if isinstance(value, dict) else value
        return 1 + sum(_n_values(item, depth - 1) for item in items)
    finite = not isinstance(value, float) or isfinite(value)
    ensure(finite, f"rejo.json holds {value!r:.40}")
    return 1
