"""Names of cases: strings, kept as pyarrow has them where it is installed."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray


def names_of(column: Any) -> Any:
    """Return a column (n,) as a Series of strings; a missing name is empty."""
    try:
        return column.astype(str).where(column.notna(), "")
    except UnicodeEncodeError:  # half a character, which files write as its number
        texts = column.fillna("").map(lambda name: str(name).encode("utf-8", "backslashreplace"))
        return texts.str.decode("utf-8")


def hashes_of(names: Any) -> NDArray[np.uint64]:
    """Hash of each string (n,), the same in every process."""
    from pandas.util import hash_array

    found: NDArray[np.uint64] = hash_array(np.asarray(names, dtype=object), categorize=False)
    return found


def packed(names: Any) -> bytes:
    """Return names as bytes; empty without any."""
    if names is None:
        return b""
    try:
        import pyarrow as pa
    except ImportError:
        return json.dumps(names.tolist()).encode()
    batch = pa.record_batch({"name": pa.array(names, pa.large_string())})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    found: bytes = sink.getvalue()
    return found


def unpacked(data: bytes) -> Any:
    """Return the names that were packed, as a Series of strings."""
    import pandas as pd

    if not data:
        return None
    if data[:1] == b"[":
        return pd.Series(json.loads(data), dtype=object)
    import pyarrow as pa

    return pa.ipc.open_stream(data).read_all().column(0).to_pandas()
